// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames, buffers and events on their way through a back end.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gst/drm/core/frame_layout.hpp>
#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/drm/core/result.hpp>
#include <gst/drm/core/unique_fd.hpp>
#include <gst/drm/core/wake_fd.hpp>

#include "backend.hpp"
#include "frame_maps.hpp"
#include "preprocess.hpp"
#include "tensor_memory.hpp"

namespace gstdrm::metis {

// Data of the queue's user: a buffer or an event. Any thread may call the deleter; it never runs
// under the queue's lock.
using Payload = std::unique_ptr<void, void (*)(void *)>;
inline Payload no_payload() noexcept
{
  return {nullptr, [](void *) {}};
}

// What all frames of one format have in common.
struct FrameFormat {
  // Writes the input tensor. Needed for Takes::Tensors; called on the queue's worker thread.
  std::function<void(const PictureView &picture, std::byte *tensor)> prepare;
  Placement placement;
  ColorMatrix matrix = ColorMatrix::Bt601;
  bool full_range = false;
};

// A frame to infer. Descriptors and pixels are borrowed from the payload.
struct FrameItem {
  FrameLayout layout;  // has no planes if the frame is in CPU memory
  PictureView picture; // a frame in CPU memory
  UniqueFd acquire;    // signals when the frame is drawn; empty if it is drawn already
  std::shared_ptr<const FrameFormat> format;
};

struct Item {
  Payload payload = no_payload();
  std::optional<FrameItem> frame; // nullopt if the item passes through without an inference
  bool takes_place = true;        // true for buffers: InferenceSetup::places limits their number
};

// A finished item.
struct Outcome {
  Payload payload = no_payload();
  bool was_frame = false;                                  // the item had a frame to infer
  std::optional<Error> error;                              // why this frame has no result
  std::string notice;                                      // Finished::notice
  std::vector<std::shared_ptr<const TensorBlock>> outputs; // one per output of the model
  std::shared_ptr<const FrameFormat> format;
  // Import caches drop a frame's import when these tokens die: whoever owns the frame's memory
  // keeps them for as long as the memory lives.
  std::vector<std::shared_ptr<const void>> liveness;
  std::chrono::nanoseconds inside{0}; // from push(), without its wait for a place, to the result
};

// Written by the worker, read by any thread.
struct InferenceCounters {
  std::atomic<std::uint64_t> inferences{0}; // inferences that gave a result
  std::atomic<std::uint64_t> imports{0};    // frames that the device or the CPU had not mapped yet
  std::atomic<std::uint64_t> import_hits{0};
  std::atomic<std::uint64_t> releases{0};         // imports that are no longer kept
  std::atomic<std::uint64_t> waits{0};            // frames with a fence that was pending
  std::atomic<std::uint64_t> waiting_ns{0};       // from a frame's place in the queue to its start
  std::atomic<std::uint64_t> preprocessing_ns{0}; // frame to tensor
  std::atomic<std::uint64_t> device_ns{0};        // Finished::on_device
  std::atomic<std::uint64_t> in_flight{0};        // requests that are submitted and not finished

  void reset() noexcept
  {
    for (auto *counter : {&inferences, &imports, &import_hits, &releases, &waits, &waiting_ns,
                          &preprocessing_ns, &device_ns, &in_flight})
      *counter = 0;
  }
};

struct InferenceSetup {
  // Limit of max_in_flight, which is at most BackendOptions::max_in_flight.
  static constexpr unsigned kMostInFlight = 16;

  std::unique_ptr<Backend> backend;
  std::shared_ptr<TensorPool> inputs; // for Takes::Tensors
  std::shared_ptr<TensorPool> outputs;
  std::shared_ptr<TensorPool> results; // the outputs are copied to it; nullptr: no copy
  unsigned max_in_flight = 1;
  unsigned places = 1;                     // limit for items that take a place
  std::chrono::milliseconds timeout{1000}; // of one request, and of the fences of one frame
  bool cache_maps = true;                  // keep CPU mappings of frames for the next use
  // For live streams: one request at a time, of the newest frame. Frames that have waited for it
  // meanwhile pass through without an inference.
  bool leaky = false;
};

// A queue with a worker thread. One thread calls push(), drain() and forget_imports(), one other
// thread pop(), any thread set_flushing(). Items come out in the order in which they went in.
//
// The worker takes one frame after the other, waits for its fences, makes a tensor of it, submits
// it and stores its result. It sleeps in ppoll(2) only. A request that exceeds its time is late:
// its frame gets an error, and its memory stays allocated until the device finishes the request.
class InferenceQueue {
public:
  enum class Passage { Done, Flushing };

  // Returns an Error if the process has no descriptor left. `counters` is borrowed.
  static Result<std::unique_ptr<InferenceQueue>> start(InferenceSetup setup,
                                                       InferenceCounters &counters);
  InferenceQueue(const InferenceQueue &) = delete;
  InferenceQueue &operator=(const InferenceQueue &) = delete;
  // No other thread may be in a method. Takes as long as the back end's destructor and
  // the frame that is being preprocessed.
  ~InferenceQueue();

  [[nodiscard]] const Backend &backend() const noexcept { return *backend_; }

  // Sleeps while all places are taken. Drops the item if it returns Flushing.
  Passage push(Item item);
  // Sleeps until the oldest item is done. Returns nullopt while flushing.
  std::optional<Outcome> pop();
  // Sleeps until every item was popped and pop() was called again after the last one.
  Passage drain();
  // Sleeps until the worker has let go of these frames, whose memory upstream frees.
  void forget_imports(Forget what);
  // With true, drops all items and ends the sleep of all other methods, which then return at once
  // until the next call with false.
  void set_flushing(bool flushing);

private:
  using Clock = std::chrono::steady_clock;

  enum class State {
    Waiting, // for the worker
    Working, // in the worker's head_ or requests_
    Done,    // for pop()
    Dropped, // by a flush; the worker may still have it
  };
  // The worker alone uses `item.frame` and `outcome` until the state is Done.
  struct Entry {
    Item item;
    Outcome outcome;
    Clock::time_point entered; // when it got its place
    State state = State::Waiting;
  };

  // Tensors of a request. Shared with the back end until that does not use them any more.
  struct Memory {
    std::shared_ptr<const TensorBlock> input;
    std::vector<std::shared_ptr<const TensorBlock>> outputs;
  };
  // A request that the back end has.
  struct Submission {
    std::shared_ptr<Entry> entry;
    std::shared_ptr<Memory> memory;
    std::vector<TensorView> views;      // of the outputs
    std::vector<CpuAccess> cpu_outputs; // of outputs that the CPU writes
    int done = -1;                      // owned by the back end until finish()
    std::uint64_t id = 0;
    Clock::time_point submitted;
    bool late = false;
  };
  // The next frame to submit.
  struct Head {
    std::shared_ptr<Entry> entry;
    std::array<int, 1 + kMaxPlanes> fences{}; // -1 for those that have signalled
    Clock::time_point deadline;
    bool waited = false; // a fence was pending at the last check
  };

  InferenceQueue(InferenceSetup setup, WakeFd wake, InferenceCounters &counters);

  bool pass_waiting();
  std::shared_ptr<Entry> take_waiting();
  [[nodiscard]] bool is_dropped(const Entry &entry);

  // The worker's.
  void work() noexcept;
  void sleep();
  void collect(std::size_t index);
  void expire();
  bool advance_head();
  [[nodiscard]] bool is_head_ready();
  [[nodiscard]] Result<void> check_acquire() const;
  void begin_head();
  Result<void> prepare(Entry &entry, Submission &request);
  Result<void> take_outputs(Submission &request);
  Result<void> submit(Submission &request);
  Result<void> copy_outputs(Outcome &outcome) const;
  void forget();
  void complete(Entry &entry, std::optional<Error> error);
  void note_loss(const Error &error);
  [[nodiscard]] std::size_t oldest_in_time() const;
  [[nodiscard]] Clock::time_point deadline_of(const Submission &request) const;
  [[nodiscard]] std::size_t n_late() const;

  const unsigned places_;
  const bool leaky_;
  const WakeFd wake_; // readable when the worker has to check entries_, forget_ or quit_

  OrderedMutex lock_{kLeafLockRank, "InferenceQueue::lock_"}; // guards all down to flushing_
  // Two conditions, because a thread that wakes up in vain costs two system calls per frame.
  OrderedCondition done_; // for pop(): an item is done
  OrderedCondition left_; // for push() and drain(): an item has left; forget_imports()
  std::deque<std::shared_ptr<Entry>> entries_; // oldest first
  unsigned places_taken_ = 0;
  bool outside_ = false; // the thread of pop() still handles the last outcome
  bool flushing_ = false;

  std::atomic<bool> quit_{false};
  std::atomic<Forget> forget_{Forget::Nothing}; // the worker resets it when it has

  // The worker's.
  InferenceCounters &counters_;
  FrameMaps maps_;
  std::deque<Submission> requests_; // oldest first; destroyed after the back end, which uses them
  const std::unique_ptr<Backend> backend_;
  const std::shared_ptr<TensorPool> inputs_, outputs_, results_;
  const std::size_t max_in_flight_;
  const std::chrono::milliseconds timeout_;
  const bool cache_maps_;
  std::optional<Head> head_;
  Clock::time_point last_done_{}; // when the last request ended, or became late
  std::optional<Error> lost_;     // why the device is gone
  std::string notice_;            // for the next frame with a result
  std::thread thread_;            // last member: it uses all others
};

} // namespace gstdrm::metis
