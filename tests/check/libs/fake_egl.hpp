// SPDX-License-Identifier: LGPL-2.1-or-later
// A libEGL.so.1 of one device, whose display lists formats until the device is removed.
#pragma once

namespace gstdrm::test {

// After so many questions of the list, each fails. ~0U: none does.
__attribute__((visibility("default"))) void answer_questions(unsigned n) noexcept;
// So many questions of the list were answered since then.
__attribute__((visibility("default"))) unsigned questions_answered() noexcept;
// The display knows nothing of a format that it lists, as some drivers do.
__attribute__((visibility("default"))) void forget_format(unsigned fourcc) noexcept;
// Of a GPU that could have a node, and has none; else it is the software device.
__attribute__((visibility("default"))) void be_gpu_without_node(bool is) noexcept;

} // namespace gstdrm::test
