// SPDX-License-Identifier: LGPL-2.1-or-later
// Displays of real drivers, as their sources say they behave. A profile is a list of facts; each
// fact is one setting of the fake libdrm (fake_model.hpp), with the source file that shows it.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace gstdrm::test::fakedrm {

struct Fact {
  std::string_view setting; // "key=value"; empty: the fake libdrm does so for every profile
  std::string_view what;    // in words
  std::string_view source;  // file of the driver, under Profile::root
};

struct Profile {
  std::string_view name;
  std::string_view driver; // with the version that was read, and the hardware
  std::string_view root;   // what the files are relative to
  std::span<const Fact> facts;
};

std::span<const Profile> all_profiles();
// Error text: names the profiles that there are; null: there is none of that name.
const Profile *find_profile(std::string_view name, std::string &error);

// What the kernel itself does for every driver.
const Profile &core_profile();

} // namespace gstdrm::test::fakedrm
