// SPDX-License-Identifier: LGPL-2.1-or-later
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <optional>
#include <thread>

#include <linux/dma-buf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "objects.hpp"

namespace gstdrm::test {

namespace {

// The memory of one argument, for as long as this lives: host memory, or a mapping of a dma-buf
// (between DMA_BUF_IOCTL_SYNC) or of another file.
class Access {
public:
  Access(const axrArgument &argument, std::size_t size_bytes, bool dmabuf, bool write)
      : size_(size_bytes), write_(write)
  {
    if (argument.offset != 0)
      wrong_ = "offset is not supported";
    else if (argument.size != 0 && argument.size != size_bytes)
      wrong_ =
          "size is " + std::to_string(argument.size) + ", expected " + std::to_string(size_bytes);
    else if (dmabuf)
      map(argument);
    else if (argument.fd > 0 || !argument.ptr)
      wrong_ = "expected host memory";
    else
      data_ = argument.ptr;
  }
  Access(const Access &) = delete;
  Access &operator=(const Access &) = delete;
  ~Access()
  {
    if (fd_ < 0)
      return;
    sync(DMA_BUF_SYNC_END);
    ::munmap(data_, size_);
  }

  [[nodiscard]] const std::string &wrong() const { return wrong_; }
  [[nodiscard]] std::int8_t *data() const { return static_cast<std::int8_t *>(data_); }

private:
  void map(const axrArgument &argument)
  {
    if (argument.fd <= 0 || argument.ptr) {
      wrong_ = "expected a dma-buf";
      return;
    }
    const off_t end = ::lseek(argument.fd, 0, SEEK_END);
    if (end < 0 || static_cast<std::size_t>(end) < size_) {
      wrong_ =
          "the dma-buf has " + std::to_string(end) + " bytes, expected " + std::to_string(size_);
      return;
    }
    void *mapping = ::mmap(nullptr, size_, write_ ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
                           argument.fd, 0);
    if (mapping == MAP_FAILED) {
      wrong_ = std::string("cannot map the dma-buf: ") + ::strerrorname_np(errno);
      return;
    }
    data_ = mapping;
    fd_ = argument.fd;
    if (!sync(DMA_BUF_SYNC_START))
      wrong_ = std::string("DMA_BUF_IOCTL_SYNC: ") + ::strerrorname_np(errno);
  }

  // A memfd has no such ioctl, and needs none.
  bool sync(std::uint64_t when) const
  {
    dma_buf_sync request{};
    request.flags = when | (write_ ? DMA_BUF_SYNC_RW : DMA_BUF_SYNC_READ);
    return ::ioctl(fd_, DMA_BUF_IOCTL_SYNC, &request) == 0 || errno == ENOTTY;
  }

  const std::size_t size_;
  const bool write_;
  int fd_ = -1; // borrowed
  void *data_ = nullptr;
  std::string wrong_;
};

std::mutex hang_lock; // guards releases
std::condition_variable hang_changed;
unsigned releases = 0;

// The fault that is set for this run, if there is one.
std::optional<axrResult> fault(axrContext &context)
{
  const unsigned long run = ++context.runs;
  const auto is_now = [&](const char *name) { return context.settings.number(name, 0) == run; };
  if (is_now("hang-run"))
    hang();
  if (is_now("lose-device"))
    context.lost = true;
  if (context.lost) {
    context.fail(AXR_ERROR_CONNECTION_ERROR, "device disappeared from the bus");
    return AXR_ERROR_CONNECTION_ERROR;
  }
  if (is_now("fail-run")) {
    context.fail(AXR_ERROR_RUNTIME_ERROR, "firmware error 0x2a in run " + std::to_string(run));
    return AXR_ERROR_RUNTIME_ERROR;
  }
  return std::nullopt;
}

} // namespace

void hang()
{
  std::unique_lock guard(hang_lock);
  hang_changed.wait(guard, [before = releases] { return releases != before; });
}

void release()
{
  const std::lock_guard guard(hang_lock);
  releases++;
  hang_changed.notify_all();
}

axrResult run(axrModelInstance &instance, const axrArgument *inputs, std::size_t n_inputs,
              const axrArgument *outputs, std::size_t n_outputs)
{
  axrContext &context = *instance.context;
  const axrModel &model = instance.model;
  const auto refuse = [&context](const std::string &why) {
    context.fail(AXR_ERROR_INVALID_ARGUMENT, why);
    return AXR_ERROR_INVALID_ARGUMENT;
  };
  if (n_inputs != model.inputs.size() || n_outputs != model.outputs.size())
    return refuse("wrong number of arguments");
  if (const std::optional<axrResult> failed = fault(context))
    return *failed;
  if (instance.output_dmabuf && context.settings.has("fail-output-dmabuf"))
    return refuse("outputs in dma-bufs are not implemented");
  std::this_thread::sleep_for(std::chrono::microseconds(context.settings.number("latency-us", 0)));
  const NetworkTensor &input = model.inputs[0];
  const Access in(inputs[0], input.size(), instance.input_dmabuf, false);
  if (!in.wrong().empty())
    return refuse("input 0: " + in.wrong());
  for (std::size_t t = 0; t < n_outputs; t++) {
    const NetworkTensor &output = model.outputs[t];
    const Access out(outputs[t], output.size(), instance.output_dmabuf, true);
    if (!out.wrong().empty())
      return refuse("output " + std::to_string(t) + ": " + out.wrong());
    const std::vector<std::int8_t> values =
        network_output(input, {in.data(), input.size()}, output, t);
    std::memcpy(out.data(), values.data(), values.size());
  }
  return AXR_SUCCESS;
}

} // namespace gstdrm::test
