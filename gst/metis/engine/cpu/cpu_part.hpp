// SPDX-License-Identifier: LGPL-2.1-or-later
// How the plugin calls the part that links OpenCV. Both are of one build, else open() refuses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <gst/drm/core/log.hpp>
#include <gst/drm/core/result.hpp>

#include "engine/backend.hpp"

namespace gstdrm::metis {

// Counts changes of anything that both sides see: this header, backend.hpp and what that includes.
inline constexpr std::uint32_t kCpuPartVersion = 1;

// Changes with most changes that somebody forgot to count.
inline constexpr std::uint32_t kCpuPartSizes =
    static_cast<std::uint32_t>(sizeof(BackendOptions) * 0x10001 + sizeof(Request) * 0x101 +
                               sizeof(Submitted) * 0x11 + sizeof(TensorInfo));

struct CpuPartCall {
  // Read first, and nothing else is read where these differ.
  std::uint32_t version = kCpuPartVersion;
  std::uint32_t sizes = kCpuPartSizes;
  const LogSink *log = nullptr; // the part logs where the plugin does
  const BackendOptions *options = nullptr;
  Result<std::unique_ptr<Backend>> *result = nullptr;
};

// False: made for another version, and nothing was done.
using CpuPartOpen = bool (*)(const CpuPartCall *call) noexcept;
inline constexpr const char *kCpuPartOpenName = "gst_drm_metis_cpu_open";

} // namespace gstdrm::metis
