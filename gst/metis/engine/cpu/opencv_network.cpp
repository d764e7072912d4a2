// SPDX-License-Identifier: LGPL-2.1-or-later
// Networks in OpenCV's dnn.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <opencv2/dnn.hpp>

#include <gst/drm/core/log.hpp>

#include "cpu_network.hpp"

namespace gstdrm::metis {

namespace {

class OpencvNetwork final : public CpuNetwork {
public:
  OpencvNetwork(Model completed, cv::dnn::Net read);
  Result<void> run(const BlockingRuns::Call &call) override;

private:
  cv::dnn::Net net_;
  const std::vector<int> input_dims_;
  const std::vector<std::string> output_names_;
  std::vector<cv::Mat> blobs_;
};

// OpenCV's message on one line.
std::string reason(const cv::Exception &thrown)
{
  std::string text = thrown.err.empty() ? thrown.what() : thrown.err;
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::vector<int> int_dims(const std::vector<std::size_t> &dims)
{
  std::vector<int> made;
  for (const std::size_t dim : dims)
    made.push_back(static_cast<int>(dim));
  return made;
}

std::vector<std::string> names_of(const std::vector<TensorInfo> &tensors)
{
  std::vector<std::string> names;
  for (const TensorInfo &tensor : tensors)
    names.push_back(tensor.name);
  return names;
}

OnnxTensor described(const cv::Mat &blob)
{
  OnnxTensor made;
  made.type = blob.type() == CV_32F ? kOnnxFloat : kOnnxNoTensor;
  for (int i = 0; i < blob.dims; i++)
    made.dims.push_back(blob.size[i]);
  return made;
}

Result<void> run_on_zeros(Model &model, cv::dnn::Net &net)
{
  const std::vector<int> dims = int_dims(model.input.dims);
  net.setInput(cv::Mat(dims, CV_32F, cv::Scalar(0)));
  std::vector<cv::Mat> blobs;
  net.forward(blobs, names_of(model.outputs));
  for (std::size_t i = 0; i < model.outputs.size(); i++)
    if (const auto done =
            complete_output(model, model.outputs[i], described(blobs.at(i)), runtime_abilities());
        !done)
      return done.error();
  return {};
}

OpencvNetwork::OpencvNetwork(Model completed, cv::dnn::Net read)
    : CpuNetwork(std::move(completed)), net_(std::move(read)),
      input_dims_(int_dims(model.input.dims)), output_names_(names_of(model.outputs))
{
}

Result<void> OpencvNetwork::run(const BlockingRuns::Call &call)
{
  net_.setInput(cv::Mat(input_dims_, CV_32F, call.input.data));
  net_.forward(blobs_, output_names_);
  for (std::size_t i = 0; i < blobs_.size(); i++) {
    if (!blobs_[i].isContinuous() ||
        blobs_[i].total() * blobs_[i].elemSize() != model.outputs[i].size_bytes())
      return Error{ErrorCode::Layout,
                   "The model " + model.path + " changed the size of output " +
                       model.outputs[i].name + ".",
                   0};
    std::memcpy(call.outputs[i].data, blobs_[i].data, model.outputs[i].size_bytes());
  }
  return {};
}

} // namespace

const OnnxAbilities &runtime_abilities() noexcept
{
  static constexpr std::array kTypes = {kOnnxFloat};
  static constexpr OnnxAbilities kAbilities{false, false, kTypes, kTypes};
  return kAbilities;
}

Result<std::shared_ptr<CpuNetwork>> load_network(const BackendOptions &options, OnnxModel onnx,
                                                 std::vector<std::byte> file)
{
  // the setting is of the whole process
  if (options.cpu_threads != 0)
    cv::setNumThreads(static_cast<int>(options.cpu_threads));
  cv::dnn::Net net =
      cv::dnn::readNetFromONNX(reinterpret_cast<const char *>(file.data()), file.size());
  net.setPreferableBackend(cv::dnn::DNN_BACKEND_OPENCV);
  net.setPreferableTarget(cv::dnn::DNN_TARGET_CPU);
  if (const auto ran = run_on_zeros(onnx.model, net); !ran)
    return ran.error();
  GSTDRM_INFO("%s runs by OpenCV %s, %d threads", onnx.model.path.c_str(), CV_VERSION,
              cv::getNumThreads());
  return std::shared_ptr<CpuNetwork>(
      std::make_shared<OpencvNetwork>(std::move(onnx.model), std::move(net)));
}

Error runtime_error(const std::string &what, const std::exception &thrown)
{
  const auto *own = dynamic_cast<const cv::Exception *>(&thrown);
  if (!own)
    return Error{ErrorCode::Unsupported, what + ": " + thrown.what() + ".", 0};
  const bool memory = own->code == cv::Error::StsNoMem;
  return Error{memory ? ErrorCode::Allocation : ErrorCode::Unsupported,
               what + ": OpenCV " + CV_VERSION + " says \"" + reason(*own) + "\".",
               memory ? ENOMEM : 0};
}

} // namespace gstdrm::metis
