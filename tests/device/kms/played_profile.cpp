// SPDX-License-Identifier: LGPL-2.1-or-later
#include "played_profile.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <gst/drm/drm.h>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/video/video.h>

#include "unit/kms/display_profiles.hpp"

namespace gstdrm::test {

namespace {

// nullptr: none is played.
const fakedrm::Profile *profile()
{
  const char *name = std::getenv("GST_DRM_TEST_PROFILE");
  if (!name)
    return nullptr;
  std::string error;
  const fakedrm::Profile *found = fakedrm::find_profile(name, error);
  if (!found) { // asked before any suite runs, too
    std::fprintf(stderr, "GST_DRM_TEST_PROFILE: %s\n", error.c_str());
    std::exit(1);
  }
  return found;
}

// "a:b:c" has "b".
bool lists(std::string_view values, std::string_view wanted)
{
  while (!values.empty()) {
    const std::size_t end = std::min(values.find(':'), values.size());
    if (values.substr(0, end) == wanted)
      return true;
    values.remove_prefix(std::min(end + 1, values.size()));
  }
  return false;
}

} // namespace

bool plays_profile()
{
  return profile() != nullptr;
}

DisplayFacts played_facts(std::size_t outputs)
{
  constexpr std::string_view kVc4 = "planes=primary:overlay*16:cursor", kShare = "planes=primary:overlay*5:cursor";
  DisplayFacts display;
  for (const fakedrm::Fact &fact : profile()->facts)
    if (!fact.setting.starts_with("driver="))
      display.facts.push_back(outputs > 1 && fact.setting == kVc4 ? kShare : fact.setting);
  if (!display_has("writeback="))
    display.facts.push_back("writeback=XR24");
  return display;
}

bool display_has(std::string_view part)
{
  const fakedrm::Profile *played = profile();
  return played && std::any_of(played->facts.begin(), played->facts.end(), [&](const fakedrm::Fact &fact) {
           return fact.setting.find(part) != std::string_view::npos;
         });
}

// pairs=PLANES/FOURCCS/MODIFIERS
bool display_takes(const char *video_format)
{
  const fakedrm::Profile *played = profile();
  if (!played)
    return true;
  guint64 modifier = 0;
  const guint32 code = gst_drm_format_from_video_format(gst_video_format_from_string(video_format), &modifier);
  g_autofree gchar *fourcc = gst_drm_format_to_string(code, modifier);
  return std::any_of(played->facts.begin(), played->facts.end(), [&](const fakedrm::Fact &fact) {
    if (!fact.setting.starts_with("pairs=") || fact.setting.starts_with("pairs=cursor/"))
      return false;
    const std::size_t first = fact.setting.find('/') + 1, second = fact.setting.find('/', first);
    const std::string_view modifiers = fact.setting.substr(second + 1);
    return lists(fact.setting.substr(first, second - first), fourcc) && (lists(modifiers, "linear") || modifiers == "none");
  });
}

bool display_shows(const char *video_format, int width, int height, int mode_width, int mode_height)
{
  const bool covers_alone = display_has("covers=primary") && !display_has(":overlay");
  return display_takes(video_format) && (!covers_alone || (width == mode_width && height == mode_height));
}

// Without COLOR_ENCODING and COLOR_RANGE it is BT.601 in limited range, as vkms composes; every list has 601 and 709.
bool display_converts(const std::string &caps)
{
  if (!plays_profile())
    return true;
  GstVideoInfo info;
  const auto parsed = GstPtr<GstCaps>::adopt(gst_caps_from_string(caps.c_str()));
  if (!parsed || !gst_video_info_from_caps(&info, parsed.get()) || GST_VIDEO_INFO_IS_RGB(&info))
    return true;
  const bool limited = info.colorimetry.range == GST_VIDEO_COLOR_RANGE_16_235;
  if (!display_has("colours="))
    return limited && info.colorimetry.matrix == GST_VIDEO_COLOR_MATRIX_BT601;
  return limited || !display_has("/limited");
}

} // namespace gstdrm::test
