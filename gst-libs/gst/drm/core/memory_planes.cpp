// SPDX-License-Identifier: LGPL-2.1-or-later
// How many memory planes a pair has. The truth: drm_fourcc.h's comments on each modifier, and
// get_format_info() of i915 (intel_fb.c) and amdgpu (amdgpu_dm_plane.c).
#include "drm_facts.hpp"
#include "format.hpp"
#include "fourcc_cursor.hpp"

namespace gstdrm {

namespace {

// A main surface per format plane, then whatever the compression adds.
unsigned intel_planes(std::uint64_t value, unsigned n) noexcept
{
  switch (value) {
  case 1:  // X_TILED
  case 2:  // Y_TILED
  case 3:  // Yf_TILED
  case 9:  // 4_TILED
  case 10: // 4_TILED_DG2_RC_CCS: compression data lie outside of the buffer
  case 11: // 4_TILED_DG2_MC_CCS
  case 16: // 4_TILED_LNL_CCS
  case 17: // 4_TILED_BMG_CCS
    return n;
  case 4: // Y_TILED_CCS, 32-bit RGB only
  case 5: // Yf_TILED_CCS
    return n == 1 ? 2 : 0;
  case 6:  // Y_TILED_GEN12_RC_CCS
  case 7:  // Y_TILED_GEN12_MC_CCS: Y, CbCr, CCS of Y, CCS of CbCr
  case 13: // 4_TILED_MTL_RC_CCS
  case 14: // 4_TILED_MTL_MC_CCS
    return n <= 2 ? 2 * n : 0;
  case 8:  // Y_TILED_GEN12_RC_CCS_CC: main, CCS, clear colour
  case 15: // 4_TILED_MTL_RC_CCS_CC
    return n == 1 ? 3 : 0;
  case 12: // 4_TILED_DG2_RC_CCS_CC: main, clear colour
    return n == 1 ? 2 : 0;
  default:
    return 0;
  }
}

unsigned amd_planes(std::uint64_t modifier, unsigned n) noexcept
{
  const auto bit = [modifier](unsigned shift) { return (modifier >> shift & 1) != 0; };
  constexpr std::uint64_t kGfx12 = 5; // from here on DCC data have no plane of their own
  if ((modifier & AMD_FMT_MOD_TILE_VERSION_MASK) >= kGfx12 || !bit(AMD_FMT_MOD_DCC_SHIFT))
    return n;
  if (n != 1)
    return 0;
  return bit(AMD_FMT_MOD_DCC_RETILE_SHIFT) ? 3 : 2;
}

unsigned arm_planes(std::uint64_t modifier, unsigned n) noexcept
{
  constexpr std::uint64_t kAfbc = 0;
  const bool is_afbc = (modifier >> 52 & 0xf) == kAfbc;
  // AFBC keeps header and body of all components in one plane; which of the multi-plane fourccs it
  // may be combined with depends on the driver
  return is_afbc && n != 1 ? 0 : n;
}

// Fourccs that only exist with a modifier, all of one plane (drm_fourcc.h, "1-plane YUV 4:2:0").
bool is_nonlinear_only(std::uint32_t fourcc) noexcept
{
  return fourcc == DRM_FORMAT_YUV420_8BIT || fourcc == DRM_FORMAT_YUV420_10BIT ||
         fourcc == DRM_FORMAT_VUY101010;
}

} // namespace

unsigned memory_plane_count(Format format) noexcept
{
  return memory_plane_count(format, fourcc_info(format.fourcc));
}

unsigned memory_plane_count(Format format, const FourccInfo *info) noexcept
{
  if (!info && !is_nonlinear_only(format.fourcc))
    return 0;
  const unsigned n = info ? info->n_planes : 1;
  // An implicit layout hides its auxiliary data: the legacy ioctls know format planes only.
  if (format.modifier == kModLinear || format.modifier == kModImplicit)
    return n;

  constexpr std::uint64_t kVivanteTileStatus = 0xfULL << 48; // a buffer of its own
  switch (modifier_vendor(format.modifier)) {
  case DRM_FORMAT_MOD_VENDOR_INTEL:
    return intel_planes(modifier_value(format.modifier), n);
  case DRM_FORMAT_MOD_VENDOR_AMD:
    return amd_planes(format.modifier, n);
  case DRM_FORMAT_MOD_VENDOR_ARM:
    return arm_planes(format.modifier, n);
  case DRM_FORMAT_MOD_VENDOR_VIVANTE:
    return (format.modifier & kVivanteTileStatus) != 0 ? 0 : n;
  case DRM_FORMAT_MOD_VENDOR_NVIDIA:
  case DRM_FORMAT_MOD_VENDOR_SAMSUNG:
  case DRM_FORMAT_MOD_VENDOR_QCOM:
  case DRM_FORMAT_MOD_VENDOR_BROADCOM:
  case DRM_FORMAT_MOD_VENDOR_ALLWINNER:
  case DRM_FORMAT_MOD_VENDOR_AMLOGIC:
  case kVendorMtk:
  case kVendorApple:
    return n;
  default:
    return 0;
  }
}

} // namespace gstdrm
