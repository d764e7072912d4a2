// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdmabuffailures.hpp"

#include <algorithm>
#include <vector>

#include <gst/drm/core/format.hpp>
#include <gst/drm/element/caps_features.hpp>
#include <gst/drm/element/implicit_modifier.hpp>
#include <gst/drm/gstdrmcaps-words.hpp>
#include <gst/drm/gstdrmformat.h>

GST_DEBUG_CATEGORY_EXTERN(dmabuf_transform_debug);
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT dmabuf_transform_debug

namespace gstdrm {

Failures::Failures(GstBaseTransform *element, CurrentRules rules, Suggest suggest)
    : element_(element), rules_(std::move(rules)), suggest_(std::move(suggest))
{
  negotiation_.watch(GST_BASE_TRANSFORM_SINK_PAD(element),
                     [this](const GstCaps *filter) { return mismatch(filter); });
}

void Failures::reset()
{
  negotiation_.reset();
}

void Failures::post(const GError *error, const GstCaps *caps)
{
  if (!claim())
    return;
  Failure failure({GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT},
                  std::string(GST_OBJECT_NAME(element_)) + " cannot use the caps of " +
                      peer_name(GST_BASE_TRANSFORM_SINK_PAD(element_)),
                  Error{ErrorCode::Caps, error->message, 0});
  failure.add("sender", peer_name(GST_BASE_TRANSFORM_SINK_PAD(element_))).add("caps", caps);
  post_failure(GST_ELEMENT(element_), failure);
}

void Failures::explain(const GstCaps *upstream)
{
  if (claim())
    post_mismatch(GST_ELEMENT(element_), mismatch(upstream));
}

Mismatch Failures::mismatch(const GstCaps *upstream) const
{
  const std::string origin = origin_name(GST_BASE_TRANSFORM_SINK_PAD(element_));
  const GstPtr<GstCaps> any = GstPtr<GstCaps>::adopt(gst_caps_new_any());
  const GstPtr<GstCaps> sendable =
      transform_caps(rules_(), GST_PAD_SINK, upstream ? upstream : any.get());
  return describe_mismatch({nothing_in_common(GST_ELEMENT(element_)),
                            {origin, "has", upstream, sendable.get()},
                            restrictions_after(GST_BASE_TRANSFORM_SRC_PAD(element_))},
                           suggest_);
}

// --- what helps ----------------------------------------------------------------------------------

namespace {

guint depth_of(const std::string &format)
{
  const GstVideoFormat number = gst_video_format_from_string(format.c_str());
  return number == GST_VIDEO_FORMAT_UNKNOWN
             ? 0
             : GST_VIDEO_FORMAT_INFO_DEPTH(gst_video_format_get_info(number), 0);
}

// Where upstream has more than 8 bits, formats that keep them come first.
void put_deep_first(const GstCaps *upstream, std::vector<std::string> &formats)
{
  const std::vector<std::string> sent = strings_of(upstream, "format");
  if (!sent.empty() &&
      std::none_of(sent.begin(), sent.end(), [](const auto &f) { return depth_of(f) <= 8; }))
    std::stable_partition(formats.begin(), formats.end(),
                          [](const auto &format) { return depth_of(format) > 8; });
}

std::string fix_for_field(const std::string &field)
{
  if (field.starts_with("width") || field.starts_with("height") ||
      field.starts_with("pixel-aspect-ratio"))
    return "Put videoscale before it, or choose another size.";
  return "Put videoconvert before it.";
}

} // namespace

std::string suggest_for_upload(const CapsRules &rules, const GstCaps *upstream,
                               const GstCaps *downstream)
{
  const GstPtr<GstCaps> can_send = transform_caps(rules, GST_PAD_SINK, upstream);
  const GstPtr<GstCaps> can_take = transform_caps(rules, GST_PAD_SRC, downstream);
  const std::vector<std::string> sent = strings_of(can_send.get(), "drm-format");
  const std::vector<std::string> taken = strings_of(downstream, "drm-format");
  std::vector<std::string> plain = strings_of(can_take.get(), "format");
  std::erase(plain, "DMA_DRM");
  put_deep_first(upstream, plain);
  std::string tiled;
  for (const std::string &format : sent)
    if (std::any_of(taken.begin(), taken.end(),
                    [&](const auto &t) { return t.starts_with(format + ":"); }))
      tiled = format;

  if (gst_caps_is_empty(downstream))
    return "Its source pad has no peer that takes video: link it to a sink or a converter.";
  if (plain.empty() && !rules.implicit_is_linear && has_implicit(downstream))
    return "Downstream takes DMA buffers, and does not say in which layout: have it say which "
           "modifier it means (format=DMA_DRM), or set implicit-modifier=linear where it takes "
           "linear frames.";
  if (plain.empty())
    return "A CPU can write linear layouts only, and downstream takes none: upload with the device "
           "that "
           "reads the frames (glupload for OpenGL), or choose a downstream element that takes "
           "linear.";
  const std::string alternative = join(plain, ", ", 120);
  if (gst_caps_is_empty(can_send.get()))
    return "Upstream's format has no linear DRM fourcc of the same bytes: put videoconvert before "
           "it, "
           "for one of " +
           alternative + ".";
  if (!tiled.empty())
    return "Downstream takes " + tiled +
           " in tiled layouts only, which a CPU cannot write: put videoconvert "
           "before it, for one of " +
           alternative + ", or upload with the device that reads the frames.";
  const std::string field = differing_field(upstream, downstream);
  if (!field.empty())
    return fix_for_field(field);
  return "Put videoconvert before it, for one of " + alternative + ".";
}

std::string suggest_for_download(const CapsRules &rules, const GstCaps *upstream,
                                 const GstCaps *downstream)
{
  const GstPtr<GstCaps> can_send = transform_caps(rules, GST_PAD_SINK, upstream);
  if (gst_caps_is_empty(can_send.get())) {
    const std::vector<std::string> formats = strings_of(upstream, "drm-format");
    const std::string text = formats.empty() ? "" : formats.front();
    guint32 fourcc = 0;
    guint64 modifier = GST_DRM_MODIFIER_LINEAR;
    if (!text.empty() && gst_drm_format_parse(text.c_str(), &fourcc, &modifier, nullptr) &&
        modifier != GST_DRM_MODIFIER_LINEAR)
      return text + " (" + describe_modifier(modifier) +
             ") is a device's own layout, which a CPU cannot read: ask upstream for " +
             text.substr(0, text.find(':')) +
             " without a modifier, which is linear, or download with the "
             "device that wrote it (glupload ! gldownload for OpenGL).";
    if (!text.empty())
      return text +
             " has no GstVideoFormat of the same bytes: ask upstream for another drm-format.";
    if (!rules.implicit_is_linear && has_implicit(upstream))
      return std::string(
                 "A CPU reads linear frames only, and these caps do not say in which layout "
                 "theirs lie. ") +
             advise_implicit(ImplicitModifier::Auto, false);
    return "Only DMA_DRM with a linear drm-format, or plain video, can be mapped by a CPU: a "
           "dmabuf with an "
           "implicit modifier has an unknown layout.";
  }
  const std::string field = differing_field(upstream, downstream);
  if (!field.empty())
    return "Put videoconvertscale after it, to change what differs.";
  return "Put videoconvert after it.";
}

} // namespace gstdrm
