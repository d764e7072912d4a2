// SPDX-License-Identifier: LGPL-2.1-or-later
// A Wayland compositor of the tests' own, with zwp_linux_dmabuf_v1 and nothing to see, on a thread
// of this process. Its socket is in a directory of its own, which XDG_RUNTIME_DIR names while it
// lives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gst/drm/core/format.hpp"

namespace gstdrm::test {

struct CompositorTranche {
  std::uint64_t device = 0; // st_rdev
  std::uint32_t flags = 0;
  std::vector<std::uint16_t> indices;
};

// How it behaves; what is left alone is as a good compositor's.
struct CompositorPlan {
  std::uint32_t version = 4; // of zwp_linux_dmabuf_v1; 0: it has none
  std::vector<Format> table; // all pairs
  std::uint64_t main_device = 0;
  std::vector<CompositorTranche> tranches;          // of the default feedback
  std::vector<CompositorTranche> surface_tranches;  // of a surface's
  std::size_t device_bytes = sizeof(std::uint64_t); // of arrays with a device
  std::size_t table_bytes_missing = 0;              // at the end of the file
  std::uint32_t table_size = 0;                     // what is said of it; 0: its real size
  bool table_is_a_pipe = false;
  bool odd_indices = false; // one byte too many in each array
  bool says_done = true;
  bool hangs_up = false; // instead of `done`
  bool endless = false;  // tranches until the client has enough
};

class Compositor {
public:
  explicit Compositor(CompositorPlan plan);
  Compositor(const Compositor &) = delete;
  Compositor &operator=(const Compositor &) = delete;
  ~Compositor();

private:
  struct Server;
  std::unique_ptr<Server> server_;
};

} // namespace gstdrm::test
