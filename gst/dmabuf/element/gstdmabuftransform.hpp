// SPDX-License-Identifier: LGPL-2.1-or-later
// What dmabufupload and dmabufdownload have in common: caps queries answered from format sets,
// counters, copies, and failed negotiation that explains itself.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include <gst/base/gstbasetransform.h>
#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/drm/element/failed_negotiation.hpp>
#include <gst/drm/element/frame_wait.hpp>
#include <gst/drm/element/properties.hpp>
#include <gst/drm/element/stats.hpp>

#include "gstdmabufcaps.hpp"
#include "gstdmabufwaits.hpp"

namespace gstdrm {

// The element behind the GObject shell GstDmaBufTransform, which owns it and has a function for
// each of GstBaseTransform's. All state is private to this class and to those that it is made of.
//
// Locks, in the order in which a thread takes them: first the lock of StreamWaits or that of
// UploadAllocation, never both, and GstBufferPool's own under either; then, as leaves, the lock of
// the answers, and those of Interrupt and of the upload's settings. No lock is held while another
// element is called or a message is posted, but for a flush of a pool.
class Transformer {
public:
  Transformer(GstBaseTransform *element, const CapsRules &rules);
  Transformer(const Transformer &) = delete;
  Transformer &operator=(const Transformer &) = delete;
  virtual ~Transformer() = default;

  // The properties that both elements have, any thread.
  std::atomic<ZeroCopy> zero_copy{ZeroCopy::Prefer};
  std::atomic<ImplicitModifier> implicit_modifier{ImplicitModifier::Auto};
  [[nodiscard]] GstStructure *stats_structure() const { return stats_.to_structure(); }

  // Any thread.
  bool query(GstPadDirection direction, GstQuery *query);
  GstCaps *transform_caps(GstPadDirection direction, GstCaps *caps, GstCaps *filter) const;
  GstPtr<GstCaps> fixate_caps(GstPadDirection direction, GstCaps *caps, GstCaps *others);
  bool src_event(GstEvent *event);
  bool activate_sink_mode(GstPadMode mode, bool active);

  // The application's thread, while the streaming thread does not run.
  virtual bool start();
  virtual bool stop();

  // The streaming thread; a flush comes from any thread.
  virtual bool sink_event(GstEvent *event);
  void explain_refused_caps(GstEvent *event);
  virtual bool set_caps(GstCaps *incaps, GstCaps *outcaps) = 0;
  virtual bool decide_allocation(GstQuery *query) = 0;
  virtual bool propose_allocation(GstQuery *decide_query, GstQuery *query) = 0;
  GstFlowReturn submit_input_buffer(bool discont, GstBuffer *buffer);
  // The frame that submit_input_buffer() queued, as it is or copied.
  GstFlowReturn generate_output(GstBuffer **outbuf);

protected:
  // Takes a frame and gives the one that leaves the element.
  virtual GstFlowReturn process(GstPtr<GstBuffer> &frame) = 0;
  // The nearest fix, in whole sentences, for caps that upstream sent (or offers) and downstream
  // refuses. Any thread.
  [[nodiscard]] virtual std::string suggest(const GstCaps *upstream,
                                            const GstCaps *downstream) const = 0;

  // Copies a checked frame into a buffer with planes of its own, with timestamps, flags and every
  // meta that does not describe memory. Counted, and announced the first time with `reason`, a
  // string literal. A GstVideoCropMeta of a padded frame was acted on, and is left out; that of
  // another frame is kept where downstream crops.
  Result<void> copy_into(GstBuffer *to, GstBuffer *from, const GstVideoInfo &info, bool keeps_crop,
                         const char *reason);
  // Posts that zero-copy=require forbids the copy.
  GstFlowReturn refuse_copy(const char *reason, const char *advice, const GstCaps *caps);
  [[nodiscard]] std::string upstream_name() const;
  // Posts that the element `what` ("cannot take a frame of") upstream, with its caps.
  GstFlowReturn fail_frame(const char *what, const Error &error, const char *advice);
  // The rules that the properties of the element have chosen. Any thread.
  [[nodiscard]] CapsRules rules() const noexcept;
  // Returns false if the caps cannot be read, which is posted unless the negotiation has a message.
  [[nodiscard]] bool read_caps(const GstCaps *caps, GstDrmVideoInfo &info);

  GstBaseTransform *const element_; // owns this
  Stats stats_;
  FailedNegotiation negotiation_;
  StreamWaits waits_;

private:
  [[nodiscard]] Mismatch mismatch(const GstCaps *upstream) const;
  // Posts an error that names both sides and what helps, unless the negotiation has a message.
  void explain(const GstCaps *upstream);
  GstPtr<GstCaps> answer_caps(GstPadDirection direction, GstCaps *filter);
  GstPtr<GstCaps> answer_for(GstPadDirection direction, GstCaps *peer, GstCaps *filter);
  [[nodiscard]] CapsParts work_out(const CapsRules &rules, GstPadDirection direction,
                                   const GstCaps *peer) const;
  void forget_answers();
  bool upstream_may_choose_again();

  const CapsRules rules_;                               // without the properties
  const GstPadActivateModeFunction base_activate_mode_; // of GstBaseTransform
  // One element asks and is asked the same many times while a pipeline starts, and a GPU's list has
  // hundreds of pairs. An answer depends on nothing but the templates, the rules, the peer's answer
  // and the filter, and the last three are the key: nothing that is remembered can be out of date.
  struct Answers {
    CapsRules rules{};
    GstPtr<GstCaps> peer;
    CapsParts allowed; // the unfiltered answer
    // By filter, the oldest first; without a filter: the unfiltered answer. A vector, because an
    // empty one takes no memory: forget_answers() cannot fail.
    std::vector<std::pair<GstPtr<GstCaps>, GstPtr<GstCaps>>> by_filter;
  };
  OrderedMutex answers_lock_{kLeafLockRank, "Transformer::answers_lock_"};
  std::array<Answers, 2> answers_; // of the source pad, of the sink pad; under answers_lock_
};

} // namespace gstdrm

// The GObject shell of both elements: an abstract type with all of GstBaseTransform's functions,
// each of which calls the method of the same name.
G_BEGIN_DECLS

#define GST_TYPE_DMABUF_TRANSFORM (gst_dmabuf_transform_get_type())
#define GST_DMABUF_TRANSFORM(obj)                                                                  \
  (G_TYPE_CHECK_INSTANCE_CAST((obj), GST_TYPE_DMABUF_TRANSFORM, GstDmaBufTransform))

struct GstDmaBufTransform {
  GstBaseTransform parent;
  gstdrm::Transformer *transformer; // made in the subclass's init, deleted in finalize
};

struct GstDmaBufTransformClass {
  GstBaseTransformClass parent_class;
};

GType gst_dmabuf_transform_get_type(void);

G_END_DECLS

namespace gstdrm {

// Gives the element what stands behind it; the subclass's init calls this once.
void set_transformer(GstDmaBufTransform *self, std::unique_ptr<Transformer> transformer);

// GstBaseTransform's own class, for methods that go on where it does.
GstBaseTransformClass *base_transform_class() noexcept;

} // namespace gstdrm
