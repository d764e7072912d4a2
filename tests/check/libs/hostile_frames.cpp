// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames, their fences, and what announces fences.
#include "hostile_values.hpp"

#include <algorithm>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <gst/allocators/gstdmabuf.h>

namespace gstdrm::test::hostile {

GstBuffer *buffer_of(gsize size)
{
  static GstAllocator *const allocator = [] {
    GstAllocator *made = gst_dmabuf_allocator_new();
    GST_OBJECT_FLAG_SET(made, GST_OBJECT_FLAG_MAY_BE_LEAKED);
    return made;
  }();
  GstBuffer *buffer = gst_buffer_new();
  const int fd = memfd_create("hostile", MFD_CLOEXEC);
  fail_unless(fd >= 0 && ftruncate(fd, static_cast<off_t>(size)) == 0);
  gst_buffer_append_memory(buffer, gst_dmabuf_allocator_alloc(allocator, fd, size));
  return buffer;
}

void for_each_hostile_buffer(const std::function<void(GstBuffer *)> &call)
{
  GstBuffer *buffer = gst_buffer_new();
  call(buffer);
  gst_buffer_append_memory(buffer, gst_allocator_alloc(nullptr, 100, nullptr));
  call(buffer);
  gst_buffer_unref(buffer);

  buffer = buffer_of(1228800);
  call(buffer);
  gsize offsets[GST_VIDEO_MAX_PLANES] = {0, 307200};
  gint strides[GST_VIDEO_MAX_PLANES] = {640, 640};
  GstVideoMeta *meta = gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_NV12, 640, 480, 2, offsets, strides);
  const GstVideoMeta sane = *meta;
  const auto call_and_mend = [&] {
    call(buffer);
    *meta = sane;
  };
  for (const gint number : kNumbers) {
    put(meta->format, number);
    call_and_mend();
    meta->width = static_cast<guint>(number);
    call_and_mend();
    meta->height = static_cast<guint>(number);
    call_and_mend();
    meta->n_planes = static_cast<guint>(number);
    call_and_mend();
    meta->stride[1] = number;
    call_and_mend();
  }
  for (const gsize offset : kOffsets) {
    meta->offset[1] = offset;
    call_and_mend();
  }
  gst_buffer_unref(buffer);
}

namespace {

void with_meta(const std::function<void(GstDrmSyncMeta *)> &call)
{
  for (const gsize size : {gsize{0}, gsize{4096}}) {
    GstBuffer *buffer = size ? buffer_of(size) : gst_buffer_new();
    call(gst_buffer_add_drm_sync_meta(buffer));
    gst_buffer_unref(buffer);
  }
}

void add_fences(gboolean (*add)(GstDrmSyncMeta *, gint, GError **))
{
  with_meta([add](GstDrmSyncMeta *meta) {
    for_each_hostile_fd([&](int fd) {
      const int owned = fd >= 0 && fcntl(fd, F_GETFD) >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : fd; // the meta's from now on
      GError *error = nullptr;
      const bool added = add(meta, owned, &error);
      check(added, error);
      fail_if(added);
    });
  });
}

const Rows kRows = {
    {"gst_drm_frame_from_buffer", [] { for_each_hostile_buffer([](GstBuffer *buffer) { infos([buffer](GstDrmVideoInfo *info) {
       GstDrmFrame frame;
       GError *error = nullptr;
       check(gst_drm_frame_from_buffer(&frame, buffer, info, &error), error);
     }); }); }},
    {"gst_drm_frame_get_plane", [] {
       for (const gint planes : kNumbers)
         for (const gint index : kNumbers) {
           GstDrmFrame frame{};
           frame.n_planes = static_cast<guint>(planes);
           GstDrmFramePlane plane{};
           plane.fd = 7;
           const bool got = gst_drm_frame_get_plane(&frame, static_cast<guint>(index), &plane);
           fail_unless(got == (static_cast<guint>(index) < std::min<guint>(frame.n_planes, GST_DRM_MAX_PLANES)));
           fail_unless_equals_int(plane.fd, got ? 0 : -1);
         }
     }},
    {"gst_drm_sync_meta_api_get_type", type_row<gst_drm_sync_meta_api_get_type>},
    {"gst_buffer_add_drm_sync_meta", [] { for_each_hostile_buffer([](GstBuffer *b) { fail_unless(gst_buffer_add_drm_sync_meta(b) != nullptr); }); }},
    {"gst_buffer_get_drm_sync_meta", [] { for_each_hostile_buffer([](GstBuffer *b) { fail_unless(gst_buffer_get_drm_sync_meta(b) == nullptr); }); }},
    {"gst_drm_sync_meta_add_acquire_fence", [] { add_fences(gst_drm_sync_meta_add_acquire_fence); }},
    {"gst_drm_sync_meta_add_release_fence", [] { add_fences(gst_drm_sync_meta_add_release_fence); }},
    {"gst_drm_sync_meta_dup_acquire_fence", [] { with_meta([](GstDrmSyncMeta *m) { fail_unless(gst_drm_sync_meta_dup_acquire_fence(m) == -1); }); }},
    {"gst_drm_sync_meta_dup_release_fence", [] { with_meta([](GstDrmSyncMeta *m) { fail_unless(gst_drm_sync_meta_dup_release_fence(m) == -1); }); }},
    {"gst_drm_sync_meta_clear", [] { with_meta(gst_drm_sync_meta_clear); }},
    {"gst_drm_query_announce_release_fences", [] { with_query([](GstQuery *q) { gst_drm_query_announce_release_fences(q); fail_unless(gst_drm_query_has_release_fences(q)); }); }},
    {"gst_drm_query_has_release_fences", [] { with_query([](GstQuery *q) { fail_if(gst_drm_query_has_release_fences(q)); }); }},
    {"gst_drm_fence_get_state", [] { for_each_hostile_fd([](int fd) {
       GError *error = nullptr;
       check(gst_drm_fence_get_state(fd, nullptr, &error), error);
     }); }},
    {"gst_drm_fence_wait", [] { for_each_hostile_fd([](int fd) {
       GError *error = nullptr;
       check(gst_drm_fence_wait(fd, G_MAXUINT64 - 1, nullptr, &error), error);
     }); }},
    {"gst_drm_dmabuf_export_fence", [] { for_each_hostile_fd([](int fd) {
       GError *error = nullptr;
       check(gst_drm_dmabuf_export_fence(fd, GST_DRM_ACCESS_READ, &error) >= 0, error);
     }); }},
    {"gst_drm_dmabuf_import_fence", [] { for_each_hostile_fd([](int fd) {
       GError *error = nullptr;
       check(gst_drm_dmabuf_import_fence(fd, fd, GST_DRM_ACCESS_WRITE, &error), error);
     }); }},
    {"gst_drm_pad_announce_release_fences", [] {
       GstSegment segment;
       gst_segment_init(&segment, GST_FORMAT_TIME);
       for (const bool with_caps : {false, true}) {
         GstPad *pad = gst_pad_new("src", GST_PAD_SRC); // no parent and no peer
         gst_pad_set_active(pad, TRUE);
         fail_unless(gst_drm_pad_announce_release_fences(pad) != 0);
         const gulong probe = gst_drm_pad_announce_release_fences(pad); // a second one on one pad
         fail_unless(probe != 0);
         gst_pad_push_event(pad, gst_event_new_stream_start("hostile"));
         for (auto &caps : hostile_caps()) {
           if (with_caps && (gst_caps_is_any(caps.get()) || gst_caps_is_empty(caps.get()) || !gst_caps_is_fixed(caps.get())))
             continue; // GstEvent itself asks for fixed caps
           if (with_caps)
             gst_pad_push_event(pad, gst_event_new_caps(caps.get()));
           gst_pad_push_event(pad, gst_event_new_segment(&segment));
           (void)gst_pad_push(pad, gst_buffer_new());
           GstQuery *query = gst_query_new_allocation(with_caps ? caps.get() : nullptr, FALSE);
           (void)gst_pad_peer_query(pad, query);
           gst_query_unref(query);
         }
         gst_pad_remove_probe(pad, probe);
         gst_object_unref(pad);
       }
     }},
};

} // namespace

const Rows &frame_rows()
{
  return kRows;
}

} // namespace gstdrm::test::hostile
