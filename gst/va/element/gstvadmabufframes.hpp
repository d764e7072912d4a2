// SPDX-License-Identifier: LGPL-2.1-or-later
// The frames of one format: takes buffers from the pool and draws into them. Readers wait for the
// fence on the buffer. If the driver attaches no fence, a thread waits for the device before the
// buffer is pushed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <gst/drm/element/stats.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmvideoinfo.h>

#include "engine/va_device.hpp"
#include "engine/va_renderer.hpp"
#include "engine/va_surface.hpp"
#include "gstvadmabufallocator.hpp"

namespace gstdrm::va {

// Timestamps of frames, counted from the first frame of the current caps.
struct Timeline {
  std::uint64_t first_frame = 0;
  GstClockTime base = 0;
  int rate_n = 30; // 0: a still picture
  int rate_d = 1;

  [[nodiscard]] GstClockTime at(std::uint64_t frame) const
  {
    if (rate_n == 0)
      return base;
    return base + gst_util_uint64_scale(frame - first_frame,
                                        GST_SECOND * static_cast<guint64>(rate_d),
                                        static_cast<guint64>(rate_n));
  }
};

// Returns the first property of the picture that the patterns do not support, as part of a
// sentence; empty if they support all.
std::string not_drawn(const GstDrmVideoInfo &info);
// Limits the caps to those that the patterns can be drawn with, as far as caps can say that.
GstPtr<GstCaps> drawn_caps(const GstCaps *caps);

class FrameSource {
public:
  static Result<std::unique_ptr<FrameSource>> create(GstElement *element, const Device &device,
                                                     const GstDrmVideoInfo &info, Pattern pattern,
                                                     std::uint32_t argb, Stats &stats,
                                                     SyncWorker &worker);
  // The caller posts the Error. The flow is the pool's return value, or FLUSHING when cancelled.
  struct Produced {
    GstFlowReturn flow = GST_FLOW_OK;
    GstPtr<GstBuffer> buffer;
  };
  Result<Produced> produce(GstBufferPool *pool, std::uint64_t frame, const Timeline &timeline);
  // Draws a frame into a surface of its own: some drivers allocate formats that they cannot draw.
  Result<void> try_draw(const Device &device, const GstDrmVideoInfo &info);
  [[nodiscard]] bool uses_cpu() const { return renderer_->uses_cpu(); }
  [[nodiscard]] bool draws(Pattern pattern, std::uint32_t argb) const
  {
    return pattern_ == pattern && argb_ == argb;
  }
  // Drops the frame that was drawn ahead; produce() draws it again.
  void drop_ahead() { ahead_ = {}; }

private:
  struct Drawn {
    std::uint64_t frame = 0;
    GstPtr<GstBuffer> buffer;
    std::uint64_t ticket = 0; // of the sync worker; 0 if the buffer has fences
  };
  FrameSource(GstElement *element, std::unique_ptr<Renderer> renderer, Pattern pattern,
              std::uint32_t argb, Stats &stats, SyncWorker &worker)
      : element_(element), renderer_(std::move(renderer)), pattern_(pattern), argb_(argb),
        stats_(stats), worker_(worker)
  {
  }
  struct Begun {
    GstFlowReturn flow = GST_FLOW_OK;
    Drawn drawn;
  };
  Result<Begun> begin(GstBufferPool *pool, std::uint64_t frame, GstClockTime timestamp,
                      bool may_wait);

  GstElement *element_; // borrowed: owns this
  std::unique_ptr<Renderer> renderer_;
  const Pattern pattern_;
  const std::uint32_t argb_;
  Stats &stats_;
  SyncWorker &worker_;
  DrawFences fences_;
  Drawn ahead_;
};

} // namespace gstdrm::va
