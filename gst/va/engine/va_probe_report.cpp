// SPDX-License-Identifier: LGPL-2.1-or-later
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <array>
#include <utility>

#include "va_probe_report.hpp"
#include "va_text.hpp"

namespace gstdrm::va {
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
