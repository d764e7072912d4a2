// SPDX-License-Identifier: LGPL-2.1-or-later
// The other ways from a frame to a tensor that are timed beside ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace gstdrm::bench {

// NV12 without gaps.
struct Frame {
  std::uint32_t width, height;
  std::vector<std::uint8_t> bytes;
  [[nodiscard]] const std::uint8_t *luma() const { return bytes.data(); }
  [[nodiscard]] const std::uint8_t *chroma() const
  {
    return bytes.data() + std::size_t{width} * height;
  }
};

// q = channel * slope + offset, rounded and limited to int8
struct Quantise {
  double slope, offset;
};

// The loop after a converter that gives RGB bytes, as one would write it: a table of 256 values
// where the layout is the same; for a slope of 1 the subtraction that compilers vectorise. The
// fourth channel, where there is one, is -128.
void quantise_rgb(const std::uint8_t *rgb, std::size_t stride, std::size_t size,
                  const Quantise &quantise, bool planar, std::size_t channels, std::int8_t *tensor);

// cvtColorTwoPlane, resize, and convertTo, which scales and quantises at once; to planes by split,
// to four channels by cvtColor. One thread. ScaleFirst scales the planes, chroma to half of the
// tensor's size (so that less is converted, from a quarter of the chroma samples that ours takes).
enum class OpenCvOrder { ConvertFirst, ScaleFirst };
class OpenCvWay {
public:
  virtual ~OpenCvWay() = default;
  virtual void run(std::int8_t *tensor) = 0;
};
std::unique_ptr<OpenCvWay> make_opencv_way(const Frame &frame, std::uint32_t size,
                                           const Quantise &quantise, bool planar,
                                           std::size_t channels, OpenCvOrder order);

} // namespace gstdrm::bench
