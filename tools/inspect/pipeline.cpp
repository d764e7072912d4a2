// SPDX-License-Identifier: LGPL-2.1-or-later
#include "pipeline.hpp"

#include <algorithm>
#include <utility>
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
  PadPtr sink; // empty if it is not linked
  Caps offered;
  Caps taken;
};

// All links, with the caps that both ends answer now.
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

// The links of `now`. Links that existed before the stream keep their caps of that time, because
// during the stream each end answers only the chosen caps. Bins such as decodebin make links when
// they see their stream.
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

// "video/x-raw(memory:DMABuf), ...", cut to a few lines.
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

// What one end offers and the other takes; empty if they have something in common.
std::string explain_caps(const std::string &src, const std::string &sink, Caps offered, Caps taken)
{
  if (gstdrm::caps_meet(offered.get(), taken.get()))
    return {};
  return explain(side_of_caps(src, std::move(offered)), side_of_caps(sink, std::move(taken))).text;
}

// Why two pads were not linked; `between` may be empty.
std::string explain_link(GstPad *src, GstPad *sink, const Caps &between)
{
  const Caps offered(gst_pad_query_caps(src, nullptr));
  const Caps taken(gst_pad_query_caps(sink, nullptr));
  const std::string caps_name = "what is written between them";
  std::string text;
  if (between)
    text = explain_caps(name_of(src), caps_name, share(offered), share(between));
  if (between && text.empty())
    text = explain_caps(caps_name, name_of(sink), share(between), share(taken));
  if (text.empty())
    text = explain_caps(name_of(src), name_of(sink), share(offered), share(taken));
  return !text.empty() ? text
                       : name_of(src) + " and " + name_of(sink) +
                             " have caps in common: what keeps them apart is what stands between "
                             "them, or behind.\n";
}

guint64 stat(const GstStructure *stats, const char *name)
{
  guint64 value = 0;
  gst_structure_get_uint64(stats, name, &value);
  return value;
}

// The copies of the elements that count them.
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

struct Waited {
  std::string problem;       // empty if frames came
  bool unnegotiated = false; // an element failed to negotiate and does not say why
  std::string warnings;      // one per line
};

std::string text_of(GstMessage *message)
{
  GError *raw = nullptr;
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR)
    gst_message_parse_error(message, &raw, nullptr);
  else
    gst_message_parse_warning(message, &raw, nullptr);
  const Error error(raw);
  const Text name(gst_object_get_name(GST_MESSAGE_SRC(message)));
  return std::string(name.get()) + ": " + error->message;
}

// Returns true for GStreamer's own errors about caps, such as a base class with the flow that ended
// its loop.
bool is_unexplained_negotiation(GstMessage *message)
{
  const GstStructure *details = nullptr;
  gst_message_parse_error_details(message, &details);
  gint flow = GST_FLOW_OK;
  if (details && gst_structure_get_int(details, "flow-return", &flow))
    return flow == GST_FLOW_NOT_NEGOTIATED;
  GError *raw = nullptr;
  gst_message_parse_error(message, &raw, nullptr);
  const Error error(raw);
  return !details && g_error_matches(error.get(), GST_CORE_ERROR, GST_CORE_ERROR_NEGOTIATION);
}

// Waits for the first frames.
Waited wait_for_frames(GstElement *pipeline, unsigned limit_ms)
{
  Waited outcome;
  GstStateChangeReturn change = gst_element_set_state(pipeline, GST_STATE_PAUSED);
  if (change == GST_STATE_CHANGE_NO_PREROLL) // a live source makes frames only in PLAYING
    change = gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstBus *bus = gst_element_get_bus(pipeline);
  const Element keep(GST_ELEMENT_CAST(bus));
  constexpr auto kWanted = static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_ASYNC_DONE |
                                                       GST_MESSAGE_EOS | GST_MESSAGE_WARNING);
  const bool done = change == GST_STATE_CHANGE_SUCCESS;
  // after a failure the error is on the bus already
  const bool waits = !done && change != GST_STATE_CHANGE_FAILURE;
  const gint64 end = g_get_monotonic_time() + (waits ? gint64{limit_ms} * 1000 : 0); // us
  Message message;
  do {
    const gint64 left = std::max<gint64>(end - g_get_monotonic_time(), 0);
    message.reset(
        gst_bus_timed_pop_filtered(bus, static_cast<GstClockTime>(left) * GST_USECOND, kWanted));
    if (message && GST_MESSAGE_TYPE(message.get()) == GST_MESSAGE_WARNING)
      outcome.warnings += "warning: " + printable(text_of(message.get())) + "\n";
  } while (message && GST_MESSAGE_TYPE(message.get()) == GST_MESSAGE_WARNING);
  if (message && GST_MESSAGE_TYPE(message.get()) == GST_MESSAGE_ERROR) {
    outcome.problem = text_of(message.get());
    outcome.unnegotiated = is_unexplained_negotiation(message.get());
  } else if (!message && change == GST_STATE_CHANGE_FAILURE) {
    outcome.problem = "the pipeline does not start";
  } else if (!message && !done) {
    outcome.problem = "no frame reached every sink within " + std::to_string(limit_ms) + " ms";
  }
  return outcome;
}

// For a failure that no element explains: a mistake in the caps of a capsfilter, or else why the
// first link without caps has ends with nothing in common. Empty if there is none.
std::string explain_failed_link(GstElement *pipeline, const std::vector<Link> &links)
{
  if (std::string mistake = mistake_written(pipeline, nullptr); !mistake.empty())
    return mistake;
  for (const Link &link : links)
    if (link.sink && link.taken && !gst_pad_has_current_caps(link.src.get()))
      if (std::string text = explain_caps(name_of(link.src.get()), name_of(link.sink.get()),
                                          share(link.offered), share(link.taken));
          !text.empty())
        return text;
  return {};
}

// GStreamer's error only says "could not link": explains each pair of ends that is not linked.
std::string explain_unlinked(GstElement *pipeline, const Caps &between)
{
  if (std::string mistake = mistake_written(pipeline, between.get()); !mistake.empty())
    return mistake;
  gst_element_set_state(pipeline, GST_STATE_READY);
  std::string text;
  for_each_gap(pipeline,
               [&](GstPad *src, GstPad *sink) { text += explain_link(src, sink, between); });
  gst_element_set_state(pipeline, GST_STATE_NULL);
  return text;
}

Negotiated run(GstElement *pipeline, unsigned limit_ms)
{
  Negotiated result;
  // elements open their devices in READY, and there is no stream yet
  gst_element_set_state(pipeline, GST_STATE_READY);
  std::vector<Link> before = links_of(elements_of(pipeline));
  const Waited outcome = wait_for_frames(pipeline, limit_ms);
  const std::vector<Element> elements = elements_of(pipeline);
  const std::vector<Link> links = with_new_links(std::move(before), links_of(elements));
  std::size_t number = 0;
  for (const Link &link : links)
    result.text += tell(link, ++number);
  result.text += copies_of(elements);
  const std::string why = outcome.unnegotiated ? explain_failed_link(pipeline, links) : "";
  gst_element_set_state(pipeline, GST_STATE_NULL);
  result.works = outcome.problem.empty();
  result.text += outcome.warnings;
  result.text += result.works ? "result: frames reach every sink\n"
                              : "result: failed: " + printable(outcome.problem) + "\n" + why;
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
    refused.text += explain_unlinked(pipeline.get(), caps_between(error->message));
  return refused;
}

} // namespace inspect
