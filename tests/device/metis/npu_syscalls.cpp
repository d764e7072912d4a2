// SPDX-License-Identifier: LGPL-2.1-or-later
// System calls of a frame, from the kernel's own trace: what the axl back end makes, and what the
// whole element makes beside it.
#include <memory>
#include <string>
#include <vector>

#include <unistd.h>

#include <gst/drm/core/poll_wait.hpp>

#include "benchmarks/syscall_count.hpp"
#include "npu_document.hpp"
#include "npu_support.hpp"
#include "support/dmabuf_elements.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;
using gstdrm::bench::Calls;
using gstdrm::bench::SyscallCount;

constexpr unsigned kFew = 50;
constexpr unsigned kMany = 550;

// Calls per frame of `stream(n)`, without those of its start and end.
template <typename F> std::map<std::string, double> calls_per_frame(F &&stream)
{
  const auto count = [&stream](unsigned n) {
    const SyscallCount counter(getpid());
    stream(n);
    return counter.read();
  };
  const Calls few = count(kFew);
  Calls many = count(kMany);
  std::map<std::string, double> per_frame;
  for (const auto &[name, number] : many) {
    const auto before = few.find(name);
    const std::uint64_t rest = number - (before == few.end() ? 0 : before->second);
    if (rest != 0)
      per_frame[name] = static_cast<double>(static_cast<std::int64_t>(rest)) / (kMany - kFew);
  }
  return per_frame;
}

void say_calls(const char *what, const std::map<std::string, double> &calls)
{
  for (const auto &[name, number] : calls)
    g_print("# %s: %s %.2f\n", what, name.c_str(), number);
}

double calls_of(const std::map<std::string, double> &calls, const char *name)
{
  const auto found = calls.find(name);
  return found == calls.end() ? 0 : found->second;
}

// A request from its submission to its end; without the test's own checks, each of which writes.
bool infer(gstdrm::metis::Backend &backend, const NpuFrame &frame, const DmaBytes &result)
{
  const auto submitted = try_submit(backend, frame, result);
  if (!submitted)
    return false;
  gstdrm::poll_readable(submitted->done, std::nullopt);
  return static_cast<bool>(backend.finish(submitted->id));
}

// In one thread, so that the numbers are exact: SUBMIT, the poll of this test's, what the fence
// says of errors and time, and the end of the fence.
GST_START_TEST(test_backend)
{
  Npu::reset();
  NpuFrame frame(DmaBytes::From::Heap, 320, 240, 256);
  const DmaBytes result(DmaBytes::From::Heap, 32);
  auto backend = open_npu(npu_options());
  fail_unless(infer(*backend, frame, result)); // is imported
  bool all = true;
  auto calls = calls_per_frame([&](unsigned n) {
    for (unsigned i = 0; i < n; i++)
      all &= infer(*backend, frame, result);
  });
  fail_unless(all);
  say_calls("back end", calls);
  for (const char *name : {"ioctl AXL_SUBMIT", "ppoll", "ioctl SYNC_FILE_INFO", "close"}) {
    fail_unless(calls_of(calls, name) == 1.0, "%s: %.2f", name, calls_of(calls, name));
    calls.erase(name);
  }
  for (const char *clock : {"clock_gettime", "gettimeofday"}) // no calls outside of the box
    calls.erase(clock);
#if defined(__SANITIZE_ADDRESS__) // memory of its runtime's own; it has to be seldom all the same
  for (const char *name : {"mmap", "munmap", "madvise"}) {
    fail_unless(calls_of(calls, name) < 0.5, "%s: %.2f", name, calls_of(calls, name));
    calls.erase(name);
  }
#endif
  fail_unless(calls.empty(), "%s", calls.empty() ? "" : calls.begin()->first.c_str());
}
GST_END_TEST

// Frames of a pool of four: a thread pushes, the worker submits and waits, a task hands on. The
// time that a frame was inside beyond the device's own, in microseconds.
double stream(unsigned n, const char *properties, const std::vector<GstPtr<GstBuffer>> &frames)
{
  const Harness harness(std::string("metisdmabufinfer backend=axl ") + properties +
                        " model=" + g_getenv("GST_DRM_TEST_DATA") + "/../box/npu/models/check.npu");
  fail_unless(harness.negotiate(dmabuf_caps("NV12", 320, 240)), "%s", harness.last_error().c_str());
  unsigned pulled = 0;
  const gint64 start = g_get_monotonic_time();
  for (unsigned i = 0; i < n; i++) {
    GstBuffer *buffer = gst_buffer_copy(frames[i % frames.size()].get());
    if (gst_harness_push(harness.get(), buffer) != GST_FLOW_OK)
      break;
    if (i >= 2)
      pulled += harness.pull() ? 1 : 0;
  }
  while (pulled < n && harness.pull())
    pulled++;
  const auto took = static_cast<double>(g_get_monotonic_time() - start);
  fail_unless_equals_int(pulled, n);
  fail_unless_equals_uint64(harness.stat("copies"), 0);
  fail_unless_equals_uint64(harness.stat("bytes-copied"), 0);
  return (took - static_cast<double>(harness.stat("device-ns")) / 1000) / n;
}

GST_START_TEST(test_element)
{
  Npu::reset();
  std::vector<GstPtr<GstBuffer>> frames;
  for (guint i = 0; i < 4; i++)
    frames.push_back(
        GstPtr<GstBuffer>::adopt(new_dmabuf_frame("dma-heap", plain_caps("NV12", 320, 240), i)));
  const auto calls = calls_per_frame([&](unsigned n) { stream(n, "max-in-flight=2", frames); });
  say_calls("element", calls);
  for (const char *name : {"ioctl AXL_SUBMIT", "ioctl SYNC_FILE_INFO"})
    fail_unless(calls_of(calls, name) == 1.0, "%s: %.2f", name, calls_of(calls, name));
  for (const char *name : {"ioctl AXL_IMPORT_FD", "ioctl AXL_RELEASE_IMPORT", "ioctl DMA_BUF_SYNC",
                           "dup", "fcntl", "mmap", "munmap"})
    fail_unless(calls_of(calls, name) < 0.1, "%s: %.2f", name, calls_of(calls, name));
  // the frame's implicit fences; the wake-ups for the frame and for its result
  fail_unless(calls_of(calls, "poll") + calls_of(calls, "ppoll") <= 4.0);
  fail_unless(calls_of(calls, "close") <= 1.1);
  g_print("# %.0f us per frame beside the device's own time\n",
          stream(kMany, "max-in-flight=1", frames));
}
GST_END_TEST

} // namespace

TCase *gstdrm::test::npu_syscall_cases()
{
  TCase *tc = tcase_create("npu_syscalls");
  tcase_add_test(tc, test_backend);
  tcase_add_test(tc, test_element);
  return tc;
}
