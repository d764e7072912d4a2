// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fake_drm.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <drm_fourcc.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xf86drm.h>
#include <xf86drmMode.h>

using namespace fakedrm;

struct _drmModeAtomicReq {
  std::vector<std::array<std::uint64_t, 3>> entries;
};

namespace {

constexpr std::uint32_t kInFormatsBlob = 500;
constexpr std::uint32_t kWritebackBlob = 501;
constexpr std::uint32_t kOverlayInFormatsBlob = 502;

std::unique_ptr<fakedrm::Device> current;
int event_source = -1; // the kernel's end of the descriptor
struct Event {
  std::uint64_t serial;
};
std::vector<Event> events;
std::uint32_t next_id = 1000;
std::uint32_t sequence = 0;

struct PropertySpec {
  const char *name;
  std::uint32_t flags;
  std::uint64_t value;
};

// property ids are 100 * position in this list of objects + position in its properties
const std::vector<std::pair<std::uint32_t, std::vector<PropertySpec>>> &objects()
{
  static const std::vector<PropertySpec> plane = {
      {"type", DRM_MODE_PROP_ENUM, DRM_PLANE_TYPE_PRIMARY},
      {"FB_ID", 0, 0},
      {"CRTC_ID", 0, 0},
      {"SRC_X", 0, 0},
      {"SRC_Y", 0, 0},
      {"SRC_W", 0, 0},
      {"SRC_H", 0, 0},
      {"CRTC_X", 0, 0},
      {"CRTC_Y", 0, 0},
      {"CRTC_W", 0, 0},
      {"CRTC_H", 0, 0},
      {"IN_FENCE_FD", 0, 0},
      {"IN_FORMATS", DRM_MODE_PROP_BLOB, kInFormatsBlob},
      {"COLOR_ENCODING", DRM_MODE_PROP_ENUM, 0},
      {"COLOR_RANGE", DRM_MODE_PROP_ENUM, 0},
      {"rotation", DRM_MODE_PROP_BITMASK, DRM_MODE_ROTATE_0},
  };
  static const auto list = [] {
    std::vector<PropertySpec> overlay = plane;
    overlay[0].value = DRM_PLANE_TYPE_OVERLAY;
    overlay[12].value = kOverlayInFormatsBlob;
    return std::vector<std::pair<std::uint32_t, std::vector<PropertySpec>>>{
        {kCrtc, {{"ACTIVE", 0, 0}, {"MODE_ID", DRM_MODE_PROP_BLOB, 0}}},
        {kConnector,
         {{"CRTC_ID", 0, 0}, {"HDR_OUTPUT_METADATA", DRM_MODE_PROP_BLOB, 0}, {"Colorspace", DRM_MODE_PROP_ENUM, 0}}},
        {kWriteback,
         {{"CRTC_ID", 0, 0},
          {"WRITEBACK_FB_ID", 0, 0},
          {"WRITEBACK_OUT_FENCE_PTR", 0, 0},
          {"WRITEBACK_PIXEL_FORMATS", DRM_MODE_PROP_BLOB, kWritebackBlob}}},
        {kPrimary, plane},
        {kOverlay, overlay},
    };
  }();
  return list;
}

const PropertySpec *property(std::uint32_t id)
{
  const std::size_t object = id / 100 - 1, index = id % 100;
  if (id < 100 || object >= objects().size() || index >= objects()[object].second.size())
    return nullptr;
  return &objects()[object].second[index];
}

// true: this call is the one that fails; errno is set
bool fails(const char *name)
{
  Device &d = device();
  d.calls++;
  if (d.calls != d.fail_at)
    return false;
  d.failed_call = name;
  errno = d.error;
  return true;
}

template <typename T> T *allocate(int &counter)
{
  counter++;
  return static_cast<T *>(std::calloc(1, sizeof(T)));
}

std::uint32_t *copy_ids(std::initializer_list<std::uint32_t> ids)
{
  auto *copy = static_cast<std::uint32_t *>(std::calloc(std::max<std::size_t>(ids.size(), 1), sizeof(std::uint32_t)));
  std::copy(ids.begin(), ids.end(), copy);
  return copy;
}

template <typename... Parts> void release(int &counter, Parts *...parts)
{
  counter--;
  (std::free(parts), ...);
}

using Guard = std::lock_guard<std::mutex>;

} // namespace

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
  *value = capability == DRM_CAP_PRIME ? DRM_PRIME_CAP_IMPORT | DRM_PRIME_CAP_EXPORT : device().modifiers;
  return 0;
}

int drmIsMaster(int)
{
  const Guard guard(device().lock);
  return device().master;
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

int drmPrimeFDToHandle(int, int fd, std::uint32_t *handle)
{
  const Guard guard(device().lock);
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

int drmIoctl(int, unsigned long request, void *argument)
{
  const Guard guard(device().lock);
  Device &d = device();
  switch (request) {
  case DRM_IOCTL_GEM_CLOSE:
    return close_handle(static_cast<drm_gem_close *>(argument)->handle);
  case DRM_IOCTL_MODE_DESTROY_DUMB:
    return close_handle(static_cast<drm_mode_destroy_dumb *>(argument)->handle);
  case DRM_IOCTL_MODE_CREATE_DUMB: {
    if (fails("CREATE_DUMB"))
      return -1;
    auto *create = static_cast<drm_mode_create_dumb *>(argument);
    create->handle = next_id++;
    create->pitch = create->width * 4;
    create->size = std::uint64_t{create->pitch} * create->height;
    d.handles[create->handle] = 1;
    return 0;
  }
  default:
    errno = EINVAL;
    return -1;
  }
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

drmModeResPtr drmModeGetResources(int)
{
  const Guard guard(device().lock);
  if (fails("drmModeGetResources"))
    return nullptr;
  auto *res = allocate<drmModeRes>(device().resources);
  res->count_crtcs = 1;
  res->crtcs = copy_ids({kCrtc});
  res->count_connectors = 2;
  res->connectors = copy_ids({kConnector, kWriteback});
  res->min_width = res->min_height = 10;
  res->max_width = res->max_height = 8192;
  return res;
}

void drmModeFreeResources(drmModeResPtr res)
{
  if (!res)
    return;
  const Guard guard(device().lock);
  release(device().resources, res->crtcs, res->connectors, res);
}

drmModePlaneResPtr drmModeGetPlaneResources(int)
{
  const Guard guard(device().lock);
  if (fails("drmModeGetPlaneResources"))
    return nullptr;
  auto *res = allocate<drmModePlaneRes>(device().resources);
  res->count_planes = 2;
  res->planes = copy_ids({kOverlay, kPrimary});
  return res;
}

void drmModeFreePlaneResources(drmModePlaneResPtr res)
{
  if (!res)
    return;
  const Guard guard(device().lock);
  release(device().resources, res->planes, res);
}

drmModePlanePtr drmModeGetPlane(int, std::uint32_t id)
{
  const Guard guard(device().lock);
  if (fails("drmModeGetPlane"))
    return nullptr;
  auto *plane = allocate<drmModePlane>(device().resources);
  plane->plane_id = id;
  plane->possible_crtcs = 1;
  plane->count_formats = 2;
  plane->formats = copy_ids({DRM_FORMAT_XRGB8888, DRM_FORMAT_NV12});
  return plane;
}

void drmModeFreePlane(drmModePlanePtr plane)
{
  if (!plane)
    return;
  const Guard guard(device().lock);
  release(device().resources, plane->formats, plane);
}

drmModeConnectorPtr drmModeGetConnector(int, std::uint32_t id)
{
  const Guard guard(device().lock);
  if (fails("drmModeGetConnector"))
    return nullptr;
  auto *connector = allocate<drmModeConnector>(device().resources);
  connector->connector_id = id;
  connector->connector_type = id == kWriteback ? DRM_MODE_CONNECTOR_WRITEBACK : DRM_MODE_CONNECTOR_VIRTUAL;
  connector->connector_type_id = 1;
  connector->connection = device().connected ? DRM_MODE_CONNECTED : DRM_MODE_DISCONNECTED;
  connector->count_encoders = 1;
  connector->encoders = copy_ids({kEncoder});
  if (id == kConnector && device().connected) {
    connector->count_modes = 2;
    connector->modes = static_cast<drmModeModeInfo *>(std::calloc(2, sizeof(drmModeModeInfo)));
    connector->modes[0] = {65000, 1024, 1048, 1184, 1344, 0, 768, 771, 777, 806, 0, 60, 0, DRM_MODE_TYPE_PREFERRED, "a"};
    connector->modes[1] = {25175, 640, 656, 752, 800, 0, 480, 490, 492, 525, 0, 60, 0, 0, "b"};
  }
  return connector;
}

drmModeConnectorPtr drmModeGetConnectorCurrent(int fd, std::uint32_t id)
{
  return drmModeGetConnector(fd, id);
}

void drmModeFreeConnector(drmModeConnectorPtr connector)
{
  if (!connector)
    return;
  const Guard guard(device().lock);
  release(device().resources, connector->encoders, connector->modes, connector);
}

drmModeEncoderPtr drmModeGetEncoder(int, std::uint32_t id)
{
  const Guard guard(device().lock);
  if (fails("drmModeGetEncoder"))
    return nullptr;
  auto *encoder = allocate<drmModeEncoder>(device().resources);
  encoder->encoder_id = id;
  encoder->possible_crtcs = 1;
  return encoder;
}

void drmModeFreeEncoder(drmModeEncoderPtr encoder)
{
  if (!encoder)
    return;
  const Guard guard(device().lock);
  release(device().resources, encoder);
}

const char *drmModeGetConnectorTypeName(std::uint32_t type)
{
  return type == DRM_MODE_CONNECTOR_WRITEBACK ? "Writeback" : "Virtual";
}

drmModeObjectPropertiesPtr drmModeObjectGetProperties(int, std::uint32_t id, std::uint32_t)
{
  const Guard guard(device().lock);
  if (fails("drmModeObjectGetProperties"))
    return nullptr;
  for (std::size_t o = 0; o < objects().size(); o++) {
    if (objects()[o].first != id)
      continue;
    const auto &specs = objects()[o].second;
    auto *list = allocate<drmModeObjectProperties>(device().resources);
    list->count_props = static_cast<std::uint32_t>(specs.size());
    list->props = static_cast<std::uint32_t *>(std::calloc(specs.size(), sizeof(std::uint32_t)));
    list->prop_values = static_cast<std::uint64_t *>(std::calloc(specs.size(), sizeof(std::uint64_t)));
    for (std::size_t i = 0; i < specs.size(); i++) {
      list->props[i] = static_cast<std::uint32_t>((o + 1) * 100 + i);
      list->prop_values[i] = specs[i].value;
    }
    return list;
  }
  errno = ENOENT;
  return nullptr;
}

void drmModeFreeObjectProperties(drmModeObjectPropertiesPtr list)
{
  if (!list)
    return;
  const Guard guard(device().lock);
  release(device().resources, list->props, list->prop_values, list);
}

drmModePropertyPtr drmModeGetProperty(int, std::uint32_t id)
{
  const Guard guard(device().lock);
  if (fails("drmModeGetProperty"))
    return nullptr;
  const PropertySpec *spec = property(id);
  auto *raw = allocate<drmModePropertyRes>(device().resources);
  raw->prop_id = id;
  raw->flags = spec->flags;
  std::strncpy(raw->name, spec->name, sizeof(raw->name) - 1);
  if (std::strcmp(spec->name, "Colorspace") == 0) {
    raw->count_enums = 2;
    raw->enums = static_cast<drm_mode_property_enum *>(std::calloc(2, sizeof(drm_mode_property_enum)));
    std::strncpy(raw->enums[0].name, "Default", sizeof(raw->enums[0].name) - 1);
    raw->enums[1].value = kBt2020Rgb;
    std::strncpy(raw->enums[1].name, "BT2020_RGB", sizeof(raw->enums[1].name) - 1);
  }
  return raw;
}

void drmModeFreeProperty(drmModePropertyPtr raw)
{
  if (!raw)
    return;
  const Guard guard(device().lock);
  release(device().resources, raw->enums, raw);
}

namespace {

std::vector<std::uint8_t> fixed_blob(std::uint32_t id)
{
  std::vector<std::uint8_t> bytes;
  const auto append = [&bytes](const auto &value) {
    const auto *raw = reinterpret_cast<const std::uint8_t *>(&value);
    bytes.insert(bytes.end(), raw, raw + sizeof(value));
  };
  if (id == kWritebackBlob) {
    append(std::uint32_t{DRM_FORMAT_XRGB8888});
  } else if (id == kInFormatsBlob) {
    append(drm_format_modifier_blob{FORMAT_BLOB_CURRENT, 0, 2, sizeof(drm_format_modifier_blob), 1,
                                    sizeof(drm_format_modifier_blob) + 8});
    append(std::uint32_t{DRM_FORMAT_XRGB8888});
    append(std::uint32_t{DRM_FORMAT_NV12});
    append(drm_format_modifier{3, 0, 0, DRM_FORMAT_MOD_LINEAR});
  } else if (id == kOverlayInFormatsBlob) {
    const std::uint32_t extra = device().overlay_extra;
    const std::uint32_t count = extra ? 4 : 2; // an even number keeps the modifiers aligned
    append(drm_format_modifier_blob{FORMAT_BLOB_CURRENT, 0, count, sizeof(drm_format_modifier_blob), 1,
                                    static_cast<std::uint32_t>(sizeof(drm_format_modifier_blob)) + 4 * count});
    append(std::uint32_t{DRM_FORMAT_XRGB8888});
    append(std::uint32_t{DRM_FORMAT_NV12});
    if (extra) {
      append(extra);
      append(extra);
    }
    append(drm_format_modifier{(std::uint64_t{1} << count) - 1, 0, 0, DRM_FORMAT_MOD_LINEAR});
  }
  return bytes;
}

} // namespace

drmModePropertyBlobPtr drmModeGetPropertyBlob(int, std::uint32_t id)
{
  const Guard guard(device().lock);
  if (fails("drmModeGetPropertyBlob"))
    return nullptr;
  const std::vector<std::uint8_t> bytes = fixed_blob(id);
  auto *blob = allocate<drmModePropertyBlobRes>(device().resources);
  blob->id = id;
  blob->length = static_cast<std::uint32_t>(bytes.size());
  blob->data = std::calloc(1, bytes.size());
  std::copy(bytes.begin(), bytes.end(), static_cast<std::uint8_t *>(blob->data));
  return blob;
}

void drmModeFreePropertyBlob(drmModePropertyBlobPtr blob)
{
  if (!blob)
    return;
  const Guard guard(device().lock);
  release(device().resources, blob->data, blob);
}

int drmModeCreatePropertyBlob(int, const void *data, std::size_t size, std::uint32_t *id)
{
  const Guard guard(device().lock);
  if (fails("drmModeCreatePropertyBlob"))
    return -device().error;
  *id = next_id++;
  const auto *bytes = static_cast<const std::uint8_t *>(data);
  device().blobs[*id].assign(bytes, bytes + size);
  return 0;
}

int drmModeDestroyPropertyBlob(int, std::uint32_t id)
{
  const Guard guard(device().lock);
  if (!device().blobs.erase(id))
    device().double_closes++;
  return 0;
}

int drmModeAddFB2WithModifiers(int, std::uint32_t, std::uint32_t, std::uint32_t fourcc,
                               const std::uint32_t handles[4], const std::uint32_t[4],
                               const std::uint32_t[4], const std::uint64_t modifiers[4],
                               std::uint32_t *id, std::uint32_t)
{
  const Guard guard(device().lock);
  if (fails("drmModeAddFB2WithModifiers"))
    return -device().error;
  if (!device().handles.count(handles[0]))
    return -ENOENT;
  device().plane_modifiers.clear();
  for (int i = 0; modifiers && i < 4 && handles[i] != 0; i++)
    device().plane_modifiers.push_back(modifiers[i]);
  *id = next_id++;
  device().framebuffers[*id] = handles[0];
  device().fourccs[*id] = fourcc;
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
  if (d.hdr_needs_mode_set && !(commit.flags & DRM_MODE_ATOMIC_ALLOW_MODESET) &&
      commit.values.count({kConnector, "HDR_OUTPUT_METADATA"}))
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
