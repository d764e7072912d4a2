// SPDX-License-Identifier: LGPL-2.1-or-later
// Reconciles constraints: the layout that results, or a conflict.
/**
 * SECTION:gstdrmconflict
 * @title: GstDrmConflict
 * @short_description: why the accessors of a buffer cannot be reconciled
 *
 * gst_drm_constraints_reconcile() returns a #GstDrmConflict where no buffer suits every accessor.
 * The conflict keeps a copy of what each accessor asked for, says for each key that failed why it
 * failed, and names the smallest change that would make the key fit.
 */
#include <memory>
#include <variant>
#include <vector>

#include "gstdrm-guard-private.hpp"
#include "gstdrmconstraints-private.hpp"

namespace {

// All texts are made before the structure, so that nothing leaks where memory runs out.
struct FailureTexts {
  std::string key;
  std::string reason;
  std::string why;
  std::string change;
  std::vector<std::string> values;
};

FailureTexts texts_of(const gstdrm::Conflict &conflict, const gstdrm::Failure &failure)
{
  FailureTexts texts{std::string(gstdrm::constraint_key_facts(failure.key).name),
                     gstdrm::conflict_reason_name(failure.reason),
                     failure.why,
                     gstdrm::describe_changes(conflict, failure),
                     {}};
  for (const gstdrm::Constraints &one : conflict.accessors)
    texts.values.push_back(gstdrm::describe_value(one, failure.key));
  return texts;
}

void set_text(GstStructure *structure, const char *field, const std::string &text) noexcept
{
  const g_autofree gchar *valid = gstdrm::dup_text(text);
  gst_structure_set(structure, field, G_TYPE_STRING, valid, nullptr);
}

void set_texts(GstStructure *structure, const char *field,
               const std::vector<std::string> &texts) noexcept
{
  GValue list = G_VALUE_INIT;
  g_value_init(&list, GST_TYPE_LIST);
  for (const std::string &text : texts) {
    GValue value = G_VALUE_INIT;
    g_value_init(&value, G_TYPE_STRING);
    g_value_take_string(&value, gstdrm::dup_text(text));
    gst_value_list_append_and_take_value(&list, &value);
  }
  gst_structure_take_value(structure, field, &list);
}

GstStructure *to_structure(const FailureTexts &texts) noexcept
{
  GstStructure *structure = gst_structure_new_empty("GstDrmConflictKey");
  set_text(structure, "key", texts.key);
  set_text(structure, "reason", texts.reason);
  set_text(structure, "why", texts.why);
  set_text(structure, "change", texts.change);
  set_texts(structure, "values", texts.values);
  return structure;
}

GstStructure *to_structure(const std::string &text, const std::vector<std::string> &accessors,
                           const std::vector<FailureTexts> &failures) noexcept
{
  GstStructure *structure = gst_structure_new_empty("GstDrmConflict");
  set_text(structure, "text", text);
  set_texts(structure, "accessors", accessors);
  GValue list = G_VALUE_INIT;
  g_value_init(&list, GST_TYPE_LIST);
  for (const FailureTexts &texts : failures) {
    GValue value = G_VALUE_INIT;
    g_value_init(&value, GST_TYPE_STRUCTURE);
    g_value_take_boxed(&value, to_structure(texts));
    gst_value_list_append_and_take_value(&list, &value);
  }
  gst_structure_take_value(structure, "failures", &list);
  return structure;
}

GstDrmConflict *copy_conflict(const GstDrmConflict *conflict) noexcept
try {
  return std::make_unique<GstDrmConflict>(*conflict).release();
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}

} // namespace

GType gst_drm_conflict_get_type(void) noexcept
{
  static const GType type = g_boxed_type_register_static(
      "GstDrmConflict", reinterpret_cast<GBoxedCopyFunc>(copy_conflict),
      reinterpret_cast<GBoxedFreeFunc>(gst_drm_conflict_free));
  return type;
}

/**
 * gst_drm_constraints_reconcile:
 * @accessors: (element-type GstDrmConstraints): what each accessor of a buffer asks for, 256 at
 *   most. %NULL elements are left out.
 * @conflict: (out) (optional) (transfer full) (nullable): why nothing suits all of them; %NULL
 *   where something does
 *
 * Reconciles what the accessors of a buffer ask for: sets and ranges intersect, of alignments the
 * largest counts, needs add up, and everything else has to be equal. Memory of a device is that of
 * one device, and of accessors that name it. Then the layout is computed:
 * of the first linear format in common where width and height are fixed, of raw memory, a tensor,
 * an array or a pyramid. Linear formats that cannot be laid out as asked are taken out. The order
 * of @accessors carries no meaning, and one that is there twice, with one name and the same values,
 * counts once. No accessors ask for nothing.
 *
 * The result is itself a #GstDrmConstraints, without a name, that may be reconciled with others. It
 * fails only with a conflict, except when memory runs out.
 *
 * Returns: (transfer full) (nullable): what suits all accessors; %NULL with @conflict where nothing
 *   does
 *
 * Since: 0.1
 */
GstDrmConstraints *gst_drm_constraints_reconcile(GPtrArray *accessors,
                                                 GstDrmConflict **conflict) noexcept
try {
  if (conflict)
    *conflict = nullptr;
  g_return_val_if_fail(accessors != nullptr, nullptr);

  std::vector<const gstdrm::Constraints *> values;
  values.reserve(accessors->len);
  for (guint i = 0; i < accessors->len; ++i)
    if (const auto *one = static_cast<const GstDrmConstraints *>(g_ptr_array_index(accessors, i)))
      values.push_back(&one->values);
  auto outcome = gstdrm::reconcile(values);
  if (auto *done = std::get_if<gstdrm::Reconciled>(&outcome)) {
    auto made = std::make_unique<GstDrmConstraints>();
    made->values = std::move(done->merged);
    made->heap = std::move(done->heap);
    made->layout = std::move(done->layout);
    return made.release();
  }
  if (conflict) {
    auto made = std::make_unique<GstDrmConflict>();
    made->conflict = std::move(std::get<gstdrm::Conflict>(outcome));
    *conflict = made.release();
  }
  return nullptr;
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}

/**
 * gst_drm_constraints_get_size:
 * @constraints: a #GstDrmConstraints
 *
 * Gets the size that gst_drm_constraints_reconcile() computed.
 *
 * Returns: bytes to allocate; 0 where no layout was computed, and in constraints that were not
 * reconciled
 *
 * Since: 0.1
 */
guint64 gst_drm_constraints_get_size(const GstDrmConstraints *constraints) noexcept
{
  g_return_val_if_fail(constraints != nullptr, 0);

  return constraints->layout ? constraints->layout->size_bytes : 0;
}

/**
 * gst_drm_constraints_get_n_planes:
 * @constraints: a #GstDrmConstraints
 *
 * Gets how many planes gst_drm_constraints_reconcile() laid out: the planes of an image, of all
 * levels of a pyramid, the dimensions of a tensor, one of an array and of raw memory.
 *
 * Returns: the number; 0 where no layout was computed, and in constraints that were not reconciled
 *
 * Since: 0.1
 */
guint gst_drm_constraints_get_n_planes(const GstDrmConstraints *constraints) noexcept
{
  g_return_val_if_fail(constraints != nullptr, 0);

  return constraints->layout ? static_cast<guint>(constraints->layout->planes.size()) : 0;
}

/**
 * gst_drm_constraints_get_plane:
 * @constraints: a #GstDrmConstraints
 * @index: less than gst_drm_constraints_get_n_planes()
 * @offset: (out) (optional): where it begins, in bytes from the start of the buffer
 * @stride: (out) (optional): bytes from one row, or one element of the dimension, to the next
 *
 * Gets one plane of the layout.
 *
 * Returns: %FALSE where there is no such plane
 *
 * Since: 0.1
 */
gboolean gst_drm_constraints_get_plane(const GstDrmConstraints *constraints, guint index,
                                       guint64 *offset, guint64 *stride) noexcept
{
  g_return_val_if_fail(constraints != nullptr, FALSE);

  if (!constraints->layout || index >= constraints->layout->planes.size())
    return FALSE;
  const gstdrm::PlaneSpan &plane = constraints->layout->planes[index];
  if (offset)
    *offset = plane.offset_bytes;
  if (stride)
    *stride = plane.stride_bytes;
  return TRUE;
}

/**
 * gst_drm_constraints_get_heap:
 * @constraints: a #GstDrmConstraints
 * @kind: (out) (optional): the kind of memory; %GST_DRM_PLACEMENT_NONE: a named heap, or
 *   constraints that were not reconciled
 *
 * Gets the memory that gst_drm_constraints_reconcile() chose: system memory where it will do, else
 * contiguous memory, memory of a device, a named heap.
 *
 * Returns: (transfer full) (nullable): the name of the heap or of the device; %NULL for system and
 * contiguous memory, and in constraints that were not reconciled
 *
 * Since: 0.1
 */
gchar *gst_drm_constraints_get_heap(const GstDrmConstraints *constraints,
                                    GstDrmPlacement *kind) noexcept
{
  g_return_val_if_fail(constraints != nullptr, nullptr);

  const auto &heap = constraints->heap;
  if (kind)
    *kind = static_cast<GstDrmPlacement>(heap ? heap->kind : 0);
  return heap && !heap->name.empty() ? g_strdup(heap->name.c_str()) : nullptr;
}

/**
 * gst_drm_conflict_free: (skip)
 * @conflict: (transfer full) (nullable): a #GstDrmConflict
 *
 * Frees @conflict.
 *
 * Since: 0.1
 */
void gst_drm_conflict_free(GstDrmConflict *conflict) noexcept
{
  delete conflict;
}

/**
 * gst_drm_conflict_to_string:
 * @conflict: a #GstDrmConflict
 *
 * Describes the conflict for a person, in several lines: each key that failed and why, the value
 * of every accessor, and the smallest change that would make it fit. Long lists are cut.
 *
 * Returns: (transfer full): the text
 *
 * Since: 0.1
 */
gchar *gst_drm_conflict_to_string(const GstDrmConflict *conflict) noexcept
try {
  g_return_val_if_fail(conflict != nullptr, nullptr);

  return gstdrm::dup_text(gstdrm::conflict_to_text(conflict->conflict));
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}

/**
 * gst_drm_conflict_to_json:
 * @conflict: a #GstDrmConflict
 *
 * Describes the conflict for a program: an object with `schema` ("gst-drm-conflict"), `version` (1;
 * a version only gets new members), `accessors` (`name`, `device`) and `failures` (`key`, `unit`,
 * `reason`, `why`, `values` in the order of the accessors, null where not set, and `changes`). A
 * change has `accessor` (its index), `what` ("include", "replace", "remove", "state"), `key`,
 * `value` (null for "remove" and "state") and `text`. Lists are whole.
 *
 * Returns: (transfer full): JSON in one line
 *
 * Since: 0.1
 */
gchar *gst_drm_conflict_to_json(const GstDrmConflict *conflict) noexcept
try {
  g_return_val_if_fail(conflict != nullptr, nullptr);

  return g_strdup(gstdrm::conflict_to_json(conflict->conflict).c_str());
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}

/**
 * gst_drm_conflict_to_structure:
 * @conflict: a #GstDrmConflict
 *
 * Describes the conflict for the details of a message: `GstDrmConflict` with `text`, the list
 * `accessors` and the list `failures` of structures with `key`, `reason`, `why`, `change` and the
 * list `values`, in the order of the accessors.
 *
 * Returns: (transfer full): a new structure
 *
 * Since: 0.1
 */
GstStructure *gst_drm_conflict_to_structure(const GstDrmConflict *conflict) noexcept
try {
  g_return_val_if_fail(conflict != nullptr, nullptr);

  const gstdrm::Conflict &values = conflict->conflict;
  std::vector<std::string> accessors;
  for (const gstdrm::Constraints &one : values.accessors)
    accessors.push_back(gstdrm::describe_accessor(one));
  std::vector<FailureTexts> failures;
  for (const gstdrm::Failure &failure : values.failures)
    failures.push_back(texts_of(values, failure));
  return to_structure(gstdrm::conflict_to_text(values), accessors, failures);
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}
