/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/drm/drm-prelude.h>

G_BEGIN_DECLS

/* Explains why two sides have nothing in common, and what would help; NULL where they have. */
GST_DRM_API
gchar *gst_drm_explain_mismatch(const gchar *sender, const GValue *sent, const gchar *receiver,
                                const GValue *taken, GstStructure **details) GST_DRM_NOEXCEPT;

G_END_DECLS
