// SPDX-License-Identifier: LGPL-2.1-or-later
// Inference on the CPU by OpenCV's dnn.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <opencv2/dnn.hpp>

#include "engine/backend.hpp"
#include "engine/blocking_backend.hpp"

namespace gstdrm::metis {

// The network and what it needs to run. The worker's, but for the model, which nobody changes.
struct CpuNetwork {
  CpuNetwork(Model completed, cv::dnn::Net read);
  Result<void> run(const BlockingRuns::Call &call);

  const Model model;
  cv::dnn::Net net;
  const std::vector<int> input_dims;
  const std::vector<std::string> output_names;
  std::vector<cv::Mat> blobs;
};

// float32 in and out, in host memory. The network runs on one worker, and OpenCV's threads help it.
class CpuBackend final : public Backend {
public:
  // Runs the network once, on zeros: what OpenCV cannot run is an Error here and not later.
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
  std::shared_ptr<CpuNetwork> network_; // the worker has a reference as well
  BlockingRuns runs_;
};

} // namespace gstdrm::metis
