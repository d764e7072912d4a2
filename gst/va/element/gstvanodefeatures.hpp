// SPDX-License-Identifier: LGPL-2.1-or-later
// One feature for each render node behind the first.
#pragma once

#include <gst/gst.h>

namespace gstdrm::va {

// Registers varenderD129dmabufsrc and varenderD129dmabufconvert, subclasses of the two elements
// with that node's caps and its path as the device property. Upstream names its elements so
// (gst-plugins-bad, sys/va/gstvavpp.c, gst_va_vpp_register()).
bool register_node_features(GstPlugin *plugin);

} // namespace gstdrm::va
