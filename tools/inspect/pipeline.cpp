// SPDX-License-Identifier: LGPL-2.1-or-later
#include "pipeline.hpp"

#include <vector>

#include <gst/drm/gstdrm-private.hpp>

#include "element_ptr.hpp"
#include "graph.hpp"
#include "why.hpp"

namespace inspect {

namespace {

struct FreeError {
  void operator()(GError *error) const noexcept { g_error_free(error); }
};
using Error = std::unique_ptr<GError, FreeError>;
struct UnrefMessage {
  void operator()(GstMessage *message) const noexcept { gst_message_unref(message); }
};
using Message = std::unique_ptr<GstMessage, UnrefMessage>;
struct FreeStructure {
  void operator()(GstStructure *structure) const noexcept { gst_structure_free(structure); }
};

struct Link {
  PadPtr src;
  PadPtr sink; // empty: not linked
  Caps offered;
  Caps taken;
};

// What both ends of every link say now.
std::vector<Link> links_of(const std::vector<Element> &elements)
{
  std::vector<Link> links;
  for (const Element &element : elements)
    for_each<GstPad>(gst_element_iterate_src_pads(element.get()), [&](GstPad *pad) {
      Link link;
      link.src = share(pad);
      link.sink = peer_of(pad);
      link.offered.reset(gst_pad_query_caps(pad, nullptr));
      if (link.sink)
        link.taken.reset(gst_pad_query_caps(link.sink.get(), nullptr));
      links.push_back(std::move(link));
    });
  return links;
}

// The links that there are now. Of those that there were before the stream, with what their ends
// said then: afterwards each end says what was chosen. A bin such as decodebin makes others when it
// sees its stream.
std::vector<Link> with_new_links(std::vector<Link> &&before, std::vector<Link> &&now)
{
  for (Link &link : now)
    for (Link &old : before)
      if (old.src == link.src && old.sink == link.sink && old.offered) {
        link = std::move(old);
        break;
      }
  return std::move(now);
}

Caps share(const Caps &caps)
{
  return Caps(gst_caps_ref(caps.get()));
}

// "video/x-raw(memory:DMABuf), ..." cut to what fits a few lines
std::string text_of(const GstCaps *caps)
{
  constexpr std::size_t kMost = 400; // bytes
  const Text text(gst_caps_to_string(caps));
  return shorten(printable(text.get()), kMost);
}

std::string text_of_dmabufs(const GstCaps *caps)
{
  const Set set(gst_drm_format_set_new_from_caps(caps));
  if (!set)
    return {};
  const guint pairs = gst_drm_format_set_get_size(set.get());
  return pairs == 0 ? "" : " [" + count(pairs, "dmabuf pair", "dmabuf pairs") + "]";
}

std::string tell(const Link &link, std::size_t number)
{
  std::string text = "link " + std::to_string(number) + ": " + name_of(link.src.get()) + " -> ";
  if (!link.sink)
    return text + "nothing\n  offered: " + text_of(link.offered.get()) + "\n";
  text += name_of(link.sink.get()) + "\n  offered:" + text_of_dmabufs(link.offered.get()) + " " +
          text_of(link.offered.get()) + "\n  taken:  " + text_of_dmabufs(link.taken.get()) + " " +
          text_of(link.taken.get()) + "\n  refused: " +
          refusals(side_of_caps({}, share(link.offered)), side_of_caps({}, share(link.taken))) +
          "\n";
  const Caps chosen(gst_pad_get_current_caps(link.src.get()));
  return text + "  chosen:  " + (chosen ? text_of(chosen.get()) : "nothing") + "\n";
}

// Why two ends do not link by their own caps.
std::string explain_caps(GstPad *src, GstPad *sink, Caps offered, Caps taken)
{
  if (gstdrm::caps_meet(offered.get(), taken.get()))
    return name_of(src) + " and " + name_of(sink) +
           " have caps in common: what keeps them apart is what stands between them, or behind.\n";
  return explain(side_of_caps(name_of(src), std::move(offered)),
                 side_of_caps(name_of(sink), std::move(taken)))
      .text;
}

std::string explain_link(GstPad *src, GstPad *sink)
{
  return explain_caps(src, sink, Caps(gst_pad_query_caps(src, nullptr)),
                      Caps(gst_pad_query_caps(sink, nullptr)));
}

guint64 stat(const GstStructure *stats, const char *name)
{
  guint64 value = 0;
  gst_structure_get_uint64(stats, name, &value);
  return value;
}

// What the elements that count say of copies.
std::string copies_of(const std::vector<Element> &elements)
{
  std::string text;
  for (const Element &element : elements) {
    if (!g_object_class_find_property(G_OBJECT_GET_CLASS(element.get()), "drm-stats"))
      continue;
    GstStructure *raw = nullptr;
    g_object_get(element.get(), "drm-stats", &raw, nullptr);
    const std::unique_ptr<GstStructure, FreeStructure> stats(raw);
    if (!stats)
      continue;
    const guint64 copies = stat(stats.get(), "copies");
    const gchar *reason = gst_structure_get_string(stats.get(), "last-copy-reason");
    const Text name(gst_element_get_name(element.get()));
    text += std::string("copies: ") + name.get() + ": " + std::to_string(copies) + " in " +
            count(stat(stats.get(), "frames"), "frame", "frames") +
            (copies && reason && *reason ? std::string(" (") + printable(reason) + ")" : "") + "\n";
  }
  return text.empty() ? "copies: no element here counts them\n" : text;
}

std::string text_of_error(GstMessage *message)
{
  GError *raw = nullptr;
  gst_message_parse_error(message, &raw, nullptr);
  const Error error(raw);
  const Text name(gst_object_get_name(GST_MESSAGE_SRC(message)));
  return std::string(name.get()) + ": " + error->message;
}

// Waits for the first frames; what went wrong, empty where nothing did.
std::string wait_for_frames(GstElement *pipeline, unsigned limit_ms)
{
  GstStateChangeReturn change = gst_element_set_state(pipeline, GST_STATE_PAUSED);
  if (change == GST_STATE_CHANGE_NO_PREROLL) // a live source makes frames in PLAYING alone
    change = gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstBus *bus = gst_element_get_bus(pipeline);
  const Element keep(GST_ELEMENT_CAST(bus));
  constexpr auto kWanted =
      static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_ASYNC_DONE | GST_MESSAGE_EOS);
  const bool done = change == GST_STATE_CHANGE_SUCCESS;
  // what failed has said so already, or never will
  const bool waits = !done && change != GST_STATE_CHANGE_FAILURE;
  const Message message(gst_bus_timed_pop_filtered(
      bus, waits ? static_cast<GstClockTime>(limit_ms) * GST_MSECOND : 0, kWanted));
  if (message && GST_MESSAGE_TYPE(message.get()) == GST_MESSAGE_ERROR)
    return text_of_error(message.get());
  if (!message && change == GST_STATE_CHANGE_FAILURE)
    return "the pipeline does not start";
  if (!message && !done)
    return "no frame reached every sink within " + std::to_string(limit_ms) + " ms";
  return {};
}

// The link behind which there is nothing: the first without caps whose element got some.
const Link *failed_link(const std::vector<Link> &links)
{
  for (const Link &link : links)
    if (link.sink && !gst_pad_has_current_caps(link.src.get()))
      return &link;
  return nullptr;
}

// gst-launch says "could not link" and no more: tells each pair of ends that were left over.
std::string explain_unlinked(GstElement *pipeline)
{
  gst_element_set_state(pipeline, GST_STATE_READY);
  std::string text;
  for_each_gap(pipeline, [&](GstPad *src, GstPad *sink) { text += explain_link(src, sink); });
  gst_element_set_state(pipeline, GST_STATE_NULL);
  return text;
}

Negotiated run(GstElement *pipeline, unsigned limit_ms)
{
  Negotiated result;
  // devices are opened in READY, and nothing flows yet
  gst_element_set_state(pipeline, GST_STATE_READY);
  std::vector<Link> before = links_of(elements_of(pipeline));
  const std::string problem = wait_for_frames(pipeline, limit_ms);
  const std::vector<Element> elements = elements_of(pipeline);
  const std::vector<Link> links = with_new_links(std::move(before), links_of(elements));
  std::size_t number = 0;
  for (const Link &link : links)
    result.text += tell(link, ++number);
  result.text += copies_of(elements);
  const Link *failed = problem.empty() ? nullptr : failed_link(links);
  std::string why;
  if (failed)
    why = explain_caps(failed->src.get(), failed->sink.get(), share(failed->offered),
                       share(failed->taken));
  gst_element_set_state(pipeline, GST_STATE_NULL);
  result.works = problem.empty();
  result.text += result.works ? "result: frames reach every sink\n"
                              : "result: failed: " + printable(problem) + "\n" + why;
  return result;
}

} // namespace

Negotiated negotiate(const std::string &description, unsigned limit_ms)
{
  GError *raw = nullptr;
  Element pipeline(gst_parse_launch(description.c_str(), &raw));
  const Error error(raw);
  if (pipeline)
    gst_object_ref_sink(pipeline.get());
  if (!error && pipeline && !GST_IS_PIPELINE(pipeline.get()))
    return {false, "result: failed: one element alone is no pipeline\n"};
  if (!error && pipeline)
    return run(pipeline.get(), limit_ms);
  Negotiated refused;
  refused.text = "result: failed: " + printable(error ? error->message : "no pipeline") + "\n";
  if (pipeline && g_error_matches(error.get(), GST_PARSE_ERROR, GST_PARSE_ERROR_LINK))
    refused.text += explain_unlinked(pipeline.get());
  return refused;
}

} // namespace inspect
