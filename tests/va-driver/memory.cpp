// SPDX-License-Identifier: LGPL-2.1-or-later
#include "memory.hpp"

#include <cerrno>
#include <fcntl.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace gstdrm::test::vadriver {
namespace {

constexpr std::size_t kPage = 4096;

UniqueFd make_memfd(std::size_t size_bytes)
{
  UniqueFd memfd(::memfd_create("gst-drm-va-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memfd || ::ftruncate(memfd.get(), static_cast<off_t>(size_bytes)) != 0)
    return {};
  return memfd;
}

UniqueFd make_udmabuf(std::size_t size_bytes)
{
  UniqueFd device(::open("/dev/udmabuf", O_RDWR | O_CLOEXEC));
  UniqueFd memfd = make_memfd(size_bytes);
  // linux/udmabuf.h: the memfd must not be able to shrink
  if (!device || !memfd || ::fcntl(memfd.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0)
    return {};
  udmabuf_create create{};
  create.memfd = static_cast<__u32>(memfd.get());
  create.flags = UDMABUF_FLAGS_CLOEXEC;
  create.size = size_bytes;
  return UniqueFd(::ioctl(device.get(), UDMABUF_CREATE, &create));
}

UniqueFd make_heap_buffer(std::size_t size_bytes)
{
  UniqueFd heap(::open("/dev/dma_heap/system", O_RDONLY | O_CLOEXEC));
  dma_heap_allocation_data data{};
  data.len = size_bytes;
  data.fd_flags = O_RDWR | O_CLOEXEC;
  if (!heap || ::ioctl(heap.get(), DMA_HEAP_IOCTL_ALLOC, &data) != 0)
    return {};
  return UniqueFd(static_cast<int>(data.fd));
}

UniqueFd make_buffer(Memory memory, std::size_t size_bytes)
{
  UniqueFd fd;
  if (memory == Memory::Auto || memory == Memory::Udmabuf)
    fd = make_udmabuf(size_bytes);
  if (!fd && (memory == Memory::Auto || memory == Memory::DmaHeap))
    fd = make_heap_buffer(size_bytes);
  if (!fd && (memory == Memory::Auto || memory == Memory::Memfd))
    fd = make_memfd(size_bytes);
  return fd;
}

} // namespace

std::optional<Mapping> Mapping::map(int fd, std::size_t size_bytes)
{
  void *data = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  // A camera of PipeWire's has descriptors to read from alone; a GPU imports them all the same.
  if (data == MAP_FAILED && errno == EACCES)
    data = ::mmap(nullptr, size_bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED)
    return std::nullopt;
  Mapping mapping;
  mapping.data_ = static_cast<std::uint8_t *>(data);
  mapping.size_ = size_bytes;
  return mapping;
}

Mapping::~Mapping()
{
  if (data_)
    ::munmap(data_, size_);
}

std::optional<Object> allocate_object(Memory memory, std::size_t size_bytes)
{
  size_bytes = (size_bytes + kPage - 1) / kPage * kPage;
  UniqueFd fd = make_buffer(memory, size_bytes);
  if (!fd)
    return std::nullopt;
  auto mapping = Mapping::map(fd.get(), size_bytes);
  if (!mapping)
    return std::nullopt;
  return Object{std::move(fd), std::move(*mapping)};
}

std::optional<Object> import_object(int fd)
{
  UniqueFd copy = UniqueFd::dup(fd);
  const off_t size = copy ? ::lseek(copy.get(), 0, SEEK_END) : -1;
  if (size <= 0)
    return std::nullopt;
  auto mapping = Mapping::map(copy.get(), static_cast<std::size_t>(size));
  if (!mapping)
    return std::nullopt;
  return Object{std::move(copy), std::move(*mapping)};
}

} // namespace gstdrm::test::vadriver
