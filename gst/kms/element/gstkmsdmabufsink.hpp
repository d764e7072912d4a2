// SPDX-License-Identifier: LGPL-2.1-or-later
// kmsdmabufsink: the element's type and its state. All of its sources include this one.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <gst/drm/drm.h>
#include <gst/drm/element/errors.hpp>
#include <gst/drm/element/properties.hpp>
#include <gst/drm/element/refusals.hpp>
#include <gst/drm/element/stats.hpp>
#include <gst/drm/gstdrm-guard-private.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/gst.h>
#include <gst/video/gstvideosink.h>
#include <gst/video/video.h>
#include <gst/video/videooverlay.h>

#include "engine/display/kms_display.hpp"

#define GST_TYPE_KMS_DMABUF_SINK (gst_kms_dmabuf_sink_get_type())
G_DECLARE_FINAL_TYPE(GstKmsDmabufSink, gst_kms_dmabuf_sink, GST, KMS_DMABUF_SINK, GstVideoSink)

namespace gstdrm {

using kms::Display;

// Posts what the engine reports on a thread of its own.
class SinkListener final : public kms::DisplayListener {
public:
  explicit SinkListener(GstKmsDmabufSink *sink) noexcept : sink_(sink) {}
  void display_failed(const Error &error) noexcept override;
  void formats_changed() noexcept override;
  void frame_lost(const Error &error) noexcept override;
  void connector_changed(const std::string &connector, bool connected) noexcept override;
  void master_changed(const Error &error, bool master) noexcept override;
  void picture_placed(const std::string &where) noexcept override;
  void view_refused(const Error &error) noexcept override;

private:
  GstKmsDmabufSink *sink_; // borrowed: the sink owns this
};

enum class SyncMode { Auto, Explicit, Implicit };

// Long for a frame, short for a user. A GPU that hangs is reset after up to 10 s (amdgpu,
// lockup_timeout).
inline constexpr guint64 kDefaultFenceTimeout = 1 * GST_SECOND;

struct SinkSettings {
  kms::DeviceRequest device;
  kms::OutputRequest output;
  std::string mode = "match"; // text of the property; output.mode is what it says
  kms::View view;
  ZeroCopy zero_copy = ZeroCopy::Prefer;
  SyncMode sync_mode = SyncMode::Auto;
  guint64 fence_timeout = kDefaultFenceTimeout; // ns; 0: none
  gint cursor_x = 0;
  gint cursor_y = 0;
  GstPtr<GstSample> cursor_image; // null: no cursor
};

struct SinkState {
  explicit SinkState(GstKmsDmabufSink *sink);

  SinkListener listener;
  Stats stats;

  std::mutex repeat_lock;  // a frame is repeated, or the caps or the display change; taken first
  bool may_repeat = false; // under repeat_lock

  std::mutex lock; // guards the two below
  SinkSettings settings;
  std::shared_ptr<Display> display; // from READY on
  // value copies for use without the lock
  std::shared_ptr<Display> get_display()
  {
    const std::lock_guard guard(lock);
    return display;
  }
  ZeroCopy zero_copy()
  {
    const std::lock_guard guard(lock);
    return settings.zero_copy;
  }

  // Of the start, for the streaming thread:
  SyncMode sync_mode = SyncMode::Auto;
  guint64 fence_timeout = kDefaultFenceTimeout;

  OncePerFailure failure;

  std::atomic<bool> fence_announced{false}; // a lost frame was said on the bus

  // Of the streaming thread:
  bool exports_refused = false; // the kernel has no ioctls for fences of dma-bufs
  bool release_fences = false;  // the producer said that it honours them
  GstDrmVideoInfo info{};
  Format format;       // as the planes list it: implicit where the driver knows no modifiers
  bool plain = false;  // caps without memory:DMABuf: system memory may come
  Refusals refusals;   // also asked for its count by other threads
  bool imports_refused = false; // the driver took none of upstream's dma-bufs: copy
  GstPtr<GstBufferPool> scanout_pool; // what system memory is copied into
  bool in_preroll = false;
  GstBuffer *prerolled = nullptr; // borrowed, only compared: rendered next, and on screen already
};

// gstkmssinkproperties.cpp
void install_sink_properties(GObjectClass *klass);

// gstkmssinkoverlay.cpp
void sink_overlay_init(GstVideoOverlayInterface *iface) noexcept;
// What the properties say now holds from the next frame on.
void sink_apply_view(SinkState &state);

// gstkmssinkcaps.cpp
GstPadTemplate *sink_pad_template();
GstCaps *sink_get_caps(GstBaseSink *sink, GstCaps *filter) noexcept;
gboolean sink_set_caps(GstBaseSink *sink, GstCaps *caps) noexcept;
gboolean sink_propose_allocation(GstBaseSink *sink, GstQuery *query) noexcept;

// gstkmssinkreconfigure.cpp
// The display cannot show frames of the present caps: takes the pair out of the offer and lets the
// frames go, until upstream has chosen another. An error only where none is left. By the streaming
// thread.
GstFlowReturn sink_refuse_pair(GstVideoSink *sink, Display &display, const Error &why);

// gstkmssinkcursor.cpp: its own properties, from 100 on. false: the property is another one.
void install_cursor_properties(GObjectClass *klass);
bool set_cursor_property(GObject *sink, guint id, const GValue *value);
bool get_cursor_property(GObject *sink, guint id, GValue *value);
// Hands a newly started display what was set before.
void sink_start_cursor(GstKmsDmabufSink *sink);

// gstkmssinkframe.cpp
GstFlowReturn sink_show_frame(GstVideoSink *sink, GstBuffer *buffer) noexcept;
// Shows the last frame once more, where and how the properties say now, if there is one and neither
// caps nor state change at the moment. Any thread but the streaming one.
void sink_repeat_frame(GstVideoSink *sink);

// gstkmssinksync.cpp
void attach_fences(SinkState &state, Display &display, GstBuffer *buffer, const FrameLayout &layout,
                   kms::Frame &frame);
kms::FenceRules fence_rules(const SinkState &state);

// gstkmssinkqos.cpp
void report_flips_upstream(GstKmsDmabufSink *sink);

// Posts why the display failed, unless somebody has. The message is on the bus when it returns:
// before upstream hears of the failure and posts its own, which says less. Any thread.
void sink_post_failure(GstKmsDmabufSink *sink, const Error &error);

} // namespace gstdrm

struct _GstKmsDmabufSink {
  GstVideoSink parent;
  gstdrm::SinkState *state;
};

GST_DEBUG_CATEGORY_EXTERN(gst_kms_dmabuf_sink_debug);
