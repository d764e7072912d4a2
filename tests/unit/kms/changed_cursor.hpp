// SPDX-License-Identifier: LGPL-2.1-or-later
// A cursor that changes, for tests of when a flip queue commits it.
#pragma once

#include <cstddef>
#include <memory>

#include "gst/kms/engine/commit/kms_flip_queue.hpp"

namespace gstdrm::test {

// Another image each time. The queue compares images and reads none, so this is none.
inline void change_cursor(kms::FlipQueue &queue)
{
  const auto image = std::make_shared<std::max_align_t>();
  queue.set_cursor_image({image, reinterpret_cast<kms::DumbBuffer *>(image.get())});
}

} // namespace gstdrm::test
