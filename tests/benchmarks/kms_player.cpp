// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_player.hpp"

#include <array>
#include <cstdio>
#include <string>

#include <unistd.h>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/drm.h>
#include <gst/gst.h>
#include <gst/video/video.h>

namespace gstdrm::bench {

namespace {

constexpr guint kBuffers = 4;
constexpr guint kWidth = 1024;
constexpr guint kHeight = 768;
constexpr guint64 kFrame_ns = GST_SECOND / 60;
constexpr guint64 kStart_ns = GST_SECOND / 2;
constexpr const char *kCaps =
    "video/x-raw, format=BGRx, width=1024, height=768, framerate=60/1, pixel-aspect-ratio=1/1";

using Pool = std::array<GstBuffer *, kBuffers>;

bool allocate(Pool &pool)
{
  GError *error = nullptr;
  GstDrmAllocator *allocator =
      gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_UDMABUF, nullptr, &error);
  const guint64 linear = GST_DRM_MODIFIER_LINEAR;
  guint64 modifier = 0;
  const guint32 fourcc = gst_drm_format_from_video_format(GST_VIDEO_FORMAT_BGRx, &modifier);
  for (GstBuffer *&buffer : pool)
    buffer = allocator ? gst_drm_allocator_alloc_frame(allocator, fourcc, kWidth, kHeight, &linear,
                                                       1, nullptr, nullptr, &error)
                       : nullptr;
  if (allocator)
    gst_object_unref(allocator);
  if (error)
    std::fprintf(stderr, "%s\n", error->message);
  return error == nullptr;
}

// A buffer over the dma-buf of `pooled`.
GstBuffer *wrap(GstBuffer *pooled, Wrap how, GstAllocator *allocator)
{
  GstBuffer *buffer = gst_buffer_new();
  GstMemory *memory = gst_buffer_peek_memory(pooled, 0);
  const int fd = gst_dmabuf_memory_get_fd(memory);
  const gsize size = gst_memory_get_sizes(memory, nullptr, nullptr);
  switch (how) {
  case Wrap::Same:
    memory = gst_memory_ref(memory);
    break;
  case Wrap::Fresh:
    memory =
        gst_dmabuf_allocator_alloc_with_flags(allocator, fd, size, GST_FD_MEMORY_FLAG_DONT_CLOSE);
    break;
  case Wrap::Dup:
    memory = gst_dmabuf_allocator_alloc(allocator, dup(fd), size);
    break;
  }
  gst_buffer_append_memory(buffer, memory);
  gst_buffer_copy_into(buffer, pooled, GST_BUFFER_COPY_META, 0, -1);
  return buffer;
}

void begin_stream(GstElement *sink, GstPad *src)
{
  GstClock *clock = gst_system_clock_obtain();
  gst_element_set_clock(sink, clock);
  gst_element_set_base_time(sink, gst_clock_get_time(clock));
  gst_object_unref(clock);
  gst_element_set_state(sink, GST_STATE_PLAYING);
  gst_pad_push_event(src, gst_event_new_stream_start("bench"));
  GstCaps *caps = gst_caps_from_string(kCaps);
  gst_pad_push_event(src, gst_event_new_caps(caps));
  gst_caps_unref(caps);
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_pad_push_event(src, gst_event_new_segment(&segment));
}

void print_stats(GstElement *sink)
{
  GstStructure *stats = nullptr;
  g_object_get(sink, "stats", &stats, nullptr); // GstBaseSink's
  guint64 rendered = 0, dropped = 0;
  gst_structure_get_uint64(stats, "rendered", &rendered);
  gst_structure_get_uint64(stats, "dropped", &dropped);
  gst_structure_free(stats);
  std::printf("rendered=%" G_GUINT64_FORMAT " dropped=%" G_GUINT64_FORMAT, rendered, dropped);
  if (g_object_class_find_property(G_OBJECT_GET_CLASS(sink), "drm-stats")) {
    g_object_get(sink, "drm-stats", &stats, nullptr);
    for (const char *name : {"shown", "dropped", "late", "imports", "commits", "waits"}) {
      guint64 value = 0;
      gst_structure_get_uint64(stats, name, &value);
      std::printf(" %s=%" G_GUINT64_FORMAT, name, value);
    }
    gst_structure_free(stats);
  }
  std::printf("\n");
}

} // namespace

int play(const Play &request)
{
  gst_init(nullptr, nullptr);
  const std::string line =
      std::string(request.sink) + (request.sync ? " sync=true" : " sync=false") + " name=sink";
  GError *error = nullptr;
  GstElement *sink = gst_parse_launch(line.c_str(), &error);
  Pool pool{};
  if (!sink || error || !allocate(pool)) {
    std::fprintf(stderr, "%s: %s\n", line.c_str(), error ? error->message : "no buffers");
    return 1;
  }
  GstPad *src = gst_pad_new("src", GST_PAD_SRC);
  gst_pad_set_active(src, TRUE);
  GstPad *peer = gst_element_get_static_pad(sink, "sink");
  gst_pad_link_full(src, peer, GST_PAD_LINK_CHECK_NOTHING);
  gst_object_unref(peer);
  GstAllocator *allocator = gst_dmabuf_allocator_new();
  begin_stream(sink, src);
  GstFlowReturn flow = GST_FLOW_OK;
  for (guint i = 0; i < request.frames && flow == GST_FLOW_OK; i++) {
    GstBuffer *buffer = wrap(pool[i % kBuffers], request.wrap, allocator);
    GST_BUFFER_PTS(buffer) = kStart_ns + i * kFrame_ns;
    GST_BUFFER_DURATION(buffer) = kFrame_ns;
    flow = gst_pad_push(src, buffer);
  }
  gst_pad_push_event(src, gst_event_new_eos());
  print_stats(sink);
  gst_element_set_state(sink, GST_STATE_NULL);
  gst_object_unref(allocator);
  gst_pad_set_active(src, FALSE);
  gst_object_unref(src);
  gst_object_unref(sink);
  for (GstBuffer *buffer : pool)
    gst_buffer_unref(buffer);
  return flow == GST_FLOW_OK ? 0 : 1;
}

} // namespace gstdrm::bench
