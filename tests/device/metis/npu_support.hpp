// SPDX-License-Identifier: LGPL-2.1-or-later
// The box's test NPU and dma-bufs for it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <gst/drm/core/frame_layout.hpp>
#include <gst/drm/core/unique_fd.hpp>

#include "engine/backend.hpp"
#include "npu_reference.hpp"

namespace gstdrm::test {

// The module of the test NPU: loaded by the first test that asks, with two devices. Each test
// starts with the parameters that insmod has given.
class Npu {
public:
  static void load(const char *parameters = "devices=2");
  // 0, or errno of delete_module(2).
  static int unload();
  // As after load(): no fault, the device is not lost, latency_us is 1000.
  static void reset();
  static void set(const std::string &parameter, unsigned value);
  // In debugfs: imports, results, in_flight, submissions, lost.
  // Fails where the count is not that within a second: the device gives its buffers back shortly
  // after the fence.
  static void expect(const std::string &what, std::uint64_t number);
  static std::uint64_t count(const std::string &what, const char *device = "metis-0:1:0");
  static void set_lost(bool lost);
};

// All memory that the tests use: bytes in a dma-buf, mapped for the test.
class DmaBytes {
public:
  enum class From { Heap, Udmabuf };
  DmaBytes(From from, std::uint64_t size_bytes);
  DmaBytes(const DmaBytes &) = delete;
  DmaBytes &operator=(const DmaBytes &) = delete;
  ~DmaBytes();
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] std::uint8_t *bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }
  void unmap();

private:
  UniqueFd fd_;
  std::uint8_t *bytes_ = nullptr;
  std::uint64_t size_bytes_;
};

// An NV12 frame.
class NpuFrame {
public:
  NpuFrame(DmaBytes::From from, std::uint32_t width, std::uint32_t height,
           std::uint32_t stride_align);
  // Other bytes everywhere, padding included, for each seed.
  void fill(std::uint32_t seed);
  [[nodiscard]] NpuResult expected() const { return npu_reference(layout, memory->bytes()); }

  FrameLayout layout;
  std::unique_ptr<DmaBytes> memory;
};

// A checked fixture: Npu::reset(), and nothing in flight, attached or open when the test ends.
void npu_setup();
void npu_teardown();

metis::BackendOptions npu_options(const std::string &device = {});
std::unique_ptr<metis::Backend> open_npu(const metis::BackendOptions &options);

Result<metis::Submitted> try_submit(metis::Backend &backend, const NpuFrame &frame,
                                    const DmaBytes &result);
// Likewise; fails the test where the back end does not submit.
metis::Submitted submit(metis::Backend &backend, const NpuFrame &frame, const DmaBytes &result);
// Waits for the fence, at most 10 s, and finishes the request.
Result<metis::Finished> finish(metis::Backend &backend, const metis::Submitted &submitted);
// Likewise; fails the test where the request failed.
metis::Finished finish_well(metis::Backend &backend, const metis::Submitted &submitted);
NpuResult result_of(const DmaBytes &memory);

} // namespace gstdrm::test
