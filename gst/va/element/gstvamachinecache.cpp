// SPDX-License-Identifier: LGPL-2.1-or-later
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include "gstvamachinecache.hpp"

namespace gstdrm::va {
namespace {

constexpr char kKey[] = "key";
constexpr char kNodes[] = "nodes";

// Beginnings of the names of variables that libva and its drivers read.
constexpr std::array<std::string_view, 9> kVariables{
    "LIBVA_", "MESA_", "GALLIUM_", "AMD_", "RADEON_", "NOUVEAU_", "INTEL_", "IHD_", "GST_DRM_VA_"};

// One node a line: path, numbers, pairs, and the vendor, which may have spaces.
void write_node(std::ostream &out, const MachineNode &node)
{
  const Capabilities &c = node.capabilities;
  out << node.path << ' ' << c.has_vpp << ' ' << c.takes_modifiers << ' ' << c.lists_modifiers
      << ' ' << static_cast<int>(c.imports) << ' ' << c.min_width << ' ' << c.min_height << ' '
      << c.max_width << ' ' << c.max_height << ' ' << c.deinterlacing.size();
  for (const Deinterlacing algorithm : c.deinterlacing)
    out << ' ' << static_cast<int>(algorithm);
  out << ' ' << c.formats.size();
  for (const Format &pair : c.formats.pairs())
    out << ' ' << pair.fourcc << ' ' << pair.modifier;
  out << ' ' << node.vendor << '\n';
}

std::optional<MachineNode> read_node(const std::string &line)
{
  std::istringstream in(line);
  MachineNode node;
  Capabilities &c = node.capabilities;
  int imports = 0;
  std::size_t count = 0;
  in >> node.path >> c.has_vpp >> c.takes_modifiers >> c.lists_modifiers >> imports >>
      c.min_width >> c.min_height >> c.max_width >> c.max_height >> count;
  c.imports = imports == static_cast<int>(ImportBy::Prime) ? ImportBy::Prime : ImportBy::Prime2;
  for (std::size_t i = 0; in && i < count; ++i) {
    int algorithm = 0;
    in >> algorithm;
    c.deinterlacing.push_back(static_cast<Deinterlacing>(algorithm));
  }
  in >> count;
  for (std::size_t i = 0; in && i < count; ++i) {
    Format pair{};
    in >> pair.fourcc >> pair.modifier;
    (void)c.formats.add(pair);
  }
  if (!in || c.formats.empty())
    return std::nullopt;
  in >> std::ws;
  std::getline(in, node.vendor);
  return node;
}

} // namespace

std::string cache_key()
{
  std::vector<std::string> lines{"version=" VERSION};
  gchar **names = g_listenv();
  for (gchar **name = names; *name; ++name) {
    const bool counts =
        std::any_of(kVariables.begin(), kVariables.end(), [name](std::string_view beginning) {
          return std::string_view(*name).starts_with(beginning);
        });
    const gchar *value = counts ? g_getenv(*name) : nullptr; // another thread may have taken it away
    if (value)
      lines.push_back(std::string(*name) + "=" + value);
  }
  g_strfreev(names);
  std::sort(lines.begin(), lines.end());
  std::string key;
  for (const std::string &line : lines)
    key += line + "\n";
  g_autofree gchar *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, key.c_str(), -1);
  return sum;
}

GstStructure *nodes_to_cache(const std::vector<MachineNode> &nodes, const std::string &key)
{
  std::ostringstream text;
  for (const MachineNode &node : nodes)
    write_node(text, node);
  return gst_structure_new("vadmabuf-probe", kKey, G_TYPE_STRING, key.c_str(), kNodes,
                           G_TYPE_STRING, text.str().c_str(), nullptr);
}

std::optional<std::vector<MachineNode>> nodes_from_cache(const GstStructure *cache,
                                                         const std::string &key)
{
  const gchar *stored = cache ? gst_structure_get_string(cache, kKey) : nullptr;
  const gchar *text = cache ? gst_structure_get_string(cache, kNodes) : nullptr;
  if (!stored || key != stored || !text)
    return std::nullopt;
  std::vector<MachineNode> nodes;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    auto node = read_node(line);
    if (!node)
      return std::nullopt;
    nodes.push_back(std::move(*node));
  }
  return nodes;
}

} // namespace gstdrm::va
