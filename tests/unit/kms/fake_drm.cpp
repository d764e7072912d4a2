// SPDX-License-Identifier: LGPL-2.1-or-later
// The fake libdrm: what changes the device, from its descriptor to commits.
#include "fake_drm_internal.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <drm_fourcc.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xf86drm.h>
#include <xf86drmMode.h>

using namespace gstdrm::test;
using namespace gstdrm::test::fakedrm;

struct _drmModeAtomicReq {
  std::vector<std::array<std::uint64_t, 3>> entries;
};

namespace {

std::unique_ptr<fakedrm::Device> current;
int event_source = -1; // the kernel's end of the descriptor
int memory = -1;       // what dumb buffers are mapped from
constexpr off_t kBufferBytes = 64 << 20; // of each, sparse
off_t memory_bytes = 0;
off_t place_of(std::uint32_t handle)
{
  return kBufferBytes * static_cast<off_t>(handle);
}
struct Event {
  std::uint64_t serial;
};
std::vector<Event> events;
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
  return *current;
}

int fakedrm::plug()
{
  current = std::make_unique<Device>();
  events.clear();
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

int fakedrm::alive()
{
  const Device &d = device();
  return d.versions + d.resources + d.requests + static_cast<int>(d.handles.size()) +
         static_cast<int>(d.framebuffers.size()) + static_cast<int>(d.blobs.size());
}

// --- xf86drm.h

drmVersionPtr drmGetVersion(int)
{
  const Guard guard(device().lock);
  if (fails("drmGetVersion"))
    return nullptr;
  auto *version = allocate<drmVersion>(device().versions);
  version->name = strdup("fake");
  version->name_len = 4;
  return version;
}

void drmFreeVersion(drmVersionPtr version)
{
  if (!version)
    return;
  const Guard guard(device().lock);
  release(device().versions, version->name, version);
}

int drmSetClientCap(int, std::uint64_t, std::uint64_t)
{
  const Guard guard(device().lock);
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
    *value = 64;
    break;
  default:
    *value = device().modifiers;
  }
  return 0;
}

int drmIsMaster(int)
{
  const Guard guard(device().lock);
  return device().master;
}

int drmDropMaster(int)
{
  return 0;
}

// Where memory can be mapped, unlike the descriptor of the events.
char *drmGetDeviceNameFromFd2(int)
{
  const Guard guard(device().lock);
  return device().opens_again ? strdup(("/proc/self/fd/" + std::to_string(memory)).c_str()) : nullptr;
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

int drmPrimeFDToHandle(int drm_fd, int fd, std::uint32_t *handle)
{
  const Guard guard(device().lock);
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
  const std::uint32_t at = ++sequence;
  guard.unlock();
  context->page_flip_handler2(fd, at, at / 60, at % 60 * 16667, kCrtc,
                              reinterpret_cast<void *>(static_cast<std::uintptr_t>(event.serial)));
  return 0;
}

// --- xf86drmMode.h

int drmModeCreateDumbBuffer(int, std::uint32_t width, std::uint32_t height, std::uint32_t bits_per_pixel,
                            std::uint32_t, std::uint32_t *handle, std::uint32_t *stride, std::uint64_t *size)
{
  const Guard guard(device().lock);
  if (fails("drmModeCreateDumbBuffer"))
    return -device().error;
  *handle = next_id++;
  *stride = width * bits_per_pixel / 8;
  *size = std::uint64_t{*stride} * height;
  device().handles[*handle] = 1;
  return 0;
}

int drmModeDestroyDumbBuffer(int, std::uint32_t handle)
{
  const Guard guard(device().lock);
  if (place_of(handle) < memory_bytes) // its memory is free
    (void)fallocate(memory, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, place_of(handle), kBufferBytes);
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
  if (pread(memory, pixels.data(), pixels.size() * 4, place_of(device().framebuffers.at(framebuffer))) != bytes)
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
  return 0;
}

int drmModeRmFB(int, std::uint32_t id)
{
  const Guard guard(device().lock);
  if (!device().framebuffers.erase(id))
    device().double_closes++;
  return 0;
}

drmModeAtomicReqPtr drmModeAtomicAlloc()
{
  const Guard guard(device().lock);
  if (fails("drmModeAtomicAlloc"))
    return nullptr;
  device().requests++;
  return new _drmModeAtomicReq;
}

void drmModeAtomicFree(drmModeAtomicReqPtr request)
{
  if (!request)
    return;
  const Guard guard(device().lock);
  device().requests--;
  delete request;
}

int drmModeAtomicAddProperty(drmModeAtomicReqPtr request, std::uint32_t object, std::uint32_t id,
                             std::uint64_t value)
{
  const Guard guard(device().lock);
  if (fails("drmModeAtomicAddProperty"))
    return -device().error;
  request->entries.push_back({object, id, value});
  return static_cast<int>(request->entries.size());
}

namespace {

Commit read_request(const _drmModeAtomicReq &request, std::uint32_t flags)
{
  Commit commit{flags, {}};
  for (const auto &[object, id, value] : request.entries)
    commit.values[{static_cast<std::uint32_t>(object), property(static_cast<std::uint32_t>(id))->name}] = value;
  return commit;
}

std::uint64_t value_of(const Commit &commit, std::uint32_t object, const char *name)
{
  const auto it = commit.values.find({object, name});
  return it == commit.values.end() ? 0 : it->second;
}

bool is_scaled(const Commit &commit, std::uint32_t plane)
{
  std::uint64_t width = value_of(commit, plane, "CRTC_W"), height = value_of(commit, plane, "CRTC_H");
  if (value_of(commit, plane, "rotation") & (DRM_MODE_ROTATE_90 | DRM_MODE_ROTATE_270))
    std::swap(width, height);
  return value_of(commit, plane, "SRC_W") >> 16 != width || value_of(commit, plane, "SRC_H") >> 16 != height;
}

// What this device's driver refuses.
int check(const Commit &commit)
{
  const Device &d = device();
  if (!d.takes_writeback && value_of(commit, kWriteback, "CRTC_ID"))
    return -EINVAL;
  if (!d.primary_centres && value_of(commit, kPrimary, "CRTC_W") &&
      (value_of(commit, kPrimary, "CRTC_X") || value_of(commit, kPrimary, "CRTC_Y")))
    return -EINVAL;
  const bool on = !commit.values.count({kCrtc, "ACTIVE"}) || value_of(commit, kCrtc, "ACTIVE") != 0;
  if (d.needs_primary && on && commit.values.count({kPrimary, "FB_ID"}) && value_of(commit, kPrimary, "FB_ID") == 0)
    return -EINVAL;
  if (d.hdr_needs_mode_set && !(commit.flags & DRM_MODE_ATOMIC_ALLOW_MODESET) &&
      commit.values.count({kConnector, "HDR_OUTPUT_METADATA"}))
    return -EINVAL;
  for (const std::uint32_t plane : {kPrimary, kOverlay})
    if (d.fixed_zpos && commit.values.count({plane, "zpos"}))
      return -EINVAL;
  for (const std::uint32_t plane : {kPrimary, kOverlay})
    if (!d.scales && is_scaled(commit, plane))
      return -ERANGE;
  for (const std::uint32_t plane : {kPrimary, kOverlay})
    if (const auto fb = static_cast<std::uint32_t>(value_of(commit, plane, "FB_ID"))) {
      if (!d.framebuffers.count(fb))
        return -ENOENT;
      if (d.refused_fourcc && d.fourccs.at(fb) == d.refused_fourcc)
        return -EINVAL;
    }
  return 0;
}

} // namespace

int drmModeAtomicCommit(int, drmModeAtomicReqPtr request, std::uint32_t flags, void *user_data)
{
  const Guard guard(device().lock);
  Device &d = device();
  if (fails("drmModeAtomicCommit"))
    return -d.error;
  if ((flags & DRM_MODE_ATOMIC_NONBLOCK) && d.busy_commits > 0) {
    d.busy_commits--;
    return -EBUSY;
  }
  const Commit commit = read_request(*request, flags);
  if (const int ret = check(commit); ret != 0 || (flags & DRM_MODE_ATOMIC_TEST_ONLY))
    return ret;
  d.commits.push_back(commit);
  if (const std::uint64_t fence = value_of(commit, kWriteback, "WRITEBACK_OUT_FENCE_PTR"))
    *reinterpret_cast<std::int32_t *>(static_cast<std::uintptr_t>(fence)) =
        open("/dev/null", O_RDONLY | O_CLOEXEC);
  if ((flags & DRM_MODE_PAGE_FLIP_EVENT) && d.send_events) {
    events.push_back({reinterpret_cast<std::uintptr_t>(user_data)});
    if (write(event_source, "e", 1) != 1)
      std::abort();
  }
  return 0;
}

// --- leases: this device has one owner only

int drmModeCreateLease(int, const std::uint32_t *, int, int, std::uint32_t *)
{
  return -EOPNOTSUPP;
}

drmModeObjectListPtr drmModeGetLease(int)
{
  errno = EOPNOTSUPP;
  return nullptr;
}

void drmFree(void *pointer)
{
  std::free(pointer);
}
