// SPDX-License-Identifier: LGPL-2.1-or-later
// What the two sources of GstDrmVideoInfo share. Never installed.
#pragma once

#include <cstring>
#include <type_traits>

#include <gst/video/video.h>

#include "core/format.hpp"
#include "gstdrmvideoinfo.h"

namespace gstdrm {

// What GStreamer is told to parse or print in place of an opaque layout: the fourcc's linear
// format; for a fourcc without a name one of the same colour model, which is all that defaults
// depend on.
GstVideoFormat stand_in_format(const Format &format);

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

// What GStreamer makes of plain caps with a format and a size alone. gst_video_info_set_format() is
// not enough: 1.26 gives such caps a chroma site. False: larger than GStreamer can describe.
bool default_video_info(GstVideoInfo &vinfo, GstVideoFormat format, gint width, gint height);

// Keeps all but the format and what follows from it.
void make_opaque(GstVideoInfo &vinfo);

void fill_video_info(GstDrmVideoInfo *info, const GstVideoInfo &vinfo, const Format &pair);

// Which fields the caps did not have that an info was read from, so that they are not written as
// long as they have their defaults; 0 for an info of another origin.
constexpr guint32 kNoColorimetry = 1U << 0;
constexpr guint32 kNoChromaSite = 1U << 1;
template <typename Info> auto &defaulted_fields(Info &info)
{
  static_assert(std::is_same_v<std::remove_const_t<Info>, GstDrmVideoInfo>);
  return info._gst_reserved[0];
}

} // namespace gstdrm
