// SPDX-License-Identifier: LGPL-2.1-or-later
// Pictures on displays of real drivers, and what becomes of them: on the fake libdrm
// (kms_profiles.cpp), and on the box's vkms (tests/device/kms/kms_profile_rows.cpp).
#pragma once

#include <cstdint>

#include <drm_fourcc.h>
#include <drm_mode.h>

#include <gst/drm/core/format.hpp>

namespace gstdrm::test {

constexpr std::uint64_t kNone = kModImplicit; // of drivers without modifiers

struct Row {
  const char *profile;
  std::uint32_t fourcc;
  std::uint64_t modifier;
  std::uint32_t width, height;
  std::uint32_t rotation; // DRM_MODE_ROTATE_*
  const char
      *expected; // the beginning of the outcome, or a part of a refusal; planes count from 30
};

#include "kms_profile_rows.inc"

} // namespace gstdrm::test
