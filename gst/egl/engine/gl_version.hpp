// SPDX-License-Identifier: LGPL-2.1-or-later
// What a context of GL has, by its version and its list of extensions.
#pragma once

#include "egl_calls.hpp"
#include "egl_driver.hpp"

namespace gstdrm::egl {

// The context is current, as for the functions below.
Names gl_extensions(const GlCalls &gl, const Driver &driver);

// Takes out the functions that the context has not: what a loader finds may be a stub. Of an
// extension's functions those remain that the version lacks, under the names of the version.
void keep_what_is_there(GlCalls &gl, const Driver &driver, const Names &extensions);

// Before there were profiles every context had the fixed functions (OpenGL 3.1, appendix E).
bool has_fixed_functions(const GlCalls &gl, const Driver &driver, const Names &extensions);

// The clip planes of fixed functions have the same names.
unsigned count_clip_distances(const GlCalls &gl, const Driver &driver, const Names &extensions);

// The one of the functions of glGetGraphicsResetStatus() that the driver has: in core since GL ES
// 3.2 and GL 4.5, else of GL_KHR_robustness, GL_EXT_robustness or GL_ARB_robustness. nullptr: none.
PFNGLGETGRAPHICSRESETSTATUSKHRPROC reset_status_function(const GlCalls &gl, const Driver &driver,
                                                         const Names &extensions);

} // namespace gstdrm::egl
