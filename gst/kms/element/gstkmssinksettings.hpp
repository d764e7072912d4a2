// SPDX-License-Identifier: LGPL-2.1-or-later
// What the properties of kmsdmabufsink say, as a plain value.
#pragma once

#include <memory>
#include <string>

#include <gst/drm/element/properties.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/gst.h>
#include <gst/video/video.h>

#include "engine/display/kms_display.hpp"

namespace gstdrm {

enum class SyncMode { Auto, Explicit, Implicit };

// Long for a frame, short for a user. A GPU that hangs is reset after up to 10 s (amdgpu,
// lockup_timeout).
inline constexpr guint64 kDefaultFenceTimeout = 1 * GST_SECOND;

struct SinkSettings {
  kms::DeviceRequest device;
  kms::OutputRequest output; // its mode is not used: `mode` is what the property says
  std::string mode = "auto"; // text of the property
  std::shared_ptr<const GstStructure> connector_properties; // null if there is none
  std::shared_ptr<const GstStructure> plane_properties;
  kms::View view;
  bool restore = true;
  // what the view's rotation follows; custom: the property rotation
  GstVideoOrientationMethod direction = GST_VIDEO_ORIENTATION_IDENTITY;
  GstVideoOrientationMethod tag_direction = GST_VIDEO_ORIENTATION_IDENTITY; // of the stream
  ZeroCopy zero_copy = ZeroCopy::Prefer;
  ImplicitModifier implicit_modifier = ImplicitModifier::Auto;
  SyncMode sync_mode = SyncMode::Auto;
  guint64 fence_timeout = kDefaultFenceTimeout; // ns; 0 if there is none
  gint cursor_x = 0;
  gint cursor_y = 0;
  GstPtr<GstSample> cursor_image; // null if there is no cursor
};

} // namespace gstdrm
