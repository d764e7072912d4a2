// SPDX-License-Identifier: LGPL-2.1-or-later
// The files by which the loaders of EGL (libglvnd) and of Vulkan find drivers.
#pragma once

#include <string>
#include <vector>

namespace inspect {

// The files for "egl" or "vulkan"; none for another kind. The places are from
// LoaderDriverInterface.md of the Vulkan loader and from src/EGL/icd_enumeration.md of libglvnd.
std::vector<std::string> list_manifests(const std::string &kind);

// Makes the loader of that kind use only this file. Call it before the loader is opened.
void use_manifest(const std::string &kind, const std::string &path);

} // namespace inspect
