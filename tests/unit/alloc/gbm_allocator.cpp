// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames from libgbm, on a libgbm of the program's own that plays drivers which no test machine has:
// other strides, planes and modifiers than were asked for.
#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gbm.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <gst/drm/alloc/drm_allocators.hpp>
#include <gst/drm/core/drm_facts.hpp>
#include <gst/drm/core/unique_fd.hpp>

using namespace gstdrm;

namespace {

constexpr std::uint64_t kYTiled = 0x0100000000000002; // I915_FORMAT_MOD_Y_TILED
constexpr const char *kNode = "/dev/dri/renderD250";  // exists in this program alone

// What the driver answers. Not locked: GbmAllocator has to keep its calls apart.
struct Driver {
  std::set<std::uint32_t> drawn = {GBM_FORMAT_XRGB8888, GBM_FORMAT_R8};
  std::set<std::uint32_t> shown = {GBM_FORMAT_XRGB8888};
  std::map<std::uint32_t, std::set<std::uint64_t>> modifiers = {{GBM_FORMAT_XRGB8888, {kModLinear, kYTiled}}};
  bool allocates = true;
  int planes = 1;
  std::map<std::uint32_t, std::uint32_t> more_stride; // bytes at the end of a fourcc's rows, which are multiples of 256 without
  std::uint64_t modifier = kModLinear; // of every buffer
  bool one_object = true;              // all planes in one dma-buf
  int buffers = 0;
  int calls = 0;
};
Driver driver;

} // namespace

struct gbm_device {};
struct gbm_bo {
  std::uint32_t stride;
  std::uint32_t height;
  UniqueFd memory;
};

namespace {

gbm_bo *make(std::uint32_t width, std::uint32_t height, std::uint32_t fourcc)
{
  driver.calls++;
  if (!driver.allocates || !driver.drawn.count(fourcc)) {
    errno = EINVAL;
    return nullptr;
  }
  const std::uint32_t bytes = width * (fourcc == GBM_FORMAT_R8 ? 1 : 4);
  const std::uint32_t stride = (bytes + 255) / 256 * 256 + driver.more_stride[fourcc];
  UniqueFd memory(memfd_create("bo", MFD_CLOEXEC));
  EXPECT_EQ(ftruncate(memory.get(), static_cast<off_t>(stride) * height * 4), 0);
  driver.buffers++;
  return new gbm_bo{stride, height, std::move(memory)};
}

} // namespace

// --- libgbm --------------------------------------------------------------------------------------

gbm_device *gbm_create_device(int)
{
  return new gbm_device;
}
void gbm_device_destroy(gbm_device *device)
{
  delete device;
}
const char *gbm_device_get_backend_name(gbm_device *)
{
  return "fake";
}
int gbm_device_is_format_supported(gbm_device *, std::uint32_t format, std::uint32_t usage)
{
  return ((usage & GBM_BO_USE_RENDERING) && driver.drawn.count(format)) || ((usage & GBM_BO_USE_SCANOUT) && driver.shown.count(format));
}
int gbm_device_get_format_modifier_plane_count(gbm_device *, std::uint32_t format, std::uint64_t modifier)
{
  const auto found = driver.modifiers.find(format);
  return found != driver.modifiers.end() && found->second.count(modifier) ? 1 : -1;
}
gbm_bo *gbm_bo_create(gbm_device *, std::uint32_t width, std::uint32_t height, std::uint32_t format, std::uint32_t)
{
  return make(width, height, format);
}
gbm_bo *gbm_bo_create_with_modifiers2(gbm_device *, std::uint32_t width, std::uint32_t height, std::uint32_t format,
                                      const std::uint64_t *, const unsigned int, std::uint32_t)
{
  return make(width, height, format);
}
void gbm_bo_destroy(gbm_bo *bo)
{
  driver.buffers--;
  delete bo;
}
gbm_bo_handle gbm_bo_get_handle_for_plane(gbm_bo *, int)
{
  gbm_bo_handle none = {};
  none.s32 = -1;
  return none;
}
int gbm_bo_get_fd_for_plane(gbm_bo *bo, int plane)
{
  if (driver.one_object || plane == 0)
    return fcntl(bo->memory.get(), F_DUPFD_CLOEXEC, 0);
  const int other = memfd_create("plane", MFD_CLOEXEC);
  EXPECT_EQ(ftruncate(other, static_cast<off_t>(bo->stride) * bo->height), 0);
  return other;
}
int gbm_bo_get_plane_count(gbm_bo *)
{
  return driver.planes;
}
std::uint32_t gbm_bo_get_offset(gbm_bo *bo, int plane)
{
  return driver.one_object ? static_cast<std::uint32_t>(plane) * bo->stride * bo->height : 0;
}
std::uint32_t gbm_bo_get_stride(gbm_bo *bo)
{
  return bo->stride;
}
std::uint32_t gbm_bo_get_stride_for_plane(gbm_bo *bo, int)
{
  return bo->stride;
}
std::uint64_t gbm_bo_get_modifier(gbm_bo *)
{
  return driver.modifier;
}

// --- the node ------------------------------------------------------------------------------------

extern "C" int stat(const char *path, struct stat *st) noexcept
{
  if (std::string_view(path) != kNode)
    return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, st, 0));
  *st = {};
  st->st_mode = S_IFCHR | 0600;
  st->st_rdev = makedev(226, 250); // DRM_MAJOR
  return 0;
}

extern "C" int open(const char *path, int flags, ...)
{
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, std::string_view(path) == kNode ? "/dev/null" : path, flags, 0600));
}

namespace {

class GbmFrames : public testing::Test {
protected:
  GbmFrames() { driver = Driver(); }
  ~GbmFrames() override
  {
    allocator.reset();
    EXPECT_EQ(driver.buffers, 0);
  }
  void start()
  {
    auto opened = Gbm::open(kNode);
    ASSERT_TRUE(opened) << opened.error().message;
    allocator = std::move(*opened);
  }
  [[nodiscard]] bool lists(std::uint32_t fourcc, std::uint64_t modifier) const
  {
    const auto formats = *allocator->formats();
    return std::find(formats.begin(), formats.end(), Format{fourcc, modifier}) != formats.end();
  }
  // What is said of a request that is refused.
  std::string refusal(const FrameRequest &request)
  {
    const auto frame = allocator->allocate(request);
    return frame ? "nothing" : frame.error().message;
  }
  std::unique_ptr<FrameAllocator> allocator;
};

constexpr std::array<std::uint64_t, 1> kLinearOnly{kModLinear};
constexpr std::array<std::uint64_t, 1> kTiledOnly{kYTiled};

FrameRequest xrgb(std::span<const std::uint64_t> modifiers)
{
  return {GBM_FORMAT_XRGB8888, 60, 48, modifiers, {}, 1};
}

// A driver may know the modifiers of a fourcc that it can neither draw into nor show.
TEST_F(GbmFrames, are_offered_in_what_the_driver_uses)
{
  driver.modifiers[GBM_FORMAT_ARGB8888] = {kYTiled};
  driver.shown.insert(GBM_FORMAT_XBGR8888);
  driver.modifiers[GBM_FORMAT_XBGR8888] = {kYTiled};
  start();
  EXPECT_TRUE(lists(GBM_FORMAT_XRGB8888, kYTiled));
  EXPECT_TRUE(lists(GBM_FORMAT_XBGR8888, kYTiled)); // shown, not drawn
  EXPECT_FALSE(lists(GBM_FORMAT_ARGB8888, kYTiled));
}

TEST_F(GbmFrames, have_the_implicit_modifier_where_the_driver_uses_the_fourcc_and_knows_no_other)
{
  start();
  EXPECT_TRUE(lists(GBM_FORMAT_R8, kModImplicit));
  EXPECT_FALSE(lists(GBM_FORMAT_XRGB8888, kModImplicit)); // explicit ones are known
  EXPECT_FALSE(lists(GBM_FORMAT_ABGR8888, kModImplicit)); // not used
  EXPECT_TRUE(lists(GBM_FORMAT_ABGR8888, kModLinear));    // as rows of bytes
}

TEST_F(GbmFrames, are_refused_in_a_modifier_that_nobody_asked_for)
{
  start();
  driver.modifier = 0x0100000000000001; // X tiled
  const std::string said = refusal(xrgb(kTiledOnly));
  EXPECT_NE(said.find("chose INTEL_X_TILED"), std::string::npos) << said;
}

TEST_F(GbmFrames, are_refused_with_a_number_of_planes_that_no_frame_has)
{
  start();
  driver.modifier = kYTiled;
  for (const int planes : {-1, 0, 5}) {
    driver.planes = planes;
    const std::string said = refusal(xrgb(kTiledOnly));
    EXPECT_NE(said.find(std::to_string(planes) + " planes"), std::string::npos) << said;
  }
}

TEST_F(GbmFrames, have_one_object_for_each_dma_buf)
{
  start();
  driver.modifier = kYTiled;
  driver.planes = 3;
  for (const bool one : {true, false}) {
    driver.one_object = one;
    const auto frame = allocator->allocate(xrgb(kTiledOnly));
    ASSERT_TRUE(frame) << frame.error().message;
    EXPECT_EQ(frame->n_planes, 3U);
    EXPECT_EQ(frame->objects.size(), one ? 1U : 3U);
    EXPECT_EQ(frame->planes[2].object, one ? 0U : 2U);
  }
}

// A picture is taken as the driver makes it only where it meets the request.
TEST_F(GbmFrames, are_rows_of_bytes_where_the_strides_of_the_driver_are_not_aligned_as_asked)
{
  start();
  driver.more_stride[GBM_FORMAT_XRGB8888] = 64;
  const auto frame = allocator->allocate(xrgb(kLinearOnly));
  ASSERT_TRUE(frame) << frame.error().message;
  EXPECT_EQ(frame->planes[0].stride_bytes, 256U);
}

TEST_F(GbmFrames, are_rows_of_bytes_where_the_padding_does_not_come_out_as_asked)
{
  start();
  FrameRequest request = xrgb(kLinearOnly);
  request.padding.right = 4;
  for (const std::uint32_t more : {0U, 256U}) { // aligned, and longer than planned
    driver.more_stride[GBM_FORMAT_XRGB8888] = more;
    const auto frame = allocator->allocate(request);
    ASSERT_TRUE(frame) << frame.error().message;
    EXPECT_EQ(frame->padding.right, 4U);
    EXPECT_EQ(frame->planes[0].stride_bytes, 256U);
  }
}

TEST_F(GbmFrames, are_rows_of_bytes_where_the_picture_has_another_number_of_planes)
{
  start();
  driver.planes = 2;
  const auto frame = allocator->allocate(xrgb(kLinearOnly));
  ASSERT_TRUE(frame) << frame.error().message;
  EXPECT_EQ(frame->n_planes, 1U);
}

TEST_F(GbmFrames, with_aligned_rows_are_linear)
{
  start();
  FrameRequest request = xrgb(kTiledOnly);
  request.stride_align = 512;
  const std::string said = refusal(request);
  EXPECT_NE(said.find("LINEAR with padding or aligned rows"), std::string::npos) << said;
}

TEST_F(GbmFrames, of_impossible_sizes_do_not_reach_the_driver)
{
  start();
  const int before = driver.calls;
  FrameRequest request = xrgb(kTiledOnly);
  request.width = 0;
  EXPECT_NE(refusal(request).find("1 pixel at least"), std::string::npos);
  EXPECT_EQ(driver.calls, before);
}

TEST_F(GbmFrames, are_tried_before_the_allocator_is_there)
{
  driver.allocates = false;
  const auto opened = Gbm::open(kNode);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("cannot allocate XR24"), std::string::npos) << opened.error().message;
}

// libgbm is called by one thread at a time. The driver here has no lock, so that TSan sees two.
TEST_F(GbmFrames, come_from_several_threads)
{
  start();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++)
    threads.emplace_back([this] {
      for (int j = 0; j < 100; j++) {
        EXPECT_TRUE(allocator->allocate(xrgb(kLinearOnly)));
        EXPECT_TRUE(allocator->formats());
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(driver.buffers, 0);
}

} // namespace
