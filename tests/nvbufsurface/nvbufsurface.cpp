// SPDX-License-Identifier: LGPL-2.1-or-later
// A libnvbufsurface of the tests' own: surfaces in udmabufs, and in memfds where there are none.
#include "nvbufsurface.h"

#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <gst/drm/core/unique_fd.hpp>

using gstdrm::UniqueFd;

namespace {

constexpr std::uint32_t kPage = 4096;

constexpr std::uint32_t aligned(std::uint32_t value, std::uint32_t to)
{
  return (value + to - 1) / to * to;
}

// Shared memory as a dma-buf. The memfd itself without /dev/udmabuf.
UniqueFd new_dmabuf(std::uint32_t bytes)
{
  UniqueFd memory(::memfd_create("nvbufsurface", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory || ::ftruncate(memory.get(), bytes) != 0 ||
      ::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0)
    return {};
  const UniqueFd device(::open("/dev/udmabuf", O_RDWR | O_CLOEXEC));
  if (!device)
    return memory;
  udmabuf_create create{};
  create.memfd = static_cast<std::uint32_t>(memory.get());
  create.flags = UDMABUF_FLAGS_CLOEXEC;
  create.size = bytes;
  return UniqueFd(::ioctl(device.get(), UDMABUF_CREATE, &create));
}

// What NvBufSurface points to, and what it owns. The first member is what the caller sees.
struct Owned {
  NvBufSurface surface{};
  std::vector<NvBufSurfaceParams> list;
  std::vector<UniqueFd> memory;
};

// Rows are padded, and chroma starts on a page, so that nothing fits by chance.
NvBufSurfaceParams describe(const NvBufSurfaceCreateParams &wanted)
{
  NvBufSurfaceParams made{};
  made.width = wanted.width;
  made.height = wanted.height;
  made.colorFormat = wanted.colorFormat;
  made.layout = wanted.layout;
  made.pitch = aligned(wanted.width * 4, 256);
  NvBufSurfacePlaneParams &planes = made.planeParams;
  planes.num_planes = wanted.colorFormat == NVBUF_COLOR_FORMAT_RGBA ? 1 : 2;
  if (planes.num_planes == 2)
    made.pitch = aligned(wanted.width, 256);
  for (std::uint32_t i = 0; i < planes.num_planes; ++i) {
    planes.width[i] = i == 0 ? wanted.width : (wanted.width + 1) / 2;
    planes.height[i] = i == 0 ? wanted.height : (wanted.height + 1) / 2;
    planes.pitch[i] = made.pitch;
    planes.offset[i] = made.dataSize;
    planes.psize[i] = aligned(made.pitch * planes.height[i], kPage);
    planes.bytesPerPix[i] = i + 1;
    made.dataSize += planes.psize[i];
  }
  return made;
}

std::unique_ptr<Owned> make_surface(std::uint32_t batch, const NvBufSurfaceCreateParams &wanted)
{
  auto owned = std::make_unique<Owned>();
  for (std::uint32_t i = 0; i < batch; ++i) {
    NvBufSurfaceParams params = describe(wanted);
    owned->memory.push_back(new_dmabuf(params.dataSize));
    if (!owned->memory.back())
      return nullptr;
    params.bufferDesc = static_cast<std::uint64_t>(owned->memory.back().get());
    owned->list.push_back(params);
  }
  owned->surface.batchSize = batch;
  owned->surface.numFilled = batch;
  owned->surface.memType =
      wanted.memType == NVBUF_MEM_DEFAULT ? NVBUF_MEM_SURFACE_ARRAY : wanted.memType;
  owned->surface.surfaceList = owned->list.data();
  return owned;
}

int cpu_access(const NvBufSurfaceParams &params, std::uint64_t flags)
{
  dma_buf_sync sync{flags | DMA_BUF_SYNC_RW};
  ::ioctl(static_cast<int>(params.bufferDesc), DMA_BUF_IOCTL_SYNC, &sync); // a memfd has none
  return 0;
}

NvBufSurfaceParams *surface_at(NvBufSurface *surf, int index)
{
  if (!surf || index < 0 || static_cast<std::uint32_t>(index) >= surf->batchSize)
    return nullptr;
  return &surf->surfaceList[index];
}

} // namespace

int NvBufSurfaceCreate(NvBufSurface **surf, uint32_t batchSize, NvBufSurfaceCreateParams *params)
try {
  if (!surf || !params || batchSize == 0)
    return -1;
  auto owned = make_surface(batchSize, *params);
  if (!owned)
    return -1;
  *surf = &owned.release()->surface;
  return 0;
} catch (const std::bad_alloc &) {
  return -1;
}

int NvBufSurfaceDestroy(NvBufSurface *surf)
{
  const std::unique_ptr<Owned> owned(reinterpret_cast<Owned *>(surf));
  return owned ? 0 : -1;
}

// All planes lie in one mapping; each is mapped by its own call.
int NvBufSurfaceMap(NvBufSurface *surf, int index, int plane, NvBufSurfaceMemMapFlags)
{
  NvBufSurfaceParams *params = surface_at(surf, index);
  if (!params || plane < 0 || static_cast<std::uint32_t>(plane) >= params->planeParams.num_planes)
    return -1;
  void *start =
      ::mmap(nullptr, params->planeParams.psize[plane], PROT_READ | PROT_WRITE, MAP_SHARED,
             static_cast<int>(params->bufferDesc), params->planeParams.offset[plane]);
  if (start == MAP_FAILED)
    return -1;
  params->mappedAddr.addr[plane] = start;
  return cpu_access(*params, DMA_BUF_SYNC_START);
}

int NvBufSurfaceUnMap(NvBufSurface *surf, int index, int plane)
{
  NvBufSurfaceParams *params = surface_at(surf, index);
  if (!params || plane < 0 || plane >= NVBUF_MAX_PLANES || !params->mappedAddr.addr[plane])
    return -1;
  const int unmapped = ::munmap(params->mappedAddr.addr[plane], params->planeParams.psize[plane]);
  params->mappedAddr.addr[plane] = nullptr;
  return unmapped;
}

int NvBufSurfaceSyncForDevice(NvBufSurface *surf, int index, int)
{
  const NvBufSurfaceParams *params = surface_at(surf, index);
  return params ? cpu_access(*params, DMA_BUF_SYNC_END) : -1;
}
