// SPDX-License-Identifier: LGPL-2.1-or-later
// A 1080p NV12 frame to the 640x640 RGB int8 tensor of a model, stretched: ours, GStreamer's
// converter with one thread and a loop that quantises, and OpenCV with one thread where it was
// found. In one run, each into memory that exists before. Then frames of other formats, ours alone.
#include "engine/preprocess.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>
#include <drm_fourcc.h>

#include <gst/drm/core/format.hpp>
#include <gst/video/video.h>

#include "preprocess_rivals.hpp"

namespace {

using namespace gstdrm::metis;
using benchmark::State;
using gstdrm::bench::Frame;
using gstdrm::bench::OpenCvOrder;
using gstdrm::bench::Quantise;

constexpr std::uint32_t kWidth = 1920;
constexpr std::uint32_t kHeight = 1080;
constexpr std::uint32_t kSize = 640;

struct Task {
  const char *name;
  TensorLayout layout;
  std::size_t channels;
  float mean, scale;
  Quantise quantise; // the same for the others: q = channel * slope + offset
};

// Quantised to 1/255, where q = channel - 128, and a network that wants mean and deviation.
const Task kTasks[] = {
    {"NHWC", TensorLayout::Nhwc, 3, 0, 1.0F / 255, {1, -128}},
    {"NHWC4", TensorLayout::Nhwc, 4, 0, 1.0F / 255, {1, -128}},
    {"NHWC mean",
     TensorLayout::Nhwc,
     3,
     114,
     1.0F / 58,
     {1 / 58.0 / 0.01865845, -114 / 58.0 / 0.01865845 - 14}},
    {"NCHW", TensorLayout::Nchw, 3, 0, 1.0F / 255, {1, -128}},
};

Model model_of(const Task &task)
{
  Model model;
  model.name = task.name;
  model.image = {task.layout,
                 ChannelOrder::Rgb,
                 Fit::Stretch,
                 {task.mean, task.mean, task.mean},
                 {task.scale, task.scale, task.scale}};
  model.input.type = TensorType::Int8;
  model.input.dims = {1, kSize, kSize, task.channels};
  if (task.layout == TensorLayout::Nchw)
    model.input.dims = {1, 3, kSize, kSize};
  model.input.padding = {{}, {}, {}, {0, task.channels - 3}};
  model.input.quantisation =
      task.mean == 0 ? Quantisation{1.0 / 255, -128} : Quantisation{0.01865845, -14};
  return model;
}

// Smooth, so that the ways can be compared, with some noise.
const Frame &frame()
{
  static const Frame made = [] {
    Frame frame{kWidth, kHeight, std::vector<std::uint8_t>(std::size_t{kWidth} * kHeight * 3 / 2)};
    std::minstd_rand random(1);
    for (std::size_t i = 0; i < frame.bytes.size(); ++i) {
      const std::size_t x = i % kWidth;
      const std::size_t y = i / kWidth;
      const double wave = std::sin(
          static_cast<double>(i < std::size_t{kWidth} * kHeight ? x : x / 2 + x % 2 * 500) / 150 +
          static_cast<double>(y) / 90);
      frame.bytes[i] =
          static_cast<std::uint8_t>(128 + 80 * wave + static_cast<double>(random() >> 8 & 3));
    }
    return frame;
  }();
  return made;
}

PictureView view_of(const Frame &from)
{
  return {DRM_FORMAT_NV12,    kWidth, kHeight, {from.luma(), from.chroma()}, {kWidth, kWidth},
          ColorMatrix::Bt709, false};
}

Preprocessor make_preprocessor(const Task &task, std::uint32_t fourcc = DRM_FORMAT_NV12)
{
  auto made =
      Preprocessor::create(model_of(task), fourcc, kWidth, kHeight, ColorMatrix::Bt709, false);
  if (!made) {
    std::fprintf(stderr, "%s\n", made.error().message.c_str());
    std::exit(EXIT_FAILURE);
  }
  return std::move(*made);
}

std::vector<std::int8_t> tensor_for(const Task &task)
{
  return std::vector<std::int8_t>(std::size_t{kSize} * kSize * task.channels);
}

void ours(State &state, const Task *task)
{
  Preprocessor preprocessor = make_preprocessor(*task);
  auto tensor = tensor_for(*task);
  const PictureView view = view_of(frame());
  for (auto _ : state) {
    preprocessor.run(view, reinterpret_cast<std::byte *>(tensor.data()));
    benchmark::ClobberMemory();
  }
}

constexpr std::uint32_t kFourccs[] = {
    DRM_FORMAT_YUV420, DRM_FORMAT_XRGB8888, DRM_FORMAT_RGB888, DRM_FORMAT_NV16, DRM_FORMAT_YUV422,
    DRM_FORMAT_YUV444, DRM_FORMAT_YUYV,     DRM_FORMAT_UYVY,   DRM_FORMAT_R8,   DRM_FORMAT_P010,
};

void of_format(State &state, std::uint32_t fourcc)
{
  Preprocessor preprocessor = make_preprocessor(kTasks[0], fourcc);
  const gstdrm::FourccInfo &info = *gstdrm::fourcc_info(fourcc);
  std::vector<std::uint8_t> planes[3];
  PictureView view{fourcc, kWidth, kHeight, {}, {}, ColorMatrix::Bt709, false};
  for (std::size_t i = 0; i < info.n_planes; ++i) {
    view.strides[i] = plane_row_bytes(info.planes[i], kWidth);
    planes[i].assign(std::size_t{view.strides[i]} * plane_rows(info.planes[i], kHeight), 100);
    view.planes[i] = planes[i].data();
  }
  auto tensor = tensor_for(kTasks[0]);
  for (auto _ : state) {
    preprocessor.run(view, reinterpret_cast<std::byte *>(tensor.data()));
    benchmark::ClobberMemory();
  }
}

// videoconvertscale's converter, bilinear; its taps cover 2x2 samples as ours do when it may not
// widen them.
class GstWay {
public:
  GstWay()
  {
    gst_video_info_set_format(&in_, GST_VIDEO_FORMAT_NV12, kWidth, kHeight);
    gst_video_info_set_format(&out_, GST_VIDEO_FORMAT_RGB, kSize, kSize);
    gst_video_colorimetry_from_string(&in_.colorimetry, "bt709");
    converter_.reset(gst_video_converter_new(
        &in_, &out_,
        gst_structure_new("options", GST_VIDEO_CONVERTER_OPT_RESAMPLER_METHOD,
                          GST_TYPE_VIDEO_RESAMPLER_METHOD, GST_VIDEO_RESAMPLER_METHOD_LINEAR,
                          GST_VIDEO_RESAMPLER_OPT_MAX_TAPS, G_TYPE_INT, 2,
                          GST_VIDEO_CONVERTER_OPT_THREADS, G_TYPE_UINT, 1, nullptr)));
    rgb_.resize(GST_VIDEO_INFO_SIZE(&out_));
    GstBuffer *from = gst_buffer_new_memdup(frame().bytes.data(), frame().bytes.size());
    GstBuffer *to = gst_buffer_new_wrapped_full(GstMemoryFlags(0), rgb_.data(), rgb_.size(), 0,
                                                rgb_.size(), nullptr, nullptr);
    if (!converter_ || !gst_video_frame_map(&source_, &in_, from, GST_MAP_READ) ||
        !gst_video_frame_map(&target_, &out_, to, GST_MAP_WRITE))
      std::abort();
    gst_buffer_unref(from);
    gst_buffer_unref(to);
  }
  GstWay(const GstWay &) = delete;
  GstWay &operator=(const GstWay &) = delete;
  ~GstWay()
  {
    gst_video_frame_unmap(&source_);
    gst_video_frame_unmap(&target_);
  }
  void run(const Task &task, std::int8_t *tensor)
  {
    gst_video_converter_frame(converter_.get(), &source_, &target_);
    const std::size_t stride = static_cast<std::size_t>(GST_VIDEO_INFO_PLANE_STRIDE(&out_, 0));
    gstdrm::bench::quantise_rgb(rgb_.data(), stride, kSize, task.quantise,
                                task.layout == TensorLayout::Nchw, task.channels, tensor);
  }

private:
  struct Free {
    void operator()(GstVideoConverter *converter) const { gst_video_converter_free(converter); }
  };
  GstVideoInfo in_{}, out_{};
  std::vector<std::uint8_t> rgb_;
  GstVideoFrame source_{}, target_{};
  std::unique_ptr<GstVideoConverter, Free> converter_;
};

void gstreamer(State &state, const Task *task)
{
  GstWay way;
  auto tensor = tensor_for(*task);
  for (auto _ : state) {
    way.run(*task, tensor.data());
    benchmark::ClobberMemory();
  }
}

#ifdef HAVE_OPENCV_RIVAL
void opencv(State &state, const Task *task, OpenCvOrder order)
{
  const auto way = gstdrm::bench::make_opencv_way(
      frame(), kSize, task->quantise, task->layout == TensorLayout::Nchw, task->channels, order);
  auto tensor = tensor_for(*task);
  for (auto _ : state) {
    way->run(tensor.data());
    benchmark::ClobberMemory();
  }
}
#endif

// All ways do the same work: on average their values differ by little. They round in other places,
// place chroma elsewhere and, for OpenCV, know BT.601 alone for NV12.
void expect_same(const Task &task, const char *rival, const std::vector<std::int8_t> &other,
                 double most)
{
  auto tensor = tensor_for(task);
  make_preprocessor(task).run(view_of(frame()), reinterpret_cast<std::byte *>(tensor.data()));
  double sum = 0;
  for (std::size_t i = 0; i < tensor.size(); ++i)
    if (i % task.channels < 3) // OpenCV's fourth channel is its own
      sum += std::abs(tensor[i] - other[i]);
  const double mean = sum / static_cast<double>(tensor.size());
  if (mean <= most)
    return;
  std::fprintf(stderr, "%s: %s differs by %.2f on average, and %.2f is the most\n", task.name,
               rival, mean, most);
  std::exit(EXIT_FAILURE);
}

void check_results()
{
  for (const Task &task : kTasks) {
    auto other = tensor_for(task);
    GstWay().run(task, other.data());
    expect_same(task, "GStreamer", other, 3);
#ifdef HAVE_OPENCV_RIVAL
    for (const OpenCvOrder order : {OpenCvOrder::ConvertFirst, OpenCvOrder::ScaleFirst}) {
      gstdrm::bench::make_opencv_way(frame(), kSize, task.quantise,
                                     task.layout == TensorLayout::Nchw, task.channels, order)
          ->run(other.data());
      expect_same(task, "OpenCV", other, 16);
    }
#endif
  }
}

} // namespace

int main(int argc, char **argv)
{
  gst_init(nullptr, nullptr);
  check_results();
  for (const Task &task : kTasks) {
    const std::string name = std::string("preprocess/") + task.name;
    benchmark::RegisterBenchmark((name + "/ours").c_str(), ours, &task)
        ->Unit(benchmark::kMicrosecond);
#ifdef HAVE_OPENCV_RIVAL
    benchmark::RegisterBenchmark((name + "/opencv-convert-first").c_str(), opencv, &task,
                                 OpenCvOrder::ConvertFirst)
        ->Unit(benchmark::kMicrosecond);
    benchmark::RegisterBenchmark((name + "/opencv-scale-first").c_str(), opencv, &task,
                                 OpenCvOrder::ScaleFirst)
        ->Unit(benchmark::kMicrosecond);
#endif
    benchmark::RegisterBenchmark((name + "/gstreamer").c_str(), gstreamer, &task)
        ->Unit(benchmark::kMicrosecond);
  }
  for (const std::uint32_t fourcc : kFourccs)
    benchmark::RegisterBenchmark(
        ("preprocess/of " + gstdrm::fourcc_to_string(fourcc) + "/ours").c_str(), of_format, fourcc)
        ->Unit(benchmark::kMicrosecond);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return EXIT_FAILURE;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return EXIT_SUCCESS;
}
