// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:element-kmsdmabufsink
 * @title: kmsdmabufsink
 *
 * Shows video on a display of this machine through atomic KMS, without a compositor and, for DMA
 * buffers, without a copy. A mode that fits the video is set; a picture of another size is scaled
 * by the display hardware where it can, and centred where it cannot (#GstKmsDmabufSink:fit). What
 * was on the display before comes back when the sink leaves PAUSED.
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

#include <utility>

#define GST_CAT_DEFAULT gst_kms_dmabuf_sink_debug
GST_DEBUG_CATEGORY(gst_kms_dmabuf_sink_debug);

using gstdrm::Display;
using gstdrm::Error;
using gstdrm::Result;
using gstdrm::SinkState;

enum { SIGNAL_SNAPSHOT, N_SIGNALS };
static guint signals[N_SIGNALS];

static void gst_kms_dmabuf_sink_overlay_init(GstVideoOverlayInterface *iface) noexcept
{
  gstdrm::sink_overlay_init(iface);
}

G_DEFINE_TYPE_WITH_CODE(GstKmsDmabufSink, gst_kms_dmabuf_sink, GST_TYPE_VIDEO_SINK,
                        G_IMPLEMENT_INTERFACE(GST_TYPE_VIDEO_OVERLAY,
                                              gst_kms_dmabuf_sink_overlay_init)
                            GST_DEBUG_CATEGORY_INIT(gst_kms_dmabuf_sink_debug, "kmsdmabufsink", 0,
                                                    "Atomic KMS video sink"))
#define parent_class gst_kms_dmabuf_sink_parent_class

// Late by up to two frames at 50 Hz is still worth showing; the base class's default of 5 ms drops
// frames for a single late wake-up.
static constexpr GstClockTime kMaxLateness = 40 * GST_MSECOND;
// A flip takes one refresh; by then something is stuck.
static constexpr gint64 kDrainTimeout_ns = 2'000'000'000;

static SinkState &state_of(gpointer sink)
{
  return *GST_KMS_DMABUF_SINK(sink)->state;
}

gstdrm::SinkState::SinkState(GstKmsDmabufSink *sink)
    : listener(sink), refusals(GST_ELEMENT(sink), GST_VIDEO_SINK_PAD(sink), GST_CAT_DEFAULT,
                               {"The display", "Choose a size or format that both can do, or put a converter "
                                               "before the sink."})
{
}

void gstdrm::sink_post_failure(GstKmsDmabufSink *sink, const Error &error)
{
  sink->state->failure.post(GST_ELEMENT(sink), error);
}

void gstdrm::SinkListener::display_failed(const Error &error) noexcept
try {
  sink_post_failure(sink_, error);
} catch (...) {
  (void)gstdrm::caught_in(sink_, FALSE, __func__);
}

// Once on the bus, each time in the log.
void gstdrm::SinkListener::frame_lost(const Error &error) noexcept
{
  GST_WARNING_OBJECT(sink_, "%s", error.message.c_str());
  if (!sink_->state->fence_announced.exchange(true))
    GST_ELEMENT_WARNING(sink_, RESOURCE, SYNC, ("%s", error.message.c_str()),
                        ("errno %d; drm-stats counts them", error.sys_errno));
}

static gboolean open_display(GstKmsDmabufSink *self)
{
  SinkState &state = *self->state;
  gstdrm::SinkSettings settings;
  {
    const std::lock_guard guard(state.lock);
    settings = state.settings;
  }
  Result<gstdrm::kms::ModeRequest> mode = gstdrm::kms::parse_mode_request(settings.mode);
  if (!mode) {
    gstdrm::post_error(GST_ELEMENT(self), mode.error());
    return FALSE;
  }
  settings.output.mode = *mode;
  Result<std::shared_ptr<Display>> display =
      Display::open(settings.device, settings.output, state.listener);
  if (!display) {
    gstdrm::post_error(GST_ELEMENT(self), display.error());
    return FALSE;
  }
  (*display)->set_view(settings.view);
  GST_INFO_OBJECT(self, "opened %s", (*display)->describe().c_str());
  const std::lock_guard guard(state.lock);
  state.display = std::move(*display);
  return TRUE;
}

static void close_display(GstKmsDmabufSink *self)
{
  std::shared_ptr<Display> display; // closed without the lock
  const std::lock_guard guard(self->state->lock);
  display.swap(self->state->display);
}

static gboolean start_display(GstKmsDmabufSink *self)
{
  self->state->stats.reset();
  self->state->refusals.restart();
  self->state->prerolled = nullptr;
  self->state->fence_announced = false;
  self->state->failure.reset();
  {
    const std::lock_guard guard(self->state->lock);
    self->state->sync_mode = self->state->settings.sync_mode;
    self->state->fence_timeout = self->state->settings.fence_timeout;
  }
  self->state->get_display()->set_fence_rules(gstdrm::fence_rules(*self->state));
  Result<void> started = self->state->get_display()->start();
  if (!started)
    gstdrm::post_error(GST_ELEMENT(self), started.error());
  else
    gstdrm::sink_start_cursor(self);
  const std::lock_guard repeats(self->state->repeat_lock);
  self->state->may_repeat = started ? true : false;
  return started ? TRUE : FALSE;
}

// Every buffer is given back, and the display is as it was before.
static void stop_display(GstKmsDmabufSink *self)
{
  SinkState &state = *self->state;
  const std::lock_guard repeats(state.repeat_lock);
  state.may_repeat = false;
  if (Result<void> stopped = state.get_display()->stop(); !stopped)
    GST_ELEMENT_WARNING(self, RESOURCE, FAILED, ("%s", stopped.error().message.c_str()),
                        ("errno %d", stopped.error().sys_errno));
  if (state.scanout_pool)
    gst_buffer_pool_set_active(state.scanout_pool.get(), FALSE);
  state.scanout_pool.reset();
}

static bool is_started(GstKmsDmabufSink *self)
{
  const std::lock_guard repeats(self->state->repeat_lock);
  return self->state->may_repeat;
}

// The base class's start and stop belong to READY; frames are shown from PAUSED on.
static GstStateChangeReturn gst_kms_dmabuf_sink_change_state(GstElement *element,
                                                             GstStateChange transition) noexcept
try {
  GstKmsDmabufSink *self = GST_KMS_DMABUF_SINK(element);
  // GstBaseSink aborts the change to PAUSED where the first frame fails, and GstElement goes on from READY: the way
  // back from PAUSED is never taken, so GstBaseSink would keep its caps for good, and the display would stay started.
  if (GST_STATE_TRANSITION_CURRENT(transition) == GST_STATE_READY && is_started(self))
    gst_kms_dmabuf_sink_change_state(element, GST_STATE_CHANGE_PAUSED_TO_READY);
  if (transition == GST_STATE_CHANGE_NULL_TO_READY && !open_display(self))
    return GST_STATE_CHANGE_FAILURE;
  if (transition == GST_STATE_CHANGE_READY_TO_PAUSED && !start_display(self))
    return GST_STATE_CHANGE_FAILURE;
  const GstStateChangeReturn ret =
      GST_ELEMENT_CLASS(parent_class)->change_state(element, transition);
  const bool failed = ret == GST_STATE_CHANGE_FAILURE;
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY ||
      (transition == GST_STATE_CHANGE_READY_TO_PAUSED && failed))
    stop_display(self);
  if (transition == GST_STATE_CHANGE_READY_TO_NULL ||
      (transition == GST_STATE_CHANGE_NULL_TO_READY && failed))
    close_display(self);
  return ret;
} catch (...) {
  return gstdrm::caught_in(element, GST_STATE_CHANGE_FAILURE, __func__);
}

static gboolean gst_kms_dmabuf_sink_unlock(GstBaseSink *sink) noexcept
try {
  if (const std::shared_ptr<Display> display = state_of(sink).get_display())
    display->set_flushing(true);
  return TRUE;
} catch (...) {
  return gstdrm::caught(FALSE, __func__);
}

static gboolean gst_kms_dmabuf_sink_unlock_stop(GstBaseSink *sink) noexcept
try {
  if (const std::shared_ptr<Display> display = state_of(sink).get_display())
    display->set_flushing(false);
  return TRUE;
} catch (...) {
  return gstdrm::caught(FALSE, __func__);
}

// Caps are accepted that the template allows: refusal comes from set_caps(), which explains it on
// the bus, where a CAPS event that is not accepted ends in not-negotiated at the source. The caps
// query is exact.
static gboolean gst_kms_dmabuf_sink_query(GstBaseSink *sink, GstQuery *query) noexcept
try {
  if (GST_QUERY_TYPE(query) != GST_QUERY_ACCEPT_CAPS)
    return GST_BASE_SINK_CLASS(parent_class)->query(sink, query);
  GstCaps *caps = nullptr;
  gst_query_parse_accept_caps(query, &caps);
  GstCaps *allowed = gst_pad_get_pad_template_caps(GST_BASE_SINK_PAD(sink));
  gst_query_set_accept_caps_result(query, caps && !gst_caps_is_any(caps) &&
                                              gst_caps_is_fixed(caps) &&
                                              gst_caps_can_intersect(caps, allowed));
  gst_caps_unref(allowed);
  return TRUE;
} catch (...) {
  return gstdrm::caught(FALSE, __func__);
}

static gboolean gst_kms_dmabuf_sink_event(GstBaseSink *sink, GstEvent *event) noexcept
try {
  SinkState &state = state_of(sink);
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP) {
    state.prerolled = nullptr;
  } else if (GST_EVENT_TYPE(event) == GST_EVENT_EOS) {
    // EOS means that all was shown; the last frame may still be on its way
    if (const std::shared_ptr<Display> display = state.get_display())
      display->drain(kDrainTimeout_ns);
  }
  return GST_BASE_SINK_CLASS(parent_class)->event(sink, event);
} catch (...) {
  return gstdrm::caught_in(sink, FALSE, __func__);
}

// The base class would take the frame rate from caps that only it has parsed.
static void gst_kms_dmabuf_sink_get_times(GstBaseSink *sink, GstBuffer *buffer, GstClockTime *start,
                                          GstClockTime *end) noexcept
{
  const GstVideoInfo &vinfo = state_of(sink).info.vinfo;
  *start = GST_BUFFER_PTS_IS_VALID(buffer) ? GST_BUFFER_PTS(buffer) : GST_BUFFER_DTS(buffer);
  *end = GST_CLOCK_TIME_NONE;
  if (!GST_CLOCK_TIME_IS_VALID(*start))
    return;
  if (GST_BUFFER_DURATION_IS_VALID(buffer))
    *end = *start + GST_BUFFER_DURATION(buffer);
  else if (GST_VIDEO_INFO_FPS_N(&vinfo) > 0)
    *end = *start + gst_util_uint64_scale_int(GST_SECOND, GST_VIDEO_INFO_FPS_D(&vinfo),
                                              GST_VIDEO_INFO_FPS_N(&vinfo));
}

static GstFlowReturn gst_kms_dmabuf_sink_preroll(GstBaseSink *sink, GstBuffer *buffer) noexcept
try {
  SinkState &state = state_of(sink);
  state.in_preroll = true;
  const GstFlowReturn ret = GST_BASE_SINK_CLASS(parent_class)->preroll(sink, buffer);
  state.in_preroll = false;
  return ret;
} catch (...) {
  return gstdrm::caught_in(sink, GST_FLOW_ERROR, __func__);
}

static GstSample *gst_kms_dmabuf_sink_snapshot(GstKmsDmabufSink *self) noexcept
try {
  const std::shared_ptr<Display> display = self->state->get_display();
  Result<gstdrm::kms::Snapshot> snapshot =
      display ? display->snapshot()
              : Result<gstdrm::kms::Snapshot>(
                    Error{gstdrm::ErrorCode::Device, "No device is open: the sink is in NULL.", 0});
  if (!snapshot) {
    GST_ELEMENT_WARNING(self, RESOURCE, READ, ("No snapshot: %s", snapshot.error().message.c_str()),
                        ("errno %d", snapshot.error().sys_errno));
    return nullptr;
  }
  // AR24 too: what was scanned out has no transparency
  GstCaps *caps = gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING, "BGRx", "width",
                                      G_TYPE_INT, static_cast<gint>(snapshot->width), "height",
                                      G_TYPE_INT, static_cast<gint>(snapshot->height), "framerate",
                                      GST_TYPE_FRACTION, 0, 1, nullptr);
  const auto &pixels = snapshot->pixels;
  GstBuffer *buffer = gst_buffer_new_memdup(pixels.data(), pixels.size());
  GstSample *sample = gst_sample_new(buffer, caps, nullptr, nullptr);
  gst_buffer_unref(buffer);
  gst_caps_unref(caps);
  return sample;
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}

static void gst_kms_dmabuf_sink_finalize(GObject *object) noexcept
{
  delete GST_KMS_DMABUF_SINK(object)->state;
  G_OBJECT_CLASS(parent_class)->finalize(object);
}

static void gst_kms_dmabuf_sink_class_init(GstKmsDmabufSinkClass *klass)
{
  auto *object_class = G_OBJECT_CLASS(klass);
  auto *element_class = GST_ELEMENT_CLASS(klass);
  auto *base_class = GST_BASE_SINK_CLASS(klass);

  object_class->finalize = gst_kms_dmabuf_sink_finalize;
  gstdrm::install_sink_properties(object_class);

  /**
   * GstKmsDmabufSink::snapshot:
   * @sink: the sink
   *
   * Captures what the display scans out with its next commit, or with a commit made for it when no
   * frame comes within a frame time (paused, for instance). Frames are neither dropped nor
   * reordered. Needs a writeback connector. Sleeps for about one refresh.
   *
   * Returns: (transfer full) (nullable): a sample of caps video/x-raw, format=BGRx, of the mode's
   *   size; %NULL with a warning message on the bus that says why
   *
   * Since: 0.1
   */
  signals[SIGNAL_SNAPSHOT] = g_signal_new_class_handler(
      "snapshot", G_TYPE_FROM_CLASS(klass),
      static_cast<GSignalFlags>(G_SIGNAL_RUN_LAST | G_SIGNAL_ACTION),
      G_CALLBACK(gst_kms_dmabuf_sink_snapshot), nullptr, nullptr, nullptr, GST_TYPE_SAMPLE, 0);

  gst_element_class_set_static_metadata(
      element_class, "KMS DMA buffer sink", "Sink/Video/Hardware",
      "Shows DMA buffers on a display through atomic KMS without a copy", "gst-drm maintainers");
  gst_element_class_add_pad_template(element_class, gstdrm::sink_pad_template());

  element_class->change_state = gst_kms_dmabuf_sink_change_state;
  base_class->get_caps = gstdrm::sink_get_caps;
  base_class->set_caps = gstdrm::sink_set_caps;
  base_class->propose_allocation = gstdrm::sink_propose_allocation;
  base_class->get_times = gst_kms_dmabuf_sink_get_times;
  base_class->unlock = gst_kms_dmabuf_sink_unlock;
  base_class->unlock_stop = gst_kms_dmabuf_sink_unlock_stop;
  base_class->query = gst_kms_dmabuf_sink_query;
  base_class->event = gst_kms_dmabuf_sink_event;
  base_class->preroll = gst_kms_dmabuf_sink_preroll;
  GST_VIDEO_SINK_CLASS(klass)->show_frame = gstdrm::sink_show_frame;
}

static void gst_kms_dmabuf_sink_init(GstKmsDmabufSink *self)
{
  self->state = new SinkState(self);
  gst_drm_video_info_init(&self->state->info);
  gst_base_sink_set_max_lateness(GST_BASE_SINK(self), kMaxLateness);
  gstdrm::report_flips_upstream(self);
}
