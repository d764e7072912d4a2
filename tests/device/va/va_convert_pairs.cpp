// SPDX-License-Identifier: LGPL-2.1-or-later
// Pairs that vadmabufconvert cannot know before it tries: modifiers of a driver that lists none, and
// frames that the driver does not import.
#include <cmath>

#include <drm_fourcc.h>

#include <gst/drm/gstdrm-private.hpp>

#include "va_convert_pixels.hpp"

namespace {

using namespace gstdrm::test;


std::string in_caps(const char *format)
{
  return dma_caps(format, 96, 112) + ",colorimetry=" + (format[0] == 'X' ? "sRGB" : "bt601");
}

// ---- modifiers that downstream lists and the driver takes

struct LearnRow {
  const char *driver;
  const char *in;
  const char *out; // a list, or one pair
  std::uint64_t modifier;
};
const LearnRow kLearned[] = {
    {"profile=radeonsi", "NV12", "XR24:0x0200000018801b03", 0x0200000018801b03},
    {"profile=radeonsi", "XR24", "XR24:0x0200000018801b03", 0x0200000018801b03},
    {"profile=radeonsi", "XR24", "NV12:0x0200000018801b03", 0x0200000018801b03},
    // the driver chooses of a list, and takes the one that it likes best
    {"profile=radeonsi", "NV12", "{XR24,XR24:0x0200000018801b03}", 0x0200000018801b03},
    {"profile=radeonsi", "NV12", "{XR24,XR24:0x0100000000000002}", 0},
    {"formats=NV12:BGRX,modifiers=x-tiled:linear", "NV12", "XR24:0x0100000000000001", 0x0100000000000001},
    {"profile=radeonsi26", "NV12", "XR24:0x0200000018801b03", 0x0200000018801b03},
    {"profile=radeonsi26", "XR24", "{NV12,NV12:0x0200000018801b03}", 0x0200000018801b03},
    {"profile=radeonsi26", "NV12", "{XR24,XR24:0x0100000000000002}", 0},
    // drivers that take no list make what they make
    {"profile=ihd", "XR24", "NV12:0x0100000000000002", 0x0100000000000002},
    {"profile=ihd", "NV12", "{XR24:0x0100000000000002,XR24}", 0},
    {"profile=i965", "NV12", "XR24:0x0100000000000002", 0x0100000000000002},
    {"profile=i965", "NV12", "{XR24:0x0100000000000001,XR24}", 0},
    {"profile=nouveau", "P010", "XR24:0x03000000004fe014", 0x03000000004fe014},
    {"profile=nouveau", "P010", "{XR24:0x0100000000000002,XR24}", 0},
};

GST_START_TEST(test_learned)
{
  const auto &row = kLearned[__i__];
  const std::string name = std::string(row.driver) + " " + row.out;
  set_driver(row.driver);
  const auto take = [&](const std::string &launch) {
    Pipeline pipeline(launch);
    fail_unless(pipeline.play(), "%s: %s", name.c_str(), pipeline.message(GST_MESSAGE_ERROR).c_str());
    g_autoptr(GstSample) sample = pipeline.pull();
    fail_unless(sample != nullptr, "%s: %s", name.c_str(), pipeline.message(GST_MESSAGE_ERROR).c_str());
    return read_frame(sample);
  };
  const auto from = take(source("num-buffers=1 pattern=frame-counter", in_caps(row.in)));
  auto out = dma_caps(row.out, 192, 224);
  if (out.find("=NV12") != std::string::npos)
    out += row.driver == std::string("profile=radeonsi") ? ",colorimetry=bt709" : ",colorimetry=bt601"; // Mesa before 25 makes BT.709 of RGB
  const auto got = take("vadmabufsrc num-buffers=1 pattern=frame-counter ! " + in_caps(row.in) +
                        " ! vadmabufconvert ! " + out + " ! appsink name=sink sync=false");
  fail_unless_equals_uint64(got.layout.drm_modifier, row.modifier);
  compare_pixels(name, from, got, {}, 3.5);
}
GST_END_TEST

// ---- frames that the driver does not import

struct RefusedRow {
  const char *driver;
  const char *between; // caps between the source and the converter
  const char *error;   // part of it; nullptr: the stream goes on with another pair
};
const char kAny[] = "video/x-raw(memory:DMABuf),format=DMA_DRM,width=96,height=112,framerate=30/1";
const RefusedRow kRefused[] = {
    {"formats=NV12:BGRX,modifiers=x-tiled:linear,list-modifiers=1,import-refused=x-tiled", kAny, nullptr},
    {"formats=BGRX,modifiers=x-tiled:y-tiled:linear,list-modifiers=1,import-refused=x-tiled:y-tiled", kAny, nullptr},
    {"profile=ihd,import-refused=y-tiled", kAny, nullptr},
    // iHD would read the chroma from the dma-buf of the luma
    {"profile=ihd,objects=2", kAny, nullptr},
    {"profile=ihd,objects=2", "video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=NV12,width=96,height=112,framerate=30/1",
     "takes frames in one dma-buf only"},
    {"profile=radeonsi,import-refused=linear", kAny, "No format is left."},
    {"profile=radeonsi26,import-refused=0x0200000018801b03", kAny, nullptr},
    {"profile=nouveau,import-refused=0x03000000004fe014:0x03000000004fe013", kAny, nullptr},
    {"profile=i965,fail=import", kAny, "No format is left."},
    {"formats=NV12:BGRX,import-refused=linear", kAny, "No format is left."},
    {"formats=NV12:BGRX,modifiers=x-tiled:linear,list-modifiers=1,import-refused=x-tiled",
     "video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=XR24:0x0100000000000001,width=96,height=112,framerate=30/1",
     "No format is left."},
};

GST_START_TEST(test_refused_imports)
{
  const auto &row = kRefused[__i__];
  set_driver(row.driver);
  Pipeline pipeline(std::string("vadmabufsrc name=src pattern=frame-counter num-buffers=40 ! ") + row.between +
                    " ! vadmabufconvert name=convert ! " + dma_caps("{XR24,AR24,NV12}", 192, 224) +
                    " ! appsink name=sink sync=false max-buffers=2");
  pipeline.play();
  int frames = 0;
  while (GstSample *sample = pipeline.pull()) {
    (void)read_frame(sample);
    gst_sample_unref(sample);
    ++frames;
  }
  const auto end = pipeline.wait_for_end();
  if (row.error) {
    fail_unless(end.find(row.error) != std::string::npos && end.find("cannot become a VA surface") != std::string::npos, "%s: '%s'",
                row.driver, end.c_str());
    fail_unless_equals_int(frames, 0);
    return;
  }
  fail_unless_equals_string(end.c_str(), "eos");
  // one is lost for each pair that was tried, and those that were on their way
  fail_unless(frames >= 30, "%s: %d frames", row.driver, frames);
}
GST_END_TEST

constexpr char kTiled[] = "NV12:0x0100000000000001";

std::string either_pair(int height)
{
  return "video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format={NV12:0x0100000000000001,NV12},width=96,height=" + std::to_string(height) +
         ",framerate=30/1";
}

bool takes_tiled(Pipeline &pipeline)
{
  const auto pad = gstdrm::GstPtr<GstPad>::adopt(gst_element_get_static_pad(pipeline.get("convert"), "sink"));
  const auto caps = gstdrm::GstPtr<GstCaps>::adopt(gst_pad_query_caps(pad.get(), nullptr));
  g_autoptr(GstDrmFormatSet) set = gst_drm_format_set_new_from_caps(caps.get());
  return set && gst_drm_format_set_contains(set, DRM_FORMAT_NV12, I915_FORMAT_MOD_X_TILED);
}

// Pulls until the converter gets frames like that.
void pull_until(Pipeline &pipeline, const char *drm_format, int height)
{
  for (int i = 0; i < 300; ++i) {
    g_autoptr(GstSample) sample = pipeline.pull();
    fail_unless(sample != nullptr, "%s", pipeline.message(GST_MESSAGE_ERROR).c_str());
    const auto pad = gstdrm::GstPtr<GstPad>::adopt(gst_element_get_static_pad(pipeline.get("convert"), "sink"));
    const auto caps = gstdrm::GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(pad.get()));
    const GstStructure *structure = gst_caps_get_structure(caps.get(), 0);
    gint got = 0;
    if (gst_structure_get_int(structure, "height", &got) && got == height &&
        g_strcmp0(gst_structure_get_string(structure, "drm-format"), drm_format) == 0)
      return;
  }
  fail("no frame of %s and %d rows in 300", drm_format, height);
}

// A driver that does not import a pair at one size is asked again at another one.
GST_START_TEST(test_refused_at_one_size)
{
  set_driver("formats=NV12:BGRX,modifiers=x-tiled:linear,list-modifiers=1,import-refused-above=x-tiled:100");
  Pipeline pipeline("vadmabufsrc name=src ! capsfilter name=filter caps-change-mode=delayed ! vadmabufconvert name=convert ! " +
                    dma_caps("XR24", 192, 192) + " ! appsink name=sink sync=false max-buffers=1");
  const auto filter_by = [&](const std::string &text) {
    const auto caps = gstdrm::GstPtr<GstCaps>::adopt(gst_caps_from_string(text.c_str()));
    g_object_set(pipeline.get("filter"), "caps", caps.get(), nullptr);
  };
  filter_by(either_pair(112));
  fail_unless(pipeline.play(), "%s", pipeline.message(GST_MESSAGE_ERROR).c_str());
  pull_until(pipeline, "NV12", 112);
  fail_if(takes_tiled(pipeline));
  filter_by(either_pair(96));
  pull_until(pipeline, "NV12", 96); // chosen before the new size was known
  fail_unless(takes_tiled(pipeline));
  filter_by(either_pair(64));
  pull_until(pipeline, kTiled, 64);
  filter_by(either_pair(128));
  pull_until(pipeline, "NV12", 128);
  fail_if(takes_tiled(pipeline));
}
GST_END_TEST

// ---- frames that the driver reads, and draws into none of

struct ReadRow {
  const char *driver;
  bool is_read;
};
const ReadRow kRead[] = {
    {"profile=radeonsi", true},
    {"profile=radeonsi26", true},
    {"profile=nouveau", true},
    {"profile=ihd", true}, // which draws into them too
    {"profile=i965", true},
    {"formats=YUY2:BGRX,vpp-refused=YUY2,modifiers=x-tiled:linear,list-modifiers=1", true},
    {"formats=YUY2:UYVY:BGRX:NV12,vpp-refused=YUY2:UYVY:BGRX", true}, // into what it does draw
    {"formats=YUY2:BGRX,vpp-refused=YUY2,read-refused=YUY2", false},
    {"formats=YUY2:BGRX,vpp-refused=YUY2,import-refused=linear", false},
    {"formats=YUY2:BGRX,vpp-refused=YUY2,export-refused=YUY2", false},
};

bool has_yuyv(Pipeline &pipeline, const char *pad_name)
{
  g_autoptr(GstElement) convert = GST_ELEMENT(gst_object_ref(pipeline.get("convert")));
  g_autoptr(GstPad) pad = gst_element_get_static_pad(convert, pad_name);
  g_autoptr(GstCaps) caps = gst_pad_query_caps(pad, nullptr);
  g_autoptr(GstDrmFormatSet) set = gst_drm_format_set_new_from_caps(caps);
  return set && gst_drm_format_set_contains(set, DRM_FORMAT_YUYV, DRM_FORMAT_MOD_LINEAR);
}

// What is read is offered to upstream, and what is drawn to downstream.
GST_START_TEST(test_read_alone)
{
  const auto &row = kRead[__i__];
  set_driver(row.driver);
  const bool drawn = std::string(row.driver).find("profile=i") == 0;
  const bool to_nv12 = std::string(row.driver).find("refused=YUY2:UYVY:BGRX") != std::string::npos;
  Pipeline pipeline("videotestsrc num-buffers=4 pattern=red ! video/x-raw,format=YUY2,width=128,height=64,colorimetry=bt601 ! dmabufupload ! "
                    "vadmabufconvert name=convert ! " +
                    dma_caps(to_nv12 ? "NV12" : "XR24", 64, 64) + " ! appsink name=sink sync=false");
  pipeline.play();
  g_autoptr(GstSample) sample = pipeline.pull();
  if (!row.is_read) {
    fail_unless(sample == nullptr && !has_yuyv(pipeline, "sink") && !has_yuyv(pipeline, "src"), "%s", row.driver);
    fail_if(pipeline.message(GST_MESSAGE_ERROR).empty(), "%s", row.driver);
    return;
  }
  fail_unless(sample != nullptr, "%s: %s", row.driver, pipeline.message(GST_MESSAGE_ERROR).c_str());
  const auto got = rgb_at(read_frame(sample), 10, 10);
  const double red[] = {255, 0, 0};
  for (std::size_t c = 0; c < 3; ++c)
    fail_unless(std::abs(got[c] - red[c]) < 4, "%s: %.1f %.1f %.1f", row.driver, got[0], got[1], got[2]);
  fail_unless(has_yuyv(pipeline, "sink"), "%s", row.driver);
  fail_unless_equals_int(has_yuyv(pipeline, "src"), drawn);
  GstStructure *stats = nullptr;
  g_object_get(pipeline.get("convert"), "drm-stats", &stats, nullptr);
  guint64 copies = 1;
  fail_unless(gst_structure_get_uint64(stats, "copies", &copies) && copies == 0, "%s", row.driver);
  gst_structure_free(stats);
}
GST_END_TEST

Suite *va_convert_pairs_suite()
{
  Suite *suite = suite_create("va_convert_pairs");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 200);
  tcase_add_loop_test(tcase, test_learned, 0, G_N_ELEMENTS(kLearned));
  tcase_add_loop_test(tcase, test_read_alone, 0, G_N_ELEMENTS(kRead));
  tcase_add_loop_test(tcase, test_refused_imports, 0, G_N_ELEMENTS(kRefused));
  tcase_add_test(tcase, test_refused_at_one_size);
  return suite;
}

} // namespace

GST_DRM_VA_CHECK_MAIN(va_convert_pairs)
