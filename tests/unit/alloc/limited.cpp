// SPDX-License-Identifier: LGPL-2.1-or-later
// The allocator that steps aside beyond a limit, over two that only count.
#include "alloc/limited.hpp"

#include <cerrno>

#include <fcntl.h>
#include <gtest/gtest.h>

namespace {

using namespace gstdrm;

// Makes anything up to a limit, and refuses the rest with this errno.
class Fake final : public ByteAllocator {
public:
  Fake(const char *name, std::uint64_t limit_bytes, int sys_errno, int &made)
      : ByteAllocator(name, std::string("/dev/") + name), limit_bytes_(limit_bytes),
        errno_(sys_errno), made_(made)
  {
  }
  Result<FrameObject> allocate_bytes(std::uint64_t size_bytes) override
  {
    if (size_bytes > limit_bytes_)
      return Error{ErrorCode::Allocation, name() + " refused " + std::to_string(size_bytes),
                   errno_};
    ++made_;
    return FrameObject{UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)), size_bytes};
  }

private:
  std::uint64_t limit_bytes_;
  int errno_;
  int &made_;
};

constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

struct Made {
  int first = 0;
  int second = 0;
  int opened = 0;
};

LimitedAllocator make(Made &made, int first_errno, std::uint64_t second_limit)
{
  return LimitedAllocator(std::make_unique<Fake>("small", 64, first_errno, made.first),
                          [&made, second_limit]() -> Result<std::unique_ptr<FrameAllocator>> {
                            ++made.opened;
                            return std::unique_ptr<FrameAllocator>(
                                std::make_unique<Fake>("large", second_limit, ENOMEM, made.second));
                          });
}

TEST(Limited, StaysOnTheFirstWithinTheLimit)
{
  Made made;
  LimitedAllocator allocator = make(made, EINVAL, kNoLimit);
  EXPECT_TRUE(allocator.allocate_bytes(64));
  EXPECT_EQ(made.first, 1);
  EXPECT_EQ(made.opened, 0);
  EXPECT_EQ(allocator.notice(), "");
  EXPECT_EQ(allocator.name(), "small");
  EXPECT_EQ(allocator.device(), "/dev/small");
}

TEST(Limited, TakesTheSecondBeyondIt)
{
  Made made;
  LimitedAllocator allocator = make(made, EINVAL, kNoLimit);
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(allocator.allocate_bytes(65));
  EXPECT_TRUE(allocator.allocate_bytes(10));
  EXPECT_EQ(made.first, 1);
  EXPECT_EQ(made.second, 3);
  EXPECT_EQ(made.opened, 1);
  EXPECT_EQ(allocator.notice(),
            "small refused 65. Such buffers come from large (/dev/large) instead");
}

TEST(Limited, OtherErrorsAreNoLimit)
{
  Made made;
  LimitedAllocator allocator = make(made, ENOMEM, kNoLimit);
  const auto object = allocator.allocate_bytes(65);
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error().message, "small refused 65");
  EXPECT_EQ(made.opened, 0);
}

TEST(Limited, BothRefusalsAreSaid)
{
  Made made;
  LimitedAllocator allocator = make(made, EINVAL, 100);
  const auto object = allocator.allocate_bytes(101);
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error().message, "small refused 101. large refused 101");
  EXPECT_EQ(object.error().sys_errno, ENOMEM);
  EXPECT_EQ(allocator.notice(), "");
}

TEST(Limited, WithoutASecondTheFirstSpeaks)
{
  Made made;
  LimitedAllocator allocator(std::make_unique<Fake>("small", 64, EINVAL, made.first),
                             []() -> Result<std::unique_ptr<FrameAllocator>> {
                               return Error{ErrorCode::Device, "There is no large"};
                             });
  const auto object = allocator.allocate_bytes(65);
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error().message, "small refused 65. Nothing takes its place: There is no large");
}

} // namespace
