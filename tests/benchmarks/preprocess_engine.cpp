// SPDX-License-Identifier: LGPL-2.1-or-later
#include "preprocess_engine.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <drm_fourcc.h>

#include "engine/preprocess.hpp"

namespace gstdrm::bench {

using namespace gstdrm::metis;

namespace {

Preprocessor make_preprocessor()
{
  Model model;
  model.image = {TensorLayout::Nhwc,
                 ChannelOrder::Rgb,
                 Fit::Stretch,
                 {0, 0, 0},
                 {1.0F / 255, 1.0F / 255, 1.0F / 255}};
  model.input.type = TensorType::Int8;
  model.input.dims = {1, kSize, kSize, 4};
  model.input.padding = {{}, {}, {}, {0, 1}};
  model.input.quantisation = Quantisation{1.0 / 255, -128};
  auto made =
      Preprocessor::create(model, DRM_FORMAT_NV12, kWidth, kHeight, ColorMatrix::Bt709, false);
  if (!made) {
    std::fprintf(stderr, "%s\n", made.error().message.c_str());
    std::exit(EXIT_FAILURE);
  }
  return std::move(*made);
}

} // namespace

struct FourChannels::State {
  Preprocessor preprocessor;
  PictureView view;
};

FourChannels::FourChannels(const std::uint8_t *frame)
    : state_(std::make_unique<State>(State{make_preprocessor(),
                                           {DRM_FORMAT_NV12,
                                            kWidth,
                                            kHeight,
                                            {frame, frame + std::size_t{kWidth} * kHeight},
                                            {kWidth, kWidth},
                                            ColorMatrix::Bt709,
                                            false}}))
{
}

FourChannels::~FourChannels() = default;

void FourChannels::run(std::uint8_t *tensor)
{
  state_->preprocessor.run(state_->view, reinterpret_cast<std::byte *>(tensor));
}

void draw_frame(std::uint8_t *frame)
{
  for (std::uint32_t y = 0; y < kHeight * 3 / 2; ++y)
    for (std::uint32_t x = 0; x < kWidth; ++x) {
      const bool is_chroma = y >= kHeight;
      const double across = is_chroma ? x / 2 + x % 2 * 500 : x;
      *frame++ = static_cast<std::uint8_t>(128 + 70 * std::sin(across / 150 + y / 90.0));
    }
}

} // namespace gstdrm::bench
