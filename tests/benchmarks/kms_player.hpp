// SPDX-License-Identifier: LGPL-2.1-or-later
// Plays a stream of dma-bufs into a video sink, frame by frame, as an application with buffers of
// its own.
#pragma once

#include <cstdint>

namespace gstdrm::bench {

enum class Wrap {
  Same,  // the same GstMemory each time
  Fresh, // a new GstMemory around the same descriptor
  Dup,   // a new GstMemory around a dup of the descriptor
};

struct Play {
  const char *sink = ""; // "kmssink driver-name=vkms"
  Wrap wrap = Wrap::Same;
  bool sync = false; // against the clock, at 60 frames a second
  unsigned frames = 0;
};

// 1024x768 XR24 from four udmabufs in rotation. Returns an exit status.
int play(const Play &request);

} // namespace gstdrm::bench
