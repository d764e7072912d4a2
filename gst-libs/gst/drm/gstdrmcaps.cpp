// SPDX-License-Identifier: LGPL-2.1-or-later
// Intersection of caps with long drm-format lists. GStreamer compares lists string by string, each
// with each; here they are intersected as sets.
#include "gstdrm-guard-private.hpp"
#include "gstdrm-private.hpp"
#include "gstdrmcaps-parts.hpp"
#include "gstdrmformatset.h"

/**
 * gst_drm_caps_intersect:
 * @first: #GstCaps
 * @second: #GstCaps
 *
 * As gst_caps_intersect_full() with %GST_CAPS_INTERSECT_FIRST, in time linear in the length of the
 * drm-format lists. Structures come in the order of @first, and so do the fourccs of a drm-format
 * list; within a fourcc, linear comes first. Two spellings of one pair are equal here, and strings
 * that are no drm-format are left out.
 *
 * Returns: (transfer full): new caps, empty where there is nothing in common
 *
 * Since: 0.1
 */
GstCaps *gst_drm_caps_intersect(const GstCaps *first, const GstCaps *second) noexcept
try {
  g_return_val_if_fail(GST_IS_CAPS(first), nullptr);
  g_return_val_if_fail(GST_IS_CAPS(second), nullptr);

  // ANY takes all the other has
  if (gst_caps_is_any(first))
    return gst_caps_copy(second);
  if (gst_caps_is_any(second))
    return gst_caps_copy(first);

  return gstdrm::put_together(
      gstdrm::intersect_parts(gstdrm::take_apart(first), gstdrm::take_apart(second)));
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}
