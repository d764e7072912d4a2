// SPDX-License-Identifier: LGPL-2.1-or-later
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gst/drm/core/drm_node.hpp>

#include "gstvamachinecache.hpp"

namespace gstdrm::va {
namespace {

constexpr char kKey[] = "key";
constexpr char kNodes[] = "nodes";

// Beginnings of the names of variables that libva and its drivers read.
constexpr std::array<std::string_view, 9> kVariables{
    "LIBVA_", "MESA_", "GALLIUM_", "AMD_", "RADEON_", "NOUVEAU_", "INTEL_", "IHD_", "GST_DRM_VA_"};

// The registry sees when a node comes or goes, and not who may open it: one that was denied is
// asked again when that changes.
std::string rights_on(const std::string &path)
{
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    return path;
  const bool may = ::faccessat(AT_FDCWD, path.c_str(), R_OK | W_OK, AT_EACCESS) == 0;
  return path + " " + std::to_string(status.st_mode) + " " + std::to_string(status.st_uid) + " " +
         std::to_string(status.st_gid) + (may ? " open" : " denied");
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
