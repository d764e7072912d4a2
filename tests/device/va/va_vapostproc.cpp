// SPDX-License-Identifier: LGPL-2.1-or-later
// vadmabufsrc and upstream's vapostproc on the same driver: it imports our frames as dma-bufs, without a copy, and converts
// and scales them.
#include "va_support.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

namespace {

using namespace gstdrm::test;
using C = vadriver::Counter;

struct Row {
  const char *in;  // GstVideoFormat of our frames
  const char *drm; // their drm-format
  const char *out; // of vapostproc
};
const Row kRows[] = {
    {"NV12", "NV12", "NV12"},      {"NV12", "NV12", "BGRx"},     {"NV12", "NV12", "P010_10LE"}, {"P010_10LE", "P010", "NV12"},
    {"BGRx", "XR24", "NV12"},      {"BGRA", "AR24", "BGRx"},     {"RGBx", "XB24", "I420"},      {"YUY2", "YUYV", "NV12"},
    {"I420", "YU12", "BGRA"},      {"UYVY", "UYVY", "YUY2"},
};

bool speaks_dma_drm()
{
  guint major = 0;
  guint minor = 0;
  guint micro = 0;
  guint nano = 0;
  gst_version(&major, &minor, &micro, &nano);
  return major > 1 || minor >= 24;
}

bool has_vapostproc()
{
  GstElementFactory *factory = gst_element_factory_find("vapostproc");
  if (factory)
    gst_object_unref(factory);
  return factory != nullptr;
}

// GStreamer 1.24 and later speak DMA_DRM; before, a linear dma-buf flows under plain caps.
std::string in_caps(const Row &row)
{
  const std::string size = ",width=320,height=240";
  if (speaks_dma_drm())
    return dma_caps(row.drm, 320, 240);
  return std::string("video/x-raw,format=") + row.in + size;
}

std::uint8_t grey_at(const GstVideoFrame &frame, int x, int y)
{
  // component 0 is luma or red, and grey is the same in all
  GstVideoFrame copy = frame;
  const auto *data = static_cast<const guint8 *>(GST_VIDEO_FRAME_COMP_DATA(&copy, 0));
  const auto depth = GST_VIDEO_FRAME_COMP_DEPTH(&copy, 0);
  const auto *p = data + y * GST_VIDEO_FRAME_COMP_STRIDE(&copy, 0) + x * GST_VIDEO_FRAME_COMP_PSTRIDE(&copy, 0);
  return depth > 8 ? p[1] : p[0];
}

// vapostproc pads its rows; appsink would not say that it takes GstVideoMeta.
GstPadProbeReturn take_video_meta(GstPad *, GstPadProbeInfo *info, gpointer)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY(info);
  if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
  return GST_PAD_PROBE_HANDLED;
}

void promise_video_meta(const Pipeline &pipeline)
{
  GstPad *pad = gst_element_get_static_pad(pipeline.get("sink"), "sink");
  gst_pad_add_probe(pad, static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM | GST_PAD_PROBE_TYPE_PUSH),
                    take_video_meta, nullptr, nullptr);
  gst_object_unref(pad);
}

GST_START_TEST(test_exchange)
{
  const auto &row = kRows[__i__];
  const Counters counters;
  // Without derived images: vapostproc 1.22 maps those for readers with its own strides, not the image's.
  set_driver("derive=0," + counters.setting());
  Pipeline pipeline(source("pattern=frame-counter num-buffers=5", in_caps(row),
                           std::string("vapostproc disable-passthrough=true ! video/x-raw,width=160,height=120,format=") + row.out +
                               " ! appsink name=sink sync=false"));
  promise_video_meta(pipeline);
  fail_unless(pipeline.play(), "%s", pipeline.message(GST_MESSAGE_ERROR).c_str());
  for (std::uint64_t i = 0; i < 5; ++i) {
    g_autoptr(GstSample) sample = pipeline.pull();
    fail_unless(sample != nullptr, "%s to %s: %s", row.in, row.out, pipeline.message(GST_MESSAGE_ERROR).c_str());
    GstVideoInfo info;
    GstVideoFrame frame;
    fail_unless(gst_video_info_from_caps(&info, gst_sample_get_caps(sample)));
    fail_unless(gst_video_frame_map(&frame, &info, gst_sample_get_buffer(sample), GST_MAP_READ));
    // Half the size: cells of 4 pixels; the fourth byte is the frame number's lowest.
    unsigned number = 0;
    for (int bit = 0; bit < 8; ++bit)
      number = number << 1 | (grey_at(frame, bit * 4 + 1, 3 * 4 + 1) > 127 ? 1U : 0U);
    gst_video_frame_unmap(&frame);
    fail_unless_equals_int(static_cast<int>(number), static_cast<int>(i));
  }
  fail_unless(counters[C::Import] > 0, "vapostproc imported our dma-bufs");
  fail_unless_equals_uint64(pipeline.stat("copies"), 0);
}
GST_END_TEST

// The classes are made once in a process, of what the driver has then.
void load_classes(const std::string &driver)
{
  set_driver(driver);
  for (const char *name : {"vadmabufsrc", "vadmabufconvert", "vapostproc"})
    gst_object_unref(gst_object_ref_sink(gst_element_factory_make(name, nullptr)));
}

// ---- what a frame costs: calls that reach the driver, beside vadmabufconvert

struct CostRow {
  const char *name;
  std::string (*rest)(); // behind the source
};

std::string nothing()
{
  return "fakesink name=sink sync=false";
}
std::string upstream()
{
  const std::string out = speaks_dma_drm() ? dma_caps("XR24", 640, 480) : "video/x-raw(memory:DMABuf),format=BGRx,width=640,height=480";
  return "vapostproc disable-passthrough=true ! " + out + " ! " + nothing();
}
std::string ours()
{
  return "vadmabufconvert ! " + dma_caps("XR24", 640, 480) + " ! " + nothing();
}
const CostRow kCosts[] = {{"the source alone", nothing}, {"vapostproc", upstream}, {"vadmabufconvert", ours}};

using Counts = std::array<std::uint64_t, vadriver::kCounters>;

Counts calls_of(const CostRow &row, int frames)
{
  const Counters counters;
  set_driver("formats=NV12:BGRX,derive=0,async=1," + counters.setting());
  const bool plain = row.rest == upstream && !speaks_dma_drm();
  Pipeline pipeline(source("pattern=checkers num-buffers=" + std::to_string(frames),
                           plain ? "video/x-raw,format=NV12,width=320,height=240" : dma_caps("NV12", 320, 240), row.rest()));
  promise_video_meta(pipeline);
  fail_unless(pipeline.play(), "%s: %s", row.name, pipeline.message(GST_MESSAGE_ERROR).c_str());
  const auto end = pipeline.wait_for_end();
  fail_unless(end == "eos", "%s: '%s'", row.name, end.c_str());
  Counts counts{};
  for (std::size_t i = 0; i < counts.size(); ++i)
    counts[i] = counters[static_cast<C>(i)];
  return counts;
}

GST_START_TEST(test_calls_per_frame)
{
  constexpr int kFew = 40; // every buffer of the pools has come
  constexpr int kFrames = 200;
  std::array<double, G_N_ELEMENTS(kCosts)> sums{};
  load_classes(kRichestDriver);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const Counts few = calls_of(kCosts[i], kFew);
    const Counts all = calls_of(kCosts[i], kFew + kFrames);
    std::string text;
    for (std::size_t call = 0; call < few.size(); ++call) {
      const double each = (static_cast<double>(all[call]) - static_cast<double>(few[call])) / kFrames;
      // a blit is a part of a render, an import a way to create
      if (static_cast<C>(call) == C::Blit || static_cast<C>(call) == C::Import || each < 0.005)
        continue;
      sums[i] += each;
      text += " " + std::string(vadriver::kCounterNames[call]) + " " + std::to_string(each).substr(0, 4);
    }
    g_print("# %s, calls per frame:%s; together %.2f\n", kCosts[i].name, text.c_str(), sums[i]);
  }
  // vaBeginPicture, vaRenderPicture and vaEndPicture, and at most one more
  fail_unless(sums[2] - sums[0] <= 4.05, "%.2f", sums[2] - sums[0]);
  fail_unless(sums[2] <= sums[1] + 2.05, "%.2f beside %.2f", sums[2] - sums[0], sums[1] - sums[0]);
}
GST_END_TEST

// ---- on a display: what vkms scans out of vadmabufconvert, and of vapostproc in its place

struct ShownRow {
  const char *driver;
  const char *in; // drm-format of the source
  int width;
  int height;
  const char *properties; // of either converter
};
// From tiled to linear is not compared: vapostproc offers what the driver makes by itself, which is one modifier.
// vapostproc of GStreamer 1.26 has the property video-direction only where the driver lists a filter, as with deinterlace=bob, when
// its class is made.
#define TURNS "formats=NV12:BGRX,derive=0,deinterlace=bob"
const ShownRow kShown[] = {
    {"formats=NV12:BGRX,derive=0", "NV12", 512, 384, ""}, // converted and scaled
    {TURNS, "NV12", 512, 384, "video-direction=180"},
    {TURNS, "NV12", 512, 384, "video-direction=horiz"},
    {TURNS, "NV12", 384, 512, "video-direction=90r"},
    {TURNS, "XR24", 384, 512, "video-direction=90l"},
};

constexpr int kShownWidth = 1024;
constexpr int kShownHeight = 768;
using Picture = std::vector<std::uint32_t>; // 0xRRGGBB

Picture picture_in(GstSample *sample)
{
  GstVideoInfo info;
  GstVideoFrame frame;
  fail_unless(gst_video_info_from_caps(&info, gst_sample_get_caps(sample)));
  fail_unless(gst_video_frame_map(&frame, &info, gst_sample_get_buffer(sample), GST_MAP_READ));
  Picture picture;
  for (int y = 0; y < GST_VIDEO_INFO_HEIGHT(&info); ++y)
    for (int x = 0; x < GST_VIDEO_INFO_WIDTH(&info); ++x) {
      std::uint32_t pixel = 0;
      for (guint c = 0; c < 3; ++c) {
        const auto *data = static_cast<const guint8 *>(GST_VIDEO_FRAME_COMP_DATA(&frame, c));
        pixel = pixel << 8 | data[y * GST_VIDEO_FRAME_COMP_STRIDE(&frame, c) + x * GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, c)];
      }
      picture.push_back(pixel);
    }
  gst_video_frame_unmap(&frame);
  return picture;
}

Picture shown_by(const std::string &converter, const ShownRow &row)
{
  set_driver(row.driver);
  const std::string name = converter + " of " + row.in;
  Pipeline pipeline(source("pattern=smpte",
                           dma_caps(row.in, row.width, row.height) + (row.in[0] == 'N' ? ",colorimetry=bt601" : ""),
                           converter + " " + row.properties + " ! " + dma_caps("XR24", kShownWidth, kShownHeight) +
                               " ! kmsdmabufsink name=sink mode=match driver-name=vkms"));
  // the first frame is shown while the pipeline is paused, and no other is drawn
  GstElement *parent = GST_ELEMENT(GST_OBJECT_PARENT(pipeline.get("src")));
  fail_unless(gst_element_set_state(parent, GST_STATE_PAUSED) != GST_STATE_CHANGE_FAILURE &&
                  gst_element_get_state(parent, nullptr, nullptr, 60 * GST_SECOND) == GST_STATE_CHANGE_SUCCESS,
              "%s: %s", name.c_str(), pipeline.message(GST_MESSAGE_ERROR).c_str());
  g_autoptr(GstSample) sample = nullptr;
  for (int i = 0; i < 3; ++i) { // the first may still be the console's
    g_clear_pointer(&sample, gst_sample_unref);
    g_signal_emit_by_name(pipeline.get("sink"), "snapshot", &sample);
    fail_unless(sample != nullptr, "%s: %s", name.c_str(), pipeline.message(GST_MESSAGE_ERROR).c_str());
  }
  return picture_in(sample);
}

GST_START_TEST(test_on_a_display)
{
  const ShownRow &row = kShown[__i__];
  load_classes(*row.properties ? row.driver : kRichestDriver);
  const Picture ours = shown_by("vadmabufconvert", row);
  const Picture theirs = shown_by("vapostproc disable-passthrough=true", row);
  fail_unless(ours.size() == theirs.size() && ours.size() >= kShownWidth * kShownHeight);
  std::size_t black = 0;
  std::size_t worst = 0; // one fail_unless() for all pixels: each is a message to the parent process
  int distance = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    black += ours[i] == 0 ? 1 : 0;
    for (int shift = 0; shift < 24; shift += 8) {
      const int here = std::abs(static_cast<int>(ours[i] >> shift & 0xff) - static_cast<int>(theirs[i] >> shift & 0xff));
      worst = here > distance ? i : worst;
      distance = std::max(distance, here);
    }
  }
  fail_unless(distance <= 3, "%s %s, pixel %u: %06x, vapostproc's %06x", row.in, row.properties, static_cast<unsigned>(worst), ours[worst],
              theirs[worst]);
  fail_unless(black < ours.size() / 2);
}
GST_END_TEST

// vapostproc speaks DMA_DRM since GStreamer 1.24, and there may be no sink in this build.
bool compares_displays()
{
  GstElementFactory *sink = gst_element_factory_find("kmsdmabufsink");
  if (sink)
    gst_object_unref(sink);
  return sink && speaks_dma_drm();
}

Suite *va_vapostproc_suite()
{
  Suite *suite = suite_create("vapostproc");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 200);
  tcase_add_loop_test(tcase, test_exchange, 0, G_N_ELEMENTS(kRows));
  tcase_add_test(tcase, test_calls_per_frame);
  if (compares_displays())
    tcase_add_loop_test(tcase, test_on_a_display, 0, G_N_ELEMENTS(kShown));
  return suite;
}

} // namespace

int main(int argc, char **argv)
{
  g_setenv("GST_VA_ALL_DRIVERS", "1", TRUE); // upstream takes Mesa's and Intel's only
  own_registry("va-vapostproc-registry.bin"); // with what upstream registers then
  gst_check_init(&argc, &argv);
  if (!has_vapostproc()) {
    g_printerr("no vapostproc: gstreamer1.0-plugins-bad is not installed\n");
    return 77;
  }
  return gstdrm::test::run_suite(va_vapostproc_suite());
}
