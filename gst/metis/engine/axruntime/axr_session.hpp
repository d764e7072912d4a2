// SPDX-License-Identifier: LGPL-2.1-or-later
// A model that is loaded onto a device, through libaxruntime.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include <gst/drm/core/result.hpp>

#include "axr_library.hpp"
#include "engine/backend.hpp"
#include "engine/blocking_runs.hpp"

namespace gstdrm::metis::axr {

// Tensors that the runtime takes as dma-bufs; it takes the others as host memory. It is told when
// the model is loaded.
struct DmaBufs {
  bool input = false;
  bool output = false;
};

// Owner of the runtime's objects. One thread at a time, except where a method says otherwise. A
// call of the runtime that does not return keeps the session alive.
class Session {
public:
  // Loads the model of the options onto their device, and completes the model's description. Uses
  // host memory and logs a warning if the runtime refuses dma-bufs. ErrorCode::Sync with ETIMEDOUT
  // after BackendOptions::open_timeout: the runtime's call then keeps a thread, and every other
  // open() fails in the same way until it returns, because one model is loaded at a time. Throws
  // what std::thread throws.
  static Result<std::shared_ptr<Session>> open(const BackendOptions &options);

  [[nodiscard]] const Model &model() const noexcept { return model_; }
  // Any thread. The outputs may change to host memory during the first run().
  [[nodiscard]] DmaBufs dmabufs() const noexcept { return {input_dmabuf_, output_dmabuf_}; }

  // Blocks for as long as the runtime needs. ErrorCode::Device with ENODEV if the device is lost,
  // now or earlier. If the first inference fails with outputs in dma-bufs, it loads the model again
  // for outputs in host memory and repeats the inference.
  Result<void> run(const BlockingRuns::Call &call);
  // What the user has to know of the first run(), which alone changes it; mostly empty. Call it
  // after that run.
  [[nodiscard]] const std::string &notice() const noexcept { return notice_; }

private:
  Session(Library library, Model model);
  static Result<std::shared_ptr<Session>> open_blocking(const BackendOptions &options);
  Result<void> load_model();
  Result<void> read_tensors();
  Result<void> connect(const std::string &device);
  Result<void> load_instance(DmaBufs wanted);
  Owned<Instance> make_instance(DmaBufs wanted);
  Result<void> infer(const BlockingRuns::Call &call);
  bool fall_back(const BlockingRuns::Call &call, const std::string &why);
  [[nodiscard]] std::string device_name() const;

  const Library library_;
  Model model_;
  std::string device_; // the `device` property
  std::atomic<bool> input_dmabuf_{false};
  std::atomic<bool> output_dmabuf_{false};
  bool may_fall_back_ = true; // until the first inference has ended
  // Destroyed in reverse order: each object before the one that it was made of.
  Owned<Context> context_;
  Owned<CompiledModel> compiled_;
  Owned<Connection> connection_;
  Owned<Instance> instance_;
  std::optional<Error> lost_; // of the run() that lost the device
  std::string notice_;
};

} // namespace gstdrm::metis::axr
