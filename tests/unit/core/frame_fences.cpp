// SPDX-License-Identifier: LGPL-2.1-or-later
// The ioctls that a frame's fences cost: this program's own ioctl() answers in place of the kernel. Real fences are in
// tests/device/kms/kms_fences.cpp.
#include "gst/drm/core/frame_fences.hpp"

#include <cerrno>
#include <string>
#include <vector>

#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/sync_file.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "support/replace_ioctl.hpp"

namespace {

using gstdrm::FrameLayout;

// "export 3", "merge": in the order of the calls, with the dma-buf's descriptor.
std::vector<std::string> calls;
int refused_fd = -1;

int open_descriptor()
{
  return ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}

} // namespace

// Stands before the C library's.
int gstdrm::test::replaced_ioctl(int fd, unsigned long request, void *argument) noexcept
{
  if (fd == refused_fd) {
    errno = EINVAL;
    return -1;
  }
  switch (request) {
  case DMA_BUF_IOCTL_EXPORT_SYNC_FILE:
    calls.push_back("export " + std::to_string(fd));
    static_cast<dma_buf_export_sync_file *>(argument)->fd = open_descriptor();
    return 0;
  case SYNC_IOC_MERGE:
    calls.emplace_back("merge");
    static_cast<sync_merge_data *>(argument)->fence = open_descriptor();
    return 0;
  default:
    errno = ENOTTY;
    return -1;
  }
}

namespace {

struct Row {
  const char *name;
  std::vector<std::uint64_t> inodes; // of the planes; a plane's descriptor is 1000 + its number
  std::vector<std::string> exports;
};

const Row kRows[] = {
    {"no_plane", {}, {}},
    {"one_plane", {5}, {"export 1000"}},
    {"planes_in_one_dmabuf", {5, 5, 5}, {"export 1000"}},
    {"a_dmabuf_each", {5, 6}, {"export 1000", "export 1001", "merge"}},
    {"first_and_last_together", {5, 6, 5, 6}, {"export 1000", "export 1001", "merge"}},
};

FrameLayout layout_of(const Row &row)
{
  FrameLayout layout;
  layout.n_planes = row.inodes.size();
  for (std::size_t i = 0; i < row.inodes.size(); ++i) {
    layout.planes[i].fd = 1000 + static_cast<int>(i);
    layout.planes[i].object.identity = {1, row.inodes[i]};
  }
  return layout;
}

class FrameFences : public testing::TestWithParam<Row> {
protected:
  void SetUp() override
  {
    calls.clear();
    refused_fd = -1;
  }
};

TEST_P(FrameFences, one_export_for_each_dmabuf)
{
  const auto fence = gstdrm::export_writers(layout_of(GetParam()));
  ASSERT_TRUE(fence);
  EXPECT_EQ(static_cast<bool>(*fence), !GetParam().inodes.empty());
  EXPECT_EQ(calls, GetParam().exports);
}

INSTANTIATE_TEST_SUITE_P(Rows, FrameFences, testing::ValuesIn(kRows),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(FrameFencesRefused, first_refusal_ends_it)
{
  const Row row{"", {5, 6, 7}, {}};
  refused_fd = 1001;
  calls.clear();
  const auto fence = gstdrm::export_writers(layout_of(row));
  ASSERT_FALSE(fence);
  EXPECT_NE(fence.error().message.find("EINVAL"), std::string::npos) << fence.error().message;
  EXPECT_EQ(calls, std::vector<std::string>{"export 1000"});
}

} // namespace
