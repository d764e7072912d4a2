// SPDX-License-Identifier: LGPL-2.1-or-later
// Contexts that are lost to a reset of the GPU: which function of the driver tells, and what it
// means.
#pragma once

#include <set>
#include <string>

#include "egl_calls.hpp"

namespace gstdrm::egl {

struct Driver;

using Names = std::set<std::string, std::less<>>;

// The one of the functions of glGetGraphicsResetStatus() that the driver has: in core since GL ES
// 3.2 and GL 4.5, else of GL_KHR_robustness, GL_EXT_robustness or GL_ARB_robustness. nullptr: none.
PFNGLGETGRAPHICSRESETSTATUSKHRPROC reset_status_function(const GlCalls &gl, const Driver &driver,
                                                         const Names &extensions);

// Whether the context, which is current, was made so that it is lost with a reset, and says so.
// Others are told nothing by their drivers (GL_NO_RESET_NOTIFICATION), and there is nothing to ask.
bool is_told_of_resets(const GlCalls &gl);

// Whether an error of EGL or GL says that the context is lost: EGL_CONTEXT_LOST, GL_CONTEXT_LOST.
bool is_loss(unsigned error) noexcept;

// What a reset status, or an error for which is_loss() holds, says, in a sentence.
std::string describe_loss(unsigned number);

} // namespace gstdrm::egl
