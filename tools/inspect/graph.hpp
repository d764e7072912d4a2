// SPDX-License-Identifier: LGPL-2.1-or-later
// The elements and pads of a pipeline.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "element_ptr.hpp"

namespace inspect {

struct FreeIterator {
  void operator()(GstIterator *iterator) const noexcept { gst_iterator_free(iterator); }
};
using Iterator = std::unique_ptr<GstIterator, FreeIterator>;
// Calls `call` once for each object. The list may change meanwhile: bins add pads and elements on
// threads of their own.
template <typename T> void for_each(GstIterator *raw, const std::function<void(T *)> &call)
{
  using Object = std::unique_ptr<T, UnrefObject>;
  const Iterator iterator(raw);
  std::vector<Object> found;
  GValue item = G_VALUE_INIT;
  GstIteratorResult result = iterator ? GST_ITERATOR_OK : GST_ITERATOR_DONE;
  while (result == GST_ITERATOR_OK || result == GST_ITERATOR_RESYNC) {
    result = gst_iterator_next(iterator.get(), &item);
    if (result == GST_ITERATOR_OK) {
      found.emplace_back(static_cast<T *>(g_value_dup_object(&item)));
      g_value_reset(&item);
    } else if (result == GST_ITERATOR_RESYNC) {
      found.clear();
      gst_iterator_resync(iterator.get());
    }
  }
  g_value_unset(&item);
  for (const Object &object : found)
    call(object.get());
}

PadPtr share(GstPad *pad);
// "camera.src"
std::string name_of(GstPad *pad);
// The name of its factory; empty if it has none.
std::string factory_of(GstElement *element);
// The caps of a capsfilter; ANY for every other element.
Caps filter_of(GstElement *element);
// The elements in the order of the stream, with the elements of bins in place of the bins.
std::vector<Element> elements_of(GstElement *pipeline);
// The linked pad of an element that is no bin, found through the pads of bins. Empty if there is
// none.
PadPtr peer_of(GstPad *pad);
// Calls `call` for each unlinked source pad and the next unlinked sink pad after it.
void for_each_gap(GstElement *pipeline, const std::function<void(GstPad *src, GstPad *sink)> &call);

} // namespace inspect
