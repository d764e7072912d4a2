// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:element-dmabufrelabel
 * @title: dmabufrelabel
 * @short_description: other caps for the same DMA buffers
 *
 * Passes DMA buffers on under caps of the other dialect: `format=DMA_DRM`, or `memory:DMABuf` with
 * the name of a GstVideoFormat, as GStreamer before 1.24 and some vendors' elements have it. No
 * pixel is touched. Each frame is checked against the new caps.
 *
 * ## Example
 * |[
 * gst-launch-1.0 v4l2src io-mode=dmabuf ! dmabufrelabel ! kmsdmabufsink
 * ]|
 *
 * Since: 0.1
 */
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <gst/base/gstbasetransform.h>
#include <gst/drm/drm.h>
#include <gst/drm/element/caps_features.hpp>
#include <gst/drm/element/chain.hpp>
#include <gst/drm/element/errors.hpp>
#include <gst/drm/element/explain.hpp>
#include <gst/drm/element/failed_negotiation.hpp>
#include <gst/drm/element/frame_import.hpp>
#include <gst/drm/element/property_rows.hpp>
#include <gst/drm/element/stats.hpp>
#include <gst/drm/element/transform_query.hpp>
#include <gst/drm/gstdrm-guard-private.hpp>
#include <gst/drm/gstdrm-log-private.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/gst.h>

#include "gstdmabufcaps.hpp"
#include "gstdmabufframe.hpp"

GST_DEBUG_CATEGORY_STATIC(dmabuf_relabel_debug);
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT dmabuf_relabel_debug

namespace gstdrm {

namespace {

// "linear", or the modifier as in a drm-format: "0x0100000000000002". Nullopt for an empty text.
Result<std::optional<std::uint64_t>> read_modifier(const std::string &text)
{
  if (text.empty())
    return std::optional<std::uint64_t>();
  if (text == "linear")
    return std::optional<std::uint64_t>(kModLinear);
  guint32 fourcc = 0;
  guint64 modifier = 0;
  if (gst_drm_format_parse(("NV12:" + text).c_str(), &fourcc, &modifier, nullptr))
    return std::optional<std::uint64_t>(modifier);
  return Error{ErrorCode::Caps,
               "\"" + text +
                   "\" is no modifier: write linear, or the number behind the colon of a "
                   "drm-format, as 0x0100000000000002",
               0};
}

std::string suggest_relabel(const GstCaps *, const GstCaps *)
{
  return "Set modifier to the layout that the frames without DMA_DRM have (modifier=linear), or "
         "put a converter before it.";
}

} // namespace

struct RelabelSettings {
  std::string modifier;
  ZeroCopy zero_copy = ZeroCopy::Prefer; // without effect: no frame is copied
};

// The element without GObject. By the streaming thread, except where a comment says otherwise.
class Relabeler {
public:
  explicit Relabeler(GstBaseTransform *element);

  // Any thread.
  void change_settings(const std::function<void(RelabelSettings &)> &change);
  [[nodiscard]] RelabelSettings settings() const;
  [[nodiscard]] GstStructure *stats() const { return stats_.to_structure(); }

  bool start();
  GstPtr<GstCaps> transform_caps(GstPadDirection direction, GstCaps *caps, GstCaps *filter) const;
  GstPtr<GstCaps> fixate_caps(GstPadDirection direction, GstCaps *caps, GstCaps *others);
  bool set_caps(GstCaps *in_caps, GstCaps *out_caps);
  bool query(GstPadDirection direction, GstQuery *query);
  bool sink_event(GstEvent *event);
  bool propose_allocation(GstQuery *decide_query, GstQuery *query);
  GstFlowReturn generate_output(GstBuffer **output);

private:
  [[nodiscard]] std::optional<std::uint64_t> known_modifier() const;
  [[nodiscard]] Mismatch mismatch(const GstCaps *caps) const;
  GstFlowReturn fail(const Error &error, const std::string &advice);

  GstBaseTransform *const element_;
  RelabelSettings settings_; // guarded by the element's object lock
  Stats stats_;
  FailedNegotiation failure_;
  GstDrmVideoInfo layout_{}; // of the frames, by whichever caps name the modifier
  GstVideoInfo out_video_{}; // what the GstVideoMeta of a frame has to agree with
};

namespace {

GstBaseTransformClass *relabel_base() noexcept
{
  return static_cast<GstBaseTransformClass *>(g_type_class_peek(GST_TYPE_BASE_TRANSFORM));
}

// What caps on one pad may be on the other one, DMA_DRM first. Without a modifier, caps that name
// none stay as they are; plain video in DMA buffers is linear.
CapsParts relabelled(GstPadDirection direction, const CapsParts &known,
                     std::optional<std::uint64_t> modifier)
{
  CapsParts result;
  const auto each = [&](CapsKind from, CapsKind to, std::uint64_t layout) {
    for (const CapsPart &part : known) {
      if (kind_of(part) != from)
        continue;
      auto other = from == to ? copy_part(part) : translate(part, from, to, layout);
      if (other)
        merge_part(result, std::move(*other));
    }
  };
  using enum CapsKind;
  const std::uint64_t layout = modifier.value_or(kModLinear);
  const bool is_linear = layout == kModLinear;
  each(DmaDrm, DmaDrm, layout);
  if (direction == GST_PAD_SINK) {
    if (modifier)
      each(Implicit, DmaDrm, layout);
    if (is_linear)
      each(Plain, DmaDrm, layout);
    each(DmaDrm, Implicit, layout);
    each(Implicit, Implicit, layout);
    if (is_linear)
      each(Plain, Implicit, layout);
  } else {
    each(Implicit, DmaDrm, layout);
    each(Implicit, Implicit, layout);
    if (modifier)
      each(DmaDrm, Implicit, layout);
    if (is_linear) {
      each(DmaDrm, Plain, layout);
      each(Implicit, Plain, layout);
    }
  }
  return result;
}

} // namespace

Relabeler::Relabeler(GstBaseTransform *element) : element_(element)
{
  failure_.watch(element->sinkpad, [this](const GstCaps *filter) { return mismatch(filter); });
  failure_.watch_caps(element->sinkpad);
}

void Relabeler::change_settings(const std::function<void(RelabelSettings &)> &change)
{
  const ObjectLock lock(element_);
  change(settings_);
}

RelabelSettings Relabeler::settings() const
{
  const ObjectLock lock(element_);
  return settings_;
}

// Nullopt also for a text that start() refuses.
std::optional<std::uint64_t> Relabeler::known_modifier() const
{
  const auto read = read_modifier(settings().modifier);
  return read ? *read : std::nullopt;
}

bool Relabeler::start()
{
  stats_.begin(GST_ELEMENT(element_));
  failure_.reset();
  const std::string text = settings().modifier;
  const auto read = read_modifier(text);
  if (read)
    return true;
  post_failure(GST_ELEMENT(element_), Failure({}, read.error())
                                          .advise("Set modifier so, or leave it unset.")
                                          .add_property("modifier", text));
  return false;
}

GstPtr<GstCaps> Relabeler::transform_caps(GstPadDirection direction, GstCaps *caps,
                                          GstCaps *filter) const
{
  GstPad *pad = direction == GST_PAD_SINK ? element_->sinkpad : element_->srcpad;
  const CapsParts &limits = template_limits(GST_PAD_PAD_TEMPLATE(pad));
  const auto known = known_modifier();
  auto result = GstPtr<GstCaps>::adopt(
      put_together(gst_caps_is_any(caps)
                       ? relabelled(direction, limits, known)
                       : relabelled(direction, intersect_parts(take_apart(caps), limits), known)));
  return filter ? GstPtr<GstCaps>::adopt(gst_drm_caps_intersect(filter, result.get())) : result;
}

// DMA_DRM where the peer takes it.
GstPtr<GstCaps> Relabeler::fixate_caps(GstPadDirection, GstCaps *, GstCaps *others)
{
  const auto offered = GstPtr<GstCaps>::adopt(without_contradictions(others));
  if (gst_caps_is_empty(offered.get()))
    return offered;
  const CapsParts parts = take_apart(offered.get());
  guint best = 0;
  for (guint i = 0; i < parts.size(); i++)
    if (kind_of(parts[i]) == CapsKind::DmaDrm) {
      best = i;
      break;
    }
  return GstPtr<GstCaps>::adopt(gst_caps_fixate(gst_caps_copy_nth(offered.get(), best)));
}

Mismatch Relabeler::mismatch(const GstCaps *caps) const
{
  const GstPtr<GstCaps> sendable =
      transform_caps(GST_PAD_SINK, const_cast<GstCaps *>(caps), nullptr);
  return describe_mismatch({nothing_in_common(GST_ELEMENT(element_)),
                            {origin_name(element_->sinkpad), "has", caps, sendable.get()},
                            restrictions_after(element_->srcpad)},
                           suggest_relabel);
}

bool Relabeler::set_caps(GstCaps *in_caps, GstCaps *out_caps)
{
  GError *error = nullptr;
  GstDrmVideoInfo in_info;
  GstDrmVideoInfo out_info;
  if (!gst_drm_video_info_from_caps_full(&in_info, in_caps, &error) ||
      !gst_drm_video_info_from_caps_full(&out_info, out_caps, &error)) {
    failure_.post(GST_ELEMENT(element_), take_error(error));
    return false;
  }
  const bool is_implicit = out_info.drm_modifier == GST_DRM_MODIFIER_IMPLICIT;
  layout_ = is_implicit ? in_info : out_info;
  out_video_ = out_info.vinfo;
  if (is_implicit && !gst_video_info_from_caps(&out_video_, out_caps)) // by the format's name
    return false;
  GST_INFO_OBJECT(element_, "%" GST_PTR_FORMAT " becomes %" GST_PTR_FORMAT, in_caps, out_caps);
  return true;
}

bool Relabeler::query(GstPadDirection direction, GstQuery *query)
{
  return query_transform(element_, relabel_base(), direction, query);
}

bool Relabeler::sink_event(GstEvent *event)
{
  const auto pass_on = [this](GstEvent *passed) {
    return relabel_base()->sink_event(element_, passed) != FALSE;
  };
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP)
    failure_.reset();
  if (GST_EVENT_TYPE(event) != GST_EVENT_CAPS)
    return pass_on(event);
  return failure_.take(GST_ELEMENT(element_), event, pass_on,
                       [this](const GstCaps *caps) { return mismatch(caps); });
}

// GstPad refuses caps that cannot become any other ones before the element sees their event.
// Downstream's answer to a query about its own caps: what it reads of a frame, and its allocators.
// A pool of its buffers would be one for its caps.
bool Relabeler::propose_allocation(GstQuery *, GstQuery *query)
{
  const auto caps = GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(element_->srcpad));
  if (!caps)
    return false;
  const auto asked = GstPtr<GstQuery>::adopt(gst_query_new_allocation(caps.get(), FALSE));
  if (!gst_pad_peer_query(element_->srcpad, asked.get()))
    return false;
  for (guint i = 0; i < gst_query_get_n_allocation_metas(asked.get()); i++) {
    const GstStructure *params = nullptr;
    const GType api = gst_query_parse_nth_allocation_meta(asked.get(), i, &params);
    gst_query_add_allocation_meta(query, api, params);
  }
  for (guint i = 0; i < gst_query_get_n_allocation_params(asked.get()); i++) {
    GstAllocator *allocator = nullptr;
    GstAllocationParams params;
    gst_query_parse_nth_allocation_param(asked.get(), i, &allocator, &params);
    gst_query_add_allocation_param(query, allocator, &params);
    gst_clear_object(&allocator);
  }
  return true;
}

GstFlowReturn Relabeler::fail(const Error &error, const std::string &advice)
{
  const std::string sender = peer_name(element_->sinkpad);
  const auto caps = GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(element_->sinkpad));
  Failure failure(std::string(GST_OBJECT_NAME(element_)) + " cannot take a frame of " + sender,
                  error);
  failure_.post(GST_ELEMENT(element_),
                failure.advise(advice).add("sender", sender).add("caps", caps.get()));
  return GST_FLOW_ERROR;
}

GstFlowReturn Relabeler::generate_output(GstBuffer **output)
{
  auto frame = GstPtr<GstBuffer>::adopt(std::exchange(element_->queued_buf, nullptr));
  *output = nullptr;
  if (!frame)
    return GST_FLOW_OK;
  if (memory_kind(frame.get()) != MemoryKind::DmaBuf)
    return fail({ErrorCode::Import, "its memory is no DMA buffer", 0},
                "Use dmabufupload for frames in system memory.");
  if (const auto layout = importable_layout(frame.get(), layout_); !layout)
    return fail(layout.error(), advice_on(layout.error(), peer_name(element_->sinkpad)));
  if (!share_frame(frame, out_video_))
    return fail({ErrorCode::Import, "its memory cannot be shared", 0},
                "Put dmabufrelabel behind another element.");
  failure_.succeed();
  stats_.frames++;
  *output = frame.release();
  return GST_FLOW_OK;
}

} // namespace gstdrm

using gstdrm::common_property;
using gstdrm::logging;
using gstdrm::posting;
using gstdrm::property;
using gstdrm::Relabeler;
using gstdrm::RelabelSettings;

#define GST_TYPE_DMABUF_RELABEL (gst_dmabuf_relabel_get_type())
G_DECLARE_FINAL_TYPE(GstDmaBufRelabel, gst_dmabuf_relabel, GST, DMABUF_RELABEL, GstBaseTransform)

struct _GstDmaBufRelabel {
  GstBaseTransform parent;
  Relabeler *relabeler; // made in init, deleted in finalize
};

G_DEFINE_TYPE(GstDmaBufRelabel, gst_dmabuf_relabel, GST_TYPE_BASE_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE(dmabufrelabel, "dmabufrelabel", GST_RANK_NONE, GST_TYPE_DMABUF_RELABEL)

static Relabeler &relabeler_of(gpointer element) noexcept
{
  return *static_cast<GstDmaBufRelabel *>(element)->relabeler;
}

static const auto &relabel_properties()
{
  using S = RelabelSettings;
  static constexpr std::array rows{
      common_property<&S::zero_copy>(),
      property<&S::modifier>("modifier", "Modifier",
                             "The layout of frames whose caps name none (memory:DMABuf without "
                             "DMA_DRM): linear, or the number behind the colon of a drm-format; "
                             "unset: not known",
                             gstdrm::kReadyProperty),
  };
  return rows;
}

static void gst_dmabuf_relabel_set_property(GObject *object, guint id, const GValue *value,
                                            GParamSpec *spec)
{
  gstdrm::set_property(object, relabel_properties(), id, value, spec,
                       [object](const auto &set) { relabeler_of(object).change_settings(set); });
}

static void gst_dmabuf_relabel_get_property(GObject *object, guint id, GValue *value,
                                            GParamSpec *spec)
{
  const Relabeler &relabeler = relabeler_of(object);
  if (id == gstdrm::kStatsId)
    g_value_take_boxed(value, relabeler.stats());
  else
    gstdrm::get_property(object, relabel_properties(), id, value, spec, relabeler.settings());
}

static GstFlowReturn gst_dmabuf_relabel_transform_ip(GstBaseTransform *, GstBuffer *) noexcept
{
  return GST_FLOW_OK; // never called: generate_output() is this class's own
}

static void gst_dmabuf_relabel_finalize(GObject *object) noexcept
{
  std::default_delete<Relabeler>()(&relabeler_of(object));
  G_OBJECT_CLASS(gst_dmabuf_relabel_parent_class)->finalize(object);
}

static void gst_dmabuf_relabel_class_init(GstDmaBufRelabelClass *klass)
{
  GST_DEBUG_CATEGORY_INIT(dmabuf_relabel_debug, "dmabufrelabel", 0, "DMA buffers under other caps");
  GObjectClass *object_class = G_OBJECT_CLASS(klass);
  object_class->set_property = logging<gst_dmabuf_relabel_set_property>;
  object_class->get_property = logging<gst_dmabuf_relabel_get_property>;
  object_class->finalize = gst_dmabuf_relabel_finalize;
  gstdrm::install_properties(object_class, relabel_properties());
  gstdrm::install_common_properties(object_class,
                                    {gstdrm::row_id<0>, "Has no effect: frames are never copied",
                                     gstdrm::kStatsId, "Counters since start: frames"});

  GstElementClass *element_class = GST_ELEMENT_CLASS(klass);
  gst_element_class_set_static_metadata(element_class, "DMA buffer relabeler", "Filter/Video",
                                        "Passes DMA buffers on under caps of the other dialect",
                                        "gst-drm contributors");
  gstdrm::add_pad_template(element_class, "sink", GST_PAD_SINK,
                           {gstdrm::any_dmabuf_template(), gstdrm::implicit_dmabuf_template(),
                            gstdrm::plain_template()});
  gstdrm::add_pad_template(element_class, "src", GST_PAD_SRC,
                           {gstdrm::any_dmabuf_template(), gstdrm::implicit_dmabuf_template()});

  GstBaseTransformClass *transform_class = GST_BASE_TRANSFORM_CLASS(klass);
  transform_class->start = posting<relabeler_of, &Relabeler::start>;
  transform_class->transform_caps = posting<relabeler_of, &Relabeler::transform_caps>;
  transform_class->fixate_caps = posting<relabeler_of, &Relabeler::fixate_caps>;
  transform_class->set_caps = posting<relabeler_of, &Relabeler::set_caps>;
  transform_class->query = logging<relabeler_of, &Relabeler::query>;
  transform_class->sink_event = posting<relabeler_of, &Relabeler::sink_event>;
  transform_class->propose_allocation = logging<relabeler_of, &Relabeler::propose_allocation>;
  transform_class->generate_output = posting<relabeler_of, &Relabeler::generate_output>;
  transform_class->transform_ip = gst_dmabuf_relabel_transform_ip;
}

static void gst_dmabuf_relabel_init(GstDmaBufRelabel *self)
{
  self->relabeler = std::make_unique<Relabeler>(GST_BASE_TRANSFORM(self)).release();
}
