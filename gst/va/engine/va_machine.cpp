// SPDX-License-Identifier: LGPL-2.1-or-later
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "va_formats.hpp"
#include "va_machine.hpp"
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

// --- the report ----------------------------------------------------------------------------------

namespace {

constexpr std::string_view kGreeting = "gst-drm-va-probe " VERSION;
constexpr std::string_view kLog = "log ";
constexpr std::string_view kDriver = "driver ";
constexpr std::string_view kNodeLine = "node ";
constexpr std::string_view kNone = "none ";
constexpr std::string_view kEnd = "end";
constexpr std::array kLevels{LogLevel::Error, LogLevel::Warning, LogLevel::Info,
                             LogLevel::Debug, LogLevel::Log,     LogLevel::Trace};

std::string line_of(std::string_view key, std::string_view text)
{
  return std::string(key) + one_line(text) + '\n';
}

// Parses the lines one by one. Returns false after a fault.
class ReportReader {
public:
  ReportReader(ProbeReport &report, std::string_view path) : report_(report), path_(path) {}

  bool line(std::string_view line)
  {
    if (ended_)
      return wrong("something follows its end");
    if (!is_one_line(line))
      return wrong("it is no text");
    if (!report_.greeted) {
      report_.greeted = line == kGreeting;
      return report_.greeted || wrong("it is not of this version of the plugin");
    }
    if (line.starts_with(kLog))
      return log(line.substr(kLog.size()));
    if (line == kEnd) {
      ended_ = true;
      return answered_ || wrong("it ends without an answer");
    }
    if (answered_)
      return wrong("it has two answers");
    if (line.starts_with(kDriver)) {
      report_.driver = line.substr(kDriver.size());
      return true;
    }
    answered_ = true;
    if (line.starts_with(kNone)) {
      report_.reason = line.substr(kNone.size());
      return !report_.reason.empty() || wrong("it gives no reason");
    }
    return line.starts_with(kNodeLine) ? node(line.substr(kNodeLine.size()))
                                       : wrong("of an unknown kind");
  }

  bool wrong(const char *what)
  {
    report_.fault = what;
    report_.node.reset();
    report_.reason.clear();
    return false;
  }

  [[nodiscard]] bool ended() const { return ended_; }

private:
  bool log(std::string_view line)
  {
    for (const LogLevel level : kLevels) {
      if (line.size() >= 2 && line[1] == ' ' && line[0] - '0' == static_cast<int>(level)) {
        report_.log.push_back({level, std::string(line.substr(2))});
        return true;
      }
    }
    return wrong("a line of its log has no level");
  }

  bool node(std::string_view line)
  {
    report_.node = read_node(line);
    if (!report_.node)
      return wrong("what it says of the node cannot be read");
    return report_.node->path == path_ || wrong("it is of another node");
  }

  ProbeReport &report_;
  std::string_view path_;
  bool answered_ = false;
  bool ended_ = false;
};

} // namespace

std::string report::greeting()
{
  return std::string(kGreeting) + '\n';
}

std::string report::log(LogLevel level, std::string_view text)
{
  return line_of(std::string(kLog) + std::to_string(static_cast<int>(level)) + ' ', text);
}

std::string report::driver(std::string_view name)
{
  return line_of(kDriver, name);
}

std::string report::node(const MachineNode &found)
{
  return std::string(kNodeLine) + write_node(found) + '\n';
}

std::string report::none(std::string_view reason)
{
  return line_of(kNone, reason);
}

std::string report::end()
{
  return std::string(kEnd) + '\n';
}

ProbeReport read_report(std::string_view text, std::string_view path)
{
  ProbeReport report;
  ReportReader reader(report, path);
  if (text.size() > kMaxReport) {
    report.greeted = text.starts_with(std::string(kGreeting) + "\n");
    (void)reader.wrong("it is too long");
    return report;
  }
  while (!text.empty()) {
    const auto end = text.find('\n');
    if (end == std::string_view::npos) {
      (void)reader.wrong("its last line is cut");
      return report;
    }
    if (!reader.line(text.substr(0, end)))
      return report;
    text.remove_prefix(end + 1);
  }
  if (!reader.ended())
    (void)reader.wrong("its end is missing");
  return report;
}

} // namespace gstdrm::va
