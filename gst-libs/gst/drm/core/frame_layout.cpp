// SPDX-License-Identifier: LGPL-2.1-or-later
#include "frame_layout.hpp"

#include <atomic>
#include <bit>
#include <cerrno>
#include <limits>
#include <numeric>
#include <optional>
#include <string>

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "errno_text.hpp"
#include "tiling.hpp"

namespace gstdrm {

namespace {

constexpr std::uint64_t kMax32 = std::numeric_limits<std::uint32_t>::max();
// Strides and offsets have 32 bits; with no more rows than this no sum here exceeds 64 bits.
constexpr std::uint64_t kMaxRows = 1U << 30;

std::string number(std::uint64_t value)
{
  return std::to_string(value);
}

std::string describe_frame(const FrameLayout &layout)
{
  return describe_format(layout.format) + ", " + number(layout.width) + "x" + number(layout.height);
}

Error refuse(const FrameLayout &layout, const std::string &why)
{
  return Error{ErrorCode::Layout, describe_frame(layout) + ": " + why, 0};
}

Error refuse_plane(const FrameLayout &layout, std::size_t plane, const std::string &why)
{
  return refuse(layout, "plane " + number(plane) + ": " + why);
}

Result<void> check_plane_count(const FrameLayout &layout)
{
  if (layout.n_planes < 1 || layout.n_planes > kMaxPlanes)
    return refuse(layout, number(layout.n_planes) + " planes, a frame has 1 to 4");
  const unsigned expected = memory_plane_count(layout.format);
  if (expected != 0 && layout.n_planes != expected)
    return refuse(layout, number(layout.n_planes) + (layout.n_planes == 1 ? " plane" : " planes") +
                              ", this format and modifier have " + number(expected));
  return {};
}

// What holds for every layout, opaque ones included.
Result<void> check_any_plane(const FrameLayout &layout, std::size_t i)
{
  const PlaneLayout &plane = layout.planes[i];
  if (plane.fd < 0)
    return refuse_plane(layout, i, "no file descriptor");
  if (plane.offset_bytes >= plane.object.size_bytes)
    return refuse_plane(layout, i,
                        "offset " + number(plane.offset_bytes) + " lies outside of the buffer of " +
                            number(plane.object.size_bytes) + " bytes");
  if (plane.offset_bytes > kMax32)
    return refuse_plane(layout, i,
                        "offset " + number(plane.offset_bytes) +
                            " is more than the 32 bits of drm_mode_fb_cmd2");
  return {};
}

// Bytes from the plane's offset to its end.
std::uint64_t plane_bytes(std::uint64_t stride, std::uint64_t rows, std::uint64_t row_bytes,
                          const std::optional<Tiling> &tiling, std::size_t plane)
{
  // Linear: the last row needs no padding (drm_gem_framebuffer_helper.c, min_size). Tiled: rows
  // come in whole tiles.
  if (!tiling)
    return stride * (rows - 1) + row_bytes;
  const std::uint64_t tile = tiling->tile_rows[plane > 0 ? 1 : 0];
  return stride * ((rows + tile - 1) / tile * tile);
}

Result<void> check_known_plane(const FrameLayout &layout, std::size_t i, const FourccInfo &info,
                               const std::optional<Tiling> &tiling)
{
  const PlaneLayout &plane = layout.planes[i];
  const std::uint32_t row = plane_row_bytes(info.planes[i], layout.width);
  const std::uint64_t rows = plane_rows(info.planes[i], layout.height);
  if (row == 0)
    return refuse_plane(layout, i, "a row would have more than 32 bits of bytes");
  if (plane.stride_bytes < row)
    return refuse_plane(layout, i,
                        "stride " + number(plane.stride_bytes) + " is less than the " +
                            number(row) + " bytes of a row");
  if (rows > kMaxRows)
    return refuse_plane(layout, i, number(rows) + " rows are too many");
  const std::uint64_t end =
      plane.offset_bytes + plane_bytes(plane.stride_bytes, rows, row, tiling, i);
  if (end > plane.object.size_bytes)
    return refuse_plane(layout, i,
                        number(rows) + " rows of stride " + number(plane.stride_bytes) +
                            " from offset " + number(plane.offset_bytes) + " need " + number(end) +
                            " bytes, the buffer has " + number(plane.object.size_bytes));
  return {};
}

constexpr std::uint64_t align_up(std::uint64_t value, std::uint64_t power_of_two) noexcept
{
  return (value + power_of_two - 1) & ~(std::uint64_t{power_of_two} - 1);
}

// Before Linux 5.3 all dma-bufs have the one inode of anon_inodefs, and nothing tells that two
// descriptors are of the same dma-buf.
bool has_own_inode(int fd) noexcept
{
  struct statfs facts {};
  return ::fstatfs(fd, &facts) != 0 || facts.f_type != ANON_INODE_FS_MAGIC;
}

// Equal to no other one.
BufferIdentity unknown_identity() noexcept
{
  static std::atomic<std::uint64_t> count{0};
  return {BufferIdentity::kUnknown, ++count};
}

} // namespace

Result<ObjectInfo> query_object(int fd)
{
  struct stat facts {};
  if (::fstat(fd, &facts) != 0) {
    const int error = errno;
    return Error{ErrorCode::Layout,
                 "File descriptor " + std::to_string(fd) + " cannot be used: " + errno_text(error),
                 error};
  }
  // The inode of a dma-buf has no file type before Linux 6.15 (alloc_anon_inode() in fs/libfs.c),
  // and is a regular file without a size since.
  const mode_t type = facts.st_mode & S_IFMT;
  if (type != 0 && type != S_IFREG)
    return Error{ErrorCode::Layout,
                 "File descriptor " + std::to_string(fd) + " is neither a dma-buf nor a memfd", 0};

  ObjectInfo info;
  info.identity = type != 0 || has_own_inode(fd) ? BufferIdentity{facts.st_dev, facts.st_ino}
                                                 : unknown_identity();
  info.size_bytes = static_cast<std::uint64_t>(facts.st_size);
  if (facts.st_size <= 0) {
    // dma-buf.rst: the size is what SEEK_END says
    const off_t end = ::lseek(fd, 0, SEEK_END);
    const int error = errno;
    if (end < 0 || (end == 0 && type == 0))
      return Error{ErrorCode::Layout,
                   "File descriptor " + std::to_string(fd) + " is neither a dma-buf nor a memfd" +
                       (end < 0 ? ": " + errno_text(error) : ""),
                   end < 0 ? error : 0};
    info.size_bytes = static_cast<std::uint64_t>(end);
  }
  return info;
}

Result<void> check_layout(const FrameLayout &layout)
{
  if (!fourcc_is_valid(layout.format.fourcc))
    return refuse(layout, "no fourcc");
  if (layout.width == 0 || layout.height == 0)
    return refuse(layout, "an empty picture");
  if (Result<void> count = check_plane_count(layout); !count)
    return count;

  const FourccInfo *info = fourcc_info(layout.format.fourcc);
  const std::optional<Tiling> tiling = known_tiling(layout.format.modifier);
  const bool is_linear = layout.format.modifier == kModLinear;
  if (is_linear && !info)
    return refuse(layout, "the linear layout of this fourcc is not known");
  const bool is_known = info && (is_linear || tiling);
  for (std::size_t i = 0; i < layout.n_planes; ++i) {
    if (Result<void> any = check_any_plane(layout, i); !any)
      return any;
    if (!is_known)
      continue;
    if (Result<void> known = check_known_plane(layout, i, *info, tiling); !known)
      return known;
  }
  return {};
}

std::uint64_t linear_width_step(const FourccInfo &info, std::uint64_t align) noexcept
{
  std::uint64_t step = 1;
  for (std::size_t i = 0; i < info.n_planes; ++i) {
    const PlaneInfo &plane = info.planes[i];
    const std::uint64_t blocks = align / std::gcd(align, std::uint64_t{plane.block_bytes});
    step = std::lcm(step, blocks * plane.block_width * plane.hsub);
  }
  return step;
}

std::uint64_t linear_padded_width(const FourccInfo &info, std::uint64_t width,
                                  std::uint64_t align) noexcept
{
  if (info.n_planes > 1) {
    const std::uint64_t step = linear_width_step(info, align);
    return (width + step - 1) / step * step;
  }
  const PlaneInfo &plane = info.planes[0];
  const std::uint64_t blocks = (width + plane.block_width - 1) / plane.block_width;
  return align_up(blocks * plane.block_bytes, align) / plane.block_bytes * plane.block_width;
}

Result<FrameLayout> make_linear_layout(std::uint32_t fourcc, std::uint32_t width,
                                       std::uint32_t height, std::uint32_t stride_align,
                                       std::uint32_t offset_align, std::uint64_t &size_bytes)
{
  FrameLayout layout;
  layout.format = {fourcc, kModLinear};
  layout.width = width;
  layout.height = height;
  const FourccInfo *info = fourcc_info(fourcc);
  if (!info)
    return refuse(layout, "the linear layout of this fourcc is not known");
  if (width == 0 || height == 0)
    return refuse(layout, "an empty picture");
  if (!std::has_single_bit(stride_align) || !std::has_single_bit(offset_align))
    return refuse(layout, "alignments " + number(stride_align) + " and " + number(offset_align) +
                              " have to be powers of two");

  layout.n_planes = info->n_planes;
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < layout.n_planes; ++i) {
    const std::uint32_t row = plane_row_bytes(info->planes[i], width);
    const std::uint64_t stride = align_up(row, stride_align);
    const std::uint64_t offset = align_up(end, offset_align);
    const std::uint64_t rows = plane_rows(info->planes[i], height);
    if (row == 0 || stride > kMax32 || offset > kMax32 || rows > kMaxRows)
      return refuse_plane(layout, i,
                          "too large for the 32-bit strides and offsets of drm_mode_fb_cmd2");
    layout.planes[i].stride_bytes = static_cast<std::uint32_t>(stride);
    layout.planes[i].offset_bytes = offset;
    end = offset + stride * rows;
  }
  size_bytes = end;
  return layout;
}

} // namespace gstdrm
