// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstvamachine.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

#include <gst/drm/core/drm_node.hpp>
#include <gst/drm/element/producer.hpp>

#include "engine/va_device.hpp"
#include "gstvadmabufcaps.hpp"
#include "gstvamachinecache.hpp"

GST_DEBUG_CATEGORY_EXTERN(gst_va_dmabuf_src_debug);
#define GST_CAT_DEFAULT gst_va_dmabuf_src_debug

namespace gstdrm::va {
namespace {

std::vector<MachineNode> probe_machine()
{
  std::vector<MachineNode> nodes;
  for (const auto &path : list_drm_nodes(DrmNodeType::Render)) {
    auto device = open_device(path);
    if (!device) {
      GST_INFO("not in the templates: %s", device.error().message.c_str());
      continue;
    }
    for (const auto &refused : device->capabilities.refused)
      GST_DEBUG("not in the templates: %s", refused.c_str());
    nodes.push_back({path, device->display->vendor(), std::move(device->capabilities)});
  }
  return nodes;
}

// Written by load_machine() alone, in the thread that loads the plugin, before any class exists.
std::vector<MachineNode> &loaded_nodes()
{
  static std::vector<MachineNode> nodes;
  return nodes;
}

} // namespace

void load_machine(GstPlugin *plugin)
{
  const auto key = cache_key();
  if (auto cached = nodes_from_cache(gst_plugin_get_cache_data(plugin), key)) {
    GST_DEBUG("%zu render nodes are known from the registry", cached->size());
    loaded_nodes() = std::move(*cached);
    return;
  }
  loaded_nodes() = probe_machine();
  // Nothing found may be a matter of rights, which no file tells of.
  if (!loaded_nodes().empty())
    gst_plugin_set_cache_data(plugin, nodes_to_cache(loaded_nodes(), key));
}

const std::vector<MachineNode> &machine_nodes()
{
  return loaded_nodes();
}

const MachineNode *find_machine_node(const std::string &path)
{
  const auto &nodes = machine_nodes();
  if (path.empty())
    return nodes.empty() ? nullptr : &nodes.front();
  std::error_code failed;
  const auto target = std::filesystem::canonical(path, failed);
  for (const MachineNode &node : nodes)
    if (node.path == path || (!failed && target == node.path))
      return &node;
  return nullptr;
}

GstPtr<GstCaps> node_caps(const MachineNode &node)
{
  const Capabilities &capabilities = node.capabilities;
  auto caps = device_caps(capabilities, capabilities.formats);
  if (!capabilities.takes_modifiers || capabilities.lists_modifiers)
    return caps;
  for (guint i = 0; i < gst_caps_get_size(caps.get()); ++i)
    gst_structure_remove_field(gst_caps_get_structure(caps.get(), i), "drm-format");
  return caps;
}

GstPtr<GstCaps> machine_caps()
{
  GstPtr<GstCaps> all;
  for (const MachineNode &node : machine_nodes()) {
    auto caps = node_caps(node);
    all = all ? GstPtr<GstCaps>::adopt(gst_caps_merge(all.release(), caps.release()))
              : std::move(caps);
  }
  return all ? std::move(all) : producer_caps(nullptr, {});
}

GstPtr<GstCaps> idle_caps(const std::string &path)
{
  const auto *node = find_machine_node(path);
  return node ? node_caps(*node) : machine_caps();
}

} // namespace gstdrm::va
