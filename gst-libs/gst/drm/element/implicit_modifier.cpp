// SPDX-License-Identifier: LGPL-2.1-or-later
#include "implicit_modifier.hpp"

#include <utility>
#include <vector>

#include <gst/drm/gstdrmformat.h>

namespace gstdrm {

FormatSet with_implicit(const FormatSet &listed, ImplicitModifier setting)
{
  if (setting == ImplicitModifier::Auto)
    return listed;
  std::vector<Format> pairs;
  for (const Format &pair : listed.pairs()) {
    if (pair.modifier != kModImplicit)
      pairs.push_back(pair);
    if (setting == ImplicitModifier::Driver ||
        (setting == ImplicitModifier::Linear && pair.modifier == kModLinear))
      pairs.push_back({pair.fourcc, kModImplicit});
  }
  return FormatSet::from_pairs(std::move(pairs));
}

FormatSet producer_formats(const FormatSet &made, ImplicitModifier setting)
{
  return setting == ImplicitModifier::Driver ? made : with_implicit(made, setting);
}

void resolve_implicit(GstDrmVideoInfo &info, ImplicitModifier setting)
{
  GstVideoInfo linear;
  if (setting == ImplicitModifier::Linear && info.drm_modifier == GST_DRM_MODIFIER_IMPLICIT &&
      gst_drm_video_info_to_video_info(&info, &linear))
    gst_drm_video_info_from_video_info(&info, &linear, GST_DRM_MODIFIER_LINEAR);
}

GstPtr<GstCaps> resolved_caps(GstCaps *caps, ImplicitModifier setting)
{
  GstDrmVideoInfo info;
  if (setting != ImplicitModifier::Linear || !gst_drm_video_info_from_caps(&info, caps) ||
      info.drm_modifier != GST_DRM_MODIFIER_IMPLICIT)
    return GstPtr<GstCaps>::share(caps);
  resolve_implicit(info, setting);
  return GstPtr<GstCaps>::adopt(gst_drm_video_info_to_caps(&info));
}

Result<void> check_implicit(const GstDrmVideoInfo &info, ImplicitModifier setting)
{
  if (setting != ImplicitModifier::Refuse || info.drm_modifier != GST_DRM_MODIFIER_IMPLICIT)
    return {};
  return Error{ErrorCode::Caps,
               "The caps do not say how the frames lie in memory (memory:DMABuf without "
               "format=DMA_DRM). " +
                   advise_implicit(setting, true),
               0};
}

std::string advise_implicit(ImplicitModifier setting, bool has_driver)
{
  std::string text = setting == ImplicitModifier::Refuse
                         ? "implicit-modifier=refuse forbids frames without a modifier. "
                         : "";
  text += "Have upstream say which modifier it means (format=DMA_DRM), or set "
          "implicit-modifier=linear where its frames are linear";
  if (has_driver)
    text += ", implicit-modifier=driver where the driver knows their layout";
  return text + ".";
}

} // namespace gstdrm
