// SPDX-License-Identifier: LGPL-2.1-or-later
// What one user of pixel buffers on this machine can take: a plane, a display, a queue of a node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "../core/format_set.hpp"

struct wl_display;
struct wl_surface;

namespace gstdrm {

// Same order and meaning as GstDrmSourceKind in the C API.
enum class SourceKind : std::uint8_t { Kms, Gbm, Egl, Va, V4l2, Vulkan, Wayland };

struct Source {
  SourceKind kind{};
  std::string name;        // "kms:card0:31"; one of its kind on a machine
  std::string device;      // path of the node; empty where there is none, as for a software display
  std::string driver;      // as the kernel or the library names it; may be empty
  std::string description; // "primary plane"; may be empty
  FormatSet formats;
  FormatSet external_only; // of formats: textures of the external target alone; EGL only
  // Memory planes that the device itself counts, in the order of formats; empty where it counts
  // none, and memory_plane_count() then says what is known of the pair.
  std::vector<std::uint8_t> planes;
  // Why the formats are not known: a sentence for a person. Empty where they are.
  std::string problem;
};
using Sources = std::vector<Source>;

// One device of a list, for whoever asks each driver in a process of its own.
struct OnlyDevice {
  std::size_t number = 0; // in the order of the list
  // Is told what is known of the source, its name at least, before its driver is asked; the driver
  // may have been loaded by then.
  std::function<void(const Source &)> before;
};

// Each asks the devices of one kind that there are. A device that vanishes, or that this user may
// not open, is a source with a problem; without any device the list is empty. Any thread; the
// drivers that EGL, GBM, VA and Vulkan load run in this process. With `only` the sources of that
// device alone, none where there are not so many.
Sources enumerate_kms();
Sources enumerate_gbm(const OnlyDevice *only = nullptr);
Sources enumerate_egl(const OnlyDevice *only = nullptr);
Sources enumerate_va();
Sources enumerate_v4l2();
Sources enumerate_vulkan(const OnlyDevice *only = nullptr);
Sources enumerate_wayland();
// On an application's connection, and for its surface where there is one.
Sources enumerate_wayland_surface(wl_display *display, wl_surface *surface);

// Memory planes of one of the source's pairs; 0 where nobody says.
unsigned count_planes(const Source &source, Format format) noexcept;

// As the kernel names it; empty where the node cannot be opened.
std::string driver_of_node(const std::string &path);

// Adds a source under its name, or where another one has that, under the first of NAME-2, NAME-3...
// that is free: two EGL devices of one node, a video node with two capture queues.
void add_named(Sources &sources, Source source);

// "card0" of "/dev/dri/card0".
std::string node_name(const std::string &path);

} // namespace gstdrm
