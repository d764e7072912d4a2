// SPDX-License-Identifier: LGPL-2.1-or-later
#include "axl_backend.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include <gst/drm/core/import_cache.hpp>
#include <gst/drm/core/log.hpp>
#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/drm/core/poll_wait.hpp>

#include "axl_device.hpp"
#include "axl_model.hpp"

namespace gstdrm::metis {

namespace {

using Import = std::shared_ptr<AxlImport>;

class AxlBackend final : public Backend {
public:
  AxlBackend(std::shared_ptr<AxlDevice> device, const BackendOptions &options, AxlModel model)
      : device_(std::move(device)), model_(std::move(model)), timeout_(options.timeout),
        cache_imports_(options.cache_imports),
        imports_([this](const FrameLayout &frame) { return AxlImport::make(device_, frame); })
  {
  }
  ~AxlBackend() override { drain(); }

  [[nodiscard]] const char *name() const noexcept override { return "axl"; }
  [[nodiscard]] const Model &model() const noexcept override { return model_.model; }
  [[nodiscard]] Takes takes() const noexcept override { return Takes::Frames; }
  [[nodiscard]] bool takes_dmabuf_input() const noexcept override { return true; }
  [[nodiscard]] bool takes_dmabuf_output() const noexcept override { return true; }
  Result<Submitted> submit(const Request &request) override;
  Result<Finished> finish(std::uint64_t id) override;

private:
  // A request that is on the device; the import stays until it is done.
  struct Flight {
    UniqueFd fence;
    Import import;
    std::chrono::nanoseconds submitted{0};
  };

  Result<Import> import(const FrameLayout &frame, Submitted &submitted);
  void drain() noexcept;

  const std::shared_ptr<AxlDevice> device_;
  const AxlModel model_;
  const std::chrono::milliseconds timeout_;
  const bool cache_imports_;
  ImportCache<Import> imports_;                           // submit() alone
  std::uint64_t last_id_ = 0;                             // likewise
  OrderedMutex lock_{kLeafLockRank, "AxlBackend::lock_"}; // guards what follows
  std::map<std::uint64_t, Flight> flights_;
  std::chrono::nanoseconds last_signalled_{0};
};

Result<Import> AxlBackend::import(const FrameLayout &frame, Submitted &submitted)
{
  if (!cache_imports_) {
    submitted.imported = true;
    return AxlImport::make(device_, frame);
  }
  auto imported = imports_.import(frame);
  imports_.advance();
  if (!imported)
    return imported.error();
  submitted.imported = !imported->hit;
  submitted.liveness = std::move(imported->liveness);
  return std::move(imported->imported);
}

Result<Submitted> AxlBackend::submit(const Request &request)
{
  if (Result<void> checked = check_request(request, model_, *device_); !checked)
    return checked.error();
  Submitted submitted;
  Result<Import> imported = import(*request.frame, submitted);
  if (!imported)
    return imported.error();
  Result<AxlSubmission> accepted =
      device_->submit((*imported)->handle(), request.outputs[0].fd, model_.id, timeout_);
  if (!accepted)
    return accepted.error();
  submitted.id = ++last_id_;
  submitted.done = accepted->fence.get();
  const std::lock_guard guard(lock_);
  flights_.emplace(submitted.id,
                   Flight{std::move(accepted->fence), std::move(*imported), accepted->submitted});
  return submitted;
}

Result<Finished> AxlBackend::finish(std::uint64_t id)
{
  Flight flight; // its import is released without the lock
  const std::lock_guard guard(lock_);
  const auto found = flights_.find(id);
  if (found == flights_.end())
    return Error{ErrorCode::Sync, device_->name() + " has no request " + std::to_string(id) + ".",
                 0};
  Result<std::optional<AxlCompletion>> completion = device_->completion(found->second.fence.get());
  if (completion && !*completion)
    return Error{ErrorCode::Sync, "The request is not done.", 0};
  flight = std::move(found->second);
  flights_.erase(found);
  if (!completion)
    return completion.error();
  // The device does one request at a time: it began this one after the one before.
  const auto start = std::max(flight.submitted, last_signalled_);
  const auto end = (*completion)->signalled;
  last_signalled_ = std::max(last_signalled_, end);
  if ((*completion)->error)
    return device_->failure((*completion)->error, timeout_);
  return Finished{std::max(end - start, std::chrono::nanoseconds(0))};
}

// What is not done in time is cancelled by the driver when the device is closed.
void AxlBackend::drain() noexcept
{
  const Deadline deadline = deadline_after(timeout_);
  const std::lock_guard guard(lock_);
  for (const auto &[id, flight] : flights_) {
    if (poll_readable(flight.fence.get(), deadline).end != PollEnd::Ready)
      GSTDRM_WARNING("%s: request %llu is cancelled", device_->name().c_str(),
                     static_cast<unsigned long long>(id));
  }
}

} // namespace

Result<std::unique_ptr<Backend>> open_axl(const BackendOptions &options)
{
  Result<std::shared_ptr<AxlDevice>> device = AxlDevice::open(options.device);
  if (!device)
    return device.error();
  Result<AxlModel> model = complete_model(options.model, **device);
  if (!model)
    return model.error();
  return std::unique_ptr<Backend>(
      std::make_unique<AxlBackend>(std::move(*device), options, std::move(*model)));
}

} // namespace gstdrm::metis
