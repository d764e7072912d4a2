// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gsteglrelease.hpp"

#include <mutex>
#include <string>
#include <utility>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/core/sync_file.hpp>
#include <gst/drm/gstdrm-guard-private.hpp>
#include <gst/drm/gstdrmsync.h>

#include "engine/egl_fences.hpp"

GST_DEBUG_CATEGORY_EXTERN(gst_egl_dmabuf_upload_debug);
#define GST_CAT_DEFAULT gst_egl_dmabuf_upload_debug

namespace gstdrm {

struct FrameReleases::HeldFrame {
  std::shared_ptr<FrameReleases> releases;
  GstPtr<GstBuffer> in;
  const std::uint64_t sleep; // GlThread::sleep() when the frame was handed out

  HeldFrame(std::shared_ptr<FrameReleases> to, GstPtr<GstBuffer> frame)
      : releases(std::move(to)), in(std::move(frame)), sleep(releases->thread_->sleep())
  {
  }
  HeldFrame(const HeldFrame &) = delete;
  HeldFrame &operator=(const HeldFrame &) = delete;
  ~HeldFrame()
  {
    try {
      if (!releases->is_unread(sleep))
        releases->give_back(std::move(in));
    } catch (...) { // no memory: the frame is given back at once
      caught(__func__);
    }
  }

  static void end(gpointer data) noexcept
  {
    const std::unique_ptr<HeldFrame> held(static_cast<HeldFrame *>(data));
  }
};

namespace {

GQuark held_frame_quark()
{
  static const GQuark quark = g_quark_from_static_string("gst-drm-egl-held-frame");
  return quark;
}

bool add_release_fence(GstBuffer *frame, const UniqueFd &fence)
{
  GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(frame);
  UniqueFd own = fence.dup();
  return meta && own && gst_drm_sync_meta_add_release_fence(meta, own.release(), nullptr);
}

bool add_read_fence(GstBuffer *frame, const UniqueFd &fence)
{
  for (guint i = 0; i < gst_buffer_n_memory(frame); i++) {
    const int fd = gst_dmabuf_memory_get_fd(gst_buffer_peek_memory(frame, i));
    if (!dmabuf_import_fence(fd, fence.get(), DmaBufAccess::Read))
      return false;
  }
  return true;
}

} // namespace

// GStreamer's elements flush what they draw before they let their input go (GstGLSyncMeta of their
// output).
FrameReleases::Need FrameReleases::need_of(const egl::Device &device,
                                           bool takes_release_fences) noexcept
{
  const bool fences = device.has_native_fences();
  if (takes_release_fences)
    return fences                                    ? Need::ReleaseFence
           : device.driver().keeps_implicit_fences() ? Need::ImplicitFence
                                                     : Need::Finished;
  if (device.driver().is_software)
    return Need::Finished;
  if (device.driver().keeps_implicit_fences())
    return Need::Nothing;
  return fences ? Need::ReadFence : Need::Finished;
}

// A buffer of its own is between the two, because shallow copies of `out` take GstParentBufferMeta
// along, and qdata not.
void FrameReleases::hold(GstBuffer *out, GstBuffer *in)
{
  if (need_ == Need::Nothing) {
    gst_buffer_add_parent_buffer_meta(out, in);
    return;
  }
  auto held = std::make_unique<HeldFrame>(shared_from_this(), GstPtr<GstBuffer>::share(in));
  const auto holder = GstPtr<GstBuffer>::adopt(gst_buffer_new());
  gst_mini_object_set_qdata(GST_MINI_OBJECT_CAST(holder.get()), held_frame_quark(), held.release(),
                            HeldFrame::end);
  gst_buffer_add_parent_buffer_meta(out, holder.get());
}

void FrameReleases::release(GstBuffer *in)
{
  if (need_ != Need::Nothing)
    give_back(GstPtr<GstBuffer>::share(in));
}

// Whether no GL command can have read the frame, so that there is nothing to finish: the GL thread
// has been in the same poll() since the frame was handed out, and no other context shares the
// textures. That a frame was not mapped would say less, as textures are drawn without a map, too
// (gst_gl_memory_get_texture_id()).
bool FrameReleases::is_unread(std::uint64_t sleep) const noexcept
{
  return need_ == Need::Finished && sleep != 0 && thread_->sleep() == sleep;
}

void FrameReleases::give_back(GstPtr<GstBuffer> in)
{
  {
    const std::lock_guard guard(lock_);
    waiting_.push_back(std::move(in));
    if (waiting_.size() > 1)
      return; // the job that is on its way takes this one along
  }
  try {
    thread_->run_soon(
        [self = shared_from_this()](bool has_context) { self->release_waiting(has_context); });
  } catch (...) { // no memory for the job: nobody would ever take them
    release_waiting(false);
    throw;
  }
}

bool FrameReleases::add_implicit_fences(const std::vector<GstPtr<GstBuffer>> &frames)
{
  for (const GstPtr<GstBuffer> &frame : frames)
    for (guint i = 0; i < gst_buffer_n_memory(frame.get()); i++) {
      const int fd = gst_dmabuf_memory_get_fd(gst_buffer_peek_memory(frame.get(), i));
      const Result<UniqueFd> fence =
          egl::implicit_fence(*thread_->device(), fd, DmaBufAccess::Write);
      if (!fence || !add_release_fence(frame.get(), *fence))
        return false;
    }
  return true;
}

// One fence serves all frames, because it signals after all earlier commands of GL.
bool FrameReleases::add_fences(const std::vector<GstPtr<GstBuffer>> &frames)
{
  if (need_ == Need::ImplicitFence)
    return add_implicit_fences(frames);
  const Result<UniqueFd> fence = egl::fence_of_commands(*thread_->device());
  if (!fence) {
    GST_WARNING("the CPU waits for GL instead of a fence: %s", fence.error().message.c_str());
    return false;
  }
  bool all = true;
  for (const GstPtr<GstBuffer> &frame : frames)
    all &= need_ == Need::ReleaseFence ? add_release_fence(frame.get(), *fence)
                                       : add_read_fence(frame.get(), *fence);
  return all;
}

// On the GL thread. Frames without a place for a fence wait until GL is done: glFinish() has no
// limit, and ends with the commands, or with the reset of a GPU that hangs.
void FrameReleases::release_waiting(bool has_context)
{
  std::vector<GstPtr<GstBuffer>> frames;
  {
    const std::lock_guard guard(lock_);
    frames.swap(waiting_);
  }
  changed_.notify_all();
  if (!has_context || frames.empty())
    return;
  if (need_ == Need::Finished || !add_fences(frames))
    thread_->device()->calls().gl.finish();
}

// Under the lock, as whoever is about to sleep has looked at the interrupt already.
void FrameReleases::wake()
{
  const std::lock_guard guard(lock_);
  changed_.notify_all();
}

Result<Waited> FrameReleases::wait_for_room(std::chrono::milliseconds limit,
                                            const Interrupt &interrupt)
{
  if (need_ == Need::Nothing) // no frame waits for the GL thread
    return Waited::No;
  std::unique_lock guard(lock_);
  const auto has_room = [this] { return waiting_.size() < kMaxWaiting; };
  if (has_room())
    return Waited::No;
  if (!changed_.wait_for(guard, limit, [&] { return has_room() || interrupt.raised(); }))
    return Error{ErrorCode::Device,
                 "The GL thread has done nothing for " + std::to_string(limit.count()) +
                     " ms, and " + std::to_string(kMaxWaiting) +
                     " frames wait for it. Look for the element, or the application's code, that "
                     "blocks on OpenGL's thread",
                 0};
  return has_room() ? Waited::Yes : Waited::Interrupted;
}

} // namespace gstdrm
