// SPDX-License-Identifier: LGPL-2.1-or-later
// What drmoverlay does with a frame.
#pragma once

#include <atomic>

#include <gst/base/gstbasetransform.h>
#include <gst/drm/element/errors.hpp>
#include <gst/drm/element/frame_copy.hpp>
#include <gst/drm/element/frame_wait.hpp>
#include <gst/drm/element/properties.hpp>
#include <gst/drm/element/stats.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmvideoinfo.h>

#include "gstdrmoverlayscene.hpp"
#include "gstdrmpasscaps.hpp"

namespace gstdrm {

// One object per element. Any thread uses zero_copy, implicit_modifier, labels, stats(),
// ask_again(), waits.raise() and waits.clear(); the streaming thread, or a state change without
// one, all the rest.
class Overlayer {
public:
  explicit Overlayer(GstBaseTransform *element)
      : caps(element), element_(element), copier_(element, [this] { return failure_.claim(); })
  {
  }

  std::atomic<ZeroCopy> zero_copy{ZeroCopy::Prefer};
  std::atomic<ImplicitModifier> implicit_modifier{ImplicitModifier::Auto};
  std::atomic<bool> labels{true};
  Interrupt waits;
  PassedCaps caps;
  [[nodiscard]] GstStructure *stats() const;

  void start();
  void stop();
  bool set_caps(GstCaps *new_caps, GstCaps *);
  // Downstream changed: what it takes is asked for again before the next frame.
  void ask_again()
  {
    ask_ = true;
    copier_.ask_again();
  }
  // Downstream's answer, with what this element asks of the frames that it may copy.
  void state_needs(GstQuery *answered) const;
  GstFlowReturn process(GstPtr<GstBuffer> &buffer);

private:
  GstFlowReturn fail(const Error &error);
  [[nodiscard]] bool takes_composition();
  [[nodiscard]] bool is_blendable() const;
  GstFlowReturn blend(GstPtr<GstBuffer> &buffer, GstVideoOverlayComposition *composition);
  void count_copy();
  Result<GstPtr<GstBuffer>> copy(GstBuffer *input);

  GstBaseTransform *const element_;
  OncePerFailure failure_;
  std::atomic<bool> ask_{true};
  bool takes_composition_ = false;
  bool is_dmabuf_ = false; // by the caps
  GstDrmVideoInfo info_{};
  GstPtr<GstCaps> caps_;
  FrameCopier copier_;
  Scene scene_;
  Stats stats_;
  std::atomic<guint64> objects_{0};
  std::atomic<guint64> compositions_{0};
  std::atomic<guint64> drawn_{0};
};

} // namespace gstdrm
