// SPDX-License-Identifier: LGPL-2.1-or-later
// What drmtensordecode and drmoverlay say where downstream takes none of the caps that they pass
// on.
#pragma once

#include <gst/base/gstbasetransform.h>
#include <gst/drm/element/failed_negotiation.hpp>

namespace gstdrm {

// Owned by one element, whose caps pass unchanged. The streaming thread's.
class PassedCaps {
public:
  explicit PassedCaps(GstBaseTransform *element) noexcept : element_(element) {}

  // Explains caps that GstPad refuses before the element hears of them, as downstream does not take
  // them.
  void watch();
  // The stream starts anew.
  void start() { failed_.reset(); }
  // The element itself cannot use the caps, in its set_caps().
  void post(const Failure &failure) { failed_.post(GST_ELEMENT(element_), failure); }
  // Gives a CAPS event to the handler of the base class, and explains where it is refused there.
  bool take(GstEvent *event, const GstBaseTransformClass *base);

private:
  void explain_refused(GstEvent *event);
  [[nodiscard]] Mismatch mismatch(const GstCaps *caps) const;

  GstBaseTransform *const element_;
  FailedNegotiation failed_;
};

} // namespace gstdrm
