// SPDX-License-Identifier: LGPL-2.1-or-later
// The one frame that the tests of refusals, copies and losses send again and again.
#pragma once

#include <cstdint>
#include <string>

#include <drm_fourcc.h>

#include "egl_pipeline.hpp"
#include "egl_refusing.hpp"

namespace gstdrm::test {

struct Picture {
  static constexpr int kWidth = 66; // no multiple of any row alignment
  static constexpr int kHeight = 50;

  explicit Picture(std::uint32_t fourcc = DRM_FORMAT_XRGB8888, std::uint32_t stride_align = 1)
      : frame(GST_DRM_ALLOCATOR_KIND_UDMABUF, fourcc, kWidth, kHeight,
              {.stride_align = stride_align})
  {
    frame.fill(1);
  }

  static std::string xr24() { return dma_drm_caps("XR24", kWidth, kHeight); }
  static std::string nv12() { return dma_drm_caps("NV12", kWidth, kHeight, ",colorimetry=bt601"); }

  PatternFrame frame;
};

inline bool refuses_xr24(const ImageRequest &request)
{
  return request.fourcc == DRM_FORMAT_XRGB8888;
}

} // namespace gstdrm::test
