// SPDX-License-Identifier: LGPL-2.1-or-later
#include "graph.hpp"

#include <iterator>

#include "machine.hpp"

namespace inspect {

PadPtr share(GstPad *pad)
{
  return PadPtr(GST_PAD(gst_object_ref(pad)));
}

std::string name_of(GstPad *pad)
{
  const PadPtr keep = share(pad);
  GstElement *element = gst_pad_get_parent_element(pad);
  const Text pad_name(gst_pad_get_name(pad));
  if (!element)
    return pad_name.get();
  const Text element_name(gst_element_get_name(element));
  gst_object_unref(element);
  return std::string(element_name.get()) + "." + pad_name.get();
}

std::string factory_of(GstElement *element)
{
  GstElementFactory *factory = gst_element_get_factory(element);
  return factory ? GST_OBJECT_NAME(factory) : "";
}

Caps filter_of(GstElement *element)
{
  GstCaps *caps = nullptr;
  if (factory_of(element) == "capsfilter")
    g_object_get(element, "caps", &caps, nullptr);
  return Caps(caps ? caps : gst_caps_new_any());
}

std::vector<Element> elements_of(GstElement *pipeline)
{
  std::vector<Element> elements;
  if (!GST_IS_BIN(pipeline)) {
    elements.emplace_back(GST_ELEMENT(gst_object_ref(pipeline)));
    return elements;
  }
  for_each<GstElement>(gst_bin_iterate_sorted(GST_BIN(pipeline)), [&](GstElement *element) {
    std::vector<Element> inner = elements_of(element); // the iterator begins with the sinks
    elements.insert(elements.begin(), std::make_move_iterator(inner.begin()),
                    std::make_move_iterator(inner.end()));
  });
  return elements;
}

PadPtr peer_of(GstPad *pad)
{
  PadPtr peer(gst_pad_get_peer(pad));
  while (peer && GST_IS_PROXY_PAD(peer.get())) {
    if (GST_IS_GHOST_PAD(peer.get())) { // outer side of a bin's pad
      peer.reset(gst_ghost_pad_get_target(GST_GHOST_PAD(peer.get())));
    } else { // inner side of a bin's pad: go on from its outer side
      const PadPtr outer(GST_PAD(gst_proxy_pad_get_internal(GST_PROXY_PAD(peer.get()))));
      peer.reset(outer ? gst_pad_get_peer(outer.get()) : nullptr);
    }
  }
  return peer;
}

void for_each_gap(GstElement *pipeline, const std::function<void(GstPad *, GstPad *)> &call)
{
  PadPtr last;
  for (const Element &element : elements_of(pipeline)) {
    for_each<GstPad>(gst_element_iterate_sink_pads(element.get()), [&](GstPad *pad) {
      if (last && !peer_of(pad))
        call(last.get(), pad);
    });
    for_each<GstPad>(gst_element_iterate_src_pads(element.get()), [&](GstPad *pad) {
      if (!peer_of(pad))
        last = share(pad);
    });
  }
}

} // namespace inspect
