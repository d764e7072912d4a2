// SPDX-License-Identifier: LGPL-2.1-or-later
// Asks all branches behind a producer for their constraints, where a tee asks none after the first
// one that does not answer (gsttee.c, gst_tee_query_allocation()).
#include <memory>
#include <vector>

#include "gstdrm-private.hpp"
#include "gstdrmconstraints-private.hpp"

namespace gstdrm {

namespace {

using PadPtr = GstPtr<GstPad>;

struct FreeIterator {
  void operator()(GstIterator *iterator) const noexcept { gst_iterator_free(iterator); }
};

// What an iterator gives: unset at its end.
class Item {
public:
  Item() = default;
  Item(const Item &) = delete;
  Item &operator=(const Item &) = delete;
  ~Item()
  {
    if (G_IS_VALUE(&value))
      g_value_unset(&value);
  }
  GValue value = G_VALUE_INIT;
};

// Where a buffer that enters by this pad may leave.
std::vector<PadPtr> ways_on(GstPad *sink)
{
  std::vector<PadPtr> pads;
  const std::unique_ptr<GstIterator, FreeIterator> iterator(gst_pad_iterate_internal_links(sink));
  Item item;
  while (iterator) {
    switch (gst_iterator_next(iterator.get(), &item.value)) {
    case GST_ITERATOR_OK:
      pads.push_back(PadPtr::share(GST_PAD(g_value_get_object(&item.value))));
      g_value_reset(&item.value);
      break;
    case GST_ITERATOR_RESYNC:
      pads.clear();
      gst_iterator_resync(iterator.get());
      break;
    default:
      return pads;
    }
  }
  return pads;
}

// An element that sends other caps on sends buffers of its own.
bool passes_buffers_on(GstPad *src, const GstCaps *caps)
{
  const auto sent = GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(src));
  return sent && gst_caps_is_equal(sent.get(), caps);
}

void ask_within(GstPad *src, GstCaps *caps, int most_elements)
{
  const auto peer = PadPtr::adopt(gst_pad_get_peer(src));
  if (!peer || most_elements == 0)
    return;
  const std::vector<PadPtr> pads = ways_on(peer.get());
  for (const PadPtr &pad : pads) {
    if (!passes_buffers_on(pad.get(), caps))
      continue;
    const auto query = GstPtr<GstQuery>::adopt(gst_query_new_allocation(caps, FALSE));
    if (pads.size() == 1 || !gst_pad_peer_query(pad.get(), query.get()))
      ask_within(pad.get(), caps, most_elements - 1);
  }
}

} // namespace

void ask_branches(GstPad *src, GstCaps *caps)
{
  constexpr int kMostElements = 64; // in a row
  ask_within(src, caps, kMostElements);
}

} // namespace gstdrm
