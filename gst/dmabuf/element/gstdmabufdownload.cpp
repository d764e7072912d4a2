// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:element-dmabufdownload
 * @title: dmabufdownload
 * @short_description: linear DMA buffers to video in system memory
 *
 * Takes linear DMA buffers and sends them as plain `video/x-raw`, for elements that read with the
 * CPU. The memory stays the same and is mapped by whoever reads it; only where downstream knows no
 * GstVideoMeta and the rows are padded is a frame copied, and counted in `drm-stats`.
 *
 * ## Example
 * |[
 * gst-launch-1.0 videotestsrc ! dmabufupload ! dmabufdownload ! videoconvert ! autovideosink
 * ]|
 *
 * Since: 0.1
 */
#include "gstdmabufdownload.hpp"

#include <memory>

#include "gstdmabufdownloader.hpp"

using gstdrm::Downloader;

GST_DEBUG_CATEGORY(dmabuf_download_debug);
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT dmabuf_download_debug

G_DEFINE_TYPE(GstDmaBufDownload, gst_dmabuf_download, GST_TYPE_DMABUF_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE(dmabufdownload, "dmabufdownload", GST_RANK_NONE,
                            GST_TYPE_DMABUF_DOWNLOAD)

static void gst_dmabuf_download_class_init(GstDmaBufDownloadClass *klass)
{
  GST_DEBUG_CATEGORY_INIT(dmabuf_download_debug, "dmabufdownload", 0,
                          "DMA buffers to system memory");
  GstElementClass *element_class = GST_ELEMENT_CLASS(klass);
  gst_element_class_set_static_metadata(
      element_class, "DMA buffer downloader", "Filter/Video",
      "Gives linear DMA buffers to elements that read with the CPU", "gst-drm contributors");
  gstdrm::add_pad_template(element_class, "sink", GST_PAD_SINK,
                           {gstdrm::linear_dmabuf_template(), gstdrm::plain_template(),
                            gstdrm::implicit_dmabuf_template()});
  gstdrm::add_pad_template(element_class, "src", GST_PAD_SRC, {gstdrm::plain_template()});
}

static void gst_dmabuf_download_init(GstDmaBufDownload *self)
{
  gstdrm::set_transformer(GST_DMABUF_TRANSFORM(self),
                          std::make_unique<Downloader>(GST_BASE_TRANSFORM(self)));
}
