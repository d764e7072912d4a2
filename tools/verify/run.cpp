// SPDX-License-Identifier: LGPL-2.1-or-later
#include "run.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <gst/drm/core/child_run.hpp>

#include "../inspect/snapshot.hpp"

namespace verify {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::seconds;

constexpr std::chrono::milliseconds kPeriod{20};
constexpr seconds kGrace{5}; // to end after SIGINT, and once more; to end a trace

// Traces; one that is being written has another ending.
std::vector<std::filesystem::path> traces_in(const std::filesystem::path &folder)
{
  std::vector<std::filesystem::path> found;
  std::error_code error;
  for (const auto &entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().extension() == ".json")
      found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

// An own folder for the files of the tracer, one for each process.
class Folder {
public:
  Folder()
  {
    GError *error = nullptr;
    const inspect::Text path(g_dir_make_tmp("gst-drm-verify-XXXXXX", &error));
    if (error) {
      problem = error->message;
      g_error_free(error);
    } else {
      path_ = path.get();
    }
  }
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;
  ~Folder()
  {
    std::error_code ignored;
    if (!path_.empty())
      std::filesystem::remove_all(path_, ignored);
  }

  // Changes while frames flow, because the tracer writes its file anew.
  [[nodiscard]] std::filesystem::file_time_type newest() const
  {
    auto newest = std::filesystem::file_time_type::min();
    for (const std::filesystem::path &file : traces_in(path_)) {
      std::error_code error;
      const auto time = std::filesystem::last_write_time(file, error);
      if (!error)
        newest = std::max(newest, time);
    }
    return newest;
  }
  [[nodiscard]] const std::string &path() const { return path_; }
  std::string problem;

private:
  std::string path_;
};

// The environment in which GStreamer loads the tracer, beside those that the user wants.
std::vector<std::string> environment_for(const Folder &folder, const Limits &limits)
{
  std::vector<std::string> environment;
  std::string tracers = "drmverify(frames=" + std::to_string(limits.frames) + ")";
  for (char **variable = environ; *variable; variable++) {
    const std::string_view text(*variable);
    if (text.starts_with("GST_TRACERS="))
      tracers = std::string(text.substr(text.find('=') + 1)) + ";" + tracers;
    else if (!limits.draws || !text.starts_with("GST_DEBUG_DUMP_DOT_DIR="))
      environment.emplace_back(text);
  }
  environment.push_back("GST_TRACERS=" + tracers);
  environment.push_back("GST_DRM_VERIFY_FILE=" + folder.path() + "/%p.json");
  if (limits.draws)
    environment.push_back("GST_DEBUG_DUMP_DOT_DIR=" + folder.path());
  return environment;
}

std::vector<char *> pointers(const std::vector<std::string> &texts)
{
  std::vector<char *> all;
  for (const std::string &text : texts)
    all.push_back(const_cast<char *>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

// Ctrl-C at the terminal ends the program and not its report.
volatile std::sig_atomic_t interrupted = 0;
void on_interrupt(int) noexcept
{
  interrupted = 1;
}

// A program in a process group of its own.
class Child {
public:
  std::string start(const std::vector<std::string> &argv,
                    const std::vector<std::string> &environment)
  {
    GError *error = nullptr;
    std::vector<char *> words = pointers(argv);
    std::vector<char *> variables = pointers(environment);
    const auto flags = static_cast<GSpawnFlags>(G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_SEARCH_PATH);
    if (g_spawn_async(
            nullptr, words.data(), variables.data(), flags, [](gpointer) { ::setpgid(0, 0); },
            nullptr, &pid_, &error))
      return {};
    const std::string problem = error->message;
    g_error_free(error);
    return problem;
  }
  // The status of waitpid(), once it has ended.
  std::optional<int> ended()
  {
    int status = 0;
    return ::waitpid(pid_, &status, WNOHANG) == pid_ ? std::optional(status) : std::nullopt;
  }
  void signal(int number) const { ::kill(-pid_, number); }

private:
  GPid pid_ = 0;
};

// What ended the program, for the user; empty if it ended well, or as it was asked to.
std::string problem_of(int status, bool asked)
{
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    if (asked && number == SIGINT)
      return {};
    return "the program was ended by " + gstdrm::signal_text(number);
  }
  if (asked || WEXITSTATUS(status) == 0)
    return {};
  return "the program ended with status " + std::to_string(WEXITSTATUS(status));
}

// Waits for the end of the program, and brings it about at a limit.
std::string watch(Child &child, const Folder &folder, const Limits &limits)
{
  auto newest = std::filesystem::file_time_type::min();
  std::optional<Clock::time_point> first_frame;
  Clock::time_point last_frame = Clock::now();
  std::optional<Clock::time_point> asked;
  int asks = 0;
  std::string problem;
  const auto ask = [&](int number) {
    asked = Clock::now();
    asks++;
    child.signal(number);
  };
  while (true) {
    if (const std::optional<int> status = child.ended())
      return problem.empty() ? problem_of(*status, asked || limits.frames > 0) : problem;
    const auto now = Clock::now();
    if (const auto time = folder.newest(); time != newest) {
      newest = time;
      last_frame = now;
      first_frame = first_frame.value_or(now);
    }
    if (!asked && interrupted) {
      ask(SIGINT);
    } else if (!asked && limits.seconds && first_frame &&
               now - *first_frame >= seconds(limits.seconds)) {
      ask(SIGINT);
    } else if (!asked && now - last_frame >= seconds(limits.timeout_s)) {
      problem = first_frame ? "no frame for " : "no frame reached a pad within ";
      problem += inspect::count(limits.timeout_s, "second", "seconds");
      ask(SIGINT);
    } else if (asked && now - *asked >= kGrace) {
      if (problem.empty())
        problem = "the program does not end when it is interrupted";
      ask(asks > 1 ? SIGKILL : SIGTERM);
    }
    std::this_thread::sleep_for(kPeriod);
  }
}

// Names of several processes are told apart by the program's.
void append(Trace &all, Trace &&more)
{
  for (Element &element : more.elements)
    element.name = more.program + ":" + element.name;
  for (Link &link : more.links) {
    link.from = more.program + ":" + link.from;
    link.to = more.program + ":" + link.to;
  }
  for (Mapping &mapping : more.mappings)
    mapping.by = more.program + ":" + mapping.by;
  const auto move = [](auto &from, auto &to) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  all.program += (all.program.empty() ? "" : ", ") + more.program;
  all.finished &= more.finished;
  all.attachments_known &= more.attachments_known;
  all.descriptors_at_start += more.descriptors_at_start;
  all.descriptors_at_end += more.descriptors_at_end;
  move(more.elements, all.elements);
  move(more.links, all.links);
  move(more.mappings, all.mappings);
  move(more.dmabufs, all.dmabufs);
}

Outcome<Trace> read_all(const std::vector<std::filesystem::path> &paths)
{
  std::vector<Trace> traces;
  for (const std::filesystem::path &path : paths) {
    Outcome<Trace> trace = read_trace(path);
    if (!trace)
      return trace;
    traces.push_back(std::move(*trace.value));
  }
  if (traces.size() == 1)
    return std::move(traces[0]);
  Trace all;
  all.finished = all.attachments_known = true;
  for (Trace &trace : traces)
    append(all, std::move(trace));
  return all;
}

// What the program last drew of a pipeline that had its caps: gst-launch-1.0 draws each change of
// state, and names the file by it.
std::string last_drawing(const Folder &folder)
{
  auto newest = std::filesystem::file_time_type::min();
  std::filesystem::path last;
  std::error_code error;
  for (const auto &entry : std::filesystem::directory_iterator(folder.path(), error)) {
    const std::string name = entry.path().filename();
    if (!name.ends_with(".dot") || name.ends_with("_READY.dot") || name.ends_with("_NULL.dot"))
      continue;
    const auto time = entry.last_write_time(error);
    if (last.empty() || time >= newest) {
      newest = time;
      last = entry.path();
    }
  }
  if (last.empty())
    return "";
  const Outcome<std::string> text = inspect::read_file(last);
  return text ? *text.value : "";
}

// For the tracer of a program that runs; one that has ended looks at nothing.
std::filesystem::path stop_file(const std::filesystem::path &trace)
{
  return trace.string() + ".stop";
}

} // namespace

Outcome<Trace> read_trace(const std::filesystem::path &path)
{
  const Outcome<std::string> text = inspect::read_file(path);
  return text ? parse_trace(*text.value, path) : text.failure;
}

Outcome<std::string> start_recording(const std::filesystem::path &folder)
{
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const bool is_empty = !error && std::filesystem::is_empty(folder, error);
  const std::string name = inspect::printable(folder.string());
  if (error)
    return Failure{"cannot make " + name + ": " + error.message()};
  if (!is_empty)
    return Failure{name + " is not empty: the traces of another recording may be in it"};
  const inspect::Text file(
      g_shell_quote((std::filesystem::absolute(folder) / "%p.json").string().c_str()));
  return "export GST_TRACERS=drmverify GST_DRM_VERIFY_FILE=" + std::string(file.get()) + "\n";
}

Outcome<Run> stop_recording(const std::filesystem::path &traces)
{
  std::error_code error;
  const bool is_folder = std::filesystem::is_directory(traces, error);
  const auto paths = is_folder ? traces_in(traces) : std::vector{traces};
  for (const std::filesystem::path &path : paths) {
    const Outcome<Trace> trace = read_trace(path);
    if (!trace)
      return trace.failure;
    if (!trace.value->finished)
      if (const std::string problem = inspect::write_file(stop_file(path), ""); !problem.empty())
        return Failure{problem};
  }
  const auto is_asked = [](const std::filesystem::path &path) {
    return std::filesystem::exists(stop_file(path));
  };
  const Clock::time_point start = Clock::now();
  while (std::any_of(paths.begin(), paths.end(), is_asked) && Clock::now() - start < kGrace)
    std::this_thread::sleep_for(kPeriod);
  for (const std::filesystem::path &path : paths)
    std::filesystem::remove(stop_file(path), error);
  Outcome<Trace> trace = read_all(paths);
  if (!trace)
    return trace.failure;
  if (trace.value->links.empty())
    return Failure{inspect::printable(traces.string()) +
                   " has no trace: no frame went through a pad yet, or the programs do not have "
                   "the environment that --record prints"};
  return Run{std::move(*trace.value),
             trace.value->finished ? "" : "a trace ends before its program does"};
}

Outcome<Run> run_program(const std::vector<std::string> &argv, const Limits &limits)
{
  const Folder folder;
  if (!folder.problem.empty())
    return Failure{folder.problem};
  Child child;
  std::signal(SIGINT, on_interrupt);
  if (const std::string problem = child.start(argv, environment_for(folder, limits));
      !problem.empty())
    return Failure{problem};
  Run run;
  run.problem = watch(child, folder, limits);
  Outcome<Trace> trace = read_all(traces_in(folder.path()));
  if (!trace)
    return trace.failure;
  if (trace.value->links.empty())
    return Failure{!run.problem.empty()
                       ? run.problem
                       : "no frame went through a pad of the program, or its GStreamer does not "
                         "find the tracer drmverify (gst-inspect-1.0 drmtracers)"};
  run.trace = std::move(*trace.value);
  run.trace.drawing = last_drawing(folder);
  return run;
}

} // namespace verify
