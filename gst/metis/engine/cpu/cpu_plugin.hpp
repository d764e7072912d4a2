// SPDX-License-Identifier: LGPL-2.1-or-later
// The CPU back end is a shared object of its own, "the part", so that only its users need ONNX
// Runtime or OpenCV. The part and the plugin have to be of the same build.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <gst/drm/core/log.hpp>
#include <gst/drm/core/result.hpp>

#include "engine/backend.hpp"

namespace gstdrm::metis {

// Returns the path of the part for a plugin in `folder`, or an Error if there is none.
Result<std::string> find_cpu_part(const std::string &folder);

// open_cpu() with the path of the part.
Result<std::unique_ptr<Backend>> open_cpu_part(const std::string &part,
                                               const BackendOptions &options);

// Count each change of this header, of backend.hpp, and of what that includes.
inline constexpr std::uint32_t kCpuPartVersion = 1;

// Differs after most changes that were not counted.
inline constexpr std::uint32_t kCpuPartSizes = static_cast<std::uint32_t>(
    sizeof(BackendOptions) * 0x10001 + sizeof(Request) * 0x101 + sizeof(Submitted) * 0x11 +
    sizeof(Finished) * 3 + sizeof(TensorInfo));

struct CpuPartCall {
  // Read first. If these two differ, the part reads nothing else.
  std::uint32_t version = kCpuPartVersion;
  std::uint32_t sizes = kCpuPartSizes;
  const LogSink *log = nullptr; // the plugin's
  const BackendOptions *options = nullptr;
  Result<std::unique_ptr<Backend>> *result = nullptr;
};

// Returns false, and does nothing, if the plugin is of another version.
using CpuPartOpen = bool (*)(const CpuPartCall *call) noexcept;
inline constexpr const char *kCpuPartOpenName = "gst_drm_metis_cpu_open";

} // namespace gstdrm::metis
