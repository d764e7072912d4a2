// SPDX-License-Identifier: LGPL-2.1-or-later
#include "saved_links.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include <gst/drm/gstdrm-private.hpp>

#include "graph.hpp"
#include "saved_device.hpp"
#include "side.hpp"
#include "why.hpp"

namespace inspect {

namespace {

struct FreeError {
  void operator()(GError *error) const noexcept { g_error_free(error); }
};
using Error = std::unique_ptr<GError, FreeError>;

// RAII: the pipeline's elements that answer caps queries by their neighbours, and open no device,
// are in READY. In NULL they answer with their templates.
class AnsweringElements {
public:
  explicit AnsweringElements(GstElement *pipeline)
  {
    for (Element &element : elements_of(pipeline))
      if (const std::string factory = factory_of(element.get());
          std::find(std::begin(kFactories), std::end(kFactories), factory) !=
          std::end(kFactories)) {
        gst_element_set_state(element.get(), GST_STATE_READY);
        elements_.push_back(std::move(element));
      }
  }
  AnsweringElements(const AnsweringElements &) = delete;
  AnsweringElements &operator=(const AnsweringElements &) = delete;
  ~AnsweringElements()
  {
    for (const Element &element : elements_)
      gst_element_set_state(element.get(), GST_STATE_NULL);
  }

private:
  static constexpr const char *kFactories[] = {"dmabufupload", "dmabufdownload", "dmabufrelabel",
                                               "drmoverlay", "drmtensordecode"};
  std::vector<Element> elements_;
};

// Elements that need DMA buffers, and copy frames that come in system memory.
struct Copier {
  std::string_view factory;
  const char *frames; // which it copies
};
constexpr Copier kCopiers[] = {
    {"dmabufupload", "each frame that upstream does not write into the pool of dmabufupload"},
    {"kmsdmabufsink", "each frame that upstream does not write into the pool of kmsdmabufsink"},
    {"egldmabufupload", "each frame, uploaded by the CPU"},
    {"vadmabufconvert", "each frame, copied into a dmabuf by the CPU"},
};

// Limit for following a stream upstream. No real pipeline has so many elements.
constexpr unsigned kMaxElements = 1000;

// Returns true for an element that passes any stream unchanged: a queue, a tee, a capsfilter.
bool passes_all(GstElement *element)
{
  bool passes = element->numsinkpads > 0;
  GList *templates = gst_element_class_get_pad_template_list(GST_ELEMENT_GET_CLASS(element));
  for (; templates; templates = templates->next) {
    const Caps caps(gst_pad_template_get_caps(GST_PAD_TEMPLATE(templates->data)));
    passes = passes && gst_caps_is_any(caps.get());
  }
  return passes && (element->numsrcpads > 0 || element->srcpads);
}

Side narrowed(Side side, GstElement *element)
{
  const Caps filter = filter_of(element);
  const Set set(gst_drm_format_set_new_from_caps(filter.get()));
  if (set) {
    const Side own = side_of_caps({}, Caps(gst_caps_ref(filter.get())));
    std::erase_if(side.pairs, [&](const Pair &pair) {
      return !gst_drm_format_set_contains(set.get(), pair.fourcc, pair.modifier);
    });
    if (side.any_format)
      side.pairs = own.pairs;
    side.any_format = false;
  }
  if (side.caps)
    side.caps.reset(gst_caps_intersect(side.caps.get(), filter.get()));
  return side;
}

// What comes out of a source pad.
Outcome<Side> offered(const Machine &machine, GstPad *pad, unsigned depth)
{
  const Element element(gst_pad_get_parent_element(pad));
  if (element)
    if (auto side = side_of_device(machine, element.get(), pad))
      return std::move(*side);
  if (element && passes_all(element.get()) && depth < kMaxElements) {
    GstPad *sink = element->sinkpads ? GST_PAD(element->sinkpads->data) : nullptr;
    if (const PadPtr before = sink ? peer_of(sink) : PadPtr(); before) {
      Outcome<Side> side = offered(machine, before.get(), depth + 1);
      if (!side)
        return side.failure;
      return narrowed(std::move(*side.value), element.get());
    }
  }
  return side_of_caps(name_of(pad), Caps(gst_pad_query_caps(pad, nullptr)));
}

// Whether offered() knows the caps. It does not after a queue that a bin will link to when it knows
// its stream.
bool is_known(GstPad *pad, unsigned depth)
{
  const Element element(gst_pad_get_parent_element(pad));
  if (!element || !passes_all(element.get()) || depth >= kMaxElements)
    return true;
  GstPad *sink = element->sinkpads ? GST_PAD(element->sinkpads->data) : nullptr;
  const PadPtr before = sink ? peer_of(sink) : PadPtr();
  return before && is_known(before.get(), depth + 1);
}

Outcome<Side> taken(const Machine &machine, GstPad *pad)
{
  const Element element(gst_pad_get_parent_element(pad));
  if (element)
    if (auto side = side_of_device(machine, element.get(), pad))
      return std::move(*side);
  if (element && passes_all(element.get()))
    return side_of_caps(name_of(pad), filter_of(element.get()));
  return side_of_caps(name_of(pad), Caps(gst_pad_query_caps(pad, nullptr)));
}

std::string pairs_of(const Side &side)
{
  if (side.any_format)
    return "dmabufs of any format";
  return side.pairs.empty() ? "no dmabufs"
                            : count(side.pairs.size(), "pair", "pairs") + " of dmabufs";
}

// "copies: up: each frame …" for the element of a sink pad that gets only system memory; empty if
// the element does not copy.
std::string copies_at(GstPad *sink)
{
  const Element element(gst_pad_get_parent_element(sink));
  const std::string factory = element ? factory_of(element.get()) : "";
  for (const Copier &row : kCopiers)
    if (row.factory == factory) {
      const Text name(gst_element_get_name(element.get()));
      return std::string("copies: ") + printable(name.get()) + ": " + row.frames + "\n";
    }
  return {};
}

// Explains one link and the copies after it. Returns false if the stream fails there.
bool tell(const Machine &machine, GstPad *src, GstPad *sink, std::string &text, std::string &copies)
{
  const Outcome<Side> source = offered(machine, src, 0);
  const Outcome<Side> receiver = source ? taken(machine, sink) : Outcome<Side>(Side());
  for (const Outcome<Side> *side : {&source, &receiver})
    if (!*side) {
      text += "result: failed: " + printable(side->failure.text) + "\n";
      return false;
    }
  text += "  offered: " + pairs_of(*source.value) + "\n  taken:   " + pairs_of(*receiver.value) +
          "\n  refused: " + refusals(*source.value, *receiver.value) + "\n";
  const Answer answer = explain(*source.value, *receiver.value);
  const bool in_system_memory =
      source.value->caps && receiver.value->caps &&
      gstdrm::caps_meet(source.value->caps.get(), receiver.value->caps.get());
  if (answer.common || in_system_memory) {
    text += "  In common: " + (answer.common ? answer.shared : "system memory") + "\n";
    if (!answer.common)
      copies += copies_at(sink);
    return true;
  }
  text += "result: failed: " + name_of(src) + " and " + name_of(sink) +
          " have nothing in common on this machine\n" + answer.text;
  return false;
}

// The names of elements and bins that add source pads when they know their stream: "decodebin0".
std::string makers_of_pads(GstElement *pipeline)
{
  std::string text;
  for_each<GstElement>(gst_bin_iterate_recurse(GST_BIN(pipeline)), [&](GstElement *element) {
    GList *templates = gst_element_class_get_pad_template_list(GST_ELEMENT_GET_CLASS(element));
    const auto is_late = [](const GList *item) {
      const auto *pads = GST_PAD_TEMPLATE(item->data);
      return pads->direction == GST_PAD_SRC && pads->presence == GST_PAD_SOMETIMES;
    };
    while (templates && !is_late(templates))
      templates = templates->next;
    const Text name(gst_element_get_name(element));
    if (templates)
      text += (text.empty() ? "" : " or ") + printable(name.get());
  });
  return text;
}

struct Told {
  Negotiated result;
  std::string copies;
  std::size_t links = 0;
  std::size_t unknown = 0; // of them
};

void tell_unknown(Told &told, const std::string &from, GstPad *sink, const std::string &reason)
{
  told.unknown++;
  told.result.text += "link " + std::to_string(++told.links) + ": " + from + " -> " +
                      name_of(sink) + "\n  not known: " + reason + "\n";
  std::string copies = copies_at(sink);
  if (!copies.empty())
    told.copies += copies.substr(0, copies.size() - 1) + ", if it comes in system memory\n";
}

// The links of one element's pads, and those of its sink pads that only a stream will link.
void tell_element(Told &told, const Machine &machine, GstElement *element,
                  const std::string &makers)
{
  for_each<GstPad>(gst_element_iterate_sink_pads(element), [&](GstPad *pad) {
    if (told.result.works && !makers.empty() && !peer_of(pad))
      tell_unknown(told, makers, pad, makers + " makes its pads when it knows its stream");
  });
  for_each<GstPad>(gst_element_iterate_src_pads(element), [&](GstPad *pad) {
    const PadPtr peer = peer_of(pad);
    if (!told.result.works || !peer)
      return;
    if (!is_known(pad, 0)) {
      tell_unknown(told, name_of(pad), peer.get(), "what comes out of it is what comes in");
      return;
    }
    told.result.text += "link " + std::to_string(++told.links) + ": " + name_of(pad) + " -> " +
                        name_of(peer.get()) + "\n";
    told.result.works = tell(machine, pad, peer.get(), told.result.text, told.copies);
  });
}

Negotiated tell_all(const Machine &machine, GstElement *pipeline)
{
  const AnsweringElements answering(pipeline);
  Told told;
  told.result.works = true;
  const std::string makers = makers_of_pads(pipeline);
  const std::vector<Element> elements = elements_of(pipeline);
  for (const Element &element : elements)
    tell_element(told, machine, element.get(), makers);
  for (const Element &element : elements)
    told.result.text += unused_properties(element.get());
  if (!told.result.works)
    return std::move(told.result);
  told.result.text += told.copies.empty() ? "copies: no element here has to copy\n" : told.copies;
  told.result.text += "result: each link " + std::string(told.unknown ? "that is known " : "") +
                      "has something in common on the saved machine; " +
                      (told.unknown ? count(told.unknown, "is", "are") + " not known; " : "") +
                      "nothing was started\n";
  return std::move(told.result);
}

// Explains the ends that a description left unlinked, with the devices of the saved machine.
std::string explain_unlinked(const Machine &machine, GstElement *pipeline)
{
  const AnsweringElements answering(pipeline);
  std::string text;
  for_each_gap(pipeline, [&](GstPad *src, GstPad *sink) {
    const Outcome<Side> source = offered(machine, src, 0);
    const Outcome<Side> receiver = source ? taken(machine, sink) : Outcome<Side>(Side());
    text += !source     ? printable(source.failure.text) + "\n"
            : !receiver ? printable(receiver.failure.text) + "\n"
                        : explain(*source.value, *receiver.value).text;
  });
  return text;
}

} // namespace

Negotiated explain_saved(const Machine &machine, const std::string &description)
{
  GError *raw = nullptr;
  const Element pipeline(gst_parse_launch(description.c_str(), &raw));
  const Error error(raw);
  if (pipeline)
    gst_object_ref_sink(pipeline.get());
  if (!error && pipeline && GST_IS_PIPELINE(pipeline.get()))
    return tell_all(machine, pipeline.get());
  Negotiated refused;
  refused.text =
      "result: failed: " + printable(error ? error->message : "one element alone is no pipeline") +
      "\n";
  if (pipeline && g_error_matches(error.get(), GST_PARSE_ERROR, GST_PARSE_ERROR_LINK)) {
    const std::string mistake = mistake_written(pipeline.get(), caps_between(error->message).get());
    refused.text += mistake.empty() ? explain_unlinked(machine, pipeline.get()) : mistake;
  }
  return refused;
}

} // namespace inspect
