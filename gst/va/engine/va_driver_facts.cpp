// SPDX-License-Identifier: LGPL-2.1-or-later
#include "va_driver_facts.hpp"

#include <charconv>
#include <utility>

namespace gstdrm::va {
namespace {

bool has(std::string_view vendor, std::string_view name)
{
  return vendor.find(name) != std::string_view::npos;
}

constexpr std::string_view kI965 = "Intel i965 driver";
constexpr std::string_view kIhd = "Intel iHD driver";
constexpr std::string_view kMesa = "Mesa Gallium driver";

// The 22 of "Mesa Gallium driver 22.3.6 for ..."; 0 for other texts.
unsigned mesa_version(std::string_view vendor)
{
  const auto at = vendor.find(kMesa);
  unsigned version = 0;
  if (at != std::string_view::npos && at + kMesa.size() < vendor.size()) {
    const auto rest = vendor.substr(at + kMesa.size() + 1);
    (void)std::from_chars(rest.data(), rest.data() + rest.size(), version);
  }
  return version;
}

} // namespace

// intel-vaapi-driver 2.4.1, i965_drv_video.c, i965_proc_render_picture().
bool keeps_one_parameter(std::string_view vendor)
{
  return has(vendor, kI965);
}

// intel/media-driver 24.1, media_libva.cpp, DdiMedia_CreateSurfaces2(): of a
// VADRMPRIMESurfaceDescriptor it reads objects[0], and no object_index.
bool reads_first_object_only(std::string_view vendor)
{
  return has(vendor, kIhd);
}

// intel/media-driver 24.1 fills (media_libva_vp.c, output_background_color becomes
// pColorFillParams). intel-vaapi-driver 2.4.1, i965_post_processing.c, i965_proc_picture_fast()
// returns before anything is cleared. Mesa, postproc.c, gives the colour to an engine for video
// processing alone; the compositor, vlVaPostProcCompositor(), does not know it.
bool draws_background(std::string_view vendor)
{
  return has(vendor, kIhd);
}

// Mesa, auxiliary/vl/vl_compositor.c, set_yuv_layer() and vl_compositor_set_buffer_layer(): only
// buffers that store their fields separately are deinterlaced. Imported surfaces do not:
// va/surface.c, surface_from_external_memory().
bool ignores_bob(std::string_view vendor)
{
  return has(vendor, kMesa);
}

// intel-vaapi-driver 2.4.1: i965_post_processing.c gives no surface a standard, so that the
// coefficients are those of BT.601 (i965_yuv_coefs.c).
// Mesa, postproc.c and auxiliary/vl: until 23 the matrix from YUV is set once, for BT.601
// (va/context.c); later vlVaSetProcParameters() knows BT.601 and BT.709. RGB becomes BT.709. Since
// 25 or 26 VAProcColorStandardExplicit is listed and followed; the standards are not: BT2020 means
// PQ there, and both sides get the one of the source.
FixedColours fixed_colours(std::string_view vendor)
{
  if (has(vendor, kI965))
    return {{Matrix::Bt601}, {Matrix::Bt601}, false};
  if (!has(vendor, kMesa))
    return {};
  std::vector<Matrix> from_yuv{Matrix::Bt601};
  if (mesa_version(vendor) >= 25)
    from_yuv.push_back(Matrix::Bt709);
  return {std::move(from_yuv), {Matrix::Bt709}, true};
}

} // namespace gstdrm::va
