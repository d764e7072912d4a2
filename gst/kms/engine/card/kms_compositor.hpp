// SPDX-License-Identifier: LGPL-2.1-or-later
// Whether a compositor takes this program's pictures: then a display is not the sink's to choose.
// Any thread.
#pragma once

#include <string>

namespace gstdrm::kms {

// Where clients look for a compositor. Empty: not set.
struct CompositorHints {
  std::string wayland_display; // WAYLAND_DISPLAY: a socket's name, or its path
  std::string runtime_dir;     // XDG_RUNTIME_DIR
  std::string x_display;       // DISPLAY: ":0"; one of another machine is none here
  std::string x_sockets = "/tmp/.X11-unix";

  static CompositorHints of_this_process();
};

// "the Wayland compositor at /run/user/1000/wayland-0", "the X server at ..."; empty: none answers.
std::string find_compositor(const CompositorHints &hints);

} // namespace gstdrm::kms
