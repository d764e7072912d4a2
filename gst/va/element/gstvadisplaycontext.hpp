// SPDX-License-Identifier: LGPL-2.1-or-later
// The VADisplay that elements of one pipeline share, as GstContext "gst.va.display.handle".
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <gst/drm/gstdrm-private.hpp>
#include <gst/gst.h>

#include "engine/va_device.hpp"

namespace gstdrm::va {

// Opens an element's device, on a display of its neighbours or of the application where there is
// one of the same device. Any thread.
class DisplayContext {
public:
  DisplayContext(GstElement *element, GstDebugCategory *category)
      : element_(element), category_(category)
  {
  }
  DisplayContext(const DisplayContext &) = delete;
  DisplayContext &operator=(const DisplayContext &) = delete;

  // Asks the neighbours and then the application for a display of that node, opens one of its own
  // where nobody has one, and announces that. `node`: empty for the first that exports. Called
  // without a lock: messages are posted and queries sent.
  Result<Device> open(const std::string &node);
  // Answers a CONTEXT query with the display of `device`; false for any other query, and without a
  // device.
  bool answer(GstQuery *query, const std::shared_ptr<const Device> &device) const;

private:
  // A context's display, of that node, or of any where it is empty; `refused`: why the last context
  // was of no use.
  std::optional<Device> share(const std::string &node, std::string &refused);
  static Result<Device> open_own(const std::string &wanted, const std::string &node);

  GstElement *const element_; // borrowed: it owns this; keeps the contexts that were set
  GstDebugCategory *const category_;
};

} // namespace gstdrm::va
