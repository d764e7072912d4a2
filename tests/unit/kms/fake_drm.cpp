// SPDX-License-Identifier: LGPL-2.1-or-later
// The fake libdrm: the descriptor, memory and framebuffers of the device.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include <drm_fourcc.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xf86drm.h>
#include <xf86drmMode.h>

#include "fake_drm_internal.hpp"

using namespace gstdrm::test;
using namespace gstdrm::test::fakedrm;

namespace {

// A thread that lets go of a display, which nobody waits for, may still look at the device of the
// case before.
std::vector<std::unique_ptr<fakedrm::Device>> devices;
std::atomic<fakedrm::Device *> current{nullptr};
int event_source = -1;                   // the kernel's end of the descriptor
int memory = -1;                         // what dumb buffers are mapped from
constexpr off_t kBufferBytes = 64 << 20; // of each, sparse
off_t memory_bytes = 0;
off_t place_of(std::uint32_t handle)
{
  return kBufferBytes * static_cast<off_t>(handle);
}
std::vector<Event> events, held_events;
std::uint32_t next_id = 1000;
std::uint32_t sequence = 0;

} // namespace

bool fakedrm::fails(const char *name)
{
  Device &d = device();
  d.calls++;
  if (d.calls != d.fail_at && d.fail_call != name)
    return false;
  d.failed_call = name;
  errno = d.error;
  return true;
}

fakedrm::Device &fakedrm::device()
{
  return *current.load();
}

// The other end hangs up with the last copy of the descriptor (af_unix.c, unix_release_sock()).
bool fakedrm::await_closed()
{
  constexpr int kLimit_ms = 10000;
  pollfd end{event_source, 0, 0};
  int ready = 0;
  do
    ready = poll(&end, 1, kLimit_ms);
  while (ready < 0 && errno == EINTR);
  return ready > 0 && (end.revents & POLLHUP) != 0;
}

// What a display that is still open closes from now on would count as closed twice: the objects are
// those of the device before.
int fakedrm::plug()
{
  if (event_source >= 0 && !await_closed())
    std::fprintf(stderr, "the fake device of before is still open\n");
  current = devices.emplace_back(std::make_unique<Device>()).get();
  events.clear();
  held_events.clear();
  if (event_source >= 0)
    close(event_source);
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    std::abort();
  event_source = ends[1];
  if (memory < 0)
    memory = memfd_create("dumb buffers", MFD_CLOEXEC);
  memory_bytes = 0;
  if (memory < 0 || ftruncate(memory, 0) != 0)
    std::abort();
  return ends[0];
}

void fakedrm::send_foreign_event()
{
  if (write(event_source, "f", 1) != 1)
    std::abort();
}

void fakedrm::send_event(Event event)
{
  events.push_back(event);
  if (write(event_source, "e", 1) != 1)
    std::abort();
}

void fakedrm::hold_event(Event event)
{
  held_events.push_back(event);
}

void fakedrm::send_held_events()
{
  const Guard guard(device().lock);
  for (const Event &event : held_events)
    send_event(event);
  held_events.clear();
}

int fakedrm::alive()
{
  const Device &d = device();
  return d.versions + d.resources + d.requests + static_cast<int>(d.handles.size()) +
         static_cast<int>(d.framebuffers.size()) + static_cast<int>(d.blobs.size());
}

// --- xf86drm.h

int drmSetClientCap(int, std::uint64_t capability, std::uint64_t)
{
  const Guard guard(device().lock);
  device().client_caps.insert(capability);
  return fails("drmSetClientCap") ? -1 : 0;
}

int drmGetCap(int, std::uint64_t capability, std::uint64_t *value)
{
  const Guard guard(device().lock);
  if (fails("drmGetCap"))
    return -1;
  switch (capability) {
  case DRM_CAP_PRIME:
    *value = DRM_PRIME_CAP_IMPORT | DRM_PRIME_CAP_EXPORT;
    break;
  case DRM_CAP_CURSOR_WIDTH:
  case DRM_CAP_CURSOR_HEIGHT:
    *value = device().model ? device().model->cursor : 64;
    break;
  case 0x15: // DRM_CAP_ATOMIC_ASYNC_PAGE_FLIP
    *value = device().model ? device().model->async : device().asynchronous;
    break;
  default:
    *value = device().model ? device().model->modifiers : device().modifiers;
  }
  return 0;
}

int drmIsMaster(int)
{
  const Guard guard(device().lock);
  device().master_questions++;
  return device().master;
}

int drmCrtcGetSequence(int, std::uint32_t crtc, std::uint64_t *vblank, std::uint64_t *ns)
{
  const Guard guard(device().lock);
  device().vblank_questions++;
  if (fails("drmCrtcGetSequence"))
    return -1;
  errno = device().vblank_ns == 0 ? EOPNOTSUPP : crtc != kCrtc && crtc != kOtherCrtc ? ENOENT : 0;
  *vblank = 1;
  *ns = device().vblank_ns;
  return errno == 0 ? 0 : -1;
}

int drmDropMaster(int)
{
  return 0;
}

// Where memory can be mapped, unlike the descriptor of the events.
char *drmGetDeviceNameFromFd2(int)
{
  const Guard guard(device().lock);
  return device().opens_again ? strdup(("/proc/self/fd/" + std::to_string(memory)).c_str())
                              : nullptr;
}

int drmSetMaster(int)
{
  errno = EBUSY;
  return -1;
}

int drmSetInterfaceVersion(int, drmSetVersion *)
{
  return 0;
}

char *drmGetBusid(int)
{
  return strdup("fake:0");
}

void drmFreeBusid(const char *id)
{
  std::free(const_cast<char *>(id));
}

int drmGetMagic(int fd, drm_magic_t *magic)
{
  *magic = static_cast<drm_magic_t>(fd) + 1;
  return 0;
}

int drmAuthMagic(int, drm_magic_t magic)
{
  const Guard guard(device().lock);
  if (!device().master)
    return -EACCES;
  device().authenticated.insert(static_cast<int>(magic) - 1);
  return 0;
}

int drmPrimeFDToHandle(int drm_fd, int fd, std::uint32_t *handle)
{
  const Guard guard(device().lock);
  if (device().imports_need_magic && !device().authenticated.count(drm_fd)) {
    errno = EACCES;
    return -1;
  }
  device().memory_fds.insert(drm_fd);
  if (fails("drmPrimeFDToHandle"))
    return -1;
  struct stat status {};
  if (fstat(fd, &status) != 0)
    return -1;
  const std::pair<std::uint64_t, std::uint64_t> key(status.st_dev, status.st_ino);
  if (const auto it = device().imported.find(key); it != device().imported.end()) {
    device().handles[it->second]++; // the kernel gives the same handle again
    *handle = it->second;
    return 0;
  }
  *handle = next_id++;
  device().imported[key] = *handle;
  device().handles[*handle] = 1;
  return 0;
}

namespace {

int close_handle(std::uint32_t handle)
{
  Device &d = device();
  if (!d.handles.erase(handle)) {
    d.double_closes++;
    errno = EINVAL;
    return -1;
  }
  std::erase_if(d.imported, [handle](const auto &entry) { return entry.second == handle; });
  return 0;
}

} // namespace

int drmCloseBufferHandle(int, std::uint32_t handle)
{
  const Guard guard(device().lock);
  return close_handle(handle);
}

int drmHandleEvent(int fd, drmEventContextPtr context)
{
  char byte = 0;
  if (read(fd, &byte, 1) != 1)
    return -1;
  std::unique_lock guard(device().lock);
  if (events.empty())
    return 0;
  const Event event = events.front();
  events.erase(events.begin());
  device().in_flight = false;
  const std::uint32_t at = ++sequence;
  guard.unlock();
  context->page_flip_handler2(fd, at, at / 60, at % 60 * 16667, kCrtc,
                              reinterpret_cast<void *>(static_cast<std::uintptr_t>(event.serial)));
  return 0;
}

// --- xf86drmMode.h

int drmModeCreateDumbBuffer(int, std::uint32_t width, std::uint32_t height,
                            std::uint32_t bits_per_pixel, std::uint32_t, std::uint32_t *handle,
                            std::uint32_t *stride, std::uint64_t *size)
{
  const Guard guard(device().lock);
  if (fails("drmModeCreateDumbBuffer"))
    return -device().error;
  *handle = next_id++;
  *stride = width * bits_per_pixel / 8;
  if (const auto &model = device().model) // as its driver makes them
    for (const std::uint32_t step : {model->row_pixels * bits_per_pixel / 8, model->pitch})
      *stride = (*stride + step - 1) / step * step;
  *size = std::uint64_t{*stride} * height;
  device().handles[*handle] = 1;
  return 0;
}

int drmModeDestroyDumbBuffer(int, std::uint32_t handle)
{
  const Guard guard(device().lock);
  if (place_of(handle) < memory_bytes) // its memory is free
    (void)fallocate(memory, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, place_of(handle),
                    kBufferBytes);
  return close_handle(handle) == 0 ? 0 : -EINVAL;
}

// Its place in the memory.
int drmModeMapDumbBuffer(int, std::uint32_t handle, std::uint64_t *offset)
{
  const Guard guard(device().lock);
  if (fails("drmModeMapDumbBuffer"))
    return -device().error;
  memory_bytes = std::max(memory_bytes, place_of(handle + 1));
  if (ftruncate(memory, memory_bytes) != 0)
    std::abort();
  *offset = static_cast<std::uint64_t>(place_of(handle));
  return 0;
}

std::vector<std::uint32_t> fakedrm::pixels_of(std::uint32_t framebuffer)
{
  const Guard guard(device().lock);
  const auto [width, height] = device().sizes.at(framebuffer);
  std::vector<std::uint32_t> pixels(std::size_t{width} * height);
  const auto bytes = static_cast<ssize_t>(pixels.size() * 4);
  if (pread(memory, pixels.data(), pixels.size() * 4,
            place_of(device().framebuffers.at(framebuffer))) != bytes)
    std::abort();
  return pixels;
}

int drmModeCreatePropertyBlob(int, const void *data, std::size_t size, std::uint32_t *id)
{
  const Guard guard(device().lock);
  if (fails("drmModeCreatePropertyBlob"))
    return -device().error;
  *id = next_id++;
  const auto *bytes = static_cast<const std::uint8_t *>(data);
  device().blobs[*id].assign(bytes, bytes + size);
  device().old_blobs[*id] = device().blobs[*id];
  return 0;
}

int drmModeDestroyPropertyBlob(int, std::uint32_t id)
{
  const Guard guard(device().lock);
  if (!device().blobs.erase(id))
    device().double_closes++;
  return 0;
}

int drmModeAddFB2WithModifiers(int, std::uint32_t width, std::uint32_t height, std::uint32_t fourcc,
                               const std::uint32_t handles[4], const std::uint32_t strides[4],
                               const std::uint32_t offsets[4], const std::uint64_t modifiers[4],
                               std::uint32_t *id, std::uint32_t flags)
{
  const Guard guard(device().lock);
  if (fails("drmModeAddFB2WithModifiers"))
    return -device().error;
  if (!device().handles.count(handles[0]))
    return -ENOENT;
  const std::uint64_t modifier = modifiers ? modifiers[0] : std::uint64_t{DRM_FORMAT_MOD_LINEAR};
  for (int i = 0; device().model && i < 4 && handles[i] != 0; i++)
    if (!device().model->why_no_framebuffer(fourcc, modifier, strides[i]).empty())
      return -EINVAL;
  device().plane_modifiers.clear();
  for (int i = 0; modifiers && i < 4 && handles[i] != 0; i++)
    device().plane_modifiers.push_back(modifiers[i]);
  device().framebuffer_flags = flags;
  device().all_framebuffer_flags |= flags;
  device().plane_bytes.clear();
  for (int i = 0; i < 4 && handles[i] != 0; i++)
    device().plane_bytes.emplace_back(offsets[i], strides[i]);
  *id = next_id++;
  device().framebuffers[*id] = handles[0];
  device().fourccs[*id] = fourcc;
  device().sizes[*id] = {width, height};
  device().modifiers_of[*id] = modifier;
  device().pitches[*id] = strides[0];
  return 0;
}

// As for root: with a handle, which is new.
drmModeFB2Ptr drmModeGetFB2(int, std::uint32_t id)
{
  const Guard guard(device().lock);
  Device &d = device();
  if (!d.framebuffers.count(id) && !d.foreign_framebuffers.count(id)) {
    errno = ENOENT;
    return nullptr;
  }
  auto *framebuffer = allocate<drmModeFB2>(d.resources);
  framebuffer->fb_id = id;
  framebuffer->width = d.sizes[id].first;
  framebuffer->height = d.sizes[id].second;
  framebuffer->pixel_format = d.fourccs[id];
  framebuffer->flags = DRM_MODE_FB_MODIFIERS;
  framebuffer->modifier = d.modifiers_of[id];
  framebuffer->pitches[0] = d.pitches[id];
  framebuffer->handles[0] = framebuffer->handles[1] = next_id++;
  d.handles[framebuffer->handles[0]] = 1;
  return framebuffer;
}

void drmModeFreeFB2(drmModeFB2Ptr framebuffer)
{
  if (!framebuffer)
    return;
  const Guard guard(device().lock);
  release(device().resources, framebuffer);
}

// CLOSEFB
int drmIoctl(int, unsigned long request, void *argument)
{
  const Guard guard(device().lock);
  const std::uint32_t id = *static_cast<const std::uint32_t *>(argument);
  if ((request & 0xff) != 0xd0 || !device().closes_framebuffers) {
    errno = EINVAL;
    return -1;
  }
  if (!device().framebuffers.erase(id)) {
    errno = ENOENT;
    return -1;
  }
  device().left.push_back(id);
  return 0;
}

int drmModeRmFB(int, std::uint32_t id)
{
  const Guard guard(device().lock);
  if (!device().framebuffers.erase(id))
    device().double_closes++;
  return 0;
}
