// SPDX-License-Identifier: LGPL-2.1-or-later
// How many objects of GL are alive, of whatever element: those that GStreamer and this project's
// elements make through the functions of a GstGLContext.
#pragma once

namespace gstdrm::test {

// For contexts that are made later. False where no context of EGL has been made yet.
bool count_gl_objects();
// Textures, framebuffers, buffers, vertex arrays, shaders and programs that were made and not
// deleted since count_gl_objects(). Those that ended with their context count as alive.
int live_gl_objects();

} // namespace gstdrm::test
