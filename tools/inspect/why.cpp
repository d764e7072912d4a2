// SPDX-License-Identifier: LGPL-2.1-or-later
#include "why.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <tuple>

#include <sys/stat.h>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmcaps-words.hpp>
#include <gst/video/video.h>

#include "graph.hpp"

namespace inspect {

namespace {

constexpr std::size_t kLineColumns = 74; // for lists of fourccs

// Consecutive pairs of a sorted list.
using Run = std::span<const Pair>;

bool before(const Pair &a, const Pair &b)
{
  return std::tie(a.fourcc, a.modifier) < std::tie(b.fourcc, b.modifier);
}

std::vector<Pair> intersect(const Side &a, const Side &b)
{
  if (a.any_format)
    return b.pairs;
  if (b.any_format)
    return a.pairs;
  std::vector<Pair> common;
  std::set_intersection(a.pairs.begin(), a.pairs.end(), b.pairs.begin(), b.pairs.end(),
                        std::back_inserter(common), before);
  const std::vector<Pair> *other = &b.pairs;
  for (Pair &pair : common) { // external-only if it is so on either side
    const auto it = std::lower_bound(other->begin(), other->end(), pair, before);
    pair.external_only |= it->external_only;
  }
  return common;
}

std::string summary(const Side &side, const char *verb)
{
  std::string text = side.label + " " + verb + " ";
  if (side.any_format)
    return text + "dmabufs of any format\n";
  if (!side.pairs.empty())
    return text + count(side.pairs.size(), "pair", "pairs") + " of " +
           count(count_fourccs(side.pairs), "format", "formats") + "\n";
  text += "no dmabuf with a format";
  if (side.caps) {
    const Text caps(gst_caps_to_string(side.caps.get()));
    constexpr std::size_t kMost = 300; // bytes
    text += ", but " + shorten(printable(caps.get()), kMost);
  }
  return text + "\n";
}

// The pairs are sorted by their fourccs.
Run of_fourcc(const std::vector<Pair> &pairs, std::uint32_t fourcc)
{
  const auto [first, last] =
      std::equal_range(pairs.begin(), pairs.end(), Pair{fourcc},
                       [](const Pair &a, const Pair &b) { return a.fourcc < b.fourcc; });
  return {first, last};
}

bool has(Run pairs, std::uint64_t modifier)
{
  return std::any_of(pairs.begin(), pairs.end(),
                     [modifier](const Pair &pair) { return pair.modifier == modifier; });
}

// Whether the driver behind a fourcc names no modifier of it.
bool names_none(Run pairs)
{
  return !pairs.empty() && std::all_of(pairs.begin(), pairs.end(), [](const Pair &pair) {
    return pair.modifier == GST_DRM_MODIFIER_IMPLICIT;
  });
}

std::string modifiers(Run pairs)
{
  std::string text;
  for (const Pair &pair : pairs)
    text += (text.empty() ? "" : ", ") + modifier_name(pair.modifier) +
            (pair.external_only ? " (external only)" : "");
  return text;
}

// A fourcc that both sides know, with no modifier in common.
struct Miss {
  std::uint32_t fourcc = 0;
  Run source;
  Run sink;
  int rank = 0; // higher if a smaller change helps
};

int rank(Run a, Run b)
{
  const bool linear = has(a, GST_DRM_MODIFIER_LINEAR) || has(b, GST_DRM_MODIFIER_LINEAR);
  const bool implicit = names_none(a) || names_none(b);
  return (linear ? 2 : 1) + (implicit && linear ? 1 : 0);
}

Miss nearest_miss(const Side &source, const Side &sink)
{
  Miss nearest;
  for (auto it = source.pairs.begin(); it != source.pairs.end();) {
    Miss miss{it->fourcc, of_fourcc(source.pairs, it->fourcc), of_fourcc(sink.pairs, it->fourcc)};
    it += static_cast<std::ptrdiff_t>(miss.source.size());
    miss.rank = miss.sink.empty() ? 0 : rank(miss.source, miss.sink);
    if (miss.rank > nearest.rank)
      nearest = miss;
  }
  return nearest;
}

std::string advice_for(const Miss &miss, const Side &source, const Side &sink)
{
  const std::string name = fourcc_name(miss.fourcc);
  const bool source_linear = has(miss.source, GST_DRM_MODIFIER_LINEAR);
  const bool sink_linear = has(miss.sink, GST_DRM_MODIFIER_LINEAR);
  if ((names_none(miss.source) || names_none(miss.sink)) && (source_linear || sink_linear))
    return "One side names no modifiers for " + name +
           ". Its driver is old, or not asked. Where the frames are really linear, set "
           "implicit-modifier=linear on the element of that side (docs/caps.md).";
  if (sink_linear)
    return "Let " + source.label + " allocate " + name +
           " linear, or copy once into linear memory (dmabufdownload ! dmabufupload).";
  if (source_linear)
    return "No side does the other's tiling. " + sink.label + " takes no linear " + name +
           ": convert on the GPU that owns the tiling.";
  return "Both tile " + name +
         ", each in a way of its own vendor or generation; neither does LINEAR here. Convert on "
         "the "
         "GPU that makes the frames, or copy once (dmabufdownload ! dmabufupload).";
}

std::string list_fourccs(const std::vector<Pair> &pairs)
{
  constexpr std::size_t kMost = 12;
  std::string text;
  std::size_t n = 0;
  std::uint32_t last = 0;
  for (const Pair &pair : pairs) {
    if (pair.fourcc == last)
      continue;
    last = pair.fourcc;
    if (n++ < kMost)
      text += (text.empty() ? "" : " ") + fourcc_name(pair.fourcc);
  }
  return n > kMost ? text + " and " + std::to_string(n - kMost) + " more" : text;
}

std::string media_of_entry(const GstCaps *caps)
{
  return printable(gst_structure_get_name(gst_caps_get_structure(caps, 0)));
}

std::string media_of(const Side &side)
{
  const GstCaps *caps = side.caps.get();
  if (gst_caps_is_any(caps) || gst_caps_is_empty(caps))
    return gst_caps_is_any(caps) ? "anything" : "nothing";
  return media_of_entry(caps);
}

// For two elements without dmabufs whose caps do not intersect.
std::string explain_without_dmabufs(const Side &source, const Side &sink)
{
  const std::string first = media_of(source);
  const std::string second = media_of(sink);
  if (first != second)
    return "In common: nothing: the first has " + first + ", the second " + second +
           ".\nWhat to do: put what makes the one of the other between them (a decoder, an "
           "encoder), or link to another pad.\n";
  return "In common: nothing; neither side shares dmabufs.\nWhat to do: put videoconvert or "
         "videoscale between them.\n";
}

std::string explain_nothing(const Side &source, const Side &sink)
{
  if (source.caps && sink.caps && gstdrm::caps_meet(source.caps.get(), sink.caps.get()))
    return "In common: nothing as dmabufs; both link with system memory, and each frame is copied "
           "by the CPU wherever a device is involved.\nWhat to do: put dmabufupload between them, "
           "or an element that makes dmabufs in the place of the first.\n";
  if (source.caps && sink.caps && source.pairs.empty() && sink.pairs.empty())
    return explain_without_dmabufs(source, sink);
  if (source.pairs.empty() || sink.pairs.empty())
    return std::string("In common: nothing. The ") + (source.pairs.empty() ? "first" : "second") +
           " side shares no dmabufs with a format.\nWhat to do: put " +
           (source.pairs.empty() ? "dmabufupload behind the first.\n"
                                 : "dmabufdownload before the second.\n");
  const Miss miss = nearest_miss(source, sink);
  if (miss.fourcc == 0)
    return "In common: nothing, not even a format.\n  the first:  " + list_fourccs(source.pairs) +
           "\n  the second: " + list_fourccs(sink.pairs) +
           "\nWhat to do: convert the format between them, on a GPU where there is one.\n";
  return "In common: nothing.\nNearest miss: " + fourcc_name(miss.fourcc) +
         "\n  the first:  " + modifiers(miss.source) + "\n  the second: " + modifiers(miss.sink) +
         "\nWhat to do: " + advice_for(miss, source, sink) + "\n";
}

// Returns false if the paths are nodes of two devices, and true if that is unknown.
bool same_device(const std::string &a, const std::string &b)
{
  struct stat first {};
  struct stat second {};
  if (a.empty() || b.empty() || a == b || ::stat(a.c_str(), &first) != 0 ||
      ::stat(b.c_str(), &second) != 0)
    return true;
  GError *error = nullptr;
  const bool same = gst_drm_device_is_same(first.st_rdev, second.st_rdev, &error) != FALSE;
  if (!error)
    return same;
  g_error_free(error);
  return true;
}

// What the list says behind the name of a source.
std::string list_source(const Source &source)
{
  const std::string what = describe(source);
  std::string text = (what.empty() ? "" : "  " + what) + "\n";
  if (!source.problem.empty())
    text += "  " + printable(source.problem) + "\n";
  else if (source.pairs.empty())
    text += "  no format that has a DRM name\n";
  return text + list_pairs(source.pairs);
}

} // namespace

std::string list_pairs(const std::vector<Pair> &pairs)
{
  // fourccs with the same modifiers share a paragraph
  std::map<std::string, std::vector<std::string>> groups;
  std::vector<std::string> order;
  for (auto it = pairs.begin(); it != pairs.end();) {
    const Run run = of_fourcc(pairs, it->fourcc);
    it += static_cast<std::ptrdiff_t>(run.size());
    const std::string key = modifiers(run);
    if (!groups.contains(key))
      order.push_back(key);
    groups[key].push_back(fourcc_name(run.front().fourcc));
  }
  std::string text;
  for (const std::string &key : order) {
    for (const std::string &line : wrap(groups[key], kLineColumns))
      text += "  " + line + "\n";
    text += "      " + key + "\n";
  }
  return text;
}

std::string refusals(const Side &source, const Side &sink)
{
  constexpr std::size_t kMost = 6; // pairs by their names
  std::vector<Pair> pairs;
  if (!source.any_format && !sink.any_format)
    std::set_difference(source.pairs.begin(), source.pairs.end(), sink.pairs.begin(),
                        sink.pairs.end(), std::back_inserter(pairs), before);
  std::string text;
  for (std::size_t i = 0; i < pairs.size() && i < kMost; i++)
    text += (i ? ", " : "") + fourcc_name(pairs[i].fourcc) + " (" +
            modifier_name(pairs[i].modifier) + ")";
  if (pairs.size() > kMost)
    text += " and " + std::to_string(pairs.size() - kMost) + " more pairs";
  if (!source.caps || !sink.caps || gst_caps_is_any(source.caps.get()))
    return text.empty() ? "nothing" : text;
  for (guint i = 0; i < gst_caps_get_size(source.caps.get()); i++) {
    const Caps entry(gst_caps_copy_nth(source.caps.get(), i));
    if (gstdrm::caps_meet(entry.get(), sink.caps.get()))
      continue;
    const GstCapsFeatures *features = gst_caps_get_features(entry.get(), 0);
    const Text memory(gst_caps_features_to_string(features));
    text += (text.empty() ? "all " : ", all ") + media_of_entry(entry.get()) + "(" +
            printable(memory.get()) + ")";
  }
  return text.empty() ? "nothing" : text;
}

std::string list_machine(const Machine &machine, std::string (*about)(const std::string &node))
{
  struct Block {
    std::string names;
    std::string told;
  };
  std::vector<std::string> nodes; // in the order of their first sources
  std::map<std::string, std::vector<Block>> blocks;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> indices;
  for (const Source &source : machine.sources) {
    std::vector<Block> &device = blocks[source.device];
    if (device.empty())
      nodes.push_back(source.device);
    std::string told = list_source(source);
    const auto [found, is_new] =
        indices.try_emplace({source.device, source.kind, told}, device.size());
    // without a node they are different devices
    if (is_new || (source.device.empty() && found->second + 1 != device.size()))
      device.push_back({printable(source.name), std::move(told)});
    else
      device[found->second].names += ", " + printable(source.name);
  }
  std::string text;
  for (const std::string &node : nodes) {
    if (!node.empty())
      text += printable(node) + "\n" + (about ? about(node) : "");
    for (const Block &block : blocks[node])
      text += block.names + block.told;
  }
  return text;
}

Answer explain(const Side &source, const Side &sink)
{
  Answer answer;
  answer.text = summary(source, "offers") + summary(sink, "takes");
  if (source.any_format && sink.any_format) {
    answer.common = true;
    answer.shared = "any format";
    answer.text += "In common: " + answer.shared + ".\n";
    return answer;
  }
  const std::vector<Pair> common = intersect(source, sink);
  answer.common = !common.empty();
  if (common.empty()) {
    answer.text += explain_nothing(source, sink);
    return answer;
  }
  answer.shared = count(common.size(), "pair", "pairs") + " of " +
                  count(count_fourccs(common), "format", "formats");
  answer.text += "In common: " + answer.shared + "\n" + list_pairs(common);
  if (!has(common, GST_DRM_MODIFIER_LINEAR) && has(common, GST_DRM_MODIFIER_IMPLICIT))
    answer.text += "Note: the implicit modifier holds only between drivers that know each other's "
                   "layout.\n";
  if (!same_device(source.node, sink.node))
    answer.text +=
        "Note: these are two devices. A common pair says nothing of placement; an import "
        "may still be refused.\n";
  return answer;
}

std::string mistake_written(GstElement *pipeline, const GstCaps *between)
{
  if (const std::string mistake = gstdrm::mistake_in(between); !mistake.empty())
    return "The caps between the elements: " + printable(mistake) + "\n";
  for (const Element &element : elements_of(pipeline))
    if (const std::string mistake = gstdrm::mistake_in(filter_of(element.get()).get());
        !mistake.empty())
      return std::string("The caps of ") + Text(gst_element_get_name(element.get())).get() + ": " +
             printable(mistake) + "\n";
  return {};
}

Caps caps_between(const std::string &link_error)
{
  const std::size_t at = link_error.find("video/x-raw");
  return Caps(at == std::string::npos ? nullptr : gst_caps_from_string(link_error.c_str() + at));
}

} // namespace inspect
