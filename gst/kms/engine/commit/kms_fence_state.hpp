// SPDX-License-Identifier: LGPL-2.1-or-later
// The state of an acquire fence. It has a source of its own, in whose place unit tests link fences whose state they set.
#pragma once

#include <gst/drm/core/sync_file.hpp>

namespace gstdrm::kms {

// Does not wait. Failed: it has signalled with an error, or is no fence, which never signals.
FenceState ask_fence(int fence_fd);

} // namespace gstdrm::kms
