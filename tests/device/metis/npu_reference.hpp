// SPDX-License-Identifier: LGPL-2.1-or-later
// The network of the test NPU (tests/box/npu/README.md, model 1), computed from a frame's bytes.
#pragma once

#include <array>
#include <cstdint>

#include <gst/drm/core/frame_layout.hpp>

namespace gstdrm::test {

inline constexpr std::uint32_t kCheckModel = 1;
using NpuResult = std::array<std::int8_t, 32>;

// `bytes` is where the frame's one object is mapped.
NpuResult npu_reference(const FrameLayout &frame, const std::uint8_t *bytes);

} // namespace gstdrm::test
