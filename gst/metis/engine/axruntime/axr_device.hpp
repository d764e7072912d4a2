// SPDX-License-Identifier: LGPL-2.1-or-later
// The device that a name means.
#pragma once

#include <string>

#include <gst/drm/core/result.hpp>

#include "axr_api.hpp"

namespace gstdrm::metis::axr {

// "metis-0:1:0" and "metis-0:01:0" are the same device: domain, bus and slot are hexadecimal.
bool same_device(const std::string &a, const std::string &b);

// The runtime's record of that device, valid until the devices are listed again; null where `name`
// is empty, which the runtime takes for the first one. ErrorCode::Device with ENODEV: not there;
// the message names those that are.
Result<const Device *> find_device(const Api &api, Context *context, const std::string &name);

} // namespace gstdrm::metis::axr
