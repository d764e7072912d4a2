/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An application that takes frames in DMA buffers, as one that imports them into a device would: it
 * says which formats it takes, reads the format that was agreed on, and looks at each frame's
 * planes.
 *
 *   cc application.c -o application $(pkg-config --cflags --libs gst-drm-1.0)
 *   ./application 10
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <gst/drm/drm.h>

enum { FENCE_TIMEOUT_S = 1 };

/* What the device of this application imports. A real one asks it: EGL's query of modifiers, the
 * IN_FORMATS of a plane, a Vulkan format's properties. */
static GstCaps *importable_caps(void)
{
  g_autoptr(GstDrmFormatSet) set = gst_drm_format_set_new();
  const GstVideoFormat formats[] = {GST_VIDEO_FORMAT_NV12, GST_VIDEO_FORMAT_BGRx};

  for (gsize i = 0; i < G_N_ELEMENTS(formats); i++) {
    guint64 modifier;
    const guint32 fourcc = gst_drm_format_from_video_format(formats[i], &modifier);
    gst_drm_format_set_add(set, fourcc, modifier);
  }
  return gst_drm_format_set_to_caps(set);
}

/* The device that wrote the frame may still be at it: nothing is read before its fence has
 * signalled. One that waits on its device gives the descriptor to that instead. */
static gboolean wait_until_written(GstBuffer *buffer, GError **error)
{
  GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(buffer);
  const gint fence = meta ? gst_drm_sync_meta_dup_acquire_fence(meta) : -1;
  GstDrmFenceState state = GST_DRM_FENCE_STATE_SIGNALLED;
  gboolean waited = TRUE;

  if (meta && fence < 0 && errno != 0) { /* there is one, and no descriptor for it */
    g_set_error(error, GST_DRM_ERROR, GST_DRM_ERROR_SYNC, "the frame's fence: %s",
                g_strerror(errno));
    return FALSE;
  }
  if (fence >= 0) {
    waited = gst_drm_fence_wait(fence, FENCE_TIMEOUT_S * GST_SECOND, &state, error);
    close(fence);
  }
  if (waited && state != GST_DRM_FENCE_STATE_SIGNALLED) {
    g_set_error(error, GST_DRM_ERROR, GST_DRM_ERROR_SYNC, "the frame was not drawn within %d s",
                FENCE_TIMEOUT_S);
    return FALSE;
  }
  return waited;
}

/* Here an importer would hand the planes to its device: once per dma-buf, which is told from others
 * by its device and inode, and never by the number of its descriptor. */
static gboolean import_frame(GstSample *sample, GError **error)
{
  g_autoptr(GstDrmVideoInfo) info = gst_drm_video_info_new();
  GstDrmFrame frame;
  GstBuffer *buffer = gst_sample_get_buffer(sample);

  if (!gst_drm_video_info_from_caps_full(info, gst_sample_get_caps(sample), error) ||
      !wait_until_written(buffer, error) || !gst_drm_frame_from_buffer(&frame, buffer, info, error))
    return FALSE;
  g_autofree gchar *format = gst_drm_format_to_string(frame.drm_fourcc, frame.drm_modifier);
  g_autofree gchar *layout = gst_drm_modifier_describe(frame.drm_modifier);
  printf("%s (%s) %ux%u", format, layout, frame.width, frame.height);
  for (guint i = 0; i < frame.n_planes; i++)
    printf(", plane %u: offset %" G_GUINT64_FORMAT " stride %u", i, frame.planes[i].offset,
           frame.planes[i].stride);
  printf("\n");
  return TRUE;
}

/* An error of the pipeline, which names what failed and what to try, or the end of the stream. */
static gboolean report_end(GstElement *pipeline)
{
  g_autoptr(GstBus) bus = gst_element_get_bus(pipeline);
  g_autoptr(GstMessage) message =
      gst_bus_timed_pop_filtered(bus, GST_CLOCK_TIME_NONE, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  g_autoptr(GError) error = NULL;

  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS)
    return TRUE;
  gst_message_parse_error(message, &error, NULL);
  fprintf(stderr, "%s: %s\n", GST_MESSAGE_SRC_NAME(message), error->message);
  return FALSE;
}

static gboolean play(GstElement *pipeline)
{
  g_autoptr(GstElement) sink = gst_bin_get_by_name(GST_BIN(pipeline), "importer");
  g_autoptr(GstCaps) caps = importable_caps();
  GstSample *sample = NULL;
  gboolean imported = TRUE;

  g_object_set(sink, "caps", caps, NULL);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  do {
    g_autoptr(GError) error = NULL;
    g_signal_emit_by_name(sink, "pull-sample", &sample);
    if (!sample)
      break; /* the end, or an error: the bus says which */
    imported = import_frame(sample, &error);
    if (!imported)
      fprintf(stderr, "a frame cannot be imported: %s\n", error->message);
    gst_sample_unref(sample);
  } while (imported);
  return imported && report_end(pipeline);
}

int main(int argc, char **argv)
{
  gst_init(&argc, &argv);
  const int frames = argc > 1 ? atoi(argv[1]) : 10;
  g_autofree gchar *description =
      g_strdup_printf("videotestsrc num-buffers=%d ! video/x-raw,width=640,height=480 ! "
                      "dmabufupload ! appsink name=importer max-buffers=2 sync=false",
                      frames);
  g_autoptr(GError) error = NULL;
  g_autoptr(GstElement) pipeline = gst_parse_launch(description, &error);

  if (!pipeline || error) {
    fprintf(stderr, "%s\n", error->message);
    return EXIT_FAILURE;
  }
  const gboolean played = play(pipeline);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  return played ? EXIT_SUCCESS : EXIT_FAILURE;
}
