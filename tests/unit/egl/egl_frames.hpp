// SPDX-License-Identifier: LGPL-2.1-or-later
// A fake driver with a device on it, and frames in memfds for them.
#pragma once

#include <memory>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/frame_layout.hpp"
#include "core/unique_fd.hpp"
#include "engine/egl_image.hpp"
#include "fake_egl.hpp"

namespace gstdrm::test {

// Its descriptors live as long as it does.
struct MemfdFrame {
  FrameLayout layout;
  std::vector<UniqueFd> memory;

  // The plane i lies in the object `objects[i]`.
  MemfdFrame(Format format, std::uint32_t width, std::uint32_t height,
             const std::vector<PlaneLayout> &planes, const std::vector<std::size_t> &objects)
  {
    layout.format = format;
    layout.width = width;
    layout.height = height;
    layout.n_planes = planes.size();
    for (std::size_t i = 0; i < planes.size(); i++) {
      while (memory.size() <= objects[i])
        add_memory();
      layout.planes[i] = planes[i];
      layout.planes[i].fd = memory[objects[i]].get();
      layout.planes[i].object = *query_object(layout.planes[i].fd);
    }
  }

  // Linear, in one object.
  MemfdFrame(std::uint32_t fourcc, std::uint32_t width, std::uint32_t height,
             std::uint32_t stride_align = 1)
  {
    std::uint64_t size = 0;
    layout = *make_linear_layout(fourcc, width, height, stride_align, 1, size);
    add_memory();
    for (std::size_t i = 0; i < layout.n_planes; i++) {
      layout.planes[i].fd = memory[0].get();
      layout.planes[i].object = *query_object(memory[0].get());
    }
  }

private:
  void add_memory()
  {
    memory.emplace_back(::memfd_create("frame", MFD_CLOEXEC));
    if (!memory.back() || ::ftruncate(memory.back().get(), 16 << 20) != 0)
      ADD_FAILURE() << "no memfd";
  }
};

// Nothing may be alive when a test is over.
class WithDevice : public testing::Test {
protected:
  void SetUp() override
  {
    driver_.load_table("amd-navi31");
    open();
  }

  void TearDown() override
  {
    EXPECT_EQ(driver_.alive(), 0U);
    EXPECT_EQ(driver_.double_frees, 0U);
    EXPECT_EQ(driver_.take_gl_error(), unsigned{GL_NO_ERROR});
  }

  // Anew, after the driver was changed.
  void open()
  {
    const auto device = egl::Device::open(driver_.calls(), driver_.display());
    ASSERT_TRUE(device) << device.error().message;
    device_ = *device;
    driver_.forget_calls();
  }

  FakeEgl driver_;
  std::shared_ptr<egl::Device> device_;
};

} // namespace gstdrm::test
