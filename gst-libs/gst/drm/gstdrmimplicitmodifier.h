/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/drm/drm-prelude.h>

G_BEGIN_DECLS

#define GST_TYPE_DRM_IMPLICIT_MODIFIER (gst_drm_implicit_modifier_get_type())

/**
 * GstDrmImplicitModifier:
 * @GST_DRM_IMPLICIT_MODIFIER_AUTO: offer such caps only where the driver lists no explicit modifier
 * @GST_DRM_IMPLICIT_MODIFIER_REFUSE: neither offer nor take them
 * @GST_DRM_IMPLICIT_MODIFIER_LINEAR: offer them beside each linear format; their frames are linear
 * @GST_DRM_IMPLICIT_MODIFIER_DRIVER: offer them beside each format of the driver, which is given
 *   their frames without a modifier
 *
 * What an element does about caps with the implicit modifier (`memory:DMABuf` with a GstVideoFormat
 * and no drm-format), which do not say how their frames lie in memory. It is the type of the
 * `implicit-modifier` property of the elements of gst-drm.
 *
 * Since: 0.1
 */
typedef enum {
  GST_DRM_IMPLICIT_MODIFIER_AUTO,
  GST_DRM_IMPLICIT_MODIFIER_REFUSE,
  GST_DRM_IMPLICIT_MODIFIER_LINEAR,
  GST_DRM_IMPLICIT_MODIFIER_DRIVER,
} GstDrmImplicitModifier;

/* The GType of GstDrmImplicitModifier. */
GST_DRM_API
GType gst_drm_implicit_modifier_get_type(void) GST_DRM_NOEXCEPT;

G_END_DECLS
