// SPDX-License-Identifier: LGPL-2.1-or-later
// egldmabufdownload behind its GObject shell: GL context, caps, allocation, failures.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/drm/element/failed_negotiation.hpp>
#include <gst/drm/element/needs.hpp>
#include <gst/drm/element/pool.hpp>
#include <gst/drm/element/producer.hpp>
#include <gst/drm/element/properties.hpp>
#include <gst/drm/element/stats.hpp>
#include <gst/gl/gl.h>

#include "gstegldownloadallocator.hpp"
#include "gstegldownloadcaps.hpp"
#include "gstegldownloadframes.hpp"

namespace gstdrm {

// The methods stand behind the virtual functions of GstGLBaseFilter and GstBaseTransform. The
// streaming thread's, except where a comment says otherwise.
class EglDownloader {
public:
  // `klass` is that of GstGLBaseFilter, for methods that go on where it does.
  EglDownloader(GstGLBaseFilter *element, GstBaseTransformClass *klass);
  EglDownloader(const EglDownloader &) = delete;
  EglDownloader &operator=(const EglDownloader &) = delete;

  // Any thread.
  std::atomic<ZeroCopy> zero_copy{ZeroCopy::Prefer};
  std::atomic<ImplicitModifier> implicit_modifier{ImplicitModifier::Auto};
  [[nodiscard]] GstStructure *stats() const; // (transfer full)
  bool query(GstPadDirection direction, GstQuery *query);
  GstCaps *transform_caps(GstPadDirection direction, GstCaps *caps, GstCaps *filter);
  void set_flushing(bool flushing);
  // The message about a missing context, from start to start.
  [[nodiscard]] OncePerFailure &no_context() noexcept { return no_context_; }

  // The application's thread, while the streaming thread does not run.
  bool start();
  bool stop();

  bool sink_event(GstEvent *event); // takes the event. FLUSH_START: any thread
  // The caps that leave: the pair is agreed on here, by making one frame of it. Empty where that
  // failed; the reason is on the bus. Takes `others`.
  GstPtr<GstCaps> fixate_caps(GstPadDirection direction, GstCaps *caps, GstCaps *others);
  bool set_caps(GstCaps *in_caps, GstCaps *out_caps);
  bool decide_allocation(GstQuery *query);
  bool propose_allocation(GstQuery *decide_query, GstQuery *query);
  GstFlowReturn submit_input_buffer(bool discont, GstBuffer *buffer);
  GstFlowReturn prepare_output(GstBuffer *in, GstBuffer **out);
  GstFlowReturn transform(GstBuffer *in, GstBuffer *out);

private:
  enum class Way { Draw, Copy };

  bool take_context();
  void learn_device(GstGLContext *context);
  [[nodiscard]] DownloadFormats known_formats() const; // under formats_lock_
  GstPtr<GstCaps> possible_caps(GstPadDirection direction, const GstCaps *caps) const;
  GstPtr<GstCaps> agree(GstCaps *in_caps);
  GstPtr<GstCaps> agree_on(Way way, GstCaps *in_caps, Error &refusals);
  [[nodiscard]] Mismatch mismatch(const GstCaps *in_caps) const;
  void explain(const GstCaps *in_caps, const Error &refusals);
  void forget_thread();
  // Whether GL imports dma-bufs; else why_copy_ says why not.
  [[nodiscard]] bool imports() const
  {
    return thread_ && thread_->device()->import_refusal().empty();
  }
  void compare_devices(GstQuery *query);
  [[nodiscard]] Needs own_needs() const;
  [[nodiscard]] DownloadStream stream_of(Way way) const;
  [[nodiscard]] bool can_copy_instead() const;
  void post_unfilled(const Error &error);
  Result<void> try_pool(GstDrmAllocator *allocator, const PoolSetup &setup);
  Result<void> open_pool(Way way, GstQuery *query);
  GstFlowReturn fail(const Error &error);

  GstGLBaseFilter *const element_; // owns this
  GstBaseTransformClass *const base_;
  Stats stats_;
  FailedNegotiation failure_;
  OncePerFailure no_context_;
  ActivePool pool_;

  // The device and what it draws into; made again with every new GL context.
  std::shared_ptr<GlThread> thread_; // none: no device could be opened, and why_copy_ says why
  GstPtr<GstGLContext> context_;
  std::string why_copy_;
  std::string no_memory_; // what the allocators said that cannot be opened
  std::vector<GstPtr<GstDrmAllocator>> allocators_;
  struct Agreeing { // on caps, for one Way
    Producer producer;
    GstPtr<GstDrmAllocator> allocator;
  };
  Agreeing drawing_;
  Agreeing copying_;

  struct Known {
    FormatSet drawn;
    FormatSet copied;
    std::uint32_t max_size = 0; // see DownloadFormats
  };
  mutable OrderedMutex formats_lock_{kLeafLockRank, "EglDownloader::formats_lock_"};
  std::optional<Known> known_; // under formats_lock_, under which the streaming thread alone writes

  // The stream.
  Way way_ = Way::Draw;
  GstVideoInfo in_info_{};
  egl::Target in_target_ = egl::Target::Texture2D;
  GstDrmVideoInfo out_info_{};
  GstPtr<GstCaps> out_caps_;
  GstPtr<GstCaps> colours_; // out_caps_ with colorimetry
  bool takes_fences_ = false;
  const char *why_undrawn_ = nullptr; // a draw was agreed on, and copies take its place; a literal
  AgreedNeeds needs_;                 // what downstream asks for beyond its caps
  bool warned_of_device_ = false;
  DownloadFrames frames_;
};

} // namespace gstdrm
