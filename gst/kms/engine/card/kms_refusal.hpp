// SPDX-License-Identifier: LGPL-2.1-or-later
// What the errno of a KMS call says about the request.
#pragma once

namespace gstdrm::kms {

// Whether an errno of AddFB2 or of an atomic commit says that the device does not support the
// request. Other values (ENOMEM, EACCES, ENODEV, EBUSY) say that the device can do nothing at the
// moment.
bool is_refusal(int sys_errno);

} // namespace gstdrm::kms
