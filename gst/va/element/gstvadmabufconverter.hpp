// SPDX-License-Identifier: LGPL-2.1-or-later
// vadmabufconvert behind its GObject shell.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <gst/base/gstbasetransform.h>
#include <gst/drm/core/device_wait.hpp>
#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/drm/element/failed_negotiation.hpp>
#include <gst/drm/element/needs.hpp>
#include <gst/drm/element/pool.hpp>
#include <gst/drm/element/producer.hpp>
#include <gst/drm/element/properties.hpp>
#include <gst/drm/element/refusals.hpp>
#include <gst/drm/element/stats.hpp>
#include <gst/drm/gstdrmallocator.h>
#include <gst/video/video.h>

#include "engine/va_device.hpp"
#include "gstvaconvertcaps.hpp"
#include "gstvaconvertframes.hpp"
#include "gstvadisplaycontext.hpp"
#include "gstvapaircache.hpp"

GST_DEBUG_CATEGORY_EXTERN(gst_va_dmabuf_convert_debug);

namespace gstdrm::va {

// The values of the property, of which the last four are algorithms.
enum class Deinterlace { Off, Auto, Weave, Bob, Adaptive, Compensated };

struct ConvertSettings {
  std::string device; // empty: the first that exports
  GstVideoOrientationMethod direction = GST_VIDEO_ORIENTATION_IDENTITY;
  bool add_borders = true;
  Deinterlace deinterlace = Deinterlace::Auto;
  ColourPolicy colours = ColourPolicy::Exact;
  guint num_surfaces = 6;
  ZeroCopy zero_copy = ZeroCopy::Prefer;
  ImplicitModifier implicit_modifier = ImplicitModifier::Auto;
};

// RAII: holds the stream lock of the pad, so that no frame and no serialized query passes it.
class StreamLock {
public:
  explicit StreamLock(GstPad *pad) : pad_(pad) { GST_PAD_STREAM_LOCK(pad_); }
  StreamLock(const StreamLock &) = delete;
  StreamLock &operator=(const StreamLock &) = delete;
  ~StreamLock() { GST_PAD_STREAM_UNLOCK(pad_); }

private:
  GstPad *pad_;
};

// Implements the virtual functions of GstBaseTransform. Called by the streaming thread, unless a
// comment names another one.
class DmabufConverter {
public:
  // `klass` is the class of GstBaseTransform, whose functions the methods call.
  DmabufConverter(GstBaseTransform *element, GstBaseTransformClass *klass);
  DmabufConverter(const DmabufConverter &) = delete;
  DmabufConverter &operator=(const DmabufConverter &) = delete;

  // Any thread.
  [[nodiscard]] ConvertSettings settings() const;
  // `change` is called under the lock.
  void change_settings(const std::function<void(ConvertSettings &)> &change);
  [[nodiscard]] GstStructure *stats_structure() const; // (transfer full)
  bool query(GstPadDirection direction, GstQuery *query);
  GstCaps *transform_caps(GstPadDirection direction, GstCaps *caps, GstCaps *filter);
  void set_flushing(bool flushing);

  // Application thread, while the streaming thread is stopped.
  bool start();
  void stop();

  bool sink_event(GstEvent *event); // (transfer full). FLUSH_START comes from any thread
  // Returns the output caps. Agrees on format and modifier by allocating and drawing one frame.
  // Empty after a failure, whose error was posted. `others` is (transfer full).
  GstPtr<GstCaps> fixate_caps(GstPadDirection direction, GstCaps *in_caps, GstCaps *others);
  bool set_caps(GstCaps *in_caps, GstCaps *out_caps);
  bool decide_allocation(GstQuery *query);
  bool propose_allocation(GstQuery *decide_query, GstQuery *query);
  GstFlowReturn submit_input_buffer(bool discont, GstBuffer *buffer);
  GstFlowReturn prepare_output(GstBuffer *in, GstBuffer **out);
  GstFlowReturn transform(GstBuffer *in, GstBuffer *out);
  // Returns true if GstBaseTransform is to copy the meta. Metas about memory are dropped; metas
  // about places in the picture are scaled onto `out` here.
  bool transform_meta(GstBuffer *out, GstMeta *meta, GstBuffer *in);

private:
  void answer_caps(GstPadDirection direction, GstQuery *query);
  GstPtr<GstCaps> make_answer(GstPadDirection direction, GstCaps *peer, const GstCaps *filter);
  [[nodiscard]] std::shared_ptr<const Device> device() const; // any thread
  [[nodiscard]] std::shared_ptr<SyncWorker> worker() const;   // any thread
  [[nodiscard]] std::optional<Orientation> orientation() const;
  // nullopt if frames are not deinterlaced. Any thread.
  [[nodiscard]] std::optional<DeinterlaceMethod> deinterlacing() const;
  [[nodiscard]] bool passes(GstCaps *in_caps) const;
  [[nodiscard]] bool peer_lists(const GstCaps *caps) const;
  Result<ConvertStream> stream_of(GstCaps *in_caps, GstCaps *out_caps, ColourPolicy colours) const;
  GstPtr<GstCaps> agree(const Device &device, GstCaps *in_caps);
  GstPtr<GstCaps> agree_on_size(const Device &device, GstCaps *in_caps, const PictureSize &size,
                                ColourPolicy colours, Error &refusals);
  Result<void> try_caps(const Device &device, GstCaps *in_caps, GstCaps *out_caps,
                        ColourPolicy colours);
  void warn_of_colours();
  // All caps of the sink pad, and of the source pad. Any thread.
  [[nodiscard]] GstPtr<GstCaps> input_caps() const;
  [[nodiscard]] GstPtr<GstCaps> whole_caps() const;
  // whole_caps() and the pairs of `downstream` that the driver may make as well; without a
  // drm-format if `downstream` is nullptr.
  [[nodiscard]] GstPtr<GstCaps> possible_caps(const GstCaps *downstream) const;
  [[nodiscard]] Mismatch mismatch(const GstCaps *in_caps) const;
  [[nodiscard]] guint buffers_held() const;
  Result<void> open_pool(GstQuery *query, GstCaps *caps);
  Result<void> open_plain_pool(GstCaps *caps);
  void drop_pools();
  GstFlowReturn copy_out(GstBuffer *surface, GstBuffer *out);
  bool check_pool(const Device &device);
  void forget_imports(bool all); // ConvertFrames::forget_imports(), streaming thread
  GstFlowReturn fail(const Error &error);
  GstFlowReturn refuse_pair(const Error &error);
  // Offers refused pairs again if the caps of the event have another size.
  void reconsider_pairs(GstEvent *event);

  GstBaseTransform *const element_; // owns this
  GstBaseTransformClass *const base_;
  DisplayContext context_;
  Stats stats_;
  FailedNegotiation failure_;
  Interrupt interrupt_;
  Producer producer_;
  Refusals refusals_;
  PairCache pairs_; // has its own lock
  GstPtr<GstDrmAllocator> allocator_;
  ConvertFrames frames_;
  ConvertStream stream_;
  ActivePool pool_;
  // System memory, where the driver pads rows and downstream reads no GstVideoMeta.
  ActivePool plain_pool_;
  bool copies_out_ = false; // frames go downstream in buffers of plain_pool_
  AgreedNeeds needs_;       // of downstream, beyond its caps
  bool warned_of_device_ = false;
  bool warned_of_colours_ = false;
  // The negotiation with upstream since its last CAPS event.
  struct Upstream {
    bool asks_next = false; // the CAPS event is being handled; an ALLOCATION query follows it
    bool takes_release_fences = false; // upstream waits for release fences
    guint buffers_held = 0;            // our answer to upstream's query; 0 before the query
  };
  Upstream upstream_;
  unsigned lost_ = 0;         // frames dropped since the last import
  std::uint64_t imports_ = 0; // at the last frame
  GstVideoOrientationMethod tagged_ = GST_VIDEO_ORIENTATION_IDENTITY; // from upstream's tags

  // Guards all below.
  mutable OrderedMutex lock_{10, "DmabufConverter::lock_"};
  ConvertSettings settings_;
  std::shared_ptr<const Device> device_;
  // Pairs of format and modifier that the driver failed to import at this size in pixels.
  struct RefusedPairs {
    gint width = 0;
    gint height = 0;
    FormatSet pairs;
  };
  RefusedPairs refused_;
  std::shared_ptr<SyncWorker> worker_;
  // An answer to a caps query while the device is open, with everything that it depends on.
  struct Answered {
    GstPadDirection direction = GST_PAD_UNKNOWN;
    GstPtr<GstCaps> peer, filter; // filter may be nullptr
    FormatSet known, refused;
    bool deinterlaces = false;
    GstPtr<GstCaps> answer;
  };
  static constexpr std::size_t kMostAnswers = 8;
  std::deque<Answered> answers_; // newest last
};

} // namespace gstdrm::va
