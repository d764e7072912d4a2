// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_watch.hpp"

#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include <gst/video/video.h>

namespace gstdrm::test {

Watch::Watch(GstElement *sink) : sink_(sink), pad_(gst_element_get_static_pad(sink, "sink"))
{
  probe_ = gst_pad_add_probe(pad_,
                             static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_BOTH),
                             on_probe, this, nullptr);
}

Watch::~Watch()
{
  gst_pad_remove_probe(pad_, probe_);
  gst_object_unref(pad_);
}

GstPadProbeReturn Watch::on_probe(GstPad *, GstPadProbeInfo *info, gpointer data)
{
  auto *self = static_cast<Watch *>(data);
  if (GST_PAD_PROBE_INFO_TYPE(info) & GST_PAD_PROBE_TYPE_BUFFER) {
    self->on_buffer(GST_PAD_PROBE_INFO_BUFFER(info));
    return GST_PAD_PROBE_OK;
  }
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);
  if (GST_EVENT_TYPE(event) == GST_EVENT_CAPS) {
    GstCaps *caps = nullptr;
    gst_event_parse_caps(event, &caps);
    gchar *text = gst_caps_to_string(caps);
    self->caps.emplace_back(text);
    g_free(text);
  } else if (GST_EVENT_TYPE(event) == GST_EVENT_RECONFIGURE) {
    self->reconfigures++;
    if (self->swallow_reconfigure)
      return GST_PAD_PROBE_DROP;
  }
  return GST_PAD_PROBE_OK;
}

void Watch::on_buffer(GstBuffer *buffer)
{
  const GstClockTime at = GST_BUFFER_PTS(buffer);
  if (GST_CLOCK_TIME_IS_VALID(last_) && at <= last_)
    in_order = false;
  last_ = at;
  if (buffers++ == index_)
    at_();
  if (each_)
    each_();
}

void Watch::at_buffer(guint index, std::function<void()> what)
{
  index_ = index;
  at_ = std::move(what);
}

bool Watch::wait_for_end()
{
  auto *top = GST_OBJECT(gst_object_ref(sink_));
  while (GstObject *parent = gst_object_get_parent(top)) {
    gst_object_unref(top);
    top = parent;
  }
  GstBus *bus = gst_element_get_bus(GST_ELEMENT(top));
  gst_object_unref(top);
  GstMessage *message = gst_bus_timed_pop_filtered(bus, 100 * GST_SECOND,
                                                   static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  gst_object_unref(bus);
  if (!message) {
    error = "neither an end nor an error";
    return false;
  }
  const bool ended = GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS;
  if (!ended) {
    GError *said = nullptr;
    gst_message_parse_error(message, &said, nullptr);
    error = said->message;
    g_error_free(said);
  }
  gst_message_unref(message);
  return ended;
}

guint64 Watch::stat(const char *name) const
{
  GstStructure *stats = nullptr;
  g_object_get(sink_, "drm-stats", &stats, nullptr);
  guint64 value = 0;
  guint small = 0;
  if (!gst_structure_get_uint64(stats, name, &value)) {
    ck_assert_msg(gst_structure_get_uint(stats, name, &small), "drm-stats has no %s", name);
    value = small;
  }
  gst_structure_free(stats);
  return value;
}

std::string Watch::query_caps() const
{
  GstCaps *caps = gst_pad_query_caps(pad_, nullptr);
  gchar *text = gst_caps_to_string(caps);
  std::string copy = text;
  g_free(text);
  gst_caps_unref(caps);
  return copy;
}

GstSample *Watch::snapshot() const
{
  GstSample *sample = nullptr;
  g_signal_emit_by_name(sink_, "snapshot", &sample);
  return sample;
}

guint32 pixel(GstSample *sample, int x, int y)
{
  GstVideoInfo info;
  GstVideoFrame frame;
  ck_assert(gst_video_info_from_caps(&info, gst_sample_get_caps(sample)));
  ck_assert(x < GST_VIDEO_INFO_WIDTH(&info) && y < GST_VIDEO_INFO_HEIGHT(&info));
  ck_assert(gst_video_frame_map(&frame, &info, gst_sample_get_buffer(sample), GST_MAP_READ));
  const auto *at = static_cast<const guint8 *>(GST_VIDEO_FRAME_PLANE_DATA(&frame, 0)) +
                   y * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0) + x * 4;
  const guint32 value = guint32{at[2]} << 16 | guint32{at[1]} << 8 | at[0];
  gst_video_frame_unmap(&frame);
  return value;
}

bool write_file(const char *path, const char *text)
{
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  const bool written = fd >= 0 && write(fd, text, strlen(text)) == static_cast<ssize_t>(strlen(text));
  if (fd >= 0)
    close(fd);
  return written;
}

unsigned count_framebuffers()
{
  unsigned count = 0;
  for (int card = 0; card < 4; card++) {
    const std::string path = "/sys/kernel/debug/dri/" + std::to_string(card) + "/framebuffer";
    gchar *text = nullptr;
    if (!g_file_get_contents(path.c_str(), &text, nullptr, nullptr))
      continue;
    // "framebuffer[ID]:" begins each
    for (const char *at = text; (at = std::strstr(at, "framebuffer[")) != nullptr; at++)
      count++;
    g_free(text);
  }
  return count;
}

bool framebuffers_settle_at(unsigned count)
{
  for (int i = 0; i < 500 && count_framebuffers() != count; i++)
    g_usleep(10'000);
  return count_framebuffers() == count;
}

} // namespace gstdrm::test
