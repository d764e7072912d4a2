// SPDX-License-Identifier: LGPL-2.1-or-later
// What goes through an inference queue, and what comes out.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gst/drm/core/frame_layout.hpp>
#include <gst/drm/core/result.hpp>
#include <gst/drm/core/unique_fd.hpp>

#include "preprocess.hpp"
#include "tensor_memory.hpp"

namespace gstdrm::metis {

// What the queue carries for its user: a buffer, an event. Its deleter runs on any thread, and
// without a lock of the queue.
using Payload = std::unique_ptr<void, void (*)(void *)>;
inline Payload no_payload() noexcept
{
  return {nullptr, [](void *) {}};
}

// What all frames of one format have in common.
struct FrameFormat {
  // Takes::Tensors: writes the input tensor. Called on the worker's thread.
  std::function<void(const PictureView &picture, std::byte *tensor)> prepare;
  Placement placement;
  ColorMatrix matrix = ColorMatrix::Bt601;
  bool full_range = false;
};

// A frame to infer. Descriptors and pixels are borrowed from the payload.
struct FrameItem {
  FrameLayout layout;  // no planes: `picture` has the pixels
  PictureView picture; // CPU memory, for a frame that is in no dma-buf
  UniqueFd acquire;    // signals when the frame's pixels are there; none: they are
  std::shared_ptr<const FrameFormat> format;
};

struct Item {
  Payload payload = no_payload();
  std::optional<FrameItem> frame; // none: passes through in its turn
  bool takes_place = true;        // counts among the places; false for events
};

// An item that is done.
struct Outcome {
  Payload payload = no_payload();
  bool was_frame = false;     // an inference was asked for
  std::optional<Error> error; // of this frame's inference
  std::string notice;         // the back end's, for the user; mostly empty
  std::vector<std::shared_ptr<const TensorBlock>> outputs; // one per output of the model
  std::shared_ptr<const FrameFormat> format;
  // The owner of the frame's memory holds these as long as the memory lives.
  std::vector<std::shared_ptr<const void>> liveness;
  std::chrono::nanoseconds inside{0}; // from the place in the line to done
};

// Written by the worker, read by any thread.
struct InferenceCounters {
  std::atomic<std::uint64_t> inferences{0}; // that gave a result
  std::atomic<std::uint64_t> imports{0};    // frames that were new to the device or to the maps
  std::atomic<std::uint64_t> import_hits{0};
  std::atomic<std::uint64_t> waits{0};            // frames whose fences were not done at once
  std::atomic<std::uint64_t> waiting_ns{0};       // from the place in the line until the work began
  std::atomic<std::uint64_t> preprocessing_ns{0}; // frame to tensor
  std::atomic<std::uint64_t> device_ns{0};        // as the back end says
  std::atomic<std::uint64_t> in_flight{0};        // submitted and not finished, now

  void reset() noexcept
  {
    for (auto *counter : {&inferences, &imports, &import_hits, &waits, &waiting_ns,
                          &preprocessing_ns, &device_ns, &in_flight})
      *counter = 0;
  }
};

} // namespace gstdrm::metis
