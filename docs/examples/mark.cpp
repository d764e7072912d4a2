// SPDX-License-Identifier: LGPL-2.1-or-later
// A plugin with one filter, drmmark: it draws a white square into the upper left corner of frames
// in linear DMA buffers, in place. docs/new-element.md walks through it.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>

#include <drm_fourcc.h>

#include <gst/drm/drm.h>
#include <gst/drm/element/format_sets.hpp>
#include <gst/drm/element/in_place_filter.hpp>
#include <gst/video/video.h>

#include "config.h"

using namespace gstdrm;

class Mark final : public InPlaceFilter {
public:
  Result<void> process(GstBuffer *buffer, const GstDrmVideoInfo &info) override
  {
    GstVideoFrame frame; // mapping a dma-buf brackets the access with DMA_BUF_IOCTL_SYNC
    if (!gst_video_frame_map(&frame, &info.vinfo, buffer, GST_MAP_READWRITE))
      return Error{ErrorCode::Import, "The CPU cannot map a DMA buffer for writing.", 0};
    auto *row = static_cast<guint8 *>(GST_VIDEO_FRAME_PLANE_DATA(&frame, 0));
    const gint columns = std::min<gint>(size_, info.vinfo.width),
               rows = std::min<gint>(size_, info.vinfo.height);
    for (gint y = 0; y < rows; y++, row += GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0))
      std::memset(row, 0xff, columns * GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, 0));
    gst_video_frame_unmap(&frame);
    return {};
  }

  // The only property that drmmark has of its own, so the id is not looked at.
  void set_property(guint, const GValue *value) override { size_ = g_value_get_uint(value); }
  void get_property(guint, GValue *value) const override { g_value_set_uint(value, size_); }

private:
  std::atomic<guint> size_{16}; // set by any thread
};

// Linear frames of three formats. An element with a device fills the set from its device.
static GstPtr<GstCaps> mark_caps()
{
  const FormatSetPtr set(gst_drm_format_set_new());
  for (const guint32 fourcc : {DRM_FORMAT_XRGB8888, DRM_FORMAT_ARGB8888, DRM_FORMAT_NV12})
    gst_drm_format_set_add(set.get(), fourcc, GST_DRM_MODIFIER_LINEAR);
  return GstPtr<GstCaps>::adopt(gst_drm_format_set_to_caps(set.get()));
}

static void install_properties(GObjectClass *klass, guint first)
{
  const auto flags = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                              GST_PARAM_MUTABLE_PLAYING);
  g_object_class_install_property(klass, first,
                                  g_param_spec_uint("size", "Size",
                                                    "Width and height of the square in pixels", 1,
                                                    G_MAXINT, 16, flags));
}

static constexpr InPlaceFilterClass kMarkClass{
    .type_name = "DrmMark",
    .element_name = "drmmark",
    .long_name = "Mark on DMA buffers",
    .classification = "Filter/Video",
    .description = "Draws a white square in place",
    .author = "gst-drm contributors",
    .suggestion = "Put dmabufdownload after drmmark.",
    .caps = mark_caps,
    .make = []() -> std::unique_ptr<InPlaceFilter> { return std::make_unique<Mark>(); },
    .install_properties = install_properties,
};

static gboolean plugin_init(GstPlugin *plugin) noexcept
{
  return register_in_place_filter(plugin, kMarkClass);
}

GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, drmmark, "An example of the element kit",
                  plugin_init, VERSION, GST_LICENSE, GST_PACKAGE_NAME, GST_PACKAGE_ORIGIN)
