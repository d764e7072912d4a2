// SPDX-License-Identifier: LGPL-2.1-or-later
#include "saved_links.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "graph.hpp"
#include "side.hpp"
#include "why.hpp"

namespace inspect {

namespace {

struct FreeError {
  void operator()(GError *error) const noexcept { g_error_free(error); }
};
using Error = std::unique_ptr<GError, FreeError>;

// Elements whose pad has what a device has.
struct DeviceElement {
  std::string_view factory;
  End end;
  std::string_view kind;  // of the machine's sources
  std::string_view words; // in the source's name or description; empty: any
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

// Elements that need DMA buffers, and copy frames that come in system memory.
struct Copier {
  std::string_view factory;
  const char *frames; // that are copied
};
constexpr Copier kCopiers[] = {
    {"dmabufupload", "each frame that upstream does not write into the pool of dmabufupload"},
    {"kmsdmabufsink", "each frame that upstream does not write into the pool of kmsdmabufsink"},
    {"egldmabufupload", "each frame, uploaded by the CPU"},
    {"vadmabufconvert", "each frame, copied into a dmabuf by the CPU"},
};

// How far a stream is followed upstream; far above every real pipeline.
constexpr unsigned kMaxElements = 1000;

std::string factory_of(GstElement *element)
{
  GstElementFactory *factory = gst_element_get_factory(element);
  return factory ? GST_OBJECT_NAME(factory) : "";
}

End end_of(GstPad *pad)
{
  return GST_PAD_IS_SRC(pad) ? End::Source : End::Sink;
}

// The node that the property `device` names; empty: none.
std::string device_of(GstElement *element)
{
  const GParamSpec *spec = g_object_class_find_property(G_OBJECT_GET_CLASS(element), "device");
  if (!spec || spec->value_type != G_TYPE_STRING)
    return {};
  gchar *raw = nullptr;
  g_object_get(element, "device", &raw, nullptr);
  const Text text(raw);
  return text ? text.get() : "";
}

bool has_words(const Source &source, std::string_view words)
{
  return source.name.find(words) != std::string::npos ||
         source.description.find(words) != std::string::npos;
}

// The pairs of one device of the machine, of whichever of its sources fits; nothing: the pad's
// element uses no device.
std::optional<Outcome<Side>> side_of_device(const Machine &machine, GstElement *element,
                                            GstPad *pad)
{
  const std::string factory = factory_of(element);
  const auto is_row = [&](const DeviceElement &row) {
    return row.factory == factory && row.end == end_of(pad);
  };
  if (std::none_of(std::begin(kDeviceElements), std::end(kDeviceElements), is_row))
    return std::nullopt;
  std::string device = factory == "v4l2src" ? "" : device_of(element);
  Side side;
  std::string problem;
  for (const Source &source : machine.sources) {
    const bool fits = std::any_of(
        std::begin(kDeviceElements), std::end(kDeviceElements), [&](const DeviceElement &row) {
          return is_row(row) && row.kind == source.kind && has_words(source, row.words);
        });
    const bool other = !side.label.empty() || !device.empty() ? source.device != device : false;
    if (!source.problem.empty() && problem.empty())
      problem = source.problem;
    if (!fits || other || !source.problem.empty())
      continue;
    device = source.device; // one device, the first where none is named
    side.label += (side.label.empty() ? name_of(pad) + " on " : ", ") + source.name;
    std::copy_if(source.pairs.begin(), source.pairs.end(), std::back_inserter(side.pairs),
                 [&](const Pair &pair) { // nothing is drawn into an external texture
                   return end_of(pad) == End::Sink || !pair.external_only;
                 });
  }
  if (side.label.empty())
    return Outcome<Side>(Failure{name_of(pad) + ": the machine has no source for " + factory +
                                 (device.empty() ? "" : " on " + device)});
  tidy(side.pairs);
  side.label = printable(side.label);
  return Outcome<Side>(std::move(side));
}

// An element that lets every stream through as it is: a queue, a tee, a capsfilter.
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

// The caps of a capsfilter; ANY for every other element.
Caps filter_of(GstElement *element)
{
  GstCaps *caps = nullptr;
  if (factory_of(element) == "capsfilter")
    g_object_get(element, "caps", &caps, nullptr);
  return Caps(caps ? caps : gst_caps_new_any());
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
    if (const PadPtr before(sink ? gst_pad_get_peer(sink) : nullptr); before) {
      Outcome<Side> side = offered(machine, before.get(), depth + 1);
      if (!side)
        return side.failure;
      return narrowed(std::move(*side.value), element.get());
    }
  }
  return side_of_caps(name_of(pad), Caps(gst_pad_query_caps(pad, nullptr)));
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

// "copies: up: each frame …", for the element of a sink pad that gets system memory
// alone; empty where it is none that copies.
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

// Explains one link, and the copies that follow; false: the stream ends there.
bool tell(const Machine &machine, GstPad *src, GstPad *sink, std::string &text, std::string &copies)
{
  const Outcome<Side> source = offered(machine, src, 0);
  const Outcome<Side> receiver = source ? taken(machine, sink) : Outcome<Side>(Side());
  for (const Outcome<Side> *side : {&source, &receiver})
    if (!*side) {
      text += "result: failed: " + printable(side->failure.text) + "\n";
      return false;
    }
  text +=
      "  offered: " + pairs_of(*source.value) + "\n  taken:   " + pairs_of(*receiver.value) + "\n";
  const Answer answer = explain(*source.value, *receiver.value);
  const bool in_system_memory =
      source.value->caps && receiver.value->caps &&
      gst_caps_can_intersect(source.value->caps.get(), receiver.value->caps.get());
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

} // namespace

Negotiated explain_saved(const Machine &machine, const std::string &description)
{
  GError *raw = nullptr;
  const Element pipeline(gst_parse_launch(description.c_str(), &raw));
  const Error error(raw);
  if (pipeline)
    gst_object_ref_sink(pipeline.get());
  if (error || !pipeline || !GST_IS_PIPELINE(pipeline.get()))
    return {false, "result: failed: " +
                       printable(error ? error->message : "one element alone is no pipeline") +
                       "\n"};
  Negotiated result;
  result.works = true;
  std::size_t number = 0;
  std::string copies;
  for (const Element &element : elements_of(pipeline.get()))
    for_each<GstPad>(gst_element_iterate_src_pads(element.get()), [&](GstPad *pad) {
      const PadPtr peer(gst_pad_get_peer(pad));
      if (!result.works || !peer)
        return;
      result.text += "link " + std::to_string(++number) + ": " + name_of(pad) + " -> " +
                     name_of(peer.get()) + "\n";
      result.works = tell(machine, pad, peer.get(), result.text, copies);
    });
  if (result.works && copies.empty())
    copies = "copies: no element here has to copy\n";
  if (result.works)
    result.text +=
        copies +
        "result: each link has something in common on the saved machine; nothing was started\n";
  return result;
}

} // namespace inspect
