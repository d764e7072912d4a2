// SPDX-License-Identifier: LGPL-2.1-or-later
// Real drivers, as their sources say they behave. A profile is a list of facts; each fact is one
// setting of the test driver, with the driver's version and the source file that shows it.
#pragma once

#include <span>
#include <string_view>

namespace gstdrm::test::vadriver {

struct Fact {
  std::string_view setting; // "key=value"
  std::string_view what;    // in words
  std::string_view source;  // file of the driver, under Profile::root
};

struct Profile {
  std::string_view name;
  std::string_view driver; // with the version that was read
  std::string_view root;   // what the files are relative to
  std::span<const Fact> facts;
};

std::span<const Profile> all_profiles();
const Profile *find_profile(std::string_view name); // nullptr: there is none

} // namespace gstdrm::test::vadriver
