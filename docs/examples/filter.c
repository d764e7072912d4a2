/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A plugin with one filter, drmflip: it turns pictures in linear DMA buffers upside down, from the
 * buffers of upstream into buffers of a pool of its own. docs/your-own-element.md walks through it.
 *
 *   cc -shared -fPIC filter.c -o libgstdrmflip.so \
 *     $(pkg-config --cflags --libs gst-drm-1.0 gstreamer-base-1.0)
 *   GST_PLUGIN_PATH=$PWD gst-inspect-1.0 drmflip
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <gst/base/gstbasetransform.h>
#include <gst/drm/drm.h>

enum { FENCE_TIMEOUT_S = 1 };

#define FLIP_CAPS                                                                                  \
  "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format={ NV12, P010, XR24, AR24 }, "            \
  "width=" GST_VIDEO_SIZE_RANGE ", height=" GST_VIDEO_SIZE_RANGE                                   \
  ", framerate=" GST_VIDEO_FPS_RANGE

#define DRM_TYPE_FLIP (drm_flip_get_type())
G_DECLARE_FINAL_TYPE(DrmFlip, drm_flip, DRM, FLIP, GstBaseTransform)

struct _DrmFlip {
  GstBaseTransform parent;
  GstDrmVideoInfo info; /* what was agreed on, the same on both sides */
};

G_DEFINE_TYPE(DrmFlip, drm_flip, GST_TYPE_BASE_TRANSFORM)

static GstStaticPadTemplate sink_template =
    GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS(FLIP_CAPS));
static GstStaticPadTemplate src_template =
    GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS(FLIP_CAPS));

/* --- formats ---------------------------------------------------------------------------------- */

static gboolean drm_flip_set_caps(GstBaseTransform *trans, GstCaps *incaps, GstCaps *outcaps)
{
  DrmFlip *self = DRM_FLIP(trans);
  g_autoptr(GError) error = NULL;

  if (gst_drm_video_info_from_caps_full(&self->info, incaps, &error))
    return TRUE;
  GST_ELEMENT_ERROR(self, STREAM, FORMAT, ("These caps cannot be flipped: %s", error->message),
                    (NULL));
  return FALSE;
}

static gboolean drm_flip_get_unit_size(GstBaseTransform *trans, GstCaps *caps, gsize *size)
{
  g_autoptr(GstDrmVideoInfo) info = gst_drm_video_info_new_from_caps(caps);

  if (!info)
    return FALSE;
  *size = info->vinfo.size;
  return TRUE;
}

/* --- memory ----------------------------------------------------------------------------------- */

/* To upstream: any layout will do, and its frames are done with when transform() returns. */
static gboolean drm_flip_propose_allocation(GstBaseTransform *trans, GstQuery *decide_query,
                                            GstQuery *query)
{
  gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, NULL);
  return TRUE;
}

/* From downstream: how many buffers it keeps. The pool adds the one that is being written. */
static gboolean drm_flip_decide_allocation(GstBaseTransform *trans, GstQuery *query)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(GstDrmAllocator) allocator =
      gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_AUTO, NULL, &error);
  GstCaps *caps = NULL;
  guint size = 0, kept = 0, most = 0;

  if (!allocator) {
    GST_ELEMENT_ERROR(trans, RESOURCE, NOT_FOUND,
                      ("Nothing to allocate DMA buffers from: %s", error->message), (NULL));
    return FALSE;
  }
  gst_query_parse_allocation(query, &caps, NULL);
  if (gst_query_get_n_allocation_pools(query) > 0)
    gst_query_parse_nth_allocation_pool(query, 0, NULL, NULL, &kept, NULL);

  g_autoptr(GstBufferPool) pool = gst_drm_buffer_pool_new(allocator);
  GstStructure *config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_set_params(config, caps, 0, kept + 1, 0);
  gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  if (!gst_buffer_pool_set_config(pool, config)) {
    GST_ELEMENT_ERROR(trans, RESOURCE, NO_SPACE_LEFT,
                      ("No pool of %u buffers for %" GST_PTR_FORMAT, kept + 1, (void *)caps),
                      (NULL));
    return FALSE;
  }
  /* the real size: rows and planes are padded as devices want it */
  config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_get_params(config, NULL, &size, &kept, &most);
  gst_structure_free(config);
  if (gst_query_get_n_allocation_pools(query) > 0)
    gst_query_set_nth_allocation_pool(query, 0, pool, size, kept, most);
  else
    gst_query_add_allocation_pool(query, pool, size, kept, most);
  return TRUE;
}

/* The base class makes the allocation query itself. Before the query is sent, this probe adds that
 * the pool of the filter waits for release fences, so that a display may give buffers back before
 * it has finished with them. */
static GstPadProbeReturn announce_release_fences(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY(info);

  if (GST_QUERY_TYPE(query) == GST_QUERY_ALLOCATION)
    gst_drm_query_announce_release_fences(query);
  return GST_PAD_PROBE_OK;
}

/* --- frames ----------------------------------------------------------------------------------- */

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

static void flip_plane(const GstVideoFrame *from, GstVideoFrame *to, guint plane)
{
  const gint rows = GST_VIDEO_FRAME_COMP_HEIGHT(from, plane);
  const gsize bytes = (gsize)GST_VIDEO_FRAME_COMP_WIDTH(from, plane) *
                      (gsize)GST_VIDEO_FRAME_COMP_PSTRIDE(from, plane);
  const gint in_stride = GST_VIDEO_FRAME_PLANE_STRIDE(from, plane);
  const gint out_stride = GST_VIDEO_FRAME_PLANE_STRIDE(to, plane);
  const guint8 *in = GST_VIDEO_FRAME_PLANE_DATA(from, plane);
  guint8 *out = GST_VIDEO_FRAME_PLANE_DATA(to, plane);

  for (gint y = 0; y < rows; y++)
    memcpy(out + (gsize)(rows - 1 - y) * out_stride, in + (gsize)y * in_stride, bytes);
}

static GstFlowReturn drm_flip_transform(GstBaseTransform *trans, GstBuffer *inbuf,
                                        GstBuffer *outbuf)
{
  DrmFlip *self = DRM_FLIP(trans);
  GstVideoInfo *vinfo = &self->info.vinfo;
  g_autoptr(GError) error = NULL;
  GstDrmFrame checked;
  GstVideoFrame in, out;

  /* the one check of a layout that came from elsewhere: planes that fit format, size and memory */
  if (!gst_drm_frame_from_buffer(&checked, inbuf, &self->info, &error) ||
      !wait_until_written(inbuf, &error)) {
    GST_ELEMENT_ERROR(self, STREAM, FAILED, ("A frame cannot be read: %s", error->message), (NULL));
    return GST_FLOW_ERROR;
  }
  /* mapping a GstDmaBufAllocator's memory brackets the access with DMA_BUF_IOCTL_SYNC */
  if (!gst_video_frame_map(&in, vinfo, inbuf, GST_MAP_READ)) {
    GST_ELEMENT_ERROR(self, RESOURCE, READ, ("A DMA buffer of upstream cannot be mapped."), (NULL));
    return GST_FLOW_ERROR;
  }
  if (!gst_video_frame_map(&out, vinfo, outbuf, GST_MAP_WRITE)) {
    gst_video_frame_unmap(&in);
    GST_ELEMENT_ERROR(self, RESOURCE, WRITE, ("A DMA buffer of the pool cannot be mapped."),
                      (NULL));
    return GST_FLOW_ERROR;
  }
  for (guint plane = 0; plane < GST_VIDEO_FRAME_N_PLANES(&in); plane++)
    flip_plane(&in, &out, plane);
  gst_video_frame_unmap(&out);
  gst_video_frame_unmap(&in);
  return GST_FLOW_OK;
}

/* --- class ------------------------------------------------------------------------------------ */

static void drm_flip_class_init(DrmFlipClass *klass)
{
  GstElementClass *element_class = GST_ELEMENT_CLASS(klass);
  GstBaseTransformClass *transform_class = GST_BASE_TRANSFORM_CLASS(klass);

  gst_element_class_add_static_pad_template(element_class, &sink_template);
  gst_element_class_add_static_pad_template(element_class, &src_template);
  gst_element_class_set_static_metadata(element_class, "Flip of DMA buffers", "Filter/Video",
                                        "Turns linear DMA buffers upside down", "gst-drm");
  transform_class->set_caps = drm_flip_set_caps;
  transform_class->get_unit_size = drm_flip_get_unit_size;
  transform_class->propose_allocation = drm_flip_propose_allocation;
  transform_class->decide_allocation = drm_flip_decide_allocation;
  transform_class->transform = drm_flip_transform;
}

static void drm_flip_init(DrmFlip *self)
{
  gst_drm_video_info_init(&self->info);
  gst_pad_add_probe(GST_BASE_TRANSFORM_SRC_PAD(self),
                    GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM | GST_PAD_PROBE_TYPE_PUSH,
                    announce_release_fences, NULL, NULL);
}

static gboolean plugin_init(GstPlugin *plugin)
{
  return gst_element_register(plugin, "drmflip", GST_RANK_NONE, DRM_TYPE_FLIP);
}

#define PACKAGE "gst-drm-examples"
GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, drmflip, "An example of gst-drm",
                  plugin_init, "0.1", "LGPL", PACKAGE, "https://gstreamer.freedesktop.org")
