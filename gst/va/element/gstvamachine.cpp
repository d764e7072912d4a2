// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstvamachine.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

#include <gst/drm/core/drm_node.hpp>
#include <gst/drm/element/producer.hpp>

#include "gstvadmabufcaps.hpp"
#include "gstvamachinecache.hpp"
#include "gstvamachineprobe.hpp"

GST_DEBUG_CATEGORY_EXTERN(gst_va_dmabuf_src_debug);
#define GST_CAT_DEFAULT gst_va_dmabuf_src_debug

namespace gstdrm::va {
namespace {

// Written by load_machine() alone, in the thread that loads the plugin, before any class exists.
Machine &loaded_machine()
{
  static Machine machine;
  return machine;
}

std::string &loaded_folder()
{
  static std::string folder;
  return folder;
}

std::string folder_of(GstPlugin *plugin)
{
  const gchar *file = gst_plugin_get_filename(plugin);
  return file ? std::filesystem::path(file).parent_path().string() : std::string(".");
}

// The node of that path, or that a link of that path leads to.
template <typename Node>
const Node *find_node(const std::vector<Node> &nodes, const std::string &path)
{
  std::error_code failed;
  const auto target = std::filesystem::canonical(path, failed);
  for (const Node &node : nodes)
    if (node.path == path || (!failed && target == node.path))
      return &node;
  return nullptr;
}

} // namespace

void load_machine(GstPlugin *plugin)
{
  loaded_folder() = folder_of(plugin);
  const auto key = cache_key();
  Machine &machine = loaded_machine();
  if (auto cached = machine_from_cache(gst_plugin_get_cache_data(plugin), key)) {
    GST_DEBUG("%zu render nodes are known from the registry", cached->nodes.size());
    for (const FailedNode &node : cached->failed)
      GST_WARNING("%s. Known from the registry; it is asked again when %s", node.reason.c_str(),
                  node.may_pass ? "an element is to open it" : "its file changes");
    machine = std::move(*cached);
    return;
  }
  machine = probe_nodes(list_drm_nodes(DrmNodeType::Render), plugin_folder());
  if (!machine.nodes.empty() || !machine.failed.empty())
    gst_plugin_set_cache_data(plugin, machine_to_cache(machine, key));
}

const std::string &plugin_folder()
{
  return loaded_folder();
}

const std::vector<MachineNode> &machine_nodes()
{
  return loaded_machine().nodes;
}

const MachineNode *find_machine_node(const std::string &path)
{
  const auto &nodes = machine_nodes();
  if (path.empty())
    return nodes.empty() ? nullptr : &nodes.front();
  return find_node(nodes, path);
}

const std::vector<FailedNode> &failed_nodes()
{
  return loaded_machine().failed;
}

const FailedNode *find_failed_node(const std::string &path)
{
  return find_node(failed_nodes(), path);
}

GstPtr<GstCaps> node_caps(const MachineNode &node, GstPadDirection direction,
                          std::optional<ImplicitModifier> implicit_modifier)
{
  const Capabilities &capabilities = node.capabilities;
  const bool reads = direction == GST_PAD_SINK;
  FormatSet formats = reads ? readable(capabilities, capabilities.formats) : capabilities.formats;
  if (!implicit_modifier)
    formats = FormatSet::unite(formats, with_implicit(formats, reads ? ImplicitModifier::Driver
                                                                     : ImplicitModifier::Linear));
  else
    formats = reads ? with_implicit(formats, *implicit_modifier)
                    : producer_formats(formats, *implicit_modifier);
  auto caps = device_caps(capabilities, formats);
  if (!capabilities.takes_modifiers || capabilities.lists_modifiers)
    return caps;
  for (guint i = 0; i < gst_caps_get_size(caps.get()); ++i)
    gst_structure_remove_field(gst_caps_get_structure(caps.get(), i), "drm-format");
  return caps;
}

GstPtr<GstCaps> machine_caps(GstPadDirection direction,
                             std::optional<ImplicitModifier> implicit_modifier)
{
  GstPtr<GstCaps> all;
  for (const MachineNode &node : machine_nodes()) {
    auto caps = node_caps(node, direction, implicit_modifier);
    all = all ? GstPtr<GstCaps>::adopt(gst_caps_merge(all.release(), caps.release()))
              : std::move(caps);
  }
  return all ? std::move(all) : producer_caps(nullptr, {});
}

GstPtr<GstCaps> idle_caps(const std::string &path, GstPadDirection direction,
                          ImplicitModifier implicit_modifier)
{
  // An element that offers nothing cannot be linked, and could not say why.
  if (implicit_modifier == ImplicitModifier::Refuse)
    implicit_modifier = ImplicitModifier::Auto;
  const auto *node = find_machine_node(path);
  return node ? node_caps(*node, direction, implicit_modifier)
              : machine_caps(direction, implicit_modifier);
}

} // namespace gstdrm::va
