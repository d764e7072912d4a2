// SPDX-License-Identifier: LGPL-2.1-or-later
// Inference on the CPU by OpenCV's dnn: the part of cpu_plugin.hpp.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <opencv2/dnn.hpp>

#include <gst/drm/core/errno_text.hpp>
#include <gst/drm/core/log.hpp>

#include "cpu_plugin.hpp"
#include "engine/blocking_runs.hpp"
#include "onnx_model.hpp"

namespace gstdrm::metis {

namespace {

// A network. Any thread reads the model; the thread of BlockingRuns uses the rest.
struct CpuNetwork {
  CpuNetwork(Model completed, cv::dnn::Net read);
  Result<void> run(const BlockingRuns::Call &call);

  const Model model;
  cv::dnn::Net net;
  const std::vector<int> input_dims;
  const std::vector<std::string> output_names;
  std::vector<cv::Mat> blobs;
};

// float32 tensors in host memory. One thread runs the network, with the help of OpenCV's threads.
class CpuBackend final : public Backend {
public:
  // Runs the network once, on zeros, so that a network which OpenCV cannot run is an Error here.
  static Result<std::unique_ptr<Backend>> open(const BackendOptions &options);

  CpuBackend(std::shared_ptr<CpuNetwork> network, const BackendOptions &options);

  [[nodiscard]] const char *name() const noexcept override { return "cpu"; }
  [[nodiscard]] const Model &model() const noexcept override { return network_->model; }
  [[nodiscard]] Takes takes() const noexcept override { return Takes::Tensors; }
  [[nodiscard]] bool takes_dmabuf_input() const noexcept override { return false; }
  [[nodiscard]] bool takes_dmabuf_output() const noexcept override { return false; }

  Result<Submitted> submit(const Request &request) override;
  Result<Finished> finish(std::uint64_t id) override { return runs_.finish(id); }

private:
  std::shared_ptr<CpuNetwork> network_; // shared with the thread of runs_
  BlockingRuns runs_;
};

// OpenCV's message on one line.
std::string reason(const cv::Exception &thrown)
{
  std::string text = thrown.err.empty() ? thrown.what() : thrown.err;
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// Calls work(), which returns a Result, and turns an exception into an Error. `what` is the start
// of the message.
template <typename Work> auto guarded(const std::string &what, Work work) -> decltype(work())
{
  try {
    return work();
  } catch (const cv::Exception &thrown) {
    const bool memory = thrown.code == cv::Error::StsNoMem;
    return Error{memory ? ErrorCode::Allocation : ErrorCode::Unsupported,
                 what + ": OpenCV " + CV_VERSION + " says \"" + reason(thrown) + "\".",
                 memory ? ENOMEM : 0};
  } catch (const std::bad_alloc &) {
    return Error{ErrorCode::Allocation, what + ": out of memory.", ENOMEM};
  } catch (const std::exception &thrown) {
    return Error{ErrorCode::Unsupported, what + ": " + thrown.what() + ".", 0};
  }
}

Result<std::vector<std::byte>> read_file(const std::string &path)
{
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::vector<char> content;
  if (file)
    content.assign(std::istreambuf_iterator<char>(file), {});
  if (!file || content.empty()) {
    const int error = errno;
    return Error{ErrorCode::Unsupported,
                 "The model " + path + " cannot be read: " +
                     (error != 0 ? errno_text(error) : std::string("it is empty or no file")) + ".",
                 error};
  }
  std::vector<std::byte> bytes(content.size());
  std::memcpy(bytes.data(), content.data(), content.size());
  return bytes;
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

// Sets unknown dimensions to those of the trial run. OpenCV adds a second dimension to a tensor
// that has one, so only the number of elements is compared.
Result<void> complete_output(const Model &model, TensorInfo &output, const cv::Mat &blob)
{
  std::vector<std::size_t> real;
  for (int i = 0; i < blob.dims; i++)
    real.push_back(static_cast<std::size_t>(blob.size[i]));
  if (output.dims.empty())
    output.dims = real;
  for (std::size_t i = 0; output.dims.size() == real.size() && i < real.size(); i++)
    output.dims[i] = output.dims[i] != 0 ? output.dims[i] : real[i];
  if (blob.type() == CV_32F && output.n_elements() == blob.total() && blob.total() != 0)
    return {};
  return Error{ErrorCode::Unsupported,
               "The model " + model.path + " gives " + dims_text(real) + " elements (" +
                   std::to_string(blob.elemSize()) + " bytes each) for output " + output.name +
                   ", where " + dims_text(output.dims) + " float32 were expected.",
               0};
}

Result<void> run_on_zeros(Model &model, cv::dnn::Net &net)
{
  const std::vector<int> dims = int_dims(model.input.dims);
  net.setInput(cv::Mat(dims, CV_32F, cv::Scalar(0)));
  std::vector<cv::Mat> blobs;
  net.forward(blobs, names_of(model.outputs));
  for (std::size_t i = 0; i < model.outputs.size(); i++)
    if (const auto done = complete_output(model, model.outputs[i], blobs.at(i)); !done)
      return done.error();
  return {};
}

Error wrong_memory(const Model &model, const TensorInfo &tensor, const TensorView &view)
{
  return Error{ErrorCode::Layout,
               "Tensor " + tensor.name + " of " + model.path + " needs " +
                   std::to_string(tensor.size_bytes()) + " bytes of CPU memory, and was given " +
                   (view.data ? std::to_string(view.size_bytes) : std::string("none")) + ".",
               0};
}

bool fits(const TensorInfo &tensor, const TensorView &view)
{
  return view.data && view.size_bytes >= tensor.size_bytes();
}

Result<std::unique_ptr<Backend>> CpuBackend::open(const BackendOptions &options)
{
  const std::string &path = options.model.path;
  const auto file = read_file(path);
  if (!file)
    return file.error();
  auto onnx = read_onnx_model(options.model, *file);
  if (!onnx)
    return onnx.error();
  return guarded(
      "The model " + path + " (operators of ONNX " + std::to_string(onnx->opset) +
          ") cannot be run on the CPU",
      [&]() -> Result<std::unique_ptr<Backend>> {
        // the setting is of the whole process
        if (options.cpu_threads != 0)
          cv::setNumThreads(static_cast<int>(options.cpu_threads));
        cv::dnn::Net net =
            cv::dnn::readNetFromONNX(reinterpret_cast<const char *>(file->data()), file->size());
        net.setPreferableBackend(cv::dnn::DNN_BACKEND_OPENCV);
        net.setPreferableTarget(cv::dnn::DNN_TARGET_CPU);
        if (const auto ran = run_on_zeros(onnx->model, net); !ran)
          return ran.error();
        GSTDRM_INFO("%s runs by OpenCV %s, %d threads", path.c_str(), CV_VERSION,
                    cv::getNumThreads());
        return std::unique_ptr<Backend>(std::make_unique<CpuBackend>(
            std::make_shared<CpuNetwork>(std::move(onnx->model), std::move(net)), options));
      });
}

CpuBackend::CpuBackend(std::shared_ptr<CpuNetwork> network, const BackendOptions &options)
    : network_(std::move(network)),
      runs_([network = network_](const BlockingRuns::Call &call) { return network->run(call); },
            {options.timeout, options.max_in_flight, "cpu"})
{
}

Result<Submitted> CpuBackend::submit(const Request &request)
{
  const Model &model = network_->model;
  if (!fits(model.input, request.input))
    return wrong_memory(model, model.input, request.input);
  if (request.outputs.size() != model.outputs.size())
    return Error{ErrorCode::Layout,
                 "The model " + model.path + " has " + std::to_string(model.outputs.size()) +
                     " outputs, and memory was given for " +
                     std::to_string(request.outputs.size()) + ".",
                 0};
  for (std::size_t i = 0; i < model.outputs.size(); i++)
    if (!fits(model.outputs[i], request.outputs[i]))
      return wrong_memory(model, model.outputs[i], request.outputs[i]);
  return runs_.submit(request);
}

CpuNetwork::CpuNetwork(Model completed, cv::dnn::Net read)
    : model(std::move(completed)), net(std::move(read)), input_dims(int_dims(model.input.dims)),
      output_names(names_of(model.outputs))
{
}

Result<void> CpuNetwork::run(const BlockingRuns::Call &call)
{
  return guarded("The model " + model.path + " failed", [&]() -> Result<void> {
    net.setInput(cv::Mat(input_dims, CV_32F, call.input.data));
    net.forward(blobs, output_names);
    for (std::size_t i = 0; i < blobs.size(); i++) {
      if (!blobs[i].isContinuous() ||
          blobs[i].total() * blobs[i].elemSize() != model.outputs[i].size_bytes())
        return Error{ErrorCode::Layout,
                     "The model " + model.path + " changed the size of output " +
                         model.outputs[i].name + ".",
                     0};
      std::memcpy(call.outputs[i].data, blobs[i].data, model.outputs[i].size_bytes());
    }
    return {};
  });
}

} // namespace

} // namespace gstdrm::metis

extern "C" [[gnu::visibility("default")]] bool
gst_drm_metis_cpu_open(const gstdrm::metis::CpuPartCall *call) noexcept
{
  using namespace gstdrm;
  using namespace gstdrm::metis;
  if (call->version != kCpuPartVersion || call->sizes != kCpuPartSizes)
    return false;
  try {
    set_log_sink(call->log);
    *call->result = CpuBackend::open(*call->options);
  } catch (...) {
    *call->result =
        Error{ErrorCode::Allocation, "out of memory", ENOMEM}; // fits without an allocation
  }
  return true;
}
