// SPDX-License-Identifier: LGPL-2.1-or-later
// Metis cards through the vendor's runtime, libaxruntime.
#include <cerrno>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "axr_session.hpp"
#include "engine/backend.hpp"
#include "engine/blocking_runs.hpp"

namespace gstdrm::metis {

namespace {

class AxruntimeBackend final : public Backend {
public:
  AxruntimeBackend(std::shared_ptr<axr::Session> session, const BackendOptions &options)
      : session_(std::move(session)),
        runs_([session = session_](const BlockingRuns::Call &call) { return session->run(call); },
              {options.timeout, options.max_in_flight, "axruntime"})
  {
  }

  [[nodiscard]] const char *name() const noexcept override { return "axruntime"; }
  [[nodiscard]] const Model &model() const noexcept override { return session_->model(); }
  [[nodiscard]] Takes takes() const noexcept override { return Takes::Tensors; }
  [[nodiscard]] bool takes_dmabuf_input() const noexcept override
  {
    return session_->dmabufs().input;
  }
  [[nodiscard]] bool takes_dmabuf_output() const noexcept override
  {
    return session_->dmabufs().output;
  }

  Result<Submitted> submit(const Request &request) override
  {
    if (lost_)
      return *lost_;
    if (Result<void> checked = check(request); !checked)
      return checked.error();
    return runs_.submit(request);
  }
  Result<Finished> finish(std::uint64_t id) override
  {
    Result<Finished> finished = runs_.finish(id);
    if (finished && std::exchange(is_first_, false))
      finished->notice = session_->notice();
    else if (!finished && finished.error().sys_errno == ENODEV)
      lost_ = finished.error();
    return finished;
  }

private:
  [[nodiscard]] Result<void> check(const Request &request) const;

  const std::shared_ptr<axr::Session> session_;
  BlockingRuns runs_;
  bool is_first_ = true;
  std::optional<Error> lost_;
};

// What is wrong with the memory for that tensor; empty if it is right.
std::string wrong_memory(const TensorView &view, const TensorInfo &info, bool as_dmabuf)
{
  if (as_dmabuf && view.fd < 0)
    return "no dma-buf, which the runtime was told to expect";
  if (as_dmabuf && view.fd == 0)
    return "descriptor 0, which means host memory to the runtime; open standard input";
  if (!as_dmabuf && !view.data)
    return "no host memory";
  if (view.size_bytes < info.size_bytes())
    return "memory of " + std::to_string(view.size_bytes) + " bytes, and the tensor has " +
           std::to_string(info.size_bytes());
  return {};
}

// The runtime would write beyond an output that is too small.
Result<void> AxruntimeBackend::check(const Request &request) const
{
  const Model &model = session_->model();
  if (request.outputs.size() != model.outputs.size())
    return Error{ErrorCode::Layout,
                 "axruntime: The model \"" + model.path + "\" has " +
                     std::to_string(model.outputs.size()) + " outputs, and the request " +
                     std::to_string(request.outputs.size()) + ".",
                 EINVAL};
  std::string wrong = wrong_memory(request.input, model.input, takes_dmabuf_input());
  std::string which = "input";
  for (std::size_t n = 0; wrong.empty() && n < model.outputs.size(); n++) {
    which = "output " + std::to_string(n);
    wrong = wrong_memory(request.outputs[n], model.outputs[n], takes_dmabuf_output());
  }
  if (!wrong.empty())
    return Error{ErrorCode::Layout,
                 "axruntime: The " + which + " of the model \"" + model.path + "\" has " + wrong +
                     ".",
                 EINVAL};
  return {};
}

} // namespace

Result<std::unique_ptr<Backend>> open_axruntime(const BackendOptions &options) noexcept
try {
  Result<std::shared_ptr<axr::Session>> session = axr::Session::open(options);
  if (!session)
    return session.error();
  return std::unique_ptr<Backend>(std::make_unique<AxruntimeBackend>(std::move(*session), options));
} catch (const std::exception &thrown) {
  // mostly from std::thread, if the process may have no more threads
  return Error{ErrorCode::Device, std::string("axruntime cannot start: ") + thrown.what(), EAGAIN};
}

} // namespace gstdrm::metis
