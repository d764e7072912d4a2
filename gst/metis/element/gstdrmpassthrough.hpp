// SPDX-License-Identifier: LGPL-2.1-or-later
// What elements share that pass each frame on with its caps and add metas to it.
#pragma once

#include <optional>

#include <gst/base/gstbasetransform.h>
#include <gst/drm/core/result.hpp>
#include <gst/drm/element/failed_negotiation.hpp>
#include <gst/drm/gstdrm-private.hpp>

namespace gstdrm {

// Explains caps that downstream refuses. Owned by one element. Streaming thread.
class PassedCaps {
public:
  explicit PassedCaps(GstBaseTransform *element) noexcept : element_(element) {}

  // From now on explains caps that GstPad refuses before it calls the element.
  void watch();
  // For a new stream.
  void start() { failed_.reset(); }
  // For caps that the element's set_caps() refuses.
  void post(const Failure &failure) { failed_.post(GST_ELEMENT(element_), failure); }
  // Passes a CAPS event to the base class, and explains a refusal.
  bool take(GstEvent *event, const GstBaseTransformClass *base);

private:
  [[nodiscard]] Mismatch mismatch(const GstCaps *caps) const;

  GstBaseTransform *const element_;
  FailedNegotiation failed_;
};

// Answers queries that GstBaseTransform does not answer well for an element that passes all frames
// with their caps: it splits caps by structures, which loses lists that contain lists, and fails an
// assertion if there are none. Returns nullopt if the base class has to answer.
std::optional<gboolean> pass_query(GstBaseTransform *trans, GstPadDirection direction,
                                   GstQuery *query) noexcept;

// Makes the buffer writable. If others hold it, too, replaces it by a copy with the same memory,
// which keeps the buffer alive and so out of its pool.
Result<void> make_writable(GstPtr<GstBuffer> &buffer);

} // namespace gstdrm
