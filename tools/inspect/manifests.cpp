// SPDX-License-Identifier: LGPL-2.1-or-later
#include "manifests.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <system_error>

namespace inspect {

namespace {

std::string variable(const char *name)
{
  const char *text = std::getenv(name);
  return text ? text : "";
}

std::string variable_or(const char *name, const std::string &otherwise)
{
  const std::string text = variable(name);
  return text.empty() ? otherwise : text;
}

// Adds the files of `list`, which are separated by colons; for a folder its files, sorted by name.
void add_files(std::vector<std::string> &found, const std::string &list, const std::string &behind)
{
  std::size_t end = 0;
  for (std::size_t at = 0; at < list.size(); at = end + 1) {
    end = std::min(list.find(':', at), list.size());
    const std::string path = list.substr(at, end - at) + behind;
    std::error_code none;
    if (!std::filesystem::is_directory(path, none)) {
      if (std::filesystem::exists(path, none))
        found.push_back(path);
      continue;
    }
    std::vector<std::string> files;
    for (const auto &entry : std::filesystem::directory_iterator(path, none))
      if (entry.path().extension() == ".json")
        files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    found.insert(found.end(), files.begin(), files.end());
  }
}

std::vector<std::string> list_egl()
{
  std::vector<std::string> found;
  const std::string files = variable("__EGL_VENDOR_LIBRARY_FILENAMES");
  const std::string folders = variable_or("__EGL_VENDOR_LIBRARY_DIRS",
                                          "/etc/glvnd/egl_vendor.d:/usr/share/glvnd/egl_vendor.d");
  add_files(found, files.empty() ? folders : files, "");
  return found;
}

std::vector<std::string> list_vulkan()
{
  std::vector<std::string> found;
  for (const char *name : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"})
    if (const std::string files = variable(name); !files.empty()) {
      add_files(found, files, "");
      return found;
    }
  const std::string home = variable("HOME");
  add_files(found, variable("VK_ADD_DRIVER_FILES"), "");
  for (const std::string &folders :
       {variable_or("XDG_CONFIG_HOME", home + "/.config"),
        variable_or("XDG_CONFIG_DIRS", "/etc/xdg"), std::string("/etc"),
        variable_or("XDG_DATA_HOME", home + "/.local/share"),
        variable_or("XDG_DATA_DIRS", "/usr/local/share:/usr/share")})
    add_files(found, folders, "/vulkan/icd.d");
  return found;
}

} // namespace

std::vector<std::string> list_manifests(const std::string &kind)
{
  return kind == "egl" ? list_egl() : kind == "vulkan" ? list_vulkan() : std::vector<std::string>();
}

void use_manifest(const std::string &kind, const std::string &path)
{
  if (kind == "egl") {
    ::setenv("__EGL_VENDOR_LIBRARY_FILENAMES", path.c_str(), 1);
    return;
  }
  // older loaders read VK_ICD_FILENAMES
  ::setenv("VK_DRIVER_FILES", path.c_str(), 1);
  ::setenv("VK_ICD_FILENAMES", path.c_str(), 1);
  ::unsetenv("VK_ADD_DRIVER_FILES");
}

} // namespace inspect
