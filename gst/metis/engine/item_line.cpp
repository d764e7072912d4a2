// SPDX-License-Identifier: LGPL-2.1-or-later
#include "item_line.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace gstdrm::metis {

ItemLine::Passage ItemLine::push(Item item)
{
  auto entry = std::make_shared<Entry>();
  entry->outcome.was_frame = item.frame.has_value();
  entry->done = !item.frame;
  entry->item = std::move(item);
  const bool for_worker = !entry->done;
  {
    std::unique_lock guard(lock_);
    const unsigned place = entry->item.takes_place ? 1 : 0;
    left_.wait(guard, [&] { return flushing_ || places_taken_ + place <= places_; });
    if (flushing_) {
      guard.unlock(); // the payload's deleter runs without the lock
      return Passage::Flushing;
    }
    entry->entered = std::chrono::steady_clock::now();
    places_taken_ += place;
    entries_.push_back(std::move(entry));
  }
  if (for_worker)
    wake_.wake();
  else
    done_.notify_all();
  return Passage::Done;
}

std::optional<Outcome> ItemLine::pop()
{
  std::shared_ptr<Entry> entry;
  {
    std::unique_lock guard(lock_);
    outside_ = false;
    if (entries_.empty())
      left_.notify_all(); // drain()
    done_.wait(guard,
               [this] { return flushing_ || (!entries_.empty() && entries_.front()->done); });
    if (flushing_)
      return std::nullopt;
    entry = std::move(entries_.front());
    entries_.pop_front();
    places_taken_ -= entry->item.takes_place ? 1 : 0;
    outside_ = true;
  }
  left_.notify_all(); // push()
  Outcome outcome = std::move(entry->outcome);
  outcome.payload = std::move(entry->item.payload);
  return outcome;
}

ItemLine::Passage ItemLine::drain()
{
  std::unique_lock guard(lock_);
  left_.wait(guard, [this] { return flushing_ || (entries_.empty() && !outside_); });
  return flushing_ ? Passage::Flushing : Passage::Done;
}

void ItemLine::set_flushing(bool flushing)
{
  std::deque<std::shared_ptr<Entry>> dropped; // destroyed without the lock
  {
    const std::lock_guard guard(lock_);
    flushing_ = flushing;
    for (const auto &entry : entries_)
      entry->dropped = true;
    dropped.swap(entries_);
    places_taken_ = 0;
  }
  left_.notify_all();
  done_.notify_all();
  wake_.wake();
}

std::shared_ptr<ItemLine::Entry> ItemLine::take()
{
  const std::lock_guard guard(lock_);
  const auto next = std::find_if(entries_.begin(), entries_.end(),
                                 [](const auto &entry) { return !entry->done && !entry->taken; });
  if (next == entries_.end())
    return nullptr;
  (*next)->taken = true;
  return *next;
}

bool ItemLine::is_dropped(const Entry &entry)
{
  const std::lock_guard guard(lock_);
  return entry.dropped;
}

void ItemLine::settle_taken(const Error &why)
{
  {
    const std::lock_guard guard(lock_);
    for (const auto &entry : entries_)
      if (entry->taken && !entry->done) {
        entry->outcome.error = why;
        entry->done = true;
      }
  }
  done_.notify_all();
}

void ItemLine::settle(Entry &entry)
{
  entry.outcome.inside = std::chrono::steady_clock::now() - entry.entered;
  {
    const std::lock_guard guard(lock_);
    entry.done = true;
  }
  done_.notify_all();
}

} // namespace gstdrm::metis
