// SPDX-License-Identifier: LGPL-2.1-or-later
// The axl back end on the box's test NPU: import, submit, fence, release; results against the
// network computed here.
#include <deque>
#include <vector>

#include <drm.h>
#include <fcntl.h>
#include <sys/ioctl.h>

#include "npu_support.hpp"
#include "support/check_main.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::UniqueFd;
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

// Lines of the trace buffer that name the event.
std::vector<std::string> traced(const std::string &event)
{
  std::ifstream trace("/sys/kernel/tracing/trace");
  std::vector<std::string> lines;
  for (std::string line; std::getline(trace, line);)
    if (line.find(" " + event + ": ") != std::string::npos)
      lines.push_back(line.substr(line.find(event + ": ")));
  return lines;
}

std::string field_of(const std::string &line, const std::string &name)
{
  const auto at = line.find(" " + name + "=");
  fail_unless(at != std::string::npos, "%s in %s", name.c_str(), line.c_str());
  const auto from = at + name.size() + 2;
  return line.substr(from, line.find(' ', from) - from);
}

// The document's way: each frame is imported and released, which its tracepoints show.
GST_START_TEST(test_tracepoints)
{
  constexpr unsigned kTraced = 10;
  auto pool = make_pool(kSizes[2], 1);
  pool[0].fill(1);
  const DmaBytes result(DmaBytes::From::Heap, 32);
  std::ofstream("/sys/kernel/tracing/trace").close(); // truncating the file empties the buffer
  std::ofstream("/sys/kernel/tracing/events/axl/enable") << "1";
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
  std::ofstream("/sys/kernel/tracing/events/axl/enable") << "0";
  const auto imports = traced("axl_dmabuf_import");
  const auto releases = traced("axl_dmabuf_release");
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

// The names of the devices that the dma-buf is attached to, as bufinfo has them.
std::vector<std::string> attached_to(std::uint64_t inode)
{
  std::ifstream bufinfo("/sys/kernel/debug/dma_buf/bufinfo");
  std::vector<std::string> devices;
  bool of_ours = false;
  const std::string number = std::to_string(inode);
  for (std::string line; std::getline(bufinfo, line);) {
    if (line.empty() || g_ascii_isdigit(line[0]))
      of_ours = line.find(number) != std::string::npos;
    else if (of_ours && line[0] == '\t' && line.find("Attached") == std::string::npos &&
             line.find("Total") == std::string::npos)
      devices.push_back(line.substr(1));
  }
  return devices;
}

// I1 of the document: the frame's dma-buf is attached to two devices, here a display card and the
// NPU.
GST_START_TEST(test_two_attachments)
{
  auto pool = make_pool(kSizes[1], 1);
  const DmaBytes result(DmaBytes::From::Heap, 32);
  drm_prime_handle prime = {};
  prime.fd = pool[0].memory->fd();
  UniqueFd card;
  for (const char *path : {"/dev/dri/card0", "/dev/dri/card1"}) {
    card.reset(open(path, O_RDWR | O_CLOEXEC));
    if (card && ioctl(card.get(), DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime) == 0)
      break;
    card.reset();
  }
  fail_unless(static_cast<bool>(card), "no card imports the frame");
  auto backend = open_npu(npu_options());
  const Submitted submitted = submit(*backend, pool[0], result);
  finish_well(*backend, submitted);
  const auto devices = attached_to(pool[0].layout.planes[0].object.identity.inode);
  fail_unless_equals_int(devices.size(), 2);
  fail_unless(devices[0] == "metis.0" || devices[1] == "metis.0");
  fail_unless(devices[0] != devices[1]);
}
GST_END_TEST

// I4 of the document: nobody maps a frame or a result for the CPU.
GST_START_TEST(test_no_cpu_mapping)
{
  const auto mapped = [] {
    std::ifstream maps("/proc/self/maps");
    const std::string text{std::istreambuf_iterator<char>(maps), {}};
    return text.find("/dmabuf:") != std::string::npos;
  };
  auto pool = make_pool(kSizes[1], 1);
  pool[0].fill(7);
  DmaBytes result(DmaBytes::From::Heap, 32);
  fail_unless(mapped(), "the test does not see its own mappings");
  pool[0].memory->unmap();
  result.unmap();
  fail_if(mapped());
  auto backend = open_npu(npu_options());
  for (int i = 0; i < 3; i++) {
    const Submitted submitted = submit(*backend, pool[0], result);
    fail_if(mapped());
    finish_well(*backend, submitted);
    fail_if(mapped());
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
  tcase_add_test(tcase, test_two_attachments);
  tcase_add_test(tcase, test_no_cpu_mapping);
  tcase_add_test(tcase, test_release_with_the_memory);
  tcase_add_loop_test(tcase, test_device_names, 0, G_N_ELEMENTS(kNames));
  tcase_add_test(tcase, test_model);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(npu_cycle)
