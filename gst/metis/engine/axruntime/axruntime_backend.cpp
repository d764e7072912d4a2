// SPDX-License-Identifier: LGPL-2.1-or-later
// Metis cards through the vendor's runtime, libaxruntime.
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <future>

#include <gst/drm/core/log.hpp>
#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/drm/core/sync_file.hpp>

#include "axr_library.hpp"
#include "axr_model.hpp"
#include "engine/backend.hpp"
#include "engine/blocking_runs.hpp"
#include "engine/device_name.hpp"

namespace gstdrm::metis {

namespace axr {
namespace {

// Tensors that the runtime takes as dma-bufs; it takes the others as host memory. It is told when
// the model is loaded.
struct DmaBufs {
  bool input = false;
  bool output = false;
};

constexpr std::size_t kMaxOutputs = 256; // no model has more

// The runtime is said not to support loading models on several threads at a time.
OrderedMutex &loading()
{
  static OrderedMutex one(30, "axr::loading()");
  return one;
}

// num_sub_devices and aipu_cores are the batch size of the model, which is 1. With double_buffer=1
// a call returns the results of an earlier call.
std::string instance_properties(DmaBufs dmabufs)
{
  return std::string("input_dmabuf=") + (dmabufs.input ? "1" : "0") +
         "\noutput_dmabuf=" + (dmabufs.output ? "1" : "0") +
         "\nnum_sub_devices=1\naipu_cores=1\ndouble_buffer=0";
}

Argument argument_of(const TensorView &view, const TensorInfo &info, bool as_dmabuf)
{
  if (as_dmabuf)
    return {nullptr, view.fd, 0, info.size_bytes()};
  return {view.data, -1, 0, info.size_bytes()};
}

constexpr std::size_t kNameBytes = 256;
// Sizes of an axrDeviceInfo: up to firmware_version, and with the newer fields of the board
// controller. In this order all reads stay within the runtime's array: in an array of the larger
// records, flashed_firmware_version and not a device's name is 792 bytes after each name.
constexpr std::array<std::size_t, 2> kRecordBytes = {792, 1568};

const char *name_at(const Device *devices, std::size_t offset_bytes)
{
  return reinterpret_cast<const char *>(devices) + offset_bytes;
}

std::string name_of(const char *name)
{
  return {name, strnlen(name, kNameBytes)};
}

// nullopt if the second record begins at no known size.
std::optional<std::size_t> record_bytes(const Device *devices)
{
  for (const std::size_t size : kRecordBytes)
    if (parse_device_name(name_of(name_at(devices, size))))
      return size;
  return std::nullopt;
}

// "metis-0:1:0" and "metis-0:01:0" are the same device: domain, bus and slot are hexadecimal.
bool same_device(const std::string &a, const std::string &b)
{
  const auto address = parse_device_name(a);
  return a == b || (address && address == parse_device_name(b));
}

// The runtime's record of that device, valid until the devices are listed again; null if `name` is
// empty, which the runtime takes for the first device. ErrorCode::Device with ENODEV if there is no
// such device; the message names the others.
Result<const Device *> find_device(const Api &api, Context *context, const std::string &name)
{
  if (name.empty())
    return static_cast<const Device *>(nullptr);
  const Device *devices = nullptr;
  const std::size_t count = api.list_devices(context, &devices);
  if (count == 0 || !devices) {
    const std::string why = last_error(api, as_object(context));
    return Error{ErrorCode::Device,
                 "No device \"" + name + "\": the runtime finds no device at all (" + why +
                     "). Look whether the card is in lspci and its driver is loaded.",
                 ENODEV};
  }
  const std::size_t stride = count > 1 ? record_bytes(devices).value_or(0) : 0;
  std::string found;
  for (std::size_t n = 0; n < (stride > 0 ? count : 1); n++) {
    const char *record = name_at(devices, n * stride);
    if (same_device(name, name_of(record)))
      return reinterpret_cast<const Device *>(record);
    found += (found.empty() ? "" : ", ") + name_of(record);
  }
  if (stride == 0 && count > 1)
    found += " and " + std::to_string(count - 1) + " more that cannot be told apart";
  return Error{ErrorCode::Device,
               "No device \"" + name + "\": the runtime finds " + found +
                   ". Set the property device to one of these, or leave it empty.",
               ENODEV};
}

// A model that is loaded onto a device: owner of the runtime's objects. One thread at a time,
// except where a method says otherwise. A call of the runtime that does not return keeps the
// session alive.
class Session {
public:
  // Loads the model of the options onto their device, and completes the model's description. Uses
  // host memory and logs a warning if the runtime refuses dma-bufs. ErrorCode::Sync with ETIMEDOUT
  // after BackendOptions::open_timeout: the runtime's call then keeps a thread, and every other
  // open() fails in the same way until it returns, because one model is loaded at a time. Throws
  // what std::thread throws.
  static Result<std::shared_ptr<Session>> open(const BackendOptions &options);

  [[nodiscard]] const Model &model() const noexcept { return model_; }
  // Any thread. The outputs may change to host memory during the first run().
  [[nodiscard]] DmaBufs dmabufs() const noexcept { return {input_dmabuf_, output_dmabuf_}; }

  // Blocks for as long as the runtime needs. ErrorCode::Device with ENODEV if the device is lost,
  // now or earlier. If the first inference fails with outputs in dma-bufs, it loads the model again
  // for outputs in host memory and repeats the inference.
  Result<void> run(const BlockingRuns::Call &call);
  // What the user has to know of the first run(), which alone changes it; mostly empty. Call it
  // after that run.
  [[nodiscard]] const std::string &notice() const noexcept { return notice_; }

private:
  Session(Library library, Model model);
  static Result<std::shared_ptr<Session>> open_blocking(const BackendOptions &options);
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
  std::string device_; // the `device` property
  std::atomic<bool> input_dmabuf_{false};
  std::atomic<bool> output_dmabuf_{false};
  bool may_fall_back_ = true; // until the first inference has ended
  // Destroyed in reverse order: each object before the one that it was made of.
  Owned<Context> context_;
  Owned<CompiledModel> compiled_;
  Owned<Connection> connection_;
  Owned<Instance> instance_;
  std::optional<Error> lost_; // of the run() that lost the device
  std::string notice_;
};

Session::Session(Library library, Model model)
    : library_(std::move(library)), model_(std::move(model)),
      context_(owned(library_.api, library_.api.create_context()))
{
}

Result<std::shared_ptr<Session>> Session::open_blocking(const BackendOptions &options)
{
  if (Result<void> readable = check_model_json(options.model.path); !readable)
    return readable.error();
  Result<Library> library = open_library();
  if (!library)
    return library.error();
  const std::lock_guard guard(loading());
  std::shared_ptr<Session> session(new Session(std::move(*library), options.model));
  if (!session->context_)
    return Error{ErrorCode::Device,
                 "\"" + session->library_.path + "\" gives no context (axr_create_context).", EIO};
  if (Result<void> loaded = session->load_model(); !loaded)
    return loaded.error();
  if (Result<void> read = session->read_tensors(); !read)
    return read.error();
  if (Result<void> connected = session->connect(options.device); !connected)
    return connected.error();
  if (Result<void> ready = session->load_instance({options.dmabuf_input, options.dmabuf_output});
      !ready)
    return ready.error();
  return session;
}

Result<std::shared_ptr<Session>> Session::open(const BackendOptions &options)
{
  std::promise<Result<std::shared_ptr<Session>>> promise;
  auto opened = promise.get_future();
  std::thread thread([promise = std::move(promise), options]() mutable noexcept {
    promise.set_value([&]() noexcept -> Result<std::shared_ptr<Session>> {
      try {
        return open_blocking(options);
      } catch (...) {
        return Error{ErrorCode::Device, "out of memory", ENOMEM}; // fits without an allocation
      }
    }());
  });
  if (opened.wait_for(options.open_timeout) == std::future_status::ready) {
    thread.join();
    return opened.get();
  }
  thread.detach(); // the promise keeps the session, which closes with the thread
  return Error{
      ErrorCode::Sync,
      "axruntime: Opening the model \"" + options.model.path + "\" took longer than " +
          std::to_string(options.open_timeout.count()) +
          " ms. Look whether the device answers and whether another process loads a model; "
          "raise open-timeout if the model takes that long.",
      ETIMEDOUT};
}

std::string Session::device_name() const
{
  return device_.empty() ? "the first device" : "device \"" + device_ + "\"";
}

Result<void> Session::load_model()
{
  const Api &api = library_.api;
  compiled_ = owned(api, api.load_model(context_.get(), model_.path.c_str()));
  if (!compiled_)
    return failed(api, context_.get(), "Loading the model \"" + model_.path + "\"",
                  "It must be compiled for the runtime that is used, \"" + library_.path +
                      "\": runtimes take no models of other versions.");
  return {};
}

Result<void> Session::read_tensors()
{
  const Api &api = library_.api;
  const std::size_t n_inputs = api.num_model_inputs(compiled_.get());
  const std::size_t n_outputs = api.num_model_outputs(compiled_.get());
  if (n_inputs != 1 || n_outputs == 0 || n_outputs > kMaxOutputs)
    return Error{ErrorCode::Unsupported,
                 "The model \"" + model_.path + "\" has " + std::to_string(n_inputs) +
                     " inputs and " + std::to_string(n_outputs) +
                     " outputs; one input and 1 to 256 outputs can be used.",
                 ENOTSUP};
  Result<TensorInfo> input = read_tensor(api, api.get_model_input(compiled_.get(), 0), "input 0");
  if (!input)
    return input.error();
  std::vector<TensorInfo> outputs;
  for (std::size_t n = 0; n < n_outputs; n++) {
    Result<TensorInfo> output =
        read_tensor(api, api.get_model_output(compiled_.get(), n), "output " + std::to_string(n));
    if (!output)
      return output.error();
    outputs.push_back(std::move(*output));
  }
  return complete(model_, *input, outputs);
}

Result<void> Session::connect(const std::string &device)
{
  const Api &api = library_.api;
  device_ = device;
  Result<const Device *> found = find_device(api, context_.get(), device);
  if (!found)
    return found.error();
  connection_ =
      owned(api, api.device_connect(context_.get(), *found, model_.input.dims[0], nullptr));
  if (!connection_)
    return failed(api, context_.get(), "Connecting to " + device_name(),
                  "Look whether another process uses it, and whether its driver is loaded.");
  return {};
}

Owned<Instance> Session::make_instance(DmaBufs wanted)
{
  const Api &api = library_.api;
  const auto properties =
      owned(api, api.create_properties(context_.get(), instance_properties(wanted).c_str()));
  if (!properties)
    return owned<Instance>(api, nullptr);
  return owned(api, api.load_model_instance(connection_.get(), compiled_.get(), properties.get()));
}

Result<void> Session::load_instance(DmaBufs wanted)
{
  struct Attempt {
    DmaBufs dmabufs;
    const char *without; // the property that the attempt before had
  };
  std::vector<Attempt> attempts{{wanted, nullptr}};
  if (wanted.output)
    attempts.push_back({{wanted.input, false}, "output_dmabuf"});
  if (wanted.input)
    attempts.push_back({{false, false}, "input_dmabuf"});
  std::vector<std::string> refusals;
  for (const Attempt &attempt : attempts) {
    instance_ = make_instance(attempt.dmabufs);
    if (!instance_) {
      refusals.push_back(last_error(library_.api, as_object(context_.get())));
      continue;
    }
    input_dmabuf_ = attempt.dmabufs.input;
    output_dmabuf_ = attempt.dmabufs.output;
    // only now: if no attempt works, the properties are not the reason
    for (std::size_t n = 0; n < refusals.size(); n++)
      GSTDRM_WARNING("axruntime: The runtime takes the model \"%s\" without %s=1 only (%s): these "
                     "tensors go through host memory.",
                     model_.path.c_str(), attempts[n + 1].without, refusals[n].c_str());
    return {};
  }
  return failed(library_.api, context_.get(),
                "Loading the model \"" + model_.path + "\" onto " + device_name(),
                "Look whether other models fill the device.");
}

Result<void> Session::run(const BlockingRuns::Call &call)
{
  if (lost_)
    return *lost_;
  Result<void> inferred = infer(call);
  if (!inferred && inferred.error().sys_errno != ENODEV && output_dmabuf_ &&
      std::exchange(may_fall_back_, false) && fall_back(call, inferred.error().message))
    return {};
  may_fall_back_ = false;
  return inferred;
}

// Runtime 1.6 is said to refuse outputs in dma-bufs. A runtime may load the model all the same, so
// that only the first inference fails.
bool Session::fall_back(const BlockingRuns::Call &call, const std::string &why)
{
  for (const TensorView &output : call.outputs)
    if (!output.data)
      return false;
  const auto load_again = [this](bool output) {
    const std::lock_guard guard(loading());
    instance_.reset(); // first, because the device may have room for one only
    instance_ = make_instance({input_dmabuf_, output});
    output_dmabuf_ = output;
  };
  load_again(false);
  if (!instance_ || !infer(call)) { // the dma-bufs were not the reason
    load_again(true);
    return false;
  }
  notice_ = "The runtime takes no outputs in dma-bufs, although it loaded the model so: results go "
            "through host memory. Set output-buffer-mode=system to ask for that. (" +
            why + ")";
  return true;
}

Result<void> Session::infer(const BlockingRuns::Call &call)
{
  const Api &api = library_.api;
  if (!instance_)
    return Error{ErrorCode::Device,
                 "The runtime does not load the model \"" + model_.path + "\" onto " +
                     device_name() + " again. Restart the stream.",
                 EIO};
  Argument input = argument_of(call.input, model_.input, input_dmabuf_);
  std::vector<Argument> outputs;
  std::vector<CpuAccess> writing; // of dma-bufs that the runtime writes as host memory
  for (std::size_t n = 0; n < call.outputs.size(); n++) {
    outputs.push_back(argument_of(call.outputs[n], model_.outputs[n], output_dmabuf_));
    if (output_dmabuf_ || call.outputs[n].fd < 0)
      continue;
    if (auto access = CpuAccess::begin(call.outputs[n].fd, DmaBufAccess::Write)) // not of a memfd
      writing.push_back(std::move(*access));
  }
  const int code =
      api.run_model_instance(instance_.get(), &input, 1, outputs.data(), outputs.size());
  if (static_cast<Code>(code) == Code::Success)
    return {};
  const std::string why = last_error(api, as_object(instance_.get()));
  Error error{ErrorCode::Device,
              "Inference on " + device_name() + " failed: " + why + " (axrResult " +
                  std::to_string(code) + ").",
              errno_of(code)};
  if (error.sys_errno == ENODEV) {
    error.message += " The device is lost: look at the kernel's log, and restart the stream.";
    lost_ = error;
  } else if (output_dmabuf_) {
    error.message +=
        " If no inference works, the runtime may not bear outputs in dma-bufs, although "
        "it took the model so: set output-buffer-mode=system.";
  }
  return error;
}

} // namespace
} // namespace axr

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
    if (Result<void> checked = check_tensors(*this, request); !checked)
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
  const std::shared_ptr<axr::Session> session_;
  BlockingRuns runs_;
  bool is_first_ = true;
  std::optional<Error> lost_;
};

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
