// SPDX-License-Identifier: LGPL-2.1-or-later
#include "va_machine.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "va_formats.hpp"
#include "va_text.hpp"

namespace gstdrm::va {
namespace {

constexpr std::size_t kMaxFormats = 65536; // pairs of one node
constexpr std::string_view kNode = "node ";
constexpr std::string_view kFailed = "failed ";
constexpr std::string_view kSlow = "slow "; // FailedNode::may_pass

// The words of a line, separated by single blanks.
class Words {
public:
  explicit Words(std::string_view line) : rest_(line) {}

  std::string_view next()
  {
    const auto end = rest_.find(' ');
    const auto word = rest_.substr(0, end);
    rest_ = end == std::string_view::npos ? std::string_view() : rest_.substr(end + 1);
    return word;
  }

  // Only decimal digits, and no more than `most`.
  template <typename T> bool number(T &value, T least, T most)
  {
    const auto word = next();
    const auto read = std::from_chars(word.data(), word.data() + word.size(), value);
    return read.ec == std::errc() && read.ptr == word.data() + word.size() && value >= least &&
           value <= most;
  }

  bool flag(bool &value)
  {
    std::uint32_t number_read = 0;
    const bool read = number<std::uint32_t>(number_read, 0, 1);
    value = number_read == 1;
    return read;
  }

  [[nodiscard]] std::string_view rest() const { return rest_; }

private:
  std::string_view rest_;
};

bool read_deinterlacing(Words &words, std::vector<DeinterlaceMethod> &list)
{
  constexpr auto kLast = static_cast<std::uint32_t>(Deinterlacing::Compensated);
  std::uint32_t count = 0;
  if (!words.number<std::uint32_t>(count, 0, kLast + 1))
    return false;
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint32_t algorithm = 0;
    std::uint32_t before = 0;
    if (!words.number<std::uint32_t>(algorithm, 0, kLast) ||
        !words.number<std::uint32_t>(before, 0, kMostBefore))
      return false;
    list.push_back({static_cast<Deinterlacing>(algorithm), before});
  }
  return true;
}

// Accepts each pair once, and only formats with a VA-API name: the probe finds no others.
bool read_formats(Words &words, std::size_t least, FormatSet &formats)
{
  std::size_t count = 0;
  if (!words.number<std::size_t>(count, least, kMaxFormats))
    return false;
  for (std::size_t i = 0; i < count; ++i) {
    Format pair{};
    if (!words.number<std::uint32_t>(pair.fourcc, 1, std::numeric_limits<std::uint32_t>::max()) ||
        !words.number<std::uint64_t>(pair.modifier, 0, std::numeric_limits<std::uint64_t>::max()) ||
        !format_by_drm(pair.fourcc) || !formats.add(pair))
      return false;
  }
  return true;
}

// Accepts only formats that cannot be drawn into.
bool read_sources(Words &words, Capabilities &c)
{
  if (!read_formats(words, 0, c.sources))
    return false;
  return std::none_of(c.sources.pairs().begin(), c.sources.pairs().end(),
                      [&c](const Format &pair) { return c.formats.contains_fourcc(pair.fourcc); });
}

bool read_capabilities(Words &words, Capabilities &c)
{
  std::uint32_t imports = 0;
  const bool read = words.flag(c.has_vpp) && words.flag(c.takes_modifiers) &&
                    words.flag(c.lists_modifiers) && words.number<std::uint32_t>(imports, 0, 1) &&
                    words.number<std::uint32_t>(c.min_width, 1, kMaxFrameSize) &&
                    words.number<std::uint32_t>(c.min_height, 1, kMaxFrameSize) &&
                    words.number<std::uint32_t>(c.max_width, c.min_width, kMaxFrameSize) &&
                    words.number<std::uint32_t>(c.max_height, c.min_height, kMaxFrameSize);
  c.imports = static_cast<ImportBy>(imports);
  return read && read_deinterlacing(words, c.deinterlacing) && read_formats(words, 1, c.formats) &&
         read_sources(words, c);
}

std::optional<FailedNode> read_failed(std::string_view line)
{
  const bool slow = line.starts_with(kSlow);
  if (!slow && !line.starts_with(kFailed))
    return std::nullopt;
  line.remove_prefix(slow ? kSlow.size() : kFailed.size());
  Words words(line);
  FailedNode failed;
  failed.path = words.next();
  failed.reason = words.rest();
  failed.may_pass = slow;
  if (failed.path.empty() || failed.reason.empty() || !is_one_line(line))
    return std::nullopt;
  return failed;
}

} // namespace

std::string write_node(const MachineNode &node)
{
  const Capabilities &c = node.capabilities;
  std::string line = node.path;
  const auto add = [&line](std::uint64_t number) { line += ' ' + std::to_string(number); };
  for (const bool flag : {c.has_vpp, c.takes_modifiers, c.lists_modifiers})
    add(flag ? 1 : 0);
  add(static_cast<std::uint64_t>(c.imports));
  for (const std::uint32_t side : {c.min_width, c.min_height, c.max_width, c.max_height})
    add(side);
  add(c.deinterlacing.size());
  for (const DeinterlaceMethod &method : c.deinterlacing) {
    add(static_cast<std::uint64_t>(method.algorithm));
    add(method.before);
  }
  for (const FormatSet *set : {&c.formats, &c.sources}) {
    add(set->size());
    for (const Format &pair : set->pairs()) {
      add(pair.fourcc);
      add(pair.modifier);
    }
  }
  return line + ' ' + node.vendor;
}

std::optional<MachineNode> read_node(std::string_view line)
{
  Words words(line);
  MachineNode node;
  node.path = words.next();
  if (node.path.empty() || !is_one_line(line) || !read_capabilities(words, node.capabilities))
    return std::nullopt;
  node.vendor = words.rest();
  return node;
}

std::string write_machine(const Machine &machine)
{
  std::string text;
  for (const MachineNode &node : machine.nodes)
    text += std::string(kNode) + write_node(node) + '\n';
  for (const FailedNode &node : machine.failed)
    text += std::string(node.may_pass ? kSlow : kFailed) + node.path + ' ' + node.reason + '\n';
  return text;
}

std::optional<Machine> read_machine(std::string_view text)
{
  Machine machine;
  while (!text.empty()) {
    const auto end = text.find('\n');
    if (end == std::string_view::npos)
      return std::nullopt;
    const auto line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (line.starts_with(kNode)) {
      auto node = read_node(line.substr(kNode.size()));
      if (!node)
        return std::nullopt;
      machine.nodes.push_back(std::move(*node));
      continue;
    }
    auto failed = read_failed(line);
    if (!failed)
      return std::nullopt;
    machine.failed.push_back(std::move(*failed));
  }
  return machine;
}

} // namespace gstdrm::va
