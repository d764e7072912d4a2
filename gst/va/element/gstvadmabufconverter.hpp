// SPDX-License-Identifier: LGPL-2.1-or-later
// vadmabufconvert behind its GObject shell: device, caps, allocation, failures. Negotiation is in
// gstvadmabufconverter-negotiation.cpp.
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
#include "gstvaconvertcolours.hpp"
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

// While it lives, no frame and no serialized query goes through the pad.
class StreamLock {
public:
  explicit StreamLock(GstPad *pad) : pad_(pad) { GST_PAD_STREAM_LOCK(pad_); }
  StreamLock(const StreamLock &) = delete;
  StreamLock &operator=(const StreamLock &) = delete;
  ~StreamLock() { GST_PAD_STREAM_UNLOCK(pad_); }

private:
  GstPad *pad_;
};

// The methods stand behind the virtual functions of GstBaseTransform. The streaming thread's,
// except where a comment says otherwise.
class DmabufConverter {
public:
  // `klass` is that of GstBaseTransform, for methods that go on where it does.
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

  // The application's thread, while the streaming thread does not run.
  bool start();
  void stop();

  bool sink_event(GstEvent *event); // takes the event. FLUSH_START: any thread
  // The caps that leave: the pair is agreed on here, by making one frame of it. Empty where that
  // failed; the reason is on the bus. Takes `others`.
  GstPtr<GstCaps> fixate_caps(GstPadDirection direction, GstCaps *in_caps, GstCaps *others);
  bool set_caps(GstCaps *in_caps, GstCaps *out_caps);
  bool decide_allocation(GstQuery *query);
  bool propose_allocation(GstQuery *decide_query, GstQuery *query);
  GstFlowReturn submit_input_buffer(bool discont, GstBuffer *buffer);
  GstFlowReturn prepare_output(GstBuffer *in, GstBuffer **out);
  GstFlowReturn transform(GstBuffer *in, GstBuffer *out);
  [[nodiscard]] const ConvertStream &stream() const { return stream_; }

private:
  void answer_caps(GstPadDirection direction, GstQuery *query);
  GstPtr<GstCaps> make_answer(GstPadDirection direction, GstCaps *peer, const GstCaps *filter);
  [[nodiscard]] std::shared_ptr<const Device> device() const; // any thread
  [[nodiscard]] std::shared_ptr<SyncWorker> worker() const;   // any thread
  [[nodiscard]] std::optional<Orientation> orientation() const;
  // Empty where nothing is deinterlaced; any thread.
  [[nodiscard]] std::optional<DeinterlaceMethod> deinterlacing() const;
  [[nodiscard]] bool passes(GstCaps *in_caps) const;
  Result<ConvertStream> stream_of(GstCaps *in_caps, GstCaps *out_caps, ColourPolicy colours) const;
  GstPtr<GstCaps> agree(const Device &device, GstCaps *in_caps);
  GstPtr<GstCaps> agree_on_size(const Device &device, GstCaps *in_caps, const PictureSize &size,
                                ColourPolicy colours, Error &refusals);
  Result<void> try_caps(const Device &device, GstCaps *in_caps, GstCaps *out_caps,
                        ColourPolicy colours);
  void warn_of_colours();
  // What frames may come in, and go out, as; any thread.
  [[nodiscard]] GstPtr<GstCaps> input_caps() const;
  [[nodiscard]] GstPtr<GstCaps> whole_caps() const;
  // nullptr: without knowing what downstream lists
  [[nodiscard]] GstPtr<GstCaps> possible_caps(const GstCaps *downstream) const;
  [[nodiscard]] Mismatch mismatch(const GstCaps *in_caps) const;
  [[nodiscard]] guint buffers_held() const;
  Result<void> open_pool(GstQuery *query, GstCaps *caps);
  bool check_pool(const Device &device);
  GstFlowReturn fail(const Error &error);
  GstFlowReturn refuse_pair(const Error &error);
  // Offers again what was refused, where the caps of the event have another size.
  void reconsider_pairs(GstEvent *event);

  GstBaseTransform *const element_; // owns this
  GstBaseTransformClass *const base_;
  DisplayContext context_;
  Stats stats_;
  FailedNegotiation failure_;
  Interrupt interrupt_;
  Producer producer_;
  Refusals refusals_;
  PairCache learner_; // has a lock of its own
  GstPtr<GstDrmAllocator> allocator_;
  ConvertFrames frames_;
  ConvertStream stream_;
  ActivePool pool_;
  AgreedNeeds needs_; // what downstream asks for beyond its caps
  bool warned_of_device_ = false;
  bool warned_of_colours_ = false;
  // What upstream and this element said to each other since upstream's last caps.
  struct Upstream {
    bool asks_next = false;            // its caps are taken now
    bool takes_release_fences = false; // it waits for them
    guint buffers_held = 0;            // as upstream was told; 0: it has not asked
  };
  Upstream upstream_;
  unsigned lost_ = 0;         // frames since the last import
  std::uint64_t imports_ = 0; // at the last frame
  GstVideoOrientationMethod tagged_ = GST_VIDEO_ORIENTATION_IDENTITY; // what upstream's tags say

  // Guards all below.
  mutable OrderedMutex lock_{10, "DmabufConverter::lock_"};
  ConvertSettings settings_;
  std::shared_ptr<const Device> device_;
  // Pairs of upstream that the driver does not import, at that size in pixels.
  struct RefusedPairs {
    gint width = 0;
    gint height = 0;
    FormatSet pairs;
  };
  RefusedPairs refused_;
  std::shared_ptr<SyncWorker> worker_;
  // An answer to a caps query of the open device, and all that it depends on.
  struct Answered {
    GstPadDirection direction = GST_PAD_UNKNOWN;
    GstPtr<GstCaps> peer, filter; // filter: nullptr where there is none
    FormatSet known, refused;
    bool deinterlaces = false;
    GstPtr<GstCaps> answer;
  };
  static constexpr std::size_t kMostAnswers = 8;
  std::deque<Answered> answers_; // newest last
};

} // namespace gstdrm::va
