// SPDX-License-Identifier: LGPL-2.1-or-later
// What the tests of Painter draw from and into, on a fake driver.
#pragma once

#include <drm_fourcc.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/unique_fd.hpp"
#include "engine/gl_draw.hpp"
#include "fake_egl.hpp"

namespace gstdrm::test {

// A frame in a memfd, which no driver that is not a fake would import.
class DrawFrame {
public:
  DrawFrame(std::uint32_t fourcc, std::uint32_t width, std::uint32_t height)
      : fd_(::memfd_create("frame", MFD_CLOEXEC))
  {
    std::uint64_t size = 0;
    auto made = make_linear_layout(fourcc, width, height, 256, 256, size);
    if (!made || ::ftruncate(fd_.get(), static_cast<off_t>(size)) != 0) {
      ADD_FAILURE() << "no frame";
      return;
    }
    layout = *made;
    const auto object = query_object(fd_.get());
    for (std::size_t i = 0; i < layout.n_planes && object; i++) {
      layout.planes[i].fd = fd_.get();
      layout.planes[i].object = *object;
    }
  }
  FrameLayout layout;

private:
  UniqueFd fd_;
};

class Draw : public testing::Test {
protected:
  Draw()
  {
    for (const std::uint32_t fourcc :
         {DRM_FORMAT_XRGB8888, DRM_FORMAT_R8, DRM_FORMAT_GR88, DRM_FORMAT_R16, DRM_FORMAT_GR1616})
      driver_.formats.push_back({fourcc, {{kModLinear, false}}});
  }
  std::shared_ptr<egl::Device> open()
  {
    auto device = egl::Device::open(driver_.calls(), driver_.display());
    if (!device)
      ADD_FAILURE() << device.error().message;
    return device ? *device : nullptr;
  }
  // What GStreamer would draw from, and what a copy is not enough for.
  egl::Picture picture()
  {
    egl::Picture made;
    made.flip = true;
    driver_.calls().gl.gen_textures(1, &made.texture);
    driver_.calls().gl.bind_texture(GL_TEXTURE_2D, made.texture);
    driver_.calls().gl.bind_texture(GL_TEXTURE_2D, 0);
    return made;
  }
  // Less the picture's texture, which is GStreamer's.
  unsigned alive() const { return driver_.alive() - 1; }
  FakeEgl driver_;
};

} // namespace gstdrm::test
