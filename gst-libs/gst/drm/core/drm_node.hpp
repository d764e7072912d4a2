// SPDX-License-Identifier: LGPL-2.1-or-later
// The device nodes of DRM: which there are, and which of them are one device. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "result.hpp"

namespace gstdrm {

// Documentation/admin-guide/devices.txt
inline constexpr unsigned kDrmMajor = 226;

// /dev/dri/card0 and up, which can show pictures; /dev/dri/renderD128 and up, which cannot.
enum class DrmNodeType { Card, Render };

// Paths under /dev/dri in the order of their numbers; empty where there are none.
std::vector<std::string> list_drm_nodes(DrmNodeType type);

// Those of `names` that are nodes of the type, such as "card0", in the order of their numbers.
std::vector<std::string> pick_drm_nodes(const std::vector<std::string> &names, DrmNodeType type);

// A node's path for people: "/dev/dri/card1"; "226:1" where /dev/dri has no node of that number.
// `number` is the node's st_rdev.
std::string drm_node_path(std::uint64_t number);

// Whether two nodes, given by st_rdev, are one device, such as its card and its render node. A node
// is the same device as itself, whatever it is. ErrorCode::Device where sysfs has no device behind
// one of the numbers.
Result<bool> is_same_drm_device(std::uint64_t a, std::uint64_t b);

} // namespace gstdrm
