// SPDX-License-Identifier: LGPL-2.1-or-later
// An exception at every place that could throw one: operator new is the test's own and fails at the n-th call, for each n
// in turn, until a call comes through. Each failure is an error of the C function, the process goes on, and what was
// there before is as it was (LeakSanitizer looks for the rest).
#include <functional>

#include <sys/mman.h>
#include <unistd.h>

#include <gst/drm/drm.h>
#include <gst/drm/gstdrm-guard-private.hpp>
#include <gst/video/video.h>

#include "support/check_main.hpp"
#include "support/failing_new.hpp"

namespace {

using gstdrm::test::countdown;
using gstdrm::test::thrown;

// What the templates of the guard make is noexcept, and its error names the function as people write it, whatever compiler
// this is.
struct Element {
  static GstFlowReturn chain(GstBuffer *) { return GST_FLOW_OK; }
  [[nodiscard]] bool start() const { return true; }
};
void on_removed(GstBuffer *) {}
static_assert(noexcept(gstdrm::logging<on_removed>(nullptr)) && noexcept(gstdrm::logging<Element::chain>(nullptr)));
static_assert(gstdrm::name_of_function<on_removed>() == "on_removed");
static_assert(gstdrm::name_of_function<&Element::start>() == "Element::start");
static_assert(gstdrm::name_of_function<&gstdrm::describe_exception>() == "describe_exception");

constexpr guint32 kNv12 = 0x3231564e;
constexpr guint64 kLinear = GST_DRM_MODIFIER_LINEAR;
constexpr guint64 kTiled = G_GUINT64_CONSTANT(0x0100000000000002);

// What the rows work on, made while nothing fails.
struct World {
  GstDrmAllocator *allocator = gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_MEMFD, nullptr, nullptr);
  GstDrmFormatSet *set = gst_drm_format_set_new();
  GstCaps *caps = nullptr;
  GstCaps *bad_caps = gst_caps_new_empty_simple("video/x-raw");
  GstBuffer *frame = gst_drm_allocator_alloc_frame(allocator, kNv12, 64, 64, &kLinear, 1, nullptr, nullptr, nullptr);
  GstBuffer *fresh = gst_buffer_new();
  GstBufferPool *pool = gst_drm_buffer_pool_new(allocator);
  GstPad *pad = gst_pad_new("src", GST_PAD_SRC);
  GstDrmVideoInfo info;
  GPtrArray *accessors = g_ptr_array_new_with_free_func(reinterpret_cast<GDestroyNotify>(gst_drm_constraints_free));
  GPtrArray *clashing = g_ptr_array_new(); // of `accessors`
  GstDrmConflict *conflict = nullptr;
  GstDrmConstraints *agreed = nullptr;

  World()
  {
    for (const guint64 align : {64, 48}) {
      GstDrmConstraints *one = gst_drm_constraints_new("an accessor whose name no short string holds", "/dev/dri/renderD128");
      gst_drm_constraints_set_number(one, GST_DRM_CONSTRAINT_STRIDE_ALIGN, align);
      gst_drm_constraints_set_number(one, GST_DRM_CONSTRAINT_WIDTH, 640);
      gst_drm_constraints_set_number(one, GST_DRM_CONSTRAINT_HEIGHT, 480);
      g_ptr_array_add(clashing, one);
      if (align == 64)
        g_ptr_array_add(accessors, one);
    }
    gst_drm_constraints_reconcile(clashing, &conflict);
    for (const guint32 fourcc : {kNv12, 0x34325258U, 0x20203852U})
      for (const guint64 modifier : {kLinear, kTiled, GST_DRM_MODIFIER_IMPLICIT})
        gst_drm_format_set_add(set, fourcc, modifier);
    gst_drm_format_set_ref(set);
    gst_drm_constraints_set_formats(static_cast<GstDrmConstraints *>(g_ptr_array_index(accessors, 0)), set);
    agreed = gst_drm_constraints_reconcile(accessors, nullptr);
    GstVideoInfo vinfo;
    gst_video_info_set_format(&vinfo, GST_VIDEO_FORMAT_NV12, 64, 64);
    gst_drm_video_info_from_video_info(&info, &vinfo, kLinear);
    caps = gst_drm_video_info_to_caps(&info);
    gst_buffer_add_drm_sync_meta(frame);
    GstDrmTensor tensor;
    gst_drm_tensor_init(&tensor);
    tensor.memory = gst_buffer_peek_memory(frame, 0);
    tensor.size = 64;
    gst_drm_tensor_meta_add_tensor(gst_buffer_add_drm_tensor_meta(frame, "model"), &tensor, nullptr);
  }
  World(const World &) = delete;
  World &operator=(const World &) = delete;
  ~World()
  {
    gst_drm_conflict_free(conflict);
    gst_drm_constraints_free(agreed);
    gst_drm_constraints_free(static_cast<GstDrmConstraints *>(g_ptr_array_index(clashing, 1)));
    g_ptr_array_unref(clashing);
    g_ptr_array_unref(accessors);
    gst_object_unref(pad);
    gst_object_unref(pool);
    gst_buffer_unref(fresh);
    gst_buffer_unref(frame);
    gst_caps_unref(bad_caps);
    gst_caps_unref(caps);
    gst_drm_format_set_unref(set);
    gst_drm_format_set_unref(set);
    gst_object_unref(allocator);
  }
};

void release(GstDrmFormatSet *set)
{
  gst_drm_format_set_unref(set);
}
void release(GstDrmVideoInfo *info)
{
  gst_drm_video_info_free(info);
}
void release(GstStructure *structure)
{
  gst_structure_free(structure);
}
void release(GstDrmConstraints *constraints)
{
  gst_drm_constraints_free(constraints);
}
void release(GstDrmConflict *conflict)
{
  gst_drm_conflict_free(conflict);
}
void release(gchar *text)
{
  g_free(text);
}
void release(GPtrArray *array)
{
  g_ptr_array_unref(array);
}
void release(GstCaps *caps)
{
  gst_caps_unref(caps);
}

// Whether there was one; it is released.
template <typename T> bool took(T *object)
{
  if (object)
    release(object);
  return object != nullptr;
}

struct Row {
  const char *name;
  enum class Says { Error, Nothing } says; // whether the function has a GError
  std::function<bool(World &, GError **)> call;
};
using Says = Row::Says;

bool configure(World &world)
{
  GstStructure *config = gst_buffer_pool_get_config(world.pool);
  gst_buffer_pool_config_set_params(config, world.caps, 0, 0, 0);
  gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  return gst_buffer_pool_set_config(world.pool, config) != FALSE;
}

bool acquire(World &world)
{
  GstBuffer *buffer = nullptr;
  const bool acquired = gst_buffer_pool_acquire_buffer(world.pool, &buffer, nullptr) == GST_FLOW_OK;
  gst_clear_buffer(&buffer);
  return acquired;
}

const Row kRows[] = {
    {"format_parse, refused", Says::Error, [](World &, GError **e) { return gst_drm_format_parse("NV12:0xzz and a text that no short string holds", nullptr, nullptr, e); }},
    {"device_is_same, refused", Says::Error, [](World &, GError **e) { return gst_drm_device_is_same(0xfff4d, 0xfff4e, e); }},
    {"modifier_describe", Says::Nothing, [](World &, GError **) { return took(gst_drm_modifier_describe(0x0200000028a6bf04)); }},
    {"format_set_new", Says::Nothing, [](World &, GError **) { return took(gst_drm_format_set_new()); }},
    {"format_set_new_from_caps", Says::Nothing, [](World &w, GError **) { return took(gst_drm_format_set_new_from_caps(w.caps)); }},
    {"format_set_copy", Says::Nothing, [](World &w, GError **) { return took(gst_drm_format_set_copy(w.set)); }},
    {"format_set_intersect", Says::Nothing, [](World &w, GError **) { return took(gst_drm_format_set_intersect(w.set, w.set)); }},
    {"format_set_intersect_full", Says::Nothing, [](World &w, GError **) { return took(gst_drm_format_set_intersect_full(w.set, w.set, GST_DRM_FORMAT_SET_FLAG_LINEAR_FOR_IMPLICIT)); }},
    {"format_set_union", Says::Nothing, [](World &w, GError **) { return took(gst_drm_format_set_union(w.set, w.set)); }},
    {"format_set_subtract", Says::Nothing, [](World &w, GError **) { return took(gst_drm_format_set_subtract(w.set, w.set)); }},
    {"format_set_to_caps", Says::Nothing, [](World &w, GError **) { return took(gst_drm_format_set_to_caps(w.set)); }},
    {"format_set_to_raw_caps", Says::Nothing, [](World &w, GError **) { return took(gst_drm_format_set_to_raw_caps(w.set)); }},
    {"format_set_to_string", Says::Nothing, [](World &w, GError **) { return took(gst_drm_format_set_to_string(w.set)); }},
    {"caps_intersect", Says::Nothing, [](World &w, GError **) { return took(gst_drm_caps_intersect(w.caps, w.caps)); }},
    {"constraints_new", Says::Nothing, [](World &, GError **) { return took(gst_drm_constraints_new("an accessor whose name no short string holds", nullptr)); }},
    {"constraints_copy", Says::Nothing, [](World &w, GError **) { return took(gst_drm_constraints_copy(static_cast<GstDrmConstraints *>(g_ptr_array_index(w.accessors, 0)))); }},
    {"constraints_reconcile", Says::Nothing, [](World &w, GError **) { return took(gst_drm_constraints_reconcile(w.accessors, nullptr)); }},
    {"constraints_reconcile, conflict", Says::Nothing, [](World &w, GError **) {
       GstDrmConflict *conflict = nullptr;
       gst_drm_constraints_reconcile(w.clashing, &conflict);
       return took(conflict);
     }},
    {"conflict_to_string", Says::Nothing, [](World &w, GError **) { return took(gst_drm_conflict_to_string(w.conflict)); }},
    {"conflict_to_json", Says::Nothing, [](World &w, GError **) { return took(gst_drm_conflict_to_json(w.conflict)); }},
    {"conflict_to_structure", Says::Nothing, [](World &w, GError **) { return took(gst_drm_conflict_to_structure(w.conflict)); }},
    {"video_info_from_caps", Says::Error, [](World &w, GError **e) { GstDrmVideoInfo info; return gst_drm_video_info_from_caps_full(&info, w.caps, e); }},
    {"video_info_from_caps, refused", Says::Error, [](World &w, GError **e) { GstDrmVideoInfo info; return gst_drm_video_info_from_caps_full(&info, w.bad_caps, e); }},
    {"video_info_to_caps", Says::Nothing, [](World &w, GError **) { return took(gst_drm_video_info_to_caps(&w.info)); }},
    {"video_info_set_format", Says::Error, [](World &, GError **e) { GstDrmVideoInfo info; return gst_drm_video_info_set_format(&info, kNv12, kTiled, 64, 64, e); }},
    {"video_info_set_format, refused", Says::Error, [](World &, GError **e) { GstDrmVideoInfo info; return gst_drm_video_info_set_format(&info, kNv12, kTiled, 0, 64, e); }},
    {"video_info_new_from_format", Says::Error, [](World &, GError **e) { return took(gst_drm_video_info_new_from_format(kNv12, kTiled, 64, 64, e)); }},
    {"frame_from_buffer", Says::Error, [](World &w, GError **e) { GstDrmFrame frame; return gst_drm_frame_from_buffer(&frame, w.frame, &w.info, e); }},
    {"frame_from_buffer, refused", Says::Error, [](World &w, GError **e) { GstDrmFrame frame; return gst_drm_frame_from_buffer(&frame, w.fresh, &w.info, e); }},
    {"buffer_add_drm_sync_meta", Says::Nothing, [](World &w, GError **) {
       GstDrmSyncMeta *meta = gst_buffer_add_drm_sync_meta(w.fresh);
       return meta && gst_buffer_remove_meta(w.fresh, &meta->meta);
     }},
    {"buffer_copy with metas", Says::Nothing, [](World &w, GError **) {
       GstBuffer *copy = gst_buffer_copy(w.frame);
       const bool has_metas = gst_buffer_get_drm_sync_meta(copy) && gst_buffer_get_drm_tensor_meta(copy, "model");
       gst_buffer_unref(copy);
       return has_metas;
     }},
    {"buffer_add_drm_tensor_meta", Says::Nothing, [](World &w, GError **) {
       GstDrmTensorMeta *meta = gst_buffer_add_drm_tensor_meta(w.fresh, "model");
       return meta && gst_buffer_remove_meta(w.fresh, &meta->meta);
     }},
    {"tensor_meta_add_tensor", Says::Error, [](World &w, GError **e) {
       GstDrmTensor tensor;
       gst_drm_tensor_init(&tensor);
       tensor.memory = gst_buffer_peek_memory(w.frame, 0);
       tensor.size = 64;
       return gst_drm_tensor_meta_add_tensor(gst_buffer_get_drm_tensor_meta(w.frame, nullptr), &tensor, e);
     }},
    {"tensor_meta_add_tensor, refused", Says::Error, [](World &w, GError **e) {
       GstDrmTensor tensor;
       gst_drm_tensor_init(&tensor);
       tensor.n_dims = 77;
       return gst_drm_tensor_meta_add_tensor(gst_buffer_get_drm_tensor_meta(w.frame, nullptr), &tensor, e);
     }},
    {"tensor_meta_add_acquire_fence, refused", Says::Error, [](World &w, GError **e) { return gst_drm_tensor_meta_add_acquire_fence(gst_buffer_get_drm_tensor_meta(w.frame, nullptr), memfd_create("no fence", MFD_CLOEXEC), e); }},
    {"tensor_meta_dup_float32, refused", Says::Error, [](World &w, GError **e) { return gst_drm_tensor_meta_dup_float32(gst_buffer_get_drm_tensor_meta(w.frame, nullptr), 77, 0, nullptr, e) != nullptr; }},
    {"sync_meta_add_acquire_fence, refused", Says::Error, [](World &w, GError **e) { return gst_drm_sync_meta_add_acquire_fence(gst_buffer_get_drm_sync_meta(w.frame), memfd_create("no fence", MFD_CLOEXEC), e); }},
    {"fence_get_state, refused", Says::Error, [](World &, GError **e) { return gst_drm_fence_get_state(-1, nullptr, e); }},
    {"fence_wait, refused", Says::Error, [](World &, GError **e) { return gst_drm_fence_wait(-1, 0, nullptr, e); }},
    {"dmabuf_export_fence, refused", Says::Error, [](World &, GError **e) { return gst_drm_dmabuf_export_fence(-1, GST_DRM_ACCESS_READ, e) >= 0; }},
    {"dmabuf_import_fence, refused", Says::Error, [](World &, GError **e) { return gst_drm_dmabuf_import_fence(-1, -1, GST_DRM_ACCESS_READ, e); }},
    {"constraints_allocate", Says::Error, [](World &w, GError **e) { return took(gst_drm_constraints_allocate(w.agreed, 2, e)); }},
    {"constraints_allocate, refused", Says::Error, [](World &w, GError **e) { return gst_drm_constraints_allocate(w.agreed, 0, e) != nullptr; }},
    {"constraints_reconcile_and_allocate", Says::Error, [](World &w, GError **e) { return took(gst_drm_constraints_reconcile_and_allocate(w.accessors, 1, nullptr, e)); }},
    {"constraints_reconcile_and_allocate, refused", Says::Error, [](World &w, GError **e) { return gst_drm_constraints_reconcile_and_allocate(w.clashing, 1, nullptr, e) != nullptr; }},
    {"allocator_new_for_constraints", Says::Error, [](World &w, GError **e) {
       GstDrmAllocator *allocator = gst_drm_allocator_new_for_constraints(w.agreed, e);
       const bool there = allocator != nullptr;
       gst_clear_object(&allocator);
       return there;
     }},
    {"buffer_pool_new_for_constraints", Says::Error, [](World &w, GError **e) {
       GstBufferPool *pool = gst_drm_buffer_pool_new_for_constraints(w.agreed, e);
       const bool there = pool != nullptr;
       gst_clear_object(&pool);
       return there;
     }},
    {"buffer_meets", Says::Error, [](World &w, GError **e) {
       GstDrmConstraints *asked = static_cast<GstDrmConstraints *>(g_ptr_array_index(w.clashing, 0));
       GstDrmVideoInfo info;
       gst_drm_video_info_set_format(&info, kNv12, kLinear, 64, 64, nullptr);
       return gst_drm_buffer_meets(w.frame, &info, asked, e);
     }},
    {"buffer_get_drm_constraints", Says::Nothing, [](World &w, GError **) { return gst_buffer_get_drm_constraints(w.frame) == nullptr; }},
    {"allocator_new", Says::Error, [](World &, GError **e) {
       GstDrmAllocator *allocator = gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_MEMFD, nullptr, e);
       const bool there = allocator != nullptr;
       gst_clear_object(&allocator);
       return there;
     }},
    {"allocator_new, refused", Says::Error, [](World &, GError **e) { return gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_DUMB, "/dev/null", e) != nullptr; }},
    {"allocator_new_for_fd, refused", Says::Error, [](World &, GError **e) { return gst_drm_allocator_new_for_fd(GST_DRM_ALLOCATOR_KIND_AUTO, -1, e) != nullptr; }},
    {"allocator_get_formats, the linear set", Says::Nothing, [](World &w, GError **) { return took(gst_drm_allocator_get_formats(w.allocator)); }},
    {"allocator_alloc_frame", Says::Error, [](World &w, GError **e) {
       GstBuffer *buffer = gst_drm_allocator_alloc_frame(w.allocator, kNv12, 64, 64, &kLinear, 1, nullptr, nullptr, e);
       const bool there = buffer != nullptr;
       gst_clear_buffer(&buffer);
       return there;
     }},
    {"allocator_alloc_frame, refused", Says::Error, [](World &w, GError **e) { return gst_drm_allocator_alloc_frame(w.allocator, kNv12, 0, 64, &kTiled, 1, nullptr, nullptr, e) != nullptr; }},
    {"gst_allocator_alloc", Says::Nothing, [](World &w, GError **) {
       GstMemory *memory = gst_allocator_alloc(GST_ALLOCATOR(w.allocator), 5000, nullptr);
       const bool there = memory != nullptr;
       g_clear_pointer(&memory, gst_memory_unref);
       return there;
     }},
    {"pad_announce_release_fences", Says::Nothing, [](World &w, GError **) {
       const gulong probe = gst_drm_pad_announce_release_fences(w.pad);
       if (probe != 0)
         gst_pad_remove_probe(w.pad, probe);
       return probe != 0;
     }},
    {"pad_gather_constraints", Says::Nothing, [](World &w, GError **) {
       const gulong probe = gst_drm_pad_gather_constraints(w.pad, [](GstQuery *, gpointer) {}, nullptr, nullptr);
       if (probe != 0)
         gst_pad_remove_probe(w.pad, probe);
       return probe != 0;
     }},
    {"buffer_pool_get_stats", Says::Nothing, [](World &w, GError **) { return took(gst_drm_buffer_pool_get_stats(GST_DRM_BUFFER_POOL(w.pool))); }},
    {"pool, configured", Says::Nothing, [](World &w, GError **) { return configure(w); }},
    {"pool, acquired", Says::Nothing, [](World &w, GError **) { return acquire(w); }},
};

GST_START_TEST(test_row)
{
  constexpr long kMost = 2000; // places; a call that never comes through is a fault
  const Row &row = kRows[__i__];
  World world;
  if (g_str_equal(row.name, "pool, acquired"))
    fail_unless(configure(world) && gst_buffer_pool_set_active(world.pool, TRUE));
  GError *error = nullptr;
  const bool succeeds = row.call(world, &error); // what it does while nothing fails
  g_clear_error(&error);
  long places = 0;
  for (;; ++places) {
    fail_unless(places < kMost, "row %s: an exception each time", row.name);
    thrown = false;
    countdown = places + 1;
    const bool success = row.call(world, &error);
    countdown = 0;
    if (!thrown) {
      fail_unless(success == succeeds, "row %s: another outcome once all was well again", row.name);
      g_clear_error(&error);
      break;
    }
    fail_if(success, "row %s: place %ld was not noticed", row.name, places);
    if (row.says == Says::Error)
      fail_unless(g_error_matches(error, GST_DRM_ERROR, GST_DRM_ERROR_ALLOCATION) && strstr(error->message, "out of memory"),
                  "row %s, place %ld: %s", row.name, places, error ? error->message : "no error");
    g_clear_error(&error);
  }
  const std::string line = std::string(row.name) + ": " + std::to_string(places) + " places";
  gstdrm::test::say(line);
}
GST_END_TEST

Suite *exceptions_suite()
{
  Suite *suite = suite_create("exceptions");
  TCase *tcase = tcase_create("operator new fails");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_row, 0, G_N_ELEMENTS(kRows));
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(exceptions)
