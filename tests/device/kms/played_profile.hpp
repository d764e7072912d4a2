// SPDX-License-Identifier: LGPL-2.1-or-later
// The driver whose display the box's vkms plays in this run of a program: GST_DRM_TEST_PROFILE=i915, a profile of
// display_profiles.cpp (over_profile.cpp runs programs like that). Not set: vkms as it is.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "configfs_support.hpp"

namespace gstdrm::test {

bool plays_profile();

// Facts of the profile for a device that a program tests with. Two things are added, so that programs find the device and
// see pixels: its driver's name stays vkms, and it has a writeback connector where the driver has none. vc4's 16 overlays can
// be on any of its displays; a plane of vkms is of one display, so with up to three displays each has 5 of them.
DisplayFacts played_facts(std::size_t outputs);

// Whether a fact of the profile contains `part`; false on vkms as it is.
bool display_has(std::string_view part);

// Whether a plane for pictures takes the GstVideoFormat, "NV12" or "BGRx", in linear memory. vkms as it is: true.
bool display_takes(const char *video_format);

// And whether it shows a picture of that size unscaled in that mode: the planes of some drivers have to cover the screen.
bool display_shows(const char *video_format, int width, int height, int mode_width, int mode_height);

// Whether it can be told the YCbCr matrix and range of these plain caps, or has them without being told.
bool display_converts(const std::string &caps);

} // namespace gstdrm::test
