// SPDX-License-Identifier: LGPL-2.1-or-later
// The line in which items wait, in the order in which they came, until they are done and taken out.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <optional>

#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/drm/core/result.hpp>
#include <gst/drm/core/wake_fd.hpp>

#include "inference_item.hpp"

namespace gstdrm::metis {

// One thread pushes and drains, one pops, one works; any thread sets flushing.
class ItemLine {
public:
  enum class Passage { Done, Flushing };

  // An item in the line. Whoever shares it keeps its payload alive, until the payload is popped.
  // The worker alone uses `item.frame` and `outcome` before settle().
  struct Entry {
    Item item;
    Outcome outcome;
    std::chrono::steady_clock::time_point entered; // when it got its place
    // Guarded by the line's lock.
    bool taken = false; // the worker has it
    bool done = false;
    bool dropped = false; // by a flush
  };

  // At most `places` items that take a place are inside. `wake` becomes readable when the worker
  // has to look.
  ItemLine(unsigned places, WakeFd wake) : places_(places), wake_(std::move(wake)) {}
  ItemLine(const ItemLine &) = delete;
  ItemLine &operator=(const ItemLine &) = delete;

  // Sleeps while all places are taken. Flushing: the item is gone.
  Passage push(Item item);
  // Sleeps until the oldest item is done. None: flushing.
  std::optional<Outcome> pop();
  // Sleeps until every item was popped and pop() was called again after the last one.
  Passage drain();
  // True: all items leave, push(), pop() and drain() return, and none of them sleeps until it is
  // false again. An item that the worker has at the time lives until the worker lets go.
  void set_flushing(bool flushing);

  // For the worker.
  std::shared_ptr<Entry> take(); // the oldest frame that was not taken; nullptr: none
  [[nodiscard]] bool is_dropped(const Entry &entry);
  // The entry is done, with what stands in its outcome.
  void settle(Entry &entry);
  // All that the worker took and did not settle end with this error.
  void settle_taken(const Error &why);
  [[nodiscard]] const WakeFd &wake() const noexcept { return wake_; }

private:
  const unsigned places_;
  const WakeFd wake_;

  OrderedMutex lock_{kLeafLockRank, "ItemLine::lock_"}; // guards all below
  // Two, so that no thread wakes for what another one waits for: a wake-up in vain is two system
  // calls of each frame.
  OrderedCondition done_;                      // an item is done, for pop()
  OrderedCondition left_;                      // an item has left, for push() and drain()
  std::deque<std::shared_ptr<Entry>> entries_; // oldest first
  unsigned places_taken_ = 0;
  bool outside_ = false; // the thread that pops has an item that it has not handed on
  bool flushing_ = false;
};

} // namespace gstdrm::metis
