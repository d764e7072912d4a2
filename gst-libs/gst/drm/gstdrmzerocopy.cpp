// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:gstdrmzerocopy
 * @title: GstDrmZeroCopy
 * @short_description: the type of the `zero-copy` property
 *
 * An application sets `zero-copy` in the same way on every element of gst-drm. An element of
 * another project that has such a property may use the type as well.
 */
#include "gstdrmzerocopy.h"

GType gst_drm_zero_copy_get_type(void) noexcept
{
  static const GEnumValue values[] = {
      {GST_DRM_ZERO_COPY_PREFER, "GST_DRM_ZERO_COPY_PREFER", "prefer"},
      {GST_DRM_ZERO_COPY_REQUIRE, "GST_DRM_ZERO_COPY_REQUIRE", "require"},
      {0, nullptr, nullptr}};
  static const GType type = g_enum_register_static("GstDrmZeroCopy", values);
  return type;
}
