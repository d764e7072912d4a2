// SPDX-License-Identifier: LGPL-2.1-or-later
// Allocators, buffer pools, and the devices that allocation queries name.
#include "hostile_values.hpp"

namespace gstdrm::test::hostile {

namespace {

void with_allocator(const std::function<void(GstDrmAllocator *)> &call)
{
  GstDrmAllocator *allocator = gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_MEMFD, nullptr, nullptr);
  fail_unless(allocator != nullptr);
  call(allocator);
  gst_object_unref(allocator);
}

void alloc_frames(GstDrmAllocator *allocator)
{
  const auto alloc = [allocator](guint32 fourcc, guint width, guint height, guint n, const GstVideoAlignment *align) {
    GError *error = nullptr;
    guint64 modifier = 0;
    GstBuffer *buffer =
        gst_drm_allocator_alloc_frame(allocator, fourcc, width, height, kModifiers, n, align, &modifier, &error);
    check(buffer != nullptr, error);
    gst_clear_buffer(&buffer);
  };
  for (const guint32 fourcc : kFourccs)
    alloc(fourcc, 64, 64, G_N_ELEMENTS(kModifiers), nullptr);
  alloc(kNv12, 64, 64, 0, nullptr);
  for (const gint number : kNumbers) {
    if (number == 16384)
      continue; // would be made
    alloc(kNv12, static_cast<guint>(number), 64, 1, nullptr);
    alloc(kNv12, static_cast<guint>(number), static_cast<guint>(number), 1, nullptr);
    GstVideoAlignment align;
    for (guint field = 0; field < 6; ++field) {
      gst_video_alignment_reset(&align);
      guint *const fields[] = {&align.padding_left, &align.padding_right, &align.padding_top, &align.padding_bottom, &align.stride_align[0], &align.stride_align[3]};
      *fields[field] = static_cast<guint>(number);
      alloc(kNv12, 64, 64, 1, &align);
    }
  }
}

void pool_of(const std::function<void(GstBufferPool *)> &call)
{
  with_allocator([&call](GstDrmAllocator *allocator) {
    GstBufferPool *pool = gst_drm_buffer_pool_new(allocator);
    call(pool);
    gst_object_unref(pool);
  });
}

void configure_pools(GstBufferPool *pool)
{
  for (auto &caps : hostile_caps()) {
    if (gst_caps_is_any(caps.get()) || gst_caps_is_empty(caps.get()) || !gst_caps_is_fixed(caps.get()))
      continue; // GstBufferPool itself asks for fixed caps
    GstStructure *config = gst_buffer_pool_get_config(pool);
    gst_buffer_pool_config_set_params(config, caps.get(), G_MAXUINT, 0, 0);
    gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
    (void)gst_buffer_pool_set_config(pool, config);
  }
}

const Rows kRows = {
    {"gst_drm_allocator_kind_get_type", type_row<gst_drm_allocator_kind_get_type>},
    {"gst_drm_allocator_new", [] {
       for (const gint kind : kNumbers)
         for (const char *device : kStrings) {
           GError *error = nullptr;
           GstDrmAllocator *allocator = gst_drm_allocator_new(enum_of<GstDrmAllocatorKind>(kind), device, &error);
           check(allocator != nullptr, error);
           gst_clear_object(&allocator);
         }
     }},
    {"gst_drm_allocator_new_for_fd", [] {
       for (const gint kind : kNumbers)
         for_each_hostile_fd([kind](int fd) {
           GError *error = nullptr;
           GstDrmAllocator *allocator = gst_drm_allocator_new_for_fd(enum_of<GstDrmAllocatorKind>(kind), fd, &error);
           check(allocator != nullptr, error);
           gst_clear_object(&allocator);
         });
     }},
    {"gst_drm_allocator_get_kind", [] { with_allocator([](GstDrmAllocator *a) { fail_unless(gst_drm_allocator_get_kind(a) == GST_DRM_ALLOCATOR_KIND_MEMFD); }); }},
    {"gst_drm_allocator_get_device", [] { with_allocator([](GstDrmAllocator *a) { fail_unless(gst_drm_allocator_get_device(a) == nullptr); }); }},
    {"gst_drm_allocator_get_formats", [] { with_allocator([](GstDrmAllocator *a) {
       if (GstDrmFormatSet *set = gst_drm_allocator_get_formats(a))
         gst_drm_format_set_unref(set);
     }); }},
    {"gst_drm_allocator_get_notice", [] { with_allocator([](GstDrmAllocator *a) {
       g_autofree gchar *before = gst_drm_allocator_get_notice(a);
       fail_unless(before == nullptr, "%s", before);
       alloc_frames(a); // those that were too large as well: a notice comes with a frame
       g_autofree gchar *after = gst_drm_allocator_get_notice(a);
       fail_unless(after == nullptr, "%s", after);
     }); }},
    {"gst_drm_allocator_alloc_frame", [] { with_allocator(alloc_frames); }},
    {"gst_drm_buffer_pool_new", [] { pool_of(configure_pools); }},
    {"gst_drm_buffer_pool_get_stats", [] { pool_of([](GstBufferPool *p) {
       configure_pools(p);
       GstStructure *stats = gst_drm_buffer_pool_get_stats(GST_DRM_BUFFER_POOL(p));
       for (const char *field : {"allocations", "frames", "bytes", "out", "waits"}) {
         guint64 number = 7;
         fail_unless(gst_structure_get_uint64(stats, field, &number));
         fail_unless(number == 0 || !(g_str_equal(field, "out") || g_str_equal(field, "waits")), "%s %" G_GUINT64_FORMAT, field, number);
       }
       gst_structure_free(stats);
     }); }},
    {"gst_drm_query_add_device", [] { with_query([](GstQuery *q) { for_each_hostile_fd([q](int fd) { (void)gst_drm_query_add_device(q, fd); }); }); }},
    {"gst_drm_query_get_device", [] { with_query([](GstQuery *q) { fail_if(gst_drm_query_get_device(q, nullptr)); }); }},
    {"gst_drm_device_is_same", [] {
       for (const guint64 device : kModifiers)
         for (const guint64 other : kModifiers) {
           GError *error = nullptr;
           const gboolean same = gst_drm_device_is_same(device, other, &error);
           fail_unless(same == (device == other));
           check(same, error);
         }
     }},
};

} // namespace

const Rows &allocation_rows()
{
  return kRows;
}

} // namespace gstdrm::test::hostile
