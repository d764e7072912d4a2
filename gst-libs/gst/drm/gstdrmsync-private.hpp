// SPDX-License-Identifier: LGPL-2.1-or-later
// What a pool does with the fences of its buffers, without a descriptor of its own for each look.
#pragma once

#include "gstdrmsync.h"

namespace gstdrm {

// Forgets the acquire fences, for every buffer that shares them.
void drop_acquire_fences(GstDrmSyncMeta *meta);
// Whether the memory may not be written yet. Release fences that have signalled are forgotten.
[[nodiscard]] bool awaits_release(GstDrmSyncMeta *meta);

} // namespace gstdrm
