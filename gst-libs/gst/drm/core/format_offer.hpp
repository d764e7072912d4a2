// SPDX-License-Identifier: LGPL-2.1-or-later
// The pairs that an element offers to the other side of a negotiation: those that its device lists,
// without those that the device has refused since, each of which has its reason. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "format_set.hpp"
#include "ordered_mutex.hpp"

namespace gstdrm {

// A pair that the device lists and refused at a size.
struct Refusal {
  Format format;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::string reason; // a sentence
};

class FormatOffer {
public:
  // Refusals that are kept; the oldest goes first, and its pair is offered again. No device lists
  // as many pairs, but a stream may go through the lists of many devices.
  static constexpr std::size_t kMaxRefusals = 4096;

  explicit FormatOffer(FormatSet listed) : listed_(std::move(listed)) {}

  // What is listed, without what was refused.
  [[nodiscard]] FormatSet formats() const;
  // Why the pair is not offered at this size; nullopt: it was not refused at it.
  [[nodiscard]] std::optional<Refusal> refusal(Format format, std::uint32_t width,
                                               std::uint32_t height) const;

  // Each of these returns whether formats() has changed.
  //
  // The device lists another set: a plane was chosen or let go, or a display was plugged in. The
  // refusals stay.
  bool list(FormatSet listed);
  // Forgets the refusals of other sizes: a device that refuses a pair at one size may take it at
  // another one.
  bool resize(std::uint32_t width, std::uint32_t height);
  // Replaces an earlier refusal of the same pair.
  bool refuse(Refusal refusal);
  bool forget_refusals();

private:
  [[nodiscard]] FormatSet offered() const; // with the lock held

  // Guards the two below.
  mutable OrderedMutex lock_{kLeafLockRank, "FormatOffer::lock_"};
  FormatSet listed_;
  std::deque<Refusal> refusals_; // oldest first
};

} // namespace gstdrm
