// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstegluploadframes.hpp"

#include <cerrno>
#include <chrono>
#include <string>
#include <utility>

#include <gst/drm/core/frame_fences.hpp>
#include <gst/drm/core/sync_file.hpp>
#include <gst/drm/element/acquire_fence.hpp>
#include <gst/drm/element/crop.hpp>
#include <gst/drm/element/frame_import.hpp>
#include <gst/drm/element/frame_wait.hpp>
#include <gst/drm/element/memory_token.hpp>
#include <gst/drm/gstdrmsync.h>

#include "engine/egl_fences.hpp"
#include "gsteglmemory.hpp"
#include "gstegluploadmetas.hpp"

GST_DEBUG_CATEGORY_EXTERN(gst_egl_dmabuf_upload_debug);
#define GST_CAT_DEFAULT gst_egl_dmabuf_upload_debug

namespace gstdrm {

namespace {

// A GPU that hangs is reset by its driver within about ten seconds; the wait for a producer ends
// after the same time (frame_wait.cpp).
constexpr std::chrono::milliseconds kGlLimit{5000};

// Frames after which a robust context is asked whether it is lost.
constexpr unsigned kWatchInterval = 16;

// Why a frame is copied that was to be imported. Literals: drm-stats keeps them.
constexpr const char *kRefused = "the EGL driver does not import upstream's DMA buffers";
constexpr const char *kNoDescriptor = "no file descriptor is left for an import";
constexpr const char *kCorner = "the EGL driver does not import a picture that begins there";

bool lacks_descriptor(const Error &error)
{
  return error.code == ErrorCode::Allocation &&
         (error.sys_errno == EMFILE || error.sys_errno == ENFILE);
}

Error not_dmabuf(bool is_plain)
{
  if (is_plain)
    return Error{ErrorCode::Layout,
                 "A buffer is in system memory, and mode=import forbids a copy. Set mode=auto, or "
                 "put dmabufupload in front",
                 0};
  return Error{ErrorCode::Layout,
               "The caps say memory:DMABuf, but a buffer has other memory. Upstream must send DMA "
               "buffers, or plain video/x-raw caps",
               0};
}

} // namespace

struct UploadFrames::Imported {
  GlMemories memories;

  // Shares are counted, so that GStreamer does not take a memory for one that has one owner.
  explicit Imported(GlMemories made) : memories(std::move(made))
  {
    for (const GstPtr<GstMemory> &memory : memories)
      (void)gst_memory_lock(memory.get(), GST_LOCK_FLAG_EXCLUSIVE);
  }
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
  // On the GL thread. Other contexts that share textures with this one see an import, and wait for
  // the fence, behind a sync point alone.
  void finish(egl::Device &device, GstGLSyncMeta *sync_point, GstGLContext *context)
  {
    if (fence) {
      const Result<void> waits = egl::wait_on_gpu(device, std::move(fence));
      fence_refused = !waits;
      if (!waits)
        GST_WARNING("the CPU waits for an acquire fence: %s", waits.error().message.c_str());
    }
    gst_gl_sync_meta_set_sync_point(sync_point, context);
  }
};

// --- stream --------------------------------------------------------------------------------------

Result<void> UploadFrames::begin(std::shared_ptr<GlThread> thread, UploadStream stream)
{
  end();
  if (!gst_video_info_from_caps(&out_, stream.out_caps.get()))
    return Error{ErrorCode::Caps, "Downstream's caps are no video of GL memory", 0};
  thread_ = std::move(thread);
  stream_ = std::move(stream);
  make_releases();
  cache_.emplace([this](const FrameLayout &layout) { return make_imported(layout); });
  copier_.begin(thread_->context(), stream_.in, stream_.out_caps.get());
  return {};
}

void UploadFrames::make_releases()
{
  const auto need = FrameReleases::need_of(*thread_->device(), stream_.takes_release_fences);
  const std::lock_guard guard(releases_lock_);
  releases_ = std::make_shared<FrameReleases>(thread_, need);
}

// Frames that are out go back as they were handed out.
void UploadFrames::set_release_fences(bool taken)
{
  if (std::exchange(stream_.takes_release_fences, taken) != taken)
    make_releases();
}

void UploadFrames::end()
{
  cache_.reset();
  copier_.close();
  imports_refused_ = false;
  refusal_.reset();
  {
    const std::lock_guard guard(releases_lock_);
    releases_.reset();
  }
  if (thread_)
    thread_->finish();
  thread_.reset();
}

void UploadFrames::set_flushing(bool flushing)
{
  if (!flushing) {
    interrupt_.clear();
    return;
  }
  interrupt_.raise();
  const std::lock_guard guard(releases_lock_);
  if (releases_)
    releases_->wake();
}

// --- frames --------------------------------------------------------------------------------------

// A context that is lost takes all that it is given and shows nothing. In the steady state nobody
// asks it for anything, so it is asked now and then, on its own thread, for which nobody waits.
void UploadFrames::watch_context()
{
  if (!thread_->device()->reports_resets() || ++unwatched_ < kWatchInterval)
    return;
  unwatched_ = 0;
  thread_->run_later([device = thread_->device()](bool has_context) {
    if (has_context)
      device->look_for_reset();
  });
}

// A decoder's frames are larger than the picture: 1088 lines for 1080. The texture is of the
// picture alone.
Result<GstPtr<GstBuffer>> UploadFrames::visible_part(GstBuffer *in, Corner &corner) const
{
  const GstVideoInfo &info = stream_.in.vinfo;
  auto visible = GstPtr<GstBuffer>::share(in);
  if (!is_padded_frame(in, info))
    return visible;
  const Result<Corner> found = visible_corner(in, info);
  if (!found)
    return found.error();
  corner = *found;
  if (crop_in_place(visible, info, 1))
    return visible;
  return Error{ErrorCode::Layout,
               "The picture of a frame begins among pixels that share chroma, or not at the first "
               "pixel of a tiled frame. Crop at even pixels, or upstream in the decoder",
               0};
}

Result<GstPtr<GstBuffer>> UploadFrames::upload(GstBuffer *in)
{
  stats_.frames++;
  watch_context();
  if (thread_->device()->is_lost())
    return thread_->device()->loss();
  cache_->advance();
  Corner corner;
  const Result<GstPtr<GstBuffer>> visible = visible_part(in, corner);
  if (!visible)
    return visible.error();
  return upload_picture(visible->get(), corner);
}

Result<GstPtr<GstBuffer>> UploadFrames::upload_picture(GstBuffer *in, Corner corner)
{
  const MemoryKind kind = memory_kind(in);
  if (kind != MemoryKind::DmaBuf)
    return stream_.form ? Result<GstPtr<GstBuffer>>(not_dmabuf(stream_.is_plain))
                        : copy(in, "system memory");
  const Result<FrameLayout> layout = frame_layout_of(in, stream_.in);
  if (!layout)
    return layout.error();
  if (!stream_.form)
    return copy(in, stream_.copy_reason);
  if (imports_refused_)
    return copy(in, kRefused);
  Result<GstPtr<GstBuffer>> imported = import(in, *layout);
  return imported ? imported : instead_of_import(in, corner, imported.error());
}

// A refusal for want of a descriptor, or for the byte at which the picture begins in this frame,
// says nothing of the next one.
Result<GstPtr<GstBuffer>> UploadFrames::instead_of_import(GstBuffer *in, Corner corner,
                                                          const Error &error)
{
  const bool is_moved = corner.x != 0 || corner.y != 0;
  const char *alone = nullptr;
  if (lacks_descriptor(error))
    alone = kNoDescriptor;
  else if (error.code == ErrorCode::Import && is_moved)
    alone = kCorner;
  else if (error.code != ErrorCode::Import)
    return error;
  // copies are 2D textures: the caps have to change first
  if (!stream_.may_copy || !CopyToGl::can_copy(stream_.in) ||
      stream_.form->target == egl::Target::External) {
    // no reason to give up the pair
    return alone == kCorner ? Error{ErrorCode::Layout, error.message, error.sys_errno} : error;
  }
  GST_WARNING_OBJECT(element_, "%s: %s", alone ? "one frame is copied" : "copying from now on",
                     error.message.c_str());
  if (!alone) {
    imports_refused_ = true;
    refusal_ = error;
  }
  return copy(in, alone ? alone : kRefused);
}

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

Result<std::shared_ptr<const UploadFrames::Imported>>
UploadFrames::make_imported(const FrameLayout &layout)
{
  GstGLContext *context = thread_->context();
  GstGLSyncMeta *sync_point = hop_->add_sync_point(context);
  std::shared_ptr<const Imported> imported;
  const Result<void> done = thread_->run([&](egl::Device &device) -> Result<void> {
    const TextureForm &form = *stream_.form;
    auto frame =
        egl::import_frame(thread_->device(), layout, form.shape, stream_.hints, form.target);
    if (!frame)
      return frame.error();
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
    if (!waited)
      return waited.error();
    if (*waited == Waited::Interrupted)
      return GstPtr<GstBuffer>();
  }
  for (guint i = 0; i < gst_buffer_n_memory(in); i++)
    hold_while_alive(gst_buffer_peek_memory(in, i), import->liveness);
  fill(out.get(), *import->imported);
  copy_metadata(out.get(), in);
  releases_->hold(out.get(), in);
  return out;
}

Result<GstPtr<GstBuffer>> UploadFrames::copy(GstBuffer *in, const char *reason)
{
  const Result<Waited> waited = wait_for_device(element_, in, stats_, interrupt_);
  if (!waited)
    return waited.error();
  if (*waited == Waited::Interrupted)
    return GstPtr<GstBuffer>();
  Result<GstPtr<GstBuffer>> copied = copier_.copy(in);
  if (!copied)
    return copied;
  copy_metadata(copied->get(), in);
  stats_.count_copy(element_, copier_.bytes_of_frame(), reason);
  return copied;
}

} // namespace gstdrm
