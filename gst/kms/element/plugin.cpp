// SPDX-License-Identifier: LGPL-2.1-or-later
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gstkmsdmabufsink.hpp"

// Before glimagesink and kmssink, which would take a free display.
// Where a compositor runs or somebody else has the display, READY fails, and autovideosink goes on.
static constexpr guint kRank = GST_RANK_SECONDARY + 10;

static gboolean plugin_init(GstPlugin *plugin) noexcept
{
  return gst_element_register(plugin, "kmsdmabufsink", kRank, GST_TYPE_KMS_DMABUF_SINK);
}

// the plugin's name must be that of its file without "libgst"
GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, kmsdmabuf,
                  "Atomic KMS video sink for DMA buffers", plugin_init, VERSION, GST_LICENSE,
                  GST_PACKAGE_NAME, GST_PACKAGE_ORIGIN)
