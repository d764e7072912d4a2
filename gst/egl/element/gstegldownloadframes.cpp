// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstegldownloadframes.hpp"

#include <cmath>
#include <string>
#include <utility>

#include <gst/drm/core/frame_fences.hpp>
#include <gst/drm/drm.h>
#include <gst/drm/element/errors.hpp>
#include <gst/drm/element/frame_import.hpp>
#include <gst/drm/element/frame_wait.hpp>
#include <gst/drm/element/mappable_frame.hpp>
#include <gst/drm/element/mapped_frame.hpp>
#include <gst/drm/element/memory_token.hpp>

#include "engine/egl_fences.hpp"
#include "gstegldownloadcaps.hpp"

GST_DEBUG_CATEGORY_EXTERN(egl_dmabuf_download_debug);
#define GST_CAT_DEFAULT egl_dmabuf_download_debug

namespace gstdrm {
namespace {

// A GL memory whose texture is up to date while this lives.
class MappedTexture {
public:
  explicit MappedTexture(GstMemory *memory) : memory_(memory)
  {
    constexpr auto kRead = static_cast<GstMapFlags>(GST_MAP_READ | GST_MAP_GL);
    mapped_ = gst_memory_map(memory_, &map_, kRead) != FALSE;
  }
  MappedTexture(const MappedTexture &) = delete;
  MappedTexture &operator=(const MappedTexture &) = delete;
  ~MappedTexture()
  {
    if (mapped_)
      gst_memory_unmap(memory_, &map_);
  }
  explicit operator bool() const noexcept { return mapped_; }
  [[nodiscard]] GLuint id() const noexcept { return *reinterpret_cast<const guint *>(map_.data); }

private:
  GstMemory *memory_;
  GstMapInfo map_ = GST_MAP_INFO_INIT;
  bool mapped_ = false;
};

Error unusable(const std::string &why)
{
  return Error{ErrorCode::Layout, "A frame breaks its caps: " + why, 0};
}

// The texture of a frame, which is what the caps say, in a context that ours can read.
Result<GstGLMemory *> texture_of(GstBuffer *buffer, const GstVideoInfo &info, GstGLContext *context)
{
  if (gst_buffer_n_memory(buffer) != 1)
    return unusable("it has " + std::to_string(gst_buffer_n_memory(buffer)) +
                    " memories instead of one texture");
  GstMemory *memory = gst_buffer_peek_memory(buffer, 0);
  if (!gst_is_gl_memory(memory))
    return unusable("its memory is no OpenGL texture");
  auto *texture = reinterpret_cast<GstGLMemory *>(memory);
  const gint width = gst_gl_memory_get_texture_width(texture);
  const gint height = gst_gl_memory_get_texture_height(texture);
  if (width != GST_VIDEO_INFO_WIDTH(&info) || height != GST_VIDEO_INFO_HEIGHT(&info))
    return unusable("its texture has " + std::to_string(width) + "x" + std::to_string(height) +
                    " pixels instead of " + std::to_string(GST_VIDEO_INFO_WIDTH(&info)) + "x" +
                    std::to_string(GST_VIDEO_INFO_HEIGHT(&info)));
  const GstGLTextureTarget target = gst_gl_memory_get_texture_target(texture);
  if (target != GST_GL_TEXTURE_TARGET_2D && target != GST_GL_TEXTURE_TARGET_EXTERNAL_OES)
    return unusable(std::string("its texture is of target ") +
                    gst_gl_texture_target_to_string(target));
  GstGLContext *other = texture->mem.context;
  if (other != context && !gst_gl_context_can_share(other, context))
    return unusable("its texture belongs to an OpenGL context that shares nothing with this one");
  return texture;
}

// Whether the picture stands on its head, which an application or an effect may have written in a
// GstVideoAffineTransformationMeta: column-major, corners from 0 to 1.
bool is_flipped(GstBuffer *buffer)
{
  const auto *meta = gst_buffer_get_video_affine_transformation_meta(buffer);
  return meta && std::fabs(meta->matrix[0] - 1) < 1e-3F && std::fabs(meta->matrix[5] + 1) < 1e-3F;
}

GstGLContext *context_of(const std::shared_ptr<GlThread> &thread, GstBuffer *in)
{
  if (thread)
    return thread->context();
  GstMemory *memory = gst_buffer_n_memory(in) > 0 ? gst_buffer_peek_memory(in, 0) : nullptr;
  return memory && gst_is_gl_base_memory(memory)
             ? reinterpret_cast<GstGLBaseMemory *>(memory)->context
             : nullptr;
}

} // namespace

void DownloadFrames::reset_counters() noexcept
{
  hops_ = 0;
  draws_ = 0;
}

Result<void> DownloadFrames::begin(std::shared_ptr<GlThread> thread, const DownloadStream &stream)
{
  end();
  thread_ = std::move(thread);
  stream_ = stream;
  if (stream_.copy_reason) {
    copied_ = stream_.out.vinfo;
    copied_.colorimetry = stream_.colorimetry;
    converter_ = FrameConverter::create(stream_.in, copied_);
    if (!converter_)
      return Error{ErrorCode::Unsupported,
                   std::string("The CPU cannot convert ") + GST_VIDEO_INFO_NAME(&stream_.in) +
                       " to " + GST_VIDEO_INFO_NAME(&copied_),
                   0};
    return {};
  }
  cache_.emplace(
      [owner = thread_](const FrameLayout &layout) -> Result<Target> {
        auto target = egl::DrawTarget::import(owner->device(), layout);
        if (!target)
          return target.error();
        return destroy_on(owner, std::move(*target));
      },
      ImportBounds{.releases = &stats_.releases});
  return thread_->run([this](egl::Device &) -> Result<void> {
    auto painter = egl::Painter::make(thread_->device());
    if (!painter)
      return painter.error();
    const auto picture = picture_of(GST_VIDEO_INFO_FORMAT(&stream_.in), stream_.in_target);
    if (auto prepared = (*painter)->prepare(picture, stream_.out.drm_fourcc); !prepared)
      return prepared;
    painter_ = destroy_on(thread_, std::shared_ptr<egl::Painter>(std::move(*painter)));
    return {};
  });
}

void DownloadFrames::end()
{
  cache_.reset();
  painter_.reset();
  converter_.reset();
  if (thread_)
    thread_->finish();
  thread_.reset();
}

void DownloadFrames::count(GstBuffer *out, const Cache::Import &import)
{
  (import.hit ? stats_.import_hits : stats_.imports).fetch_add(1, std::memory_order_relaxed);
  if (!import.hit)
    hold_while_alive(gst_buffer_peek_memory(out, 0), import.liveness);
}

Result<void> DownloadFrames::prove(GstBuffer *buffer)
{
  if (stream_.copy_reason)
    return {};
  const auto layout = frame_layout_of(buffer, stream_.out);
  if (!layout)
    return layout.error();
  Cache::Import import;
  const auto proved = thread_->run([&](egl::Device &) -> Result<void> {
    auto imported = cache_->import(*layout);
    if (!imported)
      return imported.error();
    import = std::move(*imported);
    return {};
  });
  if (proved)
    count(buffer, import);
  return proved;
}

Result<bool> DownloadFrames::make(GstBuffer *in, GstBuffer *out)
{
  auto made = stream_.copy_reason ? copy(in, out) : draw(in, out);
  if (made && *made)
    stats_.frames.fetch_add(1, std::memory_order_relaxed);
  return made;
}

// --- the draw ------------------------------------------------------------------------------------

Result<void> DownloadFrames::draw_on_gl_thread(GstBuffer *in, const FrameLayout &layout,
                                               Cache::Import &import, UniqueFd &fence)
{
  GstGLContext *context = thread_->context();
  const egl::Device &device = *thread_->device();
  const auto memory = texture_of(in, stream_.in, context);
  if (!memory)
    return memory.error();
  // by GL, for the other context's commands; nothing sleeps here
  if (GstGLSyncMeta *written = gst_buffer_get_gl_sync_meta(in))
    gst_gl_sync_meta_wait(written, context);
  const MappedTexture texture(GST_MEMORY_CAST(*memory));
  if (!texture)
    return Error{ErrorCode::Import, "The texture of a frame cannot be read by OpenGL", 0};
  cache_->advance();
  auto imported = cache_->import(layout);
  if (!imported)
    return imported.error();
  import = std::move(*imported);
  const bool external =
      gst_gl_memory_get_texture_target(*memory) == GST_GL_TEXTURE_TARGET_EXTERNAL_OES;
  egl::Picture picture = picture_of(GST_VIDEO_INFO_FORMAT(&stream_.in),
                                    external ? egl::Target::External : egl::Target::Texture2D);
  picture.texture = texture.id();
  picture.flip = is_flipped(in);
  if (auto drawn = painter_->draw(picture, *import.imported, stream_.conversion); !drawn)
    return drawn;
  if (device.has_native_fences()) {
    if (auto made = egl::fence_of_commands(device)) {
      fence = std::move(*made);
      return {};
    } else {
      GST_WARNING_OBJECT(element_, "%s; waiting for GL instead", made.error().message.c_str());
    }
  }
  if (device.driver().keeps_implicit_fences()) {
    device.calls().gl.flush();
    if (auto written = export_writers(layout)) {
      fence = std::move(*written);
      return {};
    }
  }
  // no limit: GL has no such call that has one, and what it waits for ends, or the GPU is reset
  device.calls().gl.finish();
  stats_.waits.fetch_add(1, std::memory_order_relaxed);
  return {};
}

// Who reads GstDrmSyncMeta waits for its fence. For everybody else the fence becomes one of the
// dma-buf's own, and where the kernel cannot do that (before 6.0), the CPU waits.
Result<bool> DownloadFrames::attach(GstBuffer *out, UniqueFd fence)
{
  if (!fence)
    return true;
  bool knows = stream_.takes_fences;
  for (guint i = 0; i < gst_buffer_n_memory(out) && !knows; i++)
    if (!gst_drm_dmabuf_import_fence(gst_dmabuf_memory_get_fd(gst_buffer_peek_memory(out, i)),
                                     fence.get(), GST_DRM_ACCESS_WRITE, nullptr))
      break;
    else
      knows = i + 1 == gst_buffer_n_memory(out);
  GstDrmSyncMeta *meta = gst_buffer_add_drm_sync_meta(out);
  GError *error = nullptr;
  if (!gst_drm_sync_meta_add_acquire_fence(meta, fence.release(), &error))
    return take_error(error);
  if (knows)
    return true;
  const auto waited = wait_for_device(element_, out, stats_, interrupt_);
  if (!waited)
    return waited.error();
  return *waited != Waited::Interrupted;
}

Result<bool> DownloadFrames::draw(GstBuffer *in, GstBuffer *out)
{
  const auto layout = frame_layout_of(out, stream_.out);
  if (!layout)
    return layout.error();
  Cache::Import import;
  UniqueFd fence;
  hops_.fetch_add(1, std::memory_order_relaxed);
  const auto drawn =
      thread_->run([&](egl::Device &) { return draw_on_gl_thread(in, *layout, import, fence); });
  if (!drawn)
    return drawn.error();
  draws_.fetch_add(1, std::memory_order_relaxed);
  count(out, import);
  return attach(out, std::move(fence));
}

// --- the copy ------------------------------------------------------------------------------------

Result<bool> DownloadFrames::copy(GstBuffer *in, GstBuffer *out)
{
  GstGLContext *context = context_of(thread_, in);
  if (!context)
    return unusable("its memory is no OpenGL texture");
  if (auto memory = texture_of(in, stream_.in, context); !memory)
    return memory.error();
  // GStreamer's wait has no limit, nor have the map and its glReadPixels(), which wait for the same
  if (GstGLSyncMeta *written = gst_buffer_get_gl_sync_meta(in))
    gst_gl_sync_meta_wait_cpu(written, context);
  if (auto checked = check_mappable_frame(in, stream_.in); !checked)
    return checked.error();
  MappedFrame from(in, stream_.in, GST_MAP_READ);
  if (!from)
    return Error{ErrorCode::Import, "The texture of a frame cannot be read by the CPU", 0};
  MappedFrame to(out, copied_, GST_MAP_WRITE);
  if (!to)
    return Error{ErrorCode::Import, "The CPU cannot write to a buffer of the pool", 0};
  converter_->convert(from.get(), to.get());
  stats_.count_copy(element_, GST_VIDEO_INFO_SIZE(&copied_), stream_.copy_reason);
  return true;
}

} // namespace gstdrm
