// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstvaproperties.hpp"

#include "gstvamachine.hpp"

namespace gstdrm::va {

void install_device_properties(GObjectClass *klass, const CommonPropertyIds &ids)
{
  constexpr auto flags = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                                  GST_PARAM_MUTABLE_READY);
  g_object_class_install_property(
      klass, ids.device,
      g_param_spec_string("device", "Device",
                          "Render node, such as /dev/dri/renderD128; none: the first whose VA-API "
                          "driver exports DMA buffers",
                          nullptr, flags));
  g_object_class_install_property(
      klass, ids.num_surfaces,
      g_param_spec_uint("num-surfaces", "Number of surfaces",
                        "Frames that may be drawn, on their way or held at once; all are allocated "
                        "when the format is agreed on",
                        2, 64, 6, flags));
}

void add_machine_template(GstElementClass *klass, const char *name, GstPadDirection direction)
{
  const auto caps = machine_caps(direction);
  gst_element_class_add_pad_template(
      klass, gst_pad_template_new(name, direction, GST_PAD_ALWAYS, caps.get()));
}

} // namespace gstdrm::va
