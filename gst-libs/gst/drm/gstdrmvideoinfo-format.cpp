// SPDX-License-Identifier: LGPL-2.1-or-later
// GstDrmVideoInfo from a pair and a size.
#include <string>

#include "core/format.hpp"
#include "gstdrm-guard-private.hpp"
#include "gstdrm-private.hpp"
#include "gstdrmformat.h"
#include "gstdrmvideoinfo-private.hpp"
#include "gstdrmvideoinfo.h"

#define GST_CAT_DEFAULT gstdrm::library_debug_category()

namespace {

using gstdrm::Error;
using gstdrm::ErrorCode;
using gstdrm::Format;
using gstdrm::Result;

Result<void> check_pair(const Format &pair)
{
  if (!gstdrm::fourcc_is_valid(pair.fourcc))
    return Error{ErrorCode::Format, gstdrm::fourcc_to_string(pair.fourcc) +
                                        " is no fourcc: it has to be 4 printable ASCII characters"};
  if (pair.modifier == gstdrm::kModImplicit &&
      gst_drm_format_to_video_format(pair.fourcc, GST_DRM_MODIFIER_LINEAR) ==
          GST_VIDEO_FORMAT_UNKNOWN)
    return Error{ErrorCode::Format,
                 gstdrm::describe_format(pair) +
                     " has no caps, for no GstVideoFormat names its fourcc; give a modifier"};
  return {};
}

Result<GstVideoInfo> make_vinfo(const Format &pair, guint width, guint height)
{
  const std::string size = std::to_string(width) + "x" + std::to_string(height);
  if (width == 0 || height == 0)
    return Error{ErrorCode::Layout, "A picture of " + size + " has no pixels"};
  GstVideoInfo vinfo;
  if (width > G_MAXINT || height > G_MAXINT ||
      !gstdrm::default_video_info(vinfo, gstdrm::stand_in_format(pair), static_cast<gint>(width),
                                  static_cast<gint>(height)))
    return Error{ErrorCode::Layout, gstdrm::describe_format(pair) + " of " + size +
                                        " is larger than GStreamer can describe"};
  if (gst_drm_format_to_video_format(pair.fourcc, pair.modifier) == GST_VIDEO_FORMAT_UNKNOWN)
    gstdrm::make_opaque(vinfo);
  return vinfo;
}

Result<void> set_format(GstDrmVideoInfo *info, const Format &pair, guint width, guint height)
{
  if (const Result<void> checked = check_pair(pair); !checked)
    return checked;
  const Result<GstVideoInfo> vinfo = make_vinfo(pair, width, height);
  if (!vinfo)
    return vinfo.error();
  gstdrm::fill_video_info(info, *vinfo, pair);
  return {};
}

} // namespace

/**
 * gst_drm_video_info_set_format:
 * @info: a #GstDrmVideoInfo to fill
 * @fourcc: a DRM fourcc
 * @modifier: its modifier, %GST_DRM_MODIFIER_IMPLICIT included
 * @width: pixels, from 1 on
 * @height: pixels, from 1 on
 * @error: location for a #GError, or %NULL
 *
 * A progressive picture of this format and size, with everything else as GStreamer has it by
 * default for the fourcc, and no frame rate: what gst_drm_video_info_from_caps() makes of caps that
 * say no more. @info is left alone on failure.
 *
 * Returns: %FALSE with %GST_DRM_ERROR_FORMAT where @fourcc is not 4 printable ASCII characters, or
 * @modifier is implicit and no GstVideoFormat names @fourcc; with %GST_DRM_ERROR_LAYOUT where the
 * size is 0 or larger than a #GstVideoInfo can describe
 *
 * Since: 0.1
 */
gboolean gst_drm_video_info_set_format(GstDrmVideoInfo *info, guint32 fourcc, guint64 modifier,
                                       guint width, guint height, GError **error) noexcept
try {
  g_return_val_if_fail(info != nullptr, FALSE);
  g_return_val_if_fail(error == nullptr || *error == nullptr, FALSE);

  const Result<void> set = set_format(info, {fourcc, modifier}, width, height);
  if (!set) {
    GST_DEBUG("%s", set.error().message.c_str());
    gstdrm::propagate(error, set.error());
    return FALSE;
  }
  return TRUE;
} catch (...) {
  return gstdrm::caught(FALSE, __func__, error);
}

/**
 * gst_drm_video_info_new_from_format: (constructor)
 * @fourcc: a DRM fourcc
 * @modifier: its modifier, %GST_DRM_MODIFIER_IMPLICIT included
 * @width: pixels, from 1 on
 * @height: pixels, from 1 on
 * @error: location for a #GError, or %NULL
 *
 * See gst_drm_video_info_set_format().
 *
 * Returns: (transfer full) (nullable): a new #GstDrmVideoInfo; %NULL with the errors of
 * gst_drm_video_info_set_format()
 *
 * Since: 0.1
 */
GstDrmVideoInfo *gst_drm_video_info_new_from_format(guint32 fourcc, guint64 modifier, guint width,
                                                    guint height, GError **error) noexcept
{
  g_return_val_if_fail(error == nullptr || *error == nullptr, nullptr);

  GstDrmVideoInfo *info = gst_drm_video_info_new();
  if (!gst_drm_video_info_set_format(info, fourcc, modifier, width, height, error)) {
    gst_drm_video_info_free(info);
    return nullptr;
  }
  return info;
}
