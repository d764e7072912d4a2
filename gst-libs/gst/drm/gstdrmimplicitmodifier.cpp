// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:gstdrmimplicitmodifier
 * @title: GstDrmImplicitModifier
 * @short_description: the type of the `implicit-modifier` property
 *
 * An application sets `implicit-modifier` in the same way on every element of gst-drm. An element
 * of another project that has such a property may use the type as well.
 */
#include "gstdrmimplicitmodifier.h"

GType gst_drm_implicit_modifier_get_type(void) noexcept
{
  static const GEnumValue values[] = {
      {GST_DRM_IMPLICIT_MODIFIER_AUTO, "GST_DRM_IMPLICIT_MODIFIER_AUTO", "auto"},
      {GST_DRM_IMPLICIT_MODIFIER_REFUSE, "GST_DRM_IMPLICIT_MODIFIER_REFUSE", "refuse"},
      {GST_DRM_IMPLICIT_MODIFIER_LINEAR, "GST_DRM_IMPLICIT_MODIFIER_LINEAR", "linear"},
      {GST_DRM_IMPLICIT_MODIFIER_DRIVER, "GST_DRM_IMPLICIT_MODIFIER_DRIVER", "driver"},
      {0, nullptr, nullptr}};
  static const GType type = g_enum_register_static("GstDrmImplicitModifier", values);
  return type;
}
