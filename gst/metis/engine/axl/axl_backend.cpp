// SPDX-License-Identifier: LGPL-2.1-or-later
// The back end over the kernel interface of axl_uapi.h: the device reads the frame's dma-buf and
// writes the result's.
#include <algorithm>
#include <cerrno>
#include <map>
#include <string>
#include <utility>

#include <drm_fourcc.h>

#include <gst/drm/core/format.hpp>
#include <gst/drm/core/import_cache.hpp>
#include <gst/drm/core/log.hpp>
#include <gst/drm/core/poll_wait.hpp>

#include "axl_device.hpp"
#include "engine/backend.hpp"

namespace gstdrm::metis {

namespace {

struct AxlModel {
  Model model;                   // completed; one output
  std::uint32_t id = 0;          // on the device
  std::uint32_t input_width = 0; // pixels; 0 for any size
  std::uint32_t input_height = 0;
};

bool is_complete(const TensorInfo &tensor)
{
  return !tensor.dims.empty() && tensor.n_elements() > 0;
}

Error contradiction(const Model &model, const AxlDevice &device, const std::string &what)
{
  return Error{ErrorCode::Unsupported,
               "The description of the model " + model.name + " does not fit what " +
                   device.name() + " has loaded as model " + std::to_string(*model.device_id) +
                   ": " + what + ". Correct the description, or load the model that belongs to it.",
               EINVAL};
}

// Returns false for values that no model can have.
bool is_sane(const axl_model_info &info)
{
  return info.result_ndims >= 1 && info.result_ndims <= AXL_MAX_DIMS &&
         info.result_type <= AXL_TENSOR_FLOAT32 && info.input_pixfmt == AXL_PIXFMT_NV12;
}

Result<void> complete(TensorInfo &output, const axl_model_info &info, const Model &model,
                      const AxlDevice &device)
{
  if (!is_sane(info))
    return contradiction(model, device, "the driver's own description makes no sense");
  static constexpr TensorType kTypes[] = {TensorType::UInt8, TensorType::Int8, TensorType::Float32};
  const std::vector<std::size_t> dims(info.result_dims, info.result_dims + info.result_ndims);
  if (!output.dims.empty() && !dims_agree(output.dims, dims))
    return contradiction(model, device,
                         "the output has the dimensions " + dims_text(dims) + ", not " +
                             dims_text(output.dims));
  output.dims = dims;
  output.type = kTypes[info.result_type];
  if (info.scale_1e9 != 0)
    output.quantisation = Quantisation{static_cast<double>(info.scale_1e9) * 1e-9, info.zero_point};
  if (!is_complete(output) || output.size_bytes() != info.result_size)
    return contradiction(model, device,
                         "an output of " + dims_text(dims) + " does not have " +
                             std::to_string(info.result_size) + " bytes");
  return {};
}

Result<void> check_frame(const FrameLayout &frame, const AxlModel &model, const AxlDevice &device)
{
  const std::string size = std::to_string(frame.width) + "x" + std::to_string(frame.height);
  if (frame.format.fourcc != DRM_FORMAT_NV12 || frame.format.modifier != DRM_FORMAT_MOD_LINEAR)
    return Error{ErrorCode::Format,
                 device.name() + " takes linear NV12 alone, not " + describe_format(frame.format) +
                     ". Convert the frame before it.",
                 0};
  if (frame.width % 2 != 0 || frame.height % 2 != 0)
    return Error{ErrorCode::Layout,
                 device.name() + " takes NV12 of even width and height, and the frame has " + size +
                     ". Crop or scale it.",
                 0};
  if (frame.planes[0].object.identity != frame.planes[1].object.identity)
    return Error{ErrorCode::Layout,
                 device.name() +
                     " takes both planes of NV12 in one dma-buf, and this frame has two. Let "
                     "upstream allocate each frame as one dma-buf.",
                 0};
  if (model.input_width != 0 &&
      (frame.width != model.input_width || frame.height != model.input_height))
    return Error{ErrorCode::Layout,
                 "The model " + model.model.name + " takes frames of " +
                     std::to_string(model.input_width) + "x" + std::to_string(model.input_height) +
                     ", and the frame has " + size + ". Scale it before.",
                 0};
  return {};
}

// Completes the description by what the driver says. Returns an Error if the description has no
// number of a model, if the device has no such model, or if the two contradict each other.
Result<AxlModel> complete_axl_model(const Model &description, AxlDevice &device)
{
  if (!description.device_id)
    return Error{ErrorCode::Unsupported,
                 "The model " + description.name + " has no number on " + device.name() +
                     ". Name the model that the device has loaded in the model's description.",
                 0};
  AxlModel model{description, *description.device_id};
  if (model.model.outputs.empty())
    model.model.outputs.emplace_back();
  if (model.model.outputs.size() != 1)
    return Error{ErrorCode::Unsupported,
                 device.name() + " writes one output into one dma-buf, and the model " +
                     description.name + " has " + std::to_string(description.outputs.size()) + ".",
                 0};
  Result<std::optional<axl_model_info>> info = device.query_model(model.id);
  if (!info)
    return info.error();
  TensorInfo &output = model.model.outputs[0];
  if (*info) {
    if (Result<void> completed = complete(output, **info, description, device); !completed)
      return completed.error();
    model.input_width = (*info)->input_width;
    model.input_height = (*info)->input_height;
  } else if (!is_complete(output)) {
    return Error{ErrorCode::Unsupported,
                 "The driver of " + device.name() + " cannot say what model " +
                     std::to_string(model.id) +
                     " computes. Give the output's type and dimensions in "
                     "the model's description.",
                 0};
  }
  return model;
}

Result<void> check_request(const Request &request, const AxlModel &model, const AxlDevice &device)
{
  if (!request.frame)
    return Error{ErrorCode::Layout, device.name() + " takes frames, and the request has none.", 0};
  if (Result<void> checked = check_frame(*request.frame, model, device); !checked)
    return checked.error();
  if (request.outputs.size() != 1 || request.outputs[0].fd < 0)
    return Error{ErrorCode::Layout,
                 device.name() + " writes one output into a dma-buf, and the request has " +
                     std::to_string(request.outputs.size()) + " outputs or no dma-buf.",
                 0};
  const std::size_t wanted = model.model.outputs[0].size_bytes();
  if (request.outputs[0].size_bytes < wanted)
    return Error{ErrorCode::Layout,
                 "The model " + model.model.name + " has a result of " + std::to_string(wanted) +
                     " bytes, and the request has room for " +
                     std::to_string(request.outputs[0].size_bytes) + ".",
                 0};
  return {};
}

using Import = std::shared_ptr<AxlImport>;

class AxlBackend final : public Backend {
public:
  AxlBackend(std::shared_ptr<AxlDevice> device, const BackendOptions &options, AxlModel model)
      : device_(std::move(device)), model_(std::move(model)), timeout_(options.timeout),
        cache_imports_(options.cache_imports), releases_(options.releases),
        imports_([this](const FrameLayout &frame) { return make_import(frame); })
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
  void forget_imports(Forget what) noexcept override;

private:
  // A submitted request, which needs its import until it is done.
  struct Flight {
    UniqueFd fence;
    Import import;
    std::chrono::nanoseconds submitted{0};
  };

  Result<Import> make_import(const FrameLayout &frame);
  Result<Import> import(const FrameLayout &frame, Submitted &submitted);
  void drain() noexcept;

  const std::shared_ptr<AxlDevice> device_;
  const AxlModel model_;
  const std::chrono::milliseconds timeout_;
  const bool cache_imports_;
  std::atomic<std::uint64_t> *const releases_; // nullptr: nobody counts
  ImportCache<Import> imports_;
  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, Flight> flights_;
  std::chrono::nanoseconds last_signalled_{0};
};

// A request in flight keeps an import that the cache has dropped.
Result<Import> AxlBackend::make_import(const FrameLayout &frame)
{
  Result<Import> import = AxlImport::make(device_, frame);
  if (!import || !releases_)
    return import;
  AxlImport *const raw = import->get();
  return Import(raw, [owner = std::move(*import), releases = releases_](AxlImport *) mutable {
    owner.reset();
    releases->fetch_add(1, std::memory_order_relaxed);
  });
}

Result<Import> AxlBackend::import(const FrameLayout &frame, Submitted &submitted)
{
  if (!cache_imports_) {
    submitted.imported = true;
    return make_import(frame);
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
  flights_.emplace(submitted.id,
                   Flight{std::move(accepted->fence), std::move(*imported), accepted->submitted});
  return submitted;
}

Result<Finished> AxlBackend::finish(std::uint64_t id)
{
  const auto found = flights_.find(id);
  if (found == flights_.end())
    return Error{ErrorCode::Sync, device_->name() + " has no request " + std::to_string(id) + ".",
                 0};
  Result<std::optional<AxlCompletion>> completion = device_->completion(found->second.fence.get());
  if (completion && !*completion)
    return Error{ErrorCode::Sync, "The request is not done.", 0};
  const Flight flight = std::move(found->second);
  flights_.erase(found);
  if (!completion)
    return completion.error();
  // The device does one request at a time: it began this one after the request before had ended.
  const auto start = std::max(flight.submitted, last_signalled_);
  const auto end = (*completion)->signalled;
  last_signalled_ = std::max(last_signalled_, end);
  if ((*completion)->error)
    return device_->failure((*completion)->error, timeout_);
  return Finished{std::max(end - start, std::chrono::nanoseconds(0)), {}};
}

void AxlBackend::forget_imports(Forget what) noexcept
{
  if (what == Forget::All)
    imports_.clear();
  else if (what == Forget::Unused)
    imports_.drop_unused();
}

// The driver cancels requests that are still running when the device is closed.
void AxlBackend::drain() noexcept
{
  const Deadline deadline = deadline_after(timeout_);
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
  Result<AxlModel> model = complete_axl_model(options.model, **device);
  if (!model)
    return model.error();
  return std::unique_ptr<Backend>(
      std::make_unique<AxlBackend>(std::move(*device), options, std::move(*model)));
}

} // namespace gstdrm::metis
