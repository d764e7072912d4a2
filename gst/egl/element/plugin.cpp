// SPDX-License-Identifier: LGPL-2.1-or-later
#include <gst/gst.h>

#include "config.h"

GST_ELEMENT_REGISTER_DECLARE(egldmabufdownload)
GST_ELEMENT_REGISTER_DECLARE(egldmabufupload)

static gboolean plugin_init(GstPlugin *plugin) noexcept
{
  const gboolean upload = GST_ELEMENT_REGISTER(egldmabufupload, plugin);
  const gboolean download = GST_ELEMENT_REGISTER(egldmabufdownload, plugin);
  return upload || download;
}

// the plugin's name must be that of its file without "libgst"
GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, egldmabuf,
                  "DMA buffers as OpenGL textures, and back, by EGL", plugin_init, VERSION,
                  GST_LICENSE, GST_PACKAGE_NAME, GST_PACKAGE_ORIGIN)
