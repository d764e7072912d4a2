// SPDX-License-Identifier: LGPL-2.1-or-later
// Constraints whose keys and values are any numbers, and what is made of them.
#include "hostile_values.hpp"
#include "support/asked_constraints.hpp"

namespace gstdrm::test::hostile {

namespace {

const guint64 kValues[] = {0, 1, 2, 3, 48, 4096, 16385, G_MAXUINT32, G_GUINT64_CONSTANT(1) << 47, G_MAXINT64, G_MAXUINT64 - 1, G_MAXUINT64};
const gchar *const kHeaps[] = {"", "\xff\xfe", "a\nb", "system", "system", nullptr};
const gchar *const kNoHeaps[] = {nullptr};

GstDrmConstraintKey key_of(gint number)
{
  return enum_of<GstDrmConstraintKey>(number);
}

void fill(GstDrmConstraints *constraints, gint key, guint64 value)
{
  gst_drm_constraints_set_number(constraints, key_of(key), value);
  gst_drm_constraints_set_range(constraints, key_of(key + 1), value, ~value);
  gst_drm_constraints_set_range(constraints, key_of(key + 2), ~value, value);
  gst_drm_constraints_set_placement(constraints, enum_of<GstDrmPlacement>(key), value % 2 ? kHeaps : value % 3 ? kNoHeaps : nullptr);
  if (value % 5 == 0)
    gst_drm_constraints_set_dims(constraints, kValues, static_cast<guint>(key) % G_N_ELEMENTS(kValues));
}

// Every key, and numbers that are none, with every value.
void for_each(const std::function<void(GstDrmConstraints *)> &call)
{
  GstDrmFormatSet *formats = gst_drm_format_set_new();
  for (gint key = -3; key < 27; ++key) {
    for (const guint64 value : kValues) {
      GstDrmConstraints *constraints = gst_drm_constraints_new(value % 2 ? "\xff\"\\\n" : nullptr, key % 2 ? "\xc0" : nullptr);
      if (value % 7 == 0)
        gst_drm_constraints_set_formats(constraints, formats);
      fill(constraints, key, value);
      call(constraints);
      gst_drm_constraints_free(constraints);
    }
  }
  gst_drm_format_set_unref(formats);
}

// Two of them at a time: what is reconciled, or the conflict.
void for_each_outcome(const std::function<void(GstDrmConstraints *, GstDrmConflict *)> &call)
{
  for_each([&](GstDrmConstraints *constraints) {
    GPtrArray *accessors = g_ptr_array_new();
    g_ptr_array_add(accessors, constraints);
    g_ptr_array_add(accessors, nullptr);
    g_ptr_array_add(accessors, constraints);
    GstDrmConflict *conflict = nullptr;
    GstDrmConstraints *done = gst_drm_constraints_reconcile(accessors, &conflict);
    fail_unless((done != nullptr) != (conflict != nullptr), "a failure has a conflict");
    call(done, conflict);
    gst_drm_constraints_free(done);
    gst_drm_conflict_free(conflict);
    g_ptr_array_unref(accessors);
  });
}

// What is reconciled, and what is not; a few bytes are allocated, and all else is refused.
void allocate_by(const std::function<void(GstDrmConstraints *)> &call)
{
  constexpr guint64 kFew = 1 << 20;
  for_each(call);
  for_each_outcome([&](GstDrmConstraints *done, GstDrmConflict *) {
    if (done && (gst_drm_constraints_get_size(done) <= kFew || gst_drm_constraints_get_size(done) > G_MAXUINT32))
      call(done);
  });
}

void check_text(gchar *text)
{
  fail_unless(text && g_utf8_validate(text, -1, nullptr), "%s", text);
  g_free(text);
}

void read_conflict(const std::function<void(GstDrmConflict *)> &read)
{
  int conflicts = 0;
  for_each_outcome([&](GstDrmConstraints *, GstDrmConflict *conflict) {
    if (conflict) {
      ++conflicts;
      read(conflict);
    }
  });
  fail_unless(conflicts > 10);
}

void read_layout(const std::function<void(GstDrmConstraints *)> &read)
{
  int done = 0;
  for_each_outcome([&](GstDrmConstraints *constraints, GstDrmConflict *) {
    if (constraints) {
      ++done;
      read(constraints);
    }
  });
  for_each([&](GstDrmConstraints *constraints) { read(constraints); });
  fail_unless(done > 0);
}

// Caps against themselves and others, and against values of types that are no side at all.
void for_each_side(GstCaps *caps, const std::function<void(const GValue *, const GValue *)> &call)
{
  GValue sides[5] = {};
  g_value_init(&sides[0], GST_TYPE_CAPS);
  gst_value_set_caps(&sides[0], caps);
  g_value_init(&sides[1], GST_TYPE_CAPS);
  g_value_init(&sides[2], GST_TYPE_DRM_FORMAT_SET);
  g_value_take_boxed(&sides[2], gst_drm_format_set_new());
  g_value_init(&sides[3], GST_TYPE_DRM_CONSTRAINTS);
  g_value_take_boxed(&sides[3], gst_drm_constraints_new("\xfe", nullptr));
  g_value_init(&sides[4], G_TYPE_INT);
  for (GValue &a : sides)
    for (GValue &b : sides)
      call(&a, &b);
  for (GValue &side : sides)
    g_value_unset(&side);
}

const Rows kRows = {
    {"gst_drm_constraints_get_type", type_row<gst_drm_constraints_get_type>},
    {"gst_drm_conflict_get_type", type_row<gst_drm_conflict_get_type>},
    {"gst_drm_constraints_new", [] { for (const char *text : kStrings) gst_drm_constraints_free(gst_drm_constraints_new(text, text)); }},
    {"gst_drm_constraints_copy", [] { for_each([](GstDrmConstraints *c) { gst_drm_constraints_free(gst_drm_constraints_copy(c)); }); }},
    {"gst_drm_constraints_free", [] { gst_drm_constraints_free(nullptr); }},
    {"gst_drm_constraints_get_name", [] { for_each([](GstDrmConstraints *c) { fail_unless(gst_drm_constraints_get_name(c) != nullptr); }); }},
    {"gst_drm_constraints_get_device", [] { for_each([](GstDrmConstraints *c) { fail_unless(gst_drm_constraints_get_device(c) != nullptr); }); }},
    {"gst_drm_constraints_set_number", [] { for_each([](GstDrmConstraints *c) { for (const gint n : kNumbers) gst_drm_constraints_set_number(c, key_of(n), static_cast<guint64>(n)); }); }},
    {"gst_drm_constraints_set_range", [] { for_each([](GstDrmConstraints *c) { for (const gint n : kNumbers) gst_drm_constraints_set_range(c, key_of(n), static_cast<guint64>(n), 0); }); }},
    {"gst_drm_constraints_get_range", [] { for_each([](GstDrmConstraints *c) { for (const gint n : kNumbers) gst_drm_constraints_get_range(c, key_of(n), nullptr, nullptr); }); }},
    {"gst_drm_constraints_set_formats", [] { for_each([](GstDrmConstraints *c) { gst_drm_constraints_set_formats(c, nullptr); }); }},
    {"gst_drm_constraints_get_formats", [] { for_each([](GstDrmConstraints *c) { if (GstDrmFormatSet *set = gst_drm_constraints_get_formats(c)) gst_drm_format_set_unref(set); }); }},
    {"gst_drm_constraints_set_placement", [] { for_each([](GstDrmConstraints *c) { for (const gint n : kNumbers) gst_drm_constraints_set_placement(c, enum_of<GstDrmPlacement>(n), kHeaps); }); }},
    {"gst_drm_constraints_get_placement", [] { for_each([](GstDrmConstraints *c) {
       gchar **heaps = nullptr;
       fail_unless(gst_drm_constraints_get_placement(c, nullptr, &heaps) && heaps);
       g_strfreev(heaps);
     }); }},
    {"gst_drm_constraints_set_dims", [] { for_each([](GstDrmConstraints *c) { gst_drm_constraints_set_dims(c, nullptr, 0); gst_drm_constraints_set_dims(c, kValues, G_N_ELEMENTS(kValues)); }); }},
    {"gst_drm_constraints_get_dims", [] { for_each([](GstDrmConstraints *c) { guint n = 0; g_free(gst_drm_constraints_get_dims(c, &n)); fail_unless(n < G_N_ELEMENTS(kValues)); }); }},
    {"gst_drm_constraints_reconcile", [] { for_each_outcome([](GstDrmConstraints *, GstDrmConflict *) {}); }},
    {"gst_drm_constraints_get_size", [] { read_layout([](GstDrmConstraints *c) { fail_unless(gst_drm_constraints_get_size(c) <= G_GUINT64_CONSTANT(1) << 48); }); }},
    {"gst_drm_constraints_get_n_planes", [] { read_layout([](GstDrmConstraints *c) { fail_unless(gst_drm_constraints_get_n_planes(c) <= 60); }); }},
    {"gst_drm_constraints_get_plane", [] { read_layout([](GstDrmConstraints *c) { fail_unless(!gst_drm_constraints_get_plane(c, G_MAXUINT, nullptr, nullptr)); }); }},
    {"gst_drm_constraints_get_heap", [] { read_layout([](GstDrmConstraints *c) { g_free(gst_drm_constraints_get_heap(c, nullptr)); }); }},
    {"gst_drm_constraints_is_reconciled", [] { read_layout([](GstDrmConstraints *c) { gst_drm_constraints_is_reconciled(c); }); }},
    {"gst_drm_constraints_allocate", [] { allocate_by([](GstDrmConstraints *c) {
       for (const guint n : {0U, 1U, G_MAXUINT}) {
         GError *error = nullptr;
         GPtrArray *buffers = gst_drm_constraints_allocate(c, n, &error);
         check(buffers != nullptr, error);
         g_clear_pointer(&buffers, g_ptr_array_unref);
       }
     }); }},
    {"gst_drm_constraints_reconcile_and_allocate", [] { for_each([](GstDrmConstraints *c) {
       GPtrArray *accessors = g_ptr_array_new();
       g_ptr_array_add(accessors, c);
       g_ptr_array_add(accessors, nullptr);
       GstDrmConflict *conflict = nullptr;
       GError *error = nullptr;
       fail_if(gst_drm_constraints_reconcile_and_allocate(accessors, 0, &conflict, &error));
       check(false, error);
       gst_drm_conflict_free(conflict);
       g_ptr_array_unref(accessors);
     }); }},
    {"gst_drm_allocator_new_for_constraints", [] { allocate_by([](GstDrmConstraints *c) {
       GError *error = nullptr;
       GstDrmAllocator *allocator = gst_drm_allocator_new_for_constraints(c, &error);
       check(allocator != nullptr, error);
       gst_clear_object(&allocator);
     }); }},
    {"gst_drm_buffer_pool_new_for_constraints", [] { allocate_by([](GstDrmConstraints *c) {
       GError *error = nullptr;
       GstBufferPool *pool = gst_drm_buffer_pool_new_for_constraints(c, &error);
       check(pool != nullptr, error);
       gst_clear_object(&pool);
     }); }},
    {"gst_buffer_pool_config_set_drm_constraints", [] { allocate_by([](GstDrmConstraints *c) {
       GstDrmAllocator *allocator = gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_MEMFD, nullptr, nullptr);
       GstBufferPool *pool = gst_drm_buffer_pool_new(allocator);
       GstCaps *caps = gst_caps_from_string("video/x-raw, format=NV12, width=64, height=64");
       for (GstCaps *some : {caps, static_cast<GstCaps *>(nullptr)}) {
         GstStructure *config = gst_buffer_pool_get_config(pool);
         gst_buffer_pool_config_set_params(config, some, 0, 0, 0);
         gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
         gst_buffer_pool_config_set_drm_constraints(config, c);
         (void)gst_buffer_pool_set_config(pool, config);
       }
       gst_caps_unref(caps);
       gst_object_unref(pool);
       gst_object_unref(allocator);
     }); }},
    {"gst_buffer_get_drm_constraints", [] { for_each_hostile_buffer([](GstBuffer *b) { fail_unless(gst_buffer_get_drm_constraints(b) == nullptr); }); }},
    {"gst_drm_buffer_meets", [] {
       for_each([](GstDrmConstraints *c) {
         GstBuffer *buffer = buffer_of(4096);
         GError *error = nullptr;
         const bool met = gst_drm_buffer_meets(buffer, nullptr, c, &error) != FALSE;
         check(met, error);
         gst_buffer_unref(buffer);
       });
       GstDrmConstraints *display = gst_drm_constraints_new("display", "/dev/dri/card0");
       gst_drm_constraints_set_number(display, GST_DRM_CONSTRAINT_STRIDE_ALIGN, 256);
       for_each_hostile_buffer([display](GstBuffer *b) {
         infos([b, display](GstDrmVideoInfo *info) {
           for (GstDrmVideoInfo *some : {info, static_cast<GstDrmVideoInfo *>(nullptr)}) {
             GError *error = nullptr;
             const bool met = gst_drm_buffer_meets(b, some, display, &error) != FALSE;
             check(met, error);
           }
         });
       });
       gst_drm_constraints_free(display);
     }},
    {"gst_query_add_drm_constraints", [] { for_each([](GstDrmConstraints *c) {
       GstQuery *query = gst_query_new_allocation(nullptr, TRUE);
       gst_query_add_drm_constraints(query, c);
       gst_query_unref(query);
     }); with_query([](GstQuery *q) {
       GstDrmConstraints *c = gst_drm_constraints_new("\xff", nullptr);
       gst_query_add_drm_constraints(q, c);
       gst_drm_constraints_free(c);
     }); }},
    {"gst_query_get_drm_constraints", [] { with_query([](GstQuery *q) {
       const GType entry_type = constraints_entry_type();
       GstStructure *odd = gst_structure_new("GstDrmConstraints", "constraints", G_TYPE_INT, 7, nullptr);
       gst_query_add_allocation_meta(q, entry_type, odd);
       gst_structure_set(odd, "constraints", GST_TYPE_DRM_CONSTRAINTS, nullptr, nullptr);
       gst_query_add_allocation_meta(q, entry_type, odd);
       gst_query_add_allocation_meta(q, entry_type, nullptr);
       gst_structure_free(odd);
       GPtrArray *all = gst_query_get_drm_constraints(q);
       fail_unless_equals_int(all->len, 0);
       g_ptr_array_unref(all);
     }); }},
    {"gst_drm_pad_gather_constraints", [] {
       GstPad *pad = gst_pad_new("src", GST_PAD_SRC);
       int calls = 0;
       const GstDrmQueryFunc count = [](GstQuery *, gpointer data) { ++*static_cast<int *>(data); };
       const GDestroyNotify end = [](gpointer data) { *static_cast<int *>(data) += 100; };
       fail_unless(gst_drm_pad_gather_constraints(pad, count, &calls, end) != 0);
       fail_unless(gst_drm_pad_gather_constraints(pad, count, &calls, nullptr) != 0); // a second one on one pad
       fail_unless(gst_drm_pad_gather_constraints(pad, nullptr, &calls, end) != 0);
       with_query([pad](GstQuery *q) { gst_pad_peer_query(pad, q); });
       gst_object_unref(pad);
       fail_unless(calls >= 202);
     }},
    {"gst_drm_explain_mismatch", [] { for (auto &caps : hostile_caps()) for_each_side(caps.get(), [](const GValue *sent, const GValue *taken) {
       GstStructure *details = nullptr;
       gchar *text = gst_drm_explain_mismatch("\xff", sent, nullptr, taken, &details);
       fail_unless((text != nullptr) == (details != nullptr));
       if (text)
         check_text(text);
       if (details)
         gst_structure_free(details);
     }); }},
    {"gst_drm_conflict_free", [] { gst_drm_conflict_free(nullptr); }},
    {"gst_drm_conflict_to_string", [] { read_conflict([](GstDrmConflict *c) { check_text(gst_drm_conflict_to_string(c)); }); }},
    {"gst_drm_conflict_to_json", [] { read_conflict([](GstDrmConflict *c) { check_text(gst_drm_conflict_to_json(c)); }); }},
    {"gst_drm_conflict_to_structure", [] { read_conflict([](GstDrmConflict *c) {
       GstStructure *structure = gst_drm_conflict_to_structure(c);
       check_text(gst_structure_to_string(structure));
       gst_structure_free(structure);
     }); }},
};

} // namespace

const Rows &constraint_rows()
{
  return kRows;
}

} // namespace gstdrm::test::hostile
