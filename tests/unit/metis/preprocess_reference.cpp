// SPDX-License-Identifier: LGPL-2.1-or-later
#include "preprocess_reference.hpp"

#include <algorithm>
#include <cmath>

#include <drm_fourcc.h>

#include <gst/drm/core/drm_facts.hpp>

namespace gstdrm::metis::reference {

namespace {

// A plane's samples of one kind.
struct Samples {
  const std::uint8_t *base;
  std::int64_t stride, step, width, height;
  int bits = 8; // more: in two bytes, the low one first
  [[nodiscard]] double at(std::int64_t x, std::int64_t y) const
  {
    const std::uint8_t *place = base + std::min(y, height - 1) * stride + std::min(x, width - 1) * step;
    if (bits == 8)
      return *place;
    const double levels = (place[0] + 256.0 * place[1]) / std::exp2(bits - 8);
    return std::min(std::floor(levels + 0.5), 255.0);
  }
};

// One component: its plane, and the bytes to its first and from one to the next.
struct Component {
  std::size_t plane;
  std::int64_t first, step;
};

struct YuvFormat {
  std::uint32_t fourcc;
  std::int64_t across, down; // pixels of a sample of Cb and Cr; 0: there is none
  Component y, cb, cr;
  int bits = 8;
};

constexpr YuvFormat kYuv[] = {
    {DRM_FORMAT_NV12, 2, 2, {0, 0, 1}, {1, 0, 2}, {1, 1, 2}},
    {DRM_FORMAT_NV21, 2, 2, {0, 0, 1}, {1, 1, 2}, {1, 0, 2}},
    {DRM_FORMAT_NV16, 2, 1, {0, 0, 1}, {1, 0, 2}, {1, 1, 2}},
    {DRM_FORMAT_NV61, 2, 1, {0, 0, 1}, {1, 1, 2}, {1, 0, 2}},
    {DRM_FORMAT_NV24, 1, 1, {0, 0, 1}, {1, 0, 2}, {1, 1, 2}},
    {DRM_FORMAT_YUV420, 2, 2, {0, 0, 1}, {1, 0, 1}, {2, 0, 1}},
    {DRM_FORMAT_YVU420, 2, 2, {0, 0, 1}, {2, 0, 1}, {1, 0, 1}},
    {DRM_FORMAT_YUV422, 2, 1, {0, 0, 1}, {1, 0, 1}, {2, 0, 1}},
    {DRM_FORMAT_YUV444, 1, 1, {0, 0, 1}, {1, 0, 1}, {2, 0, 1}},
    {DRM_FORMAT_YUYV, 2, 1, {0, 0, 2}, {0, 1, 4}, {0, 3, 4}},
    {DRM_FORMAT_YVYU, 2, 1, {0, 0, 2}, {0, 3, 4}, {0, 1, 4}},
    {DRM_FORMAT_UYVY, 2, 1, {0, 1, 2}, {0, 0, 4}, {0, 2, 4}},
    {DRM_FORMAT_VYUY, 2, 1, {0, 1, 2}, {0, 2, 4}, {0, 0, 4}},
    {DRM_FORMAT_R8, 0, 0, {0, 0, 1}, {}, {}},
    {DRM_FORMAT_P010, 2, 2, {0, 0, 2}, {1, 0, 4}, {1, 2, 4}, 16},
    {DRM_FORMAT_P012, 2, 2, {0, 0, 2}, {1, 0, 4}, {1, 2, 4}, 16},
    {DRM_FORMAT_P016, 2, 2, {0, 0, 2}, {1, 0, 4}, {1, 2, 4}, 16},
    {kFourccS010, 2, 2, {0, 0, 2}, {1, 0, 2}, {2, 0, 2}, 10},
    {kFourccS210, 2, 1, {0, 0, 2}, {1, 0, 2}, {2, 0, 2}, 10},
    {kFourccS410, 1, 1, {0, 0, 2}, {1, 0, 2}, {2, 0, 2}, 10},
};

// nullptr: RGB
const YuvFormat *yuv_format(std::uint32_t fourcc)
{
  const auto *found = std::find_if(std::begin(kYuv), std::end(kYuv),
                                   [&](const YuvFormat &format) { return format.fourcc == fourcc; });
  return found == std::end(kYuv) ? nullptr : found;
}

double position(std::int64_t x, std::int64_t picture, std::int64_t content, double half,
                double shift, std::int64_t samples)
{
  const double exact =
      static_cast<double>((2 * x + 1) * picture) * half / static_cast<double>(content);
  return std::clamp(std::floor(exact + 0.5) - shift, 0.0, 128.0 * static_cast<double>(samples - 1));
}

double bilinear(const Samples &from, double px, double py)
{
  const auto x = static_cast<std::int64_t>(px / 128);
  const auto y = static_cast<std::int64_t>(py / 128);
  const double wx = px - 128.0 * static_cast<double>(x);
  const double wy = py - 128.0 * static_cast<double>(y);
  return (from.at(x, y) * (128 - wx) + from.at(x + 1, y) * wx) * (128 - wy) +
         (from.at(x, y + 1) * (128 - wx) + from.at(x + 1, y + 1) * wx) * wy;
}

double product(double a, double factor)
{
  return std::floor((a * std::floor(factor * 8192 + 0.5) + 16384) / 32768);
}

double limited_level(double value)
{
  return std::clamp(value, 0.0, 255.0);
}

// The position of chroma, of which each sample is for that many pixels.
double chroma_position(std::int64_t x, std::int64_t picture, std::int64_t content, std::int64_t pixels,
                       bool on_first)
{
  const std::int64_t samples = (picture + pixels - 1) / pixels;
  if (pixels == 1)
    return position(x, picture, content, 64, 64, samples);
  return position(x, picture, content, 32, on_first ? 32 : 64, samples);
}

double yuv_channel(const YuvFormat &format, const PictureView &picture, const Box &box, std::int64_t x,
                   std::int64_t y, int colour, const Sampling &sampling)
{
  const std::int64_t w = picture.width;
  const std::int64_t h = picture.height;
  const auto samples_of = [&](const Component &of, std::int64_t width, std::int64_t height) {
    return Samples{picture.planes[of.plane] + of.first, picture.strides[of.plane], of.step, width, height,
                   format.bits};
  };
  const double luma = bilinear(samples_of(format.y, w, h), position(x, w, box.width, 64, 64, w),
                               position(y, h, box.height, 64, 64, h));
  double cb = 0;
  double cr = 0;
  if (format.across > 0) {
    const double cx = chroma_position(x, w, box.width, format.across, sampling.chroma_left);
    const double cy = chroma_position(y, h, box.height, format.down, sampling.chroma_top);
    const auto chroma = [&](const Component &of) {
      const Samples from =
          samples_of(of, (w + format.across - 1) / format.across, (h + format.down - 1) / format.down);
      return std::floor((bilinear(from, cx, cy) + 64) / 128) - 16384;
    };
    cb = chroma(format.cb);
    cr = chroma(format.cr);
  }
  const double black = picture.full_range ? 0 : 2048;
  constexpr double kWeights[][2] = {
      {0.299, 0.114}, {0.2126, 0.0722}, {0.2627, 0.0593}, {0.212, 0.087}, {0.30, 0.11}};
  const auto [kr, kb] = kWeights[static_cast<std::size_t>(picture.matrix)];
  const double kg = 1 - kr - kb;
  const double c = picture.full_range ? 1 : 255.0 / 224;
  double sum = product(std::floor((luma + 64) / 128) - black, picture.full_range ? 1 : 255.0 / 219);
  if (colour == 0)
    sum += product(cr, 2 * (1 - kr) * c);
  else if (colour == 1)
    sum -= product(cb, 2 * kb * (1 - kb) / kg * c) + product(cr, 2 * kr * (1 - kr) / kg * c);
  else
    sum += product(cb, 2 * (1 - kb) * c);
  return limited_level(std::floor((sum + 16) / 32));
}

double rgb_channel(const PictureView &picture, const Box &box, std::int64_t x, std::int64_t y,
                   int colour)
{
  const std::uint32_t fourcc = picture.fourcc;
  const bool red_first =
      fourcc == DRM_FORMAT_XBGR8888 || fourcc == DRM_FORMAT_ABGR8888 || fourcc == DRM_FORMAT_BGR888;
  const std::int64_t step = fourcc == DRM_FORMAT_RGB888 || fourcc == DRM_FORMAT_BGR888 ? 3 : 4;
  const Samples from{picture.planes[0] + (red_first ? colour : 2 - colour), picture.strides[0],
                     step, picture.width, picture.height};
  const double value = bilinear(from, position(x, picture.width, box.width, 64, 64, picture.width),
                                position(y, picture.height, box.height, 64, 64, picture.height));
  return std::floor((value + 8192) / 16384);
}

} // namespace

Box content_box(Fit fit, std::int64_t picture_width, std::int64_t picture_height,
                std::int64_t width, std::int64_t height, const Sampling &sampling)
{
  picture_width *= sampling.par_n;
  picture_height *= sampling.par_d;
  Box box{0, 0, width, height};
  if (fit == Fit::Stretch)
    return box;
  const double scale_x = static_cast<double>(width) / static_cast<double>(picture_width);
  const double scale_y = static_cast<double>(height) / static_cast<double>(picture_height);
  const auto shrunk = [](double size) {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::floor(size + 0.5)));
  };
  if (scale_x < scale_y)
    box.height = std::min(height, shrunk(static_cast<double>(picture_height * width) /
                                         static_cast<double>(picture_width)));
  else if (scale_y < scale_x)
    box.width = std::min(width, shrunk(static_cast<double>(picture_width * height) /
                                       static_cast<double>(picture_height)));
  box.x = (width - box.width) / 2;
  box.y = (height - box.height) / 2;
  return box;
}

double channel_at(const PictureView &picture, const Box &box, std::int64_t x, std::int64_t y,
                  int colour, const Sampling &sampling)
{
  const YuvFormat *yuv = yuv_format(picture.fourcc);
  return yuv ? yuv_channel(*yuv, picture, box, x, y, colour, sampling)
             : rgb_channel(picture, box, x, y, colour);
}

double tensor_value(const Model &model, int channel, double level)
{
  const auto index = static_cast<std::size_t>(channel);
  const double value = (level - static_cast<double>(model.image.mean[index])) *
                       static_cast<double>(model.image.scale[index]);
  if (model.input.type == TensorType::Float32)
    return value;
  const Quantisation quantisation = model.input.quantisation.value_or(Quantisation{});
  const bool is_signed = model.input.type == TensorType::Int8;
  return std::clamp(std::floor(value / quantisation.scale + quantisation.zero_point + 0.5),
                    is_signed ? -128.0 : 0.0, is_signed ? 127.0 : 255.0);
}

} // namespace gstdrm::metis::reference
