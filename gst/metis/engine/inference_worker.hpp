// SPDX-License-Identifier: LGPL-2.1-or-later
// The thread that brings frames to a back end and results back.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <gst/drm/core/format.hpp>

#include "backend.hpp"
#include "frame_maps.hpp"
#include "item_line.hpp"

namespace gstdrm::metis {

struct InferenceSetup {
  // Requests at the back end, at most; BackendOptions::max_in_flight is not less.
  static constexpr unsigned kMostInFlight = 16;

  std::unique_ptr<Backend> backend;
  std::shared_ptr<TensorPool> inputs; // Takes::Tensors
  std::shared_ptr<TensorPool> outputs;
  std::shared_ptr<TensorPool> results; // what outputs are copied to; nullptr: they stay
  unsigned max_in_flight = 1;
  unsigned places = 1;                     // items inside that take a place
  std::chrono::milliseconds timeout{1000}; // of one request, and of the fences of one frame
  bool cache_maps = true;                  // keep the CPU's mappings of frames
};

// Takes frames from a line in turn, waits for their fences, makes tensors of them, submits them and
// settles them with the results. Sleeps in poll(2) alone. A request that is not done in time is
// late: its frame is settled with an Error, and its memory is kept until the device is done.
class InferenceWorker {
public:
  // The line and the counters are borrowed.
  InferenceWorker(InferenceSetup setup, ItemLine &line, InferenceCounters &counters);
  InferenceWorker(const InferenceWorker &) = delete;
  InferenceWorker &operator=(const InferenceWorker &) = delete;
  // Ends the thread, then the back end, which waits for its requests within its timeout.
  ~InferenceWorker();

  [[nodiscard]] const Backend &backend() const noexcept { return *backend_; }

private:
  using Clock = std::chrono::steady_clock;
  using Entry = ItemLine::Entry;

  // What the back end may touch; the back end shares it until it is done with it.
  struct Memory {
    std::shared_ptr<const TensorBlock> input;
    std::vector<std::shared_ptr<const TensorBlock>> outputs;
  };
  // At the back end.
  struct Request {
    std::shared_ptr<Entry> entry;
    std::shared_ptr<Memory> memory;
    std::vector<TensorView> views;      // of the outputs
    std::vector<CpuAccess> cpu_outputs; // of outputs that the CPU writes
    int done = -1;                      // the back end's, until finish()
    std::uint64_t id = 0;
    Clock::time_point submitted;
    bool late = false;
  };
  // The frame whose turn it is. Of its descriptors those are negative that are done.
  struct Head {
    std::shared_ptr<Entry> entry;
    std::array<int, 1 + kMaxPlanes> fences{};
    Clock::time_point deadline;
    bool waited = false;
  };

  void work() noexcept;
  void sleep();
  void collect(std::size_t index);
  void expire();
  bool advance_head();
  [[nodiscard]] bool is_head_ready();
  [[nodiscard]] Result<void> check_acquire() const;
  void begin_head();
  Result<void> prepare(Entry &entry, Request &request);
  Result<void> take_outputs(Request &request);
  Result<void> submit(Request &request);
  Result<void> copy_outputs(Outcome &outcome) const;
  void settle(Entry &entry, std::optional<Error> error);
  void note_loss(const Error &error);
  [[nodiscard]] Request *oldest_in_time() noexcept;
  [[nodiscard]] Clock::time_point deadline_of(const Request &request) const;
  [[nodiscard]] std::size_t n_late() const noexcept;

  ItemLine &line_;
  InferenceCounters &counters_;
  FrameMaps maps_;
  std::deque<Request> requests_; // oldest first; freed after the back end
  const std::unique_ptr<Backend> backend_;
  const std::shared_ptr<TensorPool> inputs_, outputs_, results_;
  const std::size_t max_in_flight_;
  const std::chrono::milliseconds timeout_;
  const bool cache_maps_;
  std::optional<Head> head_;
  Clock::time_point last_done_{}; // when the back end was last seen to end a request
  std::optional<Error> lost_;     // the device is gone
  std::atomic<bool> quit_{false};
  std::thread thread_; // last: it uses all above
};

} // namespace gstdrm::metis
