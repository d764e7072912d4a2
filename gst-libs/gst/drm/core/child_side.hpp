// SPDX-License-Identifier: LGPL-2.1-or-later
// For a program that loads drivers to ask them, and that run_child() (child_run.hpp) started.
#pragma once

#include <string_view>

#include <sys/types.h>

#include "unique_fd.hpp"

namespace gstdrm {

// Closes all but the standard descriptors: what the parent left open is none of a driver's.
void close_inherited() noexcept;

// This process ends with its parent from now on. False: the parent has gone already.
bool end_with(pid_t parent) noexcept;

// The standard output as a descriptor of its own, which no library knows: what a driver prints
// there goes to the standard error from now on. Without a descriptor: there is none left.
UniqueFd take_standard_output() noexcept;

// Writes all of it. False: whoever reads has gone.
bool write_all(int fd, std::string_view text) noexcept;

} // namespace gstdrm
