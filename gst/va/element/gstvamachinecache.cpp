// SPDX-License-Identifier: LGPL-2.1-or-later
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "gstvamachinecache.hpp"

namespace gstdrm::va {
namespace {

constexpr char kKey[] = "key";
constexpr char kNodes[] = "nodes";

// Beginnings of the names of variables that libva and its drivers read.
constexpr std::array<std::string_view, 9> kVariables{
    "LIBVA_", "MESA_", "GALLIUM_", "AMD_", "RADEON_", "NOUVEAU_", "INTEL_", "IHD_", "GST_DRM_VA_"};

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
    const gchar *value =
        counts ? g_getenv(*name) : nullptr; // another thread may have taken it away
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

GstStructure *machine_to_cache(const Machine &machine, const std::string &key)
{
  return gst_structure_new("vadmabuf-probe", kKey, G_TYPE_STRING, key.c_str(), kNodes,
                           G_TYPE_STRING, write_machine(machine).c_str(), nullptr);
}

std::optional<Machine> machine_from_cache(const GstStructure *cache, const std::string &key)
{
  const gchar *stored = cache ? gst_structure_get_string(cache, kKey) : nullptr;
  const gchar *text = cache ? gst_structure_get_string(cache, kNodes) : nullptr;
  if (!stored || key != stored || !text)
    return std::nullopt;
  return read_machine(text);
}

} // namespace gstdrm::va
