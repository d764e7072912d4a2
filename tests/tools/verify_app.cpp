// SPDX-License-Identifier: LGPL-2.1-or-later
// An application whose element `here`, an identity, does something to one frame: the cases of
// gst-drm-verify-1.0 that no pipeline of gst-launch-1.0 has.
// Usage: verify_app read|write|crash|exit FRAME DESCRIPTION
#include <cstdlib>
#include <string_view>

#include <gst/gst.h>

namespace {

struct Plan {
  std::string_view what;
  int frame = 0; // from 1
  int seen = 0;
};

void on_frame(GstElement *, GstBuffer *buffer, gpointer data) noexcept
{
  auto &plan = *static_cast<Plan *>(data);
  if (++plan.seen != plan.frame)
    return;
  if (plan.what == "crash")
    std::abort();
  if (plan.what == "exit")
    std::exit(EXIT_SUCCESS); // without gst_deinit(), while this thread is within a push
  const GstMapFlags flags = plan.what == "write" ? GST_MAP_WRITE : GST_MAP_READ;
  GstMapInfo map;
  if (gst_memory_map(gst_buffer_peek_memory(buffer, 0), &map, flags))
    gst_memory_unmap(map.memory, &map);
}

} // namespace

int main(int argc, char **argv)
{
  gst_init(&argc, &argv);
  if (argc != 4)
    return EXIT_FAILURE;
  Plan plan = {argv[1], std::atoi(argv[2])};
  GstElement *pipeline = gst_parse_launch(argv[3], nullptr);
  GstElement *here = gst_bin_get_by_name(GST_BIN(pipeline), "here");
  g_object_set(here, "signal-handoffs", TRUE, nullptr);
  g_signal_connect(here, "handoff", G_CALLBACK(on_frame), &plan);
  gst_object_unref(here);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstBus *bus = gst_element_get_bus(pipeline);
  GstMessage *end = gst_bus_timed_pop_filtered(
      bus, GST_CLOCK_TIME_NONE, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  const bool good = GST_MESSAGE_TYPE(end) == GST_MESSAGE_EOS;
  gst_message_unref(end);
  gst_object_unref(bus);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
  gst_deinit();
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
