// SPDX-License-Identifier: LGPL-2.1-or-later
// Makes the clip of `./run demo`: a photograph that moves over colour bars, so that a wrong, stale
// or torn frame shows, and so that a face detector has something to follow.

#include <cstdio>
#include <cstdlib>

#include <gst/controller/controller.h>
#include <gst/gst.h>

namespace {

constexpr int kFrames = 150; // at 30 a second
constexpr int kPhotoSide = 400;

// Moves the middle of the photograph, where the face is, over the bars and back.
constexpr const char *kPipeline =
    "compositor name=mix background=black ! "
    "video/x-raw,format=I420,width=640,height=480,framerate=30/1 ! "
    "vp8enc deadline=1 target-bitrate=4000000 ! webmmux ! filesink name=file "
    "videotestsrc num-buffers=150 pattern=smpte horizontal-speed=4 ! "
    "video/x-raw,width=640,height=480,framerate=30/1 ! mix.sink_0 "
    "filesrc name=photo ! decodebin ! videoconvertscale ! videocrop left=100 right=156 bottom=256 "
    "! "
    "videoconvertscale ! video/x-raw,format=I420,width=400,height=400,pixel-aspect-ratio=1/1 ! "
    "imagefreeze num-buffers=150 ! video/x-raw,framerate=30/1 ! videoconvert ! mix.sink_1";

struct Place {
  GstClockTime time;
  double x, y; // of the photograph's corner, pixels
};
constexpr Place kPath[] = {{0, 0, 0}, {2500 * GST_MSECOND, 240, 80}, {5 * GST_SECOND, 0, 40}};

// Moves a property of the pad along the path.
void animate(GstPad *pad, const char *property, double Place::*coordinate)
{
  g_autoptr(GstControlSource) source = gst_interpolation_control_source_new();
  g_object_set(source, "mode", GST_INTERPOLATION_MODE_LINEAR, nullptr);
  for (const Place &place : kPath)
    gst_timed_value_control_source_set(GST_TIMED_VALUE_CONTROL_SOURCE(source), place.time,
                                       place.*coordinate);
  gst_object_add_control_binding(
      GST_OBJECT(pad), gst_direct_control_binding_new_absolute(GST_OBJECT(pad), property, source));
}

int fail(const char *what)
{
  std::fprintf(stderr, "demo: the clip cannot be made: %s\n", what);
  return EXIT_FAILURE;
}

int make(const char *photo, const char *out)
{
  g_autoptr(GError) error = nullptr;
  g_autoptr(GstElement) pipeline = gst_parse_launch(kPipeline, &error);
  if (!pipeline || error)
    return fail(error ? error->message : "no pipeline");
  g_autoptr(GstElement) source = gst_bin_get_by_name(GST_BIN(pipeline), "photo");
  g_autoptr(GstElement) file = gst_bin_get_by_name(GST_BIN(pipeline), "file");
  g_autoptr(GstElement) mix = gst_bin_get_by_name(GST_BIN(pipeline), "mix");
  g_autoptr(GstPad) pad = gst_element_get_static_pad(mix, "sink_1");
  g_object_set(source, "location", photo, nullptr);
  g_object_set(file, "location", out, nullptr);
  animate(pad, "xpos", &Place::x);
  animate(pad, "ypos", &Place::y);

  g_autoptr(GstBus) bus = gst_element_get_bus(pipeline);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  g_autoptr(GstMessage) end = gst_bus_timed_pop_filtered(
      bus, 240 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  if (end && GST_MESSAGE_TYPE(end) == GST_MESSAGE_ERROR)
    gst_message_parse_error(end, &error, nullptr);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  if (!end || error)
    return fail(error ? error->message : "encoding did not end within 240 s");
  return EXIT_SUCCESS;
}

} // namespace

int main(int argc, char **argv)
{
  gst_init(&argc, &argv);
  if (argc != 3) {
    std::fprintf(stderr, "usage: gst-drm-demo-clip PHOTOGRAPH CLIP\n");
    return 2;
  }
  return make(argv[1], argv[2]);
}
