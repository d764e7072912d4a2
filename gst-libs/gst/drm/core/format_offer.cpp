// SPDX-License-Identifier: LGPL-2.1-or-later
#include "format_offer.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

#include "log.hpp"

namespace gstdrm {

FormatSet FormatOffer::offered() const
{
  std::vector<Format> refused;
  refused.reserve(refusals_.size());
  for (const Refusal &refusal : refusals_)
    refused.push_back(refusal.format);
  return FormatSet::subtract(listed_, FormatSet::from_pairs(std::move(refused)));
}

FormatSet FormatOffer::formats() const
{
  const std::lock_guard guard(lock_);
  return offered();
}

std::optional<Refusal> FormatOffer::refusal(Format format, std::uint32_t width,
                                            std::uint32_t height) const
{
  const std::lock_guard guard(lock_);
  const auto found = std::find_if(refusals_.begin(), refusals_.end(), [&](const Refusal &refusal) {
    return refusal.format == format && refusal.width == width && refusal.height == height;
  });
  return found == refusals_.end() ? std::nullopt : std::optional(*found);
}

bool FormatOffer::list(FormatSet listed)
{
  const std::lock_guard guard(lock_);
  const FormatSet before = offered();
  listed_ = std::move(listed);
  return offered() != before;
}

bool FormatOffer::resize(std::uint32_t width, std::uint32_t height)
{
  std::size_t forgotten = 0;
  bool changes = false;
  {
    const std::lock_guard guard(lock_);
    const FormatSet before = offered();
    forgotten = std::erase_if(refusals_, [&](const Refusal &refusal) {
      return refusal.width != width || refusal.height != height;
    });
    changes = offered() != before;
  }
  if (forgotten > 0)
    GSTDRM_DEBUG("%zu pairs that were refused at another size are offered again at %ux%u",
                 forgotten, width, height);
  return changes;
}

bool FormatOffer::refuse(Refusal refusal)
{
  GSTDRM_DEBUG("%s is refused at %ux%u: %s", describe_format(refusal.format).c_str(), refusal.width,
               refusal.height, refusal.reason.c_str());
  const std::lock_guard guard(lock_);
  const bool is_new = std::erase_if(refusals_, [&](const Refusal &old) {
                        return old.format == refusal.format;
                      }) == 0;
  bool changes = is_new && listed_.contains(refusal.format);
  if (refusals_.size() >= kMaxRefusals) {
    changes = changes || listed_.contains(refusals_.front().format); // offered again
    refusals_.pop_front();
  }
  refusals_.push_back(std::move(refusal));
  return changes;
}

bool FormatOffer::forget_refusals()
{
  std::size_t forgotten = 0;
  bool changes = false;
  {
    const std::lock_guard guard(lock_);
    const FormatSet before = offered();
    forgotten = refusals_.size();
    refusals_.clear();
    changes = offered() != before;
  }
  if (forgotten > 0)
    GSTDRM_DEBUG("%zu pairs that were refused are offered again", forgotten);
  return changes;
}

} // namespace gstdrm
