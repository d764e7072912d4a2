// SPDX-License-Identifier: LGPL-2.1-or-later
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <gst/drm/gstdrm-guard-private.hpp>
#include <gst/drm/gstdrm-log-private.hpp>

#include "gstvadmabufconvert.hpp"
#include "gstvadmabufsrc.hpp"
#include "gstvamachine.hpp"
#include "gstvanodefeatures.hpp"

GST_DEBUG_CATEGORY_EXTERN(gst_va_dmabuf_src_debug);

// The template depends on the device and its driver, so the registry is told to reload the plugin
// when either changes.
static void add_dependencies(GstPlugin *plugin)
{
  static const gchar *variables[] = {"LIBVA_DRIVER_NAME", "LIBVA_DRIVERS_PATH", nullptr};
  static const gchar *paths[] = {"/dev/dri", nullptr};
  static const gchar *names[] = {"renderD", nullptr};
  gst_plugin_add_dependency(plugin, variables, paths, names,
                            GST_PLUGIN_DEPENDENCY_FLAG_FILE_NAME_IS_PREFIX);
  static const gchar *folders[] = {"LIBVA_DRIVERS_PATH", nullptr};
  static const gchar *installed[] = {VA_DRIVER_DIR, nullptr};
  static const gchar *drivers[] = {"_drv_video.so", nullptr};
  gst_plugin_add_dependency(
      plugin, folders, installed, drivers,
      static_cast<GstPluginDependencyFlags>(GST_PLUGIN_DEPENDENCY_FLAG_FILE_NAME_IS_SUFFIX |
                                            GST_PLUGIN_DEPENDENCY_FLAG_PATHS_ARE_DEFAULT_ONLY));
}

static GstDebugCategory *engine_category() noexcept
{
  return gst_va_dmabuf_src_debug;
}

static gboolean plugin_init(GstPlugin *plugin) noexcept
try {
  // what both elements use logs here
  GST_DEBUG_CATEGORY_INIT(gst_va_dmabuf_src_debug, "vadmabufsrc", 0, "VA-API DMA buffer source");
  gstdrm::connect_log<engine_category>(); // one for the engine, whichever element uses it
  add_dependencies(plugin);
  gstdrm::va::load_machine(plugin);
  return gst_element_register(plugin, "vadmabufsrc", GST_RANK_NONE, GST_TYPE_VA_DMABUF_SRC) &&
         gst_element_register(plugin, "vadmabufconvert", GST_RANK_NONE,
                              GST_TYPE_VA_DMABUF_CONVERT) &&
         gstdrm::va::register_node_features(plugin);
} catch (...) {
  return gstdrm::caught(FALSE, __func__);
}

GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, vadmabuf,
                  "VA-API source and converter of DMA buffers", plugin_init, VERSION, GST_LICENSE,
                  GST_PACKAGE_NAME, GST_PACKAGE_ORIGIN)
