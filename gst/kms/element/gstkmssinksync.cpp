// SPDX-License-Identifier: LGPL-2.1-or-later
// kmsdmabufsink: fences, from GstDrmSyncMeta and the dma-bufs to the display and back.
#include "gstkmsdmabufsink.hpp"
#include "engine/commit/kms_fences.hpp"

#define GST_CAT_DEFAULT gst_kms_dmabuf_sink_debug

namespace gstdrm {

namespace {

// By then a display hangs for good.
constexpr GstClockTime kLastResort = 1 * GST_SECOND;

bool exports_implicit_fences(const SinkState &state, const Display &display)
{
  if (state.exports_refused || state.sync_mode == SyncMode::Implicit)
    return false;
  return state.sync_mode == SyncMode::Explicit ||
         !kms::waits_for_implicit_fences(display.device().driver());
}

// The frame's fence goes into the dma-bufs, where the driver looks for it. Only without a time
// limit: else the frame is committed after its fence has signalled, and there is nothing to look
// for.
bool left_to_the_driver(SinkState &state, const FrameLayout &layout, int fence_fd)
{
  if (state.sync_mode != SyncMode::Implicit || state.fence_timeout != 0 || state.exports_refused)
    return false;
  const Result<void> imported = kms::import_writer(layout, fence_fd);
  if (!imported) {
    GST_INFO("frames are held for their fences: %s", imported.error().message.c_str());
    state.exports_refused = true;
  }
  return static_cast<bool>(imported);
}

// The commit that replaces this buffer was made: it may go, with the commit's fence.
void on_replaced(void *owner, UniqueFd fence) noexcept
{
  auto *buffer = static_cast<GstBuffer *>(owner);
  const UniqueFd spare = fence.dup();
  GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(buffer);
  GError *error = nullptr;
  if (gst_drm_sync_meta_add_release_fence(meta, fence.release(), &error))
    return;
  GST_WARNING("a buffer is kept until its flip: %s", error->message);
  g_error_free(error);
  if (spare)
    gst_drm_fence_wait(spare.get(), kLastResort, nullptr, nullptr);
}

} // namespace

void attach_fences(SinkState &state, Display &display, GstBuffer *buffer, const FrameLayout &layout,
                   kms::Frame &frame)
{
  GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(buffer);
  UniqueFd fence(meta ? gst_drm_sync_meta_dup_acquire_fence(meta) : -1);
  if (fence && left_to_the_driver(state, layout, fence.get()))
    fence.reset();
  else if (!fence && exports_implicit_fences(state, display)) {
    Result<UniqueFd> exported = kms::export_writers(layout);
    if (exported) {
      fence = std::move(*exported);
    } else {
      GST_WARNING("implicit fences are left to the driver: %s", exported.error().message.c_str());
      state.exports_refused = true;
    }
  }
  if (fence)
    frame.acquire_fence = std::make_shared<UniqueFd>(std::move(fence));
  // a buffer without the meta has nowhere to put a release fence
  if (meta && state.release_fences)
    frame.replaced = on_replaced;
}

kms::FenceRules fence_rules(const SinkState &state)
{
  kms::FenceRules rules;
  rules.kernel_waits = state.sync_mode != SyncMode::Implicit;
  rules.timeout_ns = state.fence_timeout == 0 || state.fence_timeout > G_MAXINT64
                         ? kms::kNever
                         : static_cast<std::int64_t>(state.fence_timeout);
  return rules;
}

} // namespace gstdrm
