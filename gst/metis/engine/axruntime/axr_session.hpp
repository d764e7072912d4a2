// SPDX-License-Identifier: LGPL-2.1-or-later
// A model that is loaded onto a device, through libaxruntime.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/drm/core/result.hpp>

#include "axr_library.hpp"
#include "axr_objects.hpp"
#include "engine/backend.hpp"
#include "engine/blocking_backend.hpp"

namespace gstdrm::metis::axr {

// Whether the runtime takes the tensors of a request as dma-bufs, or as host memory. It is told
// when the model is loaded, and holds for all requests.
struct DmaBufs {
  bool input = false;
  bool output = false;
};

// Owner of the runtime's objects. A call that does not come back keeps the session: nothing of the
// runtime is destroyed below it.
class Session {
public:
  // Asks the runtime for what the options name, and completes the model's description. Where the
  // runtime refuses dma-bufs, it gets host memory, and the log a warning.
  static Result<std::shared_ptr<Session>> open(const BackendOptions &options);

  [[nodiscard]] const Model &model() const noexcept { return model_; }
  // Any thread; outputs change to host memory once at most, see run().
  [[nodiscard]] DmaBufs dmabufs() const noexcept { return {input_dmabuf_, output_dmabuf_}; }

  // Blocks for as long as the runtime likes. On one thread at a time. ErrorCode::Device with
  // ENODEV: the device is lost, now or earlier. Where the very first inference fails with outputs
  // in dma-bufs, the model is loaded once more for outputs in host memory, and the inference
  // repeated.
  Result<void> run(const BlockingRuns::Call &call);
  // The Error of the call that lost the device. Any thread.
  [[nodiscard]] std::optional<Error> lost() const;
  // As Backend::take_notice().
  std::string take_notice();

private:
  Session(Library library, Model model);
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
  std::string device_; // as the `device` property has it
  std::atomic<bool> input_dmabuf_{false};
  std::atomic<bool> output_dmabuf_{false};
  bool may_fall_back_ = true; // no inference has ended; run() alone
  // in this order: what is made of another object goes first
  Owned<Context> context_;
  Owned<CompiledModel> compiled_;
  Owned<Connection> connection_;
  Owned<Instance> instance_;

  mutable OrderedMutex lock_{kLeafLockRank, "axr::Session::lock_"}; // guards what follows
  std::optional<Error> lost_;
  std::string notice_;
};

} // namespace gstdrm::metis::axr
