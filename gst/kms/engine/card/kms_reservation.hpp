// SPDX-License-Identifier: LGPL-2.1-or-later
// Which connectors, CRTCs and planes of a device the sinks of this process wait for, and which of
// them a sink shows on. Header only. Any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include <gst/drm/core/ordered_mutex.hpp>

namespace gstdrm::kms {

// One per Device. KMS numbers objects of all types in one sequence (drm_mode_object.c), so one map
// of ids holds connectors, CRTCs and planes.
class ReservationTable {
public:
  ReservationTable() = default;
  ReservationTable(const ReservationTable &) = delete;
  ReservationTable &operator=(const ReservationTable &) = delete;

  // Whether a sink waits for the object or shows on it.
  [[nodiscard]] bool contains(std::uint32_t id) const
  {
    const std::lock_guard guard(lock_);
    return objects_.count(id) != 0;
  }
  // Whether a sink shows on the object.
  [[nodiscard]] bool is_taken(std::uint32_t id) const
  {
    const std::lock_guard guard(lock_);
    return find_taken({id}) != 0;
  }
  // Held from reading the device until the objects are reserved, so that two sinks that wait do not
  // choose the same object where there is another.
  OrderedMutex &choice_lock() noexcept { return choice_lock_; }

private:
  friend class Reservation;
  struct Users {
    unsigned waiting = 0; // sinks, the one that shows included
    bool taken = false;
  };
  // The first of them that a sink shows on; 0 if there is none. With the lock held.
  [[nodiscard]] std::uint32_t find_taken(const std::vector<std::uint32_t> &ids) const
  {
    for (const std::uint32_t id : ids)
      if (const auto it = objects_.find(id); it != objects_.end() && it->second.taken)
        return id;
    return 0;
  }

  OrderedMutex choice_lock_{34, "ReservationTable::choice_lock_"};
  // Guards objects_, and the ids of each Reservation.
  mutable OrderedMutex lock_{kLeafLockRank, "ReservationTable::lock_"};
  std::map<std::uint32_t, Users> objects_;
};

// The objects that one sink shows on, or waits for; given back when destroyed. Any number of sinks
// wait for the same objects, and one takes them. The table outlives it.
class Reservation {
public:
  Reservation() noexcept = default;
  Reservation(ReservationTable &table, const std::vector<std::uint32_t> &ids) : table_(&table)
  {
    for (const std::uint32_t id : ids)
      add(id);
  }
  Reservation(Reservation &&other) noexcept
      : table_(std::exchange(other.table_, nullptr)), ids_(std::move(other.ids_)),
        taken_(std::exchange(other.taken_, false))
  {
  }
  Reservation &operator=(Reservation &&other) noexcept
  {
    std::swap(table_, other.table_);
    std::swap(ids_, other.ids_);
    std::swap(taken_, other.taken_);
    return *this;
  }
  ~Reservation()
  {
    if (!table_)
      return;
    give_up();
    const std::lock_guard guard(table_->lock_);
    for (const std::uint32_t id : ids_)
      if (const auto it = table_->objects_.find(id); --it->second.waiting == 0)
        table_->objects_.erase(it);
  }

  // Takes all of the objects, for the frames of one sink. 0: done; else an object that another sink
  // has taken, and nothing was taken.
  [[nodiscard]] std::uint32_t take()
  {
    const std::lock_guard guard(table_->lock_);
    if (const std::uint32_t other = taken_ ? 0 : table_->find_taken(ids_); other != 0)
      return other;
    set_taken(true);
    return 0;
  }
  // Lets other sinks take the objects. This one waits for them from now on.
  void give_up() noexcept
  {
    if (!taken_)
      return;
    const std::lock_guard guard(table_->lock_);
    set_taken(false);
  }
  [[nodiscard]] bool is_taken() const noexcept { return taken_; }

  // One more object, which no other sink has.
  void add(std::uint32_t id)
  {
    const std::lock_guard guard(table_->lock_);
    ids_.push_back(id);
    ReservationTable::Users &users = table_->objects_[id];
    users.waiting++;
    users.taken |= taken_;
  }
  [[nodiscard]] const std::vector<std::uint32_t> &ids() const noexcept { return ids_; }
  [[nodiscard]] bool owns(std::uint32_t id) const
  {
    return std::find(ids_.begin(), ids_.end(), id) != ids_.end();
  }

private:
  void set_taken(bool taken) noexcept
  {
    for (const std::uint32_t id : ids_)
      table_->objects_.find(id)->second.taken = taken;
    taken_ = taken;
  }

  ReservationTable *table_ = nullptr;
  std::vector<std::uint32_t> ids_;
  bool taken_ = false;
};

} // namespace gstdrm::kms
