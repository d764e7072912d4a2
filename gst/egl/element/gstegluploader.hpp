// SPDX-License-Identifier: LGPL-2.1-or-later
// egldmabufupload behind its GObject shell: GL context, caps, proof, allocation query, failures.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <gst/drm/drm.h>
#include <gst/drm/element/failed_negotiation.hpp>
#include <gst/drm/element/refusals.hpp>
#include <gst/drm/element/stats.hpp>
#include <gst/gl/gl.h>

#include "gstegltestimports.hpp"
#include "gstegluploadframes.hpp"
#include "gstegluploadoffer.hpp"
#include "gstglcontextlock.hpp"
#include "gstglfiltercontext.hpp"

namespace gstdrm {

// The methods stand behind the virtual functions of GstGLBaseFilter and GstBaseTransform, and go on
// with those of the parent class. Locks: only leaves, none of which is held while another element
// is called or a message is posted.
class EglUploader {
public:
  EglUploader(GstGLBaseFilter *element, GstBaseTransformClass *base);
  EglUploader(const EglUploader &) = delete;
  EglUploader &operator=(const EglUploader &) = delete;

  // Any thread.
  void change_settings(const std::function<void(UploadSettings &)> &change);
  [[nodiscard]] UploadSettings settings() const { return offer_.settings(); }
  [[nodiscard]] GstStructure *stats() const; // (transfer full)
  bool query(GstPadDirection direction, GstQuery *query);
  GstCaps *transform_caps(GstPadDirection direction, GstCaps *caps, GstCaps *filter);
  // The message about a missing context, which GStreamer may look for by itself; from start to
  // stop.
  [[nodiscard]] OncePerFailure &no_context() noexcept { return no_context_; }
  // The base class may have another GL context now: an application has set a GstContext, or the
  // stream was negotiated.
  void look_for_context_again() noexcept { context_may_differ_ = true; }
  // `change` is the change of the base class, which lets go of the context on the way to NULL.
  GstStateChangeReturn change_state(GstStateChange transition,
                                    const std::function<GstStateChangeReturn()> &change);

  bool start();
  bool stop();

  // The streaming thread; a flush comes from any thread.
  bool sink_event(GstEvent *event);
  void explain_refused_caps(GstEvent *event);
  GstCaps *fixate_caps(GstPadDirection direction, GstCaps *caps, GstCaps *othercaps);
  bool set_caps(GstCaps *in_caps, GstCaps *out_caps);
  bool propose_allocation(GstQuery *decide_query, GstQuery *query);
  bool decide_allocation(GstQuery *query);
  GstFlowReturn submit_input_buffer(bool discont, GstBuffer *buffer);
  GstFlowReturn generate_output(GstBuffer **out);

private:
  // --- context and offer
  std::shared_ptr<GlThread> find_device();
  std::shared_ptr<GlThread> take_context(const std::shared_ptr<GlThread> &before, bool &changed);
  GstPtr<GstGLContext> find_context(std::uint64_t generation);
  void forget_device();
  void offer_changed();
  // Calls `change`, in which the base class lets go of the context, while no other thread reads it.
  auto without_readers(const auto &change);

  // --- negotiation
  GstPtr<GstCaps> answer_caps(GstPadDirection direction, GstCaps *filter);
  [[nodiscard]] bool accepts(GstPadDirection direction, const GstCaps *caps);
  std::optional<TextureForm> choose_form(const GstDrmVideoInfo &in, const GstCaps *in_caps,
                                         const GstCaps *out_caps) const;
  bool choose_way();
  [[nodiscard]] bool needs_negotiation() const;
  void follow_offer();
  bool prove(const GstDrmVideoInfo &in, const TextureForm &form);
  [[nodiscard]] bool read_caps(const GstCaps *caps, GstDrmVideoInfo &info);
  bool take_caps(GstEvent *event);
  // `negotiate_once` returns true if there is no reason to do it again.
  void repeat_if_spoiled(const auto &negotiate_once);
  bool negotiate(GstEvent *event);
  GstFlowReturn submit(bool discont, GstBuffer *buffer);
  [[nodiscard]] bool lacks_output_caps() const;
  bool ends_in_refusal(const GstCaps *caps);
  [[nodiscard]] Mismatch mismatch(const GstCaps *upstream);
  [[nodiscard]] bool upstream_may_choose_again();
  [[nodiscard]] const char *copy_reason(const GstDrmVideoInfo &in, const GstCaps *in_caps) const;

  // --- frames
  void notice_memory(GstBuffer *buffer);
  Result<void> begin_stream(std::shared_ptr<GlThread> thread);
  GstFlowReturn fail(const Error &error);
  void note_refusal(const Error &error);
  GstFlowReturn give_up_import(const Error &error);

  GstGLBaseFilter *const element_; // owns this
  GstBaseTransformClass *const base_;
  Stats stats_;
  std::atomic<std::uint64_t> fallbacks_{0};
  ContextLock context_lock_; // of the context and the display of GstGLBaseFilter
  std::atomic<bool> context_may_differ_{false};
  // Generation of the offer in which GStreamer found no context, and said so.
  std::atomic<std::uint64_t> no_context_in_{~std::uint64_t{0}};
  OncePerFailure no_context_;
  OncePerFailure unusable_context_;
  const GlThread::Count hops_ = std::make_shared<std::atomic<std::uint64_t>>(0);
  UploadOffer offer_;
  std::atomic<bool> answered_{false}; // upstream knows an answer that may have changed since
  FailedNegotiation failed_;
  Refusals refusals_;
  std::atomic<bool> takes_release_fences_{false};
  std::atomic<std::uint32_t> stride_align_{1}; // of the present caps' rows, in bytes
  std::atomic<guint> held_{0};                 // textures that downstream keeps, by its pools

  // The streaming thread's alone.
  GstDrmVideoInfo info_{};
  GstPtr<GstCaps> in_caps_, out_caps_;
  GstPtr<GstEvent> held_segment_;   // goes downstream behind the first caps that are taken
  std::optional<TextureForm> form_; // the way into GL; none: a copy
  std::shared_ptr<const UploadFormats> formats_; // of which it was chosen
  std::string refusal_; // of the test import that the negotiation under way ended with
  bool refusal_is_new_ = false;
  bool textures_pass_ = false;       // the present caps are of textures, which need no upload
  bool caps_are_plain_ = false;      // in_caps_ are set and do not promise DMA buffers
  bool plain_is_dmabuf_ = false;     // what buffers of plain caps were last
  bool stream_is_old_ = true;        // frames_ knows nothing of the present caps, or of the way
  std::shared_ptr<GlThread> thread_; // of frames_
  TestImports test_imports_;
  UploadFrames frames_;
};

} // namespace gstdrm
