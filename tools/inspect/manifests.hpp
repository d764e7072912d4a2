// SPDX-License-Identifier: LGPL-2.1-or-later
// The files by which the loaders of EGL (libglvnd) and of Vulkan find drivers.
#pragma once

#include <string>
#include <vector>

namespace inspect {

// Those of "egl" or "vulkan"; none of another kind. Of Vulkan's the places in its loader's
// LoaderDriverInterface.md, of EGL's those in libglvnd's src/EGL/icd_enumeration.md.
std::vector<std::string> list_manifests(const std::string &kind);

// Restricts the Vulkan loader to this ICD. Call it before the loader is opened.
void use_manifest(const std::string &kind, const std::string &path);

} // namespace inspect
