// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstkmssinkpicture.hpp"

#include <cstddef>
#include <optional>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/element/errors.hpp>
#include <gst/video/video.h>

namespace gstdrm {

namespace {

// KMS has these three. SMPTE 240M (Kr = 0.212, Kb = 0.087) is nearest to BT.709 (0.2126, 0.0722),
// FCC (0.30, 0.11) to BT.601 (0.299, 0.114).
kms::ColorEncoding encoding_of(const GstVideoInfo &vinfo)
{
  switch (vinfo.colorimetry.matrix) {
  case GST_VIDEO_COLOR_MATRIX_BT709:
  case GST_VIDEO_COLOR_MATRIX_SMPTE240M:
    return kms::ColorEncoding::Bt709;
  case GST_VIDEO_COLOR_MATRIX_BT2020:
    return kms::ColorEncoding::Bt2020;
  default:
    return kms::ColorEncoding::Bt601;
  }
}

kms::Chromaticity chromaticity(const GstVideoMasteringDisplayInfoCoordinates &from)
{
  return {from.x, from.y}; // both in units of 0.00002
}

// Only for streams with an HDR transfer function: a display has no use for the metadata of others.
std::optional<kms::HdrMetadata> hdr_of(const GstVideoInfo &vinfo, const GstCaps *caps)
{
  kms::HdrMetadata hdr;
  if (vinfo.colorimetry.transfer == GST_VIDEO_TRANSFER_SMPTE2084)
    hdr.transfer = kms::TransferFunction::Pq;
  else if (vinfo.colorimetry.transfer == GST_VIDEO_TRANSFER_ARIB_STD_B67)
    hdr.transfer = kms::TransferFunction::Hlg;
  else
    return std::nullopt;
  GstVideoMasteringDisplayInfo mastering;
  if (gst_video_mastering_display_info_from_caps(&mastering, caps)) {
    for (std::size_t i = 0; i < hdr.primaries.size(); i++)
      hdr.primaries[i] = chromaticity(mastering.display_primaries[i]);
    hdr.white_point = chromaticity(mastering.white_point);
    hdr.max_luminance = mastering.max_display_mastering_luminance; // both in 0.0001 cd/m2
    hdr.min_luminance = mastering.min_display_mastering_luminance;
  }
  GstVideoContentLightLevel light;
  if (gst_video_content_light_level_from_caps(&light, caps)) {
    hdr.max_content_light_level = light.max_content_light_level; // both in cd/m2
    hdr.max_frame_average_light_level = light.max_frame_average_light_level;
  }
  return hdr;
}

// The pair as the planes list it. Drivers without modifiers list the implicit one, also for linear
// frames.
Format engine_format(const GstDrmVideoInfo &info, const FormatSet &formats)
{
  const Format format{info.drm_fourcc, info.drm_modifier};
  const Format implicit{info.drm_fourcc, kModImplicit};
  if (format.modifier == kModLinear && !formats.contains(format) && formats.contains(implicit))
    return implicit;
  return format;
}

bool has_dmabuf_feature(const GstCaps *caps)
{
  return gst_caps_features_contains(gst_caps_get_features(caps, 0), GST_CAPS_FEATURE_MEMORY_DMABUF);
}

} // namespace

Result<SinkStream> read_stream(const GstCaps *caps, const FormatSet &listed,
                               ImplicitModifier implicit_modifier)
{
  GError *error = nullptr;
  GstDrmVideoInfo info;
  if (!gst_drm_video_info_from_caps_full(&info, caps, &error))
    return take_error(error, ErrorCode::Caps);
  if (Result<void> taken = check_implicit(info, implicit_modifier); !taken)
    return taken.error();
  resolve_implicit(info, implicit_modifier);
  return SinkStream{info, engine_format(info, listed), !has_dmabuf_feature(caps)};
}

kms::Picture picture_of(const SinkStream &stream, const GstCaps *caps)
{
  const GstVideoInfo &vinfo = stream.info.vinfo;
  kms::Picture picture;
  picture.format = stream.format;
  picture.width = static_cast<std::uint32_t>(GST_VIDEO_INFO_WIDTH(&vinfo));
  picture.height = static_cast<std::uint32_t>(GST_VIDEO_INFO_HEIGHT(&vinfo));
  if (GST_VIDEO_INFO_FPS_N(&vinfo) > 0 && GST_VIDEO_INFO_FPS_D(&vinfo) > 0)
    picture.rate = {static_cast<std::uint32_t>(GST_VIDEO_INFO_FPS_N(&vinfo)),
                    static_cast<std::uint32_t>(GST_VIDEO_INFO_FPS_D(&vinfo))};
  picture.encoding = encoding_of(vinfo);
  picture.range = vinfo.colorimetry.range == GST_VIDEO_COLOR_RANGE_0_255 ? kms::ColorRange::Full
                                                                         : kms::ColorRange::Limited;
  if (GST_VIDEO_INFO_PAR_N(&vinfo) > 0 && GST_VIDEO_INFO_PAR_D(&vinfo) > 0) {
    picture.par_n = static_cast<std::uint32_t>(GST_VIDEO_INFO_PAR_N(&vinfo));
    picture.par_d = static_cast<std::uint32_t>(GST_VIDEO_INFO_PAR_D(&vinfo));
  }
  picture.hdr = hdr_of(vinfo, caps);
  if (GST_VIDEO_INFO_FLAG_IS_SET(&vinfo, GST_VIDEO_FLAG_PREMULTIPLIED_ALPHA))
    picture.alpha = kms::Alpha::Premultiplied;
  return picture;
}

} // namespace gstdrm
