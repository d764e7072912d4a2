// SPDX-License-Identifier: LGPL-2.1-or-later
// Imports: the fences of a frame, its textures, and what goes downstream of them.
#include <chrono>
#include <string>
#include <utility>

#include <gst/drm/core/frame_fences.hpp>
#include <gst/drm/core/sync_file.hpp>
#include <gst/drm/element/acquire_fence.hpp>
#include <gst/drm/element/frame_wait.hpp>
#include <gst/drm/element/memory_token.hpp>
#include <gst/drm/gstdrmsync.h>

#include "engine/egl_fences.hpp"
#include "gsteglmemory.hpp"
#include "gstegluploadframes.hpp"
#include "gstegluploadmetas.hpp"

GST_DEBUG_CATEGORY_EXTERN(gst_egl_dmabuf_upload_debug);
#define GST_CAT_DEFAULT gst_egl_dmabuf_upload_debug

namespace gstdrm {

namespace {

// A GPU that hangs is reset by its driver within about ten seconds; the wait for a producer ends
// after the same time (frame_wait.cpp).
constexpr std::chrono::milliseconds kGlLimit{5000};

} // namespace

struct UploadFrames::Imported {
  GlMemories memories;
  std::shared_ptr<const egl::ImportedFrame> planes; // to be drawn; there are no memories then

  // Shares are counted, so that GStreamer does not take a memory for one that has one owner.
  explicit Imported(GlMemories made) : memories(std::move(made))
  {
    for (const GstPtr<GstMemory> &memory : memories)
      (void)gst_memory_lock(memory.get(), GST_LOCK_FLAG_EXCLUSIVE);
  }
  explicit Imported(std::shared_ptr<const egl::ImportedFrame> drawn) : planes(std::move(drawn)) {}
  Imported(const Imported &) = delete;
  Imported &operator=(const Imported &) = delete;
  ~Imported()
  {
    for (const GstPtr<GstMemory> &memory : memories)
      gst_memory_unlock(memory.get(), GST_LOCK_FLAG_EXCLUSIVE);
  }
};

// What the GL thread does for one frame, in one hop.
struct UploadFrames::Hop {
  GstBuffer *out = nullptr; // borrowed: gets a GstGLSyncMeta behind all that was done
  UniqueFd fence;           // GL waits for it; none: GL can read the frame now
  bool fence_refused = false;

  // On the streaming thread, before run(): a meta is added where nobody else has the buffer.
  GstGLSyncMeta *add_sync_point(GstGLContext *context)
  {
    return gst_buffer_add_gl_sync_meta(context, out);
  }
  // On the GL thread.
  void wait(egl::Device &device)
  {
    if (!fence)
      return;
    const Result<void> waits = egl::wait_on_gpu(device, std::move(fence));
    fence_refused = !waits;
    if (!waits)
      GST_WARNING("the CPU waits for an acquire fence: %s", waits.error().message.c_str());
  }
  // On the GL thread. Other contexts that share textures with this one see an import, and wait for
  // the fence, behind a sync point alone.
  void finish(egl::Device &device, GstGLSyncMeta *sync_point, GstGLContext *context)
  {
    wait(device);
    gst_gl_sync_meta_set_sync_point(sync_point, context);
  }
};

// --- fences
// ---------------------------------------------------------------------------------------

// Mesa waits for the implicit fences of what it reads, in the kernel's submission. What other
// drivers do is not known (see FrameReleases::need_of()), so they are told. Empty: nothing is to be
// waited for.
Result<UniqueFd> UploadFrames::writers_of(GstBuffer *in, const FrameLayout &layout)
{
  Result<UniqueFd> fence = dup_acquire_fence(in);
  if (!fence || thread_->device()->driver().mesa_major != 0)
    return fence;
  Result<UniqueFd> writers = export_writers(layout);
  if (!writers || !*writers || !*fence)
    return writers;
  return fence_merge(fence->get(), writers->get());
}

// Finds out what the frame has to wait for: on the GPU by hop.fence, or here.
Result<Waited> UploadFrames::acquire(GstBuffer *in, const FrameLayout &layout, Hop &hop)
{
  const egl::Device &device = *thread_->device();
  // A software renderer reads with the CPU whenever it comes to it, and knows no implicit fence.
  // A fence would stop its thread, which serves the whole pipeline, and nothing ends that wait.
  if (device.driver().is_software)
    return wait_for_device(element_, in, stats_, interrupt_);
  Result<UniqueFd> fence = writers_of(in, layout);
  if (!fence && fence.error().code == ErrorCode::Unsupported) // before Linux 6.0
    return wait_for_device(element_, in, stats_, interrupt_);
  if (!fence)
    return fence.error();
  if (!*fence)
    return Waited::No;
  const Result<FenceState> state = fence_state(fence->get());
  if (state && *state == FenceState::Pending && device.has_native_fences()) {
    hop.fence = std::move(*fence);
    return Waited::No;
  }
  const Result<FenceEnd> end = wait_for_producer(fence->get(), stats_, interrupt_);
  if (!end)
    return end.error();
  if (*end == FenceEnd::Failed)
    GST_WARNING_OBJECT(element_, "the acquire fence of a frame signalled an error, the picture may "
                                 "be incomplete");
  return *end == FenceEnd::Interrupted ? Waited::Interrupted : Waited::No;
}

// --- textures
// -------------------------------------------------------------------------------------

Result<std::shared_ptr<const UploadFrames::Imported>>
UploadFrames::make_imported(const FrameLayout &layout)
{
  const TextureForm &form = *stream_.form;
  GstGLContext *context = thread_->context();
  GstGLSyncMeta *sync_point = form.draws() ? nullptr : hop_->add_sync_point(context);
  std::shared_ptr<const Imported> imported;
  const Result<void> done = thread_->run([&](egl::Device &device) -> Result<void> {
    auto frame =
        egl::import_frame(thread_->device(), layout, form.shape, stream_.hints, form.target);
    if (!frame)
      return frame.error();
    if (form.draws()) {
      imported = std::make_shared<Imported>(destroy_on(thread_, std::move(*frame)));
      return {};
    }
    Result<GlMemories> memories = wrap_textures(thread_, *frame, form, out_);
    if (!memories)
      return memories.error();
    imported = std::make_shared<Imported>(std::move(*memories));
    hop_->finish(device, sync_point, context);
    return {};
  });
  if (!done)
    return done.error();
  return imported;
}

// A new buffer around the memories that all buffers of this import share.
void UploadFrames::fill(GstBuffer *out, const Imported &imported) const
{
  for (const GstPtr<GstMemory> &memory : imported.memories) {
    expect_new_pixels(memory.get());
    gst_buffer_append_memory(out, gst_memory_ref(memory.get()));
  }
  GstVideoInfo info = out_; // GStreamer does not say const
  gst_buffer_add_video_meta_full(out, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(&info),
                                 static_cast<guint>(GST_VIDEO_INFO_WIDTH(&info)),
                                 static_cast<guint>(GST_VIDEO_INFO_HEIGHT(&info)),
                                 GST_VIDEO_INFO_N_PLANES(&info), info.offset, info.stride);
}

Result<GstPtr<GstBuffer>> UploadFrames::import(GstBuffer *in, const FrameLayout &layout)
{
  const Result<Waited> room = releases_->wait_for_room(kGlLimit, interrupt_);
  if (!room)
    return room.error();
  auto out = GstPtr<GstBuffer>::adopt(gst_buffer_new());
  Hop hop{out.get(), {}};
  const Result<Waited> acquired = acquire(in, layout, hop);
  if (!acquired)
    return acquired.error();
  if (*room == Waited::Interrupted || *acquired == Waited::Interrupted)
    return GstPtr<GstBuffer>();

  hop_ = &hop;
  const Result<Cache::Import> import = cache_->import(layout);
  hop_ = nullptr;
  if (!import)
    return import.error();
  (import->hit ? stats_.import_hits : stats_.imports)++;
  for (guint i = 0; i < gst_buffer_n_memory(in); i++)
    hold_while_alive(gst_buffer_peek_memory(in, i), import->liveness);
  const Imported &imported = *import->imported;
  if (imported.planes)
    return draw(in, imported, hop);
  const Result<Waited> shown = show(in, imported, hop);
  if (!shown)
    return shown.error();
  return *shown == Waited::Interrupted ? GstPtr<GstBuffer>() : out;
}

// The frame's own textures go downstream.
Result<Waited> UploadFrames::show(GstBuffer *in, const Imported &imported, Hop &hop)
{
  if (hop.fence) { // of a frame that was imported before
    GstGLSyncMeta *sync_point = hop.add_sync_point(thread_->context());
    const Result<void> done = thread_->run([&](egl::Device &device) -> Result<void> {
      hop.finish(device, sync_point, thread_->context());
      return {};
    });
    if (!done)
      return done.error();
  }
  if (hop.fence_refused) {
    const Result<Waited> waited = wait_for_device(element_, in, stats_, interrupt_);
    if (!waited || *waited == Waited::Interrupted)
      return waited;
  }
  fill(hop.out, imported);
  copy_metadata(hop.out, in);
  releases_->hold(hop.out, in);
  return Waited::No;
}

// A texture of the pool goes downstream, and the frame goes back as soon as it is read.
Result<GstPtr<GstBuffer>> UploadFrames::draw(GstBuffer *in, const Imported &imported, Hop &hop)
{
  Result<GstPtr<GstBuffer>> out = drawn_.acquire();
  if (!out || !*out)
    return out;
  do {
    if (std::exchange(hop.fence_refused, false)) {
      const Result<Waited> waited = wait_for_device(element_, in, stats_, interrupt_);
      if (!waited)
        return waited.error();
      if (*waited == Waited::Interrupted)
        return GstPtr<GstBuffer>();
    }
    const Result<void> done = thread_->run([&](egl::Device &device) -> Result<void> {
      hop.wait(device);
      if (hop.fence_refused)
        return {};
      for (const egl::Texture &texture : imported.planes->textures)
        texture.bind_again();
      return drawn_.draw(*imported.planes, out->get());
    });
    if (!done)
      return done.error();
  } while (hop.fence_refused);
  draws_.fetch_add(1, std::memory_order_relaxed);
  copy_metadata(out->get(), in);
  releases_->release(in);
  return out;
}

} // namespace gstdrm
