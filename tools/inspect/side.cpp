// SPDX-License-Identifier: LGPL-2.1-or-later
#include "side.hpp"

#include <algorithm>

#include "element_ptr.hpp"
#include "saved_device.hpp"
#include "snapshot.hpp"

namespace inspect {

namespace {

struct FreeError {
  void operator()(GError *error) const noexcept { g_error_free(error); }
};
using Error = std::unique_ptr<GError, FreeError>;

std::string names_of(const Machine &machine)
{
  constexpr std::size_t kMost = 8;
  std::string text;
  for (std::size_t i = 0; i < machine.sources.size() && i < kMost; i++)
    text += (i ? ", " : "") + printable(machine.sources[i].name);
  if (machine.sources.size() > kMost)
    text += " and " + std::to_string(machine.sources.size() - kMost) + " more";
  return text.empty() ? "no source at all" : text;
}

// The source of that name, else the only one whose name starts with it and a colon, else nullptr.
const Source *find_source(const Machine &machine, const std::string &name)
{
  const Source *found = nullptr;
  for (const Source &source : machine.sources) {
    if (source.name == name)
      return &source;
    if (!source.name.starts_with(name + ":"))
      continue;
    if (found)
      return nullptr;
    found = &source;
  }
  return found;
}

// The names that start with `name` and a colon: the planes of "kms:card0".
std::string parts_of(const Machine &machine, const std::string &name)
{
  std::string list;
  for (const Source &source : machine.sources)
    if (source.name.starts_with(name + ":"))
      list += (list.empty() ? "" : ", ") + printable(source.name);
  return list;
}

Outcome<Side> side_of_file(const std::string &path, const std::string &name)
{
  const Outcome<Machine> machine = read_sources(path);
  if (!machine)
    return machine.failure;
  const auto &sources = machine.value->sources;
  const Source *source =
      name.empty() && sources.size() == 1 ? &sources.front() : find_source(*machine.value, name);
  if (source)
    return side_of(*machine.value, *source);
  return Failure{printable(path) +
                 (name.empty() ? " has several sources; name one as FILE#NAME: "
                               : " has no such source, but ") +
                 names_of(*machine.value)};
}

// The first pad of that direction; requests one if there is none.
GstPad *find_pad(GstElement *element, End end)
{
  const GstPadDirection direction = end == End::Source ? GST_PAD_SRC : GST_PAD_SINK;
  for (GList *item = element->pads; item; item = item->next)
    if (GST_PAD_DIRECTION(item->data) == direction)
      return GST_PAD(gst_object_ref(item->data));
  GList *templates = gst_element_class_get_pad_template_list(GST_ELEMENT_GET_CLASS(element));
  for (; templates; templates = templates->next) {
    auto *pad_template = GST_PAD_TEMPLATE(templates->data);
    if (pad_template->direction == direction && pad_template->presence == GST_PAD_REQUEST)
      return gst_element_request_pad(element, pad_template, nullptr, nullptr);
  }
  return nullptr;
}

Failure no_pad(const std::string &text, End end)
{
  return {"`" + printable(text) + "` has no " + (end == End::Source ? "source" : "sink") + " pad"};
}

std::string label_of(GstElement *element)
{
  return printable(Text(gst_element_get_name(element)).get());
}

// Starts the element, because it opens its device in READY: before that a query returns its
// template.
Outcome<Side> side_of_started(GstElement *element, const std::string &text, End end)
{
  const bool ready = gst_element_set_state(element, GST_STATE_READY) == GST_STATE_CHANGE_SUCCESS;
  const PadPtr pad(find_pad(element, end));
  Caps caps(pad ? gst_pad_query_caps(pad.get(), nullptr) : nullptr);
  gst_element_set_state(element, GST_STATE_NULL);
  if (!pad)
    return no_pad(text, end);
  return side_of_caps(label_of(element) +
                          (ready ? " (element)" : " (element that does not start here)"),
                      std::move(caps));
}

// Does not start the element, whose devices would be those of this machine.
Outcome<Side> side_of_saved(const Machine &machine, GstElement *element, const std::string &text,
                            End end)
{
  const PadPtr pad(find_pad(element, end));
  if (!pad)
    return no_pad(text, end);
  if (auto side = side_of_device(machine, element, pad.get()))
    return std::move(*side);
  return side_of_caps(label_of(element) + " (element, not started)",
                      Caps(gst_pad_query_caps(pad.get(), nullptr)));
}

Outcome<Side> side_of_element(const Machine &machine, const std::string &text, End end)
{
  GError *raw_error = nullptr;
  Element element(
      gst_parse_launch_full(text.c_str(), nullptr, GST_PARSE_FLAG_FATAL_ERRORS, &raw_error));
  const Error error(raw_error);
  if (!element)
    return Failure{"`" + printable(text) + "` is no source of this machine (there is " +
                   names_of(machine) + "), no file, and no element (" +
                   (error ? printable(error->message) : "it cannot be made") + ")"};
  gst_object_ref_sink(element.get());
  return machine.is_live ? side_of_started(element.get(), text, end)
                         : side_of_saved(machine, element.get(), text, end);
}

} // namespace

Side side_of(const Machine &machine, const Source &source)
{
  Side side;
  const std::string what = describe(source);
  side.label = printable(source.name) + (what.empty() ? "" : " (" + what + ")");
  if (machine.is_live)
    side.node = source.device;
  side.pairs = source.pairs;
  return side;
}

Side side_of_caps(std::string label, Caps caps)
{
  Side side;
  side.label = std::move(label);
  const Set set(gst_drm_format_set_new_from_caps(caps.get()));
  side.any_format = !set;
  Pair pair;
  for (guint i = 0; set && gst_drm_format_set_get(set.get(), i, &pair.fourcc, &pair.modifier); i++)
    side.pairs.push_back(pair);
  side.caps = std::move(caps);
  return side;
}

Outcome<Machine> read_sources(const std::string &path)
{
  const Outcome<std::string> text = read_file(path);
  if (!text)
    return text.failure;
  if (text.value->find_first_not_of(" \t\r\n") == std::string::npos)
    return Failure{printable(path) + " is empty"};
  const char first = text.value->at(text.value->find_first_not_of(" \t\r\n"));
  if (first == '{' || first == '[')
    return parse_snapshot(*text.value, path);
  std::string name = path.substr(path.rfind('/') + 1);
  name = name.substr(0, name.rfind('.'));
  Outcome<Source> table = parse_table(*text.value, name);
  if (!table)
    return Failure{
        printable(path) +
        " is no saved machine, as --save makes it, and no table of formats: " + table.failure.text};
  Machine machine;
  machine.sources.push_back(std::move(*table.value));
  return machine;
}

Outcome<Side> find_side(const Machine &machine, const std::string &text, End end)
{
  if (const Source *source = find_source(machine, text)) {
    if (!source->problem.empty())
      return Failure{printable(source->name) + ": " + printable(source->problem)};
    return side_of(machine, *source);
  }
  if (const std::string several = parts_of(machine, text); !several.empty())
    return Failure{"`" + printable(text) + "` has several sources; name one of them: " + several};
  const std::size_t hash = text.find('#');
  const std::string path = text.substr(0, hash);
  if (g_file_test(path.c_str(), G_FILE_TEST_EXISTS))
    return side_of_file(path, hash == std::string::npos ? "" : text.substr(hash + 1));
  return side_of_element(machine, text, end);
}

} // namespace inspect
