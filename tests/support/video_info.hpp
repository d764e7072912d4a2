// SPDX-License-Identifier: LGPL-2.1-or-later
// "video/x-raw, ..." as a GstVideoInfo.
#pragma once

#include <string>

#include <gst/check/gstcheck.h>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/video/video.h>

namespace gstdrm::test {

inline GstVideoInfo video_info(const std::string &plain)
{
  const auto caps = GstPtr<GstCaps>::adopt(gst_caps_from_string(plain.c_str()));
  GstVideoInfo info;
  fail_unless(gst_video_info_from_caps(&info, caps.get()), "%s", plain.c_str());
  return info;
}

} // namespace gstdrm::test
