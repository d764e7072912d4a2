// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:element-kmsdmabufsink
 * @title: kmsdmabufsink
 *
 * Shows video on a display of this machine through atomic KMS, without a compositor and, for DMA
 * buffers, without a copy. A mode that fits the video is set; a picture of another size is scaled
 * by the display hardware where it can, and centred where it cannot (#GstKmsDmabufSink:fit). What
 * was on the display before comes back when the sink leaves PAUSED, unless the last frame shall
 * stay
 * (#GstKmsDmabufSink:restore).
 *
 * Memory: DMA buffers are imported once each and shown as they are. A buffer is given back when the
 * flip that replaced it has completed; the sink holds up to four. System memory is copied into
 * scanout memory of the sink's own, which is offered upstream first, so that no copy is needed
 * where upstream takes it. Copies are counted in #GstKmsDmabufSink:drm-stats and announced once.
 *
 * |[
 * gst-launch-1.0 videotestsrc ! kmsdmabufsink driver-name=vkms
 * gst-launch-1.0 filesrc location=a.mkv ! decodebin ! dmabufupload ! kmsdmabufsink
 * zero-copy=require
 * ]|
 *
 * Since: 0.1
 */
#include "gstkmsdmabufsink.hpp"

#include <cstdint>

#include <gst/drm/gstdrm-guard-private.hpp>
#include <gst/drm/gstdrm-log-private.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/video/colorbalance.h>
#include <gst/video/video.h>
#include <gst/video/videodirection.h>
#include <gst/video/videooverlay.h>

#include "gstkmssink.hpp"
#include "gstkmssinkbalance.hpp"
#include "gstkmssinkcaps.hpp"

#define GST_CAT_DEFAULT gst_kms_dmabuf_sink_debug
GST_DEBUG_CATEGORY(gst_kms_dmabuf_sink_debug);

using gstdrm::KmsSink;
using gstdrm::logging;
using gstdrm::posting;

enum { SIGNAL_SNAPSHOT, N_SIGNALS };
static guint signals[N_SIGNALS];

// --- GstVideoOverlay -----------------------------------------------------------------------------

// There are no windows on a bare display.
static void set_window_handle(GstVideoOverlay *overlay, guintptr) noexcept
{
  GST_DEBUG_OBJECT(overlay, "the window handle is ignored");
}

// The interface's function has checked the sizes: both above 0, or both -1 for the whole screen.
static void set_render_rectangle(GstVideoOverlay *overlay, gint x, gint y, gint width, gint height)
{
  GST_KMS_DMABUF_SINK(overlay)->sink->display().change([=](gstdrm::SinkSettings &settings) {
    std::optional<gstdrm::kms::Rectangle> &area = settings.view.area;
    if (width > 0 && height > 0)
      area = gstdrm::kms::Rectangle{x, y, static_cast<std::uint32_t>(width),
                                    static_cast<std::uint32_t>(height)};
    else
      area.reset();
  });
}

static void expose(GstVideoOverlay *overlay)
{
  GST_KMS_DMABUF_SINK(overlay)->sink->repeat_frame();
}

static void gst_kms_dmabuf_sink_overlay_init(GstVideoOverlayInterface *iface) noexcept
{
  iface->set_window_handle = set_window_handle;
  iface->set_render_rectangle = logging<set_render_rectangle>;
  iface->expose = logging<expose>;
}

// --- GObject, GstElement, GstBaseSink ------------------------------------------------------------

G_DEFINE_TYPE_WITH_CODE(
    GstKmsDmabufSink, gst_kms_dmabuf_sink, GST_TYPE_VIDEO_SINK,
    G_IMPLEMENT_INTERFACE(GST_TYPE_VIDEO_DIRECTION, nullptr)
        G_IMPLEMENT_INTERFACE(GST_TYPE_VIDEO_OVERLAY, gst_kms_dmabuf_sink_overlay_init)
            G_IMPLEMENT_INTERFACE(GST_TYPE_COLOR_BALANCE, gstdrm::sink_balance_init)
                GST_DEBUG_CATEGORY_INIT(gst_kms_dmabuf_sink_debug, "kmsdmabufsink", 0,
                                        "Atomic KMS video sink"))
#define parent_class gst_kms_dmabuf_sink_parent_class

// Late by up to two frames at 50 Hz is still worth showing; the base class's default of 5 ms drops
// frames for a single late wake-up.
static constexpr GstClockTime kMaxLateness = 40 * GST_MSECOND;

static GstDebugCategory *debug_category() noexcept
{
  return gst_kms_dmabuf_sink_debug;
}

static KmsSink &sink_of(gpointer object)
{
  return *GST_KMS_DMABUF_SINK(object)->sink;
}

// The base class's start and stop belong to READY; frames are shown from PAUSED on.
static GstStateChangeReturn gst_kms_dmabuf_sink_change_state(GstElement *element,
                                                             GstStateChange transition)
{
  KmsSink &sink = sink_of(element);
  // GstBaseSink aborts the change to PAUSED where the first frame fails, and GstElement goes on
  // from READY: the way back from PAUSED is never taken, so that GstBaseSink would keep its caps
  // for good, and the display would stay started.
  if (GST_STATE_TRANSITION_CURRENT(transition) == GST_STATE_READY && sink.is_started())
    posting<gst_kms_dmabuf_sink_change_state>(element, GST_STATE_CHANGE_PAUSED_TO_READY);
  if (transition == GST_STATE_CHANGE_NULL_TO_READY && !sink.open())
    return GST_STATE_CHANGE_FAILURE;
  if (transition == GST_STATE_CHANGE_READY_TO_PAUSED && !sink.start())
    return GST_STATE_CHANGE_FAILURE;
  const GstStateChangeReturn ret =
      GST_ELEMENT_CLASS(parent_class)->change_state(element, transition);
  const bool failed = ret == GST_STATE_CHANGE_FAILURE;
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY ||
      (transition == GST_STATE_CHANGE_READY_TO_PAUSED && failed))
    sink.stop();
  if (transition == GST_STATE_CHANGE_READY_TO_NULL ||
      (transition == GST_STATE_CHANGE_NULL_TO_READY && failed))
    sink.close();
  return ret;
}

// The messages of the helpers and of the base class come here too.
static gboolean gst_kms_dmabuf_sink_post_message(GstElement *element, GstMessage *message)
{
  if (sink_of(element).keep_message(message))
    return TRUE;
  return GST_ELEMENT_CLASS(parent_class)->post_message(element, message);
}

// Caps are accepted that the template allows: refusal comes from set_caps(), which explains it on
// the bus, where a CAPS event that is not accepted ends in not-negotiated at the source. The caps
// query is exact.
static gboolean gst_kms_dmabuf_sink_query(GstBaseSink *sink, GstQuery *query)
{
  if (GST_QUERY_TYPE(query) == GST_QUERY_DRAIN)
    sink_of(sink).give_back(); // the base class gives back the last sample
  if (GST_QUERY_TYPE(query) != GST_QUERY_ACCEPT_CAPS)
    return GST_BASE_SINK_CLASS(parent_class)->query(sink, query);
  GstCaps *caps = nullptr;
  gst_query_parse_accept_caps(query, &caps);
  GstCaps *allowed = gst_pad_get_pad_template_caps(GST_BASE_SINK_PAD(sink));
  gst_query_set_accept_caps_result(query, caps && !gst_caps_is_any(caps) &&
                                              gst_caps_is_fixed(caps) &&
                                              gstdrm::caps_meet(caps, allowed));
  gst_caps_unref(allowed);
  return TRUE;
}

// Takes the image-orientation tag of the stream, for video-direction=auto.
static void take_orientation(GstBaseSink *sink, GstEvent *event)
{
  GstTagList *tags = nullptr;
  gst_event_parse_tag(event, &tags);
  GstVideoOrientationMethod method = GST_VIDEO_ORIENTATION_IDENTITY;
  if (gst_video_orientation_from_tag(tags, &method))
    sink_of(sink).display().change(
        [method](gstdrm::SinkSettings &settings) { settings.tag_direction = method; });
}

static gboolean gst_kms_dmabuf_sink_event(GstBaseSink *sink, GstEvent *event)
{
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP)
    sink_of(sink).forget_frames();
  else if (GST_EVENT_TYPE(event) == GST_EVENT_STREAM_START)
    sink_of(sink).begin_stream();
  else if (GST_EVENT_TYPE(event) == GST_EVENT_TAG)
    take_orientation(sink, event);
  else if (GST_EVENT_TYPE(event) == GST_EVENT_EOS)
    sink_of(sink).drain(); // EOS is posted when the last frame, which may be in flight, is shown
  return GST_BASE_SINK_CLASS(parent_class)->event(sink, event);
}

static GstFlowReturn gst_kms_dmabuf_sink_preroll(GstBaseSink *sink, GstBuffer *buffer)
{
  sink_of(sink).begin_preroll();
  const GstFlowReturn ret = GST_BASE_SINK_CLASS(parent_class)->preroll(sink, buffer);
  sink_of(sink).end_preroll();
  return ret;
}

static GstSample *gst_kms_dmabuf_sink_snapshot(GstKmsDmabufSink *self)
{
  return sink_of(self).snapshot();
}

static GstPadProbeReturn gst_kms_dmabuf_sink_qos_probe(GstPad *, GstPadProbeInfo *info,
                                                       gpointer data)
{
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);
  if (GST_EVENT_TYPE(event) != GST_EVENT_QOS)
    return GST_PAD_PROBE_OK;
  if (GstEvent *changed = static_cast<KmsSink *>(data)->with_flip_time(event)) {
    gst_event_unref(event);
    GST_PAD_PROBE_INFO_DATA(info) = changed;
  }
  return GST_PAD_PROBE_OK;
}

static void gst_kms_dmabuf_sink_finalize(GObject *object) noexcept
{
  delete GST_KMS_DMABUF_SINK(object)->sink;
  G_OBJECT_CLASS(parent_class)->finalize(object);
}

static void install_signals(GstKmsDmabufSinkClass *klass)
{
  gstdrm::connect_log<debug_category>(); // of the engine
  /**
   * GstKmsDmabufSink::snapshot:
   * @sink: the sink
   *
   * Captures what the display scans out with its next commit, or with a commit made for the
   * snapshot when no frame comes within a frame time and half a refresh (for instance while
   * paused). Frames are neither dropped nor reordered. Needs a writeback connector. Sleeps for
   * about one refresh, where the display does not compose in software.
   *
   * Returns: (transfer full) (nullable): a sample of caps video/x-raw, format=BGRx, of the mode's
   *   size; %NULL with a warning message on the bus that says why
   *
   * Since: 0.1
   */
  signals[SIGNAL_SNAPSHOT] =
      g_signal_new_class_handler("snapshot", G_TYPE_FROM_CLASS(klass),
                                 static_cast<GSignalFlags>(G_SIGNAL_RUN_LAST | G_SIGNAL_ACTION),
                                 G_CALLBACK(logging<gst_kms_dmabuf_sink_snapshot>), nullptr,
                                 nullptr, nullptr, GST_TYPE_SAMPLE, 0);
}

static void gst_kms_dmabuf_sink_class_init(GstKmsDmabufSinkClass *klass)
{
  auto *object_class = G_OBJECT_CLASS(klass);
  auto *element_class = GST_ELEMENT_CLASS(klass);
  auto *base_class = GST_BASE_SINK_CLASS(klass);

  object_class->finalize = gst_kms_dmabuf_sink_finalize;
  gstdrm::install_sink_properties(object_class);
  install_signals(klass);

  gst_element_class_set_static_metadata(
      element_class, "KMS DMA buffer sink", "Sink/Video/Hardware",
      "Shows DMA buffers on a display through atomic KMS without a copy", "gst-drm contributors");
  gst_element_class_add_pad_template(element_class, gstdrm::sink_pad_template());

  element_class->change_state = posting<gst_kms_dmabuf_sink_change_state>;
  element_class->post_message = logging<gst_kms_dmabuf_sink_post_message>;
  base_class->get_caps = posting<sink_of, &KmsSink::query_caps>;
  base_class->set_caps = posting<sink_of, &KmsSink::set_caps>;
  base_class->propose_allocation = logging<sink_of, &KmsSink::propose_allocation>;
  base_class->get_times = logging<sink_of, &KmsSink::get_times>;
  base_class->unlock = logging<sink_of, &KmsSink::unlock>;
  base_class->unlock_stop = logging<sink_of, &KmsSink::unlock_stop>;
  base_class->query = logging<gst_kms_dmabuf_sink_query>;
  base_class->event = posting<gst_kms_dmabuf_sink_event>;
  base_class->preroll = posting<gst_kms_dmabuf_sink_preroll>;
  GST_VIDEO_SINK_CLASS(klass)->show_frame = posting<sink_of, &KmsSink::show_frame>;
}

static void gst_kms_dmabuf_sink_init(GstKmsDmabufSink *self)
{
  self->sink = new KmsSink(GST_VIDEO_SINK(self));
  gst_base_sink_set_max_lateness(GST_BASE_SINK(self), kMaxLateness);
  gst_pad_add_probe(GST_BASE_SINK_PAD(self), GST_PAD_PROBE_TYPE_EVENT_UPSTREAM,
                    logging<gst_kms_dmabuf_sink_qos_probe>, self->sink, nullptr);
}
