// SPDX-License-Identifier: LGPL-2.1-or-later
// gst-drm-inspect-1.0: what the devices of a machine can share, and why two of them cannot.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <set>
#include <vector>

#include <locale>
#include <unistd.h>

#include <gst/gst.h>

#include "config.h"
#include "driver_child.hpp"
#include "live.hpp"
#include "matrix.hpp"
#include "pipeline.hpp"
#include "resources.hpp"
#include "saved_links.hpp"
#include "side.hpp"
#include "snapshot.hpp"
#include "why.hpp"

namespace {

using namespace inspect;

// Exit statuses, as the manual page says.
constexpr int kGood = EXIT_SUCCESS;
constexpr int kNothing = 1; // no device, nothing in common, or a pipeline that does not run
constexpr int kTrouble = 2; // wrong usage, a file that cannot be read or written

struct Options {
  gboolean matrix = FALSE;
  gboolean why = FALSE;
  gboolean version = FALSE;
  gchar *pipeline = nullptr;
  gchar *save = nullptr;
  gchar *load = nullptr;
  gchar *format = nullptr;
  gint timeout_s = 10;
  gchar **words = nullptr;

  Options() = default;
  Options(const Options &) = delete;
  Options &operator=(const Options &) = delete;
  ~Options()
  {
    for (gchar *text : {pipeline, save, load, format})
      g_free(text);
    g_strfreev(words);
  }
  [[nodiscard]] guint n_words() const { return words ? g_strv_length(words) : 0; }
};

int fail(const std::string &text)
{
  std::fprintf(stderr, "gst-drm-inspect-1.0: %s\n", text.c_str());
  return kTrouble;
}

int print(const std::string &text)
{
  std::fwrite(text.data(), 1, text.size(), stdout);
  return std::fflush(stdout) == 0 ? kGood : fail("cannot write to the standard output");
}

// Returns false and sets `problem` if the command line is wrong.
bool parse(int &argc, char **&argv, Options &options, std::string &problem)
{
  const GOptionEntry entries[] = {
      {"why", 0, 0, G_OPTION_ARG_NONE, &options.why,
       "Explain what SRC and SINK have in common: sources, files or elements", nullptr},
      {"matrix", 0, 0, G_OPTION_ARG_NONE, &options.matrix,
       "Show which sources take which pairs; sources of the files FILE..., or else of the machine",
       nullptr},
      {"format", 0, 0, G_OPTION_ARG_STRING, &options.format,
       "The form of the matrix: text (default), svg, html or json", "FORM"},
      {"pipeline", 0, 0, G_OPTION_ARG_STRING, &options.pipeline,
       "Negotiate a pipeline for real and tell what each link agreed on; with --load, what each "
       "link has in common there",
       "DESCRIPTION"},
      {"timeout", 0, 0, G_OPTION_ARG_INT, &options.timeout_s,
       "Seconds that --pipeline waits for the first frame (default: 10)", "SECONDS"},
      {"save", 0, 0, G_OPTION_ARG_FILENAME, &options.save,
       "Write what the machine can do to a file (JSON)", "FILE"},
      {"load", 0, 0, G_OPTION_ARG_FILENAME, &options.load,
       "Use the machine that --save wrote to a file, in place of this one", "FILE"},
      {"version", 0, 0, G_OPTION_ARG_NONE, &options.version, "Print the version", nullptr},
      {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options.words, nullptr, nullptr},
      {}};
  GOptionContext *context = g_option_context_new("[SRC SINK | FILE...]");
  g_option_context_set_summary(
      context, "Lists what the devices of a machine can share as DMA buffers: the formats and "
               "modifiers\nof display planes, EGL displays, GBM, VA-API, V4L2 nodes, Vulkan "
               "devices\nand the Wayland compositor.");
  g_option_context_add_main_entries(context, entries, nullptr);
  g_option_context_add_group(context, gst_init_get_option_group());
  GError *error = nullptr;
  const bool good = g_option_context_parse(context, &argc, &argv, &error) != FALSE;
  g_option_context_free(context);
  if (error) {
    problem = error->message;
    g_error_free(error);
  }
  return good;
}

bool parse_form(const gchar *text, Form &form)
{
  const std::string name = text ? text : "text";
  form = name == "svg"    ? Form::Svg
         : name == "html" ? Form::Html
         : name == "json" ? Form::Json
                          : Form::Text;
  return form != Form::Text || name == "text";
}

std::string check(const Options &options)
{
  Form form{};
  const int commands = (options.why ? 1 : 0) + (options.matrix ? 1 : 0) +
                       (options.pipeline ? 1 : 0) + (options.save ? 1 : 0);
  if (commands > 1)
    return "give one of --why, --matrix, --pipeline and --save";
  if (options.why && options.n_words() != 2)
    return "--why needs SRC and SINK: sources as listed without options, files, or elements";
  if (!options.why && !options.matrix && options.n_words() > 0)
    return "`" + printable(options.words[0]) + "` is no option; --why and --matrix take arguments";
  if (options.matrix && options.load && options.n_words() > 0)
    return "--matrix takes its sources from --load or from files, and not from both";
  if (options.format && !options.matrix)
    return "--format belongs to --matrix";
  if (!parse_form(options.format, form))
    return "--format is text, svg, html or json, and not `" + printable(options.format) + "`";
  if (options.timeout_s < 1 || options.timeout_s > 3600)
    return "--timeout is 1 to 3600 seconds";
  return {};
}

Outcome<Machine> get_machine(const Options &options)
{
  if (!options.load)
    return read_machine();
  return read_sources(options.load);
}

int list(const Machine &machine)
{
  if (!machine.sources.empty())
    return print(machine.is_live ? list_machine(machine, list_card) + list_resources(machine)
                                 : list_machine(machine));
  print("No device of this machine lists formats: there is no display (/dev/dri/card*), no GPU "
        "(/dev/dri/renderD*), no EGL device and no /dev/video*.\n");
  return kNothing;
}

int save(const Machine &machine, const std::string &path)
{
  if (const std::string problem = write_file(path, write_snapshot(machine)); !problem.empty())
    return fail(problem);
  return print("Saved " + count(machine.sources.size(), "source", "sources") + " to " +
               printable(path) + "\n");
}

int why(const Machine &machine, const Options &options)
{
  const Outcome<Side> source = find_side(machine, options.words[0], End::Source);
  if (!source)
    return fail(source.failure.text);
  const Outcome<Side> sink = find_side(machine, options.words[1], End::Sink);
  if (!sink)
    return fail(sink.failure.text);
  const Answer answer = explain(*source.value, *sink.value);
  const int printed = print(answer.text);
  return printed != kGood ? printed : answer.common ? kGood : kNothing;
}

// The sources of all files. A name that several files have becomes FILE#NAME.
Outcome<Machine> read_files(gchar **paths)
{
  Machine machine;
  std::map<std::string, std::set<std::string>> files_of;
  std::vector<std::string> file_of;
  for (gchar **path = paths; *path; path++) {
    Outcome<Machine> file = read_sources(*path);
    if (!file)
      return file;
    for (Source &source : file.value->sources) {
      if (files_of[source.name].contains(*path))
        return Failure{"--matrix has " + printable(*path) + " twice"};
      files_of[source.name].insert(*path);
      machine.sources.push_back(std::move(source));
      file_of.emplace_back(*path);
    }
  }
  for (std::size_t i = 0; i < machine.sources.size(); i++)
    if (Source &source = machine.sources[i]; files_of[source.name].size() > 1)
      source.name = file_of[i] + "#" + source.name;
  return machine;
}

int matrix(const Options &options)
{
  const Outcome<Machine> machine =
      options.n_words() > 0 ? read_files(options.words) : get_machine(options);
  if (!machine)
    return fail(machine.failure.text);
  if (machine.value->sources.empty())
    return list(*machine.value);
  Form form{};
  parse_form(options.format, form);
  const Outcome<std::string> text = draw_matrix(machine.value->sources, form);
  return text ? print(*text.value) : fail(text.failure.text);
}

int pipeline(const Options &options)
{
  Negotiated result;
  if (options.load) {
    const Outcome<Machine> machine = read_sources(options.load);
    if (!machine)
      return fail(machine.failure.text);
    result = explain_saved(*machine.value, options.pipeline);
  } else {
    result = negotiate(options.pipeline, static_cast<unsigned>(options.timeout_s) * 1000);
  }
  const int printed = print(result.text);
  return printed != kGood ? printed : result.works ? kGood : kNothing;
}

int run(int argc, char **argv)
{
  Options options;
  std::string problem;
  if (!parse(argc, argv, options, problem) || !(problem = check(options)).empty())
    return fail(printable(problem) + "; see --help");
  if (options.version)
    return print(std::string("gst-drm-inspect-1.0 ") + VERSION + "\n");
  if (options.pipeline)
    return pipeline(options);
  if (options.matrix)
    return matrix(options);
  const Outcome<Machine> machine = get_machine(options);
  if (!machine)
    return fail(machine.failure.text);
  if (options.why)
    return why(*machine.value, options);
  if (options.save)
    return save(*machine.value, options.save);
  return list(*machine.value);
}

} // namespace

int main(int argc, char **argv)
{
  std::setlocale(LC_ALL, "");
  try {
    if (argc > 1 && std::string_view(argv[1]) == kAskDriver)
      ::_exit(answer_driver_question({argv + 2, argv + argc}));
    return run(argc, argv);
  } catch (const std::exception &exception) {
    return fail(exception.what());
  }
}
