// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gsteglmemory.hpp"

#include <atomic>
#include <cstring>
#include <string>
#include <utility>

#include <gst/drm/gstdrm-guard-private.hpp>

// --- maps ----------------------------------------------------------------------------------------

struct GstDrmEglTextureAllocator {
  GstGLMemoryAllocator parent;
  GstMemoryMapFullFunction map; // of the parent class
  GstMemoryUnmapFullFunction unmap;
};

struct GstDrmEglTextureAllocatorClass {
  GstGLMemoryAllocatorClass parent_class;
};

static GType gst_drm_egl_texture_allocator_get_type(void);
G_DEFINE_TYPE(GstDrmEglTextureAllocator, gst_drm_egl_texture_allocator,
              GST_TYPE_GL_MEMORY_ALLOCATOR)

static GstDrmEglTextureAllocator *as_texture_allocator(gpointer allocator) noexcept
{
  return G_TYPE_CHECK_INSTANCE_CAST(allocator, gst_drm_egl_texture_allocator_get_type(),
                                    GstDrmEglTextureAllocator);
}

// An imported texture is complete before its memory exists, and GL does not write it, so a map for
// reading by GL is the texture's name and waits for no GL thread. GstGLBaseMemory would let the
// reader sleep until that thread has come to it, once for the map and once for the unmap. A copy of
// the memory is not read-only, and has everything that GStreamer does for its own textures.
static bool only_reads_texture(const GstMemory *memory, const GstMapInfo *info) noexcept
{
  // GST_MAP_GL is none of the values that a GstMapFlags may have in C++.
  guint flags = 0;
  static_assert(sizeof(flags) == sizeof(info->flags));
  std::memcpy(&flags, &info->flags, sizeof(flags));
  const auto ways = static_cast<guint>(GST_MAP_READ | GST_MAP_WRITE | GST_MAP_GL);
  return GST_MEMORY_IS_READONLY(memory) && (flags & ways) == (GST_MAP_READ | GST_MAP_GL);
}

static void bind_new_pixels(GstMemory *memory);

static gpointer map_texture(GstMemory *memory, GstMapInfo *info, gsize size) noexcept
{
  try {
    bind_new_pixels(memory);
  } catch (...) {
    gstdrm::caught(__func__);
  }
  if (only_reads_texture(memory, info))
    return &reinterpret_cast<GstGLMemory *>(memory)->tex_id;
  return as_texture_allocator(memory->allocator)->map(memory, info, size);
}

static void unmap_texture(GstMemory *memory, GstMapInfo *info) noexcept
{
  if (!only_reads_texture(memory, info))
    as_texture_allocator(memory->allocator)->unmap(memory, info);
}

static void gst_drm_egl_texture_allocator_class_init(GstDrmEglTextureAllocatorClass *) {}

static void gst_drm_egl_texture_allocator_init(GstDrmEglTextureAllocator *self)
{
  GstAllocator *allocator = GST_ALLOCATOR_CAST(self);
  self->map = std::exchange(allocator->mem_map_full, map_texture);
  self->unmap = std::exchange(allocator->mem_unmap_full, unmap_texture);
}

namespace gstdrm {

// --- memories ------------------------------------------------------------------------------------

namespace {

// What is needed to free a memory: its textures, and the thread to free it on. Owned by the memory.
struct Backing {
  std::shared_ptr<GlThread> thread;
  std::shared_ptr<const egl::ImportedFrame> frame;
  const egl::Texture &texture; // of the frame
  bool handed_over = false;    // to the GL thread
  // Frames that were sent with this memory, and the one for which the texture was bound last: the
  // first one by the import.
  std::atomic<unsigned> sent{0};
  std::atomic<unsigned> bound{1};
  Backing(std::shared_ptr<GlThread> on, std::shared_ptr<const egl::ImportedFrame> of, guint index)
      : thread(std::move(on)), frame(std::move(of)), texture(frame->textures[index])
  {
  }
};

GQuark backing_quark()
{
  static const GQuark quark = g_quark_from_static_string("gst-drm-egl-backing");
  return quark;
}

Backing *backing_of(gpointer memory)
{
  return static_cast<Backing *>(
      gst_mini_object_get_qdata(static_cast<GstMiniObject *>(memory), backing_quark()));
}

// The memory's dispose function: hands the memory over to the GL thread, to be freed there.
// GstGLBaseMemory would let the thread that drops the last reference sleep until the GL thread has
// run. FALSE: the memory lives on, see GstMiniObject.
gboolean hand_over(GstMiniObject *object) noexcept
try {
  Backing *backing = backing_of(object);
  if (!backing || backing->handed_over)
    return TRUE;
  const std::shared_ptr<GlThread> thread = backing->thread;
  const auto job = [object](bool /*has_context*/) { gst_mini_object_unref(object); };
  backing->handed_over = true;
  gst_mini_object_ref(object);
  thread->run_later(job);
  return FALSE;
} catch (...) {
  return caught(TRUE, __func__);
}

void end_backing(gpointer data) noexcept
{
  const std::unique_ptr<Backing> backing(static_cast<Backing *>(data));
}

// The format in which GL elements expect the plane; 0: none that an image can have. LUMINANCE and
// LUMINANCE_ALPHA come up where GL has no R8 and RG8. Shaders read the second sample of the latter
// as alpha, and that of an image of GR88 is green.
GstGLFormat plane_format_of(GstGLContext *context, const GstVideoInfo &info, guint plane)
{
  GstVideoInfo copy = info; // GStreamer 1.22 does not say const
  const GstGLFormat format = gst_gl_format_from_video_info(context, &copy, plane);
  if (format == GST_GL_LUMINANCE || format == GST_GL_LUMINANCE_ALPHA)
    return static_cast<GstGLFormat>(0);
  return format;
}

GstPtr<GstMemory> wrap(GstAllocator *allocator, const std::shared_ptr<GlThread> &thread,
                       const std::shared_ptr<const egl::ImportedFrame> &frame, guint index,
                       const TextureForm &form, const GstVideoInfo &info, GstGLFormat format)
{
  const egl::Texture &texture = frame->textures[index];
  const auto target = form.target == egl::Target::External ? GST_GL_TEXTURE_TARGET_EXTERNAL_OES
                                                           : GST_GL_TEXTURE_TARGET_2D;
  auto backing = std::make_unique<Backing>(thread, frame, index);
  Backing *const borrowed = backing.get();
  GstGLVideoAllocationParams *params = gst_gl_video_allocation_params_new_wrapped_texture(
      thread->context(), nullptr, const_cast<GstVideoInfo *>(&info), index, nullptr, target, format,
      texture.id(), backing.get(), end_backing);
  GstGLBaseMemory *made = gst_gl_base_memory_alloc(
      GST_GL_BASE_MEMORY_ALLOCATOR(allocator), reinterpret_cast<GstGLAllocationParams *>(params));
  gst_gl_allocation_params_free(reinterpret_cast<GstGLAllocationParams *>(params));
  if (!made)
    return {};
  (void)backing.release(); // the memory's
  GstMiniObject *object = GST_MINI_OBJECT_CAST(made);
  gst_mini_object_set_qdata(object, backing_quark(), borrowed, nullptr);
  object->dispose = hand_over;
  GST_MINI_OBJECT_FLAG_SET(object, GST_MEMORY_FLAG_READONLY);
  return GstPtr<GstMemory>::adopt(GST_MEMORY_CAST(made));
}

} // namespace

Result<GlMemories> wrap_textures(const std::shared_ptr<GlThread> &thread,
                                 const std::shared_ptr<const egl::ImportedFrame> &frame,
                                 const TextureForm &form, const GstVideoInfo &info)
{
  gst_gl_memory_init_once();
  const auto n_textures = static_cast<guint>(frame->textures.size());
  if (n_textures != GST_VIDEO_INFO_N_PLANES(&info))
    return Error{ErrorCode::Unsupported,
                 "A frame became " + std::to_string(n_textures) + " textures, and " +
                     GST_VIDEO_INFO_NAME(&info) + " downstream has " +
                     std::to_string(GST_VIDEO_INFO_N_PLANES(&info)) + " planes",
                 0};
  // not the kind with a pixel buffer object, which would be one more frame of memory for each
  // import
  const auto allocator = GstPtr<GstAllocator>::adopt(GST_ALLOCATOR(
      gst_object_ref_sink(g_object_new(gst_drm_egl_texture_allocator_get_type(), nullptr))));
  GlMemories memories;
  for (guint i = 0; i < n_textures; i++) {
    if (frame->textures[i].target() != form.target)
      return Error{ErrorCode::Unsupported,
                   frame->device->driver().describe() +
                       ", makes another kind of texture of the frame than the caps downstream say",
                   0};
    const GstGLFormat format = plane_format_of(thread->context(), info, i);
    if (format == 0)
      return Error{ErrorCode::Unsupported,
                   frame->device->driver().describe() + " has no texture format for plane " +
                       std::to_string(i) + " of " + GST_VIDEO_INFO_NAME(&info) +
                       ", as it lacks GL_EXT_texture_rg. Ask for RGBA downstream",
                   0};
    GstPtr<GstMemory> memory = wrap(allocator.get(), thread, frame, i, form, info, format);
    if (!memory)
      return Error{ErrorCode::Allocation, "GStreamer wraps no texture as GstGLMemory", 0};
    memories.push_back(std::move(memory));
  }
  return memories;
}

// GstGLBaseMemory keeps what a map of the CPU has read until GL writes the texture, which nobody
// does here. Its flags belong to its lock.
void expect_new_pixels(GstMemory *memory)
{
  if (Backing *backing = backing_of(memory))
    backing->sent++;
  GstGLBaseMemory *base = GST_GL_BASE_MEMORY_CAST(memory);
  g_mutex_lock(&base->lock);
  GST_MINI_OBJECT_FLAG_SET(memory, GST_GL_BASE_MEMORY_TRANSFER_NEED_DOWNLOAD);
  g_mutex_unlock(&base->lock);
}

} // namespace gstdrm

// Whoever reads a texture maps its memory first: the GL thread binds the texture to its image again
// before the commands of the reader. See egl::Texture::bind_again().
static void bind_new_pixels(GstMemory *memory)
{
  gstdrm::Backing *backing = gstdrm::backing_of(memory);
  if (!backing)
    return;
  const unsigned sent = backing->sent;
  if (backing->bound == sent)
    return;
  backing->thread->run_soon(
      [frame = backing->frame, &texture = backing->texture](bool has_context) {
        if (has_context)
          texture.bind_again();
      });
  backing->bound = sent; // behind the job, for another reader at the same time
}
