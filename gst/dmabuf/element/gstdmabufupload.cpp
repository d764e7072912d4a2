// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:element-dmabufupload
 * @title: dmabufupload
 * @short_description: system-memory video into DMA buffers
 *
 * Takes video in system memory and sends it as linear DMA buffers: `format=DMA_DRM` where
 * downstream takes that, plain `video/x-raw` in dmabuf memory where it knows no DMA_DRM. Upstream
 * is offered a pool of such buffers; frames that upstream writes there are passed on as they are,
 * others are copied once, and counted in `drm-stats`.
 *
 * ## Example
 * |[
 * gst-launch-1.0 videotestsrc ! dmabufupload ! kmsdmabufsink
 * ]|
 *
 * Since: 0.1
 */
#include "gstdmabufupload.hpp"

#include <memory>
#include <string>
#include <utility>

#include <gst/drm/drm.h>
#include <gst/drm/element/producer_pad.hpp>
#include <gst/drm/gstdrm-guard-private.hpp>

#include "gstdmabufuploader.hpp"

using gstdrm::AllocationSettings;
using gstdrm::logging;
using gstdrm::posting;
using gstdrm::Uploader;

GST_DEBUG_CATEGORY(dmabuf_upload_debug);
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT dmabuf_upload_debug

enum { PROP_ALLOCATOR = 1, PROP_DEVICE, PROP_MAX_BUFFERS };

G_DEFINE_TYPE(GstDmaBufUpload, gst_dmabuf_upload, GST_TYPE_DMABUF_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE(dmabufupload, "dmabufupload", GST_RANK_NONE, GST_TYPE_DMABUF_UPLOAD)

static Uploader &uploader_of(gpointer object) noexcept
{
  return static_cast<Uploader &>(*GST_DMABUF_TRANSFORM(object)->transformer);
}

static GstStateChangeReturn gst_dmabuf_upload_change_state(GstElement *element,
                                                           GstStateChange transition)
{
  uploader_of(element).prepare_state_change(transition);
  return GST_ELEMENT_CLASS(gst_dmabuf_upload_parent_class)->change_state(element, transition);
}

static void gst_dmabuf_upload_set_property(GObject *object, guint id, const GValue *value,
                                           GParamSpec *pspec)
{
  const auto change = [object](auto &&set) {
    uploader_of(object).allocation().change_settings(set);
  };
  if (id == PROP_ALLOCATOR) {
    const auto kind = static_cast<GstDrmAllocatorKind>(g_value_get_enum(value));
    change([kind](AllocationSettings &settings) { settings.kind = kind; });
  } else if (id == PROP_DEVICE) {
    std::string device = g_value_get_string(value) ? g_value_get_string(value) : "";
    change([&device](AllocationSettings &settings) { std::swap(settings.device, device); });
  } else if (id == PROP_MAX_BUFFERS) {
    const guint most = g_value_get_uint(value);
    change([most](AllocationSettings &settings) { settings.max_buffers = most; });
  } else {
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
  }
}

static void gst_dmabuf_upload_get_property(GObject *object, guint id, GValue *value,
                                           GParamSpec *pspec)
{
  const AllocationSettings settings = uploader_of(object).allocation().settings();
  if (id == PROP_ALLOCATOR)
    g_value_set_enum(value, settings.kind);
  else if (id == PROP_DEVICE)
    g_value_set_string(value, settings.device.empty() ? nullptr : settings.device.c_str());
  else if (id == PROP_MAX_BUFFERS)
    g_value_set_uint(value, settings.max_buffers);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
}

static void install_properties(GObjectClass *object_class)
{
  const auto flags = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                              GST_PARAM_MUTABLE_READY);
  g_object_class_install_property(
      object_class, PROP_ALLOCATOR,
      g_param_spec_enum("allocator", "Allocator",
                        "Where dma-bufs come from; auto prefers downstream's own allocator",
                        GST_TYPE_DRM_ALLOCATOR_KIND, GST_DRM_ALLOCATOR_KIND_AUTO, flags));
  g_object_class_install_property(
      object_class, PROP_DEVICE,
      g_param_spec_string(
          "device", "Device",
          "Name of the dma-heap (\"system\"), or path of the DRM node, for the allocator; "
          "unset: the first that works",
          nullptr, flags));
  g_object_class_install_property(
      object_class, PROP_MAX_BUFFERS,
      g_param_spec_uint("max-buffers", "Most buffers",
                        "Buffers that a pool may make before it waits until one comes back; 0: as "
                        "many as half of the file descriptors and half of the memory allow",
                        0, G_MAXINT, 0, flags));
}

static void gst_dmabuf_upload_class_init(GstDmaBufUploadClass *klass)
{
  GST_DEBUG_CATEGORY_INIT(dmabuf_upload_debug, "dmabufupload", 0, "system memory to DMA buffers");
  GObjectClass *object_class = G_OBJECT_CLASS(klass);
  object_class->set_property = logging<gst_dmabuf_upload_set_property>;
  object_class->get_property = logging<gst_dmabuf_upload_get_property>;
  install_properties(object_class);

  GstElementClass *element_class = GST_ELEMENT_CLASS(klass);
  gst_element_class_set_static_metadata(element_class, "DMA buffer uploader", "Filter/Video",
                                        "Puts video from system memory into linear DMA buffers",
                                        "gst-drm contributors");
  gstdrm::add_pad_template(element_class, "sink", GST_PAD_SINK,
                           {gstdrm::plain_template(), gstdrm::any_dmabuf_template()});
  gstdrm::add_pad_template(element_class, "src", GST_PAD_SRC,
                           {gstdrm::any_dmabuf_template(), gstdrm::plain_template(),
                            gstdrm::implicit_dmabuf_template()});

  element_class->change_state = posting<gst_dmabuf_upload_change_state>;
}

static void gst_dmabuf_upload_init(GstDmaBufUpload *self)
{
  gstdrm::set_transformer(GST_DMABUF_TRANSFORM(self),
                          std::make_unique<Uploader>(GST_BASE_TRANSFORM(self)));
  // Frames that are made here come from pools that wait for release fences; in passthrough the
  // query and the frames are upstream's.
  gstdrm::set_up_producer_pad(GST_BASE_TRANSFORM_SRC_PAD(self), [self] {
    return gst_base_transform_is_passthrough(GST_BASE_TRANSFORM(self)) == FALSE;
  });
}
