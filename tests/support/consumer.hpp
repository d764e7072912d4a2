// SPDX-License-Identifier: LGPL-2.1-or-later
// A consumer downstream of the element under test that asks for something beyond its caps.
#pragma once

#include <string>

#include <gst/drm/gstdrmconstraints.h>
#include <gst/gst.h>
#include <gst/video/video.h>

#include "support/check_main.hpp"

namespace gstdrm::test {

struct Consumer {
  const char *name;
  guint64 stride_align; // bytes; 0: any
  guint64 buffers_held; // 0: not stated
  void (*ask_more)(GstDrmConstraints *asked) = nullptr;
};

// What the producers cannot meet: a heap that is not there, fewer planes than NV12 has or more than
// AB24 has, more descriptors than dma-bufs.
inline void ask_for_heap(GstDrmConstraints *asked)
{
  const gchar *const heaps[] = {"nowhere", nullptr};
  gst_drm_constraints_set_placement(asked, GST_DRM_PLACEMENT_NONE, heaps);
}
inline void ask_for_one_plane(GstDrmConstraints *asked)
{
  gst_drm_constraints_set_range(asked, GST_DRM_CONSTRAINT_PLANES, 1, 1);
}
inline void ask_for_two_planes(GstDrmConstraints *asked)
{
  gst_drm_constraints_set_range(asked, GST_DRM_CONSTRAINT_PLANES, 2, 4);
}
inline void ask_for_two_descriptors(GstDrmConstraints *asked)
{
  gst_drm_constraints_set_range(asked, GST_DRM_CONSTRAINT_FDS, 2, 2);
}

namespace detail {

inline GstPadProbeReturn answer_as_consumer(GstPad *, GstPadProbeInfo *info, gpointer data)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY(info);
  if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  const auto *consumer = static_cast<const Consumer *>(data);
  g_autoptr(GstDrmConstraints) asked = gst_drm_constraints_new(consumer->name, "/dev/dri/card7");
  if (consumer->stride_align > 0)
    gst_drm_constraints_set_number(asked, GST_DRM_CONSTRAINT_STRIDE_ALIGN, consumer->stride_align);
  if (consumer->buffers_held > 0)
    gst_drm_constraints_set_number(asked, GST_DRM_CONSTRAINT_BUFFERS_HELD, consumer->buffers_held);
  if (consumer->ask_more)
    consumer->ask_more(asked);
  gst_query_add_drm_constraints(query, asked);
  gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
  return GST_PAD_PROBE_HANDLED;
}

} // namespace detail

// The pad, a sink or a src pad, answers ALLOCATION queries as the consumer, which outlives it. The
// id of the probe.
inline gulong answer_as(GstPad *pad, const Consumer &consumer)
{
  return gst_pad_add_probe(
      pad,
      static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM | GST_PAD_PROBE_TYPE_PUSH),
      detail::answer_as_consumer, const_cast<Consumer *>(&consumer), nullptr);
}

// Plays a Pipeline (va_support.hpp) with this consumer behind the element `name`. The first frame
// (transfer full), or nullptr where `error` is part of the message that has to come in its place.
template <typename Pipeline>
GstSample *first_frame_for(const Consumer &consumer, Pipeline &pipeline, const char *name,
                           const char *error)
{
  GstPad *pad = gst_element_get_static_pad(pipeline.get(name), "src");
  answer_as(pad, consumer);
  gst_object_unref(pad);
  pipeline.play();
  GstSample *sample = pipeline.pull();
  const std::string said = sample ? "" : pipeline.message(GST_MESSAGE_ERROR);
  fail_unless((sample == nullptr) == (*error != '\0') && said.find(error) != std::string::npos,
              "'%s'", said.c_str());
  return sample;
}

// How many frames the pool of a buffer may have.
inline guint most_of_pool(GstBuffer *buffer)
{
  guint most = 0;
  GstStructure *config = gst_buffer_pool_get_config(buffer->pool);
  gst_buffer_pool_config_get_params(config, nullptr, nullptr, nullptr, &most);
  gst_structure_free(config);
  return most;
}

} // namespace gstdrm::test
