// SPDX-License-Identifier: LGPL-2.1-or-later
// docs/drivers.md says of each display profile what runs on it. The table is made of the rows
// themselves: those that this program has, those in the sources of the device tests, and the list
// that the build makes the boxes of.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "display_profiles.hpp"
#include "profile_rows.hpp"
#include "support/page_tables.hpp"

namespace {

using namespace gstdrm::test;

// "abc" and nullptr of one row, in their order.
std::vector<std::string> values_of(const std::string &line)
{
  std::vector<std::string> values;
  for (std::size_t i = 0; i < line.size(); i++) {
    if (line.compare(i, 7, "nullptr") == 0)
      values.emplace_back();
    if (line[i] != '"')
      continue;
    const std::size_t end = line.find('"', i + 1);
    values.push_back(line.substr(i + 1, end - i - 1));
    i = end;
  }
  return values;
}

// The rows of "const TABLE[] = {", one a line.
std::vector<std::vector<std::string>> rows_of(const std::string &path, const std::string &table)
{
  const std::string text = text_of(path);
  const std::size_t begin = text.find(" " + table + "[] = {\n");
  EXPECT_NE(begin, std::string::npos) << path << ": " << table;
  if (begin == std::string::npos)
    return {};
  std::istringstream lines(text.substr(begin, text.find("\n};", begin) - begin));
  std::vector<std::vector<std::string>> rows;
  std::string line;
  for (std::getline(lines, line); std::getline(lines, line);)
    if (std::vector<std::string> row = values_of(line); row.size() > 2)
      rows.push_back(row);
  return rows;
}

// In the order of their first row, each once.
class List {
public:
  void add(const std::string &word)
  {
    if (std::find(words_.begin(), words_.end(), word) == words_.end())
      words_.push_back(word);
  }
  [[nodiscard]] std::string text() const
  {
    std::string text;
    for (const std::string &word : words_)
      text += (text.empty() ? "" : ", ") + word;
    return text;
  }

private:
  std::vector<std::string> words_;
};

// What the first column says is the profile; of the others: the drm-format, or the format of plain
// caps.
std::string formats_of(const std::vector<std::vector<std::string>> &rows, std::string_view profile)
{
  List formats;
  for (const auto &row : rows)
    if (row[0] == profile)
      formats.add(row[1].empty() ? row[2] + " without modifier" : row[1]);
  return formats.text();
}

std::string count_of(const std::vector<std::vector<std::string>> &rows, std::string_view profile)
{
  return std::to_string(
      std::count_if(rows.begin(), rows.end(), [&](const auto &row) { return row[0] == profile; }));
}

// profile: the programs, as tests/device/meson.build reads them
std::map<std::string, std::string, std::less<>> programs_of_profiles()
{
  std::istringstream lines(text_of("tests/device/kms/over_profiles.txt"));
  std::map<std::string, std::string, std::less<>> programs;
  for (std::string line; std::getline(lines, line);) {
    std::string list = line.substr(line.find(": ") + 2);
    for (std::size_t space = 0; (space = list.find(' ', space)) != std::string::npos; space += 2)
      list.replace(space, 1, ", ");
    programs[line.substr(0, line.find(": "))] = list;
  }
  return programs;
}

std::string results_as_markdown()
{
  const std::string sink = "tests/device/kms/kms_profiles.cpp";
  const auto choices = rows_of(sink, "kChoices"), streams = rows_of(sink, "kStreams"),
             pixels = rows_of(sink, "kPixels"), refusals = rows_of(sink, "kRefusals"),
             pairs = rows_of("tests/device/va/va_kms_profiles.cpp", "kRows");
  auto programs = programs_of_profiles();
  std::string text = "| profile | rows | choices | streams of 600 frames | pixels compared | "
                     "refusals | with a VA-API driver | programs |\n"
                     "|---|---|---|---|---|---|---|---|\n";
  for (const fakedrm::Profile &profile : fakedrm::all_profiles()) {
    const auto rows = std::count_if(std::begin(kRows), std::end(kRows),
                                    [&](const Row &row) { return profile.name == row.profile; });
    List drivers;
    for (const auto &row : pairs)
      if (row[1] == profile.name)
        drivers.add(row[0] + ": " + row.back());
    const std::string shown = formats_of(streams, profile.name),
                      compared = formats_of(pixels, profile.name);
    EXPECT_TRUE(rows > 0 && !shown.empty() && !compared.empty() &&
                !programs[std::string(profile.name)].empty())
        << profile.name;
    text += "| " + std::string(profile.name) + " | " + std::to_string(rows) + " | " +
            count_of(choices, profile.name) + " | " + shown + " | " + compared + " | " +
            count_of(refusals, profile.name) + " | " + drivers.text() + " | " +
            programs[std::string(profile.name)] + " |\n";
  }
  EXPECT_EQ(programs.size(), fakedrm::all_profiles().size());
  return text;
}

TEST(DisplayProfiles, TheirResultsAreTheTableOfTheDocumentation)
{
  expect_table("docs/drivers.md", results_as_markdown);
}

#if !defined(__SANITIZE_THREAD__) // such a build has no device tests
void check_programs(const std::set<std::string> &tests)
{
  for (const char *test : {"kms_profile_rows_virtual", "kms_profiles_virtual"})
    EXPECT_TRUE(tests.count(test) == 1) << test;
  EXPECT_TRUE(tests.count("va_kms_profiles_virtual") ==
              tests.count("va_src")); // the test driver may not be there
#if !defined(__SANITIZE_ADDRESS__) // which the boxes of the other programs have without profiles
  for (const fakedrm::Profile &profile : fakedrm::all_profiles()) {
    std::string name = "kms_over_" + std::string(profile.name);
    std::replace(name.begin(), name.end(), '-', '_');
    EXPECT_TRUE(tests.count(name) == 1) << name;
  }
#endif
}

TEST(DisplayProfiles, TheirResultsAreOfTestsThatThisBuildHas)
{
  check_device_tests(check_programs);
}
#endif

} // namespace
