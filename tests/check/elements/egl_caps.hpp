// SPDX-License-Identifier: LGPL-2.1-or-later
// What the tests of egldmabufupload's caps share: texts of caps and pairs, and what a device makes of them.
#pragma once

#include "support/dmabuf_elements.hpp"

#include "element/gsteglcaps.hpp"
#include "element/gsteglformats.hpp"

#define GL "video/x-raw(memory:GLMemory), texture-target="

namespace gstdrm::test {

inline Format pair(const char *text)
{
  const auto parsed = parse_format(text);
  fail_unless(parsed ? true : false, "%s", text);
  return *parsed;
}

inline UploadFormats formats_of(UploadDevice device)
{
  device.planes = plane_pairs(device.images);
  return UploadFormats(device);
}

} // namespace gstdrm::test
