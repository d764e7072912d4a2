// SPDX-License-Identifier: LGPL-2.1-or-later
#include <gst/gst.h>

#include "config.h"

GST_ELEMENT_REGISTER_DECLARE(dmabufdownload)
GST_ELEMENT_REGISTER_DECLARE(dmabufrelabel)
GST_ELEMENT_REGISTER_DECLARE(dmabufupload)

static gboolean plugin_init(GstPlugin *plugin) noexcept
{
  const gboolean upload = GST_ELEMENT_REGISTER(dmabufupload, plugin);
  const gboolean download = GST_ELEMENT_REGISTER(dmabufdownload, plugin);
  const gboolean relabel = GST_ELEMENT_REGISTER(dmabufrelabel, plugin);
  return upload && download && relabel;
}

GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, dmabuf,
                  "Video frames to and from DMA buffers", plugin_init, VERSION, GST_LICENSE,
                  GST_PACKAGE_NAME, GST_PACKAGE_ORIGIN)
