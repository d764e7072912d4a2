// SPDX-License-Identifier: LGPL-2.1-or-later
#include "egl_setup.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

namespace gstdrm::test {

void open_device(EglPlatform platform)
{
  // its thread opens files at any time, which counts of descriptors would see
  setenv("MESA_SHADER_CACHE_DISABLE", "true", 1);
  std::string why_not;
  setup.context = EglContext::make({.platform = platform, .gles_version = 3}, why_not);
  fail_unless(setup.context != nullptr, "%s", why_not.c_str());
  auto device = egl::Device::open(setup.context->calls(), setup.context->display());
  fail_unless(static_cast<bool>(device), "%s", device ? "" : device.error().message.c_str());
  setup.device = *device;
  setup.sampler = std::make_unique<Sampler>(*setup.device);
  say(setup.device->driver().describe());
}

void close_device()
{
  setup.sampler.reset();
  setup.device.reset();
  setup.context.reset();
}

bool imports(const FrameLayout &layout)
{
  const std::string &refusal = setup.device->import_refusal();
  if (refusal.empty())
    return true;
  say("not imported here: " + refusal);
  for (const egl::Shape shape : {egl::Shape::OneImage, egl::Shape::PerPlane}) {
    if (shape == egl::Shape::PerPlane && !fourcc_is_yuv(layout.format.fourcc))
      continue;
    const auto frame = egl::import_frame(setup.device, layout, shape, {});
    fail_unless(!frame);
    fail_unless(frame.error().code == ErrorCode::Unsupported);
    fail_unless(frame.error().message.find(refusal) != std::string::npos, "%s",
                frame.error().message.c_str());
  }
  return false;
}

std::shared_ptr<const egl::ImportedFrame> import(const FrameLayout &layout, egl::Shape shape,
                                                 const egl::ColorHints &hints)
{
  auto frame = egl::import_frame(setup.device, layout, shape, hints);
  fail_unless(static_cast<bool>(frame), "%s", frame ? "" : frame.error().message.c_str());
  return *frame;
}

Difference difference(const std::vector<float> &seen, const PatternFrame &frame,
                      const YuvMatrix &matrix)
{
  Difference result;
  const FrameLayout &layout = frame.layout();
  for (std::uint32_t y = 0; y < layout.height; y++) {
    for (std::uint32_t x = 0; x < layout.width; x++) {
      if (!frame.is_flat(x, y))
        continue;
      const Rgba expected = frame.expected(x, y, matrix);
      for (unsigned c = 0; c < 4; c++) {
        const double value = 255.0 * seen[4 * (std::size_t{y} * layout.width + x) + c];
        const double distance = std::abs(std::clamp(value, 0.0, 255.0) - expected[c]);
        result.largest = std::max(result.largest, distance);
        result.compared++;
      }
    }
  }
  return result;
}

} // namespace gstdrm::test
