// SPDX-License-Identifier: LGPL-2.1-or-later
#include "properties.hpp"

namespace gstdrm {

void install_common_properties(GObjectClass *klass, const CommonProperties &properties)
{
  const auto flags = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                              GST_PARAM_MUTABLE_READY);
  g_object_class_install_property(
      klass, properties.zero_copy_id,
      g_param_spec_enum("zero-copy", "Zero copy", properties.zero_copy_blurb,
                        GST_TYPE_DRM_ZERO_COPY, GST_DRM_ZERO_COPY_PREFER, flags));
  if (properties.implicit_modifier_id != 0)
    g_object_class_install_property(klass, properties.implicit_modifier_id,
                                    g_param_spec_enum("implicit-modifier", "Implicit modifier",
                                                      properties.implicit_modifier_blurb,
                                                      GST_TYPE_DRM_IMPLICIT_MODIFIER,
                                                      GST_DRM_IMPLICIT_MODIFIER_AUTO, flags));
  g_object_class_install_property(
      klass, properties.stats_id,
      g_param_spec_boxed("drm-stats", "DRM statistics", properties.stats_blurb, GST_TYPE_STRUCTURE,
                         static_cast<GParamFlags>(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS)));
}

} // namespace gstdrm
