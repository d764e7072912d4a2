// SPDX-License-Identifier: LGPL-2.1-or-later
#include <opencv2/imgproc.hpp>

#include "preprocess_rivals.hpp"

namespace gstdrm::bench {

namespace {

class Way final : public OpenCvWay {
public:
  Way(const Frame &frame, std::uint32_t size, const Quantise &quantise, bool planar,
      std::size_t channels, OpenCvOrder order)
      : order_(order), luma_(static_cast<int>(frame.height), static_cast<int>(frame.width), CV_8UC1,
                             const_cast<std::uint8_t *>(frame.luma())),
        chroma_(static_cast<int>(frame.height / 2), static_cast<int>(frame.width / 2), CV_8UC2,
                const_cast<std::uint8_t *>(frame.chroma())),
        size_(static_cast<int>(size)), quantise_(quantise), planar_(planar), channels_(channels)
  {
    cv::setNumThreads(1);
  }

  void run(std::int8_t *tensor) override
  {
    if (order_ == OpenCvOrder::ConvertFirst) {
      cv::cvtColorTwoPlane(luma_, chroma_, large_rgb_, cv::COLOR_YUV2RGB_NV12);
      cv::resize(large_rgb_, rgb_, {size_, size_}, 0, 0, cv::INTER_LINEAR);
    } else {
      cv::resize(luma_, small_luma_, {size_, size_}, 0, 0, cv::INTER_LINEAR);
      cv::resize(chroma_, small_chroma_, {size_ / 2, size_ / 2}, 0, 0, cv::INTER_LINEAR);
      cv::cvtColorTwoPlane(small_luma_, small_chroma_, rgb_, cv::COLOR_YUV2RGB_NV12);
    }
    if (planar_)
      return to_planes(tensor);
    cv::Mat out(size_, size_, channels_ == 3 ? CV_8SC3 : CV_8SC4, tensor);
    if (channels_ == 3)
      return rgb_.convertTo(out, CV_8S, quantise_.slope, quantise_.offset);
    cv::cvtColor(rgb_, rgba_, cv::COLOR_RGB2RGBA);
    rgba_.convertTo(out, CV_8S, quantise_.slope, quantise_.offset);
  }

private:
  void to_planes(std::int8_t *tensor)
  {
    cv::split(rgb_, planes_);
    for (int channel = 0; channel < 3; ++channel) {
      cv::Mat out(size_, size_, CV_8SC1, tensor + channel * size_ * size_);
      planes_[channel].convertTo(out, CV_8S, quantise_.slope, quantise_.offset);
    }
  }

  OpenCvOrder order_;
  cv::Mat luma_, chroma_;
  cv::Mat large_rgb_;
  int size_;
  Quantise quantise_;
  bool planar_;
  std::size_t channels_;
  cv::Mat small_luma_, small_chroma_, rgb_, rgba_, planes_[3];
};

} // namespace

std::unique_ptr<OpenCvWay> make_opencv_way(const Frame &frame, std::uint32_t size,
                                           const Quantise &quantise, bool planar,
                                           std::size_t channels, OpenCvOrder order)
{
  return std::make_unique<Way>(frame, size, quantise, planar, channels, order);
}

} // namespace gstdrm::bench
