// SPDX-License-Identifier: LGPL-2.1-or-later
// What an element asks of upstream's buffers in its answer to an ALLOCATION query.
#pragma once

#include <gst/drm/drm.h>

#include "support/check_main.hpp"

namespace gstdrm::test {

// The type of the entries that gst_query_add_drm_constraints() adds.
inline GType constraints_entry_type()
{
  g_autoptr(GstQuery) query = gst_query_new_allocation(nullptr, FALSE);
  g_autoptr(GstDrmConstraints) one = gst_drm_constraints_new("one", nullptr);
  gst_query_add_drm_constraints(query, one);
  return gst_query_parse_nth_allocation_meta(query, 0, nullptr);
}

// One entry, of the element of that factory, with the ends of one of its keys.
inline void check_entry_range(GstQuery *answer, const char *factory, GstDrmConstraintKey key, guint64 least,
                              guint64 most)
{
  g_autoptr(GPtrArray) all = gst_query_get_drm_constraints(answer);
  fail_unless_equals_int(static_cast<int>(all->len), 1);
  const auto *entry = static_cast<const GstDrmConstraints *>(all->pdata[0]);
  g_autofree gchar *tail = g_strdup_printf("(%s)", factory);
  fail_unless(g_str_has_suffix(gst_drm_constraints_get_name(entry), tail), "'%s'", gst_drm_constraints_get_name(entry));
  guint64 min = 0;
  guint64 max = 0;
  fail_unless(gst_drm_constraints_get_range(entry, key, &min, &max));
  fail_unless_equals_uint64(min, least);
  fail_unless_equals_uint64(max, most);
}

// The same of a key that is a number.
inline void check_entry(GstQuery *answer, const char *factory, GstDrmConstraintKey key, guint64 expected)
{
  check_entry_range(answer, factory, key, expected, expected);
}

} // namespace gstdrm::test
