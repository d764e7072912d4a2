// SPDX-License-Identifier: LGPL-2.1-or-later
// What two sets have in common, and what sets them apart.
#include "gstdrm-guard-private.hpp"
#include "gstdrmformatset-private.hpp"

using gstdrm::FormatSet;

/**
 * gst_drm_format_set_intersect:
 * @a: (nullable): a #GstDrmFormatSet; %NULL: any format
 * @b: (nullable): a #GstDrmFormatSet; %NULL: any format
 *
 * The pairs that both have. The implicit modifier meets the implicit modifier only.
 *
 * Returns: (transfer full) (nullable): a new set, empty where there is nothing in common; %NULL,
 * any format, where both @a and @b are %NULL
 *
 * Since: 0.1
 */
GstDrmFormatSet *gst_drm_format_set_intersect(const GstDrmFormatSet *a,
                                              const GstDrmFormatSet *b) noexcept
{
  return gst_drm_format_set_intersect_full(a, b, GST_DRM_FORMAT_SET_FLAG_NONE);
}

/**
 * gst_drm_format_set_intersect_full:
 * @a: (nullable): a #GstDrmFormatSet; %NULL: any format
 * @b: (nullable): a #GstDrmFormatSet; %NULL: any format
 * @flags: how the implicit modifier is treated
 *
 * As gst_drm_format_set_intersect(); with %GST_DRM_FORMAT_SET_FLAG_LINEAR_FOR_IMPLICIT a fourcc
 * that one side has with the implicit modifier alone meets the other side's
 * %GST_DRM_MODIFIER_LINEAR, as %GST_DRM_MODIFIER_LINEAR.
 *
 * Returns: (transfer full) (nullable): a new set, empty where there is nothing in common; %NULL,
 * any format, where both @a and @b are %NULL
 *
 * Since: 0.1
 */
GstDrmFormatSet *gst_drm_format_set_intersect_full(const GstDrmFormatSet *a,
                                                   const GstDrmFormatSet *b,
                                                   GstDrmFormatSetFlags flags) noexcept
try {
  if (!a || !b) // any format: the other side decides
    return a || b ? gst_drm_format_set_copy(a ? a : b) : nullptr;
  const bool legacy = (flags & GST_DRM_FORMAT_SET_FLAG_LINEAR_FOR_IMPLICIT) != 0;
  return gstdrm::wrap_format_set(FormatSet::intersect(a->set, b->set,
                                                      legacy ? gstdrm::ImplicitRule::LinearForLegacy
                                                             : gstdrm::ImplicitRule::Strict));
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}

/**
 * gst_drm_format_set_union:
 * @a: a #GstDrmFormatSet
 * @b: a #GstDrmFormatSet
 *
 * Makes a set of the pairs that either of two sets has.
 *
 * Returns: (transfer full): a new set of the pairs that either has
 *
 * Since: 0.1
 */
GstDrmFormatSet *gst_drm_format_set_union(const GstDrmFormatSet *a,
                                          const GstDrmFormatSet *b) noexcept
try {
  g_return_val_if_fail(a != nullptr, nullptr);
  g_return_val_if_fail(b != nullptr, nullptr);

  return gstdrm::wrap_format_set(FormatSet::unite(a->set, b->set));
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}

/**
 * gst_drm_format_set_subtract:
 * @a: a #GstDrmFormatSet
 * @b: a #GstDrmFormatSet
 *
 * Makes a set of the pairs that one set has and another has not.
 *
 * Returns: (transfer full): a new set of the pairs of @a that @b does not have
 *
 * Since: 0.1
 */
GstDrmFormatSet *gst_drm_format_set_subtract(const GstDrmFormatSet *a,
                                             const GstDrmFormatSet *b) noexcept
try {
  g_return_val_if_fail(a != nullptr, nullptr);
  g_return_val_if_fail(b != nullptr, nullptr);

  return gstdrm::wrap_format_set(FormatSet::subtract(a->set, b->set));
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}

/**
 * gst_drm_format_set_is_subset:
 * @a: a #GstDrmFormatSet
 * @b: a #GstDrmFormatSet
 *
 * Looks whether one set has all pairs of another.
 *
 * Returns: %TRUE where @b has every pair of @a
 *
 * Since: 0.1
 */
gboolean gst_drm_format_set_is_subset(const GstDrmFormatSet *a, const GstDrmFormatSet *b) noexcept
{
  g_return_val_if_fail(a != nullptr, FALSE);
  g_return_val_if_fail(b != nullptr, FALSE);

  return a->set.is_subset_of(b->set);
}

/**
 * gst_drm_format_set_is_equal:
 * @a: a #GstDrmFormatSet
 * @b: a #GstDrmFormatSet
 *
 * Looks whether two sets have the same pairs.
 *
 * Returns: %TRUE where both have the same pairs
 *
 * Since: 0.1
 */
gboolean gst_drm_format_set_is_equal(const GstDrmFormatSet *a, const GstDrmFormatSet *b) noexcept
{
  g_return_val_if_fail(a != nullptr, FALSE);
  g_return_val_if_fail(b != nullptr, FALSE);

  return a->set == b->set;
}
