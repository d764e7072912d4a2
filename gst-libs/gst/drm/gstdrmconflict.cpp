// SPDX-License-Identifier: LGPL-2.1-or-later
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

FailureTexts texts_of(const gstdrm::Conflict &conflict, const gstdrm::KeyConflict &failure)
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
  gstdrm::set_text(structure, "key", texts.key);
  gstdrm::set_text(structure, "reason", texts.reason);
  gstdrm::set_text(structure, "why", texts.why);
  gstdrm::set_text(structure, "change", texts.change);
  set_texts(structure, "values", texts.values);
  return structure;
}

GstStructure *to_structure(const std::string &text, const std::vector<std::string> &accessors,
                           const std::vector<FailureTexts> &failures) noexcept
{
  GstStructure *structure = gst_structure_new_empty("GstDrmConflict");
  gstdrm::set_text(structure, "text", text);
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
  for (const gstdrm::KeyConflict &failure : values.failures)
    failures.push_back(texts_of(values, failure));
  return to_structure(gstdrm::conflict_to_text(values), accessors, failures);
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}
