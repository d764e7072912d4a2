// SPDX-License-Identifier: LGPL-2.1-or-later
// vadmabufconvert on the test driver in the box: pixels of every profile against a reference, what a
// frame costs, fences, bad input.
#include <array>
#include <set>

#include <gst/drm/gstdrm-private.hpp>

#include "support/consumer.hpp"
#include "support/dmabuf_elements.hpp"
#include "va_convert_pixels.hpp"

namespace {

using namespace gstdrm::test;
using C = vadriver::Counter;

std::string convert(const std::string &source_properties, const std::string &in,
                    const std::string &properties, const std::string &out)
{
  return "vadmabufsrc name=src " + source_properties + " ! " + in +
         " ! vadmabufconvert name=convert " + properties + " ! " + out +
         " ! appsink name=sink sync=false";
}

std::uint64_t convert_stat(const Pipeline &pipeline, const char *field)
{
  GstStructure *stats = nullptr;
  g_object_get(pipeline.get("convert"), "drm-stats", &stats, nullptr);
  guint64 value = 0;
  fail_unless(gst_structure_get_uint64(stats, field, &value), "no %s in drm-stats", field);
  gst_structure_free(stats);
  return value;
}

Frame first_frame(const std::string &launch)
{
  Pipeline pipeline(launch);
  fail_unless(pipeline.play(), "%s: %s", launch.c_str(), pipeline.message(GST_MESSAGE_ERROR).c_str());
  g_autoptr(GstSample) sample = pipeline.pull();
  fail_unless(sample != nullptr, "%s: %s", launch.c_str(), pipeline.message(GST_MESSAGE_ERROR).c_str());
  return read_frame(sample);
}

// ---- what a consumer asks for beyond its caps

struct NeedRow {
  const char *driver;
  Consumer consumer;
  const char *error; // part of it; "": the stream runs
};
const NeedRow kNeeds[] = {
    {"formats=NV12:BGRX,stride-align=512", {"display", 512, 0}, ""},
    {"formats=NV12:BGRX,stride-align=64", {"display", 4096, 0}, "and display asks for a multiple of 4096"},
    {"formats=NV12:BGRX", {"display", 48, 0}, "Let display on /dev/dri/card7 ask for 64 bytes as stride-align"},
    {"formats=NV12:BGRX", {"recorder", 0, 9}, ""},
};

GST_START_TEST(test_needs_of_a_consumer)
{
  const auto &row = kNeeds[__i__];
  set_driver(row.driver);
  Pipeline pipeline(convert("", dma_caps("NV12", 64, 64), "num-surfaces=2", dma_caps("XR24", 128, 128)));
  g_autoptr(GstSample) sample = first_frame_for(row.consumer, pipeline, "convert", row.error);
  if (sample)
    fail_unless_equals_int(static_cast<int>(most_of_pool(gst_sample_get_buffer(sample))), row.consumer.buffers_held > 0 ? 10 : 2);
}
GST_END_TEST

// ---- pixels

struct PixelRow {
  const char *driver;
  const char *in;
  const char *out;
  int out_width;
  int out_height;
  const char *properties;
  Expected expected;
};
constexpr int kWidth = 320;
constexpr int kHeight = 240;
const PixelRow kPixels[] = {
    {"formats=NV12:BGRX", "NV12", "XR24", 640, 480, "", {}},
    {"formats=NV12:BGRX", "NV12", "XR24", 160, 120, "", {}},
    {"formats=NV12:BGRX", "XR24", "NV12", 320, 240, "", {}},
    {"formats=NV12:BGRX,objects=2", "NV12", "XR24", 640, 480, "", {}},
    {"formats=BGRX:RGBA", "XR24", "AB24", 480, 360, "", {}},
    {"formats=NV12:P010", "NV12", "P010", 640, 480, "", {}},
    {"formats=I420:BGRX", "YU12", "XR24", 640, 480, "", {}},
    {"formats=YUY2:BGRX", "YUYV", "XR24", 640, 480, "", {}},
    // turned
    {"formats=BGRX", "XR24", "XR24", 240, 320, "video-direction=90r", {.quarter_turns = 1}},
    {"formats=BGRX", "XR24", "XR24", 320, 240, "video-direction=180", {.quarter_turns = 2}},
    {"formats=BGRX", "XR24", "XR24", 240, 320, "video-direction=90l", {.quarter_turns = 3}},
    {"formats=BGRX", "XR24", "XR24", 320, 240, "video-direction=horiz", {.mirror_x = true}},
    {"formats=BGRX", "XR24", "XR24", 320, 240, "video-direction=vert", {.mirror_y = true}},
    {"formats=NV12:BGRX", "NV12", "XR24", 480, 640, "video-direction=90r", {.quarter_turns = 1}},
    // another shape
    {"formats=BGRX", "XR24", "XR24", 640, 240, "add-borders=false", {}},
    {"formats=BGRX", "XR24", "XR24", 640, 240, "", {.x = 160, .width = 320, .height = 240}},
    {"formats=BGRX", "XR24", "XR24", 320, 480, "", {.y = 120, .width = 320, .height = 240}},
    {"profile=ihd", "XR24", "XR24", 640, 240, "", {.x = 160, .width = 320, .height = 240}},
    {"profile=ihd", "NV12", "NV12", 320, 480, "", {.y = 120, .width = 320, .height = 240}},
    {"profile=i965", "XR24", "XR24", 640, 240, "", {.x = 160, .width = 320, .height = 240}},
    {"profile=i965", "NV12", "NV12", 320, 480, "", {.y = 120, .width = 320, .height = 240}},
    {"profile=radeonsi", "XR24", "XR24", 640, 240, "", {.x = 160, .width = 320, .height = 240}},
    {"profile=radeonsi", "NV12", "P010", 320, 480, "", {.y = 120, .width = 320, .height = 240}},
    {"profile=radeonsi26", "XR24", "XR24", 640, 240, "", {.x = 160, .width = 320, .height = 240}},
    {"profile=nouveau", "XR24", "AB24", 640, 240, "", {.x = 160, .width = 320, .height = 240}},
    {"formats=BGRX,background=0", "XR24", "XR24", 320, 480, "video-direction=90r", {.quarter_turns = 1, .y = 26, .width = 320, .height = 426}},
    // tilings
    {"formats=NV12:BGRX,modifiers=x-tiled:linear", "XR24:0x0100000000000001", "XR24", 320, 240, "", {}},
    {"formats=NV12:BGRX,modifiers=x-tiled:linear", "XR24", "XR24:0x0100000000000001", 640, 480, "", {}},
    {"formats=NV12:BGRX,modifiers=samsung:linear", "NV12:0x0400000000000001", "XR24", 640, 480, "", {}},
    // drivers
    {"profile=ihd", "NV12:0x0100000000000002", "XR24", 640, 480, "", {}},
    {"profile=ihd", "NV12:0x0100000000000002", "NV12", 640, 480, "", {}},
    {"profile=ihd", "XR24", "NV12:0x0100000000000002", 240, 320, "video-direction=90r", {.quarter_turns = 1}},
    {"profile=ihd", "YUYV", "XR24", 640, 480, "", {}},
    {"profile=i965", "NV12:0x0100000000000002", "XR24", 640, 480, "", {}},
    {"profile=i965", "NV12", "XR24:0x0100000000000002", 640, 480, "", {}},
    {"profile=i965", "XR24:0x0100000000000002", "NV12", 320, 240, "", {}},
    {"profile=radeonsi", "NV12", "XR24", 640, 480, "", {}},
    {"profile=radeonsi", "XR24", "P010", 640, 480, "", {}},
    {"profile=radeonsi26", "NV12", "XR24", 640, 480, "", {}},
    {"profile=radeonsi26", "XR24:0x0200000018801b03", "NV12", 640, 480, "", {}},
    {"profile=nouveau", "P010", "XR24", 640, 480, "", {}},
    {"profile=nouveau", "XR24:0x03000000004fe014", "AB24", 640, 480, "", {}},
};

GST_START_TEST(test_pixels)
{
  const auto &row = kPixels[__i__];
  const std::string name = std::string(row.driver) + " " + row.in + " to " + row.out + " " + row.properties;
  set_driver(row.driver);
  const auto in = dma_caps(row.in, kWidth, kHeight) + ",colorimetry=" + (row.in[0] == 'X' ? "sRGB" : "bt601");
  const auto from = first_frame(source("num-buffers=1 pattern=frame-counter", in));
  auto out = dma_caps(row.out, row.out_width, row.out_height) + ",pixel-aspect-ratio=1/1";
  // Mesa before 25 makes BT.709 of RGB
  const bool mesa = row.driver == std::string("profile=radeonsi") || g_str_has_prefix(row.driver, "profile=nouveau");
  if (row.out[0] == 'N' || row.out[0] == 'P')
    out += mesa && row.in[0] == 'X' ? ",colorimetry=bt709" : ",colorimetry=bt601";
  const auto got = first_frame(convert("num-buffers=1 pattern=frame-counter", in, row.properties, out));
  fail_unless_equals_int(static_cast<int>(got.layout.width), row.out_width);
  fail_unless_equals_int(static_cast<int>(got.layout.height), row.out_height);
  // rounded to 8 bits of YUV, which is 2.02 of blue at the most, and back
  compare_pixels(name, from, got, row.expected, row.in[0] == row.out[0] && row.in[0] == 'X' ? 0 : 3.5);
}
GST_END_TEST

// ---- what a frame costs

struct CostRow {
  const char *driver;
  const char *in;
  const char *out;
  std::uint64_t calls; // VA calls a frame of vadmabufconvert, at most
};
const CostRow kCosts[] = {
    {"formats=NV12:BGRX", "NV12", "XR24", 4},
    {"formats=NV12:BGRX,async=1", "NV12", "XR24", 3},
    {"formats=NV12:BGRX,async=1,fences=0", "NV12", "XR24", 4},
    {"profile=ihd", "NV12:0x0100000000000002", "XR24", 4},
    {"profile=i965", "NV12:0x0100000000000002", "XR24", 4},
    {"profile=radeonsi", "NV12", "XR24", 4},
    {"profile=radeonsi26", "NV12", "XR24", 4},
    {"profile=nouveau", "P010", "XR24", 4},
};

// The test driver converts with the CPU, many times slower under ASan.
#if defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kFrames = 100;
#else
constexpr std::uint64_t kFrames = 600;
#endif

GST_START_TEST(test_many_frames)
{
  const auto &row = kCosts[__i__];
  const Counters counters;
  set_driver(std::string(row.driver) + "," + counters.setting());
  Pipeline pipeline(convert("num-buffers=" + std::to_string(kFrames) + " pattern=frame-counter", dma_caps(row.in, 96, 112), "",
                            dma_caps(row.out, 192, 224)));
  g_object_set(pipeline.get("sink"), "max-buffers", 2, nullptr);
  fail_unless(pipeline.play());
  std::uint64_t made[4] = {};
  std::uint64_t calls = 0;
  std::set<GstMemory *> memories;
  for (std::uint64_t i = 0; i < kFrames; ++i) {
    g_autoptr(GstSample) sample = pipeline.pull();
    fail_unless(sample != nullptr, "frame %d: %s", static_cast<int>(i), pipeline.message(GST_MESSAGE_ERROR).c_str());
    // twice the size: the counter's cells are 16 pixels
    const auto frame = read_frame(sample);
    std::uint64_t number = 0;
    for (std::uint32_t bit = 0; bit < 32; ++bit)
      number = number << 1 | (rgb_at(frame, bit % 8 * 16 + 8, bit / 8 * 16 + 8)[1] > 127 ? 1 : 0);
    fail_unless_equals_uint64(number, i);
    const std::uint64_t now[4] = {counters[C::Create], counters[C::Export], counters[C::Import], counters[C::Buffer]};
    if (i == 20) { // warm: every buffer of the source's pool has come once
      std::copy(std::begin(now), std::end(now), std::begin(made));
      calls = convert_stat(pipeline, "va-calls");
    } else if (i > 20) {
      for (int k = 0; k < 4; ++k)
        fail_unless(now[k] == made[k], "frame %d: counter %d went from %d to %d", static_cast<int>(i), k,
                    static_cast<int>(made[k]), static_cast<int>(now[k]));
    }
  }
  fail_unless(pipeline.pull() == nullptr);
  fail_unless_equals_uint64(convert_stat(pipeline, "frames"), kFrames);
  fail_unless_equals_uint64(convert_stat(pipeline, "copies"), 0);
  const auto imports = convert_stat(pipeline, "imports");
  fail_unless(imports <= 8, "%d imports", static_cast<int>(imports));
  fail_unless_equals_uint64(convert_stat(pipeline, "import-hits"), kFrames - imports);
  const auto later = convert_stat(pipeline, "va-calls") - calls;
  fail_unless(later <= row.calls * (kFrames - 20), "%d VA calls behind frame 20", static_cast<int>(later));
}
GST_END_TEST

// ---- nothing to do, refusals

GST_START_TEST(test_passes_through)
{
  const Counters counters;
  set_driver("formats=NV12," + counters.setting());
  Pipeline pipeline(convert("num-buffers=20 pattern=frame-counter", dma_caps("NV12", 96, 112), "", "identity"));
  fail_unless(pipeline.play());
  for (std::uint64_t i = 0; i < 20; ++i) {
    g_autoptr(GstSample) sample = pipeline.pull();
    fail_unless(sample != nullptr, "%s", pipeline.message(GST_MESSAGE_ERROR).c_str());
    fail_unless_equals_uint64(read_counter(read_frame(sample)).frame, i);
  }
  fail_unless_equals_uint64(counters[C::Import], 0);
  fail_unless_equals_uint64(convert_stat(pipeline, "frames"), 20);
}
GST_END_TEST

struct RefusalRow {
  const char *driver;
  const char *source; // the pipeline before the converter
  const char *properties;
  const char *out;
  const char *error; // part of the message
};
const char kSource[] = "vadmabufsrc name=src num-buffers=3 ! "
                       "video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=NV12,width=64,height=48";
const RefusalRow kRefusals[] = {
    {"vpp=0,formats=NV12:BGRX", kSource, "", "XR24", "no video processing"},
    {"formats=NV12:BGRX,rotate=0", kSource, "video-direction=90r", "XR24", "does not turn pictures"},
    {"formats=NV12:BGRX", kSource, "video-direction=ul-lr", "XR24", "diagonal"},
    {"formats=NV12:BGRX,fail=import", kSource, "", "XR24", "cannot become a VA surface"},
    {"formats=NV12:BGRX,fail=end:40", "vadmabufsrc name=src num-buffers=40 ! video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=NV12,width=64,height=48", "", "XR24", "vaEndPicture"},
    {"formats=NV12:BGRX", kSource, "", "AR24", "no format in common"},
    {"formats=NV12:BGRX", "videotestsrc num-buffers=3 ! video/x-raw,format=NV12,width=64,height=48", "zero-copy=require", "XR24", "zero-copy=require"},
};

GST_START_TEST(test_refusals)
{
  const auto &row = kRefusals[__i__];
  set_driver(kRichestDriver); // for the templates
  gst_object_unref(gst_object_ref_sink(gst_element_factory_make("vadmabufconvert", nullptr)));
  set_driver(row.driver);
  Pipeline pipeline(std::string(row.source) + " ! vadmabufconvert name=convert " + row.properties + " ! " +
                    dma_caps(row.out, 128, 96) + " ! fakesink name=sink");
  pipeline.play();
  // vadmabufsrc may be the one that fails to draw its 40th picture
  const auto error = pipeline.wait_for_end();
  fail_unless(error.find(row.error) != std::string::npos, "%s: '%s'", row.driver, error.c_str());
}
GST_END_TEST

// An import that fails behind others that did not: memory is short, say. A frame is lost; the pair stays, and so does the
// stream.
GST_START_TEST(test_import_that_fails_once)
{
  const bool always = __i__ == 1;
  std::string driver = "formats=NV12:BGRX,modifiers=x-tiled:linear,list-modifiers=1";
  for (int i = 3; i < (always ? 60 : 4); ++i)
    driver += ",fail=import:" + std::to_string(i);
  set_driver(driver);
  Pipeline pipeline(convert("num-buffers=40 num-surfaces=6 pattern=frame-counter",
                            "video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format={NV12,NV12:0x0100000000000001},width=96,height=112", "",
                            dma_caps("XR24", 192, 224)));
  fail_unless(pipeline.play());
  int frames = 0;
  while (GstSample *sample = pipeline.pull()) {
    gst_sample_unref(sample);
    ++frames;
  }
  const auto end = pipeline.wait_for_end();
  if (always) {
    fail_unless(end.find("cannot become a VA surface") != std::string::npos, "%s", end.c_str());
    return;
  }
  fail_unless(end == "eos", "%s", end.c_str());
  fail_unless_equals_int(frames, 39);
  const auto pad = gstdrm::GstPtr<GstPad>::adopt(gst_element_get_static_pad(pipeline.get("convert"), "sink"));
  const auto caps = gstdrm::GstPtr<GstCaps>::adopt(gst_pad_query_caps(pad.get(), nullptr));
  g_autofree gchar *text = gst_caps_to_string(caps.get());
  fail_unless(std::string(text).find("NV12:0x0100000000000001") != std::string::npos, "%s", text);
}
GST_END_TEST

// System memory under plain caps is copied, counted, announced.
GST_START_TEST(test_system_memory)
{
  set_driver("formats=NV12:BGRX");
  Pipeline pipeline("videotestsrc num-buffers=5 pattern=red ! video/x-raw,format=NV12,width=64,height=48,colorimetry=bt601 ! "
                    "vadmabufconvert name=convert ! " + dma_caps("XR24", 128, 96) + " ! appsink name=sink sync=false");
  fail_unless(pipeline.play());
  for (int i = 0; i < 5; ++i) {
    g_autoptr(GstSample) sample = pipeline.pull();
    fail_unless(sample != nullptr, "%s", pipeline.message(GST_MESSAGE_ERROR).c_str());
    const auto red = rgb_at(read_frame(sample), 50, 50);
    fail_unless(red[0] > 250 && red[1] < 5 && red[2] < 5, "%.0f %.0f %.0f", red[0], red[1], red[2]);
  }
  fail_unless_equals_uint64(convert_stat(pipeline, "copies"), 5);
  fail_unless(pipeline.message(GST_MESSAGE_INFO).find("system memory") != std::string::npos);
}
GST_END_TEST

// A reader of plain caps that knows no GstVideoMeta gets GStreamer's own rows: a copy, where the driver pads its own.
GST_START_TEST(test_reader_without_meta)
{
  set_driver("formats=NV12:BGRX,stride-align=512");
  const bool may_copy = __i__ == 0;
  Pipeline pipeline(std::string("videotestsrc num-buffers=5 pattern=red ! video/x-raw,format=NV12,width=64,height=48,colorimetry=bt601 ! "
                                "dmabufupload ! ") +
                    "vadmabufconvert name=convert zero-copy=" + (may_copy ? "prefer" : "require") +
                    " ! video/x-raw,format=BGRx,width=100,height=76 ! appsink name=sink sync=false");
  pipeline.play();
  if (!may_copy) {
    const auto error = pipeline.wait_for_end();
    fail_unless(error.find("does not take GstVideoMeta") != std::string::npos, "%s", error.c_str());
    return;
  }
  for (int i = 0; i < 5; ++i) {
    g_autoptr(GstSample) sample = pipeline.pull();
    fail_unless(sample != nullptr, "%s", pipeline.message(GST_MESSAGE_ERROR).c_str());
    GstBuffer *frame = gst_sample_get_buffer(sample);
    fail_unless_equals_int(gst_buffer_get_size(frame), 100 * 4 * 76);
    fail_if(gst_buffer_get_video_meta(frame));
    GstMapInfo map;
    fail_unless(gst_buffer_map(frame, &map, GST_MAP_READ));
    const guint8 *pixel = map.data + 70 * 400 + 90 * 4;
    fail_unless(pixel[2] > 250 && pixel[1] < 5 && pixel[0] < 5, "%d %d %d", pixel[2], pixel[1], pixel[0]);
    gst_buffer_unmap(frame, &map);
  }
  fail_unless_equals_uint64(convert_stat(pipeline, "copies"), 5);
  fail_unless(pipeline.message(GST_MESSAGE_INFO).find("GstVideoMeta") != std::string::npos);
}
GST_END_TEST

// video-direction is followed while the stream plays.
GST_START_TEST(test_direction_changes)
{
  set_driver("formats=BGRX");
  Pipeline pipeline(convert("pattern=solid", dma_caps("XR24", 64, 48), "", "video/x-raw(memory:DMABuf)"));
  g_object_set(pipeline.get("sink"), "max-buffers", 1, nullptr);
  fail_unless(pipeline.play());
  bool turned = false;
  for (int i = 0; i < 60 && !turned; ++i) {
    g_autoptr(GstSample) sample = pipeline.pull();
    fail_unless(sample != nullptr, "%s", pipeline.message(GST_MESSAGE_ERROR).c_str());
    turned = read_frame(sample).layout.width == 48;
    if (i == 5)
      gst_util_set_object_arg(G_OBJECT(pipeline.get("convert")), "video-direction", "90r");
  }
  fail_unless(turned);
}
GST_END_TEST

// Also where the caps of both sides stay as they are: from frames that pass through, and back.
GST_START_TEST(test_direction_changes_with_the_same_caps)
{
  set_driver("formats=BGRX");
  const auto caps = dma_caps("XR24", 64, 64);
  Pipeline pipeline(convert("pattern=smpte", caps, "", caps));
  g_object_set(pipeline.get("sink"), "max-buffers", 1, nullptr);
  fail_unless(pipeline.play());
  const auto corner_is = [&](std::uint32_t x, std::uint32_t y, const std::array<double, 3> &colour) {
    for (int i = 0; i < 20; ++i) { // frames that are on their way
      g_autoptr(GstSample) sample = pipeline.pull();
      fail_unless(sample != nullptr, "%s", pipeline.message(GST_MESSAGE_ERROR).c_str());
      const auto got = rgb_at(read_frame(sample), x, y);
      if (got[0] == colour[0] && got[1] == colour[1] && got[2] == colour[2])
        return true;
    }
    return false;
  };
  std::array<double, 3> corner{};
  {
    g_autoptr(GstSample) sample = pipeline.pull();
    fail_unless(sample != nullptr);
    const auto frame = read_frame(sample);
    const auto colour = rgb_at(frame, 0, 0);
    std::copy(std::begin(colour), std::end(colour), corner.begin());
    const auto other = rgb_at(frame, 63, 63);
    fail_if(other[0] == corner[0] && other[1] == corner[1] && other[2] == corner[2]);
  }
  for (const bool turned : {true, false, true}) {
    gst_util_set_object_arg(G_OBJECT(pipeline.get("convert")), "video-direction", turned ? "180" : "identity");
    fail_unless(turned ? corner_is(63, 63, corner) : corner_is(0, 0, corner));
  }
}
GST_END_TEST

// An answer to a caps query that was given is given again, without lists that are made anew.
GST_START_TEST(test_answers_are_remembered)
{
  set_driver("profile=ihd");
  Pipeline pipeline(convert("pattern=solid", dma_caps("NV12", 64, 64), "", "video/x-raw(memory:DMABuf)"));
  g_object_set(pipeline.get("sink"), "max-buffers", 1, nullptr);
  fail_unless(pipeline.play());
  gst_sample_unref(pipeline.pull());
  const auto filter = gstdrm::GstPtr<GstCaps>::adopt(gst_caps_from_string(dma_caps("XR24", 64, 64).c_str()));
  for (const char *name : {"sink", "src"}) {
    const auto pad = gstdrm::GstPtr<GstPad>::adopt(gst_element_get_static_pad(pipeline.get("convert"), name));
    for (GstCaps *asked : {static_cast<GstCaps *>(nullptr), filter.get()}) {
      const auto first = gstdrm::GstPtr<GstCaps>::adopt(gst_pad_query_caps(pad.get(), asked));
      const auto second = gstdrm::GstPtr<GstCaps>::adopt(gst_pad_query_caps(pad.get(), asked));
      fail_unless(first.get() == second.get(), "%s", name);
    }
  }
}
GST_END_TEST

// An error of the pool after frames that passed through: the source, which is not asked to choose again, ends with one of its own.
GST_START_TEST(test_source_ends_with_the_pool)
{
  set_driver("formats=BGRX,stride-align=64");
  const auto caps = dma_caps("XR24", 64, 64);
  Pipeline pipeline(convert("pattern=solid", caps, "", caps));
  g_object_set(pipeline.get("sink"), "max-buffers", 1, "drop", TRUE, nullptr);
  fail_unless(pipeline.play());
  gst_sample_unref(pipeline.pull());
  const auto pad = gstdrm::GstPtr<GstPad>::adopt(gst_element_get_static_pad(pipeline.get("convert"), "src"));
  static const Consumer consumer{"display", 4096, 0}; // asked until the pipeline has ended
  answer_as(pad.get(), consumer);
  gst_util_set_object_arg(G_OBJECT(pipeline.get("convert")), "video-direction", "180");
  const std::string error = pipeline.message(GST_MESSAGE_ERROR);
  fail_unless(error.find("display asks for a multiple of 4096") != std::string::npos, "'%s'", error.c_str());
  fail_unless(!pipeline.message(GST_MESSAGE_ERROR).empty(), "the source goes on");
  fail_unless_equals_int(static_cast<int>(pipeline.errors_of("src").size()), 1);
}
GST_END_TEST

// Every descriptor comes back, also when downstream keeps all frames while it is stopped.
GST_START_TEST(test_nothing_is_left)
{
  set_driver(__i__ == 0 ? "formats=NV12:BGRX" : __i__ == 1 ? "formats=NV12:BGRX,async=2" : "formats=NV12:BGRX,async=2,fences=0");
  unsigned before = 0;
  for (int round = 0; round < 3; ++round) {
    {
      Pipeline pipeline(convert("pattern=frame-counter", dma_caps("NV12", 96, 112), "num-surfaces=2", dma_caps("XR24", 192, 224)));
      fail_unless(pipeline.play());
      g_autoptr(GstSample) kept = pipeline.pull();
      g_autoptr(GstSample) also_kept = pipeline.pull(); // the pool is empty: the streaming thread waits
      fail_unless(kept != nullptr && also_kept != nullptr, "%s", pipeline.message(GST_MESSAGE_ERROR).c_str());
      pipeline.stop();
    }
    const auto now = settled_fds();
    if (round == 0)
      before = now;
    fail_unless(settles_at(before), "%u descriptors, there were %u", now, before);
  }
}
GST_END_TEST

enum class Letting { Drain, Flush, Caps };
struct LettingRow {
  const char *name;
  Letting by;
};
constexpr LettingRow kLetting[] = {
    {"DRAIN query", Letting::Drain}, {"flush", Letting::Flush}, {"new caps", Letting::Caps}};

// Upstream's pool is gone: its memory must not live on until other frames have come.
GST_START_TEST(test_memory_of_an_old_pool)
{
  const Counters counters;
  set_driver("formats=NV12:BGRX,async=5," + counters.setting());
  const Harness h("vadmabufconvert");
  gst_harness_set_sink_caps_str(h.get(), dmabuf_caps("XR24", 128, 96).c_str());
  fail_unless(h.negotiate(dmabuf_caps("XR24", 64, 48)), "%s", h.last_error().c_str());
  const auto alive = [&] { return counters[C::Create] - counters[C::Destroy]; };
  const auto before = alive(); // the pool's
  for (guint i = 0; i < 8; i++)
    (void)h.push(new_dmabuf_frame("udmabuf", plain_caps("BGRx", 64, 48), i));
  fail_unless_equals_uint64(h.stat("imports"), 8);
  const auto with_pool = alive();
  fail_unless(with_pool >= before + 8);
  GstPad *src = h.get()->srcpad;
  if (kLetting[__i__].by == Letting::Drain) {
    const auto query = gstdrm::GstPtr<GstQuery>::adopt(gst_query_new_drain());
    (void)gst_pad_peer_query(src, query.get());
  } else if (kLetting[__i__].by == Letting::Flush) {
    gst_pad_push_event(src, gst_event_new_flush_start());
    gst_pad_push_event(src, gst_event_new_flush_stop(FALSE));
  } else {
    fail_unless(h.negotiate(dmabuf_caps("XR24", 32, 48)));
  }
  fail_unless(alive() <= with_pool - 8, "%u surfaces, there were %u with the old pool's",
              static_cast<unsigned>(alive()), static_cast<unsigned>(with_pool));
}
GST_END_TEST

Suite *va_convert_suite()
{
  Suite *suite = suite_create("vadmabufconvert");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 200);
  tcase_add_loop_test(tcase, test_needs_of_a_consumer, 0, G_N_ELEMENTS(kNeeds));
  tcase_add_loop_test(tcase, test_pixels, 0, G_N_ELEMENTS(kPixels));
  tcase_add_loop_test(tcase, test_many_frames, 0, G_N_ELEMENTS(kCosts));
  tcase_add_loop_test(tcase, test_memory_of_an_old_pool, 0, G_N_ELEMENTS(kLetting));
  tcase_add_test(tcase, test_passes_through);
  tcase_add_loop_test(tcase, test_refusals, 0, G_N_ELEMENTS(kRefusals));
  tcase_add_loop_test(tcase, test_import_that_fails_once, 0, 2);
  tcase_add_test(tcase, test_system_memory);
  tcase_add_loop_test(tcase, test_reader_without_meta, 0, 2);
  tcase_add_test(tcase, test_direction_changes);
  tcase_add_test(tcase, test_direction_changes_with_the_same_caps);
  tcase_add_test(tcase, test_source_ends_with_the_pool);
  tcase_add_test(tcase, test_answers_are_remembered);
  tcase_add_loop_test(tcase, test_nothing_is_left, 0, 3);
  return suite;
}

} // namespace

GST_DRM_VA_CHECK_MAIN(va_convert)
