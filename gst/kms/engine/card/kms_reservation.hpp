// SPDX-License-Identifier: LGPL-2.1-or-later
// Which connectors, CRTCs and planes of a device are in use by which sink of this process. Header
// only. Any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include <gst/drm/core/ordered_mutex.hpp>

#include "kms_lock_ranks.hpp"

namespace gstdrm::kms {

// One per Device. KMS numbers objects of all types in one sequence (drm_mode_object.c), so one set
// of ids holds connectors, CRTCs and planes.
class ReservationTable {
public:
  ReservationTable() = default;
  ReservationTable(const ReservationTable &) = delete;
  ReservationTable &operator=(const ReservationTable &) = delete;

  [[nodiscard]] bool contains(std::uint32_t id) const
  {
    const std::lock_guard guard(lock_);
    return taken_.count(id) != 0;
  }
  void insert(const std::vector<std::uint32_t> &ids)
  {
    const std::lock_guard guard(lock_);
    taken_.insert(ids.begin(), ids.end());
  }
  void erase(const std::vector<std::uint32_t> &ids)
  {
    const std::lock_guard guard(lock_);
    for (const std::uint32_t id : ids)
      taken_.erase(id);
  }
  // Held from reading the device until the objects are reserved, so that two sinks cannot choose
  // the same object.
  OrderedMutex &choice_lock() noexcept { return choice_lock_; }

private:
  OrderedMutex choice_lock_{kChoiceLockRank, "ReservationTable::choice_lock_"};
  mutable OrderedMutex lock_{kLeafLockRank, "ReservationTable::lock_"}; // guards taken_
  std::set<std::uint32_t> taken_;
};

// The objects of one user; given back when destroyed. The table outlives it.
class Reservation {
public:
  Reservation() noexcept = default;
  Reservation(ReservationTable &table, std::vector<std::uint32_t> ids)
      : table_(&table), ids_(std::move(ids))
  {
    table_->insert(ids_);
  }
  Reservation(Reservation &&other) noexcept
      : table_(std::exchange(other.table_, nullptr)), ids_(std::move(other.ids_))
  {
  }
  Reservation &operator=(Reservation &&other) noexcept
  {
    std::swap(table_, other.table_);
    std::swap(ids_, other.ids_);
    return *this;
  }
  ~Reservation()
  {
    if (table_)
      table_->erase(ids_);
  }

  // One more object, which nobody has.
  void add(std::uint32_t id)
  {
    table_->insert({id});
    ids_.push_back(id);
  }
  [[nodiscard]] const std::vector<std::uint32_t> &ids() const noexcept { return ids_; }
  [[nodiscard]] bool owns(std::uint32_t id) const
  {
    return std::find(ids_.begin(), ids_.end(), id) != ids_.end();
  }

private:
  ReservationTable *table_ = nullptr;
  std::vector<std::uint32_t> ids_;
};

} // namespace gstdrm::kms
