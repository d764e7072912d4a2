// SPDX-License-Identifier: LGPL-2.1-or-later
// The settings of kmsdmabufsink and the display that they hold for, under one lock, so that the
// display shows what was set last whichever threads set it. Any thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include <gst/drm/core/ordered_mutex.hpp>

#include "gstkmssinksettings.hpp"

namespace gstdrm {

class SinkDisplay {
public:
  [[nodiscard]] SinkSettings settings() const;
  [[nodiscard]] ZeroCopy zero_copy() const;
  [[nodiscard]] ImplicitModifier implicit_modifier() const;
  // Settings that the next open() or start reads. `change` is called with the lock held.
  void change(const std::function<void(SinkSettings &)> &change);
  // Where and how the picture is shown: holds from the next frame on.
  void change_view(const std::function<void(kms::View &)> &change);

  // What the display shows when the sink stops.
  void set_restore(bool restore);
  // How the picture is turned: by the property rotation, by video-direction, or, where that is
  // auto, by the tag of the stream. The property that is set last holds.
  void set_rotation(std::uint32_t rotation);
  void set_direction(GstVideoOrientationMethod direction);
  void set_tag_direction(GstVideoOrientationMethod direction);

  // The cursor moves at once where a display is open. A missing coordinate stays as it is.
  void move_cursor(std::optional<gint> x, std::optional<gint> y);
  // nullptr: no cursor. The image is kept for the next display, also where this one refuses it.
  Result<void> set_cursor_image(GstSample *sample);
  // Hands a display that has started the cursor that was set before.
  Result<void> restore_cursor();

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
  Result<void> show_wanted_cursor();
  void follow_direction();

  static constexpr int kLockRank = 20; // above the repeat lock, below the engine's

  mutable OrderedMutex lock_{kLockRank, "SinkDisplay::lock_"}; // guards the two below
  SinkSettings settings_;
  std::shared_ptr<kms::Display> display_; // from READY on
};

} // namespace gstdrm
