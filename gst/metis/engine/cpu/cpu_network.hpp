// SPDX-License-Identifier: LGPL-2.1-or-later
// What a runtime for networks gives the CPU back end: ONNX Runtime (ort_network.cpp), or OpenCV's
// dnn (opencv_network.cpp). A build has one of them.
#pragma once

#include <cerrno>
#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <gst/drm/core/result.hpp>

#include "engine/backend.hpp"
#include "engine/blocking_runs.hpp"
#include "onnx_model.hpp"

namespace gstdrm::metis {

// A network in a runtime, for float32 tensors in host memory. Any thread reads the model; one
// thread runs it.
class CpuNetwork {
public:
  explicit CpuNetwork(Model completed) : model(std::move(completed)) {}
  CpuNetwork(const CpuNetwork &) = delete;
  CpuNetwork &operator=(const CpuNetwork &) = delete;
  virtual ~CpuNetwork() = default;

  // The memory of the call is that of the model's tensors, or larger. May throw as load_network().
  virtual Result<void> run(const BlockingRuns::Call &call) = 0;

  const Model model;
};

const OnnxAbilities &runtime_abilities() noexcept;

// Runs the network once, on zeros, so that one which the runtime cannot run is an Error here.
// `onnx` is options.model, completed by read_onnx_model(); `file` is the content of its file. May
// throw what runtime_error() knows, and std::bad_alloc.
Result<std::shared_ptr<CpuNetwork>> load_network(const BackendOptions &options, OnnxModel onnx,
                                                 std::vector<std::byte> file);

// An exception of the runtime as an Error. `what` is the start of the message.
Error runtime_error(const std::string &what, const std::exception &thrown);

// Calls work(), which returns a Result, and turns an exception into an Error.
template <typename Work> auto guarded(const std::string &what, Work work) -> decltype(work())
{
  try {
    return work();
  } catch (const std::bad_alloc &) {
    return Error{ErrorCode::Allocation, what + ": out of memory.", ENOMEM};
  } catch (const std::exception &thrown) {
    return runtime_error(what, thrown);
  }
}

} // namespace gstdrm::metis
