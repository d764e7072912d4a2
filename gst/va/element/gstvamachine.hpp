// SPDX-License-Identifier: LGPL-2.1-or-later
// The render nodes of this machine whose VA-API driver exports DMA buffers, and their caps.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <gst/drm/element/implicit_modifier.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/gst.h>

#include "engine/va_machine.hpp"

namespace gstdrm::va {

// Called by plugin_init() before the other functions here: reads what an earlier process found from
// the plugin's cache in GStreamer's registry, or probes and writes the cache. The registry drops
// the cache when a file changes that the plugin depends on.
void load_machine(GstPlugin *plugin);
// Probes the drivers of these nodes, each in its own process: one that crashes or hangs costs only
// its own node. If the probe program cannot be used, the drivers are probed in this process, with a
// warning in the log. Any thread.
Machine probe_nodes(const std::vector<std::string> &paths);
// In the order of their numbers; the first is the default device. Any thread.
const std::vector<MachineNode> &machine_nodes();
// The node of that path or of a link to it, the first node for an empty path; nullptr if there is
// none.
const MachineNode *find_machine_node(const std::string &path);
// Nodes whose driver crashed or hung when it was probed.
[[nodiscard]] const std::vector<FailedNode> &failed_nodes();
const FailedNode *find_failed_node(const std::string &path);

// Caps of these formats, in the device's sizes.
GstPtr<GstCaps> device_caps(const Capabilities &capabilities, const FormatSet &formats);
// The formats that the device reads: `drawn`, and those that it cannot draw.
FormatSet readable(const Capabilities &capabilities, const FormatSet &drawn);

// Caps of a node for pad templates: the formats that it draws for source pads, those that it reads
// for sink pads. They have no drm-format, which allows every format, if the driver may make any
// modifier that downstream lists. `implicit_modifier` is the element's property; nullopt for the
// union of all values.
GstPtr<GstCaps> node_caps(const MachineNode &node, GstPadDirection direction,
                          std::optional<ImplicitModifier> implicit_modifier = std::nullopt);
// Caps of all nodes together, for elements that can use each of them; without drm-format if there
// is no node.
GstPtr<GstCaps> machine_caps(GstPadDirection direction,
                             std::optional<ImplicitModifier> implicit_modifier = std::nullopt);
// Caps of an element whose device is not open, by its property device.
GstPtr<GstCaps> idle_caps(const std::string &path, GstPadDirection direction,
                          ImplicitModifier implicit_modifier);

} // namespace gstdrm::va
