// SPDX-License-Identifier: LGPL-2.1-or-later
#include "machine.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <set>
#include <sstream>
#include <tuple>

namespace inspect {

namespace {

// No real table has so many; a hostile file must not use up the memory.
constexpr std::size_t kMaxPairs = 65536;

// Four characters, or 0x and eight digits for a fourcc with spaces. Returns 0 for anything else.
std::uint32_t parse_fourcc(const std::string &word)
{
  if (word.size() == 10 && word.starts_with("0x")) {
    guint64 number = 0;
    if (g_ascii_string_to_unsigned(word.c_str() + 2, 16, 1, G_MAXUINT32, &number, nullptr))
      return static_cast<std::uint32_t>(number);
    return 0;
  }
  std::uint32_t fourcc = 0;
  std::uint64_t modifier = 0;
  if (!gst_drm_format_parse(word.c_str(), &fourcc, &modifier, nullptr) || modifier != 0)
    return 0;
  return fourcc;
}

bool parse_line(const std::string &line, Pair &pair)
{
  std::istringstream words(line);
  std::string fourcc;
  std::string modifier;
  std::string external;
  std::string more;
  if (!(words >> fourcc >> modifier >> external) || words >> more ||
      (external != "0" && external != "1") || !modifier.starts_with("0x"))
    return false;
  guint64 number = 0;
  if (!g_ascii_string_to_unsigned(modifier.c_str() + 2, 16, 0, G_MAXUINT64, &number, nullptr))
    return false;
  pair = {parse_fourcc(fourcc), number, external == "1", 0};
  return pair.fourcc != 0;
}

// The line of a table with the fourccs that have no modifiers.
constexpr std::string_view kImplicitLine =
    "# formats advertised with no explicit modifier (implicit only): ";

// Returns false if a word is no fourcc.
bool parse_implicit(const std::string &list, std::vector<Pair> &pairs)
{
  std::istringstream words(list);
  for (std::string word; words >> word && word != "-";) {
    const std::uint32_t fourcc = parse_fourcc(word);
    if (fourcc == 0)
      return false;
    pairs.push_back({fourcc, GST_DRM_MODIFIER_IMPLICIT, false, 0});
  }
  return true;
}

} // namespace

Outcome<Source> parse_table(std::string_view text, const std::string &name)
{
  Source source;
  source.kind = "table";
  source.name = name;
  std::istringstream lines{std::string(text)};
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    number++;
    bool good = true;
    Pair pair;
    if (line.starts_with(kImplicitLine)) {
      good = parse_implicit(line.substr(kImplicitLine.size()), source.pairs);
    } else if (line.starts_with("# gl renderer: ")) {
      source.driver = printable(line.substr(15));
    } else if (!line.empty() && line.front() != '#') {
      good = parse_line(line, pair);
      source.pairs.push_back(pair);
    }
    if (!good || source.pairs.size() > kMaxPairs)
      return Failure{"line " + std::to_string(number) + " of " + printable(name) +
                     " is no `FOURCC 0xMODIFIER EXTERNAL_ONLY`, or one too many"};
  }
  if (source.pairs.empty())
    return Failure{printable(name) + " has no line `FOURCC 0xMODIFIER EXTERNAL_ONLY`"};
  tidy(source.pairs);
  return source;
}

void tidy(std::vector<Pair> &pairs)
{
  const auto key = [](const Pair &pair) { return std::tie(pair.fourcc, pair.modifier); };
  std::stable_sort(pairs.begin(), pairs.end(),
                   [&](const Pair &a, const Pair &b) { return key(a) < key(b); });
  const auto last = std::unique(pairs.begin(), pairs.end(),
                                [&](const Pair &a, const Pair &b) { return key(a) == key(b); });
  pairs.erase(last, pairs.end());
}

Set to_set(const Source &source)
{
  Set set(gst_drm_format_set_new());
  for (const Pair &pair : source.pairs)
    gst_drm_format_set_add(set.get(), pair.fourcc, pair.modifier);
  return set;
}

std::string fourcc_name(std::uint32_t fourcc)
{
  const Text text(gst_drm_format_to_string(fourcc, GST_DRM_MODIFIER_LINEAR));
  return text ? text.get() : "????";
}

std::string modifier_name(std::uint64_t modifier)
{
  if (modifier == GST_DRM_MODIFIER_IMPLICIT)
    return "implicit";
  const Text text(gst_drm_modifier_describe(modifier));
  return text.get();
}

std::string hex(std::uint64_t modifier)
{
  char text[24];
  std::snprintf(text, sizeof(text), "0x%016" PRIx64, modifier);
  return text;
}

std::string printable(std::string_view text)
{
  std::string safe(text);
  std::replace_if(
      safe.begin(), safe.end(), [](unsigned char byte) { return byte < 0x20 || byte == 0x7f; },
      '?');
  const Text valid(g_utf8_make_valid(safe.c_str(), static_cast<gssize>(safe.size())));
  return valid.get();
}

std::string shorten(const std::string &text, std::size_t most)
{
  if (text.size() <= most)
    return text;
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) // within a character
    end--;
  return text.substr(0, end) + "...";
}

std::string quote(const std::string &text)
{
  std::string quoted = "\"";
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\')
      quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::string describe(const Source &source)
{
  std::string text = source.description;
  if (!source.driver.empty())
    text += (text.empty() ? "" : " of ") + source.driver;
  if (!source.device.empty())
    text += (text.empty() ? "" : ", ") + source.device;
  return printable(text);
}

std::string count(std::size_t n, const char *singular, const char *plural)
{
  return std::to_string(n) + " " + (n == 1 ? singular : plural);
}

std::size_t count_fourccs(const std::vector<Pair> &pairs)
{
  std::set<std::uint32_t> fourccs;
  for (const Pair &pair : pairs)
    fourccs.insert(pair.fourcc);
  return fourccs.size();
}

std::vector<std::string> wrap(const std::vector<std::string> &names, std::size_t width)
{
  std::vector<std::string> lines(1);
  for (const std::string &padded : names) {
    // for "R8  "
    const std::string name = padded.substr(0, padded.find_last_not_of(' ') + 1);
    if (!lines.back().empty() && lines.back().size() + 1 + name.size() > width)
      lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + name;
  }
  return lines;
}

} // namespace inspect
