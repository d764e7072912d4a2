// SPDX-License-Identifier: LGPL-2.1-or-later
// Drivers that lie or fail: an error that says so, and nothing is left open.
#include <sys/stat.h>
#include <unistd.h>

#include <gst/drm/gstdrm-private.hpp>

#include "va_support.hpp"

namespace {

using namespace gstdrm::test;

struct BadRow {
  const char *driver;
  const char *expected; // part of the error; "": the stream plays all the same
};
const BadRow kBad[] = {
    {"lie=zero-objects", "0 objects"},
    {"lie=many-objects", "7 objects"},
    {"lie=object-index", "in object 3"},
    {"lie=offset", "plane 1"},
    {"lie=offset-overflow", "plane 1"},
    {"lie=modifier", "no format in common"}, // found out when probed: the pair is never offered
    {"lie=modifier:2", "not one of the 1"},
    {"lie=invalid-modifier:2", "not one of the 1"},
    {"lie=invalid-modifier:4", "not one of the 1"},
    {"lie=zero-pitch", "pitch of 0"},
    {"lie=short-pitch", "plane 1"},
    {"lie=small-object", "the buffer has 64"},
    {"lie=large-object", "its descriptor has"},
    {"lie=unsized", ""}, // the descriptor knows its size
    {"lie=many-layers,layers=separate", "layer"},
    {"lie=zero-layers", "0 layers"},
    {"lie=many-planes", "9 planes"},
    {"lie=fourcc", "was asked for"},
    {"lie=fourcc:2", "was asked for"}, // another answer the second time
    {"profile=ihd,lie=fourcc:4", "was asked for"},
    {"profile=ihd,lie=offset", "plane 1"},
    {"profile=i965,lie=zero-pitch", "pitch of 0"},
    {"profile=i965,lie=short-pitch", "plane 1"},
    {"profile=radeonsi,lie=small-object", "the buffer of 64 bytes"},
    {"profile=radeonsi,lie=many-planes", "9 planes"},
    {"profile=nouveau,formats=NV12,lie=object-index", "in object 3"},
    {"profile=nouveau,formats=NV12,lie=dead-fd", "object 0"},
    {"lie=size", "it says"},
    {"lie=dead-fd", "object 0"},
    {"layers=none", "vaExportSurfaceHandle"},
    {"fail=export", "vaExportSurfaceHandle"},
    {"fail=create", "vaCreateSurfaces"},
    {"fail=init", "vaInitialize"},
    {"surfaces=3", "at least 2 are needed"}, // the counter's two pictures take two of them
    {"surfaces=5", ""},                      // fewer than wanted, and that does
    {"fail=begin:5", "vaBeginPicture"},
    {"fail=render:5", "vaRenderPicture"},
    {"fail=end:5", "vaEndPicture"},
    {"fail=buffer:2", "vaCreateBuffer"},
    {"derive=0,put=0", "vaPutImage"},
    {"derive=0", ""},
    {"async=5,fences=0,fail=sync:3", "vaSyncSurface"},
    {"misspelt=1", "vaInitialize"},
    {"profile=there-is-none", "vaInitialize"},
    {"vpp-refused=NV12", "vaRenderPicture"}, // exports what it cannot draw
    {"vpp-refused=NV12,vpp-refused-above=100", "vaRenderPicture"}, // at this size
};

// Loads what stays loaded.
void load_all()
{
  Pipeline warm(source("num-buffers=1", dma_caps("NV12", 64, 64)));
  fail_unless(warm.play());
  g_autoptr(GstSample) sample = warm.pull();
  fail_unless(sample != nullptr);
}

GST_START_TEST(test_bad_driver)
{
  const auto &row = kBad[__i__];
  set_driver("formats=NV12");
  load_all();
  const auto fds = settled_fds();
  // Nothing in the way between lie and use: the driver offers nothing but NV12.
  set_driver(std::string(row.driver) + ",formats=NV12");
  {
    Pipeline pipeline(source("pattern=frame-counter num-buffers=20", dma_caps("NV12", 320, 240)));
    const bool started = pipeline.play();
    guint frames = 0;
    while (GstSample *sample = started ? pipeline.pull() : nullptr) {
      gst_sample_unref(sample);
      ++frames;
    }
    if (*row.expected != '\0') {
      const auto error = pipeline.message(GST_MESSAGE_ERROR);
      fail_unless(error.find(row.expected) != std::string::npos, "%s: got '%s'", row.driver, error.c_str());
    } else {
      fail_unless_equals_int(static_cast<int>(frames), 20);
    }
  }
  fail_unless(settles_at(fds), "%s: %u descriptors, there were %u", row.driver, count_fds(), fds);
}
GST_END_TEST

// Every lie of every profile, also of one that tells the truth at first: an error, or a lie that is none for such a driver,
// and then each frame. The rows above have the words.
const char *const kProfiles[] = {"ihd", "i965", "radeonsi", "radeonsi26", "nouveau"};
struct LieRow {
  const char *lie;
  bool plays = false;
};
const LieRow kLies[] = {
    {"zero-objects"},    {"many-objects"}, {"object-index"}, {"offset"},       {"offset-overflow"}, {"modifier"},   {"invalid-modifier"},
    {"zero-pitch"},      {"short-pitch"},  {"small-object"}, {"large-object"}, {"many-layers"},     {"zero-layers"}, {"many-planes"},
    {"fourcc"},          {"size"},         {"dead-fd"},      {"unsized", true},
    {"zero-objects:2"},  {"offset:2"},     {"modifier:2"},   {"zero-pitch:2"}, {"fourcc:2"},        {"size:2"},
};

GST_START_TEST(test_lie_of_a_profile)
{
  const char *profile = kProfiles[static_cast<std::size_t>(__i__) / G_N_ELEMENTS(kLies)];
  const auto &row = kLies[static_cast<std::size_t>(__i__) % G_N_ELEMENTS(kLies)];
  set_driver("formats=NV12");
  load_all();
  const auto fds = settled_fds();
  const std::string driver = std::string("profile=") + profile + ",formats=NV12,lie=" + row.lie;
  set_driver(driver);
  {
    Pipeline pipeline(source("pattern=frame-counter num-buffers=20", dma_caps("NV12", 320, 240)));
    guint frames = 0;
    if (pipeline.play())
      while (const auto sample = gstdrm::GstPtr<GstSample>::adopt(pipeline.pull()))
        ++frames;
    const auto error = frames == 20 ? std::string() : pipeline.message(GST_MESSAGE_ERROR);
    fail_unless((frames == 20) == row.plays, "%s: %u frames", driver.c_str(), frames);
    fail_unless(row.plays || error.find("/dev/dri/renderD128") != std::string::npos, "%s: '%s'", driver.c_str(), error.c_str());
  }
  fail_unless(settles_at(fds), "%s: %u descriptors, there were %u", driver.c_str(), count_fds(), fds);
}
GST_END_TEST

GST_START_TEST(test_no_driver_says_what_was_tried)
{
  const std::string usual = g_getenv("LIBVA_DRIVER_NAME");
  g_setenv("LIBVA_DRIVER_NAME", "there-is-no-such-driver", TRUE);
  Pipeline pipeline(source("", dma_caps("NV12", 128, 104)));
  fail_if(pipeline.play());
  const auto error = pipeline.message(GST_MESSAGE_ERROR);
  fail_unless(error.find("/dev/dri/renderD128") != std::string::npos, "%s", error.c_str());
  fail_unless(error.find("vaInitialize") != std::string::npos, "%s", error.c_str());
  g_setenv("LIBVA_DRIVER_NAME", usual.c_str(), TRUE);
}
GST_END_TEST

// ---- the device property

struct NodeRow {
  const char *node;
  bool denied; // for a user who is not root
  const char *expected;
};
const NodeRow kNodes[] = {
    {"/dev/dri/renderD200", false, "ENOENT (No such file or directory)"},
    {"/dev/dri/renderD128", true, "EACCES (Permission denied); its group may, often that is render"},
    {"/dev/null", false, "/dev/null"},
    {"/dev/dri", false, "Is a directory"},
};

GST_START_TEST(test_device_that_cannot_be_used)
{
  const auto &row = kNodes[__i__];
  set_driver("formats=NV12");
  if (row.denied) {
    // plugins are loaded while their folder can be read
    const Pipeline loaded(source("", dma_caps("NV12", 128, 104)));
    fail_unless(::chmod(row.node, 0600) == 0);
    fail_unless(::seteuid(65534) == 0);
  }
  {
    Pipeline pipeline(source(std::string("device=") + row.node, dma_caps("NV12", 128, 104)));
    fail_if(pipeline.play());
    const auto error = pipeline.message(GST_MESSAGE_ERROR);
    fail_unless(error.find(row.node) != std::string::npos, "%s: '%s'", row.node, error.c_str());
    fail_unless(error.find(row.expected) != std::string::npos, "%s: '%s'", row.node, error.c_str());
    fail_unless(error.find("device property") != std::string::npos, "what to try: '%s'",
                error.c_str());
  }
  fail_unless(::seteuid(0) == 0);
}
GST_END_TEST

GST_START_TEST(test_start_stop_leaks_no_descriptor)
{
  set_driver("formats=NV12,objects=2");
  unsigned fds = 0;
  for (int i = 0; i < 50; ++i) {
    {
      Pipeline pipeline(source("num-buffers=2", dma_caps("NV12", 64, 64)));
      fail_unless(pipeline.play());
      g_autoptr(GstSample) sample = pipeline.pull();
      fail_unless(sample != nullptr);
    }
    if (i == 0)
      fds = settled_fds();
  }
  fail_unless(settles_at(fds), "%u descriptors, there were %u", count_fds(), fds);
}
GST_END_TEST

Suite *va_bad_drivers_suite()
{
  Suite *suite = suite_create("vadmabufsrc and bad drivers");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_bad_driver, 0, G_N_ELEMENTS(kBad));
  tcase_add_loop_test(tcase, test_lie_of_a_profile, 0, G_N_ELEMENTS(kProfiles) * G_N_ELEMENTS(kLies));
  tcase_add_test(tcase, test_no_driver_says_what_was_tried);
  tcase_add_loop_test(tcase, test_device_that_cannot_be_used, 0, G_N_ELEMENTS(kNodes));
  tcase_add_test(tcase, test_start_stop_leaks_no_descriptor);
  return suite;
}

} // namespace

GST_DRM_VA_CHECK_MAIN(va_bad_drivers)
