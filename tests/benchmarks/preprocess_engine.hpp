// SPDX-License-Identifier: LGPL-2.1-or-later
// The CPU's part of bench-preprocess-gl, in a file of its own: the engines of two plugins have
// headers of the same path.
#pragma once

#include <cstdint>
#include <memory>

namespace gstdrm::bench {

inline constexpr std::uint32_t kWidth = 1920; // NV12, without gaps
inline constexpr std::uint32_t kHeight = 1080;
inline constexpr std::uint32_t kSize = 640; // of the tensor

// Smooth, so that two ways can be compared.
void draw_frame(std::uint8_t *frame);

class FourChannels {
public:
  explicit FourChannels(const std::uint8_t *frame);
  FourChannels(const FourChannels &) = delete;
  FourChannels &operator=(const FourChannels &) = delete;
  ~FourChannels();
  void run(std::uint8_t *tensor);

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace gstdrm::bench
