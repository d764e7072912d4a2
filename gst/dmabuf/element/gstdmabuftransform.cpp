// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdmabuftransform.hpp"

#include <atomic>
#include <mutex>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/element/errors.hpp>
#include <gst/drm/gstdrm-guard-private.hpp>
#include <gst/drm/gstdrmformatset.h>
#include <gst/drm/gstdrmvideoinfo.h>

#include "gstdmabufanswers.hpp"
#include "gstdmabufcopy.hpp"
#include "gstdmabufcrop.hpp"
#include "gstdmabufexplain.hpp"

using gstdrm::GstPtr;

GST_DEBUG_CATEGORY_STATIC(dmabuf_transform_debug);
#define GST_CAT_DEFAULT dmabuf_transform_debug

enum { PROP_0, PROP_ZERO_COPY, PROP_DRM_STATS };

struct GstDmaBufTransformState {
  gstdrm::Stats stats;
  std::atomic<gstdrm::ZeroCopy> zero_copy{gstdrm::ZeroCopy::Prefer};
  gstdrm::OncePerFailure explained; // since the last new caps: one error per failure
  GstPtr<GstCaps> refused; // streaming thread: upstream sends the same caps with every buffer then
  std::atomic<bool> warned{false}; // since start: one warning about queries that meet nothing
  gstdrm::CapsAnswers answers;

  // Raised while the sink pad is flushing or inactive: the streaming thread waits for nothing then.
  gstdrm::Interrupt interrupt;
  std::mutex awaited_lock;
  GstPtr<GstBufferPool> awaited; // by awaited_lock: the streaming thread sleeps in it
  bool awaited_flushing = false; // by awaited_lock: it was woken, and has to set the pool right
  GstPadActivateModeFunction activate_mode = nullptr; // of the base class
};

G_DEFINE_ABSTRACT_TYPE(GstDmaBufTransform, gst_dmabuf_transform, GST_TYPE_BASE_TRANSFORM)

static GstPad *pad_of(GstBaseTransform *trans, GstPadDirection direction) noexcept
{
  return direction == GST_PAD_SINK ? GST_BASE_TRANSFORM_SINK_PAD(trans)
                                   : GST_BASE_TRANSFORM_SRC_PAD(trans);
}

static GstPadDirection opposite(GstPadDirection direction) noexcept
{
  return direction == GST_PAD_SINK ? GST_PAD_SRC : GST_PAD_SINK;
}

static GstPtr<GstCaps> intersect(const GstCaps *first, const GstCaps *second)
{
  return GstPtr<GstCaps>::adopt(gst_drm_caps_intersect(first, second));
}

static GstPtr<GstCaps> pad_template(GstBaseTransform *trans, GstPadDirection direction)
{
  return GstPtr<GstCaps>::adopt(gst_pad_get_pad_template_caps(pad_of(trans, direction)));
}

// One ERROR message for the negotiation under way, naming both sides.
static void explain_failure(GstDmaBufTransform *self, const GstCaps *incaps)
{
  if (!gstdrm::claim_error(self))
    return;
  const gstdrm::Mismatch mismatch = gstdrm::explain_mismatch(self, incaps);
  GST_ELEMENT_ERROR(self, STREAM, FORMAT, ("%s", mismatch.text.c_str()),
                    ("%s", mismatch.debug.c_str()));
}

// Other caps than those that failed last are worth a message of their own.
static void start_negotiation(GstDmaBufTransform *self, GstCaps *caps)
{
  GstDmaBufTransformState *common = self->common;
  if (common->refused && gst_caps_is_equal(common->refused.get(), caps))
    return;
  common->refused = GstPtr<GstCaps>::share(caps);
  common->explained.reset();
}

// A query that meets nothing is no failure yet (upstream may be probing), but upstream's own error,
// if it comes to that, will say "not negotiated" and no more.
static void warn_about_empty_answer(GstDmaBufTransform *self, const GstCaps *filter)
{
  if (GST_STATE(self) < GST_STATE_PAUSED || self->common->warned.exchange(true))
    return;
  const gstdrm::Mismatch mismatch = gstdrm::explain_mismatch(self, filter);
  GST_ELEMENT_WARNING(self, STREAM, FORMAT, ("%s", mismatch.text.c_str()),
                      ("%s", mismatch.debug.c_str()));
}

// The caps that the pad can take or send now, in the order of the filter. The peer is asked without
// one: it would compare a list with its own, each string with each, and answer anew for every
// filter; sizes and rates are few enough to be compared here.
static GstPtr<GstCaps> answer_caps(GstBaseTransform *trans, GstPadDirection direction,
                                   GstCaps *filter)
{
  const GstPadDirection other = opposite(direction);
  const auto peer = GstPtr<GstCaps>::adopt(gst_pad_peer_query_caps(pad_of(trans, other), nullptr));
  const GstPtr<GstCaps> own_template = pad_template(trans, direction);
  const GstPtr<GstCaps> other_template = pad_template(trans, other);
  GstPtr<GstCaps> answer = GST_DMABUF_TRANSFORM(trans)->common->answers.answer(
      {*GST_DMABUF_TRANSFORM_GET_CLASS(trans)->rules, direction, own_template.get(),
       other_template.get(), peer.get(), filter});
  GST_DEBUG_OBJECT(
      trans, "%s filter %" GST_PTR_FORMAT ", peer %" GST_PTR_FORMAT ", answer %" GST_PTR_FORMAT,
      direction == GST_PAD_SINK ? "sink" : "src", filter, peer.get(), answer.get());
  return answer;
}

// Caps that a CAPS event could bring: fixed, and all that a frame's layout needs is in them.
static bool can_be_set(GstCaps *caps)
{
  GstDrmVideoInfo info;
  return caps && !gst_caps_is_any(caps) && gst_caps_is_fixed(caps) &&
         gst_drm_video_info_from_caps(&info, caps);
}

static gboolean answer_caps_query(GstBaseTransform *trans, GstPadDirection direction,
                                  GstQuery *query)
{
  GstCaps *filter = nullptr;
  gst_query_parse_caps(query, &filter);
  const GstPtr<GstCaps> answer = answer_caps(trans, direction, filter);
  if (direction == GST_PAD_SINK && filter && !gst_caps_is_empty(filter) &&
      gst_caps_is_empty(answer.get()))
    warn_about_empty_answer(GST_DMABUF_TRANSFORM(trans), filter);
  gst_query_set_caps_result(query, answer.get());
  return TRUE;
}

static gboolean gst_dmabuf_transform_query(GstBaseTransform *trans, GstPadDirection direction,
                                           GstQuery *query) noexcept
try {
  GstBaseTransformClass *parent = GST_BASE_TRANSFORM_CLASS(gst_dmabuf_transform_parent_class);
  GstCaps *caps = nullptr;
  switch (GST_QUERY_TYPE(query)) {
  case GST_QUERY_CAPS:
    return answer_caps_query(trans, direction, query);
  case GST_QUERY_ACCEPT_CAPS:
    gst_query_parse_accept_caps(query, &caps);
    if (can_be_set(caps))
      return parent->query(trans, direction, query);
    gst_query_set_accept_caps_result(query, FALSE);
    return TRUE;
  case GST_QUERY_ALLOCATION:
    gst_query_parse_allocation(query, &caps, nullptr);
    return can_be_set(caps) && parent->query(trans, direction, query);
  default:
    return parent->query(trans, direction, query);
  }
} catch (...) {
  return gstdrm::caught(FALSE, __func__);
}

static GstCaps *gst_dmabuf_transform_transform_caps(GstBaseTransform *trans,
                                                    GstPadDirection direction, GstCaps *caps,
                                                    GstCaps *filter) noexcept
try {
  GstPtr<GstCaps> result =
      gstdrm::transform_caps(*GST_DMABUF_TRANSFORM_GET_CLASS(trans)->rules, direction, caps);
  return filter ? gst_drm_caps_intersect(filter, result.get()) : result.release();
} catch (...) {
  return gstdrm::caught_in(trans, gst_caps_new_empty(), __func__);
}

// DMA_DRM where the peer takes it, then the peer's own order.
static GstCaps *gst_dmabuf_transform_fixate_caps(GstBaseTransform *trans, GstPadDirection direction,
                                                 GstCaps *caps, GstCaps *othercaps) noexcept
{
  guint best = 0;
  for (guint i = 0; i < gst_caps_get_size(othercaps); i++) {
    if (gst_caps_features_contains(gst_caps_get_features(othercaps, i),
                                   GST_CAPS_FEATURE_MEMORY_DMABUF)) {
      best = i;
      break;
    }
  }
  GstCaps *chosen =
      gst_caps_is_empty(othercaps) ? gst_caps_new_empty() : gst_caps_copy_nth(othercaps, best);
  gst_caps_unref(othercaps);
  return gst_caps_is_empty(chosen) ? chosen : gst_caps_fixate(chosen);
}

// The streaming thread leaves whatever it waits for, at once.
static void interrupt_waits(GstDmaBufTransform *self)
{
  GstDmaBufTransformState *common = self->common;
  common->interrupt.raise();
  const std::lock_guard lock(common->awaited_lock);
  if (common->awaited) {
    common->awaited_flushing = true;
    gst_buffer_pool_set_flushing(common->awaited.get(), TRUE);
  }
}

// The pad is flushing by now. To deactivate it, GStreamer takes the stream lock next, and so waits
// for a frame that is under way.
static gboolean activate_sink_mode(GstPad *pad, GstObject *parent, GstPadMode mode,
                                   gboolean active) noexcept
try {
  GstDmaBufTransform *self = GST_DMABUF_TRANSFORM(parent);
  if (active)
    self->common->interrupt.clear();
  else
    interrupt_waits(self);
  return self->common->activate_mode(pad, parent, mode, active);
} catch (...) {
  return gstdrm::caught_in(parent, FALSE, __func__);
}

static gboolean gst_dmabuf_transform_sink_event(GstBaseTransform *trans, GstEvent *event) noexcept
try {
  GstDmaBufTransform *self = GST_DMABUF_TRANSFORM(trans);
  GstBaseTransformClass *parent = GST_BASE_TRANSFORM_CLASS(gst_dmabuf_transform_parent_class);
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_START)
    interrupt_waits(self);
  else if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP)
    self->common->interrupt.clear();
  if (GST_EVENT_TYPE(event) != GST_EVENT_CAPS)
    return parent->sink_event(trans, event);
  GstCaps *caps = nullptr;
  gst_event_parse_caps(event, &caps);
  const auto kept = GstPtr<GstCaps>::share(caps);
  start_negotiation(self, caps);
  const gboolean accepted = parent->sink_event(trans, event);
  if (accepted)
    self->common->refused.reset();
  else if (!GST_PAD_IS_FLUSHING(GST_BASE_TRANSFORM_SRC_PAD(trans)))
    explain_failure(self, kept.get());
  return accepted;
} catch (...) {
  return gstdrm::caught_in(trans, FALSE, __func__);
}

// Downstream may answer otherwise from now on, or be another element: pads that are linked say so
// too.
static gboolean gst_dmabuf_transform_src_event(GstBaseTransform *trans, GstEvent *event) noexcept
try {
  if (GST_EVENT_TYPE(event) == GST_EVENT_RECONFIGURE)
    GST_DMABUF_TRANSFORM(trans)->common->answers.forget();
  return GST_BASE_TRANSFORM_CLASS(gst_dmabuf_transform_parent_class)->src_event(trans, event);
} catch (...) {
  return gstdrm::caught_in(trans, FALSE, __func__);
}

// Whether upstream can send something else that downstream takes. One that says ANY does not know.
static bool upstream_may_choose_again(GstBaseTransform *trans)
{
  const auto theirs =
      GstPtr<GstCaps>::adopt(gst_pad_peer_query_caps(GST_BASE_TRANSFORM_SINK_PAD(trans), nullptr));
  return !gst_caps_is_any(theirs.get()) &&
         !gst_caps_is_empty(
             intersect(theirs.get(), answer_caps(trans, GST_PAD_SINK, nullptr).get()).get());
}

static GstFlowReturn gst_dmabuf_transform_submit_input_buffer(GstBaseTransform *trans,
                                                              gboolean discont,
                                                              GstBuffer *buffer) noexcept
try {
  const GstFlowReturn ret = GST_BASE_TRANSFORM_CLASS(gst_dmabuf_transform_parent_class)
                                ->submit_input_buffer(trans, discont, buffer);
  // Downstream changed its mind (RECONFIGURE). A source that has other caps chooses anew when it is
  // told that the old ones are not negotiated; else nothing is left in common.
  if (ret == GST_FLOW_NOT_NEGOTIATED) {
    const auto caps =
        GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(GST_BASE_TRANSFORM_SINK_PAD(trans)));
    if (caps && upstream_may_choose_again(trans))
      GST_INFO_OBJECT(trans, "no longer taken: %" GST_PTR_FORMAT, caps.get());
    else if (caps)
      explain_failure(GST_DMABUF_TRANSFORM(trans), caps.get());
  }
  return ret;
} catch (...) {
  return gstdrm::caught_in(trans, GST_FLOW_ERROR, __func__);
}

// GstPad refuses caps that the element does not accept (ACCEPT_CAPS) before the element sees the
// event. The refusal is right; this only says why.
static GstPadProbeReturn explain_refused_caps(GstPad *pad, GstPadProbeInfo *info,
                                              gpointer user_data) noexcept
try {
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);
  if (GST_EVENT_TYPE(event) != GST_EVENT_CAPS)
    return GST_PAD_PROBE_OK;
  GstCaps *caps = nullptr;
  gst_event_parse_caps(event, &caps);
  const auto known = GstPtr<GstCaps>::adopt(gst_pad_get_pad_template_caps(pad));
  GstDmaBufTransform *self = GST_DMABUF_TRANSFORM(user_data);
  GstDrmVideoInfo ignored;
  g_autoptr(GError) error = nullptr;
  if (!gst_caps_can_intersect(caps, known.get())) {
    start_negotiation(self, caps);
    explain_failure(self, caps);
  } else if (gst_caps_is_fixed(caps) &&
             !gst_drm_video_info_from_caps_full(&ignored, caps, &error)) {
    start_negotiation(self, caps);
    if (gstdrm::claim_error(self))
      GST_ELEMENT_ERROR(self, STREAM, FORMAT, ("%s", error->message), (nullptr));
  }
  return GST_PAD_PROBE_OK;
} catch (...) {
  return gstdrm::caught(GST_PAD_PROBE_OK, __func__);
}

// Metas that describe memory never get here; everything else stays true, as the picture is the
// same.
static gboolean gst_dmabuf_transform_transform_meta(GstBaseTransform *trans, GstBuffer *outbuf,
                                                    GstMeta *meta, GstBuffer *inbuf) noexcept
{
  return TRUE;
}

// Never called: both elements generate their output themselves. Without it GstBaseTransform takes
// the element for one that works in place, and asks downstream nothing about buffers.
static GstFlowReturn gst_dmabuf_transform_transform(GstBaseTransform *trans, GstBuffer *inbuf,
                                                    GstBuffer *outbuf) noexcept
{
  return GST_FLOW_NOT_SUPPORTED;
}

static gboolean gst_dmabuf_transform_start(GstBaseTransform *trans) noexcept
try {
  GstDmaBufTransformState *common = GST_DMABUF_TRANSFORM(trans)->common;
  common->stats.reset();
  common->refused.reset();
  common->explained.reset();
  common->warned = false;
  return TRUE;
} catch (...) {
  return gstdrm::caught_in(trans, FALSE, __func__);
}

static gboolean gst_dmabuf_transform_stop(GstBaseTransform *trans) noexcept
try {
  GST_DMABUF_TRANSFORM(trans)->common->answers.forget();
  return TRUE;
} catch (...) {
  return gstdrm::caught(FALSE, __func__);
}

static void gst_dmabuf_transform_set_property(GObject *object, guint id, const GValue *value,
                                              GParamSpec *pspec) noexcept
{
  if (id == PROP_ZERO_COPY)
    GST_DMABUF_TRANSFORM(object)->common->zero_copy = gstdrm::zero_copy_from(value);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
}

static void gst_dmabuf_transform_get_property(GObject *object, guint id, GValue *value,
                                              GParamSpec *pspec) noexcept
try {
  const GstDmaBufTransformState *common = GST_DMABUF_TRANSFORM(object)->common;
  if (id == PROP_ZERO_COPY)
    gstdrm::set_zero_copy(value, common->zero_copy);
  else if (id == PROP_DRM_STATS)
    g_value_take_boxed(value, common->stats.to_structure());
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
} catch (...) {
  gstdrm::caught(__func__);
}

static void gst_dmabuf_transform_finalize(GObject *object) noexcept
{
  delete GST_DMABUF_TRANSFORM(object)->common;
  G_OBJECT_CLASS(gst_dmabuf_transform_parent_class)->finalize(object);
}

static void gst_dmabuf_transform_class_init(GstDmaBufTransformClass *klass)
{
  GST_DEBUG_CATEGORY_INIT(dmabuf_transform_debug, "dmabuftransform", 0,
                          "dmabuf upload and download: caps");
  GObjectClass *object_class = G_OBJECT_CLASS(klass);
  object_class->set_property = gst_dmabuf_transform_set_property;
  object_class->get_property = gst_dmabuf_transform_get_property;
  object_class->finalize = gst_dmabuf_transform_finalize;
  gstdrm::install_common_properties(
      object_class, {PROP_ZERO_COPY, "Whether frames may be copied by the CPU", PROP_DRM_STATS,
                     "Counters since start: frames, imports, import-hits, copies, bytes-copied, "
                     "last-copy-reason, waits"});

  GstBaseTransformClass *trans_class = GST_BASE_TRANSFORM_CLASS(klass);
  trans_class->query = gst_dmabuf_transform_query;
  trans_class->transform_caps = gst_dmabuf_transform_transform_caps;
  trans_class->fixate_caps = gst_dmabuf_transform_fixate_caps;
  trans_class->sink_event = gst_dmabuf_transform_sink_event;
  trans_class->src_event = gst_dmabuf_transform_src_event;
  trans_class->submit_input_buffer = gst_dmabuf_transform_submit_input_buffer;
  trans_class->transform_meta = gst_dmabuf_transform_transform_meta;
  trans_class->transform = gst_dmabuf_transform_transform;
  trans_class->start = gst_dmabuf_transform_start;
  trans_class->stop = gst_dmabuf_transform_stop;

  gst_type_mark_as_plugin_api(GST_TYPE_DMABUF_TRANSFORM, static_cast<GstPluginAPIFlags>(0));
}

static void gst_dmabuf_transform_init(GstDmaBufTransform *self)
{
  self->common = new GstDmaBufTransformState;
  gst_base_transform_set_gap_aware(GST_BASE_TRANSFORM(self), TRUE);
  GstPad *sink = GST_BASE_TRANSFORM_SINK_PAD(self);
  self->common->activate_mode = GST_PAD_ACTIVATEMODEFUNC(sink);
  gst_pad_set_activatemode_function(sink, activate_sink_mode);
  gst_pad_add_probe(sink, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, explain_refused_caps, self, nullptr);
}

namespace gstdrm {

Stats &stats_of(GstDmaBufTransform *self) noexcept
{
  return self->common->stats;
}

ZeroCopy zero_copy_of(GstDmaBufTransform *self) noexcept
{
  return self->common->zero_copy;
}

bool claim_error(GstDmaBufTransform *self) noexcept
{
  return self->common->explained.claim();
}

const Interrupt &interrupt_of(GstDmaBufTransform *self) noexcept
{
  return self->common->interrupt;
}

GstFlowReturn acquire_from(GstDmaBufTransform *self, GstBufferPool *pool, GstPtr<GstBuffer> &buffer)
{
  GstDmaBufTransformState *common = self->common;
  {
    const std::lock_guard lock(common->awaited_lock);
    if (common->interrupt.raised())
      return GST_FLOW_FLUSHING;
    common->awaited = GstPtr<GstBufferPool>::share(pool);
  }
  GstBuffer *acquired = nullptr;
  GstFlowReturn flow = gst_buffer_pool_acquire_buffer(pool, &acquired, nullptr);
  buffer.reset(acquired);
  const std::lock_guard lock(common->awaited_lock);
  common->awaited.reset();
  if (std::exchange(common->awaited_flushing, false)) {
    gst_buffer_pool_set_flushing(pool, FALSE);
    flow = GST_FLOW_FLUSHING;
  }
  return flow;
}

Result<void> copy_buffer(GstDmaBufTransform *self, GstBuffer *to, GstBuffer *from,
                         const GstVideoInfo &info, CropMeta crop, const char *reason)
{
  const Result<std::uint64_t> copied = copy_frame(to, from, info);
  if (!copied)
    return copied.error();
  GstBaseTransform *trans = GST_BASE_TRANSFORM(self);
  GST_BASE_TRANSFORM_GET_CLASS(trans)->copy_metadata(trans, from, to);
  if (crop == CropMeta::Drop || is_padded_frame(from, info))
    while (GstVideoCropMeta *meta = gst_buffer_get_video_crop_meta(to))
      gst_buffer_remove_meta(to, &meta->meta);
  stats_of(self).count_copy(GST_ELEMENT(self), copied.value(), reason);
  return {};
}

} // namespace gstdrm
