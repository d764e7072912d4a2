// SPDX-License-Identifier: LGPL-2.1-or-later
// The render nodes of this machine whose VA-API driver exports DMA buffers, and caps of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <gst/drm/element/implicit_modifier.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/gst.h>

#include "engine/va_machine.hpp"

namespace gstdrm::va {

// For plugin_init(), before anything else here: takes what an earlier process has found from the
// plugin's cache in GStreamer's registry, or probes and puts it there. The registry drops the cache
// when a file changes that the plugin depends on.
void load_machine(GstPlugin *plugin);
// Where the plugin's file is. Any thread.
const std::string &plugin_folder();
// In the order of their numbers, the first of which is the default device. Any thread.
const std::vector<MachineNode> &machine_nodes();
// The node of that path or of a link to it; nullptr where there is none. An empty path: the first.
const MachineNode *find_machine_node(const std::string &path);
// Nodes whose driver crashed or hung when it was probed: it would do so here, but where that may
// pass.
const std::vector<FailedNode> &failed_nodes();
const FailedNode *find_failed_node(const std::string &path);

// Caps of a node, for pad templates: what it draws into at source pads, what it reads at sink pads.
// drm-format, which then allows every format, is left out with a driver that may make whatever
// modifier downstream lists. With `implicit_modifier` what an element offers that has this value of
// the property, without it what one offers with any.
GstPtr<GstCaps> node_caps(const MachineNode &node, GstPadDirection direction,
                          std::optional<ImplicitModifier> implicit_modifier = std::nullopt);
// Of every node, for elements that may be set to each; without drm-format where there is no node.
GstPtr<GstCaps> machine_caps(GstPadDirection direction,
                             std::optional<ImplicitModifier> implicit_modifier = std::nullopt);
// Of an element whose device is not open: those of the node that it is set to.
GstPtr<GstCaps> idle_caps(const std::string &path, GstPadDirection direction,
                          ImplicitModifier implicit_modifier);

} // namespace gstdrm::va
