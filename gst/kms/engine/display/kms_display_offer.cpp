// SPDX-License-Identifier: LGPL-2.1-or-later
// Display: which pairs it offers to upstream, as planes are chosen and pairs refused.
#include <utility>

#include "kms_display.hpp"

namespace gstdrm::kms {

// Updates the offer for the present picture: the pairs of its plane that test commits accept at
// this size. Returns whether the offer has changed.
bool Display::narrow_offer()
{
  const FormatSet before = offer_.formats();
  offer_.list(scanout_.plane_formats());
  offer_.resize(picture_.width, picture_.height);
  const Proved what{scanout_.plane_id(), mode_, picture_.width, picture_.height};
  if (what != proved_) {
    proved_ = what;
    const FormatSet shown = FormatSet::from_pairs({picture_.format});
    for (Refusal &refusal :
         scanout_.disprove(picture_, mode_, FormatSet::subtract(offer_.formats(), shown)))
      offer_.refuse(std::move(refusal));
  }
  return offer_.formats() != before;
}

void Display::refuse(const Error &why)
{
  const FormatSet before = offer_.formats();
  offer_.resize(picture_.width, picture_.height);
  offer_.refuse({picture_.format, picture_.width, picture_.height, why.message});
  // test the pairs first, so that upstream's next choice is one that works
  for (Refusal &refusal : scanout_.disprove(picture_, mode_, offer_.formats()))
    offer_.refuse(std::move(refusal));
  if (offer_.formats() != before)
    listener_.formats_changed();
}

std::optional<Refusal> Display::refusal(const Picture &picture) const
{
  return offer_.refusal(picture.format, picture.width, picture.height);
}

} // namespace gstdrm::kms
