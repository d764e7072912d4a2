// SPDX-License-Identifier: LGPL-2.1-or-later
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gst/drm/core/drm_node.hpp>
#include <gst/drm/element/producer.hpp>

#include "gstvamachine.hpp"
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

constexpr char kKey[] = "key";
constexpr char kNodes[] = "nodes";

// Beginnings of the names of variables that libva and its drivers read.
constexpr std::array<std::string_view, 9> kVariables{
    "LIBVA_", "MESA_", "GALLIUM_", "AMD_", "RADEON_", "NOUVEAU_", "INTEL_", "IHD_", "GST_DRM_VA_"};

// The registry notices new and removed nodes, but not changed permissions: these go into the key.
std::string rights_on(const std::string &path)
{
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    return path;
  const bool may = ::faccessat(AT_FDCWD, path.c_str(), R_OK | W_OK, AT_EACCESS) == 0;
  return path + " " + std::to_string(status.st_mode) + " " + std::to_string(status.st_uid) + " " +
         std::to_string(status.st_gid) + (may ? " open" : " denied");
}

// The key of the plugin's cache: changes when a probe may find something else although no file has
// changed, i.e. with the plugin's version and the environment that drivers read.
std::string cache_key()
{
  std::vector<std::string> lines{"version=" VERSION};
  gchar **names = g_listenv();
  for (gchar **name = names; *name; ++name) {
    const bool counts =
        std::any_of(kVariables.begin(), kVariables.end(), [name](std::string_view beginning) {
          return std::string_view(*name).starts_with(beginning);
        });
    const gchar *value =
        counts ? g_getenv(*name) : nullptr; // another thread may have taken it away
    if (value)
      lines.push_back(std::string(*name) + "=" + value);
  }
  g_strfreev(names);
  for (const std::string &path : list_drm_nodes(DrmNodeType::Render))
    lines.push_back(rights_on(path));
  std::sort(lines.begin(), lines.end());
  std::string key;
  for (const std::string &line : lines)
    key += line + "\n";
  g_autofree gchar *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, key.c_str(), -1);
  return sum;
}

// (transfer full)
GstStructure *machine_to_cache(const Machine &machine, const std::string &key)
{
  return gst_structure_new("vadmabuf-probe", kKey, G_TYPE_STRING, key.c_str(), kNodes,
                           G_TYPE_STRING, write_machine(machine).c_str(), nullptr);
}

// nullopt if there is no cache, if it has another key, and if it cannot be read.
std::optional<Machine> machine_from_cache(const GstStructure *cache, const std::string &key)
{
  const gchar *stored = cache ? gst_structure_get_string(cache, kKey) : nullptr;
  const gchar *text = cache ? gst_structure_get_string(cache, kNodes) : nullptr;
  if (!stored || key != stored || !text)
    return std::nullopt;
  return read_machine(text);
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

GstPtr<GstCaps> device_caps(const Capabilities &capabilities, const FormatSet &formats)
{
  return producer_caps(&formats, {capabilities.min_width, capabilities.min_height,
                                  capabilities.max_width, capabilities.max_height});
}

FormatSet readable(const Capabilities &capabilities, const FormatSet &drawn)
{
  return FormatSet::unite(drawn, capabilities.sources);
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
  // Without any caps the element could not be linked, and its error would never be posted.
  if (implicit_modifier == ImplicitModifier::Refuse)
    implicit_modifier = ImplicitModifier::Auto;
  const auto *node = find_machine_node(path);
  return node ? node_caps(*node, direction, implicit_modifier)
              : machine_caps(direction, implicit_modifier);
}

} // namespace gstdrm::va
