// SPDX-License-Identifier: LGPL-2.1-or-later
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gstvadmabufsrc.hpp"

// The template depends on the device and its driver, so the registry is told to reload the plugin when
// either changes.
static void add_dependencies(GstPlugin *plugin)
{
  static const gchar *variables[] = {"LIBVA_DRIVER_NAME", "LIBVA_DRIVERS_PATH", nullptr};
  static const gchar *paths[] = {"/dev/dri", nullptr};
  static const gchar *names[] = {"renderD", nullptr};
  gst_plugin_add_dependency(plugin, variables, paths, names,
                            GST_PLUGIN_DEPENDENCY_FLAG_FILE_NAME_IS_PREFIX);
}

static gboolean plugin_init(GstPlugin *plugin) noexcept
{
  add_dependencies(plugin);
  return gst_element_register(plugin, "vadmabufsrc", GST_RANK_NONE, GST_TYPE_VA_DMABUF_SRC);
}

GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, vadmabuf, "VA-API source of DMA buffers",
                  plugin_init, VERSION, GST_LICENSE, GST_PACKAGE_NAME, GST_PACKAGE_ORIGIN)
