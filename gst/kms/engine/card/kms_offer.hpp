// SPDX-License-Identifier: LGPL-2.1-or-later
// What the sink offers upstream at the moment: which pairs, and which were taken out, why. Any
// thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include <gst/drm/core/format_set.hpp>

namespace gstdrm::kms {

// Whether an errno of AddFB2 or of an atomic commit says that the device does not do this, whereas
// others say that it cannot do anything now (ENOMEM, EACCES, ENODEV, EBUSY).
bool is_refusal(int sys_errno);

// A pair that the device lists and refused at a size.
struct Refusal {
  Format format;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::string reason; // a sentence
};

class FormatOffer {
public:
  explicit FormatOffer(FormatSet listed) : listed_(std::move(listed)) {}

  // What is listed, less what was refused.
  [[nodiscard]] FormatSet formats() const;
  [[nodiscard]] std::vector<Refusal> refusals() const;

  // Each returns whether formats() answers something else now.
  //
  // What the device lists is another set: a plane was chosen, let go, or a display was plugged in.
  // Refusals stay.
  bool list(FormatSet listed);
  // Forgets the refusals of other sizes: what is too much for one size may do for the next.
  bool resize(std::uint32_t width, std::uint32_t height);
  bool refuse(Refusal refusal);
  bool forget_refusals();

private:
  [[nodiscard]] FormatSet offered() const; // with the lock held

  mutable std::mutex lock_; // guards both below; taken last
  FormatSet listed_;
  std::vector<Refusal> refusals_;
};

} // namespace gstdrm::kms
