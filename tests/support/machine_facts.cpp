// SPDX-License-Identifier: LGPL-2.1-or-later
#include "machine_facts.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <stdexcept>

namespace gstdrm::test {

namespace {

std::string join(const std::vector<std::string> &words)
{
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : ":") + word;
  return text;
}

std::string name_of(std::uint32_t fourcc)
{
  const std::string name = fourcc_to_string(fourcc);
  if (name.size() != 4 || name.find(' ') != std::string::npos)
    throw std::runtime_error("facts have no name for " + name);
  return name;
}

std::string modifier_of(std::uint64_t modifier)
{
  constexpr std::size_t kDigits = 16;
  std::string digits(kDigits, '0');
  for (std::size_t i = kDigits; i > 0; i--, modifier >>= 4)
    digits[i - 1] = "0123456789abcdef"[modifier & 15];
  return "0x" + digits;
}

// "primary plane": the first word
std::string type_of(const SavedSource &plane)
{
  const std::string type = plane.description.substr(0, plane.description.find(' '));
  if (type != "primary" && type != "overlay" && type != "cursor")
    throw std::runtime_error(plane.name + " is no plane: " + plane.description);
  return type;
}

} // namespace

std::vector<SavedSource> planes_of_card(const std::vector<SavedSource> &machine,
                                        const std::string &card)
{
  std::vector<SavedSource> planes;
  std::copy_if(machine.begin(), machine.end(), std::back_inserter(planes),
               [&](const SavedSource &source) {
                 return source.kind == "kms" && source.name.starts_with("kms:" + card + ":");
               });
  return planes;
}

std::vector<std::string> facts_of_card(const std::vector<SavedSource> &machine,
                                       const std::string &card)
{
  const std::vector<SavedSource> planes = planes_of_card(machine, card);
  if (planes.empty())
    throw std::runtime_error("the machine has no planes of " + card);
  std::vector<std::string> types;
  std::vector<std::string> pairs;
  bool is_implicit = false;
  bool is_explicit = false;
  for (std::size_t i = 0; i < planes.size(); i++) {
    types.push_back(type_of(planes[i]));
    std::map<std::uint64_t, std::vector<std::string>> fourccs; // by modifier
    for (const Format &format : planes[i].formats)
      fourccs[format.modifier].push_back(name_of(format.fourcc));
    for (const auto &[modifier, names] : fourccs) {
      (modifier == kModImplicit ? is_implicit : is_explicit) = true;
      pairs.push_back("pairs=" + std::to_string(i) + "/" + join(names) + "/" +
                      (modifier == kModImplicit ? "none" : modifier_of(modifier)));
    }
  }
  if (is_implicit && is_explicit)
    throw std::runtime_error(card + " has planes with modifiers and planes without");
  std::vector<std::string> facts{"driver=" + planes[0].driver, "planes=" + join(types)};
  facts.insert(facts.end(), pairs.begin(), pairs.end());
  return facts;
}

} // namespace gstdrm::test
