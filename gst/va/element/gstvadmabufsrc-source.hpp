// SPDX-License-Identifier: LGPL-2.1-or-later
// The class behind vadmabufsrc: what start() opens and caps make. Negotiation is in
// gstvadmabufsrc-negotiation.cpp, the GObject in gstvadmabufsrc.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <gst/base/gstpushsrc.h>
#include <gst/drm/element/errors.hpp>
#include <gst/drm/element/needs.hpp>
#include <gst/drm/element/producer.hpp>
#include <gst/drm/element/properties.hpp>
#include <gst/drm/element/stats.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmallocator.h>
#include <gst/drm/gstdrmvideoinfo.h>

#include "gstvadisplaycontext.hpp"
#include "gstvadmabufcaps.hpp"
#include "gstvadmabufframes.hpp"
#include "gstvapaircache.hpp"

GST_DEBUG_CATEGORY_EXTERN(gst_va_dmabuf_src_debug);

namespace gstdrm::va {

struct Properties {
  std::string device; // empty: the first that exports
  Pattern pattern = Pattern::Smpte;
  std::uint32_t argb = 0xff0000ff;
  guint num_surfaces = 6;
  ZeroCopy zero_copy = ZeroCopy::Prefer;
  ImplicitModifier implicit_modifier = ImplicitModifier::Auto;
};

// The properties, the device, what was learned of it and the worker are guarded by the object lock;
// everything else is used by the streaming thread alone.
class Source {
public:
  explicit Source(GstBaseSrc *element)
      : element_(element), context_(GST_ELEMENT(element), gst_va_dmabuf_src_debug),
        producer_(GST_ELEMENT(element), gst_va_dmabuf_src_debug)
  {
  }

  Properties properties; // under the object lock
  Stats stats;

  bool start();
  void stop();
  void unlock() { set_cancelled(true); }
  void unlock_stop() { set_cancelled(false); }
  GstCaps *query_caps(GstCaps *filter);
  bool negotiate();
  bool set_caps(GstCaps *caps);
  bool decide_allocation(GstQuery *query);
  GstFlowReturn create(GstBuffer **buffer);
  // Goes on with the frame of the segment's position; false: that cannot be. The streaming thread
  // stands still, and its lock is held.
  bool seek(GstSegment *segment);
  GstStructure *stats_structure();
  // Latency and duration, where both are known, and the display; any thread.
  bool answer(GstQuery *query);
  // Whether the message is one of the base class's that is not to be posted: it is left out where
  // the element has said what failed, or replaced by a message that explains itself. Any thread.
  bool replace(GstMessage *message);

private:
  std::shared_ptr<const Device> device(); // any thread
  void set_cancelled(bool cancelled);
  bool follow_pattern();
  Properties copy_properties();
  Result<void> prepare(const Device &device, GstCaps *caps);
  void post_nothing_common(const GstCaps *own);
  Result<GstPtr<GstBufferPool>> pool_for(GstQuery *query, GstCaps *caps);
  void go_to(GstClockTime position, int rate_n, int rate_d);
  void post(const char *what, const Error &error);

  GstBaseSrc *element_;
  DisplayContext context_;
  std::shared_ptr<const Device> device_; // under the object lock
  PairCache learner_;
  GstPtr<GstDrmAllocator> allocator_;
  // Set under the object lock; an event of any thread may cancel its waits.
  std::shared_ptr<SyncWorker> worker_;
  Producer producer_;
  // What the pool was made for.
  struct PoolRequest {
    GstPtr<GstCaps> caps;
    guint wanted = 0; // surfaces; the driver may have had fewer
    bool with_meta = false;
  };
  PoolRequest made_for_;
  AgreedNeeds needs_; // what downstream asks for beyond its caps
  GstDrmVideoInfo info_{};
  // Made for caps that are tried; set_caps() takes it.
  struct Prepared {
    GstPtr<GstCaps> caps;
    GstDrmVideoInfo info{};
    std::unique_ptr<FrameSource> frames;
    Pattern pattern{};
    std::uint32_t argb = 0;
  };
  Prepared prepared_;
  std::unique_ptr<FrameSource> frames_;
  Pattern drawn_pattern_{}; // of frames_
  std::uint32_t drawn_argb_ = 0;
  Timeline timeline_;
  std::optional<GstClockTime> sought_; // before there are caps, and so a rate
  std::uint64_t next_frame_ = 0;
  bool warned_of_device_ = false;
  std::atomic<bool> failed_{false}; // and said so; until a start, or a frame that was drawn
};

} // namespace gstdrm::va
