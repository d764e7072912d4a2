// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdmabuftransform.hpp"

#include <array>
#include <mutex>
#include <utility>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/drm.h>
#include <gst/drm/element/caps_features.hpp>
#include <gst/drm/element/chain.hpp>
#include <gst/drm/element/crop.hpp>
#include <gst/drm/element/pixel_copy.hpp>
#include <gst/drm/element/property_rows.hpp>
#include <gst/drm/element/transform_query.hpp>
#include <gst/drm/gstdrm-guard-private.hpp>
#include <gst/drm/gstdrm-log-private.hpp>
#include <gst/drm/gstdrm-private.hpp>

GST_DEBUG_CATEGORY(dmabuf_transform_debug);
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT dmabuf_transform_debug

namespace gstdrm {

namespace {

// Features ANY have no DMA buffers.
bool has_dmabuf(const GstCaps *caps, guint at)
{
  const GstCapsFeatures *features = gst_caps_get_features(caps, at);
  return !gst_caps_features_is_any(features) &&
         gst_caps_features_contains(features, GST_CAPS_FEATURE_MEMORY_DMABUF) != FALSE;
}

// Whether the peer's caps have DMA buffers by that name, and in the dialect of what is offered.
bool names_dmabuf(const GstCaps *peer, const GstStructure *offered)
{
  if (gst_caps_is_any(peer))
    return false;
  for (guint i = 0; i < gst_caps_get_size(peer); i++) {
    const GValue *format = gst_structure_get_value(gst_caps_get_structure(peer, i), "format");
    if (format && has_dmabuf(peer, i) &&
        gst_value_intersect(nullptr, format, gst_structure_get_value(offered, "format")))
      return true;
  }
  return false;
}

GstPad *pad_of(GstBaseTransform *trans, GstPadDirection direction) noexcept
{
  return direction == GST_PAD_SINK ? GST_BASE_TRANSFORM_SINK_PAD(trans)
                                   : GST_BASE_TRANSFORM_SRC_PAD(trans);
}

// Borrowed from the template of the class, which lives as long as the pad.
const CapsParts &limits_of(GstBaseTransform *trans, GstPadDirection direction)
{
  return template_limits(GST_PAD_PAD_TEMPLATE(pad_of(trans, direction)));
}

} // namespace

Transformer::Transformer(GstBaseTransform *element, const CapsRules &rules)
    : element_(element), rules_(rules),
      base_activate_mode_(GST_PAD_ACTIVATEMODEFUNC(GST_BASE_TRANSFORM_SINK_PAD(element)))
{
  negotiation_.watch(GST_BASE_TRANSFORM_SINK_PAD(element),
                     [this](const GstCaps *filter) { return mismatch(filter); });
}

// Caps without a modifier are linear where this element makes the frames: the CPU writes them, and
// no driver is asked. Frames that come under such caps may be tiled: the user has to say.
CapsRules Transformer::rules() const noexcept
{
  const ImplicitModifier setting = implicit_modifier;
  const bool sends = rules_.dmabuf_pad == GST_PAD_SRC;
  const bool is_linear =
      setting == ImplicitModifier::Linear || (sends && setting == ImplicitModifier::Auto);
  return is_linear ? with_implicit_linear(rules_) : rules_;
}

std::string Transformer::upstream_name() const
{
  return peer_name(GST_BASE_TRANSFORM_SINK_PAD(element_));
}

GstFlowReturn Transformer::fail_frame(const char *what, const Error &error, const char *advice)
{
  const std::string sender = upstream_name();
  const auto caps =
      GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(GST_BASE_TRANSFORM_SINK_PAD(element_)));
  Failure failure({GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED},
                  std::string(GST_OBJECT_NAME(element_)) + " " + what + " " + sender, error);
  post_failure(GST_ELEMENT(element_),
               failure.advise(advice).add("sender", sender).add("caps", caps.get()));
  return GST_FLOW_ERROR;
}

// --- failures ------------------------------------------------------------------------------------

bool Transformer::read_caps(const GstCaps *caps, GstDrmVideoInfo &info)
{
  g_autoptr(GError) error = nullptr;
  if (gst_drm_video_info_from_caps_full(&info, caps, &error))
    return true;
  Failure failure({GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT},
                  std::string(GST_OBJECT_NAME(element_)) + " cannot use the caps of " +
                      upstream_name(),
                  Error{ErrorCode::Caps, error->message, 0});
  failure.add("sender", upstream_name()).add("caps", caps);
  negotiation_.post(GST_ELEMENT(element_), failure);
  return false;
}

void Transformer::explain(const GstCaps *upstream)
{
  if (negotiation_.claim())
    post_mismatch(GST_ELEMENT(element_), mismatch(upstream));
}

Mismatch Transformer::mismatch(const GstCaps *upstream) const
{
  const std::string origin = origin_name(GST_BASE_TRANSFORM_SINK_PAD(element_));
  const GstPtr<GstCaps> any = GstPtr<GstCaps>::adopt(gst_caps_new_any());
  const GstPtr<GstCaps> sendable =
      gstdrm::transform_caps(rules(), GST_PAD_SINK, upstream ? upstream : any.get());
  return describe_mismatch(
      {nothing_in_common(GST_ELEMENT(element_)),
       {origin, "has", upstream, sendable.get()},
       restrictions_after(GST_BASE_TRANSFORM_SRC_PAD(element_))},
      [this](const GstCaps *sent, const GstCaps *refusing) { return suggest(sent, refusing); });
}

// --- caps ----------------------------------------------------------------------------------------

// What the peer's answer allows on the pad in `direction`. ANY allows all of the template.
CapsParts Transformer::work_out(const CapsRules &rules, GstPadDirection direction,
                                const GstCaps *peer) const
{
  const GstPadDirection other = opposite(direction);
  const CapsParts &limits = limits_of(element_, other);
  const CapsParts allowed =
      gst_caps_is_any(peer)
          ? transform_parts(rules, other, limits)
          : transform_parts(rules, other, intersect_parts(take_apart(peer), limits));
  return intersect_parts(allowed, limits_of(element_, direction));
}

GstPtr<GstCaps> Transformer::answer_for(GstPadDirection direction, GstCaps *peer, GstCaps *filter)
{
  constexpr std::size_t kMostFilters = 8; // a neighbour asks with two or three of its own
  if (filter && gst_caps_is_any(filter))  // filters nothing
    filter = nullptr;
  const CapsRules rules = this->rules();
  Answers old; // freed when the lock is not held
  const std::lock_guard lock(answers_lock_);
  Answers &known = answers_[direction == GST_PAD_SINK ? 1 : 0];
  if (!known.peer || known.rules != rules || !caps_are_same(known.peer.get(), peer))
    old = std::exchange(
        known, Answers{rules, GstPtr<GstCaps>::share(peer), work_out(rules, direction, peer), {}});
  for (const auto &[asked, answer] : known.by_filter)
    if (asked.get() == filter || (asked && filter && caps_are_same(asked.get(), filter)))
      return answer;
  auto answer = GstPtr<GstCaps>::adopt(
      filter ? put_together(filter_parts(direction, known.allowed, take_apart(filter)))
             : put_together(known.allowed));
  known.by_filter.emplace_back(GstPtr<GstCaps>::share(filter), answer);
  if (known.by_filter.size() > kMostFilters) {
    old.by_filter.push_back(std::move(known.by_filter.front()));
    known.by_filter.erase(known.by_filter.begin());
  }
  return answer;
}

// The caps that the pad can take or send now. The peer is asked without a filter: with one, it
// would compare a list with its own, each string with each, and answer anew for every filter; sizes
// and rates are few enough to be compared here.
GstPtr<GstCaps> Transformer::answer_caps(GstPadDirection direction, GstCaps *filter)
{
  const auto peer = GstPtr<GstCaps>::adopt(
      gst_pad_peer_query_caps(pad_of(element_, opposite(direction)), nullptr));
  GstPtr<GstCaps> answer = answer_for(direction, peer.get(), filter);
  GST_DEBUG_OBJECT(
      element_, "%s filter %" GST_PTR_FORMAT ", peer %" GST_PTR_FORMAT ", answer %" GST_PTR_FORMAT,
      direction == GST_PAD_SINK ? "sink" : "src", filter, peer.get(), answer.get());
  return answer;
}

void Transformer::forget_answers()
{
  std::array<Answers, 2> old;
  const std::lock_guard lock(answers_lock_);
  std::swap(old, answers_);
}

bool Transformer::query(GstPadDirection direction, GstQuery *query)
{
  if (answer_in_null(GST_ELEMENT(element_), pad_of(element_, direction), query))
    return true;
  if (GST_QUERY_TYPE(query) != GST_QUERY_CAPS)
    return query_transform(element_, base_transform_class(), direction, query);
  GstCaps *filter = nullptr;
  gst_query_parse_caps(query, &filter);
  gst_query_set_caps_result(query, answer_caps(direction, filter).get());
  return true;
}

GstCaps *Transformer::transform_caps(GstPadDirection direction, GstCaps *caps,
                                     GstCaps *filter) const
{
  GstPtr<GstCaps> result = gstdrm::transform_caps(rules(), direction, caps);
  return filter ? gst_drm_caps_intersect(filter, result.get()) : result.release();
}

// DMA buffers where the peer names them, then the peer's own order. An application or an element
// that takes anything was not made for caps and rows of DMA buffers: it gets plain video. So does
// vapostproc of GStreamer 1.22, which answers with memory:DMABuf without a format and refuses
// DMA_DRM. Caps of DMA buffers without a modifier come last, unless the user has asked for them:
// most elements that know them look for DMA buffers under plain caps as well.
GstPtr<GstCaps> Transformer::fixate_caps(GstPadDirection direction, GstCaps *, GstCaps *others)
{
  const auto offered = GstPtr<GstCaps>::adopt(without_contradictions(others));
  if (gst_caps_is_empty(offered.get()))
    return offered;
  const auto peer = GstPtr<GstCaps>::adopt(
      gst_pad_peer_query_caps(pad_of(element_, opposite(direction)), nullptr));
  const bool prefers_implicit = implicit_modifier == ImplicitModifier::Linear;
  const auto is_preferred = [&](guint i) {
    const GstStructure *structure = gst_caps_get_structure(offered.get(), i);
    return (prefers_implicit || is_dma_drm(structure)) && has_dmabuf(offered.get(), i) &&
           names_dmabuf(peer.get(), structure);
  };
  guint best = 0;
  for (guint i = gst_caps_get_size(offered.get()); i-- > 0;)
    if (!has_dmabuf(offered.get(), i))
      best = i;
  const bool is_cropped = direction == GST_PAD_SINK && best < gst_caps_get_size(offered.get()) &&
                          !has_dmabuf(offered.get(), best) &&
                          leads_to_refused_crop(GST_BASE_TRANSFORM_SRC_PAD(element_));
  for (guint i = gst_caps_get_size(offered.get()); i-- > 0 && !is_cropped;)
    if (is_preferred(i))
      best = i;
  return GstPtr<GstCaps>::adopt(gst_caps_fixate(gst_caps_copy_nth(offered.get(), best)));
}

// Whether upstream can send something else that downstream takes. An upstream that says ANY does
// not know.
bool Transformer::upstream_may_choose_again()
{
  const auto theirs = GstPtr<GstCaps>::adopt(
      gst_pad_peer_query_caps(GST_BASE_TRANSFORM_SINK_PAD(element_), nullptr));
  if (gst_caps_is_any(theirs.get()))
    return false;
  const auto common = GstPtr<GstCaps>::adopt(
      gst_drm_caps_intersect(theirs.get(), answer_caps(GST_PAD_SINK, nullptr).get()));
  return gst_caps_is_empty(common.get()) == FALSE;
}

void Transformer::explain_refused_caps(GstEvent *event)
{
  GstCaps *caps = nullptr;
  gst_event_parse_caps(event, &caps);
  const auto known = GstPtr<GstCaps>::adopt(gst_pad_get_pad_template_caps(element_->sinkpad));
  // The template has implicit caps, which the property may forbid.
  if (!caps_meet(caps, known.get()) ||
      (has_implicit(caps) &&
       gst_caps_is_empty(gstdrm::transform_caps(rules(), GST_PAD_SINK, caps).get()))) {
    negotiation_.begin(caps);
    explain(caps);
  } else if (GstDrmVideoInfo info;
             gst_caps_is_fixed(caps) && !gst_drm_video_info_from_caps(&info, caps)) {
    negotiation_.begin(caps);
    (void)read_caps(caps, info); // posts why not
  }
}

// --- events --------------------------------------------------------------------------------------

bool Transformer::sink_event(GstEvent *event)
{
  GstBaseTransformClass *base = base_transform_class();
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_START)
    waits_.end();
  else if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP)
    waits_.allow();
  if (GST_EVENT_TYPE(event) != GST_EVENT_CAPS)
    return base->sink_event(element_, event) != FALSE;
  return negotiation_.take(
      GST_ELEMENT(element_), event,
      [&](GstEvent *passed) { return base->sink_event(element_, passed) != FALSE; },
      [this](const GstCaps *caps) { return mismatch(caps); });
}

// Downstream may answer otherwise from RECONFIGURE on, or be another element: pads that are linked
// send it, too.
bool Transformer::src_event(GstEvent *event)
{
  if (GST_EVENT_TYPE(event) == GST_EVENT_RECONFIGURE)
    forget_answers();
  return base_transform_class()->src_event(element_, event) != FALSE;
}

// The pad is flushing by the time it is deactivated. GStreamer takes the stream lock next, and so
// waits for a frame that is under way.
bool Transformer::activate_sink_mode(GstPadMode mode, bool active)
{
  if (active)
    waits_.allow();
  else
    waits_.end();
  return base_activate_mode_(element_->sinkpad, GST_OBJECT(element_), mode, active) != FALSE;
}

bool Transformer::start()
{
  stats_.begin(GST_ELEMENT(element_));
  negotiation_.reset();
  return true;
}

bool Transformer::stop()
{
  forget_answers();
  return true;
}

// --- frames --------------------------------------------------------------------------------------

GstFlowReturn Transformer::submit_input_buffer(bool discont, GstBuffer *buffer)
{
  const GstFlowReturn ret = base_transform_class()->submit_input_buffer(element_, discont, buffer);
  // Downstream changed its mind (RECONFIGURE). A source that has other caps chooses anew when it is
  // told that the old ones are not negotiated; else nothing is left in common.
  if (ret == GST_FLOW_NOT_NEGOTIATED) {
    const auto caps =
        GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(GST_BASE_TRANSFORM_SINK_PAD(element_)));
    if (caps && upstream_may_choose_again())
      GST_INFO_OBJECT(element_, "no longer taken: %" GST_PTR_FORMAT, caps.get());
    else if (caps && !is_flushing(GST_ELEMENT(element_)))
      explain(caps.get());
  }
  return ret;
}

GstFlowReturn Transformer::generate_output(GstBuffer **outbuf)
{
  auto frame = GstPtr<GstBuffer>::adopt(std::exchange(element_->queued_buf, nullptr));
  *outbuf = nullptr;
  if (!frame)
    return GST_FLOW_OK;
  const GstFlowReturn ret = process(frame);
  if (ret != GST_FLOW_OK)
    return ret;
  negotiation_.succeed();
  *outbuf = frame.release();
  stats_.frames++;
  return GST_FLOW_OK;
}

Result<void> Transformer::copy_into(GstBuffer *to, GstBuffer *from, const GstVideoInfo &info,
                                    bool keeps_crop, const char *reason)
{
  const Result<std::uint64_t> copied = copy_frame(to, from, info);
  if (!copied)
    return copied.error();
  GST_BASE_TRANSFORM_GET_CLASS(element_)->copy_metadata(element_, from, to);
  if (!keeps_crop || is_padded_frame(from, info))
    while (GstVideoCropMeta *meta = gst_buffer_get_video_crop_meta(to))
      gst_buffer_remove_meta(to, &meta->meta);
  stats_.count_copy(GST_ELEMENT(element_), copied.value(), reason);
  return {};
}

GstFlowReturn Transformer::refuse_copy(const char *reason, const char *advice, const GstCaps *caps)
{
  Failure failure({GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS},
                  std::string(GST_OBJECT_NAME(element_)) +
                      " may not copy (zero-copy=require), but frames of " + upstream_name() +
                      " would have to be",
                  Error{ErrorCode::Unsupported, reason, 0});
  failure.advise(advice).add_property("zero-copy", "require").add("sender", upstream_name());
  post_failure(GST_ELEMENT(element_), failure.add("caps", caps));
  return GST_FLOW_ERROR;
}

} // namespace gstdrm

// --- the GObject shell ---------------------------------------------------------------------------

using gstdrm::common_property;
using gstdrm::logging;
using gstdrm::posting;
using gstdrm::Transformer;

G_DEFINE_ABSTRACT_TYPE(GstDmaBufTransform, gst_dmabuf_transform, GST_TYPE_BASE_TRANSFORM)

static Transformer &transformer_of(gpointer object) noexcept
{
  return *GST_DMABUF_TRANSFORM(object)->transformer;
}

// Metas that describe memory never get here; all others stay true, as the picture is the same.
static gboolean gst_dmabuf_transform_transform_meta(GstBaseTransform *, GstBuffer *, GstMeta *,
                                                    GstBuffer *) noexcept
{
  return TRUE;
}

// Without this function GstBaseTransform would take the element for one that works in place, and
// ask downstream nothing about buffers. generate_output() does all.
static GstFlowReturn gst_dmabuf_transform_transform(GstBaseTransform *, GstBuffer *,
                                                    GstBuffer *) noexcept
{
  return GST_FLOW_OK;
}

static constexpr std::array transform_properties{
    common_property<&Transformer::zero_copy>(),
    common_property<&Transformer::implicit_modifier>(),
};

static void gst_dmabuf_transform_set_property(GObject *object, guint id, const GValue *value,
                                              GParamSpec *pspec)
{
  gstdrm::set_property(object, transform_properties, id, value, pspec,
                       [object](const auto &set) { set(transformer_of(object)); });
}

static void gst_dmabuf_transform_get_property(GObject *object, guint id, GValue *value,
                                              GParamSpec *pspec)
{
  const Transformer &transformer = transformer_of(object);
  if (id == gstdrm::kStatsId)
    g_value_take_boxed(value, transformer.stats_structure());
  else
    gstdrm::get_property(object, transform_properties, id, value, pspec, transformer);
}

static void gst_dmabuf_transform_finalize(GObject *object) noexcept
{
  delete GST_DMABUF_TRANSFORM(object)->transformer;
  G_OBJECT_CLASS(gst_dmabuf_transform_parent_class)->finalize(object);
}

static GstDebugCategory *debug_category() noexcept
{
  return dmabuf_transform_debug;
}

static void gst_dmabuf_transform_class_init(GstDmaBufTransformClass *klass)
{
  GST_DEBUG_CATEGORY_INIT(dmabuf_transform_debug, "dmabuftransform", 0,
                          "dmabuf upload and download: caps");
  gstdrm::connect_log<debug_category>(); // of the core
  GObjectClass *object_class = G_OBJECT_CLASS(klass);
  object_class->set_property = logging<gst_dmabuf_transform_set_property>;
  object_class->get_property = logging<gst_dmabuf_transform_get_property>;
  object_class->finalize = gst_dmabuf_transform_finalize;
  gstdrm::install_common_properties(
      object_class, {gstdrm::row_id<0>, "Whether frames may be copied by the CPU", gstdrm::kStatsId,
                     "Counters since start: frames, imports, import-hits, releases, copies, "
                     "bytes-copied, last-copy-reason, waits",
                     gstdrm::row_id<1>,
                     "Caps that name no modifier (memory:DMABuf without DMA_DRM): of linear frames "
                     "(linear), never used (refuse, driver: a CPU has no driver that knows), or "
                     "sent where downstream takes nothing else, and not taken (auto)"});

  GstBaseTransformClass *trans_class = GST_BASE_TRANSFORM_CLASS(klass);
  trans_class->query = logging<transformer_of, &Transformer::query>;
  trans_class->transform_caps = posting<transformer_of, &Transformer::transform_caps>;
  trans_class->fixate_caps = posting<transformer_of, &Transformer::fixate_caps>;
  trans_class->set_caps = posting<transformer_of, &Transformer::set_caps>;
  trans_class->decide_allocation = posting<transformer_of, &Transformer::decide_allocation>;
  trans_class->propose_allocation = logging<transformer_of, &Transformer::propose_allocation>;
  trans_class->submit_input_buffer = posting<transformer_of, &Transformer::submit_input_buffer>;
  trans_class->generate_output = posting<transformer_of, &Transformer::generate_output>;
  trans_class->transform = gst_dmabuf_transform_transform;
  trans_class->transform_meta = gst_dmabuf_transform_transform_meta;
  trans_class->sink_event = posting<transformer_of, &Transformer::sink_event>;
  trans_class->src_event = posting<transformer_of, &Transformer::src_event>;
  trans_class->start = posting<transformer_of, &Transformer::start>;
  trans_class->stop = logging<transformer_of, &Transformer::stop>;

  gst_type_mark_as_plugin_api(GST_TYPE_DMABUF_TRANSFORM, static_cast<GstPluginAPIFlags>(0));
}

static void gst_dmabuf_transform_init(GstDmaBufTransform *self)
{
  gst_base_transform_set_gap_aware(GST_BASE_TRANSFORM(self), TRUE);
}

namespace gstdrm {

void set_transformer(GstDmaBufTransform *self, std::unique_ptr<Transformer> transformer)
{
  self->transformer = transformer.release();
  GstPad *sink = GST_BASE_TRANSFORM_SINK_PAD(self);
  gst_pad_set_activatemode_function(sink,
                                    (posting<transformer_of, &Transformer::activate_sink_mode>));
  watch_caps_events<transformer_of, &Transformer::explain_refused_caps>(sink, self);
}

GstBaseTransformClass *base_transform_class() noexcept
{
  return GST_BASE_TRANSFORM_CLASS(gst_dmabuf_transform_parent_class);
}

} // namespace gstdrm
