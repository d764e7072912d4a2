// SPDX-License-Identifier: LGPL-2.1-or-later
// What the axl back end makes of a device that fails: each request ends with its own Error, in
// bounded time.
#include <cerrno>
#include <vector>

#include "core/sync_file.hpp"
#include "npu_support.hpp"
#include "support/check_main.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::Error;
using gstdrm::ErrorCode;
using gstdrm::FenceState;
using gstdrm::UniqueFd;
using gstdrm::metis::Backend;
using gstdrm::metis::Submitted;

constexpr unsigned kRequests = 6;
constexpr unsigned kNever = kRequests;

struct FaultRow {
  const char *name;
  const char *parameter;
  unsigned value;
  unsigned first; // request that fails
  unsigned last;
  ErrorCode code;
  int sys_errno;
};
constexpr FaultRow kFaults[] = {
    {"the firmware refuses one", "fail_nth", 3, 2, 2, ErrorCode::Device, EINVAL},
    {"one is never done", "hang_nth", 3, 2, 2, ErrorCode::Sync, ETIMEDOUT},
    {"the device is too slow", "latency_us", 300000, 0, 5, ErrorCode::Sync, ETIMEDOUT},
    {"each result is short", "short_result", 1, 0, 5, ErrorCode::Device, ENODATA},
    {"the device is lost", "lose_nth", 3, 2, 5, ErrorCode::Device, ENODEV},
    {"an interrupt is missing", "missing_irq_nth", 3, kNever, kNever, ErrorCode::Device, 0},
    {"the last interrupt is missing", "missing_irq_nth", 6, kNever, kNever, ErrorCode::Device, 0},
};

struct Rig {
  Rig() { frame.fill(5); }
  NpuFrame frame{DmaBytes::From::Heap, 320, 240, 256};
  DmaBytes result{DmaBytes::From::Heap, 32};
};

gstdrm::metis::BackendOptions short_options()
{
  auto options = npu_options();
  options.timeout = std::chrono::milliseconds(100);
  return options;
}

// The request's Error, or nothing when its result is right.
std::optional<Error> run(Backend &backend, Rig &rig)
{
  std::fill_n(rig.result.bytes(), 32, 0);
  const auto submitted = try_submit(backend, rig.frame, rig.result);
  if (!submitted)
    return submitted.error();
  const auto finished = finish(backend, *submitted);
  if (!finished)
    return finished.error();
  fail_unless(result_of(rig.result) == rig.frame.expected());
  return {};
}

void check_error(const std::optional<Error> &error, const FaultRow &row, unsigned request)
{
  if (request < row.first || request > row.last) {
    fail_if(error.has_value(), "%s: request %u: %s", row.name, request,
            error ? error->message.c_str() : "");
    return;
  }
  fail_unless(error.has_value(), "%s: request %u did not fail", row.name, request);
  say(error->message);
  fail_unless(error->code == row.code, "%s: code %d", row.name, static_cast<int>(error->code));
  fail_unless_equals_int(error->sys_errno, row.sys_errno);
  fail_unless(error->message.find("metis-0:1:0") != std::string::npos);
}

GST_START_TEST(test_one_at_a_time)
{
  const FaultRow &row = kFaults[__i__];
  Rig rig;
  auto backend = open_npu(short_options());
  Npu::set(row.parameter, row.value);
  for (unsigned i = 0; i < kRequests; i++)
    check_error(run(*backend, rig), row, i);
}
GST_END_TEST

// All are submitted before the first is done.
GST_START_TEST(test_in_flight)
{
  const FaultRow &row = kFaults[__i__];
  Rig rig;
  auto backend = open_npu(short_options());
  Npu::set("latency_us", 20000);
  Npu::set(row.parameter, row.value);
  std::vector<gstdrm::Result<Submitted>> submitted;
  for (unsigned i = 0; i < kRequests; i++)
    submitted.push_back(try_submit(*backend, rig.frame, rig.result));
  for (unsigned i = 0; i < kRequests; i++) {
    std::optional<Error> error;
    if (!submitted[i])
      error = submitted[i].error();
    else if (const auto finished = finish(*backend, *submitted[i]); !finished)
      error = finished.error();
    check_error(error, row, i);
  }
}
GST_END_TEST

GST_START_TEST(test_not_done)
{
  Rig rig;
  auto options = npu_options();
  options.timeout = std::chrono::seconds(60);
  Npu::set("hang_nth", 1);
  auto backend = open_npu(options);
  const Submitted submitted = submit(*backend, rig.frame, rig.result);
  const auto early = backend->finish(submitted.id);
  fail_unless(!early && early.error().code == ErrorCode::Sync && early.error().sys_errno == 0);
  Npu::set_lost(true);
  const auto late = finish(*backend, submitted);
  fail_unless(!late && late.error().sys_errno == ENODEV);
  const auto again = backend->finish(submitted.id);
  fail_unless(!again && again.error().sys_errno == 0, "finished twice");
}
GST_END_TEST

// A lost device that comes back: the old back end stays dead, a new one works.
GST_START_TEST(test_after_a_loss)
{
  Rig rig;
  auto dead = open_npu(npu_options());
  fail_if(run(*dead, rig).has_value());
  Npu::set_lost(true);
  fail_unless_equals_int(run(*dead, rig).value_or(Error{}).sys_errno, ENODEV);
  Npu::set_lost(false);
  fail_unless_equals_int(run(*dead, rig).value_or(Error{}).sys_errno, ENODEV);
  auto alive = open_npu(npu_options());
  fail_if(run(*alive, rig).has_value());
}
GST_END_TEST

GST_START_TEST(test_module_in_use)
{
  Rig rig;
  auto backend = open_npu(npu_options());
  fail_unless_equals_int(Npu::unload(), EAGAIN);
  const Submitted submitted = submit(*backend, rig.frame, rig.result);
  fail_unless_equals_int(Npu::unload(), EAGAIN);
  finish_well(*backend, submitted);
}
GST_END_TEST

// Fences are all that stays of a driver: they can be asked when it is gone.
GST_START_TEST(test_fence_without_module)
{
  Rig rig;
  UniqueFd fence;
  {
    auto backend = open_npu(npu_options());
    const Submitted submitted = submit(*backend, rig.frame, rig.result);
    fence = UniqueFd::dup(submitted.done);
    finish_well(*backend, submitted);
  }
  fail_unless_equals_int(Npu::unload(), 0);
  const auto state = gstdrm::fence_state(fence.get());
  fail_unless(state && *state == FenceState::Signalled);
  Npu::load();
}
GST_END_TEST

Suite *npu_failures_suite()
{
  Suite *suite = suite_create("npu_failures");
  TCase *tcase = tcase_create("npu_failures");
  suite_add_tcase(suite, tcase);
  tcase_add_checked_fixture(tcase, npu_setup, npu_teardown);
  tcase_add_loop_test(tcase, test_one_at_a_time, 0, G_N_ELEMENTS(kFaults));
  tcase_add_loop_test(tcase, test_in_flight, 0, G_N_ELEMENTS(kFaults));
  tcase_add_test(tcase, test_not_done);
  tcase_add_test(tcase, test_after_a_loss);
  tcase_add_test(tcase, test_module_in_use);
  tcase_add_test(tcase, test_fence_without_module);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(npu_failures)
