// SPDX-License-Identifier: LGPL-2.1-or-later
// Inference through the axruntime back end: what the runtime gets, what comes back, what fails.
#include "axruntime_fixture.hpp"

#include <cerrno>
#include <cstring>
#include <future>
#include <random>
#include <span>

#include <sys/mman.h>

#include <gst/drm/alloc/byte_allocators.hpp>

namespace {

using namespace gstdrm;
using namespace gstdrm::test;
using namespace std::chrono_literals;

// Shared: memfds, and udmabufs where GST_DRM_TEST_KINDS says so (the box has them).
enum class Kind { Host, Shared };

// The memory of one tensor.
class TensorMemory {
public:
  static std::shared_ptr<TensorMemory> make(Kind kind, std::size_t size_bytes)
  {
    auto memory = std::make_shared<TensorMemory>();
    memory->size_ = size_bytes;
    if (kind == Kind::Host) {
      memory->host_.resize(size_bytes);
      return memory;
    }
    const bool udmabuf = environment("GST_DRM_TEST_KINDS").rfind("udmabuf", 0) == 0;
    auto allocator = udmabuf ? UdmabufAllocator::open() : MemfdAllocator::open();
    if (!allocator)
      return nullptr;
    auto object = static_cast<ByteAllocator &>(**allocator).allocate_bytes(size_bytes);
    if (!object)
      return nullptr;
    memory->fd_ = std::move(object->fd);
    void *mapping = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory->fd_.get(), 0);
    if (mapping == MAP_FAILED)
      return nullptr;
    memory->mapping_ = static_cast<std::int8_t *>(mapping);
    return memory;
  }
  TensorMemory() = default;
  TensorMemory(const TensorMemory &) = delete;
  TensorMemory &operator=(const TensorMemory &) = delete;
  ~TensorMemory()
  {
    if (mapping_)
      ::munmap(mapping_, size_);
  }

  // A dma-buf has its descriptor alone, as a device's tensor has.
  [[nodiscard]] TensorView view()
  {
    if (fd_)
      return {fd_.get(), nullptr, size_};
    return {-1, reinterpret_cast<std::byte *>(host_.data()), size_};
  }
  [[nodiscard]] std::span<std::int8_t> values()
  {
    return mapping_ ? std::span(mapping_, size_) : std::span(host_);
  }

private:
  std::size_t size_ = 0;
  std::vector<std::int8_t> host_;
  UniqueFd fd_;
  std::int8_t *mapping_ = nullptr;
};

// What the tests say of the models, not read from their files.
struct Network {
  NetworkTensor input;
  std::vector<NetworkTensor> outputs;
};
const Network kSmall{{"image", {1, 10, 12, 4}, {{0, 0}, {1, 1}, {1, 3}, {0, 1}}, 1.0 / 255, -128},
                     {{"boxes", {1, 4, 4, 8}, {{0, 0}, {0, 0}, {0, 1}, {0, 2}}, 0.05, 7},
                      {"classes", {1, 4, 4, 3}, {{0, 0}, {0, 0}, {0, 0}, {0, 0}}, 0.125, -5}}};
const Network kLarge{{"image", {1, 132, 144, 4}, {{0, 0}, {2, 2}, {2, 14}, {0, 1}}, 0.0078125, 3},
                     {{"scores", {1, 1, 1, 1024}, {{0, 0}, {0, 0}, {0, 0}, {0, 24}}, 0.1, 0}}};
const Network kUnpadded{{"image", {1, 3, 5, 3}, {{0, 0}, {0, 0}, {0, 0}, {0, 0}}, 1, 0},
                        {{"one", {1, 7}, {{0, 0}, {0, 0}}, 1, 0}}};

// The memory of one request.
struct Tensors {
  std::shared_ptr<TensorMemory> input;
  std::vector<std::shared_ptr<TensorMemory>> outputs;
};

std::shared_ptr<Tensors> tensors_of(const Network &network, Kind kind)
{
  auto tensors = std::make_shared<Tensors>();
  tensors->input = TensorMemory::make(kind, network.input.size());
  for (const NetworkTensor &output : network.outputs)
    tensors->outputs.push_back(TensorMemory::make(kind, output.size()));
  return tensors;
}

Result<Submitted> submit(Backend &backend, const std::shared_ptr<Tensors> &tensors)
{
  std::vector<TensorView> views;
  for (const auto &output : tensors->outputs)
    views.push_back(output->view());
  Request request;
  request.input = tensors->input->view();
  request.outputs = views;
  request.keeper = tensors;
  return backend.submit(request);
}

Result<Finished> wait_and_finish(Backend &backend, const Submitted &submitted)
{
  poll_readable(submitted.done, std::nullopt);
  return backend.finish(submitted.id);
}

Result<Finished> infer(Backend &backend, const std::shared_ptr<Tensors> &tensors)
{
  Result<Submitted> submitted = submit(backend, tensors);
  if (!submitted)
    return submitted.error();
  return wait_and_finish(backend, *submitted);
}

// By hand: 7 elements of 1x7 from 45 of 1x3x5x3, of which only the first is not zero.
TEST(AxruntimeNetwork, is_the_one_that_is_documented)
{
  std::vector<std::int8_t> in(45, 0);
  in[8] = 2; // 8 % 7 = 1; weight 2 * (37 * 8 % 97) + 1 = 2 * 5 + 1 = 11
  EXPECT_EQ(network_output(kUnpadded.input, in, kUnpadded.outputs[0], 0),
            (std::vector<std::int8_t>{0, 22, 0, 0, 0, 0, 0}));
  EXPECT_EQ(network_output(kUnpadded.input, in, kUnpadded.outputs[0], 1),
            (std::vector<std::int8_t>{0, 66, 0, 0, 0, 0, 0}));
  in[8] = 0;
  in[44] = -1; // 44 % 7 = 2; weight 2 * (37 * 44 % 97) + 1 = 2 * 76 + 1 = 153; -153 = 103 - 256
  EXPECT_EQ(network_output(kUnpadded.input, in, kUnpadded.outputs[0], 0),
            (std::vector<std::int8_t>{0, 0, 103, 0, 0, 0, 0}));
}

struct TensorRow {
  const char *name;
  const char *model;
  const Network *network;
  Kind kind;
};
class TensorRows : public Axruntime, public testing::WithParamInterface<TensorRow> {};

// Random input, padding and all, so that each byte that went astray shows.
TEST_P(TensorRows, equal_the_reference)
{
  const Network &network = *GetParam().network;
  BackendOptions options = options_of(GetParam().model);
  options.dmabuf_input = options.dmabuf_output = GetParam().kind != Kind::Host;
  auto backend = open_axruntime(options);
  ASSERT_TRUE(backend) << backend.error().message;
  std::vector<std::shared_ptr<Tensors>> sets;
  for (unsigned n = 0; n < options.max_in_flight; n++)
    sets.push_back(tensors_of(network, GetParam().kind));
  std::mt19937 random(1);
  for (int round = 0; round < 5; round++) {
    std::vector<Submitted> submitted;
    for (const auto &tensors : sets) {
      ASSERT_TRUE(tensors->input);
      for (std::int8_t &value : tensors->input->values())
        value = static_cast<std::int8_t>(random());
      Result<Submitted> one = submit(**backend, tensors);
      ASSERT_TRUE(one) << one.error().message;
      submitted.push_back(std::move(*one));
    }
    for (std::size_t n = 0; n < sets.size(); n++) {
      const auto finished = wait_and_finish(**backend, submitted[n]);
      ASSERT_TRUE(finished) << finished.error().message;
      EXPECT_GT(finished->on_device.count(), 0);
      const std::span<std::int8_t> in = sets[n]->input->values();
      for (std::size_t t = 0; t < network.outputs.size(); t++) {
        const std::span<std::int8_t> out = sets[n]->outputs[t]->values();
        EXPECT_EQ(std::vector<std::int8_t>(out.begin(), out.end()),
                  network_output(network.input, in, network.outputs[t], t))
            << "round " << round << ", request " << n << ", output " << t;
      }
    }
  }
}

const TensorRow kTensors[] = {
    {"small_in_host_memory", "small", &kSmall, Kind::Host},
    {"small_in_shared_memory", "small", &kSmall, Kind::Shared},
    {"large_in_host_memory", "large", &kLarge, Kind::Host},
    {"large_in_shared_memory", "large", &kLarge, Kind::Shared},
    {"unpadded_in_host_memory", "unpadded", &kUnpadded, Kind::Host},
    {"unpadded_in_shared_memory", "unpadded", &kUnpadded, Kind::Shared},
};
INSTANTIATE_TEST_SUITE_P(, TensorRows, testing::ValuesIn(kTensors), [](const auto &row) { return row.param.name; });

struct RequestRow {
  const char *name;
  bool dmabufs; // what the runtime was told
  std::function<void(Request &, std::vector<TensorView> &)> spoil;
  std::vector<std::string> parts;
};
class Requests : public Axruntime, public testing::WithParamInterface<RequestRow> {};

// Nothing of the kind reaches the runtime.
TEST_P(Requests, are_refused)
{
  BackendOptions options = options_of("small");
  options.dmabuf_input = options.dmabuf_output = GetParam().dmabufs;
  auto backend = open_axruntime(options);
  ASSERT_TRUE(backend) << backend.error().message;
  const auto tensors = tensors_of(kSmall, GetParam().dmabufs ? Kind::Shared : Kind::Host);
  std::vector<TensorView> outputs{tensors->outputs[0]->view(), tensors->outputs[1]->view()};
  Request request;
  request.input = tensors->input->view();
  GetParam().spoil(request, outputs);
  request.outputs = outputs;
  const auto submitted = (*backend)->submit(request);
  ASSERT_FALSE(submitted);
  expect_error(submitted.error(), ErrorCode::Layout, EINVAL, GetParam().parts);
  EXPECT_TRUE(infer(**backend, tensors));
}

const RequestRow kRequests[] = {
    {"fewer_outputs", false, [](Request &, auto &outputs) { outputs.pop_back(); }, {"has 2 outputs, and the request 1"}},
    {"more_outputs", false, [](Request &, auto &outputs) { outputs.push_back(outputs[0]); }, {"and the request 3"}},
    {"small_input", false, [](Request &request, auto &) { request.input.size_bytes = 479; }, {"input", "479 bytes, and the tensor has 480"}},
    {"small_output", false, [](Request &, auto &outputs) { outputs[1].size_bytes--; }, {"output 1", "47 bytes, and the tensor has 48"}},
    {"no_host_memory", false, [](Request &request, auto &) { request.input.data = nullptr; }, {"input", "no host memory"}},
    {"no_dmabuf", true, [](Request &, auto &outputs) { outputs[0].fd = -1; }, {"output 0", "no dma-buf"}},
    {"descriptor_0", true, [](Request &request, auto &) { request.input.fd = 0; }, {"input", "descriptor 0"}},
};
INSTANTIATE_TEST_SUITE_P(, Requests, testing::ValuesIn(kRequests), [](const auto &row) { return row.param.name; });

TEST_F(Axruntime, a_failed_run_is_one_requests)
{
  faults("fail-run=2");
  auto backend = open_axruntime(options_of("small"));
  ASSERT_TRUE(backend) << backend.error().message;
  const auto tensors = tensors_of(kSmall, Kind::Host);
  EXPECT_TRUE(infer(**backend, tensors));
  const auto failed = infer(**backend, tensors);
  ASSERT_FALSE(failed);
  expect_error(failed.error(), ErrorCode::Device, EIO, {"firmware error 0x2a in run 2", "axrResult 1"});
  EXPECT_TRUE(infer(**backend, tensors));
}

TEST_F(Axruntime, a_dmabuf_that_is_too_small)
{
  BackendOptions options = options_of("large");
  options.dmabuf_input = options.dmabuf_output = true;
  auto backend = open_axruntime(options);
  ASSERT_TRUE(backend) << backend.error().message;
  auto tensors = tensors_of(kLarge, Kind::Shared);
  const auto page = TensorMemory::make(Kind::Shared, 4096);
  std::vector<TensorView> outputs{tensors->outputs[0]->view()};
  Request request;
  request.input = {page->view().fd, nullptr, kLarge.input.size()}; // a lie
  request.outputs = outputs;
  const auto submitted = (*backend)->submit(request);
  ASSERT_TRUE(submitted);
  const auto failed = wait_and_finish(**backend, *submitted);
  ASSERT_FALSE(failed);
  expect_error(failed.error(), ErrorCode::Device, EIO, {"the dma-buf has 4096 bytes, expected 76032", "output-buffer-mode=system"});
  EXPECT_TRUE(infer(**backend, tensors));
}

TEST_F(Axruntime, a_lost_device_stays_lost)
{
  faults("lose-device=2");
  BackendOptions options = options_of("small");
  options.device = "metis-0:1:0";
  auto backend = open_axruntime(options);
  ASSERT_TRUE(backend) << backend.error().message;
  const auto tensors = tensors_of(kSmall, Kind::Host);
  const auto others = tensors_of(kSmall, Kind::Host);
  EXPECT_TRUE(infer(**backend, tensors));
  const auto failed = infer(**backend, tensors);
  ASSERT_FALSE(failed);
  expect_error(failed.error(), ErrorCode::Device, ENODEV, {"metis-0:1:0", "disappeared from the bus", "restart the stream"});
  const auto later = submit(**backend, others);
  ASSERT_FALSE(later);
  expect_error(later.error(), ErrorCode::Device, ENODEV, {failed.error().message});
  // a device that is back is found again
  backend->reset();
  faults("");
  backend = open_axruntime(options);
  ASSERT_TRUE(backend) << backend.error().message;
  EXPECT_TRUE(infer(**backend, tensors));
}

TEST_F(Axruntime, what_is_queued_behind_a_lost_device_fails_as_it_does)
{
  faults("lose-device=1");
  auto backend = open_axruntime(options_of("small"));
  ASSERT_TRUE(backend) << backend.error().message;
  std::vector<Submitted> submitted;
  for (int n = 0; n < 3; n++)
    if (Result<Submitted> one = submit(**backend, tensors_of(kSmall, Kind::Host)))
      submitted.push_back(std::move(*one));
  ASSERT_FALSE(submitted.empty());
  for (const Submitted &each : submitted) {
    const auto failed = wait_and_finish(**backend, each);
    ASSERT_FALSE(failed);
    expect_error(failed.error(), ErrorCode::Device, ENODEV, {"the first device"});
  }
}

struct LateFallbackRow {
  const char *name;
  const char *faults;
  std::string outcomes; // of three inferences: . well, x failed
  bool falls_back;
};
class LateFallbacks : public Axruntime, public testing::WithParamInterface<LateFallbackRow> {};

// Outputs that have both a descriptor and a mapping, as those of the element.
TEST_P(LateFallbacks, are_said_once)
{
  faults(GetParam().faults);
  BackendOptions options = options_of("small");
  options.dmabuf_input = options.dmabuf_output = true;
  auto backend = open_axruntime(options);
  ASSERT_TRUE(backend) << backend.error().message;
  EXPECT_TRUE((*backend)->takes_dmabuf_output());
  const auto tensors = tensors_of(kSmall, Kind::Shared);
  std::string outcomes, notices;
  for (int n = 0; n < 3; n++) {
    std::vector<TensorView> views;
    for (const auto &output : tensors->outputs) {
      views.push_back(output->view());
      views.back().data = reinterpret_cast<std::byte *>(output->values().data());
      std::memset(output->values().data(), 0x55, output->values().size());
    }
    Request request;
    request.input = tensors->input->view();
    request.outputs = views;
    request.keeper = tensors;
    const auto submitted = (*backend)->submit(request);
    if (!submitted)
      break;
    const auto finished = wait_and_finish(**backend, *submitted);
    outcomes += finished ? '.' : 'x';
    const auto expected = network_output(kSmall.input, tensors->input->values(), kSmall.outputs[0], 0);
    EXPECT_EQ(static_cast<bool>(finished), std::equal(expected.begin(), expected.end(), tensors->outputs[0]->values().begin()));
    const std::string notice = finished ? finished->notice : std::string();
    notices += notice.empty() ? "" : std::to_string(n);
    EXPECT_TRUE(notice.empty() || notice.find("not implemented") != std::string::npos) << notice;
  }
  EXPECT_EQ(outcomes, GetParam().outcomes);
  EXPECT_EQ(notices, GetParam().falls_back ? "0" : "");
  EXPECT_EQ((*backend)->takes_dmabuf_output(), !GetParam().falls_back);
}

const LateFallbackRow kLateFallbacks[] = {
    {"none_is_needed", "", "...", false},
    {"no_inference_works_so", "fail-output-dmabuf", "...", true},
    {"the_first_and_its_repetition_fail", "fail-output-dmabuf,fail-run=2", "xxx", false},
    {"a_later_one_fails", "fail-run=2", ".x.", false},
    {"the_device_is_lost", "lose-device=1", "x", false},
};
INSTANTIATE_TEST_SUITE_P(, LateFallbacks, testing::ValuesIn(kLateFallbacks), [](const auto &row) { return row.param.name; });

// Last in this file: hangs are let go for good.
TEST_F(Axruntime, the_runtime_never_answers)
{
  faults("hang-run=2");
  BackendOptions options = options_of("small");
  options.timeout = 300ms;
  auto backend = open_axruntime(options);
  ASSERT_TRUE(backend) << backend.error().message;
  ASSERT_TRUE(infer(**backend, tensors_of(kSmall, Kind::Host)));
  auto tensors = tensors_of(kSmall, Kind::Host);
  const std::weak_ptr<Tensors> kept = tensors;
  const auto failed = infer(**backend, tensors);
  tensors.reset();
  ASSERT_FALSE(failed);
  expect_error(failed.error(), ErrorCode::Sync, ETIMEDOUT, {"axruntime", "300 ms"});
  const auto refused = submit(**backend, tensors_of(kSmall, Kind::Host));
  ASSERT_FALSE(refused);
  expect_error(refused.error(), ErrorCode::Sync, ETIMEDOUT, {"has not come back"});
  {
    const Warnings warnings;
    backend->reset();
    ASSERT_EQ(Warnings::lines().size(), 1U);
    EXPECT_NE(Warnings::lines()[0].find("left to it"), std::string::npos);
  }
  EXPECT_FALSE(kept.expired()) << "the runtime still has the memory";
  auto *alive = test_function<int()>("axr_test_alive");
  EXPECT_GT(alive(), 0);

  // a second one beside the one that hangs
  faults("");
  backend = open_axruntime(options_of("small"));
  ASSERT_TRUE(backend) << backend.error().message;
  EXPECT_TRUE(infer(**backend, tensors_of(kSmall, Kind::Host)));
  backend->reset();

  // the call comes back, and writes its outputs
  test_function<void()>("axr_test_release")();
  while (!kept.expired() || alive() > 0)
    std::this_thread::yield();
}

} // namespace
