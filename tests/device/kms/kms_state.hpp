// SPDX-License-Identifier: LGPL-2.1-or-later
// What is on the display of vkms, seen and changed by another program than the sink.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "kms_support.hpp"

namespace gstdrm::test {

// An open file of its own, which is master where nobody else is.
int open_vkms();

// "object id:property" to value, of everything that a commit can change
using State = std::map<std::string, std::uint64_t>;

State read_state(int fd);
// The first property that differs; empty: none.
std::string difference(const State &before, const State &after);
void expect_same(const State &before, const State &after);

// Another program's picture: the first connector's second mode, a dumb buffer on the primary plane.
// The framebuffer's id.
std::uint32_t show_something(int fd);

} // namespace gstdrm::test
