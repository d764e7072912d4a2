// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstkmssinkfences.hpp"

#include <memory>
#include <utility>

#include <gst/drm/core/frame_fences.hpp>
#include <gst/drm/drm.h>
#include <gst/drm/element/frame_wait.hpp>

#include "engine/commit/kms_fence_gate.hpp"
#include "gstkmsdmabufsink.hpp"

#define GST_CAT_DEFAULT gst_kms_dmabuf_sink_debug

namespace gstdrm {

namespace {

// A flip takes one refresh: a display that needs longer hangs for good.
constexpr GstClockTime kLastResort = 1 * GST_SECOND;

// The commit that replaces this buffer was made: the buffer may be given back, with the fence of
// that commit. The kernel's fence is refused only where it cannot be merged with another reader's.
void on_replaced(void *owner, UniqueFd fence) noexcept
{
  auto *buffer = static_cast<GstBuffer *>(owner);
  GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(buffer);
  const Result<UniqueFd> others = dup_release_fence(meta);
  const UniqueFd spare = others && *others ? fence.dup() : UniqueFd();
  if (!others || (*others && !spare)) { // a merged fence would need one more
    GST_WARNING_OBJECT(buffer->pool, "a buffer is kept until its flip: no file descriptor is left");
    gst_drm_fence_wait(fence.get(), kLastResort, nullptr, nullptr);
    return;
  }
  GError *error = nullptr;
  if (gst_drm_sync_meta_add_release_fence(meta, fence.release(), &error))
    return;
  GST_WARNING_OBJECT(buffer->pool, "a buffer is kept until its flip: %s", error->message);
  g_error_free(error);
  if (spare)
    gst_drm_fence_wait(spare.get(), kLastResort, nullptr, nullptr);
}

} // namespace

void SinkFences::start(SyncMode mode, guint64 timeout_ns) noexcept
{
  mode_ = mode;
  timeout_ns_ = timeout_ns;
}

kms::FenceRules SinkFences::rules() const noexcept
{
  kms::FenceRules rules;
  rules.kernel_gets_fences = mode_ != SyncMode::Implicit;
  rules.timeout_ns = timeout_ns_ == 0 || timeout_ns_ > G_MAXINT64
                         ? kms::kNever
                         : static_cast<std::int64_t>(timeout_ns_);
  return rules;
}

bool SinkFences::exports_implicit_fences(const kms::Display &display) const
{
  if (exports_refused_ || mode_ == SyncMode::Implicit)
    return false;
  return mode_ == SyncMode::Explicit || !kms::waits_for_implicit_fences(display.device().driver());
}

Result<void> SinkFences::attach(const kms::Display &display, GstBuffer *buffer,
                                const FrameLayout &layout, kms::Frame &frame)
{
  Result<UniqueFd> fence = dup_acquire_fence(buffer);
  if (!fence)
    return fence.error();
  if (!*fence && exports_implicit_fences(display)) {
    Result<UniqueFd> exported = export_writers(layout);
    if (exported) {
      *fence = std::move(*exported);
    } else if (exported.error().code != ErrorCode::Unsupported) {
      return exported.error();
    } else {
      GST_WARNING_OBJECT(element_, "implicit fences are left to the driver: %s",
                         exported.error().message.c_str());
      exports_refused_ = true;
    }
  }
  if (*fence)
    frame.acquire_fence = std::make_shared<UniqueFd>(std::move(*fence));
  // A buffer without the meta has no place for a release fence.
  if (gst_buffer_get_drm_sync_meta(buffer) && release_fences_)
    frame.replaced = on_replaced;
  return {};
}

} // namespace gstdrm
