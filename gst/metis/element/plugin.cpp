// SPDX-License-Identifier: LGPL-2.1-or-later
#include <gst/gst.h>

#include "config.h"

GST_ELEMENT_REGISTER_DECLARE(drmoverlay)
GST_ELEMENT_REGISTER_DECLARE(drmtensordecode)
GST_ELEMENT_REGISTER_DECLARE(metisdmabufinfer)

static gboolean plugin_init(GstPlugin *plugin) noexcept
{
  const gboolean infer = GST_ELEMENT_REGISTER(metisdmabufinfer, plugin);
  const gboolean decode = GST_ELEMENT_REGISTER(drmtensordecode, plugin);
  const gboolean overlay = GST_ELEMENT_REGISTER(drmoverlay, plugin);
  return infer && decode && overlay;
}

GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, metisdmabuf,
                  "Inference on frames in DMA buffers", plugin_init, VERSION, GST_LICENSE,
                  GST_PACKAGE_NAME, GST_PACKAGE_ORIGIN)
