// SPDX-License-Identifier: LGPL-2.1-or-later
// What the allocators log of the decisions that they make by themselves.
#include <cerrno>

#include <fcntl.h>
#include <gtest/gtest.h>

#include "alloc/limited.hpp"
#include "alloc/open_allocator.hpp"
#include "support/log_lines.hpp"

namespace {

using namespace gstdrm;
using gstdrm::test::LogLines;

struct OpenRow {
  const char *name;
  AllocatorKind kind;
  const char *device;
  std::vector<const char *> lines;
};

void PrintTo(const OpenRow &row, std::ostream *out) { *out << row.name; }

class OpenLog : public testing::TestWithParam<OpenRow> {};

TEST_P(OpenLog, tells_each_kind_that_was_tried)
{
  const LogLines log(LogLevel::Debug);
  (void)open_allocator(GetParam().kind, GetParam().device);
  for (const char *line : GetParam().lines)
    EXPECT_TRUE(LogLines::has(line)) << "no '" << line << "' in\n" << LogLines::all();
}

INSTANTIATE_TEST_SUITE_P(
    Devices, OpenLog,
    testing::Values(
        OpenRow{"memfd", AllocatorKind::Memfd, "", {"5 chose the allocator memfd () of 1 kinds"}},
        OpenRow{"no_drm_device",
                AllocatorKind::Auto,
                "/dev/null",
                {"5 no dumb buffers: /dev/null is no DRM device", "5 the allocator dumb cannot be used: /dev/null",
                 "5 the allocator gbm cannot be used: "}},
        OpenRow{"no_such_heap",
                AllocatorKind::DmaHeap,
                "there-is-no-such-heap",
                {"5 Cannot open the dma-heap /dev/dma_heap/there-is-no-such-heap: ENOENT",
                 "5 the allocator dma-heap cannot be used: "}},
        OpenRow{"a_kind_without_devices",
                AllocatorKind::Memfd,
                "/dev/null",
                {"5 the allocator memfd cannot be used: The allocator memfd takes no device"}}),
    [](const auto &info) { return std::string(info.param.name); });

// Refuses everything, as udmabuf refuses a size beyond its limit; or nothing.
class Fake final : public ByteAllocator {
public:
  Fake(const char *name, bool refuses) : ByteAllocator(name, "/dev/null"), refuses_(refuses) {}
  Result<FrameObject> allocate_bytes(std::uint64_t size_bytes) override
  {
    if (refuses_)
      return Error{ErrorCode::Allocation, name() + " refused it", EINVAL};
    return FrameObject{UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)), size_bytes};
  }

private:
  bool refuses_;
};

TEST(LimitedLog, tells_who_makes_what_the_first_refused)
{
  LimitedAllocator allocator(std::make_unique<Fake>("small", true), []() -> Result<std::unique_ptr<FrameAllocator>> {
    return std::unique_ptr<FrameAllocator>(std::make_unique<Fake>("large", false));
  });
  const LogLines log(LogLevel::Log);
  ASSERT_TRUE(allocator.allocate_bytes(8192));
  EXPECT_TRUE(LogLines::has("6 8192 bytes come from large, as small refused them")) << LogLines::all();
}

} // namespace
