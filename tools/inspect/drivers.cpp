// SPDX-License-Identifier: LGPL-2.1-or-later
#include "drivers.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

#include "driver_child.hpp"
#include "gst/drm/core/child_run.hpp"
#include "manifests.hpp"
#include "snapshot.hpp"

namespace inspect {

namespace {

using gstdrm::ChildRun;

constexpr const char *kSwitch = "GST_DRM_PROBE";
constexpr const char *kLimitVariable = "GST_DRM_PROBE_TIMEOUT";
// The limit of the VA-API probe. A GPU needs a second or two to wake up, and a driver another one
// to compile its shaders; a machine under load needs several times as long.
constexpr unsigned kLimitSeconds = 20;
constexpr unsigned kMaxLimitSeconds = 3600;
constexpr std::size_t kMostOutput = 64U << 20; // more than two sources with every pair
constexpr unsigned kMostDevices = 256;         // of one kind; no machine has more

unsigned limit_in_seconds()
{
  const char *text = std::getenv(kLimitVariable);
  const std::string_view word(text ? text : "");
  unsigned seconds = 0;
  const auto read = std::from_chars(word.data(), word.data() + word.size(), seconds);
  const bool good = read.ec == std::errc() && read.ptr == word.data() + word.size();
  return good && seconds >= 1 && seconds <= kMaxLimitSeconds ? seconds : kLimitSeconds;
}

// The output of a process about one device.
struct Answer {
  std::optional<Source> asked; // the source whose driver was asked
  std::vector<Source> sources; // empty if there is no such device
  std::string problem;         // how the process ended; empty if the answer is complete
};

std::string what_happened(const ChildRun &run)
{
  switch (run.end) {
  case ChildRun::End::Killed:
    return "crashed (" + gstdrm::signal_text(run.number) + ")";
  case ChildRun::End::TimeLimit:
    return "gave no answer within " + std::to_string(limit_in_seconds()) + " s (" + kLimitVariable +
           ")";
  case ChildRun::End::TooMuch:
    return "has more to say than any driver";
  case ChildRun::End::Exited:
    return "ended the process that asked it, with status " + std::to_string(run.number);
  case ChildRun::End::Unknown:
    break;
  }
  return "ended in a way that is not known";
}

Answer read_answer(const ChildRun &run)
{
  Answer answer;
  bool has_ended = false;
  std::string_view rest = run.output;
  for (std::size_t end = 0; (end = rest.find('\0')) != std::string_view::npos;
       rest.remove_prefix(end + 1)) {
    const char mark = rest.front();
    Outcome<Machine> part = Failure{};
    if (mark == kAsking || mark == kAnswer)
      part = parse_snapshot(rest.substr(1, end - 1), "an answer");
    if (!part || has_ended) {
      answer.problem = "spoiled the answer";
      return answer;
    }
    has_ended = mark == kAnswer;
    if (has_ended)
      answer.sources = std::move(part.value->sources);
    else if (!part.value->sources.empty())
      answer.asked = std::move(part.value->sources.front());
  }
  if (!has_ended || run.end != ChildRun::End::Exited || run.number != 0)
    answer.problem = what_happened(run);
  return answer;
}

// Returns nullopt if no process can be started here.
std::optional<Answer> ask(const std::string &kind, unsigned number, const std::string &manifest)
{
  std::vector<std::string> words = {"/proc/self/exe", kAskDriver, kind, std::to_string(number),
                                    std::to_string(::getpid())};
  if (!manifest.empty())
    words.push_back(manifest);
  const auto run =
      gstdrm::run_child(words, {std::chrono::seconds(limit_in_seconds()), kMostOutput});
  return run ? std::optional(read_answer(*run)) : std::nullopt;
}

// The sources of one kind, with unique names: "egl:software", "egl:software-2".
class Sources {
public:
  // `base` is their common name, or its part before a colon.
  void add(const std::string &base, std::vector<Source> sources)
  {
    const std::string free = free_name(base);
    for (Source &source : sources) {
      source.name.replace(0, base.size(), free);
      all_.push_back(std::move(source));
    }
  }
  // Adds a source whose driver ended the process. `problem` ends a sentence about the driver.
  void add_lost(Source source, const std::string &problem)
  {
    source.name = free_name(source.name);
    source.problem = "The driver of " + source.name +
                     (source.device.empty() ? "" : " (" + source.device + ")") + " " + problem +
                     ".";
    all_.push_back(std::move(source));
  }
  std::vector<Source> take() { return std::move(all_); }

private:
  [[nodiscard]] std::string free_name(const std::string &base) const
  {
    std::string free = base;
    for (unsigned number = 2; is_taken(free); number++)
      free = base + "-" + std::to_string(number);
    return free;
  }
  [[nodiscard]] bool is_taken(const std::string &base) const
  {
    return std::any_of(all_.begin(), all_.end(), [&base](const Source &other) {
      return other.name == base || other.name.starts_with(base + ":");
    });
  }

  std::vector<Source> all_;
};

enum class Asked {
  All,
  Lost,       // a driver ended the process before it was known which device was asked
  Impossible, // no process can be started here
};

// Asks with the drivers of one manifest, or with all drivers if `manifest` is empty. Sets `problem`
// if it returns Lost.
Asked ask_devices(const std::string &kind, const std::string &manifest, Sources &sources,
                  std::string &problem)
{
  for (unsigned number = 0; number < kMostDevices; number++) {
    std::optional<Answer> answer = ask(kind, number, manifest);
    if (!answer)
      return Asked::Impossible;
    if (!answer->problem.empty() && !answer->asked) {
      problem = std::move(answer->problem);
      return Asked::Lost;
    }
    if (!answer->problem.empty()) {
      sources.add_lost(std::move(*answer->asked), answer->problem);
      continue;
    }
    if (answer->sources.empty())
      break;
    const std::string base = answer->asked ? answer->asked->name : answer->sources.front().name;
    sources.add(base, std::move(answer->sources));
  }
  return Asked::All;
}

// Loads each driver alone, after a process that loaded all of them has ended.
std::vector<Source> ask_each_driver(const std::string &kind, const std::string &problem)
{
  Sources sources;
  const std::vector<std::string> manifests = list_manifests(kind);
  for (const std::string &manifest : manifests) {
    std::string own;
    if (ask_devices(kind, manifest, sources, own) != Asked::Lost)
      continue;
    Source lost;
    lost.kind = kind;
    lost.name = kind + ":" + std::filesystem::path(manifest).stem().string();
    lost.driver = manifest;
    sources.add_lost(std::move(lost), own);
  }
  if (manifests.empty()) {
    Source lost;
    lost.kind = lost.name = kind;
    sources.add_lost(std::move(lost), problem);
  }
  return sources.take();
}

std::vector<Source> ask_all(const std::string &kind)
{
  const char *wish = std::getenv(kSwitch);
  if (wish && std::string_view(wish) == "no")
    return ask_here(kind);
  Sources sources;
  std::string problem;
  switch (ask_devices(kind, "", sources, problem)) {
  case Asked::All:
    return sources.take();
  case Asked::Lost:
    return ask_each_driver(kind, problem);
  case Asked::Impossible: // no pidfds (Linux 5.3), or a sandbox without processes
    break;
  }
  return ask_here(kind);
}

} // namespace

void ask_drivers(const std::string &kind, Machine &machine)
{
  for (Source &source : ask_all(kind))
    machine.sources.push_back(std::move(source));
}

} // namespace inspect
