// SPDX-License-Identifier: LGPL-2.1-or-later
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <string>

#include <gst/drm/gstdrm-guard-private.hpp>
#include <gst/drm/gstdrm-log-private.hpp>

#include "gstvaelement.hpp"
#include "gstvamachine.hpp"

GST_DEBUG_CATEGORY_EXTERN(gst_va_dmabuf_src_debug);

// The pad templates depend on the device and its driver: the registry has to reload the plugin when
// either changes.
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

namespace gstdrm::va {
namespace {

// The elements of the second and each later render node: varenderD129dmabufsrc and
// varenderD129dmabufconvert, subclasses of the two elements with that node's caps and its path as
// the device property. Upstream names its elements so (gst-plugins-bad, sys/va/gstvavpp.c,
// gst_va_vpp_register()).
struct Kind {
  GType parent;
  const char *type_suffix;
  const char *feature_suffix;
  bool needs_vpp;
};

GQuark node_quark()
{
  static const GQuark quark = g_quark_from_static_string("gst-drm-va-node");
  return quark;
}

// /dev/dri/renderD129 without its folder
std::string name_of(const MachineNode &node)
{
  return node.path.substr(node.path.rfind('/') + 1);
}

void replace_templates(GstElementClass *klass, const MachineNode &node)
{
  GList *templates = g_list_copy(gst_element_class_get_pad_template_list(klass));
  for (const GList *at = templates; at; at = at->next) {
    const auto *old = static_cast<GstPadTemplate *>(at->data);
    const auto caps = node_caps(node, GST_PAD_TEMPLATE_DIRECTION(old));
    gst_element_class_add_pad_template(
        klass,
        gst_pad_template_new(GST_PAD_TEMPLATE_NAME_TEMPLATE(old), GST_PAD_TEMPLATE_DIRECTION(old),
                             GST_PAD_TEMPLATE_PRESENCE(old), caps.get()));
  }
  g_list_free(templates);
}

void class_init(gpointer klass, gpointer data)
{
  const auto &node = *static_cast<const MachineNode *>(data);
  GstElementClass *element_class = GST_ELEMENT_CLASS(klass);
  replace_templates(element_class, node);
  const auto copy = [element_class](const char *key) {
    return std::string(gst_element_class_get_metadata(element_class, key));
  };
  const auto name = copy(GST_ELEMENT_METADATA_LONGNAME) + " in " + name_of(node);
  const auto kind = copy(GST_ELEMENT_METADATA_KLASS);
  const auto text = copy(GST_ELEMENT_METADATA_DESCRIPTION);
  const auto author = copy(GST_ELEMENT_METADATA_AUTHOR);
  gst_element_class_set_metadata(element_class, name.c_str(), kind.c_str(), text.c_str(),
                                 author.c_str());
}

void instance_init(GTypeInstance *instance, gpointer klass) noexcept
{
  const auto *node =
      static_cast<const MachineNode *>(g_type_get_qdata(G_TYPE_FROM_CLASS(klass), node_quark()));
  if (node)
    g_object_set(instance, "device", node->path.c_str(), nullptr);
}

bool register_kind(GstPlugin *plugin, const MachineNode &node, const Kind &kind)
{
  const std::string type_name = "GstVa" + name_of(node) + kind.type_suffix;
  GTypeQuery parent;
  g_type_query(kind.parent, &parent);
  GTypeInfo info = {};
  info.class_size = static_cast<guint16>(parent.class_size);
  info.class_init = gstdrm::logging<class_init>;
  info.class_data = &node; // lives as long as the process
  info.instance_size = static_cast<guint16>(parent.instance_size);
  info.instance_init = instance_init;
  GType type = g_type_from_name(type_name.c_str());
  if (type == 0)
    type = g_type_register_static(kind.parent, type_name.c_str(), &info, GTypeFlags{});
  g_type_set_qdata(type, node_quark(), const_cast<MachineNode *>(&node));
  const std::string feature = "va" + name_of(node) + kind.feature_suffix;
  return gst_element_register(plugin, feature.c_str(), GST_RANK_NONE, type) != FALSE;
}

bool register_node_features(GstPlugin *plugin)
{
  const Kind kinds[] = {
      {GST_TYPE_VA_DMABUF_SRC, "DmabufSrc", "dmabufsrc", false},
      {GST_TYPE_VA_DMABUF_CONVERT, "DmabufConvert", "dmabufconvert", true},
  };
  const auto &nodes = machine_nodes();
  for (std::size_t i = 1; i < nodes.size(); ++i)
    for (const Kind &kind : kinds)
      if ((nodes[i].capabilities.has_vpp || !kind.needs_vpp) &&
          !register_kind(plugin, nodes[i], kind))
        return false;
  return true;
}

} // namespace
} // namespace gstdrm::va

static GstDebugCategory *engine_category() noexcept
{
  return gst_va_dmabuf_src_debug;
}

static gboolean plugin_init(GstPlugin *plugin) noexcept
try {
  // code that both elements use logs here
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
