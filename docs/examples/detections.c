/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Prints what a model finds in a picture: reads the element messages of drmtensordecode.
 *
 *   cc detections.c -o detections $(pkg-config --cflags --libs gstreamer-1.0)
 *   ./detections blazeface-short-128.onnx astronaut.png
 */
#include <stdio.h>
#include <stdlib.h>

#include <gst/gst.h>

static void print_detections(const GstStructure *message)
{
  const GValue *list = gst_structure_get_value(message, "detections");

  for (guint i = 0; i < gst_value_array_get_size(list); i++) {
    const GstStructure *found = gst_value_get_structure(gst_value_array_get_value(list, i));
    gdouble confidence = 0;
    gint x = 0, y = 0, width = 0, height = 0;

    gst_structure_get(found, "confidence", G_TYPE_DOUBLE, &confidence, "x", G_TYPE_INT, &x, "y",
                      G_TYPE_INT, &y, "width", G_TYPE_INT, &width, "height", G_TYPE_INT, &height,
                      NULL);
    printf("%s %.2f: %dx%d pixels at %d, %d\n", gst_structure_get_string(found, "label"),
           confidence, width, height, x, y);
  }
}

/* Until the end of the stream, or an error. */
static gboolean print_messages(GstElement *pipeline)
{
  g_autoptr(GstBus) bus = gst_element_get_bus(pipeline);

  for (;;) {
    g_autoptr(GstMessage) message = gst_bus_timed_pop_filtered(
        bus, GST_CLOCK_TIME_NONE, GST_MESSAGE_ELEMENT | GST_MESSAGE_EOS | GST_MESSAGE_ERROR);

    if (gst_message_has_name(message, "drm-detections"))
      print_detections(gst_message_get_structure(message));
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS)
      return TRUE;
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
      g_autoptr(GError) error = NULL;
      gst_message_parse_error(message, &error, NULL);
      fprintf(stderr, "%s: %s\n", GST_MESSAGE_SRC_NAME(message), error->message);
      return FALSE;
    }
  }
}

int main(int argc, char **argv)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(GstElement) pipeline = NULL;

  gst_init(&argc, &argv);
  if (argc != 3) {
    fprintf(stderr, "usage: %s MODEL PNG\n", argv[0]);
    return EXIT_FAILURE;
  }
  pipeline = gst_parse_launch("filesrc name=picture ! pngdec ! videoconvert ! "
                              "video/x-raw,format=NV12 ! metisdmabufinfer name=model backend=cpu ! "
                              "drmtensordecode post-messages=true ! fakesink",
                              &error);
  if (!pipeline || error) {
    fprintf(stderr, "%s\n", error->message);
    return EXIT_FAILURE;
  }
  g_autoptr(GstElement) picture = gst_bin_get_by_name(GST_BIN(pipeline), "picture");
  g_autoptr(GstElement) model = gst_bin_get_by_name(GST_BIN(pipeline), "model");
  g_object_set(model, "model", argv[1], NULL);
  g_object_set(picture, "location", argv[2], NULL);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  const gboolean played = print_messages(pipeline);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  return played ? EXIT_SUCCESS : EXIT_FAILURE;
}
