// SPDX-License-Identifier: LGPL-2.1-or-later
// The fourccs and modifiers (drm_fourcc.h) that a gbm_device is asked about, one by one, to find
// out which pairs it can make.
#pragma once

#include <array>
#include <cstdint>

#include <drm_fourcc.h>

namespace gstdrm {

inline constexpr std::array<std::uint32_t, 34> kCandidateFourccs{
    DRM_FORMAT_XRGB8888,      DRM_FORMAT_ARGB8888,      DRM_FORMAT_XBGR8888,
    DRM_FORMAT_ABGR8888,      DRM_FORMAT_RGBX8888,      DRM_FORMAT_RGBA8888,
    DRM_FORMAT_BGRX8888,      DRM_FORMAT_BGRA8888,      DRM_FORMAT_XRGB2101010,
    DRM_FORMAT_ARGB2101010,   DRM_FORMAT_XBGR2101010,   DRM_FORMAT_ABGR2101010,
    DRM_FORMAT_XBGR16161616F, DRM_FORMAT_ABGR16161616F, DRM_FORMAT_RGB565,
    DRM_FORMAT_RGB888,        DRM_FORMAT_BGR888,        DRM_FORMAT_R8,
    DRM_FORMAT_GR88,          DRM_FORMAT_R16,           DRM_FORMAT_NV12,
    DRM_FORMAT_NV21,          DRM_FORMAT_NV16,          DRM_FORMAT_NV61,
    DRM_FORMAT_NV24,          DRM_FORMAT_P010,          DRM_FORMAT_P012,
    DRM_FORMAT_P016,          DRM_FORMAT_YUV420,        DRM_FORMAT_YVU420,
    DRM_FORMAT_YUV422,        DRM_FORMAT_YUV444,        DRM_FORMAT_YUYV,
    DRM_FORMAT_UYVY,
};

// NVIDIA's block height is a power of two from 1 to 32: log2 is the last argument.
constexpr std::uint64_t nvidia_block_linear(std::uint64_t sectors, std::uint64_t generation,
                                            std::uint64_t kind, std::uint64_t log2_height) noexcept
{
  return DRM_FORMAT_MOD_NVIDIA_BLOCK_LINEAR_2D(0, sectors, generation, kind, log2_height);
}

inline constexpr std::array<std::uint64_t, 35> kCandidateModifiers{
    I915_FORMAT_MOD_X_TILED,
    I915_FORMAT_MOD_Y_TILED,
    I915_FORMAT_MOD_Yf_TILED,
    I915_FORMAT_MOD_4_TILED,
    I915_FORMAT_MOD_Y_TILED_CCS,
    I915_FORMAT_MOD_Yf_TILED_CCS,
    I915_FORMAT_MOD_Y_TILED_GEN12_RC_CCS,
    I915_FORMAT_MOD_Y_TILED_GEN12_MC_CCS,
    I915_FORMAT_MOD_Y_TILED_GEN12_RC_CCS_CC,
    nvidia_block_linear(1, 2, 0x06, 0), // Turing and later: kind 0x06, generation 2
    nvidia_block_linear(1, 2, 0x06, 1),
    nvidia_block_linear(1, 2, 0x06, 2),
    nvidia_block_linear(1, 2, 0x06, 3),
    nvidia_block_linear(1, 2, 0x06, 4),
    nvidia_block_linear(1, 2, 0x06, 5),
    nvidia_block_linear(1, 0, 0xfe, 0), // Fermi to Volta: kind 0xfe, generation 0
    nvidia_block_linear(1, 0, 0xfe, 1),
    nvidia_block_linear(1, 0, 0xfe, 2),
    nvidia_block_linear(1, 0, 0xfe, 3),
    nvidia_block_linear(1, 0, 0xfe, 4),
    nvidia_block_linear(1, 0, 0xfe, 5),
    DRM_FORMAT_MOD_NVIDIA_16BX2_BLOCK(0), // Tegra
    DRM_FORMAT_MOD_NVIDIA_16BX2_BLOCK(1),
    DRM_FORMAT_MOD_NVIDIA_16BX2_BLOCK(2),
    DRM_FORMAT_MOD_NVIDIA_16BX2_BLOCK(3),
    DRM_FORMAT_MOD_NVIDIA_16BX2_BLOCK(4),
    DRM_FORMAT_MOD_NVIDIA_16BX2_BLOCK(5),
    DRM_FORMAT_MOD_BROADCOM_VC4_T_TILED,
    DRM_FORMAT_MOD_BROADCOM_UIF,
    DRM_FORMAT_MOD_QCOM_COMPRESSED,
    DRM_FORMAT_MOD_VIVANTE_TILED,
    DRM_FORMAT_MOD_VIVANTE_SUPER_TILED,
    DRM_FORMAT_MOD_ARM_16X16_BLOCK_U_INTERLEAVED,
    DRM_FORMAT_MOD_ARM_AFBC(AFBC_FORMAT_MOD_BLOCK_SIZE_16x16 | AFBC_FORMAT_MOD_SPARSE),
    DRM_FORMAT_MOD_ARM_AFBC(AFBC_FORMAT_MOD_BLOCK_SIZE_16x16 | AFBC_FORMAT_MOD_YTR |
                            AFBC_FORMAT_MOD_SPARSE),
};

} // namespace gstdrm
