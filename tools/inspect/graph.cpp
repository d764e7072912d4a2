// SPDX-License-Identifier: LGPL-2.1-or-later
#include "graph.hpp"

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

std::vector<Element> elements_of(GstElement *pipeline)
{
  std::vector<Element> elements;
  if (!GST_IS_BIN(pipeline)) {
    elements.emplace_back(GST_ELEMENT(gst_object_ref(pipeline)));
    return elements;
  }
  for_each<GstElement>(gst_bin_iterate_sorted(GST_BIN(pipeline)), [&](GstElement *element) {
    elements.emplace(elements.begin(), GST_ELEMENT(gst_object_ref(element)));
  });
  return elements;
}

} // namespace inspect
