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
#include <optional>
#include <string>
#include <vector>

#include <gst/allocators/gstdmabuf.h>
#include <gst/video/video.h>

#include "gstdrm-guard-private.hpp"
#include "gstdrm-private.hpp"
#include "gstdrmcaps-parts.hpp"
#include "gstdrmcaps-strings.hpp"
#include "gstdrmformat.h"
#include "gstdrmformatset-private.hpp"

#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT gstdrm::library_debug_category()

using gstdrm::Format;
using gstdrm::FormatList;
using gstdrm::FormatSet;

namespace {

// GstVideoFormats of the linear layouts of these fourccs; those without a name are left out.
std::vector<const gchar *> linear_names(const FormatList &list, guint64 modifier)
{
  std::vector<const gchar *> names;
  for (const Format &format : list.pairs()) {
    if (format.modifier != modifier)
      continue;
    const GstVideoFormat named = gst_drm_format_to_video_format(format.fourcc, gstdrm::kModLinear);
    if (named != GST_VIDEO_FORMAT_UNKNOWN)
      names.push_back(gst_video_format_to_string(named));
    else
      GST_DEBUG("no GstVideoFormat for %s, left out", gstdrm::describe_format(format).c_str());
  }
  return names;
}

GstStructure *new_raw_structure(const std::vector<const gchar *> &names)
{
  GstStructure *structure = gst_structure_new_empty("video/x-raw");
  gstdrm::set_strings(structure, "format", names, [](const gchar *name) { return g_strdup(name); });
  return structure;
}

void append_dmabuf_structure(GstCaps *caps, GstStructure *structure)
{
  gst_caps_append_structure_full(caps, structure,
                                 gst_caps_features_new_single(GST_CAPS_FEATURE_MEMORY_DMABUF));
}

} // namespace

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
 * Looks for a pair. Broadcom's SAND modifiers have the height of their columns in them, and drivers
 * list them without one: such a pair of @set stands for each height.
 *
 * Returns: %TRUE where the pair is in @set
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

/**
 * gst_drm_format_set_new_from_caps: (constructor)
 * @caps: #GstCaps
 *
 * Collects the pairs of every `video/x-raw` structure with the feature memory:DMABuf: those of
 * drm-format where the format is DMA_DRM; for another GstVideoFormat the implicit modifier, or the
 * modifier of a tiling that the format names. Strings that are no drm-format are left out.
 *
 * Returns: (transfer full) (nullable): a new set, empty where @caps have no such structure; %NULL
 * where @caps take any format: ANY caps, or a structure without drm-format that allows DMA_DRM.
 * gst_drm_format_set_intersect() takes that %NULL as any format.
 *
 * Since: 0.1
 */
GstDrmFormatSet *gst_drm_format_set_new_from_caps(const GstCaps *caps) noexcept
try {
  g_return_val_if_fail(GST_IS_CAPS(caps), nullptr);

  const std::optional<FormatList> list = gstdrm::formats_of_caps(caps);
  return list ? gstdrm::wrap_format_set(FormatSet(list->set())) : nullptr;
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}

/**
 * gst_drm_format_set_to_caps:
 * @set: a #GstDrmFormatSet
 *
 * Writes `video/x-raw(memory:DMABuf)` caps: one DMA_DRM structure with the explicit members as
 * drm-format, and one with the GstVideoFormats of the implicit members. The lists are in an order
 * of preference, which upstream follows: formats of 8 bits before deeper ones, NV12 and RGB of 32
 * bits first, 64 bits a pixel last. Sizes and frame rates are not set, the caller adds what it can
 * do. Implicit members that no GstVideoFormat names are left out.
 *
 * Returns: (transfer full): new caps, empty for an empty set
 *
 * Since: 0.1
 */
GstCaps *gst_drm_format_set_to_caps(const GstDrmFormatSet *set) noexcept
try {
  g_return_val_if_fail(set != nullptr, nullptr);

  auto caps = gstdrm::GstPtr<GstCaps>::adopt(gst_caps_new_empty());
  const FormatList list(set->set);
  std::vector<Format> explicit_pairs;
  explicit_pairs.reserve(set->set.size());
  for (const Format &format : list.pairs()) {
    if (format.modifier != gstdrm::kModImplicit)
      explicit_pairs.push_back(format);
  }
  if (!explicit_pairs.empty()) {
    GstStructure *structure =
        gst_structure_new("video/x-raw", "format", G_TYPE_STRING, "DMA_DRM", nullptr);
    gstdrm::set_drm_formats(structure, explicit_pairs);
    append_dmabuf_structure(caps.get(), structure);
  }
  const auto implicit_names = linear_names(list, gstdrm::kModImplicit);
  if (!implicit_names.empty())
    append_dmabuf_structure(caps.get(), new_raw_structure(implicit_names));
  return caps.release();
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}

/**
 * gst_drm_format_set_to_raw_caps:
 * @set: a #GstDrmFormatSet
 *
 * Writes plain `video/x-raw` caps with the GstVideoFormats of the linear members: what a peer that
 * knows nothing of DMA_DRM may send in linear DMA buffers, in the order of
 * gst_drm_format_set_to_caps(). Sizes and frame rates are not set.
 *
 * Returns: (transfer full): new caps, empty where no linear member has a GstVideoFormat
 *
 * Since: 0.1
 */
GstCaps *gst_drm_format_set_to_raw_caps(const GstDrmFormatSet *set) noexcept
try {
  g_return_val_if_fail(set != nullptr, nullptr);

  auto caps = gstdrm::GstPtr<GstCaps>::adopt(gst_caps_new_empty());
  const auto names = linear_names(FormatList(set->set), gstdrm::kModLinear);
  if (!names.empty())
    gst_caps_append_structure(caps.get(), new_raw_structure(names));
  return caps.release();
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}

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
