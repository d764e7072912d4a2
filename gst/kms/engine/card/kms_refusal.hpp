// SPDX-License-Identifier: LGPL-2.1-or-later
// What the errno of a KMS call says about the request.
#pragma once

namespace gstdrm::kms {

// Whether an errno of AddFB2 or of an atomic commit says that the device does not do this, whereas
// others say that it cannot do anything now (ENOMEM, EACCES, ENODEV, EBUSY).
bool is_refusal(int sys_errno);

} // namespace gstdrm::kms
