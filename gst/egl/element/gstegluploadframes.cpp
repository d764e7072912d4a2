// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstegluploadframes.hpp"

#include <cerrno>
#include <chrono>
#include <string>
#include <utility>

#include <gst/drm/core/frame_fences.hpp>
#include <gst/drm/core/sync_file.hpp>
#include <gst/drm/element/frame_import.hpp>
#include <gst/drm/element/frame_wait.hpp>
#include <gst/drm/element/mappable_frame.hpp>
#include <gst/drm/element/mapped_frame.hpp>
#include <gst/drm/element/memory_token.hpp>
#include <gst/drm/element/pixel_copy.hpp>
#include <gst/drm/gstdrmsync.h>

#include "engine/egl_fences.hpp"
#include "gsteglformats.hpp"
#include "gsteglmemory.hpp"

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
constexpr const char *kNotDrawn =
    "the EGL driver does not import or draw the planes of upstream's DMA buffers";
constexpr const char *kNoDescriptor = "no file descriptor is left for an import";
constexpr const char *kCorner = "the EGL driver does not import a picture that begins there";
constexpr const char *kNoFourcc = "DRM has no fourcc of the format";
constexpr const char *kInsideBlock = "the picture begins among pixels that share chroma";

// What to do about a frame where its sender alone cannot help.
constexpr const char *kCropElsewhere = "Crop at even pixels, or upstream in the decoder.";
constexpr const char *kSendWhatCapsSay =
    "Have upstream send DMA buffers, or plain video/x-raw caps.";
constexpr const char *kSendDmabufs = "Set mode=auto, or put dmabufupload in front.";
constexpr const char *kTakeCopies =
    "Have downstream take texture-target=2D, or put dmabufupload in front.";

bool lacks_descriptor(const Error &error)
{
  return error.code == ErrorCode::Allocation &&
         (error.sys_errno == EMFILE || error.sys_errno == ENFILE);
}

const char *reason_of_refusal(const TextureForm &form)
{
  return form.draws() ? kNotDrawn : kRefused;
}

using Copied = Result<GstPtr<GstBuffer>>;

// A copy that fails is no answer to who wanted an import.
Copied with_reason(Copied copied, const std::string &why_no_import)
{
  if (copied || why_no_import.empty())
    return copied;
  const Error &error = copied.error();
  return Error{error.code, error.message + ". It was to be copied because " + why_no_import,
               error.sys_errno};
}

// What GL does not draw is refused as an import is.
Error as_import(Error error)
{
  if (error.code == ErrorCode::Device)
    error.code = ErrorCode::Import;
  return error;
}

Error not_dmabuf(bool is_plain, bool may_copy)
{
  const char *why = "The caps say memory:DMABuf, but a buffer has other memory";
  if (is_plain)
    why = may_copy ? "A buffer is in system memory, and downstream takes no texture that it could "
                     "be copied to"
                   : "A buffer is in system memory, and mode=import forbids a copy";
  return Error{ErrorCode::Layout, why, 0};
}

bool names_dma_drm(GstBuffer *frame)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta(frame);
  return meta && meta->format == GST_DRM_VIDEO_FORMAT_DMA_DRM;
}

// Whether the CPU can copy such frames at all, whose info is `video`: an implicit modifier may
// stand for tiles.
bool is_linear_video(const GstDrmVideoInfo &in, GstVideoInfo &video)
{
  return in.drm_modifier == kModLinear && gst_drm_video_info_to_video_info(&in, &video) &&
         GST_VIDEO_INFO_FORMAT(&video) != GST_VIDEO_FORMAT_UNKNOWN &&
         GST_VIDEO_INFO_FORMAT(&video) != GST_DRM_VIDEO_FORMAT_DMA_DRM &&
         GST_VIDEO_INFO_N_PLANES(&video) > 0;
}

// Metas of other memory, and of how it is held, are not those of a texture.
bool holds_for_textures(const GstMetaInfo *info)
{
  return info->api != GST_VIDEO_META_API_TYPE && info->api != GST_PARENT_BUFFER_META_API_TYPE &&
         !gst_meta_api_type_has_tag(info->api, _gst_meta_tag_memory) &&
         !gst_meta_api_type_has_tag(info->api, _gst_meta_tag_memory_reference);
}

gboolean copy_meta(GstBuffer *in, GstMeta **meta, gpointer data) noexcept
{
  const GstMetaInfo *info = (*meta)->info;
  if (!info->transform_func || !holds_for_textures(info))
    return TRUE;
  GstMetaTransformCopy whole = {FALSE, 0, G_MAXSIZE};
  info->transform_func(static_cast<GstBuffer *>(data), *meta, in, _gst_meta_transform_copy, &whole);
  return TRUE;
}

// Flags, times, and the metas of `in` that hold for textures as well.
void copy_metadata(GstBuffer *out, GstBuffer *in)
{
  gst_buffer_copy_into(
      out, in, static_cast<GstBufferCopyFlags>(GST_BUFFER_COPY_FLAGS | GST_BUFFER_COPY_TIMESTAMPS),
      0, G_MAXSIZE);
  gst_buffer_foreach_meta(in, copy_meta, out);
}

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

// --- stream --------------------------------------------------------------------------------------

Result<void> UploadFrames::begin(std::shared_ptr<GlThread> thread, UploadStream stream)
{
  end();
  if (!gst_video_info_from_caps(&out_, stream.out_caps.get()))
    return Error{ErrorCode::Caps, "Downstream's caps are no video of GL memory", 0};
  thread_ = std::move(thread);
  stream_ = std::move(stream);
  make_releases();
  cache_.emplace([this](const FrameLayout &layout) { return make_imported(layout); },
                 ImportBounds{.releases = &stats_.releases});
  can_copy_ = is_linear_video(stream_.in, copied_);
  copy_pool_.begin(thread_->context(), stream_.out_caps.get(), SyncPoints::None,
                   stream_.kept_downstream);
  drawn_pool_.begin(thread_->context(), stream_.out_caps.get(), SyncPoints::OfEachBuffer,
                    stream_.kept_downstream);
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
  copy_pool_.close();
  converter_.reset();
  can_copy_ = false;
  drawn_pool_.close();
  painter_.reset();
  imports_refused_.reset();
  refusal_.reset();
  advice_ = "";
  {
    const std::lock_guard guard(releases_lock_);
    releases_.reset();
  }
  if (thread_)
    thread_->finish();
  thread_.reset();
}

void UploadFrames::forget_imports()
{
  if (!cache_)
    return;
  cache_->clear();
  thread_->finish();
}

void UploadFrames::forget_unused_imports()
{
  if (!cache_)
    return;
  thread_->finish(); // frames go back
  cache_->drop_unused();
  thread_->finish(); // images end
}

void UploadFrames::set_flushing(bool flushing)
{
  copy_pool_.set_flushing(flushing);
  drawn_pool_.set_flushing(flushing);
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

bool UploadFrames::may_copy_one() const
{
  // copies are 2D textures: the caps have to change first
  const bool is_2d = !stream_.form || stream_.form->target != egl::Target::External;
  return stream_.may_copy && is_2d && can_copy_;
}

// A decoder's frames are larger than the picture: 1088 lines for 1080. The texture is of the
// picture alone. Empty where the CPU has to copy it.
Result<GstPtr<GstBuffer>> UploadFrames::visible_part(GstBuffer *in, Corner &corner)
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
  if (may_copy_one())
    return GstPtr<GstBuffer>();
  advice_ = kCropElsewhere;
  return Error{ErrorCode::Layout,
               "The picture of a frame begins among pixels that share chroma, or not at the first "
               "pixel of a tiled frame",
               0};
}

Result<GstPtr<GstBuffer>> UploadFrames::upload(GstBuffer *in)
{
  advice_ = "";
  tried_copy_ = false;
  stats_.frames++;
  watch_context();
  if (thread_->device()->is_lost())
    return thread_->device()->loss();
  cache_->advance();
  Corner corner;
  const Result<GstPtr<GstBuffer>> visible = visible_part(in, corner);
  if (!visible)
    return visible.error();
  if (!*visible)
    return copy(in, kInsideBlock);
  return upload_picture(visible->get(), corner);
}

Result<GstPtr<GstBuffer>> UploadFrames::upload_picture(GstBuffer *in, Corner corner)
{
  const MemoryKind kind = memory_kind(in);
  if (kind != MemoryKind::DmaBuf && (!stream_.form || stream_.copies_system_memory))
    return copy(in, "system memory");
  if (kind != MemoryKind::DmaBuf) {
    advice_ = kSendWhatCapsSay;
    if (stream_.is_plain)
      advice_ = stream_.may_copy ? kTakeCopies : kSendDmabufs;
    return not_dmabuf(stream_.is_plain, stream_.may_copy);
  }
  if (is_own_number(stream_.in.drm_fourcc))
    return copy(in, kNoFourcc);
  const Result<FrameLayout> layout = frame_layout_of(in, stream_.in);
  if (!layout)
    return layout.error();
  if (!stream_.form)
    return with_reason(copy(in, stream_.copy_reason), stream_.import_refusal);
  if (imports_refused_)
    return with_reason(copy(in, reason_of_refusal(*stream_.form)), *imports_refused_);
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
  else if (is_moved && (error.code == ErrorCode::Import || error.code == ErrorCode::Layout))
    alone = kCorner; // Layout: the last row, taken whole, ends beyond the buffer
  else if (error.code != ErrorCode::Import)
    return error;
  if (!may_copy_one()) {
    // no reason to give up the pair
    return alone == kCorner ? Error{ErrorCode::Layout, error.message, error.sys_errno} : error;
  }
  GST_WARNING_OBJECT(element_, "%s: %s", alone ? "one frame is copied" : "copying from now on",
                     error.message.c_str());
  if (!alone) {
    imports_refused_ = error.message;
    refusal_ = error;
  }
  return with_reason(copy(in, alone ? alone : reason_of_refusal(*stream_.form)), error.message);
}

Result<GstPtr<GstBuffer>> UploadFrames::copy(GstBuffer *in, const char *reason)
{
  tried_copy_ = true;
  const Result<Waited> waited = wait_for_device(element_, in, stats_, interrupt_);
  if (!waited)
    return waited.error();
  if (*waited == Waited::Interrupted)
    return GstPtr<GstBuffer>();
  Result<GstPtr<GstBuffer>> copied = copy_pixels(in);
  if (!copied || !*copied)
    return copied;
  copy_metadata(copied->get(), in);
  if (is_padded_frame(in, stream_.in.vinfo)) // the copy has the picture alone
    drop_crop(*copied);
  stats_.count_copy(element_, GST_VIDEO_INFO_SIZE(&copied_), reason);
  return copied;
}

// The converter asks for one rate and one kind of fields on both sides.
Result<void> UploadFrames::make_converter()
{
  GstVideoInfo made = out_;
  made.fps_n = copied_.fps_n;
  made.fps_d = copied_.fps_d;
  made.interlace_mode = copied_.interlace_mode;
  converter_ = FrameConverter::create(copied_, made);
  if (converter_)
    return {};
  advice_ = "Ask for another format downstream.";
  return Error{ErrorCode::Unsupported,
               std::string("The CPU cannot convert ") + GST_VIDEO_INFO_NAME(&copied_) + " to " +
                   GST_VIDEO_INFO_NAME(&out_),
               0};
}

Result<void> UploadFrames::fill_copy(GstBuffer *made, GstBuffer *in)
{
  const bool has_fourcc = !is_own_number(stream_.in.drm_fourcc);
  if (!converter_ && has_fourcc) {
    const Result<std::uint64_t> copied = copy_frame(made, in, out_);
    return copied ? Result<void>{} : copied.error();
  }
  MappedFrame from(in, copied_, GST_MAP_READ);
  MappedFrame to(made, out_, GST_MAP_WRITE);
  if (!from)
    advice_ = "Have upstream allocate memory that the CPU can map, such as a udmabuf.";
  if (!from || !to)
    return Error{ErrorCode::Import,
                 from ? "The CPU cannot map the GL memory of a copy for writing"
                      : "The CPU cannot map the frame for reading",
                 0};
  if (converter_)
    converter_->convert(from.get(), to.get());
  else
    gst_video_frame_copy(to.get(), from.get());
  return {};
}

// The pixels alone, once no device writes them any more. Error of code Layout where the frame's
// rows lie outside of its memory, Import where the CPU cannot map it, Allocation, Unsupported;
// empty where a flush ended the wait for a texture.
Result<GstPtr<GstBuffer>> UploadFrames::copy_pixels(GstBuffer *in)
{
  if (!can_copy_) {
    advice_ = "Ask upstream for linear frames.";
    return Error{ErrorCode::Unsupported, "The CPU can copy linear frames of a GstVideoFormat alone",
                 0};
  }
  if (const GstVideoMeta *meta = gst_buffer_get_video_meta(in))
    if (const auto checked = check_format_number(*meta); !checked)
      return checked.error();
  auto frame = names_dma_drm(in) ? with_named_format(in, copied_) : GstPtr<GstBuffer>::share(in);
  if (is_padded_frame(frame.get(), copied_)) {
    Result<GstPtr<GstBuffer>> picture = visible_picture(frame.get(), copied_);
    if (!picture)
      return picture;
    frame = std::move(*picture);
  }
  if (Result<void> checked = check_mappable_frame(frame.get(), copied_); !checked)
    return checked.error();
  if (!converter_ && GST_VIDEO_INFO_FORMAT(&copied_) != GST_VIDEO_INFO_FORMAT(&out_))
    if (Result<void> converter = make_converter(); !converter)
      return converter.error();
  Result<GstPtr<GstBuffer>> made = copy_pool_.acquire();
  if (!made || !*made)
    return made;
  if (const Result<void> filled = fill_copy(made->get(), frame.get()); !filled)
    return filled.error();
  return made;
}

// --- fences --------------------------------------------------------------------------------------

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

// --- imports -------------------------------------------------------------------------------------

Result<std::shared_ptr<const UploadFrames::Imported>>
UploadFrames::make_imported(const FrameLayout &layout)
{
  const TextureForm &form = *stream_.form;
  GstGLContext *context = thread_->context();
  // here, and not on the GL thread: nobody else has the buffer yet
  GstGLSyncMeta *sync_point =
      form.draws() ? nullptr : gst_buffer_add_gl_sync_meta(context, hop_->out);
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
    GstGLSyncMeta *sync_point = gst_buffer_add_gl_sync_meta(thread_->context(), hop.out);
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

// On the GL thread: draws, and sets the buffer's sync point behind that. Error of code Import where
// the driver does not draw it.
Result<void> UploadFrames::draw_into(GstBuffer *out, const egl::ImportedFrame &planes)
{
  if (!painter_) {
    auto made = egl::PlanesPainter::make(thread_->device(), stream_.in.drm_fourcc);
    if (!made)
      return as_import(made.error());
    painter_ = destroy_on(thread_, std::shared_ptr<egl::PlanesPainter>(std::move(*made)));
  }
  for (const egl::Texture &texture : planes.textures)
    texture.bind_again();
  GstMemory *texture = gst_buffer_peek_memory(out, 0);
  GstMapInfo map; // tells GstGLMemory that what it has read before is old
  if (!gst_memory_map(texture, &map, static_cast<GstMapFlags>(GST_MAP_WRITE | GST_MAP_GL)))
    return Error{ErrorCode::Allocation, "GStreamer maps no texture of its own for drawing", 0};
  const Result<void> drawn =
      painter_->draw(planes, stream_.colours, *reinterpret_cast<guint *>(map.data));
  gst_memory_unmap(texture, &map);
  if (!drawn)
    return as_import(drawn.error());
  // also a flush: behind it drivers know what reads the frame
  gst_gl_sync_meta_set_sync_point(gst_buffer_get_gl_sync_meta(out), thread_->context());
  return {};
}

// A texture of the pool goes downstream, and the frame goes back as soon as it is read.
Result<GstPtr<GstBuffer>> UploadFrames::draw(GstBuffer *in, const Imported &imported, Hop &hop)
{
  Result<GstPtr<GstBuffer>> out = drawn_pool_.acquire();
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
      return hop.fence_refused ? Result<void>() : draw_into(out->get(), *imported.planes);
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
