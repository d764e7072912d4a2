// SPDX-License-Identifier: LGPL-2.1-or-later
#include <gst/gst.h>
#include <gst/gsttracer.h>

#include "config.h"

GType gst_drm_verify_get_type(void);

static gboolean plugin_init(GstPlugin *plugin) noexcept
{
  return gst_tracer_register(plugin, "drmverify", gst_drm_verify_get_type());
}

GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, drmtracers, "Tracer that proves zero-copy",
                  plugin_init, VERSION, GST_LICENSE, GST_PACKAGE_NAME, GST_PACKAGE_ORIGIN)
