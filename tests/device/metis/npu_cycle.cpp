// SPDX-License-Identifier: LGPL-2.1-or-later
// The axl back end on the box's test NPU: import, submit, fence, release; results against the
// network computed here.
#include <deque>
#include <vector>

#include "npu_support.hpp"
#include "npu_trace.hpp"
#include "support/check_main.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::metis::Backend;
using gstdrm::metis::Submitted;

constexpr unsigned kFrames = 100;
constexpr std::size_t kPool = 4;

struct SizeRow {
  std::uint32_t width;
  std::uint32_t height;
  std::uint32_t stride_align;
  DmaBytes::From from;
};

constexpr SizeRow kSizes[] = {
    {64, 48, 1, DmaBytes::From::Heap}, // tightly packed
    {322, 242, 256, DmaBytes::From::Udmabuf},
    {642, 482, 64, DmaBytes::From::Heap},
    {1280, 720, 4096, DmaBytes::From::Udmabuf},
};

std::vector<NpuFrame> make_pool(const SizeRow &row, std::size_t n = kPool)
{
  std::vector<NpuFrame> pool;
  for (std::size_t i = 0; i < n; i++)
    pool.emplace_back(row.from, row.width, row.height, row.stride_align);
  return pool;
}

GST_START_TEST(test_every_frame)
{
  auto pool = make_pool(kSizes[__i__]);
  const DmaBytes result(DmaBytes::From::Heap, 32);
  std::vector<Submitted> alive; // the tokens of the pool's memory
  unsigned imports = 0;
  auto backend = open_npu(npu_options());
  for (unsigned i = 0; i < kFrames; i++) {
    NpuFrame &frame = pool[i % kPool];
    frame.fill(i);
    const NpuResult expected = frame.expected();
    Submitted submitted = submit(*backend, frame, result);
    imports += submitted.imported;
    fail_unless_equals_int(submitted.imported, i < kPool);
    finish_well(*backend, submitted);
    fail_unless(result_of(result) == expected, "frame %u", i);
    alive.push_back(std::move(submitted));
  }
  fail_unless_equals_int(imports, kPool);
  Npu::expect("imports", kPool);
}
GST_END_TEST

// Requests overlap, and are done in order.
GST_START_TEST(test_overlap)
{
  constexpr std::size_t kInFlight = 4;
  auto pool = make_pool(kSizes[1], kInFlight);
  std::vector<std::unique_ptr<DmaBytes>> results;
  for (std::size_t i = 0; i < kInFlight; i++)
    results.push_back(std::make_unique<DmaBytes>(DmaBytes::From::Heap, 32));
  struct Flight {
    Submitted submitted;
    NpuResult expected;
    std::size_t slot;
  };
  std::deque<Flight> flights;
  auto options = npu_options();
  options.max_in_flight = kInFlight;
  auto backend = open_npu(options);
  const auto retire = [&] {
    const Flight &oldest = flights.front();
    finish_well(*backend, oldest.submitted);
    fail_unless(result_of(*results[oldest.slot]) == oldest.expected);
    flights.pop_front();
  };
  for (unsigned i = 0; i < kFrames; i++) {
    if (flights.size() == kInFlight)
      retire();
    NpuFrame &frame = pool[i % kInFlight];
    frame.fill(i);
    flights.push_back(
        {submit(*backend, frame, *results[i % kInFlight]), frame.expected(), i % kInFlight});
  }
  while (!flights.empty())
    retire();
}
GST_END_TEST

// The document's way: each frame is imported and released, which its tracepoints show.
GST_START_TEST(test_tracepoints)
{
  constexpr unsigned kTraced = 10;
  auto pool = make_pool(kSizes[2], 1);
  pool[0].fill(1);
  const DmaBytes result(DmaBytes::From::Heap, 32);
  Trace trace({"axl"});
  auto options = npu_options();
  options.cache_imports = false;
  auto backend = open_npu(options);
  for (unsigned i = 0; i < kTraced; i++) {
    const Submitted submitted = submit(*backend, pool[0], result);
    fail_unless(submitted.imported);
    fail_unless(submitted.liveness == nullptr);
    finish_well(*backend, submitted);
    Npu::expect("imports", 0);
  }
  std::vector<std::string> imports, releases;
  for (const std::string &line : trace.stop())
    (is_event(line, "axl_dmabuf_import") ? imports : releases).push_back(line);
  fail_unless_equals_int(imports.size(), kTraced);
  fail_unless_equals_int(releases.size(), kTraced);
  const auto &object = pool[0].layout.planes[0].object;
  for (unsigned i = 0; i < kTraced; i++) {
    fail_unless(field_of(imports[i], "inode") == std::to_string(object.identity.inode));
    fail_unless(field_of(imports[i], "size") == std::to_string(object.size_bytes));
    fail_unless(field_of(imports[i], "exporter") == "system");
    fail_unless(field_of(imports[i], "iova") != "0x0");
    fail_unless(field_of(releases[i], "handle") == field_of(imports[i], "handle"));
    fail_unless(field_of(releases[i], "inode") == field_of(imports[i], "inode"));
  }
}
GST_END_TEST

// An import goes when the frame's memory is gone, some frames later.
GST_START_TEST(test_release_with_the_memory)
{
  auto pool = make_pool(kSizes[0], 2);
  const DmaBytes result(DmaBytes::From::Heap, 32);
  auto backend = open_npu(npu_options());
  {
    const Submitted dies = submit(*backend, pool[0], result);
    finish_well(*backend, dies);
  }
  Submitted stays;
  for (int i = 0; i < 40; i++) {
    Submitted submitted = submit(*backend, pool[1], result);
    finish_well(*backend, submitted);
    if (submitted.liveness)
      stays = std::move(submitted);
    if (i == 0)
      Npu::expect("imports", 2);
  }
  Npu::expect("imports", 1);
}
GST_END_TEST

struct NameRow {
  const char *device;
  const char *counts_at;
};
constexpr NameRow kNames[] = {
    {"", "metis-0:1:0"},
    {"metis-0:1:0", "metis-0:1:0"},
    {"metis-0:02:0", "metis-0:2:0"},
    {"/dev/metis-0:2:0", "metis-0:2:0"},
};

GST_START_TEST(test_device_names)
{
  const NameRow &row = kNames[__i__];
  auto pool = make_pool(kSizes[0], 1);
  pool[0].fill(3);
  const DmaBytes result(DmaBytes::From::Heap, 32);
  const std::uint64_t before = Npu::count("submissions", row.counts_at);
  auto backend = open_npu(npu_options(row.device));
  finish_well(*backend, submit(*backend, pool[0], result));
  fail_unless(result_of(result) == pool[0].expected());
  fail_unless_equals_uint64(Npu::count("submissions", row.counts_at), before + 1);
}
GST_END_TEST

GST_START_TEST(test_model)
{
  auto backend = open_npu(npu_options());
  fail_unless_equals_string(backend->name(), "axl");
  fail_unless(backend->takes() == Backend::Takes::Frames);
  fail_unless_equals_int(backend->model().outputs.size(), 1);
  const auto &output = backend->model().outputs[0];
  fail_unless(output.type == gstdrm::metis::TensorType::Int8);
  fail_unless(output.dims == std::vector<std::size_t>({1, 32}));
  fail_unless(output.quantisation.has_value());
  fail_unless(output.quantisation->scale == 1.0 && output.quantisation->zero_point == 0);
}
GST_END_TEST

Suite *npu_cycle_suite()
{
  Suite *suite = suite_create("npu_cycle");
  TCase *tcase = tcase_create("npu_cycle");
  suite_add_tcase(suite, tcase);
  tcase_add_checked_fixture(tcase, npu_setup, npu_teardown);
  tcase_add_loop_test(tcase, test_every_frame, 0, G_N_ELEMENTS(kSizes));
  tcase_add_test(tcase, test_overlap);
  tcase_add_test(tcase, test_tracepoints);
  tcase_add_test(tcase, test_release_with_the_memory);
  tcase_add_loop_test(tcase, test_device_names, 0, G_N_ELEMENTS(kNames));
  tcase_add_test(tcase, test_model);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(npu_cycle)
