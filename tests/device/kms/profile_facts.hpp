// SPDX-License-Identifier: LGPL-2.1-or-later
// The facts of display_profiles.cpp, for a device of the box's vkms.
#pragma once

#include <string>

#include "configfs_support.hpp"
#include "support/check_main.hpp"
#include "unit/kms/display_profiles.hpp"

namespace gstdrm::test {

inline DisplayFacts facts_of(const std::string &name)
{
  std::string error;
  const fakedrm::Profile *profile = fakedrm::find_profile(name, error);
  ck_assert_msg(profile != nullptr, "%s", error.c_str());
  DisplayFacts display;
  for (const fakedrm::Fact &fact : profile->facts)
    display.facts.push_back(fact.setting);
  return display;
}

} // namespace gstdrm::test
