// SPDX-License-Identifier: LGPL-2.1-or-later
// The properties and pad templates that every element of this plugin has.
#pragma once

#include <gst/gst.h>

namespace gstdrm::va {

struct CommonPropertyIds {
  guint device;
  guint num_surfaces;
};

// device and num-surfaces, with the same defaults and limits in each element.
void install_device_properties(GObjectClass *klass, const CommonPropertyIds &ids);
// A template with the caps of every node of this machine.
void add_machine_template(GstElementClass *klass, const char *name, GstPadDirection direction);

} // namespace gstdrm::va
