// SPDX-License-Identifier: LGPL-2.1-or-later
#include "saved_device.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "graph.hpp"

namespace inspect {

namespace {

// Elements whose pads offer or take the pairs of a device.
struct DeviceElement {
  std::string_view factory;
  End end;
  std::string_view kind;  // Source::kind
  std::string_view words; // in the source's name or description; empty for any
};
constexpr DeviceElement kDeviceElements[] = {
    {"kmsdmabufsink", End::Sink, "kms", "primary plane"},
    {"kmsdmabufsink", End::Sink, "kms", "overlay plane"},
    {"kmssink", End::Sink, "kms", "primary plane"},
    {"kmssink", End::Sink, "kms", "overlay plane"},
    {"waylandsink", End::Sink, "wayland", ""},
    {"egldmabufupload", End::Sink, "egl", ""},
    {"glupload", End::Sink, "egl", ""},
    {"egldmabufdownload", End::Source, "egl", ""},
    {"vadmabufsrc", End::Source, "va", ""},
    {"vadmabufconvert", End::Source, "va", ""},
    {"vadmabufconvert", End::Sink, "va", ""},
    {"v4l2src", End::Source, "v4l2", "capture"},
    {"v4l2sink", End::Sink, "v4l2", "output"},
};

// Properties that choose by something that a saved machine does not list.
constexpr const char *kUnused[] = {"bus-id",    "connector-id", "connector-name",
                                   "device-fd", "fd",           "plane-id"};

End end_of(GstPad *pad)
{
  return GST_PAD_IS_SRC(pad) ? End::Source : End::Sink;
}

GParamSpec *find_property(GstElement *element, const char *name)
{
  return g_object_class_find_property(G_OBJECT_GET_CLASS(element), name);
}

bool is_default(GstElement *element, GParamSpec *spec)
{
  GValue value = G_VALUE_INIT;
  g_value_init(&value, spec->value_type);
  g_object_get_property(G_OBJECT(element), spec->name, &value);
  const bool same = g_param_value_defaults(spec, &value) != FALSE;
  g_value_unset(&value);
  return same;
}

struct Word {
  std::string text;
  bool is_named = false; // set by the pipeline to another value than the default
};

Word word_of(GstElement *element, const char *name)
{
  GParamSpec *spec = find_property(element, name);
  if (!spec || spec->value_type != G_TYPE_STRING)
    return {};
  gchar *raw = nullptr;
  g_object_get(element, name, &raw, nullptr);
  const Text text(raw);
  return {text ? text.get() : "", !is_default(element, spec)};
}

bool has_words(const Source &source, std::string_view words)
{
  return source.name.find(words) != std::string::npos ||
         source.description.find(words) != std::string::npos;
}

std::vector<const DeviceElement *> rows_of(const std::string &factory, End end)
{
  std::vector<const DeviceElement *> rows;
  for (const DeviceElement &row : kDeviceElements)
    if (row.factory == factory && row.end == end)
      rows.push_back(&row);
  return rows;
}

// Sources that the element may use.
struct Candidates {
  std::vector<const Source *> sources;
  std::string problem; // of the first source without pairs
};

Candidates candidates_of(const Machine &machine, const std::vector<const DeviceElement *> &rows,
                         const Word &device, const Word &driver)
{
  Candidates found;
  for (const Source &source : machine.sources) {
    const auto is_kind = [&](const DeviceElement *row) { return row->kind == source.kind; };
    const auto fits = [&](const DeviceElement *row) {
      return is_kind(row) && has_words(source, row->words);
    };
    if (device.is_named && source.device != device.text)
      continue;
    if (!source.problem.empty()) { // such a source may have no description
      if (found.problem.empty() && std::any_of(rows.begin(), rows.end(), is_kind))
        found.problem = source.problem;
      continue;
    }
    if (driver.is_named && source.driver != driver.text)
      continue;
    if (std::any_of(rows.begin(), rows.end(), fits))
      found.sources.push_back(&source);
  }
  return found;
}

} // namespace

std::optional<Outcome<Side>> side_of_device(const Machine &machine, GstElement *element,
                                            GstPad *pad)
{
  const std::string factory = factory_of(element);
  const std::vector<const DeviceElement *> rows = rows_of(factory, end_of(pad));
  if (rows.empty())
    return std::nullopt;
  const Word device = word_of(element, "device");
  const Word driver = word_of(element, "driver-name");
  const Candidates found = candidates_of(machine, rows, device, driver);
  if (found.sources.empty())
    return Outcome<Side>(Failure{name_of(pad) + ": the machine has no source for " + factory +
                                 (device.is_named ? " on " + device.text : "") +
                                 (driver.is_named ? " of the driver " + driver.text : "") +
                                 (found.problem.empty() ? "" : ": " + found.problem)});
  // one device: the default one of the element (v4l2src and v4l2sink have one), else the first
  const auto is_default_device = [&](const Source *s) { return s->device == device.text; };
  const auto chosen = std::find_if(found.sources.begin(), found.sources.end(), is_default_device);
  const std::string &node =
      (chosen == found.sources.end() ? found.sources.front() : *chosen)->device;
  Side side;
  for (const Source *source : found.sources) {
    if (source->device != node)
      continue;
    side.label += (side.label.empty() ? name_of(pad) + " on " : ", ") + source->name;
    std::copy_if(source->pairs.begin(), source->pairs.end(), std::back_inserter(side.pairs),
                 [&](const Pair &pair) { // an external texture can only be read
                   return end_of(pad) == End::Sink || !pair.external_only;
                 });
  }
  tidy(side.pairs);
  side.label = printable(side.label);
  return Outcome<Side>(std::move(side));
}

std::string unused_properties(GstElement *element)
{
  const std::string factory = factory_of(element);
  if (rows_of(factory, End::Source).empty() && rows_of(factory, End::Sink).empty())
    return {};
  std::string names;
  for (const char *name : kUnused) {
    GParamSpec *spec = find_property(element, name);
    if (spec && (spec->flags & G_PARAM_READABLE) && !is_default(element, spec))
      names += (names.empty() ? "" : ", ") + std::string(name);
  }
  const Text name(gst_element_get_name(element));
  return names.empty() ? ""
                       : "note: " + printable(name.get()) + ": a saved machine does not say what " +
                             names + " would choose\n";
}

} // namespace inspect
