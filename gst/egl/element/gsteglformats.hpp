// SPDX-License-Identifier: LGPL-2.1-or-later
// Formats of frames and of textures: names, kinds, planes. Plain functions, any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include <gst/drm/core/format_set.hpp>
#include <gst/drm/gstdrmvideoinfo.h>
#include <gst/video/video.h>

#include "engine/egl_formats.hpp"
#include "engine/yuv.hpp"

namespace gstdrm {

// The GstVideoFormat of a fourcc's linear frames, GST_VIDEO_FORMAT_UNKNOWN where it has no name;
// and back, 0 where the format is no fourcc's. Formats that GstGLMemory has and DRM has not (A420,
// GBR, v210, …) have a number of this element's own: their frames are in plain caps and are copied.
GstVideoFormat name_of(std::uint32_t fourcc) noexcept;
std::uint32_t fourcc_of(GstVideoFormat name) noexcept;
inline constexpr std::uint32_t kOwnNumbers = '~' | '~' << 8; // no fourcc of drm_fourcc.h begins so
constexpr bool is_own_number(std::uint32_t fourcc) noexcept
{
  return (fourcc & 0xffff) == kOwnNumbers;
}

// Every GstVideoFormat that name_of() returns: those of DRM's fourccs, and all.
const std::vector<GstVideoFormat> &frame_names();
const std::vector<GstVideoFormat> &plain_names();
// Those of all that GstGLMemory knows.
const std::vector<GstVideoFormat> &texture_names();

FormatSet pairs_where(const FormatSet &pairs, const auto &is_wanted)
{
  std::vector<Format> found;
  std::ranges::copy_if(pairs.pairs(), std::back_inserter(found), is_wanted);
  return FormatSet::from_pairs(std::move(found));
}

// What a texture of the fourcc shows when a shader reads it: R, G, B and A. Others than these and
// YUV, such as R8 and GR88, show a part of a picture.
enum class Colours { Rgb, Yuv, Other };
Colours colours_of(std::uint32_t fourcc) noexcept;

// Whether the pictures are said to have fields; a mode that is not said is progressive.
bool has_fields(const GstStructure *structure);

// Whether neighbouring rows of pixels share chroma: 4:2:0. False for what is not known.
bool shares_chroma_rows(std::uint32_t fourcc) noexcept;

// The pairs whose planes are listed as 2D textures of their own. A tiled pair is one of them only
// where the display lists it as a whole, too: what its planes are is for the driver to know.
FormatSet plane_pairs(const egl::DisplayFormats &listed);

// With linear pairs of the formats that the display lists without a modifier: egl::Device imports
// linear frames of these.
egl::DisplayFormats with_linear(const egl::DisplayFormats &listed);

// With the implicit modifier of each fourcc that the display lists. Where some modifier of the
// fourcc is external-only, the implicit one is too.
egl::DisplayFormats with_implicit(const egl::DisplayFormats &listed);

// What the samples of a YUV frame mean. EGL's default (EGL_EXT_image_dma_buf_import) where the
// colorimetry does not say: BT.601 in narrow range.
egl::YuvColours yuv_colours(const GstVideoColorimetry &colorimetry,
                            GstVideoChromaSite chroma_site) noexcept;

} // namespace gstdrm
