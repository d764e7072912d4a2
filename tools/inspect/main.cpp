// SPDX-License-Identifier: LGPL-2.1-or-later
// gst-drm-inspect-1.0: what the devices of a machine can share, and why two of them cannot.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>

#include <locale>

#include <gst/gst.h>

#include "config.h"
#include "matrix.hpp"
#include "pipeline.hpp"
#include "saved_links.hpp"
#include "side.hpp"
#include "snapshot.hpp"
#include "why.hpp"

namespace {

using namespace inspect;

// Exit statuses, as the manual page says.
constexpr int kGood = EXIT_SUCCESS;
constexpr int kNothing = 1; // no device, nothing in common, a pipeline that does not run
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

// false, with a text for a person, where the command line is wrong
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
  std::string text;
  for (const Source &source : machine.sources) {
    const std::string what = describe(source);
    text += printable(source.name) + (what.empty() ? "" : "  " + what) + "\n";
    if (!source.problem.empty())
      text += "  " + printable(source.problem) + "\n";
    else if (source.pairs.empty())
      text += "  no format that has a DRM name\n";
    text += list_pairs(source.pairs);
  }
  if (!machine.sources.empty())
    return print(text);
  print("No device of this machine lists formats: there is no display (/dev/dri/card*), no GPU "
        "(/dev/dri/renderD*), no EGL device and no /dev/video*.\n");
  return kNothing;
}

int save(const Machine &machine, const std::string &path)
{
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << write_snapshot(machine);
  file.flush();
  if (!file)
    return fail("cannot write " + printable(path));
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

int matrix(const Options &options)
{
  Machine machine;
  for (guint i = 0; i < options.n_words(); i++) {
    Outcome<Machine> file = read_sources(options.words[i]);
    if (!file)
      return fail(file.failure.text);
    for (Source &source : file.value->sources)
      machine.sources.push_back(std::move(source));
  }
  if (options.n_words() == 0) {
    Outcome<Machine> found = get_machine(options);
    if (!found)
      return fail(found.failure.text);
    machine = std::move(*found.value);
  }
  if (machine.sources.empty())
    return list(machine);
  Form form{};
  parse_form(options.format, form);
  return print(draw_matrix(machine.sources, form));
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
    return run(argc, argv);
  } catch (const std::exception &exception) {
    return fail(exception.what());
  }
}
