// SPDX-License-Identifier: LGPL-2.1-or-later
#include "npu_support.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>

#include <drm_fourcc.h>
#include <fcntl.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <gst/drm/core/poll_wait.hpp>

#include "engine/backend.hpp"
#include "support/check_main.hpp"
#include "support/frames.hpp"

namespace gstdrm::test {

namespace {

constexpr const char *kModule = "axl_npu";
constexpr const char *kCountdowns[] = {"fail_nth", "lose_nth", "hang_nth", "missing_irq_nth"};
constexpr const char *kSwitches[] = {"short_result", "busy"};

std::size_t open_files = 0; // when the test began

void write_file(const std::string &path, const std::string &text)
{
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  fail_unless(static_cast<bool>(file), "%s: %s", path.c_str(), strerror(errno));
  fail_unless_equals_int(write(file.get(), text.data(), text.size()),
                         static_cast<int>(text.size()));
}

UniqueFd heap_memory(std::uint64_t size_bytes)
{
  const UniqueFd heap(open("/dev/dma_heap/system", O_RDWR | O_CLOEXEC));
  dma_heap_allocation_data data = {};
  data.len = size_bytes;
  data.fd_flags = O_RDWR | O_CLOEXEC;
  fail_unless_equals_int(ioctl(heap.get(), DMA_HEAP_IOCTL_ALLOC, &data), 0);
  return UniqueFd(static_cast<int>(data.fd));
}

UniqueFd udmabuf_memory(std::uint64_t size_bytes)
{
  const UniqueFd memory(memfd_create("npu", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  fail_unless_equals_int(ftruncate(memory.get(), static_cast<off_t>(size_bytes)), 0);
  fail_unless_equals_int(fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  const UniqueFd device(open("/dev/udmabuf", O_RDWR | O_CLOEXEC));
  udmabuf_create create = {};
  create.memfd = static_cast<__u32>(memory.get());
  create.flags = UDMABUF_FLAGS_CLOEXEC;
  create.size = size_bytes;
  UniqueFd dmabuf(ioctl(device.get(), UDMABUF_CREATE, &create));
  fail_unless(static_cast<bool>(dmabuf), "UDMABUF_CREATE: %s", strerror(errno));
  return dmabuf;
}

std::uint64_t round_to_pages(std::uint64_t bytes)
{
  return (bytes + 4095) / 4096 * 4096;
}

} // namespace

void Npu::load(const char *parameters)
{
  const char *path = g_getenv("GST_DRM_BOX_MODULE");
  fail_unless(path != nullptr, "run this with ./run box --module npu");
  const UniqueFd module(open(path, O_RDONLY | O_CLOEXEC));
  fail_unless(static_cast<bool>(module), "%s: %s", path, strerror(errno));
  if (syscall(SYS_finit_module, module.get(), parameters, 0) != 0)
    fail_unless_equals_int(errno, EEXIST);
}

int Npu::unload()
{
  return syscall(SYS_delete_module, kModule, O_NONBLOCK) == 0 ? 0 : errno;
}

void Npu::reset()
{
  load();
  for (const char *name : kCountdowns)
    set(name, 0);
  for (const char *name : kSwitches)
    set(name, 0);
  set("latency_us", 1000);
  set_lost(false);
}

void Npu::set(const std::string &parameter, unsigned value)
{
  write_file("/sys/module/axl_npu/parameters/" + parameter, std::to_string(value));
}

void Npu::expect(const std::string &what, std::uint64_t number)
{
  for (int i = 0; i < 100 && count(what) != number; i++)
    g_usleep(10000);
  fail_unless_equals_uint64(count(what), number);
}

std::uint64_t Npu::count(const std::string &what, const char *device)
{
  const std::string path = std::string("/sys/kernel/debug/axl/") + device + "/" + what;
  std::ifstream file(path);
  std::uint64_t number = 0;
  fail_unless(static_cast<bool>(file >> number), "%s", path.c_str());
  return number;
}

void Npu::set_lost(bool lost)
{
  write_file("/sys/kernel/debug/axl/metis-0:1:0/lost", lost ? "1" : "0");
}

DmaBytes::DmaBytes(From from, std::uint64_t size_bytes) : size_bytes_(round_to_pages(size_bytes))
{
  fd_ = from == From::Heap ? heap_memory(size_bytes_) : udmabuf_memory(size_bytes_);
  void *mapped =
      mmap(nullptr, size_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_.get(), 0);
  fail_unless(mapped != MAP_FAILED, "mmap: %s", strerror(errno));
  bytes_ = static_cast<std::uint8_t *>(mapped);
}

DmaBytes::~DmaBytes()
{
  unmap();
}

void DmaBytes::unmap()
{
  if (bytes_)
    munmap(bytes_, size_bytes_);
  bytes_ = nullptr;
}

NpuFrame::NpuFrame(DmaBytes::From from, std::uint32_t width, std::uint32_t height,
                   std::uint32_t stride_align)
{
  std::uint64_t size_bytes = 0;
  auto made =
      make_linear_layout(DRM_FORMAT_NV12, width, height, stride_align, stride_align, size_bytes);
  fail_unless(static_cast<bool>(made));
  layout = *made;
  memory = std::make_unique<DmaBytes>(from, size_bytes);
  const auto object = query_object(memory->fd());
  fail_unless(static_cast<bool>(object));
  for (std::size_t i = 0; i < layout.n_planes; i++) {
    layout.planes[i].fd = memory->fd();
    layout.planes[i].object = *object;
  }
}

void NpuFrame::fill(std::uint32_t seed)
{
  std::uint32_t state = seed * 2654435761U + 1;
  for (std::uint64_t i = 0; i + 4 <= memory->size_bytes(); i += 4) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    std::memcpy(memory->bytes() + i, &state, 4);
  }
}

void npu_setup()
{
  Npu::reset();
  open_files = count_fds();
}

void npu_teardown()
{
  for (const char *what : {"in_flight", "imports", "results"})
    Npu::expect(what, 0);
  fail_unless_equals_int(count_fds(), open_files);
}

metis::BackendOptions npu_options(const std::string &device)
{
  metis::BackendOptions options;
  options.device = device;
  options.model.name = "check";
  options.model.device_id = kCheckModel;
  return options;
}

std::unique_ptr<metis::Backend> open_npu(const metis::BackendOptions &options)
{
  auto backend = metis::open_axl(options);
  fail_unless(static_cast<bool>(backend), "%s", backend ? "" : backend.error().message.c_str());
  return std::move(*backend);
}

Result<metis::Submitted> try_submit(metis::Backend &backend, const NpuFrame &frame,
                                    const DmaBytes &result)
{
  metis::Request request;
  request.frame = &frame.layout;
  const metis::TensorView output{result.fd(), nullptr, result.size_bytes()};
  request.outputs = {&output, 1};
  return backend.submit(request);
}

metis::Submitted submit(metis::Backend &backend, const NpuFrame &frame, const DmaBytes &result)
{
  auto submitted = try_submit(backend, frame, result);
  fail_unless(static_cast<bool>(submitted), "%s",
              submitted ? "" : submitted.error().message.c_str());
  return std::move(*submitted);
}

Result<metis::Finished> finish(metis::Backend &backend, const metis::Submitted &submitted)
{
  const auto end = poll_readable(submitted.done, deadline_after(std::chrono::seconds(10)));
  fail_unless(end.end == PollEnd::Ready, "the fence of request %u has not signalled",
              static_cast<unsigned>(submitted.id));
  return backend.finish(submitted.id);
}

metis::Finished finish_well(metis::Backend &backend, const metis::Submitted &submitted)
{
  const auto finished = finish(backend, submitted);
  fail_unless(static_cast<bool>(finished), "%s", finished ? "" : finished.error().message.c_str());
  return *finished;
}

NpuResult result_of(const DmaBytes &memory)
{
  NpuResult result;
  std::memcpy(result.data(), memory.bytes(), result.size());
  return result;
}

} // namespace gstdrm::test
