// SPDX-License-Identifier: LGPL-2.1-or-later
#include "npu_trace.hpp"

#include <cstdlib>
#include <utility>

#include "support/check_main.hpp"

namespace gstdrm::test {

namespace {

constexpr const char *kTracing = "/sys/kernel/tracing/";

void set(const std::string &file, const std::string &value)
{
  std::ofstream out(kTracing + file);
  out << value << std::flush;
  fail_unless(static_cast<bool>(out), "%s%s", kTracing, file.c_str());
}

} // namespace

Trace::Trace(std::vector<std::string> events) : events_(std::move(events))
{
  set("tracing_on", "0");
  set("buffer_size_kb", "8192");
  std::ofstream(std::string(kTracing) + "trace").close(); // truncating the file empties the buffer
  for (const std::string &event : events_)
    set("events/" + event + "/enable", "1");
  set("tracing_on", "1");
}

Trace::~Trace()
{
  for (const std::string &event : events_)
    set("events/" + event + "/enable", "0");
}

std::vector<std::string> Trace::stop()
{
  set("tracing_on", "0");
  std::ifstream trace(std::string(kTracing) + "trace");
  std::vector<std::string> lines;
  for (std::string line; std::getline(trace, line);) {
    fail_if(line.find("LOST") != std::string::npos, "the kernel's trace buffer was too small");
    if (!line.empty() && line[0] != '#')
      lines.push_back(line);
  }
  return lines;
}

bool is_event(const std::string &line, const std::string &event)
{
  return line.find(" " + event + ": ") != std::string::npos;
}

std::string field_of(const std::string &line, const std::string &name)
{
  const auto at = line.find(" " + name + "=");
  fail_unless(at != std::string::npos, "%s in %s", name.c_str(), line.c_str());
  const auto from = at + name.size() + 2;
  return line.substr(from, line.find(' ', from) - from);
}

// "gst-launch-1.0-3142 [003] d..2. 123.456789: event: ..."
double seconds_of(const std::string &line)
{
  const auto colon = line.find(": ");
  const auto blank = line.rfind(' ', colon);
  return std::strtod(line.c_str() + blank, nullptr);
}

} // namespace gstdrm::test
