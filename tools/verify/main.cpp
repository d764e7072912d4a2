// SPDX-License-Identifier: LGPL-2.1-or-later
// gst-drm-verify-1.0: whether the frames of a pipeline are passed on without a copy.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <set>
#include <string>
#include <vector>

#include <clocale>
#include <unistd.h>

#include <gst/gst.h>

#include "../inspect/snapshot.hpp"
#include "config.h"
#include "machine_check.hpp"
#include "report.hpp"
#include "run.hpp"

namespace {

using namespace verify;

// Exit statuses, as the manual page says.
constexpr int kPass = EXIT_SUCCESS;
constexpr int kViolated = 1;
constexpr int kUnknown = 2; // an invariant is unknown, the program failed, or wrong usage

struct Options {
  gint frames = 0;
  gint seconds = 0;
  gint timeout_s = 20;
  gchar *trace = nullptr;
  gchar *record = nullptr;
  gchar *stop = nullptr;
  gchar *json = nullptr;
  gchar *html = nullptr;
  gchar *expect = nullptr;
  gchar *skip = nullptr;
  gchar *root = nullptr;
  gboolean machine = FALSE;
  gboolean version = FALSE;
  gchar **words = nullptr;
  std::vector<std::string> command; // behind `--`

  Options() = default;
  Options(const Options &) = delete;
  Options &operator=(const Options &) = delete;
  ~Options()
  {
    for (gchar *text : {trace, record, stop, json, html, expect, skip, root})
      g_free(text);
    g_strfreev(words);
  }
};

int fail(const std::string &text)
{
  std::fprintf(stderr, "gst-drm-verify-1.0: %s\n", inspect::printable(text).c_str());
  return kUnknown;
}

constexpr const char *kNoOutput = "cannot write to the standard output";

bool print(const std::string &text)
{
  std::fwrite(text.data(), 1, text.size(), stdout);
  return std::fflush(stdout) == 0;
}

// Returns false and sets `problem` if the command line is wrong.
bool parse(int argc, char **argv, Options &options, std::string &problem)
{
  const GOptionEntry entries[] = {
      {"frames", 0, 0, G_OPTION_ARG_INT, &options.frames,
       "Interrupt the program when a sink has received so many", "N"},
      {"seconds", 0, 0, G_OPTION_ARG_INT, &options.seconds,
       "Interrupt the program so long after its first frame", "N"},
      {"timeout", 0, 0, G_OPTION_ARG_INT, &options.timeout_s,
       "Seconds without a frame after which the program is ended (default: 20)", "SECONDS"},
      {"trace", 0, 0, G_OPTION_ARG_FILENAME, &options.trace,
       "Judge what the tracer wrote to a file, and start nothing", "FILE"},
      {"record", 0, 0, G_OPTION_ARG_FILENAME, &options.record,
       "Make a folder for traces, and print the environment of the programs to trace", "FOLDER"},
      {"stop", 0, 0, G_OPTION_ARG_FILENAME, &options.stop,
       "End the traces in a folder, or one, of programs that go on, and judge them", "FOLDER|FILE"},
      {"skip", 0, 0, G_OPTION_ARG_STRING, &options.skip, "Do not judge these invariants", "I1,I3"},
      {"json", 0, 0, G_OPTION_ARG_FILENAME, &options.json, "Write the result as JSON", "FILE"},
      {"html", 0, 0, G_OPTION_ARG_FILENAME, &options.html, "Write the result as a page", "FILE"},
      {"expect", 0, 0, G_OPTION_ARG_FILENAME, &options.expect,
       "Compare with a result that --json wrote; a difference is a violation", "FILE"},
      {"machine", 0, 0, G_OPTION_ARG_NONE, &options.machine,
       "Check this machine for what frames without copies need, and start nothing", nullptr},
      {"root", 0, 0, G_OPTION_ARG_FILENAME, &options.root,
       "Check the machine whose /dev, /proc, /sys and /boot are copied to a folder", "FOLDER"},
      {"version", 0, 0, G_OPTION_ARG_NONE, &options.version, "Print the version", nullptr},
      {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options.words, nullptr, nullptr},
      {}};
  // what stands behind `--` is the command's own
  char **const end = argv + argc;
  char **const command =
      std::find_if(argv, end, [](const char *word) { return std::string_view(word) == "--"; });
  if (command != end)
    options.command.assign(command + 1, end);
  std::vector<char *> own(argv, command);
  own.push_back(nullptr);
  char **words = own.data();
  int count = static_cast<int>(command - argv);
  GOptionContext *context = g_option_context_new("[DESCRIPTION... | -- COMMAND...]");
  g_option_context_set_summary(
      context, "Runs a pipeline, described as for gst-launch-1.0, or a command that uses "
               "GStreamer,\nand tells whether its frames are passed on without a copy.");
  g_option_context_add_main_entries(context, entries, nullptr);
  GError *error = nullptr;
  const bool good = g_option_context_parse(context, &count, &words, &error) != FALSE;
  g_option_context_free(context);
  if (error) {
    problem = error->message;
    g_error_free(error);
  }
  return good;
}

std::set<std::string> skipped(const Options &options)
{
  std::set<std::string> names;
  gchar **parts = g_strsplit(options.skip ? options.skip : "", ",", -1);
  for (gchar **part = parts; *part; part++)
    names.insert(*part);
  g_strfreev(parts);
  return names;
}

std::string check(const Options &options)
{
  const int sources = (options.words ? 1 : 0) + (options.command.empty() ? 0 : 1) +
                      (options.trace ? 1 : 0) + (options.record ? 1 : 0) + (options.stop ? 1 : 0) +
                      (options.machine ? 1 : 0);
  if (sources != 1 && !options.version)
    return "give one of a pipeline's description, -- COMMAND, --trace, --record, --stop and "
           "--machine";
  if (options.root && !options.machine)
    return "--root belongs to --machine";
  if (options.frames < 0 || options.seconds < 0 || options.timeout_s < 1)
    return "--frames and --seconds are not negative, and --timeout is at least 1";
  for (const std::string &name : skipped(options))
    if (name != "I1" && name != "I2" && name != "I3" && name != "I4")
      return "--skip takes I1, I2, I3 and I4, and not `" + name + "`";
  return {};
}

std::vector<std::string> command_of(const Options &options)
{
  if (!options.command.empty())
    return options.command;
  std::vector<std::string> command = {"gst-launch-1.0", "-e", "-q"};
  command.insert(command.end(), options.words, options.words + g_strv_length(options.words));
  return command;
}

Outcome<Run> get_run(const Options &options)
{
  if (options.stop)
    return stop_recording(options.stop);
  if (!options.trace) {
    const auto number = [](gint value) { return static_cast<unsigned>(value); };
    return run_program(command_of(options), {number(options.frames), number(options.seconds),
                                             number(options.timeout_s), options.html != nullptr});
  }
  Outcome<Trace> trace = read_trace(options.trace);
  if (!trace)
    return trace.failure;
  std::string problem;
  if (!trace.value->finished)
    problem = "the trace ends before the program does";
  return Run{std::move(*trace.value), problem};
}

int report(const Options &options, const Run &run)
{
  Verdict verdict = judge(run.trace, skipped(options));
  if (options.expect) {
    const Outcome<std::string> saved = inspect::read_file(options.expect);
    if (!saved)
      return fail(saved.failure.text);
    Outcome<std::vector<Violation>> different =
        compare(run.trace, verdict, *saved.value, options.expect);
    if (!different)
      return fail(different.failure.text);
    for (Violation &violation : *different.value)
      verdict.violations.push_back(std::move(violation));
  }
  if (!print(write_text(run.trace, verdict)))
    return fail(kNoOutput);
  for (const auto &[path, written] :
       {std::pair{options.json, &write_json}, {options.html, &write_html}})
    if (path)
      if (const std::string problem = inspect::write_file(path, written(run.trace, verdict));
          !problem.empty())
        return fail(problem);
  if (!run.problem.empty())
    fail(run.problem);
  if (verdict.is_violated())
    return kViolated;
  return run.problem.empty() && !verdict.is_unknown() ? kPass : kUnknown;
}

int look_at_machine(const Options &options)
{
  const std::vector<Finding> findings = check_machine(options.root ? options.root : "");
  if (!print(write_findings(findings, ::isatty(STDOUT_FILENO) != 0)))
    return fail(kNoOutput);
  const bool red = std::any_of(findings.begin(), findings.end(),
                               [](const Finding &f) { return f.light == Light::Red; });
  return red ? kViolated : kPass;
}

int record(const Options &options)
{
  const Outcome<std::string> environment = start_recording(options.record);
  if (!environment)
    return fail(environment.failure.text);
  return print(*environment.value) ? kPass : fail(kNoOutput);
}

int run(int argc, char **argv)
{
  Options options;
  std::string problem;
  if (!parse(argc, argv, options, problem) || !(problem = check(options)).empty())
    return fail(problem + "; see --help");
  if (options.version) {
    std::printf("gst-drm-verify-1.0 %s\n", VERSION);
    return kPass;
  }
  gst_init(nullptr, nullptr);
  if (options.machine)
    return look_at_machine(options);
  if (options.record)
    return record(options);
  const Outcome<Run> done = get_run(options);
  return done ? report(options, *done.value) : fail(done.failure.text);
}

} // namespace

int main(int argc, char **argv)
{
  std::setlocale(LC_ALL, "");
  try {
    return run(argc, argv);
  } catch (const std::exception &exception) {
    return fail(exception.what());
  }
}
