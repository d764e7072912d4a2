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

// Opens an element's device, on a display that a neighbour or the application shares if it is of
// the same device. Any thread.
class DisplayContext {
public:
  DisplayContext(GstElement *element, GstDebugCategory *category)
      : element_(element), category_(category)
  {
  }
  DisplayContext(const DisplayContext &) = delete;
  DisplayContext &operator=(const DisplayContext &) = delete;

  // Asks the neighbours and then the application for a display of that node. If none has one, opens
  // one and announces it. `node` is empty for the first node that exports. Posts messages and sends
  // queries: the caller holds no lock.
  Result<Device> open(const std::string &node);
  // Answers a CONTEXT query with the display of `device`. Returns false for any other query, and if
  // there is no device.
  bool answer(GstQuery *query, const std::shared_ptr<const Device> &device) const;

private:
  // The display of a context, if it is of that node or `node` is empty; nullopt if no context has
  // one, then `refused` is the reason of the last context.
  std::optional<Device> share(const std::string &node, std::string &refused);
  static Result<Device> open_own(const std::string &wanted, const std::string &node);

  GstElement *const element_; // borrowed: owns this, and keeps the contexts that were set
  GstDebugCategory *const category_;
};

} // namespace gstdrm::va
