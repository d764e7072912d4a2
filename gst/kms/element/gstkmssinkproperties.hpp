// SPDX-License-Identifier: LGPL-2.1-or-later
// The properties of kmsdmabufsink.
#pragma once

#include <glib-object.h>

namespace gstdrm {

void install_sink_properties(GObjectClass *klass);

} // namespace gstdrm
