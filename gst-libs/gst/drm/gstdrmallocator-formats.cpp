// SPDX-License-Identifier: LGPL-2.1-or-later
// What an allocator of linear frames can make.
#include <vector>

#include "core/format.hpp"
#include "core/format_set.hpp"
#include "gstdrmallocator-private.hpp"
#include "gstdrmformat.h"
#include "gstdrmformatset-private.hpp"

namespace gstdrm {

// A big-endian variant is laid out as the fourcc itself, so every one could be planned; only those
// that GStreamer has a video format for are listed, or each 8-bit fourcc would stand there twice.
GstDrmFormatSet *linear_formats()
{
  std::vector<Format> pairs;
  pairs.reserve(known_fourccs().size() + 8);
  for (const FourccInfo &info : known_fourccs()) {
    pairs.push_back({info.fourcc, kModLinear});
    const std::uint32_t big_endian = info.fourcc | kFourccBigEndian;
    if (gst_drm_format_to_video_format(big_endian, GST_DRM_MODIFIER_LINEAR) !=
        GST_VIDEO_FORMAT_UNKNOWN)
      pairs.push_back({big_endian, kModLinear});
  }
  return wrap_format_set(FormatSet::from_pairs(std::move(pairs)));
}

} // namespace gstdrm
