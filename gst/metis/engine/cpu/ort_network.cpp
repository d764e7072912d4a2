// SPDX-License-Identifier: LGPL-2.1-or-later
// Networks in ONNX Runtime.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sched.h>
#include <streambuf>

// The header's own initialisation would crash later if the library is older than the header.
#define ORT_API_MANUAL_INIT
#include <onnxruntime_cxx_api.h>
#include <onnxruntime_session_options_config_keys.h>

#include <gst/drm/core/log.hpp>

#include "cpu_network.hpp"

namespace gstdrm::metis {

namespace {

using Shape = std::vector<std::int64_t>;

// The runtime's log has prefixes of its own. Its errors come back as exceptions too, and what it
// warns of is mostly how a model could be smaller.
void ORT_API_CALL log(void *, OrtLoggingLevel severity, const char *category, const char *,
                      const char *, const char *message)
{
  if (severity >= ORT_LOGGING_LEVEL_ERROR)
    GSTDRM_WARNING("%s: %s", category, message);
  else if (severity == ORT_LOGGING_LEVEL_WARNING)
    GSTDRM_INFO("%s: %s", category, message);
  else
    GSTDRM_LOG("%s: %s", category, message);
}

OrtLoggingLevel wanted_level() noexcept
{
  if (log_reads(LogLevel::Log))
    return ORT_LOGGING_LEVEL_VERBOSE;
  return log_reads(LogLevel::Info) ? ORT_LOGGING_LEVEL_WARNING : ORT_LOGGING_LEVEL_ERROR;
}

// With Debian's ONNX Runtime 1.21 ONNX's operators are registered twice when the first network is
// opened, and libonnx writes a line about each of them to std::cerr, 567 in all. This takes the
// place of std::cerr's buffer meanwhile; what others write there passes.
class SchemaLines final : public std::streambuf {
public:
  // One at a time. The object stays: another thread may still be in it.
  class Taken {
  public:
    Taken() : guard_(one_) { lines().real_ = std::cerr.rdbuf(&lines()); }
    Taken(const Taken &) = delete;
    Taken &operator=(const Taken &) = delete;
    ~Taken()
    {
      std::cerr.rdbuf(lines().real_);
      const std::lock_guard guard(lines().lock_);
      lines().pass_on(); // what has no line feed yet
    }

  private:
    static SchemaLines &lines()
    {
      static auto *const lines = new SchemaLines;
      return *lines;
    }
    static inline std::mutex one_;
    const std::lock_guard<std::mutex> guard_;
  };

protected:
  int_type overflow(int_type character) override
  {
    if (traits_type::eq_int_type(character, traits_type::eof()))
      return traits_type::not_eof(character);
    const char one = traits_type::to_char_type(character);
    xsputn(&one, 1);
    return character;
  }

  std::streamsize xsputn(const char *text, std::streamsize count) override
  {
    const std::lock_guard guard(lock_);
    for (const char one : std::string_view(text, static_cast<std::size_t>(count))) {
      line_ += one;
      if (one == '\n')
        pass_on();
    }
    return count;
  }

private:
  // An empty line follows each of libonnx's.
  void pass_on()
  {
    const bool is_schema = line_.starts_with("Schema error: ");
    if (!is_schema && !(line_ == "\n" && was_schema_))
      real_->sputn(line_.data(), static_cast<std::streamsize>(line_.size()));
    was_schema_ = is_schema;
    line_.clear();
  }

  std::streambuf *real_ = nullptr;
  std::mutex lock_; // guards the rest
  std::string line_;
  bool was_schema_ = false;
};

// The runtime has one environment in a process, with the log of whoever made it first: another
// user of the runtime may have. Ours stays until the process ends, as its library does.
Ort::Env &environment()
{
  static auto *const env = new Ort::Env(wanted_level(), "gst-drm", log, nullptr);
  return *env;
}

// One thread per CPU that the process may use. The runtime's own choice would bind each thread to a
// core.
int default_threads() noexcept
{
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  return ::sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
}

Ort::Session open_session(const BackendOptions &options, int threads)
{
  Ort::SessionOptions session;
  session.SetLogSeverityLevel(wanted_level());
  Ort::ThrowOnError(Ort::GetApi().SetUserLoggingFunction(session, log, nullptr));
  session.SetIntraOpNumThreads(threads);
  session.SetInterOpNumThreads(1);
  session.SetExecutionMode(ORT_SEQUENTIAL);
  session.SetGraphOptimizationLevel(ORT_ENABLE_ALL);
  // between two frames its threads sleep: others in the pipeline have work
  session.AddConfigEntry(kOrtSessionOptionsConfigAllowIntraOpSpinning, "0");
  const SchemaLines::Taken taken;
  return {environment(), options.model.path.c_str(), session};
}

OnnxTensor described(std::string name, const Ort::TypeInfo &info)
{
  OnnxTensor made;
  made.name = std::move(name);
  if (info.GetONNXType() != ONNX_TYPE_TENSOR)
    return made;
  const auto tensor = info.GetTensorTypeAndShapeInfo();
  made.type = tensor.GetElementType(); // as in the file
  made.dims = tensor.GetShape();
  return made;
}

struct Tensors {
  std::vector<OnnxTensor> inputs, outputs;
};

Tensors tensors_of(const Ort::Session &session)
{
  const Ort::AllocatorWithDefaultOptions names;
  Tensors made;
  for (std::size_t i = 0; i < session.GetInputCount(); i++)
    made.inputs.push_back(
        described(session.GetInputNameAllocated(i, names).get(), session.GetInputTypeInfo(i)));
  for (std::size_t i = 0; i < session.GetOutputCount(); i++)
    made.outputs.push_back(
        described(session.GetOutputNameAllocated(i, names).get(), session.GetOutputTypeInfo(i)));
  return made;
}

constexpr std::size_t bytes_of_element(std::int64_t type) noexcept
{
  return type == kOnnxFloat16 ? 2 : type == kOnnxInt64 ? 8 : 4;
}

// A tensor of the network. One that is not of float32 has memory of its own, from which or to which
// the element's float32 are converted.
class OrtTensor {
public:
  OrtTensor(std::string name, std::int64_t type, Shape shape)
      : name_(std::move(name)), type_(type), shape_(std::move(shape))
  {
    for (const std::int64_t dim : shape_)
      count_ *= static_cast<std::size_t>(dim);
    if (type_ != kOnnxFloat)
      own_.resize(count_ * bytes_of_element(type_));
  }

  [[nodiscard]] const char *name() const noexcept { return name_.c_str(); }

  // What the runtime reads or writes, given the memory of the element.
  Ort::Value value(std::byte *floats)
  {
    const auto memory = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
    return Ort::Value::CreateTensor(memory, own_.empty() ? floats : own_.data(),
                                    count_ * bytes_of_element(type_), shape_.data(), shape_.size(),
                                    static_cast<ONNXTensorElementDataType>(type_));
  }

  void take(const std::byte *floats)
  {
    if (type_ == kOnnxFloat16)
      convert<float, Ort::Float16_t>(floats, own_.data(),
                                     [](float value) { return Ort::Float16_t(value); });
  }

  void give(std::byte *floats) const
  {
    if (type_ == kOnnxFloat16)
      convert<Ort::Float16_t, float>(own_.data(), floats,
                                     [](Ort::Float16_t value) { return value.ToFloat(); });
    else if (type_ == kOnnxInt32)
      convert<std::int32_t, float>(own_.data(), floats, to_float<std::int32_t>);
    else if (type_ == kOnnxInt64)
      convert<std::int64_t, float>(own_.data(), floats, to_float<std::int64_t>);
  }

private:
  template <typename Whole> static float to_float(Whole value) { return static_cast<float>(value); }

  template <typename From, typename To, typename Convert>
  void convert(const std::byte *from, std::byte *to, Convert one) const
  {
    for (std::size_t i = 0; i < count_; i++) {
      From value;
      std::memcpy(&value, from + i * sizeof(From), sizeof(From));
      const To made = one(value);
      std::memcpy(to + i * sizeof(To), &made, sizeof(To));
    }
  }

  std::string name_;
  std::int64_t type_;
  Shape shape_;
  std::size_t count_ = 1;
  std::vector<std::byte> own_;
};

class OrtNetwork final : public CpuNetwork {
public:
  OrtNetwork(Model completed, Ort::Session session, OrtTensor input, std::vector<OrtTensor> outputs)
      : CpuNetwork(std::move(completed)), session_(std::move(session)), input_(std::move(input)),
        outputs_(std::move(outputs))
  {
  }

  Result<void> run(const BlockingRuns::Call &call) override;

private:
  Ort::Session session_;
  OrtTensor input_;
  std::vector<OrtTensor> outputs_;
};

Result<void> OrtNetwork::run(const BlockingRuns::Call &call)
{
  input_.take(call.input.data);
  const Ort::Value input = input_.value(call.input.data);
  std::vector<Ort::Value> values;
  std::vector<const char *> names;
  for (std::size_t i = 0; i < outputs_.size(); i++) {
    values.push_back(outputs_[i].value(call.outputs[i].data));
    names.push_back(outputs_[i].name());
  }
  const char *input_name = input_.name();
  // an output of another size than that of the trial run is an exception
  session_.Run(Ort::RunOptions{nullptr}, &input_name, &input, 1, names.data(), values.data(),
               values.size());
  for (std::size_t i = 0; i < outputs_.size(); i++)
    outputs_[i].give(call.outputs[i].data);
  return {};
}

// The outputs as the network gives them; completes those of the model.
Result<std::vector<OrtTensor>> run_on_zeros(Model &model, Ort::Session &session, OrtTensor &input)
{
  std::vector<std::byte> zeros(model.input.size_bytes());
  std::vector<const char *> names;
  for (const TensorInfo &output : model.outputs)
    names.push_back(output.name.c_str());
  input.take(zeros.data());
  const Ort::Value value = input.value(zeros.data());
  const char *input_name = input.name();
  const auto values =
      session.Run(Ort::RunOptions{nullptr}, &input_name, &value, 1, names.data(), names.size());
  std::vector<OrtTensor> outputs;
  for (std::size_t i = 0; i < values.size(); i++) {
    TensorInfo &output = model.outputs[i];
    OnnxTensor given = described(output.name, values[i].GetTypeInfo());
    const Shape shape = given.dims;
    if (given.dims.empty())
      given.dims = {1}; // one number
    if (const auto done = complete_output(model, output, given, runtime_abilities()); !done)
      return done.error();
    outputs.emplace_back(output.name, given.type, shape);
  }
  return outputs;
}

} // namespace

const OnnxAbilities &runtime_abilities() noexcept
{
  static constexpr std::array kInputs = {kOnnxFloat, kOnnxFloat16};
  static constexpr std::array kOutputs = {kOnnxFloat, kOnnxFloat16, kOnnxInt32, kOnnxInt64};
  static constexpr OnnxAbilities kAbilities{true, true, kInputs, kOutputs};
  return kAbilities;
}

Result<std::shared_ptr<CpuNetwork>> load_network(const BackendOptions &options, OnnxModel,
                                                 std::vector<std::byte> file)
{
  // the runtime reads it from its path, beside which it finds other files
  std::vector<std::byte>().swap(file);
  const OrtApi *api = OrtGetApiBase()->GetApi(ORT_API_VERSION);
  if (!api)
    return Error{ErrorCode::Unsupported,
                 "The CPU back end was built for ONNX Runtime 1." +
                     std::to_string(ORT_API_VERSION) + " or newer, and this one is " +
                     OrtGetApiBase()->GetVersionString() + ".",
                 0};
  Ort::InitApi(api);
  const int threads =
      options.cpu_threads != 0 ? static_cast<int>(options.cpu_threads) : default_threads();
  Ort::Session session = open_session(options, threads);
  const Tensors tensors = tensors_of(session);
  OnnxAbilities final_types = runtime_abilities();
  final_types.infers_types = false;
  auto model = complete_model(options.model, tensors.inputs, tensors.outputs, final_types);
  if (!model)
    return model.error();
  OrtTensor input(model->input.name, tensors.inputs.front().type,
                  Shape(model->input.dims.begin(), model->input.dims.end()));
  auto outputs = run_on_zeros(*model, session, input);
  if (!outputs)
    return outputs.error();
  GSTDRM_INFO("%s runs by ONNX Runtime %s, %d threads", model->path.c_str(),
              OrtGetApiBase()->GetVersionString(), threads);
  return std::shared_ptr<CpuNetwork>(std::make_shared<OrtNetwork>(
      std::move(*model), std::move(session), std::move(input), std::move(*outputs)));
}

Error runtime_error(const std::string &what, const std::exception &thrown)
{
  std::string text = thrown.what();
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (!dynamic_cast<const Ort::Exception *>(&thrown))
    return Error{ErrorCode::Unsupported, what + ": " + text + ".", 0};
  return Error{ErrorCode::Unsupported,
               what + ": ONNX Runtime " + OrtGetApiBase()->GetVersionString() + " says \"" + text +
                   "\".",
               0};
}

} // namespace gstdrm::metis
