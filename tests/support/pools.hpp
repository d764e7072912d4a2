// SPDX-License-Identifier: LGPL-2.1-or-later
// A GstDrmBufferPool under test, and a decoder that is handed one.
#pragma once

#include <cstdlib>
#include <cstring>
#include <vector>

#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/check/gstcheck.h>
#include <gst/drm/drm.h>

namespace gstdrm::test {

struct PoolConfig {
  const char *caps = nullptr;
  guint size = 0;
  guint min = 1;
  guint max = 0;
  bool video_meta = true;
  const GstVideoAlignment *align = nullptr;
};

class Pool {
public:
  explicit Pool(GstDrmAllocatorKind kind, const char *device = nullptr)
  {
    GError *error = nullptr;
    GstDrmAllocator *allocator = gst_drm_allocator_new(kind, device, &error);
    fail_unless(allocator != nullptr, "%s", error ? error->message : "no error");
    pool_ = gst_drm_buffer_pool_new(allocator);
    gst_object_unref(allocator);
  }
  Pool(const Pool &) = delete;
  Pool &operator=(const Pool &) = delete;
  ~Pool()
  {
    gst_buffer_pool_set_active(pool_, FALSE);
    gst_object_unref(pool_);
  }

  [[nodiscard]] GstBufferPool *get() const { return pool_; }

  bool try_configure(const PoolConfig &asked)
  {
    GstCaps *caps = asked.caps ? gst_caps_from_string(asked.caps) : nullptr;
    fail_unless(caps != nullptr || !asked.caps, "%s", asked.caps);
    GstStructure *config = gst_buffer_pool_get_config(pool_);
    gst_buffer_pool_config_set_params(config, caps, asked.size, asked.min, asked.max);
    if (asked.video_meta)
      gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
    if (asked.align) {
      GstVideoAlignment align = *asked.align;
      gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT);
      gst_buffer_pool_config_set_video_alignment(config, &align);
    }
    const bool done = gst_buffer_pool_set_config(pool_, config);
    gst_clear_caps(&caps);
    return done;
  }
  void configure(const PoolConfig &asked)
  {
    fail_unless(try_configure(asked), "%s", asked.caps);
    fail_unless(gst_buffer_pool_set_active(pool_, TRUE));
  }

  [[nodiscard]] guint configured_size() const
  {
    guint size = 0;
    GstStructure *config = gst_buffer_pool_get_config(pool_);
    gst_buffer_pool_config_get_params(config, nullptr, &size, nullptr, nullptr);
    gst_structure_free(config);
    return size;
  }

  [[nodiscard]] GstBuffer *acquire() const
  {
    GstBuffer *buffer = nullptr;
    fail_unless_equals_int(gst_buffer_pool_acquire_buffer(pool_, &buffer, nullptr), GST_FLOW_OK);
    return buffer;
  }

private:
  GstBufferPool *pool_ = nullptr;
};

// A counter of gst_drm_buffer_pool_get_stats().
inline guint64 stat_of(const Pool &pool, const char *field)
{
  GstStructure *stats = gst_drm_buffer_pool_get_stats(GST_DRM_BUFFER_POOL(pool.get()));
  guint64 value = G_MAXUINT64;
  gst_structure_get_uint64(stats, field, &value);
  gst_structure_free(stats);
  return value;
}

inline GstElement *launch(const char *description)
{
  GError *error = nullptr;
  GstElement *pipeline = gst_parse_launch(description, &error);
  fail_unless(pipeline != nullptr && !error, "%s", error ? error->message : description);
  return pipeline;
}

inline void wait_for_end(GstElement *pipeline)
{
  GstBus *bus = gst_element_get_bus(pipeline);
  GstMessage *message = gst_bus_timed_pop_filtered(
      bus, GST_CLOCK_TIME_NONE, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  fail_unless_equals_int(GST_MESSAGE_TYPE(message), GST_MESSAGE_EOS);
  gst_message_unref(message);
  gst_object_unref(bus);
}

// What a pipeline brought to its appsink "sink".
struct Encoded {
  GstCaps *caps = nullptr;
  std::vector<GstBuffer *> frames;

  explicit Encoded(const char *description)
  {
    GstElement *pipeline = launch(description);
    GstElement *sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    while (GstSample *sample = gst_app_sink_pull_sample(GST_APP_SINK(sink))) {
      gst_caps_replace(&caps, gst_sample_get_caps(sample));
      frames.push_back(gst_buffer_ref(gst_sample_get_buffer(sample)));
      gst_sample_unref(sample);
    }
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(sink);
    gst_object_unref(pipeline);
  }
  Encoded(const Encoded &) = delete;
  Encoded &operator=(const Encoded &) = delete;
  ~Encoded()
  {
    gst_clear_caps(&caps);
    for (GstBuffer *frame : frames)
      gst_buffer_unref(frame);
  }
};

// A sink's answer to the allocation query, and what then arrives.
struct DecoderProbe {
  GstDrmAllocator *allocator = nullptr; // NULL: the query is left alone
  guint frames = 0;
  guint in_dmabuf = 0;
  std::vector<guint32> sums; // of the visible pixels, per frame

  static GstPadProbeReturn on_query(GstPad *, GstPadProbeInfo *info, gpointer data)
  {
    auto *self = static_cast<DecoderProbe *>(data);
    GstQuery *query = GST_PAD_PROBE_INFO_QUERY(info);
    if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION || !self->allocator)
      return GST_PAD_PROBE_OK;
    GstCaps *caps = nullptr;
    gst_query_parse_allocation(query, &caps, nullptr);
    GstBufferPool *pool = gst_drm_buffer_pool_new(self->allocator);
    GstStructure *config = gst_buffer_pool_get_config(pool);
    gst_buffer_pool_config_set_params(config, caps, 0, 2, 0);
    gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
    fail_unless(gst_buffer_pool_set_config(pool, config));
    guint size = 0;
    config = gst_buffer_pool_get_config(pool);
    gst_buffer_pool_config_get_params(config, nullptr, &size, nullptr, nullptr);
    gst_structure_free(config);
    gst_query_add_allocation_pool(query, pool, size, 2, 0);
    gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
    gst_object_unref(pool);
    return GST_PAD_PROBE_HANDLED;
  }

  static GstPadProbeReturn on_buffer(GstPad *pad, GstPadProbeInfo *info, gpointer data)
  {
    auto *self = static_cast<DecoderProbe *>(data);
    GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER(info);
    const GstMemory *memory = gst_buffer_peek_memory(buffer, 0);
    ++self->frames;
    self->in_dmabuf +=
        self->allocator && memory->allocator == GST_ALLOCATOR(self->allocator) ? 1 : 0;
    GstCaps *caps = gst_pad_get_current_caps(pad);
    GstVideoInfo vinfo;
    GstVideoFrame frame;
    fail_unless(gst_video_info_from_caps(&vinfo, caps));
    gst_caps_unref(caps);
    fail_unless(gst_video_frame_map(&frame, &vinfo, buffer, GST_MAP_READ));
    guint32 sum = 0;
    for (guint p = 0; p < GST_VIDEO_FRAME_N_PLANES(&frame); ++p)
      for (gint y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT(&frame, p); ++y) {
        const auto *line = static_cast<const guint8 *>(GST_VIDEO_FRAME_PLANE_DATA(&frame, p)) +
                           static_cast<gssize>(y) * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, p);
        for (gint x = 0; x < GST_VIDEO_FRAME_COMP_WIDTH(&frame, p); ++x)
          sum = sum * 31 + line[x];
      }
    gst_video_frame_unmap(&frame);
    self->sums.push_back(sum);
    return GST_PAD_PROBE_OK;
  }

  // Decodes what was encoded; the pictures arrive at a fakesink.
  void run(const Encoded &stream)
  {
    GstElement *pipeline = launch("appsrc name=src format=time ! vp8dec ! fakesink name=sink");
    GstElement *source = gst_bin_get_by_name(GST_BIN(pipeline), "src");
    g_object_set(source, "caps", stream.caps, nullptr);
    GstElement *sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
    GstPad *pad = gst_element_get_static_pad(sink, "sink");
    gst_pad_add_probe(
        pad,
        static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM | GST_PAD_PROBE_TYPE_PUSH),
        on_query, this, nullptr);
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_buffer, this, nullptr);
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    for (GstBuffer *buffer : stream.frames)
      fail_unless_equals_int(gst_app_src_push_buffer(GST_APP_SRC(source), gst_buffer_ref(buffer)),
                             GST_FLOW_OK);
    gst_app_src_end_of_stream(GST_APP_SRC(source));
    wait_for_end(pipeline);
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(pad);
    gst_object_unref(sink);
    gst_object_unref(source);
    gst_object_unref(pipeline);
  }
};

// A decoder writes its pictures into the pool's memory, every one, and they are the same pictures.
inline void check_decoder(GstDrmAllocatorKind kind)
{
  // once: a real-time encoder makes another stream of the same pictures where it has less time
  const Encoded stream("videotestsrc num-buffers=10 pattern=smpte ! video/x-raw, width=322, "
                       "height=242 ! vp8enc deadline=1 ! appsink name=sink sync=false");
  fail_unless_equals_int(static_cast<int>(stream.frames.size()), 10);
  GError *error = nullptr;
  DecoderProbe plain;
  plain.run(stream);
  DecoderProbe pooled;
  pooled.allocator = gst_drm_allocator_new(kind, nullptr, &error);
  fail_unless(pooled.allocator != nullptr, "%s", error ? error->message : "no error");
  pooled.run(stream);
  gst_object_unref(pooled.allocator);
  fail_unless_equals_int(plain.frames, 10);
  fail_unless_equals_int(plain.in_dmabuf, 0);
  fail_unless_equals_int(pooled.frames, 10);
  fail_unless_equals_int(pooled.in_dmabuf, 10);
  fail_unless(pooled.sums == plain.sums, "the pictures differ");
  for (std::size_t i = 1; i < plain.sums.size(); i++) // smpte has noise in one corner
    fail_unless(plain.sums[i] != plain.sums[i - 1], "frame %zu is the one before", i);
}

} // namespace gstdrm::test
