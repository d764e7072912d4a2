// SPDX-License-Identifier: LGPL-2.1-or-later
// Inference on the CPU: the part of cpu_plugin.hpp, around the network of a runtime.
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gst/drm/core/errno_text.hpp>
#include <gst/drm/core/log.hpp>

#include "cpu_network.hpp"
#include "cpu_plugin.hpp"
#include "engine/blocking_runs.hpp"
#include "onnx_model.hpp"

namespace gstdrm::metis {

namespace {

// float32 tensors in host memory. One thread runs the network, with the help of the runtime's
// threads.
class CpuBackend final : public Backend {
public:
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

Result<std::unique_ptr<Backend>> CpuBackend::open(const BackendOptions &options)
{
  const std::string &path = options.model.path;
  auto file = read_file(path);
  if (!file)
    return file.error();
  auto onnx = read_onnx_model(options.model, *file, runtime_abilities());
  if (!onnx)
    return onnx.error();
  const std::string what = "The model " + path + " (operators of ONNX " +
                           std::to_string(onnx->opset) + ") cannot be run on the CPU";
  auto network =
      guarded(what, [&] { return load_network(options, std::move(*onnx), std::move(*file)); });
  if (!network)
    return network.error();
  return std::unique_ptr<Backend>(std::make_unique<CpuBackend>(std::move(*network), options));
}

CpuBackend::CpuBackend(std::shared_ptr<CpuNetwork> network, const BackendOptions &options)
    : network_(std::move(network)),
      runs_(
          [network = network_](const BlockingRuns::Call &call) {
            return guarded("The model " + network->model.path + " failed",
                           [&] { return network->run(call); });
          },
          {options.timeout, options.max_in_flight, "cpu"})
{
}

Result<Submitted> CpuBackend::submit(const Request &request)
{
  if (Result<void> checked = check_tensors(*this, request); !checked)
    return checked.error();
  return runs_.submit(request);
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
