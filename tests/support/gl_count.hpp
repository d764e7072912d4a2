// SPDX-License-Identifier: LGPL-2.1-or-later
// Counts what elements of GStreamer ask of EGL, GL and the GL thread: through the virtual functions
// of GstGLContext and GstGLWindow, by which every element of gstgl gets its functions and its hops.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace gstdrm::test {

// "eglCreateImage", "glGenTextures", "hop" (whoever asks sleeps until the GL thread has been
// there) or "job" (nobody waits for it) to the number of calls.
using GlCalls = std::map<std::string, std::uint64_t>;

// For contexts that are made later. False where there is no GL at all.
bool count_gl();
// Since count_gl(), of all threads.
GlCalls gl_calls();
// When each was called for the last time: its number among all calls but hops and jobs; 0: never.
GlCalls last_gl_calls();

} // namespace gstdrm::test
