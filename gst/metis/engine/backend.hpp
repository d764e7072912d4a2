// SPDX-License-Identifier: LGPL-2.1-or-later
// What the element needs of a back end: one model on one device, with requests that are submitted
// and finished.
#pragma once

#include <atomic>
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
  std::string device;         // the `device` property, such as "metis-0:1:0"; empty: the first one
  Model model;                // what the model's file and its modelinfo file say
  unsigned cpu_threads = 0;   // for a back end that computes on the CPU; 0: the back end decides
  unsigned max_in_flight = 1; // limit for requests that are submitted and not finished
  bool dmabuf_input = true;   // the back end may ask for the input tensor in a dma-buf
  bool dmabuf_output = true;  // likewise for the outputs
  bool cache_imports = true;  // keep imports of frames until their memory is freed
  std::atomic<std::uint64_t> *releases = nullptr; // counts imports that end; outlives the back end
  std::chrono::milliseconds timeout{1000};        // of one request on the device
  std::chrono::milliseconds open_timeout{60000};  // of opening the runtime, device and model
};

// One inference. All of it is borrowed until finish(). After ETIMEDOUT the device or the runtime
// may still use the memory of the tensors: see `keeper`.
struct Request {
  const FrameLayout *frame = nullptr;  // for Takes::Frames; has passed check_layout()
  TensorView input;                    // for Takes::Tensors
  std::span<const TensorView> outputs; // one per output of the model, in the same order
  // Owner of the memory and the descriptors of `input` and `outputs`; empty if they live as long
  // as the process. The back end drops its reference, on any thread, before `done` is readable. If
  // the request ends with ETIMEDOUT, it drops it when nothing uses the memory any more, which may
  // be after its own destructor. The caller reuses the memory only after that.
  std::shared_ptr<const void> keeper;
};

// Which of the frames that were read before: those whose memory nobody uses any more, or all.
enum class Forget { Nothing, Unused, All };

struct Submitted {
  std::uint64_t id = 0;
  // Readable (POLLIN) when the request is done or its time is over. A sync_file, an eventfd or a
  // timerfd: use poll(2) only. The back end owns it and closes it in finish(), which saves a
  // dup(2) per frame.
  int done = -1;
  // For Takes::Frames: the back end releases its import of the frame after the last copy of this
  // token is gone. Empty if it keeps no import.
  std::shared_ptr<const void> liveness;
  bool imported = false; // the frame was imported for this request
};

struct Finished {
  // From the device's own clock if it has one, else the duration of the blocking call.
  std::chrono::nanoseconds on_device{0};
  // A sentence for the user about a feature that was asked for and does not work; mostly empty.
  std::string notice;
};

// One model on one device, used by one thread. The destructor waits for submitted requests, or
// cancels them, within the timeout; after it nothing uses the memory of a request without a keeper.
// Errors: ErrorCode::Device with sys_errno ENODEV if the device is gone, which every later call
// returns again; ErrorCode::Sync with ETIMEDOUT if this request was not done in time; any other if
// this request failed.
class Backend {
public:
  enum class Takes {
    Frames, // the device reads the frame's dma-buf
    Tensors // the device reads Request::input, which the CPU made of the frame
  };

  Backend() = default;
  Backend(const Backend &) = delete;
  Backend &operator=(const Backend &) = delete;
  virtual ~Backend() = default;

  [[nodiscard]] virtual const char *name() const noexcept = 0; // "axl", "axruntime", "cpu"
  // BackendOptions::model with dimensions, types and quantisation of all tensors.
  [[nodiscard]] virtual const Model &model() const noexcept = 0;
  [[nodiscard]] virtual Takes takes() const noexcept = 0;
  // Returns false if the back end needs TensorView::data of each tensor; the answer may change to
  // false between two requests. Takes::Frames needs dma-bufs.
  [[nodiscard]] virtual bool takes_dmabuf_input() const noexcept = 0;
  [[nodiscard]] virtual bool takes_dmabuf_output() const noexcept = 0;

  // Does not sleep. At most BackendOptions::max_in_flight requests at a time; they end in order.
  virtual Result<Submitted> submit(const Request &request) = 0;
  // Call it once per request when `done` is readable. It closes `done` unless the request is still
  // running.
  virtual Result<Finished> finish(std::uint64_t id) = 0;
  // For Takes::Frames: releases its imports of these frames, or those of requests that are not
  // finished with the end of the request.
  virtual void forget_imports(Forget) noexcept {}
};

// axl: linear NV12 frames whose planes are in one dma-buf, and one output, at the start of a
// dma-buf. The device has the model already: Model::device_id. The driver waits for no fence, so
// the caller waits before submit(). No CPU mapping is made.
Result<std::unique_ptr<Backend>> open_axl(const BackendOptions &options);

// axruntime: a Metis card through the vendor's library, which is opened with dlopen(): the file
// that GST_DRM_AXRUNTIME names, else libaxruntime.so, else the newest under /opt/axelera. Blocks
// for open_timeout at most. ErrorCode::Device with ENOENT if there is no library or no model,
// ENODEV if there is no such device, EBUSY if another process uses it; ErrorCode::Format if the
// model is no JSON; ErrorCode::Unsupported if this runtime or this model cannot be used;
// ErrorCode::Conflict if the description is of another model.
Result<std::unique_ptr<Backend>> open_axruntime(const BackendOptions &options) noexcept;

// cpu: ONNX Runtime or OpenCV's dnn, in a shared object beside the one with this function or in the
// folder gst-drm there. It is never unloaded.
Result<std::unique_ptr<Backend>> open_cpu(const BackendOptions &options);

enum class BackendKind { Auto, Axl, AxRuntime, Cpu };

// A back end of this build.
struct BackendWay {
  BackendKind kind;
  const char *name;
  Result<std::unique_ptr<Backend>> (*open)(const BackendOptions &options);
};

// Opens the back end of that kind; for Auto the first of `ways` that opens. The Error says why each
// of them did not open.
Result<std::unique_ptr<Backend>> open_backend(BackendKind kind, const BackendOptions &options,
                                              std::span<const BackendWay> ways);

} // namespace gstdrm::metis
