// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:gstdrmformatset
 * @title: GstDrmFormatSet
 * @short_description: a set of fourcc and modifier pairs
 *
 * What a device can take or make. A set is a mathematical set of pairs: the order in which they
 * were added carries no meaning, and they come out sorted, linear first within a fourcc.
 * %GST_DRM_MODIFIER_IMPLICIT may be a member.
 *
 * There is no set of all pairs. Where any format is meant, %NULL stands for it:
 * gst_drm_format_set_new_from_caps() returns %NULL for ANY caps, and gst_drm_format_set_intersect()
 * and gst_drm_format_set_intersect_full() take it. Every other function needs a set, and refuses
 * %NULL as a programmer's mistake. EMPTY caps are the empty set.
 *
 * A set is filled by its only owner and immutable from the moment that it has a second one, so that
 * any thread may read it then.
 */
#include "gstdrmformatset.h"

#include <memory>
#include <string>

#include "gstdrm-guard-private.hpp"
#include "gstdrm-private.hpp"
#include "gstdrmformatset-private.hpp"

using gstdrm::Format;
using gstdrm::FormatSet;

GType gst_drm_format_set_get_type(void) noexcept
{
  static const GType type = g_boxed_type_register_static(
      "GstDrmFormatSet", reinterpret_cast<GBoxedCopyFunc>(gst_drm_format_set_ref),
      reinterpret_cast<GBoxedFreeFunc>(gst_drm_format_set_unref));
  return type;
}

/**
 * gst_drm_format_set_new: (constructor)
 *
 * Makes a set to add pairs to.
 *
 * Returns: (transfer full): a new, empty set
 *
 * Since: 0.1
 */
GstDrmFormatSet *gst_drm_format_set_new(void) noexcept
try {
  return gstdrm::wrap_format_set({});
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}

/**
 * gst_drm_format_set_ref: (skip)
 * @set: a #GstDrmFormatSet
 *
 * Shares @set, which is immutable from now on. Language bindings share sets by themselves; what
 * they get to change is a gst_drm_format_set_copy().
 *
 * Returns: (transfer full): @set
 *
 * Since: 0.1
 */
GstDrmFormatSet *gst_drm_format_set_ref(GstDrmFormatSet *set) noexcept
{
  g_return_val_if_fail(set != nullptr, nullptr);

  set->ref_count.fetch_add(1, std::memory_order_relaxed);
  return set;
}

/**
 * gst_drm_format_set_unref: (skip)
 * @set: (transfer full): a #GstDrmFormatSet
 *
 * Gives up one reference; the last one frees @set.
 *
 * Since: 0.1
 */
void gst_drm_format_set_unref(GstDrmFormatSet *set) noexcept
{
  g_return_if_fail(set != nullptr);

  if (set->ref_count.fetch_sub(1, std::memory_order_acq_rel) == 1)
    std::default_delete<GstDrmFormatSet>()(set);
}

/**
 * gst_drm_format_set_copy:
 * @set: a #GstDrmFormatSet
 *
 * Makes a set of its own of the pairs that @set has.
 *
 * Returns: (transfer full): a new set with the same pairs, which may be added to
 *
 * Since: 0.1
 */
GstDrmFormatSet *gst_drm_format_set_copy(const GstDrmFormatSet *set) noexcept
try {
  g_return_val_if_fail(set != nullptr, nullptr);

  return gstdrm::wrap_format_set(FormatSet(set->set));
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}

/**
 * gst_drm_format_set_add:
 * @set: a #GstDrmFormatSet with one owner
 * @fourcc: a DRM fourcc
 * @modifier: a DRM format modifier, %GST_DRM_MODIFIER_IMPLICIT included
 *
 * Adds a pair.
 *
 * Returns: %FALSE where @fourcc is not 4 printable ASCII characters, or the pair is there already
 *
 * Since: 0.1
 */
gboolean gst_drm_format_set_add(GstDrmFormatSet *set, guint32 fourcc, guint64 modifier) noexcept
try {
  g_return_val_if_fail(set != nullptr, FALSE);
  g_return_val_if_fail(set->ref_count.load(std::memory_order_acquire) == 1, FALSE);

  return set->set.add({fourcc, modifier});
} catch (...) {
  return gstdrm::caught(FALSE, __func__);
}

/**
 * gst_drm_format_set_contains:
 * @set: a #GstDrmFormatSet
 * @fourcc: a DRM fourcc
 * @modifier: a DRM format modifier
 *
 * Looks for a pair.
 *
 * Returns: %TRUE where exactly this pair is in @set
 *
 * Since: 0.1
 */
gboolean gst_drm_format_set_contains(const GstDrmFormatSet *set, guint32 fourcc,
                                     guint64 modifier) noexcept
{
  g_return_val_if_fail(set != nullptr, FALSE);

  return set->set.contains({fourcc, modifier});
}

/**
 * gst_drm_format_set_get_size:
 * @set: a #GstDrmFormatSet
 *
 * Counts the pairs.
 *
 * Returns: how many pairs @set has
 *
 * Since: 0.1
 */
guint gst_drm_format_set_get_size(const GstDrmFormatSet *set) noexcept
{
  g_return_val_if_fail(set != nullptr, 0);

  return static_cast<guint>(set->set.size());
}

/**
 * gst_drm_format_set_get:
 * @set: a #GstDrmFormatSet
 * @index: from 0 on
 * @fourcc: (out) (optional): the DRM fourcc
 * @modifier: (out) (optional): the modifier
 *
 * The pair at @index of the sorted set.
 *
 * Returns: %FALSE where @index is beyond the last pair
 *
 * Since: 0.1
 */
gboolean gst_drm_format_set_get(const GstDrmFormatSet *set, guint index, guint32 *fourcc,
                                guint64 *modifier) noexcept
{
  g_return_val_if_fail(set != nullptr, FALSE);

  if (index >= set->set.size())
    return FALSE;
  const Format &format = set->set.pairs()[index];
  if (fourcc)
    *fourcc = format.fourcc;
  if (modifier)
    *modifier = format.modifier;
  return TRUE;
}

/**
 * gst_drm_format_set_get_modifiers:
 * @set: a #GstDrmFormatSet
 * @fourcc: a DRM fourcc
 * @n_modifiers: (out): how many there are
 *
 * All modifiers of one fourcc: what an allocator is given to choose from.
 *
 * Returns: (transfer full) (nullable) (array length=n_modifiers): the modifiers, linear first;
 * %NULL where
 *   @fourcc is not in @set. Free with g_free().
 *
 * Since: 0.1
 */
guint64 *gst_drm_format_set_get_modifiers(const GstDrmFormatSet *set, guint32 fourcc,
                                          guint *n_modifiers) noexcept
{
  g_return_val_if_fail(set != nullptr, nullptr);
  g_return_val_if_fail(n_modifiers != nullptr, nullptr);

  const auto run = set->set.of_fourcc(fourcc);
  *n_modifiers = static_cast<guint>(run.size());
  if (run.empty())
    return nullptr;
  guint64 *modifiers = g_new(guint64, run.size());
  for (std::size_t i = 0; i < run.size(); ++i)
    modifiers[i] = run[i].modifier;
  return modifiers;
}

/**
 * gst_drm_format_set_to_string:
 * @set: a #GstDrmFormatSet
 *
 * For logs and errors: `{ NV12, NV12:0x0100000000000002, XR24 (implicit) }`.
 *
 * Returns: (transfer full): the text
 *
 * Since: 0.1
 */
gchar *gst_drm_format_set_to_string(const GstDrmFormatSet *set) noexcept
try {
  g_return_val_if_fail(set != nullptr, nullptr);

  std::string text = "{";
  for (const Format &format : set->set.pairs()) {
    text += text.size() > 1 ? ", " : " ";
    if (format.modifier == gstdrm::kModImplicit)
      text += gstdrm::fourcc_to_string(format.fourcc) + " (implicit)";
    else
      text += gstdrm::format_to_text(format).view();
  }
  return g_strdup((text + " }").c_str());
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}

/**
 * gst_drm_format_set_get_fourccs:
 * @set: a #GstDrmFormatSet
 * @n_fourccs: (out): how many there are
 *
 * The fourccs that @set has pairs of, each once; gst_drm_format_set_get_modifiers() says which
 * modifiers one of them has.
 *
 * Returns: (transfer full) (nullable) (array length=n_fourccs): the fourccs, in the order of the
 * set; %NULL where @set is empty. Free with g_free().
 *
 * Since: 0.1
 */
guint32 *gst_drm_format_set_get_fourccs(const GstDrmFormatSet *set, guint *n_fourccs) noexcept
{
  g_return_val_if_fail(set != nullptr, nullptr);
  g_return_val_if_fail(n_fourccs != nullptr, nullptr);

  *n_fourccs = 0;
  if (set->set.empty())
    return nullptr;
  guint32 *fourccs = g_new(guint32, set->set.size());
  for (const Format &format : set->set.pairs())
    if (*n_fourccs == 0 || fourccs[*n_fourccs - 1] != format.fourcc)
      fourccs[(*n_fourccs)++] = format.fourcc;
  return fourccs;
}
