// SPDX-License-Identifier: LGPL-2.1-or-later
// The networks of the test NPU (tests/box/npu/README.md), computed from a frame's bytes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <gst/drm/core/frame_layout.hpp>

namespace gstdrm::test {

inline constexpr std::uint32_t kCheckModel = 1;
using NpuResult = std::array<std::int8_t, 32>;

// `bytes` is where the frame's one object is mapped.
NpuResult npu_reference(const FrameLayout &frame, const std::uint8_t *bytes);

inline constexpr std::uint32_t kSkinModel = 2;
inline constexpr std::size_t kSkinBoxes = 8132;
// 5 x kSkinBoxes
std::vector<float> npu_skin_reference(const FrameLayout &frame, const std::uint8_t *bytes);

} // namespace gstdrm::test
