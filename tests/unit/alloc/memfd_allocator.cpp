// SPDX-License-Identifier: LGPL-2.1-or-later
// Memory from memfd_create(2): what seals it has, that its pages are there, and what is said where
// it cannot be had. And what every allocator says of itself.
#include <cerrno>
#include <csignal>
#include <string>
#include <vector>

#include <drm_fourcc.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gst/drm/alloc/byte_allocators.hpp>

using namespace gstdrm;

namespace {

constexpr unsigned kNoExecSealFlag = 0x0008; // MFD_NOEXEC_SEAL, Linux 6.3
constexpr int kExecSeal = 0x0020;            // F_SEAL_EXEC

class Memfd : public testing::Test {
protected:
  Memfd()
  {
    auto opened = MemfdAllocator::open();
    EXPECT_TRUE(opened);
    allocator = std::move(*opened);
  }
  std::unique_ptr<FrameAllocator> allocator;
  const std::uint64_t page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
};

TEST_F(Memfd, can_neither_shrink_nor_grow)
{
  const auto object = allocator->allocate_bytes(page);
  ASSERT_TRUE(object) << object.error().message;
  const int fd = object->fd.get();
  EXPECT_EQ(fcntl(fd, F_GET_SEALS) & (F_SEAL_SHRINK | F_SEAL_GROW), F_SEAL_SHRINK | F_SEAL_GROW);
  EXPECT_EQ(fcntl(fd, F_GET_SEALS) & F_SEAL_WRITE, 0);
  for (const off_t size : {off_t{0}, static_cast<off_t>(2 * page)}) {
    EXPECT_EQ(ftruncate(fd, size), -1);
    EXPECT_EQ(errno, EPERM);
  }
  EXPECT_NE(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(Memfd, cannot_be_run_where_the_kernel_knows_that_seal)
{
  const UniqueFd probe(memfd_create("probe", MFD_CLOEXEC | kNoExecSealFlag));
  const auto object = allocator->allocate_bytes(page);
  ASSERT_TRUE(object);
  EXPECT_EQ((fcntl(object->fd.get(), F_GET_SEALS) & kExecSeal) != 0, static_cast<bool>(probe));
}

TEST_F(Memfd, has_whole_pages_and_has_them_at_once)
{
  const std::uint64_t sizes[][2] = {
      {1, 1}, {page - 1, 1}, {page, 1}, {page + 1, 2}, {10 * page, 10}};
  for (const auto &[asked, pages] : sizes) {
    const auto object = allocator->allocate_bytes(asked);
    ASSERT_TRUE(object);
    EXPECT_EQ(object->size_bytes, pages * page) << asked;
    struct stat facts {};
    ASSERT_EQ(fstat(object->fd.get(), &facts), 0);
    EXPECT_EQ(static_cast<std::uint64_t>(facts.st_size), pages * page);
    EXPECT_GE(static_cast<std::uint64_t>(facts.st_blocks) * 512,
              pages * page); // stat(2): blocks of 512
  }
}

TEST_F(Memfd, says_what_is_used_up)
{
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  struct sigaction old {
  }, ignore{};
  ignore.sa_handler = SIG_IGN; // of SIGXFSZ, which would end the program
  sigaction(SIGXFSZ, &ignore, &old);
  const rlimit small = {page, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto large = allocator->allocate_bytes(3 * page);
  const auto fits = allocator->allocate_bytes(page);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  sigaction(SIGXFSZ, &old, nullptr);
  EXPECT_TRUE(fits);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().sys_errno, EFBIG);
  EXPECT_EQ(large.error().code, ErrorCode::Allocation);
  EXPECT_NE(large.error().message.find(std::to_string(3 * page)), std::string::npos)
      << large.error().message;
}

TEST_F(Memfd, refuses_other_layouts_by_its_name)
{
  const std::uint64_t tiled = I915_FORMAT_MOD_X_TILED;
  FrameRequest request;
  request.fourcc = DRM_FORMAT_NV12;
  request.width = request.height = 64;
  request.modifiers = std::span(&tiled, 1);
  const auto frame = allocator->allocate(request);
  ASSERT_FALSE(frame);
  EXPECT_EQ(frame.error().message.find("memfd can allocate NV12 as LINEAR only"), 0U)
      << frame.error().message;
}

// An allocator that makes pictures alone, of this name and device.
class Named final : public FrameAllocator {
public:
  Named(const char *name, const char *device) : FrameAllocator(name, device) {}
  Result<AllocatedFrame> allocate(const FrameRequest &) override
  {
    return Error{ErrorCode::Allocation, "", 0};
  }
};

TEST(Label, names_the_device_where_it_says_more)
{
  struct Row {
    const char *name, *device, *label;
  };
  const Row rows[] = {
      {"dumb", "/dev/dri/card0", "dumb (/dev/dri/card0) makes pictures only"},
      {"dumb", "", "dumb makes pictures only"},
      {"system", "system", "system makes pictures only"},
  };
  for (const Row &row : rows) {
    Named allocator(row.name, row.device);
    const auto bytes = allocator.allocate_bytes(123);
    ASSERT_FALSE(bytes);
    EXPECT_EQ(bytes.error().code, ErrorCode::Unsupported);
    EXPECT_EQ(bytes.error().message.find(row.label), 0U) << bytes.error().message;
    EXPECT_NE(bytes.error().message.find("123"), std::string::npos);
  }
}

TEST(ModifierList, is_cut_behind_the_16th)
{
  const std::vector<std::uint64_t> many(17, I915_FORMAT_MOD_X_TILED);
  EXPECT_EQ(describe_modifiers(std::span(many).first(16)).find("more"), std::string::npos);
  EXPECT_NE(describe_modifiers(many).find(" and 1 more"), std::string::npos);
}

} // namespace
