// SPDX-License-Identifier: LGPL-2.1-or-later
#include "trace.hpp"

#include <utility>

#include <gst/gst.h>

#include "../inspect/json_reader.hpp"

namespace verify {

namespace {

using inspect::Reader;

constexpr std::size_t kMost = 65536; // members of a list

// Names are the application's: any text.
std::string read_text(Reader &reader, const char *key)
{
  json_object *value = reader.get(key, json_type_string);
  return value ? inspect::printable(json_object_get_string(value)) : "";
}

Durations read_durations(Reader &parent, const char *key)
{
  Durations durations;
  Reader reader(parent.get(key, json_type_object), key);
  durations.count = reader.number("count");
  durations.p50_us = reader.number("p50-us");
  durations.p95_us = reader.number("p95-us");
  durations.max_us = reader.number("max-us");
  parent.take_problem(reader);
  return durations;
}

std::vector<std::string> read_names(Reader &parent, const char *key)
{
  std::vector<std::string> names;
  json_object *list = parent.list(key, kMost);
  for (std::size_t i = 0; list && i < json_object_array_length(list); i++) {
    json_object *name = json_object_array_get_idx(list, i);
    if (!json_object_is_type(name, json_type_string)) {
      parent.fail(std::string("has a member of \"") + key + "\" that is no text");
      return {};
    }
    names.push_back(inspect::printable(json_object_get_string(name)));
  }
  return names;
}

void read_stats(Reader &reader, Element &element)
{
  json_object *stats = reader.get_or_null("stats", json_type_object);
  if (!stats)
    return;
  element.has_stats = true;
  json_object_object_foreach(stats, key, value)
  {
    if (json_object_is_type(value, json_type_string))
      element.copy_reason = inspect::printable(json_object_get_string(value));
    else if (json_object_is_type(value, json_type_int) && json_object_get_int64(value) >= 0)
      element.stats[inspect::printable(key)] =
          static_cast<std::uint64_t>(json_object_get_int64(value));
    else
      reader.fail("has \"stats\" that are no numbers");
  }
}

Element read_element(Reader &reader)
{
  Element element;
  element.name = read_text(reader, "name");
  element.factory = read_text(reader, "factory");
  element.is_sink = reader.number("sink") != 0;
  element.has_video_input = reader.number("video-input") != 0;
  element.latency = read_durations(reader, "latency");
  element.from_source = read_durations(reader, "latency-from-source");
  read_stats(reader, element);
  return element;
}

Link read_link(Reader &reader)
{
  Link link;
  for (const auto &[key, text] : {std::pair{"from", &link.from},
                                  {"from-pad", &link.from_pad},
                                  {"to", &link.to},
                                  {"to-pad", &link.to_pad},
                                  {"caps", &link.caps},
                                  {"memory", &link.memory}})
    *text = read_text(reader, key);
  link.is_video = reader.number("video") != 0;
  link.exporters = read_names(reader, "exporters");
  for (const auto &[key, number] : {std::pair{"frames", &link.frames},
                                    {"dmabuf-frames", &link.dmabuf_frames},
                                    {"dmabufs", &link.dmabufs},
                                    {"made", &link.made},
                                    {"passed", &link.passed},
                                    {"changed", &link.changed},
                                    {"copied", &link.copied},
                                    {"other", &link.other},
                                    {"system", &link.system},
                                    {"first-changed", &link.first_changed},
                                    {"first-copied", &link.first_copied},
                                    {"pending-frames", &link.pending_frames}})
    *number = reader.number(key);
  link.pending = read_durations(reader, "pending");
  return link;
}

Mapping read_mapping(Reader &reader)
{
  Mapping mapping;
  mapping.by = read_text(reader, "by");
  mapping.exporter = read_text(reader, "exporter");
  mapping.is_video = reader.number("video") != 0;
  mapping.reads = reader.number("reads");
  mapping.writes = reader.number("writes");
  mapping.bytes = reader.number("bytes");
  mapping.first_frame = reader.number("first-frame");
  return mapping;
}

DmaBuf read_dmabuf(Reader &reader)
{
  DmaBuf dmabuf;
  dmabuf.inode = reader.number("inode");
  dmabuf.exporter = read_text(reader, "exporter");
  dmabuf.bytes = reader.number("bytes");
  dmabuf.cpu_written = reader.number("cpu-written") != 0;
  dmabuf.mapped_otherwise = reader.number("mapped-otherwise") != 0;
  dmabuf.attached = read_names(reader, "attached");
  return dmabuf;
}

template <typename T> std::vector<T> read_list(Reader &top, const char *key, T (*read)(Reader &))
{
  std::vector<T> found;
  json_object *list = top.list(key, kMost);
  for (std::size_t i = 0; list && i < json_object_array_length(list); i++) {
    Reader reader(json_object_array_get_idx(list, i),
                  std::string("member ") + std::to_string(i) + " of \"" + key + "\"");
    found.push_back(read(reader));
    if (!top.take_problem(reader))
      break;
  }
  return found;
}

} // namespace

Outcome<Trace> parse_trace(std::string_view text, const std::string &name)
{
  const std::string file = inspect::printable(name);
  inspect::Json root;
  if (const std::string problem = inspect::parse_json(text, root); !problem.empty())
    return Failure{file + " is no trace of drmverify: it " + problem};
  Reader top(root.get(), "it");
  const std::string schema = top.text("schema");
  if (!top.problem().empty() || schema != "gst-drm-trace")
    return Failure{file + " is no trace of drmverify: it is JSON of another program"};
  if (const std::uint64_t version = top.number("version"); version != 1)
    return Failure{file + " is of version " + std::to_string(version) +
                   "; this program reads version 1"};
  Trace trace;
  trace.program = read_text(top, "program");
  trace.finished = top.number("finished") != 0;
  trace.attachments_known = top.number("attachments-known") != 0;
  trace.descriptors_at_start = top.number("descriptors-at-start");
  trace.descriptors_at_end = top.number("descriptors-at-end");
  trace.elements = read_list<Element>(top, "elements", read_element);
  trace.links = read_list<Link>(top, "links", read_link);
  trace.mappings = read_list<Mapping>(top, "mappings", read_mapping);
  trace.dmabufs = read_list<DmaBuf>(top, "dmabufs", read_dmabuf);
  if (!top.problem().empty())
    return Failure{file + " is no good trace of drmverify: " + inspect::printable(top.problem())};
  return trace;
}

std::string format_of(const Link &link)
{
  const std::unique_ptr<GstCaps, decltype(&gst_caps_unref)> caps(
      gst_caps_from_string(link.caps.c_str()), gst_caps_unref);
  if (!caps || gst_caps_get_size(caps.get()) == 0)
    return link.caps.empty() ? "no caps" : "unreadable caps";
  const GstStructure *first = gst_caps_get_structure(caps.get(), 0);
  if (!link.is_video)
    return inspect::printable(gst_structure_get_name(first));
  const gchar *drm_format = gst_structure_get_string(first, "drm-format");
  const gchar *format = gst_structure_get_string(first, "format");
  std::string text = drm_format ? drm_format : format ? format : "";
  guint32 fourcc = 0;
  guint64 modifier = 0;
  if (drm_format && gst_drm_format_parse(drm_format, &fourcc, &modifier, nullptr))
    text = inspect::fourcc_name(fourcc) + " " + inspect::modifier_name(modifier);
  gint width = 0;
  gint height = 0;
  if (gst_structure_get_int(first, "width", &width) &&
      gst_structure_get_int(first, "height", &height))
    text += " " + std::to_string(width) + "x" + std::to_string(height);
  return inspect::printable(text);
}

} // namespace verify
