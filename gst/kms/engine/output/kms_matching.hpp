// SPDX-License-Identifier: LGPL-2.1-or-later
// Which CRTC a connector gets, as a matching: a connector may have several, and another one that
// waits, or that is lit already, may have no other than one of these. Plain values.
#pragma once

#include <vector>

#include "kms_output.hpp"

namespace gstdrm::kms {

// The CRTC that drives the connector at present, else a free one: the one that leaves CRTCs for
// most of the other displays that wait for one, such as those of the sinks that start next. null:
// none is free.
const Crtc *find_crtc(const Resources &resources, const Connector &connector);

// As moves_for(), for this connector.
std::vector<CrtcMove> find_moves(const Resources &resources, const Connector &connector);

} // namespace gstdrm::kms
