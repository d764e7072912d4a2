// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_raw_support.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>

#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <gst/check/gstcheck.h> // after the C++ headers: it defines a macro `fail`

namespace gstdrm::test {

namespace {

void visit(int fd, uint32_t object,
           const std::function<void(const drmModePropertyRes &, uint64_t)> &call)
{
  auto *list = drmModeObjectGetProperties(fd, object, DRM_MODE_OBJECT_ANY);
  for (uint32_t i = 0; i < list->count_props; i++) {
    auto *property = drmModeGetProperty(fd, list->props[i]);
    call(*property, list->prop_values[i]);
    drmModeFreeProperty(property);
  }
  drmModeFreeObjectProperties(list);
}

drmModeModeInfo make_mode(Size size, uint32_t refresh)
{
  drmModeModeInfo mode{};
  mode.hdisplay = size.width;
  mode.hsync_start = size.width + 8;
  mode.hsync_end = size.width + 16;
  mode.htotal = size.width + 24;
  mode.vdisplay = size.height;
  mode.vsync_start = size.height + 2;
  mode.vsync_end = size.height + 4;
  mode.vtotal = size.height + 6;
  mode.vrefresh = refresh;
  mode.clock = uint32_t{mode.htotal} * mode.vtotal * refresh / 1000;
  return mode;
}

} // namespace

std::string read_file(const char *path)
{
  gchar *text = nullptr;
  if (!g_file_get_contents(path, &text, nullptr, nullptr))
    return {};
  std::string result = text;
  g_free(text);
  return result;
}

uint32_t round_up(uint32_t value, uint32_t to)
{
  return (value + to - 1) / to * to;
}

RawPicture noise(uint32_t fourcc, Size size)
{
  RawPicture picture{fourcc, size, {}};
  uint32_t state = 0x2545f491;
  for (size_t plane = 0; plane < (fourcc == DRM_FORMAT_NV12 ? 2u : 1u); plane++) {
    auto &bytes = picture.planes.emplace_back(size_t{picture.row_bytes()} * picture.rows(plane));
    for (auto &byte : bytes) {
      state = state * 1664525 + 1013904223;
      byte = state >> 24;
    }
  }
  return picture;
}

void expect_same(const std::vector<uint8_t> &got, const std::vector<uint8_t> &wanted,
                 const char *what)
{
  fail_unless_equals_int(got.size(), wanted.size());
  const auto at = std::mismatch(got.begin(), got.end(), wanted.begin()).first - got.begin();
  fail_unless(static_cast<size_t>(at) == got.size(), "%s: first difference at byte %td of %zu",
              what, at, got.size());
}

RawBuffer::RawBuffer(uint32_t size, Source source) : size_(round_up(size, kPage))
{
  if (source == Source::kHeap) {
    const int heap = open("/dev/dma_heap/system", O_RDONLY | O_CLOEXEC);
    dma_heap_allocation_data data{.len = size_, .fd_flags = O_RDWR | O_CLOEXEC};
    fail_unless(heap >= 0 && ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &data) == 0);
    fd_ = static_cast<int>(data.fd);
    close(heap);
  } else {
    const int memory = memfd_create("raw", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    fail_unless(memory >= 0 && ftruncate(memory, size_) == 0);
    fail_unless(fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
    const int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
    udmabuf_create create{.memfd = static_cast<uint32_t>(memory),
                          .flags = UDMABUF_FLAGS_CLOEXEC,
                          .offset = 0,
                          .size = size_};
    fd_ = ioctl(device, UDMABUF_CREATE, &create);
    fail_unless(fd_ >= 0, "UDMABUF_CREATE of %u bytes: %s", size_, g_strerror(errno));
    close(device);
    close(memory);
  }
  void *map = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  fail_unless(map != MAP_FAILED);
  data_ = static_cast<uint8_t *>(map);
}

RawBuffer::~RawBuffer()
{
  munmap(data_, size_);
  close(fd_);
}

void RawBuffer::access(uint64_t flags) const
{
  dma_buf_sync sync{.flags = flags};
  fail_unless_equals_int(ioctl(fd_, DMA_BUF_IOCTL_SYNC, &sync), 0);
}

RawDisplay::RawDisplay()
{
  fd_ = drmOpen("vkms", nullptr);
  fail_unless(fd_ >= 0, "no vkms device");
  // Its cap is refused before the atomic one is on.
  for (uint64_t cap : {DRM_CLIENT_CAP_UNIVERSAL_PLANES, DRM_CLIENT_CAP_ATOMIC,
                       DRM_CLIENT_CAP_WRITEBACK_CONNECTORS})
    fail_unless_equals_int(drmSetClientCap(fd_, cap, 1), 0);
  std::unique_ptr<drmModeRes, void (*)(drmModeRes *)> res(drmModeGetResources(fd_),
                                                          drmModeFreeResources);
  crtc = res->crtcs[0];
  for (int i = 0; i < res->count_connectors; i++) {
    auto *found = drmModeGetConnectorCurrent(fd_, res->connectors[i]);
    (found->connector_type == DRM_MODE_CONNECTOR_WRITEBACK ? writeback : connector) =
        found->connector_id;
    drmModeFreeConnector(found);
  }
  auto *list = drmModeGetPlaneResources(fd_);
  for (uint32_t i = 0; i < list->count_planes; i++) {
    std::array<uint32_t *, 3> by_type{&overlay, &primary, &cursor};
    uint32_t &slot = *by_type.at(property_value(list->planes[i], "type"));
    slot = slot ? slot : list->planes[i];
  }
  drmModeFreePlaneResources(list);
}

RawDisplay::~RawDisplay()
{
  drmClose(fd_);
}

const Properties &RawDisplay::properties(uint32_t object)
{
  Properties &ids = properties_[object];
  if (ids.empty())
    visit(fd_, object, [&](const drmModePropertyRes &p, uint64_t) { ids[p.name] = p.prop_id; });
  return ids;
}

uint64_t RawDisplay::property_value(uint32_t object, const std::string &name)
{
  uint64_t result = 0;
  visit(fd_, object, [&](const drmModePropertyRes &p, uint64_t value) {
    result = p.name == name ? value : result;
  });
  return result;
}

std::set<Pair> RawDisplay::in_formats(uint32_t plane)
{
  std::set<Pair> pairs;
  auto *blob = drmModeGetPropertyBlob(fd_, property_value(plane, "IN_FORMATS"));
  // Not drmModeFormatModifierBlobIterNext(): libdrm 2.4.114 shifts an int by the format's index,
  // and vkms lists more than 32 formats.
  const auto *bytes = static_cast<const uint8_t *>(blob->data);
  const auto read = [bytes]<typename T>(T &into, size_t at) {
    std::memcpy(&into, bytes + at, sizeof into);
  };
  drm_format_modifier_blob head;
  read(head, 0);
  for (uint32_t m = 0; m < head.count_modifiers; m++) {
    drm_format_modifier modifier;
    read(modifier, head.modifiers_offset + m * sizeof modifier);
    for (uint32_t bit = 0; bit < 64; bit++) {
      if (!(modifier.formats >> bit & 1))
        continue;
      uint32_t fourcc = 0;
      read(fourcc, head.formats_offset + (modifier.offset + bit) * sizeof fourcc);
      pairs.insert({fourcc, modifier.modifier});
    }
  }
  drmModeFreePropertyBlob(blob);
  return pairs;
}

uint32_t RawDisplay::import(const RawBuffer &buffer)
{
  uint32_t handle = 0;
  fail_unless_equals_int(drmPrimeFDToHandle(fd_, buffer.fd(), &handle), 0);
  return handle;
}

uint32_t RawDisplay::add(Pair format, Size size, const std::vector<uint32_t> &handles,
                         uint32_t pitch, const std::array<uint32_t, 2> &offsets)
{
  uint32_t id = 0, handle[4] = {}, pitches[4] = {}, at[4] = {};
  uint64_t modifiers[4] = {};
  const size_t planes =
      format.fourcc == DRM_FORMAT_NV12 || format.fourcc == DRM_FORMAT_NV21 ? 2 : 1;
  for (size_t i = 0; i < planes; i++) {
    handle[i] = handles[std::min(i, handles.size() - 1)];
    pitches[i] = pitch;
    at[i] = offsets[i];
    modifiers[i] = format.modifier;
  }
  return drmModeAddFB2WithModifiers(fd_, size.width, size.height, format.fourcc, handle, pitches,
                                    at, modifiers, &id, DRM_MODE_FB_MODIFIERS) == 0
             ? id
             : 0;
}

void RawDisplay::remove(uint32_t fb)
{
  fail_unless_equals_int(drmModeRmFB(fd_, fb), 0);
}

int RawDisplay::commit(uint32_t fb, const Show &show, uint32_t flags, uint32_t writeback_fb,
                       int *fence)
{
  drmModeAtomicReq *request = drmModeAtomicAlloc();
  auto set = [&](uint32_t object, const char *name, uint64_t value) {
    const auto &ids = properties(object);
    fail_unless(ids.count(name), "object %u has no %s", object, name);
    drmModeAtomicAddProperty(request, object, ids.at(name), value);
  };
  const auto turned = show.rotation & (DRM_MODE_ROTATE_90 | DRM_MODE_ROTATE_270);
  uint32_t mode_blob = 0;
  const drmModeModeInfo mode = make_mode(show.mode, show.refresh);
  drmModeCreatePropertyBlob(fd_, &mode, sizeof mode, &mode_blob);
  set(crtc, "MODE_ID", mode_blob);
  set(crtc, "ACTIVE", 1);
  set(connector, "CRTC_ID", crtc);
  if (show.plane != primary) {
    set(primary, "CRTC_ID", 0);
    set(primary, "FB_ID", 0);
  }
  set(show.plane, "CRTC_ID", crtc);
  set(show.plane, "FB_ID", fb);
  set(show.plane, "SRC_X", uint64_t{show.x} << 16);
  set(show.plane, "SRC_Y", uint64_t{show.y} << 16);
  set(show.plane, "SRC_W", uint64_t{show.part.width} << 16);
  set(show.plane, "SRC_H", uint64_t{show.part.height} << 16);
  set(show.plane, "CRTC_X", 0);
  set(show.plane, "CRTC_Y", 0);
  set(show.plane, "CRTC_W", turned ? show.part.height : show.part.width);
  set(show.plane, "CRTC_H", turned ? show.part.width : show.part.height);
  set(show.plane, "rotation", show.rotation);
  set(show.plane, "IN_FENCE_FD", static_cast<uint64_t>(show.in_fence));
  if (writeback_fb) {
    set(writeback, "CRTC_ID", crtc);
    set(writeback, "WRITEBACK_FB_ID", writeback_fb);
    if (fence)
      set(writeback, "WRITEBACK_OUT_FENCE_PTR", reinterpret_cast<uint64_t>(fence));
  }
  const int result =
      drmModeAtomicCommit(fd_, request, flags | DRM_MODE_ATOMIC_ALLOW_MODESET, nullptr);
  drmModeAtomicFree(request);
  drmModeDestroyPropertyBlob(fd_, mode_blob);
  return result;
}

void RawDisplay::write_back(uint32_t fb, const Show &show, uint32_t writeback_fb)
{
  int fence = -1;
  fail_unless(commit(fb, show, 0, writeback_fb, &fence) == 0, "commit: %s", g_strerror(errno));
  pollfd wait{.fd = fence, .events = POLLIN};
  fail_unless(poll(&wait, 1, 20000) == 1, "the writeback does not end");
  close(fence);
}

std::vector<uint8_t> RawDisplay::shown(uint32_t fb, const Show &show)
{
  const uint32_t pitch = show.mode.width * 4, total = pitch * show.mode.height;
  RawBuffer target(total);
  const uint32_t target_fb =
      add({DRM_FORMAT_XRGB8888, kLinear}, show.mode, {import(target)}, pitch, {});
  fail_unless(target_fb != 0);
  write_back(fb, show, target_fb);
  target.access(DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ);
  std::vector<uint8_t> pixels(target.data(), target.data() + total);
  target.access(DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ);
  remove(target_fb);
  return pixels;
}

std::string RawDisplay::debugfs(const char *name)
{
  struct stat node;
  fail_unless_equals_int(fstat(fd_, &node), 0);
  return "/sys/kernel/debug/dri/" + std::to_string(minor(node.st_rdev)) + "/" + name;
}

} // namespace gstdrm::test
