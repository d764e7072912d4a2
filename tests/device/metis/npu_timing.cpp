// SPDX-License-Identifier: LGPL-2.1-or-later
// How long the axl back end takes, and frames in metisdmabufinfer, on virtual time: only waits take any.
#include <cerrno>
#include <algorithm>
#include <chrono>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "core/sync_file.hpp"
#include "npu_support.hpp"
#include "support/check_main.hpp"
#include "support/dmabuf_elements.hpp"

namespace {

using namespace gstdrm::test;
using namespace std::chrono_literals;
using gstdrm::FenceState;
using gstdrm::UniqueFd;
using gstdrm::metis::Submitted;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A wake-up on virtual time comes up to a timer tick late.
constexpr auto kTolerance = 1ms;

struct Rig {
  NpuFrame frame{DmaBytes::From::Heap, 320, 240, 256};
  DmaBytes result{DmaBytes::From::Heap, 32};
};

void check_span(steady_clock::duration span, milliseconds wanted)
{
  fail_unless(
      span >= wanted && span <= wanted + kTolerance, "%lld us, not %lld",
      static_cast<long long>(std::chrono::duration_cast<std::chrono::microseconds>(span).count()),
      static_cast<long long>(wanted.count() * 1000));
}

struct RateRow {
  unsigned in_flight;
  unsigned latency_us;
};
constexpr RateRow kRates[] = {{1, 20000}, {2, 20000}, {4, 20000}, {4, 3000}, {16, 500}};

// With more than one request in flight nothing comes on top of the device's own time, and each
// request's own time is told from its wait in the queue.
GST_START_TEST(test_rate)
{
  constexpr unsigned kFrames = 60;
  const RateRow &row = kRates[__i__];
  Rig rig;
  Npu::set("latency_us", row.latency_us);
  auto options = npu_options();
  options.max_in_flight = row.in_flight;
  auto backend = open_npu(options);
  std::deque<Submitted> flights;
  const auto retire = [&] {
    const auto on_device = finish_well(*backend, flights.front()).on_device;
    flights.pop_front();
    fail_unless(on_device >= std::chrono::microseconds(row.latency_us) - 10us &&
                    on_device <= std::chrono::microseconds(row.latency_us) + 10us,
                "%lld ns", static_cast<long long>(on_device.count()));
  };
  const auto start = steady_clock::now();
  for (unsigned i = 0; i < kFrames; i++) {
    if (flights.size() == row.in_flight)
      retire();
    flights.push_back(submit(*backend, rig.frame, rig.result));
  }
  while (!flights.empty())
    retire();
  const std::chrono::duration<double> took = steady_clock::now() - start;
  const double best = kFrames * row.latency_us * 1e-6;
  g_print("# %u in flight: %.3f of the device's rate\n", row.in_flight, best / took.count());
  fail_unless(best / took.count() >= 0.95 && best / took.count() <= 1.0);
}
GST_END_TEST

struct LimitRow {
  const char *name;
  const char *parameter;
  unsigned value;
  milliseconds until_first; // its end, from its submission
  milliseconds until_second;
  int first_errno;
  int second_errno;
};
// Two requests of 20 ms each and a limit of 300 ms.
constexpr LimitRow kLimits[] = {
    {"nothing goes wrong", "fail_nth", 0, 20ms, 40ms, 0, 0},
    {"the first is never done", "hang_nth", 1, 300ms, 320ms, ETIMEDOUT, 0},
    {"the first one's interrupt is missing", "missing_irq_nth", 1, 40ms, 40ms, 0, 0},
    {"the second one's interrupt is missing", "missing_irq_nth", 2, 20ms, 320ms, 0, 0},
    {"the device is lost", "lose_nth", 2, 20ms, 20ms, 0, ENODEV},
    {"the device is too slow", "latency_us", 400000, 300ms, 600ms, ETIMEDOUT, ETIMEDOUT},
};

GST_START_TEST(test_limits)
{
  const LimitRow &row = kLimits[__i__];
  Rig rig;
  Npu::set("latency_us", 20000);
  Npu::set(row.parameter, row.value);
  auto options = npu_options();
  options.timeout = 300ms;
  auto backend = open_npu(options);
  const auto start = steady_clock::now();
  const Submitted first = submit(*backend, rig.frame, rig.result);
  const Submitted second = submit(*backend, rig.frame, rig.result);
  const auto a = finish(*backend, first);
  check_span(steady_clock::now() - start, row.until_first);
  fail_unless_equals_int(a ? 0 : a.error().sys_errno, row.first_errno);
  const auto b = finish(*backend, second);
  check_span(steady_clock::now() - start, row.until_second);
  fail_unless_equals_int(b ? 0 : b.error().sys_errno, row.second_errno);
}
GST_END_TEST

// The back end goes while requests are on the device. The destructor waits for the timeout
// altogether, not for each request; what is not done then is cancelled, and the memory is free.
GST_START_TEST(test_destroyed_in_flight)
{
  constexpr int kDone = 3; // of 80 ms each, within 300 ms
  Rig rig;
  Npu::set("latency_us", 80000);
  auto options = npu_options();
  options.timeout = 300ms;
  auto backend = open_npu(options);
  std::vector<UniqueFd> fences; // the back end closes its own
  for (int i = 0; i < 8; i++)
    fences.push_back(UniqueFd::dup(submit(*backend, rig.frame, rig.result).done));
  const auto start = steady_clock::now();
  backend.reset();
  check_span(steady_clock::now() - start, 300ms);
  for (const char *what : {"in_flight", "imports", "results"})
    fail_unless_equals_uint64(Npu::count(what), 0);
  for (int i = 0; i < 8; i++) {
    const auto state = gstdrm::fence_state(fences[i].get());
    fail_unless(state && *state == (i < kDone ? FenceState::Signalled : FenceState::Failed),
                "request %d", i);
  }
}
GST_END_TEST

struct LiveRow {
  const char *name;
  const char *properties;
  milliseconds latest; // from a frame's timestamp until it leaves the element
  guint inferences;    // at least, of 90 frames
};

// A camera of 30 frames a second, and a device that takes 93 ms. Without `leaky` the camera waits, and its last frame leaves after 90 inferences.
constexpr LiveRow kLive[] = {
    {"leaky", "leaky=true", 127ms, 31},
    {"leaky, of every second frame", "leaky=true interval=2", 161ms, 22},
    {"not leaky", "", 5500ms, 90},
};

GST_START_TEST(test_live)
{
  constexpr guint kFrames = 90;
  constexpr auto kDuration = 33333us;
  const LiveRow &row = kLive[__i__];
  Npu::set("latency_us", 93000);
  {
    const Harness harness("metisdmabufinfer backend=axl model=" + std::string(g_getenv("GST_DRM_TEST_DATA")) +
                          "/../box/npu/models/check.npu " + row.properties);
    fail_unless(harness.negotiate(dmabuf_caps("NV12", 64, 48)), "%s", harness.last_error().c_str());
    const auto frame = gstdrm::GstPtr<GstBuffer>::adopt(new_dmabuf_frame("udmabuf", plain_caps("NV12", 64, 48), 0));
    const auto start = steady_clock::now();
    const auto pts_of = [&](guint i) { return static_cast<GstClockTime>(std::chrono::nanoseconds(i * kDuration).count()); };
    auto latest = steady_clock::duration::zero();
    bool in_order = true;
    std::thread sink([&] {
      for (guint i = 0; i < kFrames; i++) {
        const auto output = harness.pull();
        in_order &= output && GST_BUFFER_PTS(output.get()) == pts_of(i);
        latest = std::max(latest, steady_clock::now() - start - i * kDuration);
      }
    });
    for (guint i = 0; i < kFrames; i++) {
      GstBuffer *buffer = gst_buffer_copy(frame.get()); // shares the memory
      GST_BUFFER_PTS(buffer) = pts_of(i);
      std::this_thread::sleep_until(start + i * kDuration);
      fail_unless_equals_int(gst_harness_push(harness.get(), buffer), GST_FLOW_OK);
    }
    sink.join();
    const auto span = std::chrono::duration_cast<milliseconds>(latest);
    const guint64 inferences = harness.stat("inferences");
    g_print("# %s: %lld ms at most, %" G_GUINT64_FORMAT " of %u frames inferred\n", row.name,
            static_cast<long long>(span.count()), inferences, kFrames);
    fail_unless(in_order && latest <= row.latest + kTolerance && inferences >= row.inferences);
  }
  Npu::expect("imports", 0);
}
GST_END_TEST

Suite *npu_timing_suite()
{
  Suite *suite = suite_create("npu_timing");
  TCase *tcase = tcase_create("npu_timing");
  suite_add_tcase(suite, tcase);
  tcase_add_checked_fixture(tcase, npu_setup, npu_teardown);
  tcase_add_loop_test(tcase, test_rate, 0, G_N_ELEMENTS(kRates));
  tcase_add_loop_test(tcase, test_limits, 0, G_N_ELEMENTS(kLimits));
  tcase_add_test(tcase, test_destroyed_in_flight);
  tcase_add_loop_test(tcase, test_live, 0, G_N_ELEMENTS(kLive));
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(npu_timing)
