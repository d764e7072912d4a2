// SPDX-License-Identifier: LGPL-2.1-or-later
// Elements that attach a GstVideoOverlayComposition where downstream takes one: GStreamer's own and
// drmoverlay. Cases of the program kms_cursor.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>

#include <gst/video/videooverlay.h>

#include "kms_image.hpp"
#include "kms_overlays.hpp"

using namespace gstdrm::test;

namespace {

// What a pipeline's sink shows and counts after its last frame.
struct Played {
  std::uint64_t frames = 0, copies = 0, overlays = 0, of_filter = 0;
  Image screen{1, 1};
};

std::uint64_t stat_of(GstElement *element, const char *name)
{
  g_autoptr(GstStructure) stats = nullptr;
  guint64 value = 0;
  g_object_get(element, "drm-stats", &stats, nullptr);
  ck_assert(gst_structure_get_uint64(stats, name, &value));
  return value;
}

Played play(const std::string &line, const std::function<void(GstElement *pipeline)> &prepare = {})
{
  GError *error = nullptr;
  const auto pipeline = GstPtr<GstElement>::adopt(GST_ELEMENT(gst_object_ref_sink(gst_parse_launch(
      (line + " ! kmsdmabufsink name=sink mode=match driver-name=vkms sync=false").c_str(), &error))));
  ck_assert_msg(!error, "%s", error ? error->message : "");
  if (prepare)
    prepare(pipeline.get());
  gst_element_set_state(pipeline.get(), GST_STATE_PLAYING);
  const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(pipeline.get()));
  const auto message = GstPtr<GstMessage>::adopt(
      gst_bus_timed_pop_filtered(bus.get(), GST_CLOCK_TIME_NONE,
                                 static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR)));
  ck_assert_int_eq(GST_MESSAGE_TYPE(message.get()), GST_MESSAGE_EOS);
  const auto sink = GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(pipeline.get()), "sink"));
  const auto filter =
      GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(pipeline.get()), "filter"));
  GstSample *sample = nullptr;
  g_signal_emit_by_name(sink.get(), "snapshot", &sample);
  ck_assert(sample);
  Played played{stat_of(sink.get(), "frames"), stat_of(sink.get(), "copies"),
                stat_of(sink.get(), "overlays"), filter ? stat_of(filter.get(), "copies") : 0,
                screen_of(sample)};
  gst_sample_unref(sample);
  gst_element_set_state(pipeline.get(), GST_STATE_NULL);
  return played;
}

constexpr const char *kBlack =
    "videotestsrc num-buffers=10 pattern=black ! video/x-raw,format=BGRx,width=640,height=480 ";

GstPadProbeReturn mark_face(GstPad *, GstPadProbeInfo *info, gpointer) noexcept
{
  GstBuffer *buffer = gst_buffer_make_writable(GST_PAD_PROBE_INFO_BUFFER(info));
  gst_buffer_add_video_region_of_interest_meta(buffer, "face", 200, 100, 120, 160);
  GST_PAD_PROBE_INFO_DATA(info) = buffer;
  return GST_PAD_PROBE_OK;
}

int lit(const Image &screen)
{
  return static_cast<int>(std::count_if(screen.pixels.begin(), screen.pixels.end(),
                                        [](guint32 pixel) { return pixel != 0; }));
}

GstVideoOverlayComposition *draw(GstElement *, GstSample *, gpointer) noexcept
{
  return compose({{100, 50, 30, 20, 0xffffffff}}).release();
}

} // namespace

// GStreamer's own elements attach what they would blend else: they look for the caps feature and
// for the meta in the allocation query.
GST_START_TEST(test_overlaycomposition)
{
  const Played played =
      play(std::string(kBlack) + "! overlaycomposition name=drawer", [](GstElement *pipeline) {
        const auto drawer =
            GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(pipeline), "drawer"));
        g_signal_connect(drawer.get(), "draw", G_CALLBACK(draw), nullptr);
      });
  ck_assert_uint_eq(played.frames, 10);
  ck_assert_uint_eq(played.copies, 0);
  ck_assert_uint_eq(played.overlays, 10);
  ck_assert_int_eq(lit(played.screen), 600);
}
GST_END_TEST

GST_START_TEST(test_textoverlay)
{
  const auto pango = GstPtr<GstElementFactory>::adopt(gst_element_factory_find("textoverlay"));
  if (!pango) {
    g_printerr("no textoverlay here: overlaycomposition stands for it\n");
    return;
  }
  const Played played =
      play(std::string(kBlack) + "! textoverlay text=Overlay font-desc=\"Sans 40\"");
  ck_assert_uint_eq(played.frames, 10);
  ck_assert_uint_eq(played.copies, 0);
  ck_assert_uint_eq(played.overlays, 10);
  ck_assert_int_gt(lit(played.screen), 500);
}
GST_END_TEST

GST_START_TEST(test_drmoverlay)
{
  const Played played =
      play(std::string(kBlack) + "! identity name=marker ! drmoverlay name=filter",
           [](GstElement *pipeline) {
             const auto marker =
                 GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(pipeline), "marker"));
             const auto pad =
                 GstPtr<GstPad>::adopt(gst_element_get_static_pad(marker.get(), "src"));
             gst_pad_add_probe(pad.get(), GST_PAD_PROBE_TYPE_BUFFER, mark_face, nullptr, nullptr);
           });
  ck_assert_uint_eq(played.frames, 10);
  ck_assert_uint_eq(played.copies, 0);
  ck_assert_uint_eq(played.of_filter, 0);
  ck_assert_uint_eq(played.overlays, 10);
  ck_assert(played.screen.at(260, 100) != 0 &&
            played.screen.at(200, 180) != 0); // the frame of the box
  ck_assert(played.screen.at(260, 180) == 0); // its inside
}
GST_END_TEST

void gstdrm::test::add_overlay_element_cases(TCase *tc)
{
  tcase_add_test(tc, test_overlaycomposition);
  tcase_add_test(tc, test_textoverlay);
  tcase_add_test(tc, test_drmoverlay);
}
