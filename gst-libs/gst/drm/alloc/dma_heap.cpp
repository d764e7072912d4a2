// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <vector>

#include <fcntl.h>
#include <linux/dma-heap.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "../core/log.hpp"
#include "byte_allocators.hpp"

namespace gstdrm {

namespace {

constexpr const char *kDirectory = "/dev/dma_heap";
constexpr const char *kDefaultHeap = "system";

// Names of this machine's heaps: the default heap first, then the others in alphabetical order.
std::vector<std::string> list_heaps()
{
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator it(kDirectory, error), end; !error && it != end;
       it.increment(error))
    names.push_back(it->path().filename().string());
  std::sort(names.begin(), names.end(), [](const std::string &a, const std::string &b) {
    return std::pair(a != kDefaultHeap, a) < std::pair(b != kDefaultHeap, b);
  });
  return names;
}

std::string join(const std::vector<std::string> &names)
{
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

Error open_error(const std::string &path, int sys_errno)
{
  std::string text = "Cannot open the dma-heap " + path + ": " + errno_text(sys_errno);
  if (sys_errno == ENOENT)
    text += "; heaps here: " + join(list_heaps());
  else if (sys_errno == EACCES || sys_errno == EPERM)
    text += "; give this user access to it (often the group video), or use another allocator";
  return Error{ErrorCode::Device, text, sys_errno};
}

Result<UniqueFd> open_heap(const std::string &name)
{
  if (name.find('/') != std::string::npos || name == "." || name == "..")
    return Error{ErrorCode::Device,
                 "\"" + name + "\" is no name of a dma-heap; heaps here: " + join(list_heaps())};
  const std::string path = std::string(kDirectory) + "/" + name;
  struct stat st = {};
  if (::stat(path.c_str(), &st) != 0)
    return open_error(path, errno);
  if (!S_ISCHR(st.st_mode))
    return open_error(path, ENODEV);
  UniqueFd device(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!device)
    return open_error(path, errno);
  return device;
}

// The name of a heap that is given by its name ("system") or by its path ("/dev/dma_heap/system").
std::string heap_name(const std::string &heap)
{
  const std::string prefix = std::string(kDirectory) + "/";
  return heap.starts_with(prefix) ? heap.substr(prefix.size()) : heap;
}

} // namespace

DmaHeapAllocator::DmaHeapAllocator(std::string heap, UniqueFd device)
    : ByteAllocator("dma-heap", std::move(heap)), device_(std::move(device))
{
}

Result<std::unique_ptr<FrameAllocator>> DmaHeapAllocator::open(const std::string &heap)
{
  std::vector<std::string> names;
  if (heap.empty())
    names = list_heaps();
  else
    names.push_back(heap_name(heap));
  if (names.empty())
    return Error{ErrorCode::Device, std::string("There is no dma-heap here (nothing in ") +
                                        kDirectory +
                                        "); the kernel needs CONFIG_DMABUF_HEAPS_SYSTEM"};
  std::optional<Error> first_error;
  for (const std::string &name : names) {
    auto device = open_heap(name);
    if (!device) {
      GSTDRM_DEBUG("%s", device.error().message.c_str());
      first_error = first_error.value_or(device.error());
      continue;
    }
    std::unique_ptr<FrameAllocator> allocator(
        new DmaHeapAllocator(name, std::move(device).value()));
    auto probe = allocator->allocate_bytes(1);
    if (probe)
      return allocator;
    GSTDRM_DEBUG("%s", probe.error().message.c_str());
    first_error = first_error.value_or(probe.error());
  }
  return *first_error;
}

Result<FrameObject> DmaHeapAllocator::allocate_bytes(std::uint64_t size_bytes)
{
  const std::uint64_t size = round_to_pages(size_bytes);
  struct dma_heap_allocation_data data = {};
  data.len = size;
  data.fd_flags = O_RDWR | O_CLOEXEC; // O_RDWR: so that it can be mapped for writing
  int ret = 0;
  do {
    ret = ::ioctl(device_.get(), DMA_HEAP_IOCTL_ALLOC, &data);
  } while (ret != 0 && errno == EINTR);
  if (ret != 0) {
    const int sys_errno = errno;
    return Error{
        ErrorCode::Allocation,
        "The dma-heap " + device() + " refused " + std::to_string(size) +
            " bytes: " + errno_text(sys_errno) +
            (sys_errno == ENOMEM ? "; it is out of memory (a CMA heap: out of its area)" : ""),
        sys_errno};
  }
  return FrameObject{UniqueFd(static_cast<int>(data.fd)), size};
}

} // namespace gstdrm
