// SPDX-License-Identifier: LGPL-2.1-or-later
// Fuzz target: a buffer with any memories and any GstVideoMeta as a frame of any format. What is taken has to lie inside
// its objects, whoever looks.
#include <array>
#include <cstring>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/core/format.hpp>
#include <gst/drm/drm.h>
#include <gst/video/video.h>

#include "fuzz/bytes.hpp"
#include "fuzz/gstreamer.hpp"

namespace {

using gstdrm::test::Bytes;
using gstdrm::test::expect;

constexpr guint32 fourcc(const char (&text)[5])
{
  return static_cast<guint32>(text[0]) | static_cast<guint32>(text[1]) << 8 | static_cast<guint32>(text[2]) << 16 |
         static_cast<guint32>(text[3]) << 24;
}

constexpr guint32 kFourccs[] = {fourcc("NV12"), fourcc("XR24"), fourcc("YU12"), fourcc("NV15"), fourcc("R8  "), fourcc("P010"), fourcc("NV42"), fourcc("VU24"), fourcc("????"), 0};
constexpr guint64 kModifiers[] = {0, GST_DRM_MODIFIER_IMPLICIT, 0x0100000000000001, 0x0100000000000002, 0x0100000000000007, 0x0200000028a6bf04, 0x0600000000000001, 0x0800000000000001, G_MAXUINT64};
constexpr gsize kSizes[] = {0, 1, 4096, 16384, 460800, 1228800, 1U << 31, gsize{1} << 33};
constexpr gint kNumbers[] = {0, 1, 64, 480, 640, 2560, 16384, G_MAXINT, -1, G_MININT};
constexpr GstVideoFormat kFormats[] = {GST_VIDEO_FORMAT_NV12, GST_VIDEO_FORMAT_BGRx, GST_VIDEO_FORMAT_I420, GST_VIDEO_FORMAT_NV12_4L4, GST_VIDEO_FORMAT_GRAY8, GST_DRM_VIDEO_FORMAT_DMA_DRM, GST_VIDEO_FORMAT_UNKNOWN};

gint number(Bytes &bytes)
{
  const std::size_t choice = bytes.choose(G_N_ELEMENTS(kNumbers) + 2);
  return choice < G_N_ELEMENTS(kNumbers) ? kNumbers[choice] : bytes.number<gint32>();
}

// One of a table, or a number of its own.
template <typename T, std::size_t N> T pick(Bytes &bytes, const T (&values)[N])
{
  const std::size_t choice = bytes.choose(N + 2);
  return choice < N ? values[choice] : bytes.number<T>();
}

GstAllocator *allocator_of(std::size_t kind)
{
  static GstAllocator *const others[] = {gst_dmabuf_allocator_new(), gst_fd_allocator_new()};
  // the library's own, whose memories keep their facts; it makes no memory here but lends its type
  static GstDrmAllocator *const ours = gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_MEMFD, nullptr, nullptr);
  return kind < 2 ? others[kind] : GST_ALLOCATOR(ours);
}

void add_memory(GstBuffer *buffer, Bytes &bytes)
{
  const std::size_t kind = bytes.choose(4);
  if (kind == 3) {
    gst_buffer_append_memory(buffer, gst_allocator_alloc(nullptr, bytes.number<std::uint8_t>(), nullptr));
    return;
  }
  const gsize object = pick(bytes, kSizes) & ((gsize{1} << 40) - 1);
  const gsize claimed = bytes.choose(4) == 0 ? pick(bytes, kSizes) & (G_MAXSIZE >> 2) : object;
  const int fd = memfd_create("fuzz", MFD_CLOEXEC);
  expect(fd >= 0 && ftruncate(fd, static_cast<off_t>(object)) == 0, "a memfd");
  GstAllocator *allocator = allocator_of(kind);
  GstMemory *memory = kind == 1 ? gst_fd_allocator_alloc(allocator, fd, claimed, GST_FD_MEMORY_FLAG_NONE)
                                : gst_dmabuf_allocator_alloc(allocator, fd, claimed);
  if (const gsize cut = bytes.number<std::uint16_t>(); cut > 0 && cut < claimed)
    gst_memory_resize(memory, static_cast<gssize>(cut), claimed - cut);
  gst_buffer_append_memory(buffer, memory);
}

void add_meta(GstBuffer *buffer, const GstVideoInfo &vinfo, Bytes &bytes)
{
  gsize offsets[GST_VIDEO_MAX_PLANES] = {};
  gint strides[GST_VIDEO_MAX_PLANES] = {};
  GstVideoMeta *meta = gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_RGBA, 1, 1, 0, offsets, strides);
  const auto width = static_cast<guint>(GST_VIDEO_INFO_WIDTH(&vinfo));
  const auto height = static_cast<guint>(GST_VIDEO_INFO_HEIGHT(&vinfo));
  meta->width = bytes.choose(8) == 7 ? static_cast<guint>(number(bytes)) : width;
  meta->height = bytes.choose(8) == 7 ? static_cast<guint>(number(bytes)) : height;
  meta->n_planes = bytes.choose(8) == 7 ? static_cast<guint>(number(bytes)) : static_cast<guint>(bytes.choose(5));
  const gint format = bytes.choose(8) == 7 ? number(bytes) : bytes.pick(kFormats);
  std::memcpy(&meta->format, &format, sizeof meta->format);
  for (guint i = 0; i < GST_VIDEO_MAX_PLANES; ++i) {
    meta->offset[i] = pick(bytes, kSizes);
    meta->stride[i] = number(bytes);
  }
}

GstDrmVideoInfo build_info(Bytes &bytes)
{
  GstDrmVideoInfo info;
  gst_drm_video_info_init(&info);
  info.drm_fourcc = pick(bytes, kFourccs);
  info.drm_modifier = pick(bytes, kModifiers);
  const std::size_t how = bytes.choose(8);
  if (how == 7) {
    info.vinfo.finfo = nullptr;
    return info;
  }
  const GstVideoFormat named = how == 6 ? bytes.pick(kFormats) : gst_drm_format_to_video_format(info.drm_fourcc, info.drm_modifier);
  const gint width = bytes.choose(4) == 3 ? number(bytes) : 64;
  const gint height = bytes.choose(4) == 3 ? number(bytes) : 64;
  if (named != GST_VIDEO_FORMAT_UNKNOWN)
    gst_video_info_set_format(&info.vinfo, named, static_cast<guint>(width), static_cast<guint>(height));
  else
    info.vinfo.finfo = gst_video_format_get_info(GST_DRM_VIDEO_FORMAT_DMA_DRM);
  GST_VIDEO_INFO_WIDTH(&info.vinfo) = width;
  GST_VIDEO_INFO_HEIGHT(&info.vinfo) = height;
  return info;
}

void check_frame(const GstDrmFrame &frame, const GstDrmVideoInfo &info)
{
  expect(frame.drm_fourcc == info.drm_fourcc && frame.drm_modifier == info.drm_modifier, "the pair is that of the caps");
  expect(frame.n_planes >= 1 && frame.n_planes <= GST_DRM_MAX_PLANES, "1 to 4 planes");
  const gstdrm::FourccInfo *facts = gstdrm::fourcc_info(frame.drm_fourcc);
  for (guint i = 0; i < GST_DRM_MAX_PLANES; ++i) {
    const GstDrmFramePlane &plane = frame.planes[i];
    expect((plane.fd >= 0) == (i < frame.n_planes), "planes and only they have a descriptor");
    if (plane.fd < 0)
      continue;
    struct stat status {};
    expect(fstat(plane.fd, &status) == 0 && status.st_ino == plane.inode, "the descriptor is the object's");
    expect(static_cast<guint64>(status.st_size) == plane.size && plane.offset < plane.size, "a plane begins inside");
    if (frame.drm_modifier != GST_DRM_MODIFIER_LINEAR)
      continue;
    expect(facts != nullptr, "linear layouts are known");
    const guint64 row = gstdrm::plane_row_bytes(facts->planes[i], frame.width);
    const guint64 rows = gstdrm::plane_rows(facts->planes[i], frame.height);
    expect(plane.stride >= row && plane.offset + plane.stride * (rows - 1) + row <= plane.size, "a plane ends inside");
  }
}

} // namespace

extern "C" int LLVMFuzzerInitialize(int *argc, char ***argv)
{
  return gstdrm::test::init_gstreamer(argc, argv);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
  Bytes bytes(data, size);
  const GstDrmVideoInfo info = build_info(bytes);
  GstBuffer *buffer = gst_buffer_new();
  for (std::size_t n = bytes.choose(5); n > 0; --n)
    add_memory(buffer, bytes);
  if (bytes.choose(8) != 7)
    add_meta(buffer, info.vinfo, bytes);

  // Twice: the second time from the facts that were kept.
  for (int time = 0; time < 2; ++time) {
    GstDrmFrame frame;
    GError *error = nullptr;
    if (gst_drm_frame_from_buffer(&frame, buffer, &info, &error)) {
      check_frame(frame, info);
    } else {
      expect(error && g_utf8_validate(error->message, -1, nullptr) && *error->message, "a refusal has a reason");
      expect(!g_strrstr(error->message, "fault of gst-drm"), "no exception");
      g_error_free(error);
    }
  }
  gst_buffer_unref(buffer);
  return 0;
}
