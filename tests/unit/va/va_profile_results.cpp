// SPDX-License-Identifier: LGPL-2.1-or-later
// docs/drivers.md says which rows run on each profile of the VA-API test driver. The table is made
// of the rows themselves, in the sources of the device tests.
#include <array>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "support/page_tables.hpp"
#include "va-driver/profiles.hpp"

namespace {

using namespace gstdrm::test;

struct Column {
  std::string_view title;
  std::string_view source; // in tests/device/va
  std::string_view test;   // as meson lists it
  bool needed = true;      // of every profile
};
constexpr std::array kColumns = {
    Column{"negotiation", "va_negotiation", "va_negotiation"},
    Column{"600 frames", "va_src", "va_src"},
    Column{"patterns", "va_src_pictures", "va_src_pictures"},
    Column{"600 frames and pixels of the converter", "va_convert", "va_convert"},
    Column{"layouts", "va_layouts", "va_layouts"},
    Column{"pairs", "va_convert_pairs", "va_convert_pairs"},
    Column{"colours", "va_convert_colours", "va_convert_colours"},
    Column{"crops, fences", "va_convert_metas", "va_convert_metas"},
    Column{"producers' fences", "va_convert_fences", "va_convert_fences_virtual"},
    Column{"fields", "va_deinterlace", "va_deinterlace"},
    Column{"allocations", "va_allocations", "va_allocations"},
    Column{"limits, failures", "va_limits", "va_limits"},
    Column{"unplugged", "va_unplugged", "va_unplugged"},
    Column{"a display's pixels", "va_convert_kms", "va_convert_kms"},
};

// "profile=NAME" and "profile=NAME,..." in a source.
unsigned rows_of(const std::string &text, std::string_view profile)
{
  const std::string name = "\"profile=" + std::string(profile);
  unsigned rows = 0;
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const char behind = text[at + name.size()];
    rows += behind == '"' || behind == ',' ? 1 : 0;
  }
  return rows;
}

std::string results_as_markdown()
{
  std::string text = "| profile |";
  std::string line = "|---|";
  for (const Column &column : kColumns) {
    text += " " + std::string(column.title) + " (`" + std::string(column.test) + "`) |";
    line += "---|";
  }
  text += "\n" + line + "\n";
  for (const vadriver::Profile &profile : vadriver::all_profiles()) {
    text += "| " + std::string(profile.name) + " |";
    for (const Column &column : kColumns) {
      const unsigned rows =
          rows_of(text_of("tests/device/va/" + std::string(column.source) + ".cpp"), profile.name);
      EXPECT_TRUE(rows > 0 || !column.needed) << profile.name << ": no row in " << column.source;
      text += " " + std::to_string(rows) + " |";
    }
    text += "\n";
  }
  return text;
}

TEST(ProfileResults, AreTheTableOfTheDocumentation)
{
  expect_table("docs/drivers.md", results_as_markdown);
}

#if !defined(__SANITIZE_THREAD__) // such a build has no device tests
void check_programs(const std::set<std::string> &tests)
{
  for (const Column &column : kColumns) {
#if defined(__SANITIZE_ADDRESS__) // counts what malloc() is asked for
    if (column.test == "va_allocations")
      continue;
#endif
    EXPECT_TRUE(tests.count(std::string(column.test)) == 1) << column.test;
  }
  for (const vadriver::Profile &profile : vadriver::all_profiles())
    for (const auto &outcome : profile.outcomes)
      for (std::istringstream names{std::string(outcome.test)}; names;) {
        std::string name;
        if (!(names >> name))
          break;
        EXPECT_TRUE(tests.count(name.substr(0, name.find(','))) == 1)
            << profile.name << ": " << name;
      }
}

TEST(ProfileResults, AreOfTestsThatThisBuildHas)
{
  check_device_tests(check_programs);
}
#endif

} // namespace
