// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_ui.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <drm_fourcc.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>

namespace gstdrm::test {

namespace {

constexpr std::chrono::milliseconds kFrameTime{50};
constexpr std::chrono::milliseconds kBusyTime{2}; // until the next try, after EBUSY
constexpr std::chrono::milliseconds kDrawTime{1};
constexpr int kPatience_ms = 20000;

// In place of ck_assert(), which takes one thread at a time (check_pack.c).
void require(bool holds, const char *what)
{
  if (!holds)
    g_error("the UI: %s (%s)", what, g_strerror(errno));
}

std::uint64_t pointer(void *at)
{
  return reinterpret_cast<std::uintptr_t>(at);
}

} // namespace

Ui::Ui(const std::string &path, int width, int height, const Hole &hole)
    : fd_(open(path.c_str(), O_RDWR | O_CLOEXEC)), width_(width), height_(height), hole_(hole)
{
  require(fd_ && drmIsMaster(fd_.get()), "is not master");
  for (const std::uint64_t cap : {DRM_CLIENT_CAP_UNIVERSAL_PLANES, DRM_CLIENT_CAP_ATOMIC,
                                  DRM_CLIENT_CAP_WRITEBACK_CONNECTORS})
    require(drmSetClientCap(fd_.get(), cap, 1) == 0, "DRM_IOCTL_SET_CLIENT_CAP");
  find_objects();
  light();
  thread_ = std::thread([this] { run(); });
}

Ui::~Ui()
{
  {
    const std::lock_guard guard(lock_);
    quit_ = true;
    changed_.notify_all();
  }
  thread_.join();
  turn_off();
  for (Buffer *buffer : {&buffers_[0], &buffers_[1], &target_})
    free(*buffer);
}

void Ui::find_objects()
{
  drmModeRes *res = drmModeGetResources(fd_.get());
  crtc_ = res->crtcs[0];
  for (int i = 0; i < res->count_connectors; i++) {
    drmModeConnector *found = drmModeGetConnector(fd_.get(), res->connectors[i]);
    std::uint32_t &place =
        found->connector_type == DRM_MODE_CONNECTOR_WRITEBACK ? writeback_ : connector_;
    place = place ? place : found->connector_id;
    drmModeFreeConnector(found);
  }
  drmModeFreeResources(res);
  drmModePlaneRes *planes = drmModeGetPlaneResources(fd_.get());
  for (std::uint32_t i = 0; i < planes->count_planes; i++) {
    drmModeObjectProperties *list =
        drmModeObjectGetProperties(fd_.get(), planes->planes[i], DRM_MODE_OBJECT_PLANE);
    const std::uint32_t type = property(planes->planes[i], "type");
    for (std::uint32_t p = 0; p < list->count_props; p++)
      if (list->props[p] == type && list->prop_values[p] == DRM_PLANE_TYPE_PRIMARY)
        primary_ = planes->planes[i];
    drmModeFreeObjectProperties(list);
  }
  drmModeFreePlaneResources(planes);
  require(crtc_ && connector_ && writeback_ && primary_, "an object is missing");
}

std::uint32_t Ui::property(std::uint32_t object, const std::string &name) const
{
  std::uint32_t id = 0;
  drmModeObjectProperties *list =
      drmModeObjectGetProperties(fd_.get(), object, DRM_MODE_OBJECT_ANY);
  require(list != nullptr, "drmModeObjectGetProperties");
  for (std::uint32_t i = 0; i < list->count_props; i++) {
    drmModePropertyRes *raw = drmModeGetProperty(fd_.get(), list->props[i]);
    if (name == raw->name)
      id = raw->prop_id;
    drmModeFreeProperty(raw);
  }
  drmModeFreeObjectProperties(list);
  require(id != 0, name.c_str());
  return id;
}

Ui::Buffer Ui::make(std::uint32_t fourcc) const
{
  Buffer buffer;
  require(drmModeCreateDumbBuffer(fd_.get(), static_cast<std::uint32_t>(width_),
                                  static_cast<std::uint32_t>(height_), 32, 0, &buffer.handle,
                                  &buffer.pitch, &buffer.size) == 0,
          "a dumb buffer");
  const std::uint32_t handles[4] = {buffer.handle}, pitches[4] = {buffer.pitch}, offsets[4] = {};
  require(drmModeAddFB2(fd_.get(), static_cast<std::uint32_t>(width_),
                        static_cast<std::uint32_t>(height_), fourcc, handles, pitches, offsets,
                        &buffer.id, 0) == 0,
          "a framebuffer");
  std::uint64_t offset = 0;
  require(drmModeMapDumbBuffer(fd_.get(), buffer.handle, &offset) == 0, "MAP_DUMB");
  void *map = mmap(nullptr, buffer.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(),
                   static_cast<off_t>(offset));
  require(map != MAP_FAILED, "mmap");
  buffer.map = static_cast<std::uint8_t *>(map);
  return buffer;
}

void Ui::free(Buffer &buffer) const
{
  if (!buffer.map)
    return;
  munmap(buffer.map, buffer.size);
  drmModeRmFB(fd_.get(), buffer.id);
  drmModeDestroyDumbBuffer(fd_.get(), buffer.handle);
  buffer = {};
}

int Ui::commit(const Values &values, std::uint32_t flags, std::uint64_t serial) const
{
  drmModeAtomicReq *request = drmModeAtomicAlloc();
  for (const auto &[key, value] : values)
    drmModeAtomicAddProperty(request, key.first, property(key.first, key.second), value);
  const int ret = drmModeAtomicCommit(
      fd_.get(), request, flags, reinterpret_cast<void *>(static_cast<std::uintptr_t>(serial)));
  drmModeAtomicFree(request);
  errno = -ret;
  return ret;
}

// Colours that differ in each frame, and the hole.
Image Ui::draw(const Buffer &buffer, unsigned frame) const
{
  Image image(width_, height_);
  for (int y = 0; y < height_; y++) {
    auto *row = reinterpret_cast<guint32 *>(buffer.map + std::size_t{buffer.pitch} * y);
    for (int x = 0; x < width_; x++) {
      const bool hole =
          x >= hole_.x && x < hole_.x + hole_.width && y >= hole_.y && y < hole_.y + hole_.height;
      image.at(x, y) = hole ? 0
                            : (((static_cast<guint32>(x) + frame * 16) & 0xff) << 16 |
                               (static_cast<guint32>(y) & 0xff) << 8 | (frame & 0xff));
      row[x] = image.at(x, y) | (hole ? 0 : 0xff000000U);
    }
  }
  return image;
}

void Ui::light()
{
  for (Buffer *buffer : {&buffers_[0], &buffers_[1], &target_})
    free(*buffer);
  for (Buffer &buffer : buffers_)
    buffer = make(DRM_FORMAT_ARGB8888);
  target_ = make(DRM_FORMAT_XRGB8888);
  draw(buffers_[0], 0);
  drmModeConnector *connector = drmModeGetConnector(fd_.get(), connector_);
  const auto *modes = connector->modes;
  const auto *mode = std::find_if(modes, modes + connector->count_modes, [this](const auto &m) {
    return m.hdisplay == width_ && m.vdisplay == height_;
  });
  require(mode != modes + connector->count_modes, "no such mode");
  std::uint32_t blob = 0;
  require(drmModeCreatePropertyBlob(fd_.get(), mode, sizeof(*mode), &blob) == 0, "a blob");
  drmModeFreeConnector(connector);
  const auto width = static_cast<std::uint64_t>(width_),
             height = static_cast<std::uint64_t>(height_);
  const int ret = commit({{{connector_, "CRTC_ID"}, crtc_},
                          {{writeback_, "CRTC_ID"}, crtc_},
                          {{crtc_, "MODE_ID"}, blob},
                          {{crtc_, "ACTIVE"}, 1},
                          {{primary_, "CRTC_ID"}, crtc_},
                          {{primary_, "FB_ID"}, buffers_[0].id},
                          {{primary_, "SRC_X"}, 0},
                          {{primary_, "SRC_Y"}, 0},
                          {{primary_, "SRC_W"}, width << 16},
                          {{primary_, "SRC_H"}, height << 16},
                          {{primary_, "CRTC_X"}, 0},
                          {{primary_, "CRTC_Y"}, 0},
                          {{primary_, "CRTC_W"}, width},
                          {{primary_, "CRTC_H"}, height},
                          {{primary_, "zpos"}, 1}},
                         DRM_MODE_ATOMIC_ALLOW_MODESET);
  require(ret == 0, "the mode set");
  drmModeDestroyPropertyBlob(fd_.get(), blob);
}

void Ui::turn_off()
{
  const int ret = commit({{{connector_, "CRTC_ID"}, 0},
                          {{writeback_, "CRTC_ID"}, 0},
                          {{crtc_, "MODE_ID"}, 0},
                          {{crtc_, "ACTIVE"}, 0},
                          {{primary_, "CRTC_ID"}, 0},
                          {{primary_, "FB_ID"}, 0}},
                         DRM_MODE_ATOMIC_ALLOW_MODESET);
  require(ret == 0, "turning off");
}

void Ui::set_mode(int width, int height)
{
  width_ = width;
  height_ = height;
  light();
}

// By a clock of its own, as a UI has it that draws when something happens.
void Ui::rest(std::chrono::milliseconds time)
{
  std::unique_lock guard(lock_);
  changed_.wait_for(guard, time, [this] { return quit_; });
}

// The UI alone reads its descriptor. Whoever else does takes the event away. Returns the vblank.
unsigned Ui::await_flip(std::uint64_t serial)
{
  drmEventContext context{};
  static thread_local std::uint64_t came;
  static thread_local unsigned vblank;
  came = 0;
  context.version = 3;
  context.page_flip_handler2 = [](int, unsigned sequence, unsigned, unsigned, unsigned,
                                  void *data) {
    vblank = sequence;
    came = reinterpret_cast<std::uintptr_t>(data);
  };
  pollfd events{fd_.get(), POLLIN, 0};
  require(poll(&events, 1, kPatience_ms) == 1, "the event of a flip never came");
  drmHandleEvent(fd_.get(), &context);
  require(came == serial, "the event is of another flip");
  const std::lock_guard guard(lock_);
  flips_++;
  return vblank;
}

// Sleeps until the next vblank, or until that one if it is still to come. Returns the last vblank.
unsigned Ui::await_vblank(bool next, unsigned sequence) const
{
  drmVBlank vblank{};
  vblank.request.type = next ? DRM_VBLANK_RELATIVE : DRM_VBLANK_ABSOLUTE;
  vblank.request.sequence = next ? 1 : sequence;
  require(drmWaitVBlank(fd_.get(), &vblank) == 0, "DRM_IOCTL_WAIT_VBLANK");
  return vblank.reply.sequence;
}

// Begins to draw when a vblank is over, and commits for the next one. A frame that the kernel does
// not take then is committed at the next vblank, or the next: too late.
void Ui::show_in_time(unsigned vblanks)
{
  const unsigned drawn_at = await_vblank(vblank_ == 0, vblank_);
  const Buffer &buffer = buffers_[++next_ % 2];
  {
    const std::lock_guard guard(lock_);
    drawings_++;
    changed_.notify_all();
  }
  std::this_thread::sleep_for(kDrawTime);
  unsigned busy = 0;
  int ret = 0;
  while ((ret = commit({{{primary_, "FB_ID"}, buffer.id}},
                       DRM_MODE_ATOMIC_NONBLOCK | DRM_MODE_PAGE_FLIP_EVENT, next_)) == -EBUSY) {
    busy++;
    (void)await_vblank(true, 0);
  }
  require(ret == 0, "a frame was refused");
  {
    const std::lock_guard guard(lock_);
    frames_++;
  }
  const unsigned shown_at = await_flip(next_);
  vblank_ = std::max(drawn_at + vblanks, shown_at);
  const std::lock_guard guard(lock_);
  punctuality_.frames++;
  punctuality_.busy += busy;
  punctuality_.missed += shown_at - (drawn_at + 1);
  changed_.notify_all();
}

void Ui::show_frame()
{
  const Buffer &buffer = buffers_[++next_ % 2];
  const std::uint64_t serial = next_;
  bool wanted = false;
  {
    const std::lock_guard guard(lock_);
    wanted = wanted_;
    frames_++;
  }
  Screen screen{Image(width_, height_), draw(buffer, next_)};
  std::int32_t fence = -1;
  Values values = {{{primary_, "FB_ID"}, buffer.id}};
  if (wanted) {
    values[{writeback_, "WRITEBACK_FB_ID"}] = target_.id;
    values[{writeback_, "WRITEBACK_OUT_FENCE_PTR"}] = pointer(&fence);
  }
  int ret = 0;
  // others commit on this CRTC as well, and it takes one commit per refresh
  while ((ret = commit(values, DRM_MODE_ATOMIC_NONBLOCK | DRM_MODE_PAGE_FLIP_EVENT, serial)) ==
         -EBUSY)
    rest(kBusyTime);
  require(ret == 0, "a frame was refused");
  await_flip(serial);
  if (!wanted)
    return;
  UniqueFd written(fence);
  pollfd wait{fence, POLLIN, 0};
  require(poll(&wait, 1, kPatience_ms) == 1, "the writeback does not end");
  for (int y = 0; y < height_; y++) {
    const auto *row = reinterpret_cast<guint32 *>(target_.map + std::size_t{target_.pitch} * y);
    for (int x = 0; x < width_; x++)
      screen.shown.at(x, y) = row[x] & 0xffffff;
  }
  written.reset(); // before who asked goes on: it may count descriptors
  const std::lock_guard guard(lock_);
  wanted_ = false;
  screen_ = std::move(screen);
  changed_.notify_all();
}

void Ui::run()
{
  while (true) {
    unsigned vblanks = 0;
    {
      // not before the first frame, which may be far off for a caller on virtual time
      std::unique_lock guard(lock_);
      paused_ = pause_ && frames_ > 0;
      changed_.notify_all();
      changed_.wait(guard, [this] { return !paused_ || !pause_ || quit_; });
      paused_ = false;
      if (quit_)
        return;
      vblanks = time_kept_;
    }
    if (vblanks > 0) {
      show_in_time(vblanks);
      continue;
    }
    vblank_ = 0;
    show_frame();
    rest(kFrameTime);
  }
}

Ui::Screen Ui::screen()
{
  std::unique_lock guard(lock_);
  wanted_ = true;
  screen_.reset();
  changed_.wait(guard, [this] { return screen_.has_value(); });
  return *screen_;
}

void Ui::pause()
{
  std::unique_lock guard(lock_);
  pause_ = true;
  changed_.wait(guard, [this] { return paused_; });
}

void Ui::resume()
{
  const std::lock_guard guard(lock_);
  pause_ = false;
  changed_.notify_all();
}

void Ui::keep_time(unsigned vblanks)
{
  const std::lock_guard guard(lock_);
  time_kept_ = vblanks;
}

void Ui::await_drawing()
{
  std::unique_lock guard(lock_);
  changed_.wait(guard, [this, before = drawings_] { return drawings_ > before; });
}

Ui::Punctuality Ui::punctuality()
{
  const std::lock_guard guard(lock_);
  return punctuality_;
}

unsigned Ui::frames()
{
  const std::lock_guard guard(lock_);
  return frames_;
}

unsigned Ui::flips()
{
  const std::lock_guard guard(lock_);
  return flips_;
}

} // namespace gstdrm::test
