// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstegluploadframes.hpp"

#include <cerrno>
#include <string>
#include <utility>

#include <gst/drm/element/crop.hpp>
#include <gst/drm/element/frame_import.hpp>
#include <gst/drm/element/frame_wait.hpp>

#include "gsteglmemory.hpp"
#include "gstegluploadmetas.hpp"

GST_DEBUG_CATEGORY_EXTERN(gst_egl_dmabuf_upload_debug);
#define GST_CAT_DEFAULT gst_egl_dmabuf_upload_debug

namespace gstdrm {

namespace {

// Frames after which a robust context is asked whether it is lost.
constexpr unsigned kWatchInterval = 16;

// Why a frame is copied that was to be imported. Literals: drm-stats keeps them.
constexpr const char *kRefused = "the EGL driver does not import upstream's DMA buffers";
constexpr const char *kNotDrawn =
    "the EGL driver does not import or draw the planes of upstream's DMA buffers";
constexpr const char *kNoDescriptor = "no file descriptor is left for an import";
constexpr const char *kCorner = "the EGL driver does not import a picture that begins there";

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

Error not_dmabuf(bool is_plain, bool may_copy)
{
  const char *why = "The caps say memory:DMABuf, but a buffer has other memory";
  if (is_plain)
    why = may_copy ? "A buffer is in system memory, and downstream takes no texture that it could "
                     "be copied to"
                   : "A buffer is in system memory, and mode=import forbids a copy";
  return Error{ErrorCode::Layout, why, 0};
}

} // namespace

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
  copier_.begin(thread_->context(), stream_.in, stream_.out_caps.get(), stream_.kept_downstream);
  drawn_.begin(thread_, stream_.in.drm_fourcc, stream_.colours, stream_.out_caps.get(),
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
  copier_.close();
  drawn_.close();
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
  copier_.set_flushing(flushing);
  drawn_.set_flushing(flushing);
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
  Result<GstPtr<GstBuffer>> copied = copier_.copy(in);
  if (!copied)
    advice_ = copier_.advice();
  if (!copied || !*copied)
    return copied;
  copy_metadata(copied->get(), in);
  stats_.count_copy(element_, copier_.bytes_of_frame(), reason);
  return copied;
}

} // namespace gstdrm
