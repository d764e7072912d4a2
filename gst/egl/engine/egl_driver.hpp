// SPDX-License-Identifier: LGPL-2.1-or-later
// The driver of an EGL display and its GL context, by what it says of itself.
#pragma once

#include <cstdint>
#include <string>

namespace gstdrm::egl {

// Who draws, as its strings say.
struct Driver {
  std::string egl_vendor;  // EGL_VENDOR: "Mesa Project"
  std::string egl_version; // EGL_VERSION: "1.5"
  std::string gl_renderer; // GL_RENDERER: "llvmpipe (LLVM 15.0.6, 256 bits)"
  std::string gl_version;  // GL_VERSION: "OpenGL ES 3.2 Mesa 22.3.6"
  std::string node; // path of the render node, else of the card; empty: not known, or no device
  std::uint64_t device = 0;         // st_rdev of that node; 0: not known
  bool is_without_node = false;     // its device could have a node, and has none
  bool is_gles = false;             // else desktop GL
  bool has_fixed_functions = false; // desktop GL that is no core profile
  unsigned clip_distances = 0;      // that can be on; 0: there are none
  bool is_software = false;         // llvmpipe, softpipe, swrast
  unsigned mesa_major = 0;          // 0: not Mesa
  unsigned mesa_minor = 0;
  // "llvmpipe (LLVM 15.0.6, 256 bits), Mesa 22.3.6", for messages
  [[nodiscard]] std::string describe() const;
  // Mesa's drivers of hardware put a fence of each job that reads or writes a shared buffer into
  // the buffer's reservation object, or have the kernel do it. llvmpipe does not, and draws on
  // threads of its own after the call. What other drivers do is not known.
  [[nodiscard]] bool keeps_implicit_fences() const noexcept
  {
    return mesa_major != 0 && !is_software;
  }
  // Whether its OpenGL, or OpenGL ES, is of that version or a later one.
  [[nodiscard]] bool is_gl(unsigned major, unsigned minor) const noexcept;
  // Why it imports no dma-buf, whatever it lists (docs/drivers.md); empty: nothing is known against
  // it.
  [[nodiscard]] std::string import_refusal() const;
};

// Mesa's version in a GL_VERSION string, and whether the renderer is one of Mesa's software ones.
void read_driver_strings(Driver &driver);

} // namespace gstdrm::egl
