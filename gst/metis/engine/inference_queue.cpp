// SPDX-License-Identifier: LGPL-2.1-or-later
#include "inference_queue.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

#include <poll.h>

#include <gst/drm/core/errno_text.hpp>
#include <gst/drm/core/log.hpp>
#include <gst/drm/core/poll_wait.hpp>
#include <gst/drm/core/sync_file.hpp>

namespace gstdrm::metis {

namespace {

using std::chrono::nanoseconds;

// Back ends that have the same time limit themselves report a better error, if they come first.
constexpr std::chrono::milliseconds kGrace{20};

std::uint64_t count_ns(std::chrono::steady_clock::duration time)
{
  return static_cast<std::uint64_t>(std::chrono::duration_cast<nanoseconds>(time).count());
}

bool is_ready_now(int fd)
{
  return poll_readable(fd, std::chrono::steady_clock::time_point{}).end != PollEnd::TimeIsOver;
}

timespec time_left(std::chrono::steady_clock::time_point deadline)
{
  constexpr long kNanoseconds = 1'000'000'000;
  const auto left = std::max(nanoseconds(0), std::chrono::duration_cast<nanoseconds>(
                                                 deadline - std::chrono::steady_clock::now()));
  return {static_cast<time_t>(left.count() / kNanoseconds),
          static_cast<long>(left.count() % kNanoseconds)};
}

Error late_error(const char *what, std::chrono::milliseconds timeout)
{
  return Error{ErrorCode::Sync, what + std::to_string(timeout.count()) + " ms.", ETIMEDOUT};
}

} // namespace

Result<std::unique_ptr<InferenceQueue>> InferenceQueue::start(InferenceSetup setup,
                                                              InferenceCounters &counters)
{
  auto wake = WakeFd::create();
  if (!wake)
    return wake.error();
  return std::unique_ptr<InferenceQueue>(
      new InferenceQueue(std::move(setup), std::move(*wake), counters));
}

InferenceQueue::InferenceQueue(InferenceSetup setup, WakeFd wake, InferenceCounters &counters)
    : places_(setup.places), leaky_(setup.leaky), wake_(std::move(wake)), counters_(counters),
      maps_(counters.releases), backend_(std::move(setup.backend)),
      inputs_(std::move(setup.inputs)), outputs_(std::move(setup.outputs)),
      results_(std::move(setup.results)),
      max_in_flight_(std::clamp(setup.max_in_flight, 1U, InferenceSetup::kMostInFlight)),
      timeout_(setup.timeout), cache_maps_(setup.cache_maps), thread_(&InferenceQueue::work, this)
{
}

InferenceQueue::~InferenceQueue()
{
  quit_ = true;
  set_flushing(true); // wakes the worker, too
  thread_.join();
  counters_.in_flight = 0;
}

// --- items ---------------------------------------------------------------------------------------

InferenceQueue::Passage InferenceQueue::push(Item item)
{
  auto entry = std::make_shared<Entry>();
  const bool is_frame = item.frame.has_value();
  bool passed = !is_frame;
  entry->outcome.was_frame = is_frame;
  entry->state = is_frame ? State::Waiting : State::Done;
  entry->item = std::move(item);
  {
    std::unique_lock guard(lock_);
    const unsigned place = entry->item.takes_place ? 1 : 0;
    left_.wait(guard, [&] { return flushing_ || places_taken_ + place <= places_; });
    if (flushing_) {
      guard.unlock(); // the payload's deleter runs without the lock
      return Passage::Flushing;
    }
    entry->entered = Clock::now();
    places_taken_ += place;
    passed |= leaky_ && is_frame && pass_waiting();
    entries_.push_back(std::move(entry));
  }
  if (is_frame)
    wake_.wake();
  if (passed)
    done_.notify_all();
  return Passage::Done;
}

std::optional<Outcome> InferenceQueue::pop()
{
  std::shared_ptr<Entry> entry;
  {
    std::unique_lock guard(lock_);
    outside_ = false;
    if (entries_.empty())
      left_.notify_all(); // drain()
    done_.wait(guard, [this] {
      return flushing_ || (!entries_.empty() && entries_.front()->state == State::Done);
    });
    if (flushing_)
      return std::nullopt;
    entry = std::move(entries_.front());
    entries_.pop_front();
    places_taken_ -= entry->item.takes_place ? 1 : 0;
    outside_ = true;
  }
  left_.notify_all(); // push()
  Outcome outcome = std::move(entry->outcome);
  outcome.payload = std::move(entry->item.payload);
  return outcome;
}

InferenceQueue::Passage InferenceQueue::drain()
{
  std::unique_lock guard(lock_);
  left_.wait(guard, [this] { return flushing_ || (entries_.empty() && !outside_); });
  return flushing_ ? Passage::Flushing : Passage::Done;
}

void InferenceQueue::forget_imports(Forget what)
{
  forget_ = what;
  wake_.wake();
  std::unique_lock guard(lock_);
  left_.wait(guard, [this] { return flushing_ || forget_ == Forget::Nothing; });
}

void InferenceQueue::set_flushing(bool flushing)
{
  std::deque<std::shared_ptr<Entry>> dropped; // destroyed without the lock
  {
    const std::lock_guard guard(lock_);
    flushing_ = flushing;
    for (const auto &entry : entries_)
      entry->state = State::Dropped;
    dropped.swap(entries_);
    places_taken_ = 0;
  }
  left_.notify_all();
  done_.notify_all();
  wake_.wake();
}

// Lets frames that the worker has not taken pass without an inference. Returns false if there is
// none. Called with the lock.
bool InferenceQueue::pass_waiting()
{
  bool any = false;
  for (const auto &entry : entries_)
    if (entry->state == State::Waiting) {
      entry->outcome.was_frame = false;
      entry->state = State::Done;
      any = true;
    }
  return any;
}

// The oldest frame for the worker; nullptr if there is none.
std::shared_ptr<InferenceQueue::Entry> InferenceQueue::take_waiting()
{
  const std::lock_guard guard(lock_);
  const auto next = std::find_if(entries_.begin(), entries_.end(),
                                 [](const auto &entry) { return entry->state == State::Waiting; });
  if (next == entries_.end())
    return nullptr;
  (*next)->state = State::Working;
  return *next;
}

bool InferenceQueue::is_dropped(const Entry &entry)
{
  const std::lock_guard guard(lock_);
  return entry.state == State::Dropped;
}

void InferenceQueue::complete(Entry &entry, std::optional<Error> error)
{
  if (error)
    GSTDRM_DEBUG("a frame goes on without a result: %s", error->message.c_str());
  entry.outcome.error = std::move(error);
  if (entry.item.frame)
    entry.outcome.format = entry.item.frame->format;
  entry.outcome.inside = Clock::now() - entry.entered;
  {
    const std::lock_guard guard(lock_);
    entry.state = State::Done;
  }
  done_.notify_all();
}

// --- the worker ----------------------------------------------------------------------------------

// After an exception it is unknown which frame was lost, so all frames that the worker has end with
// an error. Their requests keep their memory until the device is done. The message fits into a
// std::string without an allocation.
void InferenceQueue::work() noexcept
{
  while (!quit_) {
    try {
      while (advance_head())
        ;
      forget();
      sleep();
      expire();
    } catch (...) {
      lost_ = Error{ErrorCode::Device, "out of memory", ENOMEM};
      head_.reset();
      for (Submission &request : requests_)
        request.late = true;
      {
        const std::lock_guard guard(lock_);
        for (const auto &entry : entries_)
          if (entry->state == State::Working) {
            entry->outcome.error = lost_;
            entry->state = State::Done;
          }
      }
      done_.notify_all();
    }
  }
}

// After what was pushed before.
void InferenceQueue::forget()
{
  const Forget what = forget_;
  if (what == Forget::Nothing)
    return;
  if (what == Forget::All)
    maps_.clear();
  else
    maps_.drop_unused();
  backend_->forget_imports(what);
  {
    const std::lock_guard guard(lock_); // or forget_imports() could sleep after the notification
    forget_ = Forget::Nothing;
  }
  left_.notify_all();
}

// requests_.size() if all requests are late.
std::size_t InferenceQueue::oldest_in_time() const
{
  return static_cast<std::size_t>(
      std::find_if(requests_.begin(), requests_.end(),
                   [](const Submission &request) { return !request.late; }) -
      requests_.begin());
}

std::size_t InferenceQueue::n_late() const
{
  return static_cast<std::size_t>(std::count_if(
      requests_.begin(), requests_.end(), [](const Submission &request) { return request.late; }));
}

// The device works on one request after the other, so the time of a request runs from the end of
// the request before it.
InferenceQueue::Clock::time_point InferenceQueue::deadline_of(const Submission &request) const
{
  if (lost_)
    return {};
  return std::max(request.submitted, last_done_) + timeout_ + kGrace;
}

// Polls the wake descriptor, the fences of the head, the oldest request that is in time (requests
// end in order), and the late requests.
void InferenceQueue::sleep()
{
  constexpr std::size_t kMost = 1 + 1 + kMaxPlanes + InferenceSetup::kMostInFlight;
  std::array<pollfd, kMost> polled{};
  std::array<std::size_t, kMost> request_of{};
  std::size_t n = 0;
  polled[n++] = {wake_.get(), POLLIN, 0};
  std::optional<Clock::time_point> deadline;
  if (head_ && head_->waited) {
    deadline = head_->deadline;
    for (const int fence : head_->fences)
      polled[n++] = {fence, POLLIN, 0};
  }
  const std::size_t first_request = n;
  const std::size_t next = oldest_in_time();
  for (std::size_t i = 0; i < requests_.size(); i++)
    if (requests_[i].late || i == next) {
      request_of[n] = i;
      polled[n++] = {requests_[i].done, POLLIN, 0};
    }
  if (next < requests_.size())
    deadline = std::min(deadline.value_or(Clock::time_point::max()), deadline_of(requests_[next]));
  const timespec left = deadline ? time_left(*deadline) : timespec{};
  const int ready = ::ppoll(polled.data(), n, deadline ? &left : nullptr, nullptr);
  if (ready <= 0)
    return;
  if (polled[0].revents != 0)
    wake_.drain();
  for (std::size_t i = n; i-- > first_request;) // from the back: collect() erases
    if (polled[i].revents != 0)
      collect(request_of[i]);
}

// Finishes a request that is done.
void InferenceQueue::collect(std::size_t index)
{
  Submission request = std::move(requests_[index]);
  requests_.erase(requests_.begin() + static_cast<std::ptrdiff_t>(index));
  counters_.in_flight = requests_.size();
  last_done_ = Clock::now();
  auto finished = backend_->finish(request.id);
  request.cpu_outputs.clear();
  if (!finished)
    note_loss(finished.error());
  else if (!finished->notice.empty())
    notice_ = std::move(finished->notice);
  if (request.late)
    return;
  if (!finished)
    return complete(*request.entry, finished.error());
  counters_.device_ns += count_ns(finished->on_device);
  counters_.inferences++;
  request.entry->outcome.outputs = request.memory->outputs;
  if (const auto copied = copy_outputs(request.entry->outcome); !copied)
    return complete(*request.entry, copied.error());
  request.entry->outcome.notice = std::exchange(notice_, {});
  complete(*request.entry, std::nullopt);
}

// A device that writes dma-bufs only: copies its outputs to the memory that the user asked for.
Result<void> InferenceQueue::copy_outputs(Outcome &outcome) const
{
  if (!results_)
    return {};
  for (std::size_t i = 0; i < outcome.outputs.size(); i++) {
    auto &output = outcome.outputs[i];
    const std::size_t size_bytes = backend_->model().outputs[i].size_bytes();
    auto result = results_->take(size_bytes);
    if (!result)
      return result.error();
    const auto access = output->begin_access(DmaBufAccess::Read);
    if (!access)
      return access.error();
    std::memcpy((*result)->data(), output->data(), size_bytes);
    output = std::move(*result);
  }
  return {};
}

// Frames whose request is late go on without a result.
void InferenceQueue::expire()
{
  for (std::size_t i = oldest_in_time(); i < requests_.size(); i = oldest_in_time()) {
    Submission &request = requests_[i];
    if (Clock::now() < deadline_of(request))
      return;
    if (is_ready_now(request.done)) {
      collect(i);
      continue;
    }
    request.late = true;
    last_done_ = Clock::now();
    complete(*request.entry,
             lost_ ? *lost_ : late_error("The device did not answer within ", timeout_));
  }
}

void InferenceQueue::note_loss(const Error &error)
{
  if (error.code == ErrorCode::Device && error.sys_errno == ENODEV && !lost_)
    lost_ = error;
}

// Returns true if it did something, so that the next call may be able to do more.
bool InferenceQueue::advance_head()
{
  if (head_ && is_dropped(*head_->entry)) {
    head_.reset();
    return true;
  }
  if (!head_) {
    // a frame that is taken early is not the newest one when its turn comes
    if (leaky_ && oldest_in_time() < requests_.size())
      return false;
    std::shared_ptr<Entry> entry = take_waiting();
    if (!entry)
      return false;
    head_ = Head{std::move(entry), {}, Clock::now() + timeout_, false};
    const FrameItem &frame = *head_->entry->item.frame;
    head_->fences.fill(-1);
    head_->fences[0] = frame.acquire.get();
    for (std::size_t i = 0; i < frame.layout.n_planes; i++) {
      const auto &planes = frame.layout.planes; // a dma-buf of several planes is polled once
      if (i == 0 || !(planes[i].object.identity == planes[i - 1].object.identity))
        head_->fences[1 + i] = planes[i].fd;
    }
  }
  const auto fail_head = [this](const Error &error) {
    const std::shared_ptr<Entry> entry = std::move(head_->entry);
    head_.reset();
    complete(*entry, error);
    return true;
  };
  if (!is_head_ready()) { // even if the device is lost: downstream does not wait for this fence
    if (Clock::now() < head_->deadline)
      return false;
    return fail_head(late_error("The frame's fence did not signal within ", timeout_));
  }
  if (const Result<void> acquired = check_acquire(); !acquired)
    return fail_head(acquired.error());
  if (lost_)
    return fail_head(*lost_);
  if (n_late() >= max_in_flight_)
    return fail_head(late_error("Every request at the device has been late for ", timeout_));
  if (requests_.size() >= max_in_flight_)
    return false;
  begin_head();
  return true;
}

// Makes one system call, and none for a frame without fences.
bool InferenceQueue::is_head_ready()
{
  std::array<pollfd, 1 + kMaxPlanes> polled{};
  bool any = false;
  for (std::size_t i = 0; i < polled.size(); i++) {
    polled[i] = {head_->fences[i], POLLIN, 0};
    any |= head_->fences[i] >= 0;
  }
  head_->waited &= any;
  if (!any)
    return true;
  const bool interrupted = ::poll(polled.data(), polled.size(), 0) < 0;
  bool pending = false;
  for (std::size_t i = 0; i < polled.size(); i++) {
    if (!interrupted && polled[i].revents != 0)
      head_->fences[i] = -1;
    pending |= head_->fences[i] >= 0;
  }
  if (pending && !head_->waited)
    counters_.waits++;
  head_->waited = pending;
  return !pending;
}

// A sync_file signals an error if its producer failed. Implicit fences have no error to read.
Result<void> InferenceQueue::check_acquire() const
{
  const UniqueFd &acquire = head_->entry->item.frame->acquire;
  if (!acquire)
    return {};
  const Result<FenceState> state = fence_state(acquire.get());
  if (state && *state == FenceState::Failed)
    return Error{ErrorCode::Sync,
                 "The frame's acquire fence signalled an error: its producer did not draw it.", 0};
  return {};
}

void InferenceQueue::begin_head()
{
  const std::shared_ptr<Entry> entry = std::move(head_->entry);
  head_.reset();
  counters_.waiting_ns += count_ns(Clock::now() - entry->entered);
  requests_.emplace_back(); // before submit(): an exception must not free memory of the device
  Submission &request = requests_.back();
  request.entry = entry;
  request.memory = std::make_shared<Memory>();
  Result<void> begun =
      backend_->takes() == Backend::Takes::Tensors ? prepare(*entry, request) : Result<void>();
  if (begun)
    begun = take_outputs(request);
  if (begun && is_dropped(*entry)) { // by a flush during prepare()
    requests_.pop_back();
    return;
  }
  if (begun)
    begun = submit(request);
  if (begun)
    return;
  requests_.pop_back();
  note_loss(begun.error());
  complete(*entry, begun.error());
}

Result<void> InferenceQueue::prepare(Entry &entry, Submission &request)
{
  const Clock::time_point start = Clock::now();
  const FrameItem &frame = *entry.item.frame;
  auto input = inputs_->take(backend_->model().input.size_bytes());
  if (!input)
    return input.error();
  request.memory->input = std::move(*input);
  PictureView picture = frame.picture;
  FrameMaps::View view;
  if (frame.layout.n_planes > 0) {
    auto mapped = maps_.map(frame.layout);
    if (!mapped)
      return mapped.error();
    view = std::move(*mapped);
    (view.hit ? counters_.import_hits : counters_.imports)++;
    picture = PictureView{
        frame.layout.format.fourcc, frame.layout.width,      frame.layout.height, {}, {},
        frame.format->matrix,       frame.format->full_range};
    std::copy_n(view.planes.begin(), picture.planes.size(), picture.planes.begin());
    std::copy_n(view.strides.begin(), picture.strides.size(), picture.strides.begin());
    entry.outcome.liveness.push_back(view.liveness);
  }
  {
    const auto access = request.memory->input->begin_access(DmaBufAccess::Write);
    if (!access)
      return access.error();
    frame.format->prepare(picture, request.memory->input->data());
  }
  counters_.preprocessing_ns += count_ns(Clock::now() - start);
  maps_.advance();
  if (!cache_maps_)
    maps_.clear();
  return {};
}

Result<void> InferenceQueue::take_outputs(Submission &request)
{
  const std::vector<TensorInfo> &infos = backend_->model().outputs;
  request.memory->outputs.reserve(infos.size());
  request.views.reserve(infos.size());
  for (const TensorInfo &info : infos) {
    auto block = outputs_->take(info.size_bytes());
    if (!block)
      return block.error();
    request.views.push_back((*block)->view(info.size_bytes()));
    if (!backend_->takes_dmabuf_output()) {
      auto access = (*block)->begin_access(DmaBufAccess::Write);
      if (!access)
        return access.error();
      if (*access)
        request.cpu_outputs.push_back(std::move(**access));
    }
    request.memory->outputs.push_back(std::move(*block));
  }
  return {};
}

Result<void> InferenceQueue::submit(Submission &request)
{
  Entry &entry = *request.entry;
  Request asked;
  const bool takes_frames = backend_->takes() == Backend::Takes::Frames;
  if (takes_frames)
    asked.frame = &entry.item.frame->layout;
  else
    asked.input = request.memory->input->view(backend_->model().input.size_bytes());
  asked.outputs = request.views;
  asked.keeper = request.memory;
  request.submitted = Clock::now();
  Result<Submitted> submitted = backend_->submit(asked);
  if (!submitted)
    return submitted.error();
  request.id = submitted->id;
  request.done = submitted->done;
  if (submitted->liveness)
    entry.outcome.liveness.push_back(std::move(submitted->liveness));
  if (takes_frames)
    (submitted->imported ? counters_.imports : counters_.import_hits)++;
  counters_.in_flight = requests_.size();
  return {};
}

} // namespace gstdrm::metis
