// SPDX-License-Identifier: LGPL-2.1-or-later
// The state of a fence. It has a source of its own, in whose place unit tests link fences whose
// state they set.
#pragma once

#include <cstdint>
#include <optional>

#include <gst/drm/core/sync_file.hpp>

namespace gstdrm::kms {

// Does not wait. Failed: it has signalled with an error, or is no fence, which never signals.
FenceState ask_fence(int fence_fd);
// When the fence has signalled, on CLOCK_MONOTONIC in ns; nullopt if it has not. Does not wait. A
// fence of a commit has the time of the vblank (drm_vblank.c, drm_send_event_timestamp_locked()).
std::optional<std::int64_t> fence_signalled_at(int fence_fd);

} // namespace gstdrm::kms
