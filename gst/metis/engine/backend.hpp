// SPDX-License-Identifier: LGPL-2.1-or-later
// What metisdmabufinfer asks of the software that runs a model, whichever it is.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <gst/drm/core/frame_layout.hpp>
#include <gst/drm/core/result.hpp>

#include "model.hpp"

namespace gstdrm::metis {

struct BackendOptions {
  std::string
      device;  // as the `device` property has it, such as "metis-0:1:0"; empty: the first one
  Model model; // the description, from the file and what stands beside it
  unsigned cpu_threads = 0;   // for a back end that computes on the CPU; 0: its own choice
  unsigned max_in_flight = 1; // requests that may be submitted and not finished, at most
  bool dmabuf_input = true;   // the back end may be given the input tensor as a dma-buf
  bool dmabuf_output = true;  // likewise the outputs
  bool cache_imports =
      true; // keep imported frames until their memory dies; false: import each frame
  std::chrono::milliseconds timeout{1000};       // of one request on the device
  std::chrono::milliseconds open_timeout{60000}; // of all that opening a runtime takes
};

// One inference. Everything is borrowed until finish(), except where the request was not done in
// time (ETIMEDOUT): a device or a runtime that has not answered may still use the tensors' memory.
struct Request {
  const FrameLayout *frame = nullptr;  // Takes::Frames; has passed check_layout()
  TensorView input;                    // Takes::Tensors
  std::span<const TensorView> outputs; // one per output of the model, in that order
  // Owner of the memory and the descriptors of `input` and `outputs`. The back end lets go of it on
  // any thread, before `done` is readable, or, after ETIMEDOUT, when nothing uses the memory any
  // more, which may be after the back end's own end. The caller does not use this memory for
  // another request before that. Empty: the memory lasts as long as the process.
  std::shared_ptr<const void> keeper;
};

struct Submitted {
  std::uint64_t id = 0;
  // Readable (POLLIN) when the request is done, or its time is over: a sync_file, an eventfd or a
  // timerfd, so nothing but poll(2) is of use. The back end owns it and closes it in finish(), so
  // that no frame costs a dup(2).
  int done = -1;
  // Takes::Frames: whoever holds the frame's memory holds this token; the import is released after
  // it. Empty: nothing is kept.
  std::shared_ptr<const void> liveness;
  bool imported = false; // the frame was not known and was imported
};

struct Finished {
  std::chrono::nanoseconds on_device{
      0}; // as the device says, else from start to end of the blocking call
};

// One model on one device. One thread, except where a function says otherwise. The destructor waits
// for what is submitted, or cancels it, within the timeout; after it no memory of a request is
// touched, except what the request's keeper keeps. Errors: ErrorCode::Device with sys_errno ENODEV:
// the device is gone, and every later call fails with the same; ErrorCode::Sync with ETIMEDOUT:
// this request was not done in time, later ones may be; any other: this request failed.
class Backend {
public:
  enum class Takes {
    Frames, // the device reads the frame's dma-buf itself
    Tensors // Request::input has what preprocess() made of the frame
  };

  Backend() = default;
  Backend(const Backend &) = delete;
  Backend &operator=(const Backend &) = delete;
  virtual ~Backend() = default;

  [[nodiscard]] virtual const char *name() const noexcept = 0; // "axl", "axruntime", "cpu"
  // The description, completed: dimensions, types and quantisation of all tensors.
  [[nodiscard]] virtual const Model &model() const noexcept = 0;
  [[nodiscard]] virtual Takes takes() const noexcept = 0;
  // Whether input and outputs of a request may be (or have to be, for Takes::Frames) dma-bufs.
  // False for outputs: the back end wants TensorView::data, from this request on.
  [[nodiscard]] virtual bool takes_dmabuf_input() const noexcept = 0;
  [[nodiscard]] virtual bool takes_dmabuf_output() const noexcept = 0;

  // Returns at once. At most BackendOptions::max_in_flight requests at a time; they are done in
  // order.
  virtual Result<Submitted> submit(const Request &request) = 0;
  // After `done` is readable, once per submitted request; `done` is closed when a request has
  // ended, whether it went well or not. Any thread.
  virtual Result<Finished> finish(std::uint64_t id) = 0;
  // A sentence for the user about something that works, and worse than it was asked for. Given
  // once, then empty. Any thread.
  virtual std::string take_notice() { return {}; }
};

} // namespace gstdrm::metis
