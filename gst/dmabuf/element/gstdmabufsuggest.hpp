// SPDX-License-Identifier: LGPL-2.1-or-later
// What helps when dmabufupload or dmabufdownload finds nothing in common.
#pragma once

#include <string>

#include <gst/gst.h>

#include "gstdmabufcaps.hpp"

namespace gstdrm {

// The nearest fix, in whole sentences, for caps that upstream sent (or offers) and downstream
// refuses.
std::string suggest_for_upload(const CapsRules &rules, const GstCaps *upstream,
                               const GstCaps *downstream);
std::string suggest_for_download(const CapsRules &rules, const GstCaps *upstream,
                                 const GstCaps *downstream);

} // namespace gstdrm
