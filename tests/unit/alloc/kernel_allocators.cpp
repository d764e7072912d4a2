// SPDX-License-Identifier: LGPL-2.1-or-later
// What dumb buffers, udmabufs and dma-heaps ask of the kernel, and what is said of each refusal. The
// calls are the program's own: a real kernel refuses none of them on demand.
#include <cerrno>
#include <cstdarg>
#include <map>
#include <string>

#include <drm_fourcc.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <xf86drm.h>
#include <xf86drmMode.h>

#include <gst/drm/alloc/byte_allocators.hpp>
#include <gst/drm/alloc/drm_allocators.hpp>

using namespace gstdrm;

namespace {

constexpr const char *kCard = "/dev/dri/card250"; // exists in this program alone
constexpr const char *kUdmabuf = "/dev/udmabuf";
constexpr const char *kHeap = "/dev/dma_heap/test";

struct Kernel {
  // by path: how it is opened (0: it works), and what it is
  std::map<std::string, int> open_errno;
  mode_t heap_type = S_IFCHR;
  unsigned card_major = 226; // DRM_MAJOR
  std::map<std::string, int> opened_with;
  // DRM
  std::map<std::uint64_t, std::uint64_t> caps = {{DRM_CAP_DUMB_BUFFER, 1}, {DRM_CAP_PRIME, DRM_PRIME_CAP_EXPORT}};
  int create_errno = 0;
  int export_errno = 0;
  unsigned exported_with = 0;
  int handles = 0;
  bool is_master = true;
  // udmabuf and dma-heap
  int ioctl_errno = 0;
  int interruptions = 0;
  udmabuf_create created = {};
  int seals = 0;
  dma_heap_allocation_data allocated = {};
};
Kernel kernel;

int new_memory(std::uint64_t bytes)
{
  const int fd = memfd_create("memory", MFD_CLOEXEC);
  EXPECT_EQ(ftruncate(fd, static_cast<off_t>(bytes)), 0);
  return fd;
}

int fail(int sys_errno)
{
  errno = sys_errno;
  return -1;
}

} // namespace

// --- libdrm --------------------------------------------------------------------------------------

int drmGetCap(int, std::uint64_t capability, std::uint64_t *value)
{
  *value = kernel.caps[capability];
  return 0;
}
int drmModeCreateDumbBuffer(int, std::uint32_t width, std::uint32_t height, std::uint32_t bpp, std::uint32_t,
                            std::uint32_t *handle, std::uint32_t *pitch, std::uint64_t *size)
{
  if (kernel.create_errno)
    return -kernel.create_errno;
  *handle = static_cast<std::uint32_t>(++kernel.handles);
  *pitch = width * bpp / 8;
  *size = std::uint64_t{*pitch} * height;
  return 0;
}
int drmModeDestroyDumbBuffer(int, std::uint32_t)
{
  kernel.handles--;
  return 0;
}
int drmPrimeHandleToFD(int, std::uint32_t, std::uint32_t flags, int *fd)
{
  kernel.exported_with = flags;
  if (kernel.export_errno)
    return fail(kernel.export_errno);
  *fd = new_memory(1 << 20);
  return 0;
}
int drmIsMaster(int)
{
  return kernel.is_master;
}
int drmDropMaster(int)
{
  kernel.is_master = false;
  return 0;
}

// --- the C library -------------------------------------------------------------------------------

extern "C" int stat(const char *path, struct stat *st) noexcept
{
  const std::string name(path);
  if (name != kCard && name != kHeap)
    return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, st, 0));
  *st = {};
  st->st_mode = (name == kHeap ? kernel.heap_type : S_IFCHR) | 0600;
  st->st_rdev = makedev(kernel.card_major, 250);
  return 0;
}

extern "C" int open(const char *path, int flags, ...)
{
  const std::string name(path);
  if (name != kCard && name != kHeap && name != kUdmabuf)
    return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, 0600));
  kernel.opened_with[name] = flags;
  if (kernel.open_errno[name])
    return fail(kernel.open_errno[name]);
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC));
}

extern "C" int ioctl(int, unsigned long request, ...) noexcept
{
  va_list list;
  va_start(list, request);
  void *argument = va_arg(list, void *);
  va_end(list);
  if (kernel.interruptions > 0) {
    kernel.interruptions--;
    return fail(EINTR);
  }
  if (kernel.ioctl_errno)
    return fail(kernel.ioctl_errno);
  if (request == UDMABUF_CREATE) {
    kernel.created = *static_cast<udmabuf_create *>(argument);
    kernel.seals = fcntl(static_cast<int>(kernel.created.memfd), F_GET_SEALS);
    return new_memory(kernel.created.size);
  }
  auto *data = static_cast<dma_heap_allocation_data *>(argument);
  kernel.allocated = *data;
  data->fd = static_cast<__u32>(new_memory(data->len));
  return 0;
}

namespace {

constexpr std::uint64_t kLinear = kModLinear;
constexpr std::uint64_t kYTiled = 0x0100000000000002; // I915_FORMAT_MOD_Y_TILED

class KernelAllocators : public testing::Test {
protected:
  KernelAllocators() { kernel = Kernel(); }
  ~KernelAllocators() override { EXPECT_EQ(kernel.handles, 0); } // of dumb buffers
};

using Opened = Result<std::unique_ptr<FrameAllocator>>;

void expect_refusal(const Opened &opened, const char *says)
{
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find(says), std::string::npos) << opened.error().message;
}

FrameRequest request_for(const std::uint64_t &modifier)
{
  return {DRM_FORMAT_XRGB8888, 64, 48, std::span(&modifier, 1), {}, 1};
}

// --- dumb buffers --------------------------------------------------------------------------------

TEST_F(KernelAllocators, dumb_needs_a_device_with_both_capabilities)
{
  kernel.caps[DRM_CAP_DUMB_BUFFER] = 0;
  expect_refusal(DumbAllocator::open(kCard), "makes no dumb buffers");
  kernel.caps[DRM_CAP_DUMB_BUFFER] = 1;
  kernel.caps[DRM_CAP_PRIME] = DRM_PRIME_CAP_IMPORT;
  expect_refusal(DumbAllocator::open(kCard), "no PRIME");
}

TEST_F(KernelAllocators, dumb_makes_a_first_buffer_when_it_is_opened)
{
  kernel.create_errno = ENOMEM;
  const auto opened = DumbAllocator::open(kCard);
  expect_refusal(opened, "refused a dumb buffer of 16 rows");
  EXPECT_EQ(opened.error().sys_errno, ENOMEM);
}

TEST_F(KernelAllocators, dumb_keeps_no_handle)
{
  const auto opened = DumbAllocator::open(kCard);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(kernel.handles, 0);
  EXPECT_TRUE((*opened)->allocate(request_for(kLinear)));
  EXPECT_EQ(kernel.handles, 0);
  kernel.export_errno = EMFILE;
  const auto refused = (*opened)->allocate(request_for(kLinear));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().sys_errno, EMFILE);
}

TEST_F(KernelAllocators, dumb_is_linear)
{
  const auto opened = DumbAllocator::open(kCard);
  ASSERT_TRUE(opened) << opened.error().message;
  const auto refused = (*opened)->allocate(request_for(kYTiled));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("LINEAR only"), std::string::npos) << refused.error().message;
}

// Mapped for writing, not inherited by programs, and not in the way of a display server.
TEST_F(KernelAllocators, nodes_and_exports_have_the_right_flags)
{
  ASSERT_TRUE(DumbAllocator::open(kCard));
  EXPECT_EQ(kernel.exported_with, unsigned{DRM_CLOEXEC | DRM_RDWR});
  EXPECT_EQ(kernel.opened_with[kCard] & (O_ACCMODE | O_CLOEXEC), O_RDWR | O_CLOEXEC);
  EXPECT_FALSE(kernel.is_master);
}

TEST_F(KernelAllocators, what_is_no_drm_device_is_not_opened)
{
  kernel.card_major = 1; // /dev/mem and others
  expect_refusal(DumbAllocator::open(kCard), "is no DRM device");
  EXPECT_EQ(kernel.opened_with.count(kCard), 0U);
}

TEST_F(KernelAllocators, a_node_that_is_denied_says_which_group_helps)
{
  for (const int denied : {EACCES, EPERM}) {
    kernel.open_errno[kCard] = denied;
    expect_refusal(DumbAllocator::open(kCard), "group video or render");
  }
}

// --- udmabuf -------------------------------------------------------------------------------------

TEST_F(KernelAllocators, udmabuf_gets_whole_sealed_pages_and_is_not_inherited)
{
  const auto opened = UdmabufAllocator::open();
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(kernel.opened_with[kUdmabuf] & (O_ACCMODE | O_CLOEXEC), O_RDWR | O_CLOEXEC);
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const auto object = (*opened)->allocate_bytes(page + 1);
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_EQ(object->size_bytes, 2 * page);
  EXPECT_EQ(kernel.created.size, 2 * page);
  EXPECT_EQ(kernel.created.offset, 0U);
  EXPECT_EQ(kernel.created.flags, unsigned{UDMABUF_FLAGS_CLOEXEC});
  EXPECT_EQ(kernel.seals & (F_SEAL_SHRINK | F_SEAL_WRITE), F_SEAL_SHRINK); // drivers/dma-buf/udmabuf.c
}

TEST_F(KernelAllocators, udmabuf_makes_a_first_buffer_when_it_is_opened)
{
  kernel.ioctl_errno = ENOMEM;
  const auto opened = UdmabufAllocator::open();
  expect_refusal(opened, "udmabuf refused a buffer of");
  EXPECT_EQ(opened.error().sys_errno, ENOMEM);
}

struct OpenRow {
  const char *name;
  int sys_errno;
  const char *udmabuf;
  const char *heap;
};
constexpr OpenRow kOpenRows[] = {
    {"is_missing", ENOENT, "modprobe udmabuf", "heaps here: "},
    {"is_denied", EACCES, "group kvm", "group video"},
    {"is_not_permitted", EPERM, "group kvm", "group video"},
    {"is_out_of_descriptors", EMFILE, "EMFILE", "EMFILE"},
};
class Nodes : public KernelAllocators, public testing::WithParamInterface<OpenRow> {};

TEST_P(Nodes, that_cannot_be_opened_say_what_helps)
{
  const OpenRow &row = GetParam();
  kernel.open_errno[kUdmabuf] = kernel.open_errno[kHeap] = row.sys_errno;
  expect_refusal(UdmabufAllocator::open(), row.udmabuf);
  const auto heap = DmaHeapAllocator::open("test");
  expect_refusal(heap, row.heap);
  EXPECT_EQ(heap.error().sys_errno, row.sys_errno);
}
INSTANTIATE_TEST_SUITE_P(All, Nodes, testing::ValuesIn(kOpenRows), [](const auto &info) { return std::string(info.param.name); });

// --- dma-heap ------------------------------------------------------------------------------------

TEST_F(KernelAllocators, a_heap_is_asked_for_writable_memory_that_is_not_inherited)
{
  const auto opened = DmaHeapAllocator::open(kHeap);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(kernel.opened_with[kHeap] & (O_ACCMODE | O_CLOEXEC), O_RDWR | O_CLOEXEC);
  kernel.interruptions = 3; // by signals
  const auto object = (*opened)->allocate_bytes(1);
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_EQ(kernel.allocated.len, static_cast<__u64>(sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(kernel.allocated.fd_flags, unsigned{O_RDWR | O_CLOEXEC});
}

TEST_F(KernelAllocators, a_heap_is_no_path_elsewhere_and_no_file)
{
  for (const char *name : {"../udmabuf", "a/b", "..", "."})
    expect_refusal(DmaHeapAllocator::open(name), "is no name of a dma-heap");
  kernel.heap_type = S_IFREG;
  const auto opened = DmaHeapAllocator::open("test");
  expect_refusal(opened, "Cannot open the dma-heap");
  EXPECT_EQ(opened.error().sys_errno, ENODEV);
  EXPECT_EQ(kernel.opened_with.count(kHeap), 0U);
}

TEST_F(KernelAllocators, a_heap_makes_a_first_buffer_when_it_is_opened)
{
  kernel.ioctl_errno = ENOMEM;
  expect_refusal(DmaHeapAllocator::open("test"), "out of memory");
  kernel.ioctl_errno = EINVAL;
  expect_refusal(DmaHeapAllocator::open("test"), "EINVAL");
}

} // namespace
