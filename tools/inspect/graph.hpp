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
template <typename T> void for_each(GstIterator *raw, const std::function<void(T *)> &call)
{
  const Iterator iterator(raw);
  GValue item = G_VALUE_INIT;
  while (iterator && gst_iterator_next(iterator.get(), &item) == GST_ITERATOR_OK) {
    call(static_cast<T *>(g_value_get_object(&item)));
    g_value_reset(&item);
  }
  g_value_unset(&item);
}

PadPtr share(GstPad *pad);
// "camera.src"
std::string name_of(GstPad *pad);
// The elements in the order of the stream.
std::vector<Element> elements_of(GstElement *pipeline);

} // namespace inspect
