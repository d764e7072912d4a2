// SPDX-License-Identifier: LGPL-2.1-or-later
#include "report.hpp"

#include <algorithm>
#include <memory>
#include <set>

#include <gio/gio.h>

#include "../inspect/json_reader.hpp"

namespace verify {

namespace {

using inspect::quote;

constexpr int kVersion = 1;

// --- words ---------------------------------------------------------------------------------------

// What happened on a link, in one word for the JSON and the colours; the worst counts.
const char *kind_of(const Link &link)
{
  return !link.is_video     ? "other-stream"
         : link.copied > 0  ? "copied"
         : link.changed > 0 ? "changed"
         : link.system > 0  ? "system"
         : link.other > 0   ? "device"
         : link.passed > 0  ? "passed"
                            : "made";
}

std::string words_of(const Link &link)
{
  if (!link.is_video)
    return "";
  std::string text;
  const auto add = [&text](std::uint64_t n, const char *what, const std::string &more = "") {
    if (n > 0)
      text += (text.empty() ? "" : ", ") + std::to_string(n) + " " + what + more;
  };
  const auto first = [](std::uint64_t frame) { return " (first: " + std::to_string(frame) + ")"; };
  add(link.made, "made");
  add(link.passed, "passed on");
  add(link.changed, "written by the CPU", first(link.first_changed));
  add(link.copied, "copied", first(link.first_copied));
  add(link.other, "in another memory, by a device");
  add(link.system, "in system memory");
  return text;
}

std::string memory_of(const Link &link)
{
  if (link.dmabuf_frames == 0)
    return link.memory.empty() ? "no memory" : link.memory;
  std::string text = "dma-buf";
  for (const std::string &exporter : link.exporters)
    text += " " + exporter;
  return link.dmabuf_frames < link.frames
             ? text + " in " + std::to_string(link.dmabuf_frames) + " frames"
             : text;
}

const char *state_word(State state)
{
  constexpr const char *kWords[] = {"pass", "violated", "unknown", "not judged"};
  return kWords[static_cast<std::size_t>(state)];
}

const char *result_word(const Verdict &verdict)
{
  return verdict.is_violated() ? "violated" : verdict.is_unknown() ? "unknown" : "pass";
}

// --- text ----------------------------------------------------------------------------------------

using Row = std::vector<std::string>;

// Columns of the width of their longest word, two spaces between them.
std::string table(const std::vector<Row> &rows)
{
  std::vector<std::size_t> widths;
  for (const Row &row : rows)
    for (std::size_t i = 0; i < row.size(); i++) {
      widths.resize(std::max(widths.size(), i + 1));
      widths[i] = std::max(widths[i], row[i].size());
    }
  std::string text;
  for (const Row &row : rows) {
    std::string line = " ";
    for (std::size_t i = 0; i < row.size(); i++) {
      line += " " + row[i];
      line.append(widths[i] - row[i].size() + 1, ' ');
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string milliseconds(std::uint64_t us)
{
  char text[32];
  g_snprintf(text, sizeof(text), "%.2f", static_cast<double>(us) / 1000);
  return text;
}

std::vector<Row> link_rows(const Trace &trace)
{
  std::vector<Row> rows = {
      {"from", "to", "format", "memory", "frames", "dma-bufs", "the element in front"}};
  for (const Link &link : trace.links)
    rows.push_back({link.from + "." + link.from_pad, link.to + "." + link.to_pad, format_of(link),
                    memory_of(link), std::to_string(link.frames), std::to_string(link.dmabufs),
                    words_of(link)});
  return rows;
}

std::vector<Row> latency_rows(const Trace &trace)
{
  std::vector<Row> rows = {{"latency in ms", "frames", "p50", "p95", "max"}};
  const auto add = [&rows](const std::string &name, const Durations &durations) {
    if (durations.count > 0)
      rows.push_back({name, std::to_string(durations.count), milliseconds(durations.p50_us),
                      milliseconds(durations.p95_us), milliseconds(durations.max_us)});
  };
  for (const Element &element : trace.elements) {
    add("within " + element.name, element.latency);
    add("from the source to " + element.name, element.from_source);
  }
  for (const Link &link : trace.links)
    add("fences pending from " + link.from, link.pending);
  return rows;
}

std::vector<Row> mapping_rows(const Trace &trace)
{
  std::vector<Row> rows = {
      {"mapped by", "exporter", "what", "reads", "writes", "MB", "first frame"}};
  for (const Mapping &mapping : trace.mappings)
    rows.push_back({mapping.by, mapping.exporter, mapping.is_video ? "frames" : "other",
                    std::to_string(mapping.reads), std::to_string(mapping.writes),
                    std::to_string(mapping.bytes / 1000000),
                    mapping.first_frame ? std::to_string(mapping.first_frame) : ""});
  return rows;
}

std::vector<Row> stats_rows(const Trace &trace)
{
  std::vector<Row> rows = {{"drm-stats", "frames", "imports", "copies", "waits", "commits"}};
  for (const Element &element : trace.elements) {
    if (!element.has_stats)
      continue;
    Row row = {element.name};
    for (const char *name : {"frames", "imports", "copies", "waits", "commits"}) {
      const auto found = element.stats.find(name);
      row.push_back(found == element.stats.end() ? "" : std::to_string(found->second));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string place_of(const Violation &violation)
{
  return (violation.element.empty() ? "the pipeline" : violation.element) +
         (violation.frame ? ", frame " + std::to_string(violation.frame) : "");
}

// --- JSON ----------------------------------------------------------------------------------------

std::string json_of(State state)
{
  return state == State::Holds ? "true" : state == State::Violated ? "false" : "null";
}

std::string json_of(const std::vector<std::string> &names)
{
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + quote(name);
  return "[" + text + "]";
}

std::string json_of(const Link &link)
{
  return "{ \"from\": " + quote(link.from + "." + link.from_pad) +
         ", \"to\": " + quote(link.to + "." + link.to_pad) + ", \"caps\": " + quote(link.caps) +
         ", \"memory\": " + quote(link.dmabuf_frames > 0 ? "dma-buf" : link.memory) +
         ", \"exporters\": " + json_of(link.exporters) +
         ", \"frames\": " + std::to_string(link.frames) +
         ", \"dmabufs\": " + std::to_string(link.dmabufs) + ", \"kind\": " + quote(kind_of(link)) +
         " }";
}

std::string json_of(const Violation &violation)
{
  return "{ \"invariant\": " + quote(violation.invariant) +
         ", \"element\": " + quote(violation.element) +
         ", \"frame\": " + std::to_string(violation.frame) +
         ", \"what\": " + quote(violation.what) + ", \"cure\": " + quote(violation.cure) + " }";
}

template <typename T> std::string json_rows(const std::vector<T> &all)
{
  std::string text = "[";
  const char *separator = "\n      ";
  for (const T &one : all) {
    text += separator + json_of(one);
    separator = ",\n      ";
  }
  return text + (all.empty() ? "]" : "\n    ]");
}

std::uint64_t sum(const Trace &trace, const char *counter)
{
  std::uint64_t total = 0;
  for (const Element &element : trace.elements)
    if (const auto found = element.stats.find(counter); found != element.stats.end())
      total += found->second;
  return total;
}

std::string detail_of(const Trace &trace, const Verdict &verdict)
{
  std::vector<std::string> shared;
  std::set<std::string> exporters;
  for (const DmaBuf &dmabuf : trace.dmabufs) {
    exporters.insert(dmabuf.exporter);
    if (is_shared(dmabuf))
      shared.push_back(std::to_string(dmabuf.inode));
  }
  std::vector<std::string> hot;
  for (const Violation &violation : verdict.violations)
    if (violation.invariant == "I4")
      hot.push_back(violation.element);
  return "{\n    \"imports\": " + std::to_string(sum(trace, "imports")) +
         ",\n    \"releases\": " + std::to_string(sum(trace, "releases")) +
         ",\n    \"fence_wait_lines\": " + std::to_string(sum(trace, "waits")) +
         ",\n    \"multi_attach_inodes\": " + json_of(shared) +
         ",\n    \"exporters\": " + json_of(std::vector(exporters.begin(), exporters.end())) +
         ",\n    \"memcpy_hot\": " + json_of(hot) + ",\n    \"links\": " + json_rows(trace.links) +
         "\n  }";
}

// --- HTML ----------------------------------------------------------------------------------------

std::string escaped(const std::string &text)
{
  const inspect::Text safe(g_markup_escape_text(inspect::printable(text).c_str(), -1));
  return safe.get();
}

const char *colour_of(const Link &link)
{
  const std::string_view kind = kind_of(link);
  return kind == "copied" || kind == "changed" ? "#c62828"
         : kind == "system"                    ? "#ef6c00"
         : kind == "other-stream"              ? "#9e9e9e"
                                               : "#2e7d32";
}

std::string html_table(const std::vector<Row> &rows)
{
  std::string text = "<table>\n";
  for (std::size_t i = 0; i < rows.size(); i++) {
    text += "<tr>";
    for (const std::string &cell : rows[i])
      text += (i == 0 ? "<th>" : "<td>") + escaped(cell);
    text += "\n";
  }
  return text + "</table>\n";
}

// A text for `dot`, whose strings are quoted as in JSON.
std::string dot_of(const Trace &trace)
{
  std::string text = "digraph pipeline {\nrankdir=LR; node [shape=box,fontname=\"sans-serif\"]; "
                     "edge [fontname=\"sans-serif\",fontsize=10,penwidth=2];\n";
  for (const Link &link : trace.links)
    text += quote(link.from) + " -> " + quote(link.to) + " [color=\"" + colour_of(link) +
            "\",label=" + quote(format_of(link) + " / " + memory_of(link)) + "];\n";
  return text + "}\n";
}

// The picture of `dot`; empty if there is none, no Graphviz, or names in it are no text for
// Graphviz, as GStreamer 1.22 does not quote them.
std::string draw(const std::string &dot)
{
  if (dot.empty())
    return "";
  GError *error = nullptr;
  const std::unique_ptr<GSubprocess, decltype(&g_object_unref)> program(
      g_subprocess_new(static_cast<GSubprocessFlags>(G_SUBPROCESS_FLAGS_STDIN_PIPE |
                                                     G_SUBPROCESS_FLAGS_STDOUT_PIPE |
                                                     G_SUBPROCESS_FLAGS_STDERR_SILENCE),
                       &error, "dot", "-Tsvg", nullptr),
      g_object_unref);
  if (!program) {
    g_error_free(error);
    return "";
  }
  gchar *raw = nullptr;
  g_subprocess_communicate_utf8(program.get(), dot.c_str(), nullptr, &raw, nullptr, nullptr);
  const inspect::Text svg(raw);
  const std::string text = svg ? svg.get() : "";
  const std::size_t start = text.find("<svg"); // without the XML declaration, which HTML has not
  return start == std::string::npos ? "" : text.substr(start);
}

// --- comparison ----------------------------------------------------------------------------------

struct SavedLink {
  std::string memory;
  std::string kind;
};

Violation difference(const std::string &element, const std::string &what)
{
  return {"expected", element, 0, what, "if this is meant, save the new result with --json"};
}

} // namespace

std::string write_text(const Trace &trace, const Verdict &verdict)
{
  std::string text = "links\n" + table(link_rows(trace));
  for (const auto &[name, rows] : {std::pair{"CPU mappings of dma-bufs", mapping_rows(trace)},
                                   {"times", latency_rows(trace)},
                                   {"counters", stats_rows(trace)}})
    if (rows.size() > 1)
      text += std::string("\n") + name + "\n" + table(rows);
  text += "\ninvariants\n";
  std::vector<Row> rows;
  for (const Invariant &invariant : verdict.invariants)
    rows.push_back({invariant.name, state_word(invariant.state), invariant.meaning,
                    invariant.why.empty() ? "" : "(" + invariant.why + ")"});
  text += table(rows);
  for (const Violation &violation : verdict.violations)
    text += "\n" + violation.invariant + " " + place_of(violation) + ": " + violation.what +
            "\n  What to do: " + violation.cure + "\n";
  for (const std::string &note : verdict.notes)
    text += "\nnote: " + note + "\n";
  return text + "\nresult: " + result_word(verdict) + "\n";
}

std::string write_json(const Trace &trace, const Verdict &verdict)
{
  std::string text =
      "{\n  \"schema\": \"gst-drm-verify\",\n  \"version\": " + std::to_string(kVersion) + ",\n";
  for (const Invariant &invariant : verdict.invariants)
    text += std::string("  \"") + invariant.json_key + "\": " + json_of(invariant.state) + ",\n";
  return text + "  \"detail\": " + detail_of(trace, verdict) +
         ",\n  \"violations\": " + json_rows(verdict.violations) +
         ",\n  \"notes\": " + json_of(verdict.notes) + ",\n  \"pass\": " +
         (verdict.is_violated()  ? "false"
          : verdict.is_unknown() ? "null"
                                 : "true") +
         "\n}\n";
}

std::string write_html(const Trace &trace, const Verdict &verdict)
{
  std::string text =
      "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<title>gst-drm-verify: " +
      std::string(result_word(verdict)) +
      "</title>\n<style>body{font-family:sans-serif;margin:2em}table{border-collapse:collapse;"
      "margin:1em 0}td,th{border:1px solid #ccc;padding:.3em .6em;text-align:left}"
      "svg,img{max-width:100%;height:auto}.violated{color:#c62828}.pass{color:#2e7d32}"
      ".unknown{color:#ef6c00}</style>\n<h1>" +
      escaped(trace.program) + ": <span class=\"" + result_word(verdict) + "\">" +
      result_word(verdict) + "</span></h1>\n" + draw(dot_of(trace));
  std::vector<Row> rows = {{"invariant", "", "state", ""}};
  for (const Invariant &invariant : verdict.invariants)
    rows.push_back({invariant.name, invariant.meaning, state_word(invariant.state), invariant.why});
  text += html_table(rows);
  rows = {{"violated", "where", "what", "what to do"}};
  for (const Violation &violation : verdict.violations)
    rows.push_back({violation.invariant, place_of(violation), violation.what, violation.cure});
  if (rows.size() > 1)
    text += html_table(rows);
  for (const std::vector<Row> &more :
       {link_rows(trace), mapping_rows(trace), latency_rows(trace), stats_rows(trace)})
    if (more.size() > 1)
      text += html_table(more);
  for (const std::string &note : verdict.notes)
    text += "<p>" + escaped(note) + "\n";
  if (const std::string svg = draw(trace.drawing); !svg.empty()) {
    // a picture runs no script and follows no link that the program may have put into it
    const inspect::Text data(
        g_base64_encode(reinterpret_cast<const guchar *>(svg.data()), svg.size()));
    text += "<details><summary>The pipeline as GStreamer draws it, with properties and caps"
            "</summary>\n<img alt=\"pipeline\" src=\"data:image/svg+xml;base64," +
            std::string(data.get()) + "\">\n</details>\n";
  }
  return text;
}

Outcome<std::vector<Violation>> compare(const Trace &trace, const Verdict &verdict,
                                        std::string_view saved, const std::string &name)
{
  const std::string file = inspect::printable(name);
  inspect::Json root;
  if (const std::string problem = inspect::parse_json(saved, root); !problem.empty())
    return Failure{file + " is no saved result: it " + problem};
  inspect::Reader top(root.get(), "it");
  if (top.text("schema") != "gst-drm-verify" || top.number("version") != kVersion)
    return Failure{file + " is no saved result of version " + std::to_string(kVersion) +
                   ", as --json makes it"};
  std::vector<Violation> found;
  for (const Invariant &invariant : verdict.invariants)
    if (top.flag(invariant.json_key) == true && invariant.state != State::Holds &&
        invariant.state != State::Skipped)
      found.push_back(difference({}, std::string(invariant.name) + " held, and is " +
                                         state_word(invariant.state) + " now"));
  inspect::Reader detail(top.get("detail", json_type_object), "its detail");
  json_object *list = detail.list("links", 65536);
  std::map<std::pair<std::string, std::string>, SavedLink> links;
  for (std::size_t i = 0; list && i < json_object_array_length(list); i++) {
    inspect::Reader link(json_object_array_get_idx(list, i), "a link");
    const std::string from = link.text("from");
    links[{from, link.text("to")}] = {link.text("memory"), link.text("kind")};
    detail.take_problem(link);
  }
  if (!top.take_problem(detail))
    return Failure{file + " is no good saved result: " + inspect::printable(top.problem())};
  std::set<std::pair<std::string, std::string>> seen; // a link has a row for each of its caps
  for (const Link &link : trace.links) {
    const std::string from = link.from + "." + link.from_pad;
    const std::string to = link.to + "." + link.to_pad;
    const auto before = links.find({from, to});
    if (before == links.end()) {
      found.push_back(difference(link.from, "the link " + from + " -> " + to + " is new"));
      continue;
    }
    const std::string memory = link.dmabuf_frames > 0 ? "dma-buf" : link.memory;
    if (before->second.memory != memory || before->second.kind != kind_of(link))
      found.push_back(difference(link.from, "the link " + from + " -> " + to + " was " +
                                                before->second.memory + ", " + before->second.kind +
                                                ", and is " + memory + ", " + kind_of(link)));
    seen.insert(before->first);
  }
  for (const auto &[ends, link] : links)
    if (!seen.contains(ends))
      found.push_back(difference({}, "the link " + ends.first + " -> " + ends.second + " is gone"));
  return found;
}

} // namespace verify
