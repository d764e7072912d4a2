// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads a GstVideoInfo that anybody may have filled. Never installed.
#pragma once

#include <cstring>
#include <type_traits>

#include <gst/video/video.h>

namespace gstdrm {

// The number in an enum field that somebody else filled: it may be none of the enum's values, and
// C++ lets nobody read such a one as the enum.
template <typename Enum> gint number_in(const Enum &field)
{
  static_assert(std::is_enum_v<Enum> && sizeof(Enum) == sizeof(gint));
  gint number = 0;
  std::memcpy(&number, &field, sizeof number);
  return number;
}

// GST_VIDEO_INFO_FORMAT() of an info that may have been zeroed only, or have an unknown format.
inline GstVideoFormat format_of(const GstVideoInfo &vinfo)
{
  return vinfo.finfo ? GST_VIDEO_INFO_FORMAT(&vinfo) : GST_VIDEO_FORMAT_UNKNOWN;
}

} // namespace gstdrm
