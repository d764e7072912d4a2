// SPDX-License-Identifier: LGPL-2.1-or-later
// Whether two descriptors are one open file, as after dup(): of DRM devices they are one client
// then. Any thread, but one at a time.
#pragma once

namespace gstdrm::kms {

bool same_file(int a, int b);
// The same without kcmp(2), which containers forbid (Docker's seccomp profile).
bool same_file_by_lock(int a, int b);

} // namespace gstdrm::kms
