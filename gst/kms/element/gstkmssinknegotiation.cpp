// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstkmssinknegotiation.hpp"

#include <optional>
#include <string>
#include <utility>

#include <gst/drm/drm.h>
#include <gst/drm/element/chain.hpp>
#include <gst/drm/element/errors.hpp>
#include <gst/drm/element/implicit_modifier.hpp>
#include <gst/drm/element/needs.hpp>
#include <gst/drm/gstdrmcaps-parts.hpp>

#include "gstkmsdmabufsink.hpp"
#include "gstkmssinkcaps.hpp"
#include "gstkmssinkframes.hpp"

#define GST_CAT_DEFAULT gst_kms_dmabuf_sink_debug

namespace gstdrm {

namespace {

// One on screen, one in flight, one waiting, and one more for moments before a flip.
constexpr guint kHeldBuffers = 4;

constexpr const char *kNoCopy = "Put dmabufupload before the sink, or set zero-copy=prefer.";
constexpr const char *kSuggestion = "Put a converter before the sink.";

// For messages: the same formats with overlays beside the frames say nothing new.
GstPtr<GstCaps> without_overlays(const GstCaps *caps)
{
  auto rest = GstPtr<GstCaps>::adopt(gst_caps_new_empty());
  for (guint i = 0; i < gst_caps_get_size(caps); i++) {
    const GstCapsFeatures *features = gst_caps_get_features(caps, i);
    if (!gst_caps_features_contains(features, GST_CAPS_FEATURE_META_GST_VIDEO_OVERLAY_COMPOSITION))
      gst_caps_append_structure_full(rest.get(),
                                     gst_structure_copy(gst_caps_get_structure(caps, i)),
                                     gst_caps_features_copy(features));
  }
  return rest;
}

// Where pictures have to cover the screen; empty otherwise.
std::string describe_only_sizes(const kms::SizeLimits &limits, gint width, gint height)
{
  constexpr std::size_t kMost = 6;
  std::string list;
  for (std::size_t i = 0; i < limits.only.size(); i++) {
    const auto &[w, h] = limits.only[i];
    if (static_cast<gint>(w) == width && static_cast<gint>(h) == height)
      return "";
    if (i < kMost)
      list += (i > 0 ? ", " : "") + kms::describe_size(w, h);
  }
  if (limits.only.size() > kMost)
    list += " and " + std::to_string(limits.only.size() - kMost) + " more";
  return list.empty() ? ""
                      : "The display takes pictures that cover the screen alone: " + list +
                            ". Put videoscale before the sink.";
}

// Which sizes the display takes, where the size is what it does not take; empty otherwise.
std::string describe_size_refusal(const kms::SizeLimits &limits, const GstCaps *caps)
{
  gint width = 0;
  gint height = 0;
  const GstStructure *structure = gst_caps_get_structure(caps, 0);
  if (!gst_structure_get_int(structure, "width", &width) ||
      !gst_structure_get_int(structure, "height", &height))
    return "";
  if (std::string only = describe_only_sizes(limits, width, height); !only.empty())
    return only;
  const auto between = [](gint value, std::uint32_t low, std::uint32_t high) {
    return value > 0 && static_cast<std::uint32_t>(value) >= low &&
           static_cast<std::uint32_t>(value) <= high;
  };
  if (between(width, limits.min_width, limits.max_width) &&
      between(height, limits.min_height, limits.max_height))
    return "";
  return "The display takes sizes from " + kms::describe_size(limits.min_width, limits.min_height) +
         " to " + kms::describe_size(limits.max_width, limits.max_height) +
         ". Put videoscale before the sink.";
}

// The size of a frame, or for a layout that only its driver knows, of the same pixels in a linear
// layout of four bytes each. The number of buffers that upstream keeps depends on it; nobody
// allocates by it.
guint buffer_size(const GstDrmVideoInfo &info)
{
  const gsize size = GST_VIDEO_INFO_SIZE(&info.vinfo);
  const gsize estimate = gsize{4} * static_cast<guint>(GST_VIDEO_INFO_WIDTH(&info.vinfo)) *
                         static_cast<guint>(GST_VIDEO_INFO_HEIGHT(&info.vinfo));
  return static_cast<guint>(size > 0 ? size : estimate);
}

// The sizes are those that the driver makes framebuffers of. Which of them a mode and its planes
// can show depends on crop and turn: the caps have told that.
Needs needs_of(const kms::Display &display)
{
  const kms::SizeLimits &sizes = display.frame_limits();
  Needs needs;
  needs.device = display.device().name();
  needs.buffers_held = kHeldBuffers;
  needs.permissions = GST_DRM_ACCESS_READ;
  needs.width = {sizes.min_width, sizes.max_width};
  needs.height = {sizes.min_height, sizes.max_height};
  return needs;
}

} // namespace

SinkNegotiation::SinkNegotiation(GstVideoSink *element, const SinkDisplay &display)
    : element_(GST_ELEMENT(element)), display_(display),
      refusals_(GST_ELEMENT(element), GST_VIDEO_SINK_PAD(element), GST_CAT_DEFAULT,
                {"The display", kSuggestion})
{
  failed_.watch(GST_VIDEO_SINK_PAD(element),
                [this](const GstCaps *filter) { return mismatch(filter); });
}

void SinkNegotiation::restart()
{
  failed_.reset();
  refusals_.restart();
}

// What the open display takes; in NULL, what any display may take.
GstPtr<GstCaps> SinkNegotiation::offered_caps() const
{
  const std::shared_ptr<kms::Display> display = display_.get();
  if (!display)
    return GstPtr<GstCaps>::adopt(gst_pad_get_pad_template_caps(GST_BASE_SINK_PAD(element_)));
  return display_caps(*display, display_.setting<&SinkSettings::zero_copy>(),
                      display_.setting<&SinkSettings::implicit_modifier>());
}

// The nearest fix for caps, or a filter, of which the display takes nothing.
std::string SinkNegotiation::fix_for(const kms::Display &display, const GstCaps *sent) const
{
  if (std::string sizes = describe_size_refusal(display.limits(), sent); !sizes.empty())
    return sizes;
  const auto first = GstPtr<GstCaps>::adopt(gst_caps_fixate(gst_caps_copy_nth(sent, 0)));
  const ImplicitModifier setting = display_.setting<&SinkSettings::implicit_modifier>();
  GstDrmVideoInfo info;
  if (gst_drm_video_info_from_caps(&info, first.get()) && info.drm_modifier == kModImplicit &&
      setting != ImplicitModifier::Linear && display.formats().contains_fourcc(info.drm_fourcc))
    return advise_implicit(setting, true);
  const Result<SinkStream> stream = read_stream(first.get(), display.formats(), setting);
  const std::string fix = stream ? display.fix_for(stream->format) : "";
  return fix.empty() ? kSuggestion : fix;
}

Mismatch SinkNegotiation::mismatch(const GstCaps *sent) const
{
  const std::shared_ptr<kms::Display> display = display_.get();
  return describe_mismatch(
      {nothing_in_common(element_),
       {origin_name(GST_BASE_SINK_PAD(element_)), "has", sent},
       {{"The display", "takes", without_overlays(offered_caps().get()), false}}},
      [&](const GstCaps *, const GstCaps *) {
        if (is_forbidden_copy(sent))
          return std::string(kNoCopy);
        return display ? fix_for(*display, sent) : kSuggestion;
      });
}

GstCaps *SinkNegotiation::query_caps(GstCaps *filter)
{
  GstPtr<GstCaps> caps = offered_caps();
  if (filter)
    caps.reset(filter_caps(GST_PAD_SINK, caps.get(), filter));
  GST_LOG_OBJECT(element_, "caps %" GST_PTR_FORMAT, caps.get());
  return caps.release();
}

Result<SinkStream> SinkNegotiation::accept(kms::Display &display, const GstCaps *caps)
{
  Result<SinkStream> stream =
      read_stream(caps, display.formats(), display_.setting<&SinkSettings::implicit_modifier>());
  if (!stream)
    return stream;
  if (stream->plain && display_.setting<&SinkSettings::zero_copy>() == ZeroCopy::Require)
    return Error{
        ErrorCode::Caps,
        std::string("Plain video/x-raw caps do not promise DMA buffers, and zero-copy=require "
                    "forbids the copy that system memory needs. ") +
            kNoCopy,
        0};
  const kms::Picture picture = picture_of(*stream, caps);
  if (Result<void> configured = display.configure(picture); !configured)
    return configured.error();
  const std::optional<Refusal> refusal = display.refusal(picture);
  refusals_.begin(refusal ? refusal->reason : "");
  GST_INFO_OBJECT(element_, "will show %s, %dx%d on %s", describe_format(stream->format).c_str(),
                  GST_VIDEO_INFO_WIDTH(&stream->info.vinfo),
                  GST_VIDEO_INFO_HEIGHT(&stream->info.vinfo), display.describe().c_str());
  return stream;
}

void SinkNegotiation::settle(const kms::Display &display, GstCaps *caps,
                             const Result<SinkStream> &accepted)
{
  if (accepted) {
    failed_.succeed();
    return;
  }
  failed_.begin(caps);
  const std::string sizes = describe_size_refusal(display.limits(), caps);
  if (!sizes.empty())
    GST_WARNING_OBJECT(element_, "upstream sent %" GST_PTR_FORMAT ". %s", caps, sizes.c_str());
  else
    GST_WARNING_OBJECT(element_, "upstream sent %" GST_PTR_FORMAT "; the planes take %s", caps,
                       describe_formats(display).c_str());
  if (failed_.claim())
    post_refusal(display, caps, accepted.error());
}

// What the caps query does not offer is a mismatch as that of every other element. What it offers,
// and the device or the user refuses all the same, is another failure.
void SinkNegotiation::post_refusal(const kms::Display &display, const GstCaps *caps,
                                   const Error &error)
{
  if (is_forbidden_copy(caps)) {
    post_failure(element_, Failure({}, error)
                               .add_property("zero-copy", "require")
                               .add("sender", origin_name(GST_BASE_SINK_PAD(element_)))
                               .add("caps", caps));
    return;
  }
  const bool readable = static_cast<bool>(
      read_stream(caps, display.formats(), display_.setting<&SinkSettings::implicit_modifier>()));
  if (!readable || caps_meet(caps, offered_caps().get())) {
    post_failure(element_, Failure({}, error).add("caps", caps));
    return;
  }
  Mismatch found = mismatch(caps);
  found.debug = error.message + "\n" + found.debug;
  post_mismatch(element_, found);
}

// Whether these frames need a copy that the user forbids.
bool SinkNegotiation::is_forbidden_copy(const GstCaps *caps) const
{
  return display_.setting<&SinkSettings::zero_copy>() == ZeroCopy::Require &&
         !gst_caps_features_contains(gst_caps_get_features(caps, 0),
                                     GST_CAPS_FEATURE_MEMORY_DMABUF);
}

GstFlowReturn SinkNegotiation::refuse(kms::Display &display, const Error &why)
{
  // Where only the caps are wrong, the caps query says already what does not fit.
  if (why.code == ErrorCode::Unsupported)
    display.refuse(why);
  return refusals_.refuse(why.message);
}

bool SinkNegotiation::propose_allocation(GstQuery *query) const
{
  const std::shared_ptr<kms::Display> display = display_.get();
  GstCaps *caps = nullptr;
  gboolean need_pool = FALSE;
  gst_query_parse_allocation(query, &caps, &need_pool);
  GstDrmVideoInfo info;
  if (!display || !caps || !gst_drm_video_info_from_caps(&info, caps))
    return false;
  gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
  gst_query_add_allocation_meta(query, GST_VIDEO_CROP_META_API_TYPE, nullptr);
  gst_query_add_allocation_meta(query, GST_DRM_SYNC_META_API_TYPE, nullptr);
  if (display->can_overlay())
    gst_query_add_allocation_meta(query, GST_VIDEO_OVERLAY_COMPOSITION_META_API_TYPE, nullptr);
  gst_drm_query_add_device(query, display->device().fd());
  add_needs(element_, query, needs_of(*display));
  GstPtr<GstBufferPool> pool;
  guint size = buffer_size(info);
  const bool linear = info.drm_modifier == kModLinear || info.drm_modifier == kModImplicit;
  if (need_pool && linear) { // dumb buffers have no other layout
    Result<ConfiguredPool> made = make_scanout_pool(*display, caps, size, kHeldBuffers);
    if (made) {
      pool = std::move(made->pool);
      size = made->size;
    } else {
      GST_INFO_OBJECT(element_, "no pool of scanout memory: %s", made.error().message.c_str());
    }
  }
  gst_query_add_allocation_pool(query, pool.get(), size, kHeldBuffers, 0);
  return true;
}

} // namespace gstdrm
