// SPDX-License-Identifier: LGPL-2.1-or-later
// The constraints behind their C names, for this library's own sources. Never installed.
#pragma once

#include <optional>

#include "core/reconcile.hpp"
#include "gstdrmconstraints.h"

struct _GstDrmConstraints {
  gstdrm::Constraints values;
  // of a reconciliation
  std::optional<gstdrm::HeapChoice> heap; // set: these constraints are a result
  std::optional<gstdrm::BufferLayout> layout;
  gstdrm::BufferType type = gstdrm::BufferType::Image;
};

struct _GstDrmConflict {
  gstdrm::Conflict conflict;
};

namespace gstdrm {

// A result is final: what was allocated by it has its layout.
inline bool is_reconciled(const GstDrmConstraints *constraints) noexcept
{
  return constraints->heap.has_value();
}

// Whether `key`, which may come from C as any number, is one.
inline bool is_constraint_key(GstDrmConstraintKey key) noexcept
{
  return static_cast<unsigned>(key) < kConstraintKeys;
}

inline gchar *dup_text(const std::string &text)
{
  return g_utf8_make_valid(text.c_str(), static_cast<gssize>(text.size()));
}

inline void set_text(GstStructure *structure, const char *field, const std::string &text) noexcept
{
  const g_autofree gchar *valid = dup_text(text);
  gst_structure_set(structure, field, G_TYPE_STRING, valid, nullptr);
}

} // namespace gstdrm
