// SPDX-License-Identifier: LGPL-2.1-or-later
// A GPU that is unplugged while it plays: its driver's calls fail, and the error says why. The node is a second name of the
// first one, and the test driver plays another driver on it.
#include <string>
#include <utility>

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <gst/drm/gstdrm-private.hpp>

#include "va_support.hpp"

namespace {

using namespace gstdrm::test;

constexpr char kFirst[] = "/dev/dri/renderD128";
constexpr char kSecond[] = "/dev/dri/renderD129";
dev_t number; // of the first one

void plug(const char *path)
{
  fail_unless(::mknod(path, S_IFCHR | 0666, number) == 0, "%s: %s", path, g_strerror(errno));
}

void unplug(const char *path)
{
  fail_unless(::unlink(path) == 0, "%s: %s", path, g_strerror(errno));
}

void tidy()
{
  ::unlink(kSecond);
}

// Two names of one device are one display, which vadmabufsrc would take of its neighbour: frames come from the CPU.
const char *const kPlaying[] = {
    "vadmabufsrc name=element device=/dev/dri/renderD129 ! appsink name=sink sync=false max-buffers=1",
    "videotestsrc ! video/x-raw,format=BGRx,width=64,height=48 ! vadmabufconvert name=element device=/dev/dri/renderD129 video-direction=180 ! appsink name=sink sync=false max-buffers=1",
};

struct UnplugRow {
  const char *driver; // of the node that goes
  const char *call;   // that fails first
  bool gone;          // else the driver fails, and the node stays
};
#define ANY_DRIVER "formats=BGRX"
const UnplugRow kUnplugs[] = {
    {ANY_DRIVER, "begin", true},         {ANY_DRIVER, "render", true},         {ANY_DRIVER, "end", true},         {ANY_DRIVER, "begin", false},
    {"profile=ihd", "begin", true},      {"profile=ihd", "render", true},      {"profile=ihd", "end", true},      {"profile=ihd", "begin", false},
    {"profile=i965", "begin", true},     {"profile=i965", "render", true},     {"profile=i965", "end", true},     {"profile=i965", "begin", false},
    {"profile=radeonsi", "begin", true}, {"profile=radeonsi", "render", true}, {"profile=radeonsi", "end", true}, {"profile=radeonsi", "begin", false},
    {"profile=radeonsi26", "begin", true}, {"profile=radeonsi26", "render", true}, {"profile=radeonsi26", "end", true}, {"profile=radeonsi26", "begin", false},
    {"profile=nouveau", "begin", true},  {"profile=nouveau", "render", true},  {"profile=nouveau", "end", true},  {"profile=nouveau", "begin", false},
};
// So many calls come before: i965 draws each piece of a picture by calls of its own, and frames are drawn ahead.
constexpr int kCallsBefore = 300;

// The call, the node and what to do are in the one error of the element.
void expect_said(Pipeline &pipeline, const UnplugRow &row)
{
  const auto message = pipeline.message(GST_MESSAGE_ERROR);
  const std::string name = row.call == std::string("end") ? "vaEndPicture" : row.call == std::string("begin") ? "vaBeginPicture" : "vaRenderPicture";
  fail_unless(message.find(name + " on /dev/dri/renderD129") != std::string::npos, "%s, %s: %s", row.driver, row.call, message.c_str());
  fail_unless((message.find("/dev/dri/renderD129 has gone: its GPU was unplugged") != std::string::npos) == row.gone, "%s", message.c_str());
  const char *advice = row.gone ? "set another device" : "See the kernel log";
  fail_unless(message.find(advice) != std::string::npos, "%s", message.c_str());
}

GST_START_TEST(test_unplugged_while_it_plays)
{
  const UnplugRow &row = kUnplugs[static_cast<std::size_t>(__i__) % G_N_ELEMENTS(kUnplugs)];
  const char *launch = kPlaying[static_cast<std::size_t>(__i__) / G_N_ELEMENTS(kUnplugs)];
  plug(kSecond);
  set_driver(std::string("formats=BGRX@renderD129,") + row.driver + ",fail=" + row.call + ":" + std::to_string(kCallsBefore));
  const unsigned before = settled_fds();
  {
    Pipeline pipeline(launch);
    fail_unless(pipeline.play(), "%s: %s", row.driver, pipeline.message(GST_MESSAGE_ERROR).c_str());
    g_autoptr(GstSample) kept = nullptr;
    for (int i = 0;; ++i) {
      g_autoptr(GstSample) sample = pipeline.pull();
      if (!sample)
        break;
      fail_unless(i < 2 * kCallsBefore);
      if (i == 0 && row.gone)
        unplug(kSecond);
      if (i == 0)
        std::swap(kept, sample);
    }
    fail_unless(kept != nullptr, "%s: no frame", row.driver);
    expect_said(pipeline, row);
    pipeline.stop();
    fail_unless(pipeline.errors_of("element").size() == 1, "%s, %s: %u errors", row.driver, row.call, static_cast<unsigned>(pipeline.errors_of("element").size()));
    if (row.gone) { // a second failure is said as well, once
      fail_unless(!pipeline.play());
      pipeline.stop();
      fail_unless(pipeline.errors_of("element").size() == 1, "%s: %u errors", row.driver, static_cast<unsigned>(pipeline.errors_of("element").size()));
      fail_unless(pipeline.errors_of("element")[0].find(kSecond) != std::string::npos, "%s", pipeline.errors_of("element")[0].c_str());
      // with another device it goes on, while the application still has a frame of the first one
      set_driver("formats=BGRX");
      g_object_set(pipeline.get("element"), "device", kFirst, nullptr);
      fail_unless(pipeline.play(), "%s", pipeline.message(GST_MESSAGE_ERROR).c_str());
      g_autoptr(GstSample) sample = pipeline.pull();
      fail_unless(sample != nullptr, "%s: %s", row.driver, pipeline.message(GST_MESSAGE_ERROR).c_str());
    }
    pipeline.stop();
  }
  fail_unless(settles_at(before), "%s, %s: descriptors are left", row.driver, row.call);
}
GST_END_TEST

Suite *va_unplugged_suite()
{
  Suite *suite = suite_create("va_unplugged");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_add_checked_fixture(tcase, tidy, tidy);
  tcase_add_loop_test(tcase, test_unplugged_while_it_plays, 0, G_N_ELEMENTS(kUnplugs) * G_N_ELEMENTS(kPlaying));
  return suite;
}

} // namespace

int main(int argc, char **argv)
{
  struct stat first {};
  if (::stat(kFirst, &first) != 0)
    return 1;
  number = first.st_rdev;
  own_registry("va-unplugged-registry.bin");
  set_driver("formats=NV12");
  gst_check_init(&argc, &argv);
  start_again_if_loaded(argv);
  return run_suite(va_unplugged_suite());
}
