// SPDX-License-Identifier: LGPL-2.1-or-later
#include "nv_surface.hpp"

#include <array>
#include <cstring>
#include <limits>
#include <string>

#include <drm_fourcc.h>

namespace gstdrm::metis {

namespace {

// The first fields of NvBufSurfacePlaneParams, NvBufSurfaceParams and NvBufSurface in
// nvbufsurface.h of Jetson Linux 35 and 36, for LP64. Reading them needs no function of
// libnvbufsurface.so.
struct NvPlanes {
  std::uint32_t n_planes;
  std::array<std::uint32_t, 4> width, height, pitch, offset, size_bytes, bytes_per_pixel;
};
struct NvParams {
  std::uint32_t width, height, pitch;
  std::uint32_t color_format;
  std::uint32_t layout;
  std::uint64_t dmabuf_fd; // bufferDesc
  std::uint32_t data_size;
  void *data;
  NvPlanes planes;
};
struct NvSurface {
  std::uint32_t gpu_id, batch_size, n_filled;
  bool is_contiguous;
  std::uint32_t memory_type;
  const NvParams *surfaces;
};
static_assert(sizeof(void *) != 8 ||
              (offsetof(NvParams, dmabuf_fd) == 24 && offsetof(NvParams, planes) == 48 &&
               offsetof(NvSurface, memory_type) == 16 && offsetof(NvSurface, surfaces) == 24));

constexpr std::uint32_t kPitchLinear = 0;   // NVBUF_LAYOUT_PITCH
constexpr std::uint32_t kDefaultMemory = 0; // NVBUF_MEM_DEFAULT: on Jetson a surface array
constexpr std::uint32_t kSurfaceArray = 4;  // NVBUF_MEM_SURFACE_ARRAY
constexpr std::uint32_t kHandle = 5;        // NVBUF_MEM_HANDLE

// NVBUF_COLOR_FORMAT_NV12, _NV12_ER, _NV12_709, _NV12_709_ER, _NV12_2020
bool is_nv12(std::uint32_t color_format) noexcept
{
  return color_format == 6 || color_format == 7 || color_format == 33 || color_format == 34 ||
         color_format == 36;
}

// NVBUF_COLOR_FORMAT_* of cameras, decoders and converters of a Jetson.
const char *name_of(std::uint32_t color_format) noexcept
{
  struct Name {
    std::uint32_t value;
    const char *name;
  };
  static constexpr Name kNames[] = {{2, "YUV420"}, {6, "NV12"},       {7, "NV12_ER"},
                                    {8, "NV21"},   {14, "YUYV"},      {19, "RGBA"},
                                    {20, "BGRA"},  {29, "NV12_10LE"}, {33, "NV12_709"}};
  for (const Name &known : kNames)
    if (known.value == color_format)
      return known.name;
  return "another one";
}

Error refuse(const std::string &why)
{
  return Error{ErrorCode::Layout, "A frame of memory:NVMM cannot be used: " + why, 0};
}

Result<void> check_surface(const NvSurface &surface)
{
  if (!surface.surfaces)
    return refuse("its NvBufSurface names no frame. The element before it has to fill it.");
  if (surface.batch_size != 1)
    return refuse("it holds a batch of " + std::to_string(surface.batch_size) +
                  " frames, and one is needed. Take the frames before nvstreammux.");
  if (surface.memory_type != kSurfaceArray && surface.memory_type != kHandle &&
      surface.memory_type != kDefaultMemory)
    return refuse("its memory is of type " + std::to_string(surface.memory_type) +
                  ", which has no dma-buf. Put nvvidconv before it, with nvbuf-memory-type=4.");
  return {};
}

Result<void> check_params(const NvParams &params, std::uint32_t width, std::uint32_t height)
{
  if (!is_nv12(params.color_format) || params.planes.n_planes != 2)
    return refuse("its colour format is " + std::to_string(params.color_format) + " (" +
                  name_of(params.color_format) + "), with " +
                  std::to_string(params.planes.n_planes) +
                  (params.planes.n_planes == 1 ? " plane" : " planes") +
                  ", and NV12 with 2 is needed. Put nvvidconv ! "
                  "video/x-raw(memory:NVMM),format=NV12 before it.");
  if (params.layout != kPitchLinear)
    return refuse("its layout is block linear. Put nvvidconv with bl-output=false before it.");
  if (params.width != width || params.height != height)
    return refuse("it has " + std::to_string(params.width) + "x" + std::to_string(params.height) +
                  " pixels, the caps say " + std::to_string(width) + "x" + std::to_string(height) +
                  ". The element before it has to send new caps when the size changes.");
  if (params.dmabuf_fd > std::numeric_limits<int>::max())
    return refuse("its descriptor is " + std::to_string(params.dmabuf_fd) +
                  ", which no dma-buf has. The element before it has to fill bufferDesc.");
  return {};
}

} // namespace

Result<FrameLayout> layout_of_nv_surface(const void *memory, std::size_t size_bytes,
                                         std::uint32_t width, std::uint32_t height)
{
  NvSurface surface;
  if (size_bytes < sizeof surface)
    return refuse("its memory has " + std::to_string(size_bytes) +
                  " bytes, and an NvBufSurface has " + std::to_string(sizeof surface) + ".");
  std::memcpy(&surface, memory, sizeof surface);
  if (Result<void> checked = check_surface(surface); !checked)
    return checked.error();
  const NvParams &params = surface.surfaces[0];
  if (Result<void> checked = check_params(params, width, height); !checked)
    return checked.error();
  Result<ObjectInfo> object = query_object(static_cast<int>(params.dmabuf_fd));
  if (!object)
    return refuse(object.error().message +
                  ". The element before it has to keep the dma-buf open for as long as the frame.");
  FrameLayout layout;
  layout.format = {DRM_FORMAT_NV12, kModLinear};
  layout.width = width;
  layout.height = height;
  layout.n_planes = 2;
  for (std::size_t i = 0; i < layout.n_planes; i++)
    layout.planes[i] = {static_cast<int>(params.dmabuf_fd), params.planes.offset[i],
                        params.planes.pitch[i], *object};
  if (Result<void> checked = check_layout(layout); !checked)
    return refuse(checked.error().message +
                  ". The element before it has to describe the dma-buf as it is.");
  return layout;
}

} // namespace gstdrm::metis
