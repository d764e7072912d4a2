// SPDX-License-Identifier: LGPL-2.1-or-later
// Samples of a test's own in a frame's plane.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <sys/mman.h>

#include <gst/drm/core/frame_layout.hpp>
#include <gst/drm/core/sync_file.hpp>

#include "support/check_main.hpp"

namespace gstdrm::test {

// Words of 16 bits, the upper 10 of which are `value_of(word, row)`.
inline void write_plane(const PlaneLayout &plane, int rows, int words, const auto &value_of)
{
  const auto access = CpuAccess::begin(plane.fd, DmaBufAccess::Write);
  fail_unless(static_cast<bool>(access));
  void *map =
      ::mmap(nullptr, plane.object.size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, plane.fd, 0);
  fail_unless(map != MAP_FAILED);
  for (int y = 0; y < rows; y++)
    for (int i = 0; i < words; i++) {
      const auto word = static_cast<std::uint16_t>(static_cast<unsigned>(value_of(i, y)) << 6);
      std::memcpy(static_cast<std::uint8_t *>(map) + plane.offset_bytes +
                      static_cast<std::size_t>(y) * plane.stride_bytes +
                      static_cast<std::size_t>(i) * sizeof(word),
                  &word, sizeof(word));
    }
  ::munmap(map, plane.object.size_bytes);
}

} // namespace gstdrm::test
