// SPDX-License-Identifier: LGPL-2.1-or-later
// Metis cards through the vendor's runtime, libaxruntime.
#pragma once

#include <memory>

#include "engine/backend.hpp"

namespace gstdrm::metis {

// One model on one device; a worker of its own makes the runtime's blocking calls. The library is
// opened by name (GST_DRM_AXRUNTIME, else libaxruntime.so, else the newest under /opt/axelera).
// Errors: ErrorCode::Device with ENOENT: no library, or no model; ENODEV: no such device; EBUSY:
// somebody else has it; ErrorCode::Format: the model is no JSON; ErrorCode::Unsupported: the
// runtime, or the model, is of a kind that cannot be used; ErrorCode::Conflict: the description is
// that of another model. Opening blocks for as long as the runtime takes.
Result<std::unique_ptr<Backend>> open_axruntime(const BackendOptions &options) noexcept;

} // namespace gstdrm::metis
