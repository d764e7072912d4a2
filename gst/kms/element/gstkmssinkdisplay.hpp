// SPDX-License-Identifier: LGPL-2.1-or-later
// The settings of kmsdmabufsink and the display that they hold for, under one lock, so that the
// display shows what was set last whichever threads set it. Any thread.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include <gst/drm/core/ordered_mutex.hpp>
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

// What the properties say.
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

  // In place of what video-direction or a tag says: what is set last holds.
  void set_rotation(std::uint32_t rotation)
  {
    direction = GST_VIDEO_ORIENTATION_CUSTOM;
    view.rotation = rotation;
    view.rotation_is_optional = false;
  }
};

class SinkDisplay {
public:
  [[nodiscard]] SinkSettings settings() const;
  // One of them, without a copy of the rest.
  template <auto Member> [[nodiscard]] auto setting() const
  {
    const std::lock_guard guard(lock_);
    return settings_.*Member;
  }
  // View, direction, cursor's place and `restore` hold for the open display from the next frame on,
  // the rest for the next open() or start. `change` is called with the lock held.
  void change(const std::function<void(SinkSettings &)> &change);
  // nullptr: no cursor. The image is kept for the next display, also where this one refuses it.
  Result<void> set_cursor_image(GstSample *sample);
  // Hands the open display the image that is set, as to one that has just started.
  Result<void> show_wanted_cursor();

  // Opens what the settings ask for. `listener` outlives the display.
  Result<void> open(kms::DisplayListener &listener);
  // The same in place of the display that is open and has shown nothing, where another output is
  // free. Error: none is, and the display stays.
  Result<void> open_another(kms::DisplayListener &listener);
  // The display is closed when the last thread that uses it lets it go. Error: it could not be put
  // back as it was.
  Result<void> close();
  // The display that is open; null in NULL.
  [[nodiscard]] std::shared_ptr<kms::Display> get() const;

private:
  Result<std::shared_ptr<kms::Display>> open_display(kms::DisplayListener &listener,
                                                     const kms::Display *former) const;
  std::shared_ptr<kms::Display> set_display(std::shared_ptr<kms::Display> display);
  void follow_settings();

  static constexpr int kLockRank = 20; // above the repeat lock, below the engine's

  mutable OrderedMutex lock_{kLockRank, "SinkDisplay::lock_"}; // guards the two below
  SinkSettings settings_;
  std::shared_ptr<kms::Display> display_; // from READY on
};

} // namespace gstdrm
