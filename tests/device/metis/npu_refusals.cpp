// SPDX-License-Identifier: LGPL-2.1-or-later
// What the axl back end and its driver refuse, and in which words; all goes on after it.
#include <cerrno>
#include <functional>
#include <string>
#include <vector>

#include <drm_fourcc.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/backend.hpp"
#include "engine/axl/axl_uapi.h"
#include "npu_support.hpp"
#include "support/check_main.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::Error;
using gstdrm::ErrorCode;
using gstdrm::UniqueFd;
using gstdrm::metis::BackendOptions;
using gstdrm::metis::Request;
using gstdrm::metis::TensorView;

void check_error(const Error &error, const char *name, ErrorCode code, int sys_errno,
                 const char *words)
{
  say(error.message);
  fail_unless(error.code == code, "%s: code %d", name, static_cast<int>(error.code));
  fail_unless(error.sys_errno == sys_errno, "%s: errno %d", name, error.sys_errno);
  fail_unless(error.message.find(words) != std::string::npos, "%s: %s", name,
              error.message.c_str());
}

void name_device(BackendOptions &options, const char *device)
{
  options.device = device;
}

void describe_output(BackendOptions &options, std::vector<std::size_t> dims)
{
  options.model.outputs.resize(1);
  options.model.outputs[0].dims = std::move(dims);
}

struct OpenRow {
  const char *name;
  void (*change)(BackendOptions &options);
  ErrorCode code;
  int sys_errno;
  const char *words;
};
constexpr OpenRow kOpens[] = {
    {"no such device", [](auto &options) { name_device(options, "metis-0:7:0"); },
     ErrorCode::Device, ENODEV, "No Metis device metis-0:7:0: /dev has metis-0:1:0, metis-0:2:0"},
    {"no name of a device", [](auto &options) { name_device(options, "axl0"); }, ErrorCode::Device,
     EINVAL, "metis-DOMAIN:BUS:SLOT"},
    {"a path to nothing", [](auto &options) { name_device(options, "/dev/metis"); },
     ErrorCode::Device, ENOENT, "Cannot open /dev/metis: ENOENT"},
    {"a driver with another interface", [](auto &options) { name_device(options, "/dev/udmabuf"); },
     ErrorCode::Unsupported, ENOTTY, "backend=axruntime"},
    {"busy", [](auto &) { Npu::set("busy", 1); }, ErrorCode::Device, EBUSY, "Another process"},
    {"lost", [](auto &) { Npu::set_lost(true); }, ErrorCode::Device, ENODEV, "lost"},
    {"a model without a number", [](auto &options) { options.model.device_id.reset(); },
     ErrorCode::Unsupported, 0, "has no number"},
    {"a model that is not loaded", [](auto &options) { options.model.device_id = 99; },
     ErrorCode::Device, ENOENT, "has no model 99"},
    {"other dimensions",
     [](auto &options) {
       describe_output(options, {1, 33});
     },
     ErrorCode::Unsupported, EINVAL, "1x32, not 1x33"},
    {"more dimensions",
     [](auto &options) {
       describe_output(options, {1, 32, 1});
     },
     ErrorCode::Unsupported, EINVAL, "1x32, not 1x32x1"},
    {"two outputs", [](auto &options) { options.model.outputs.resize(2); }, ErrorCode::Unsupported,
     0, "one output"},
};

GST_START_TEST(test_open)
{
  const OpenRow &row = kOpens[__i__];
  BackendOptions options = npu_options();
  row.change(options);
  const auto opened = gstdrm::metis::open_axl(options);
  fail_if(opened, "%s", row.name);
  check_error(opened.error(), row.name, row.code, row.sys_errno, row.words);
  Npu::reset();
  open_npu(npu_options());
}
GST_END_TEST

GST_START_TEST(test_open_without_driver)
{
  fail_unless_equals_int(Npu::unload(), 0);
  const auto opened = gstdrm::metis::open_axl(npu_options());
  Npu::load();
  fail_if(opened);
  check_error(opened.error(), "no driver", ErrorCode::Device, ENODEV, "/dev has none");
}
GST_END_TEST

// Dimensions that say nothing are completed.
GST_START_TEST(test_partial_description)
{
  BackendOptions options = npu_options();
  describe_output(options, {0, 32});
  fail_unless(open_npu(options)->model().outputs[0].dims == std::vector<std::size_t>({1, 32}));
}
GST_END_TEST

// One request, and memory that a row may put in place of what is right.
struct Asked {
  Asked() : other(DmaBytes::From::Udmabuf, 1 << 20), plain(memfd_create("plain", MFD_CLOEXEC))
  {
    frame.fill(9);
    layout = frame.layout;
    fail_unless_equals_int(ftruncate(plain.get(), 1 << 20), 0);
    output = {result.fd(), nullptr, result.size_bytes()};
    request.frame = &layout;
    request.outputs = {&output, 1};
  }
  void set_fd(int fd)
  {
    layout.planes[0].fd = layout.planes[1].fd = fd;
    const auto object = gstdrm::query_object(fd);
    if (object)
      layout.planes[0].object = layout.planes[1].object = *object;
  }
  void set_size(std::uint32_t width, std::uint32_t height)
  {
    layout.width = width;
    layout.height = height;
  }

  NpuFrame frame{DmaBytes::From::Heap, 320, 240, 256};
  DmaBytes result{DmaBytes::From::Heap, 32};
  DmaBytes other;
  UniqueFd plain;
  gstdrm::FrameLayout layout;
  TensorView output;
  Request request;
};

struct RequestRow {
  const char *name;
  void (*change)(Asked &asked);
  ErrorCode code;
  int sys_errno;
  const char *words;
};
constexpr RequestRow kRequests[] = {
    {"no frame", [](Asked &a) { a.request.frame = nullptr; }, ErrorCode::Layout, 0,
     "the request has none"},
    {"another format", [](Asked &a) { a.layout.format.fourcc = DRM_FORMAT_NV21; },
     ErrorCode::Format, 0, "linear NV12 alone, not NV21"},
    {"a tiled frame", [](Asked &a) { a.layout.format.modifier = I915_FORMAT_MOD_X_TILED; },
     ErrorCode::Format, 0, "INTEL_X_TILED"},
    {"an odd width", [](Asked &a) { a.set_size(319, 240); }, ErrorCode::Layout, 0, "319x240"},
    {"an odd height", [](Asked &a) { a.set_size(320, 239); }, ErrorCode::Layout, 0, "320x239"},
    {"smaller than the network", [](Asked &a) { a.set_size(14, 14); }, ErrorCode::Import, EINVAL,
     "14x14"},
    {"two dma-bufs",
     [](Asked &a) {
       a.layout.planes[1].object.identity = {1, 2};
     },
     ErrorCode::Layout, 0, "both planes of NV12 in one dma-buf"},
    {"a plane beyond the dma-buf", [](Asked &a) { a.layout.planes[1].offset_bytes = 1 << 24; },
     ErrorCode::Import, ENOSPC, "16777216/"},
    {"a stride below the width", [](Asked &a) { a.layout.planes[0].stride_bytes = 100; },
     ErrorCode::Import, EINVAL, "0/100"},
    {"a frame in a memfd", [](Asked &a) { a.set_fd(a.plain.get()); }, ErrorCode::Import, EINVAL,
     "memory is none"},
    {"a closed descriptor", [](Asked &a) { a.set_fd(987); }, ErrorCode::Import, EBADF,
     "memory is none"},
    {"no output", [](Asked &a) { a.request.outputs = {}; }, ErrorCode::Layout, 0, "0 outputs"},
    {"an output in host memory", [](Asked &a) { a.output.fd = -1; }, ErrorCode::Layout, 0,
     "no dma-buf"},
    {"too little room", [](Asked &a) { a.output.size_bytes = 31; }, ErrorCode::Layout, 0,
     "room for 31"},
    {"an output in a memfd", [](Asked &a) { a.output.fd = a.plain.get(); }, ErrorCode::Import,
     EINVAL, "result is no dma-buf"},
    {"busy", [](Asked &) { Npu::set("busy", 1); }, ErrorCode::Device, EBUSY, "lower max-in-flight"},
};

GST_START_TEST(test_request)
{
  const RequestRow &row = kRequests[__i__];
  Asked asked;
  auto backend = open_npu(npu_options());
  row.change(asked);
  const auto submitted = backend->submit(asked.request);
  fail_if(submitted, "%s", row.name);
  check_error(submitted.error(), row.name, row.code, row.sys_errno, row.words);
  Npu::expect("results", 0);
  Npu::set("busy", 0);
  finish_well(*backend, submit(*backend, asked.frame, asked.result));
  fail_unless(result_of(asked.result) == asked.frame.expected());
}
GST_END_TEST

// The device's queue has an end.
GST_START_TEST(test_full_queue)
{
  constexpr int kQueue = 64;
  Asked asked;
  auto options = npu_options();
  options.timeout = std::chrono::seconds(60); // the first one hangs until the device is lost
  Npu::set("hang_nth", 1);
  auto backend = open_npu(options);
  const auto start = Npu::count("submissions");
  for (int i = 0; i < kQueue; i++)
    submit(*backend, asked.frame, asked.result);
  const auto refused = backend->submit(asked.request);
  fail_if(refused);
  check_error(refused.error(), "a full queue", ErrorCode::Device, EBUSY, "queue is full");
  fail_unless_equals_uint64(Npu::count("submissions") - start, kQueue);
  Npu::set_lost(true);
}
GST_END_TEST

// Each layout reads other bytes: none of them has the result of another.
GST_START_TEST(test_layouts_differ)
{
  Asked asked;
  auto backend = open_npu(npu_options());
  const gstdrm::FrameLayout right = asked.layout;
  const std::function<void()> changes[] = {
      [] {},
      [&] { asked.layout.planes[0].stride_bytes -= 2; },
      [&] { asked.layout.planes[1].stride_bytes -= 2; },
      [&] { asked.layout.planes[0].offset_bytes += 1; },
      [&] { asked.layout.planes[1].offset_bytes -= 1; },
      [&] { asked.layout.planes[1].offset_bytes = 0; },
      [&] { asked.set_size(318, 240); },
      [&] { asked.set_size(320, 238); },
  };
  std::vector<NpuResult> results;
  for (const auto &change : changes) {
    asked.layout = right;
    change();
    const auto submitted = backend->submit(asked.request);
    fail_unless(static_cast<bool>(submitted));
    finish_well(*backend, *submitted);
    const NpuResult result = result_of(asked.result);
    fail_unless(result == npu_reference(asked.layout, asked.frame.memory->bytes()));
    for (const NpuResult &other : results)
      fail_if(result == other);
    results.push_back(result);
  }
}
GST_END_TEST

// The driver's own refusals, below the back end.
struct IoctlRow {
  const char *name;
  unsigned long request;
  int sys_errno;
  void (*change)(axl_import_fd &import, axl_submit &submit, axl_layout &layout);
};
constexpr IoctlRow kIoctls[] = {
    {"another pixel format", AXL_IOCTL_IMPORT_FD, EINVAL,
     [](auto &import, auto &, auto &) { import.pixfmt = 0; }},
    {"unknown flags", AXL_IOCTL_IMPORT_FD, EINVAL,
     [](auto &import, auto &, auto &) { import.flags = 8; }},
    {"an odd width", AXL_IOCTL_IMPORT_FD, EINVAL,
     [](auto &import, auto &, auto &) { import.width = 319; }},
    {"a huge width", AXL_IOCTL_IMPORT_FD, EINVAL,
     [](auto &import, auto &, auto &) { import.width = 1U << 31; }},
    {"a frame beyond the dma-buf", AXL_IOCTL_IMPORT_FD, ENOSPC,
     [](auto &import, auto &, auto &) { import.height = 16384; }},
    {"a handle of nothing", AXL_IOCTL_SUBMIT, ENOENT,
     [](auto &, auto &submit, auto &) { submit.input_handle = 77; }},
    {"an unknown model", AXL_IOCTL_SUBMIT, ENOENT,
     [](auto &, auto &submit, auto &) { submit.model_id = 0; }},
    {"a closed result", AXL_IOCTL_SUBMIT, EBADF,
     [](auto &, auto &submit, auto &) { submit.result_fd = -1; }},
    {"a reserved field", AXL_IOCTL_SUBMIT, EINVAL,
     [](auto &, auto &submit, auto &) { submit.reserved = 1; }},
    {"a layout of nothing", AXL_IOCTL_SET_LAYOUT, ENOENT,
     [](auto &, auto &, auto &layout) { layout.handle = 0; }},
    {"one plane", AXL_IOCTL_SET_LAYOUT, EINVAL,
     [](auto &, auto &, auto &layout) { layout.n_planes = 1; }},
    {"an offset that overflows", AXL_IOCTL_SET_LAYOUT, ENOSPC,
     [](auto &, auto &, auto &layout) { layout.offset[1] = ~0ULL; }},
    {"a stride that overflows", AXL_IOCTL_SET_LAYOUT, ENOSPC,
     [](auto &, auto &, auto &layout) { layout.stride[0] = ~0U; }},
    {"an unknown ioctl", _IO(AXL_IOCTL_MAGIC, 0x7f), ENOTTY, [](auto &, auto &, auto &) {}},
};

GST_START_TEST(test_ioctl)
{
  const IoctlRow &row = kIoctls[__i__];
  Asked asked;
  const UniqueFd device(open("/dev/metis-0:1:0", O_RDWR | O_CLOEXEC));
  axl_import_fd import = {};
  import.fd = asked.frame.memory->fd();
  import.width = 320;
  import.height = 240;
  import.pixfmt = AXL_PIXFMT_NV12;
  import.flags = AXL_IMPORT_BIDIRECTIONAL;
  axl_submit submit = {};
  axl_layout layout = {};
  const auto request = [&](unsigned long number) {
    void *argument = &layout;
    if (number == AXL_IOCTL_IMPORT_FD)
      argument = &import;
    else if (number == AXL_IOCTL_SUBMIT)
      argument = &submit;
    return ioctl(device.get(), number, argument) == 0 ? 0 : errno;
  };
  fail_unless_equals_int(request(AXL_IOCTL_IMPORT_FD), 0);
  fail_unless(import.handle != 0 && import.size == asked.frame.memory->size_bytes());
  std::uint32_t handle = import.handle;
  submit.input_handle = layout.handle = handle;
  submit.result_fd = asked.result.fd();
  submit.model_id = kCheckModel;
  layout.n_planes = 2;
  layout.stride[0] = layout.stride[1] = 320;
  row.change(import, submit, layout);
  fail_unless_equals_int(request(row.request), row.sys_errno);
  Npu::expect("imports", 1);
  fail_unless_equals_int(ioctl(device.get(), AXL_IOCTL_RELEASE_IMPORT, &handle), 0);
  fail_unless(ioctl(device.get(), AXL_IOCTL_RELEASE_IMPORT, &handle) != 0 && errno == ENOENT);
}
GST_END_TEST

Suite *npu_refusals_suite()
{
  Suite *suite = suite_create("npu_refusals");
  TCase *tcase = tcase_create("npu_refusals");
  suite_add_tcase(suite, tcase);
  tcase_add_checked_fixture(tcase, npu_setup, npu_teardown);
  tcase_add_loop_test(tcase, test_open, 0, G_N_ELEMENTS(kOpens));
  tcase_add_test(tcase, test_open_without_driver);
  tcase_add_test(tcase, test_partial_description);
  tcase_add_loop_test(tcase, test_request, 0, G_N_ELEMENTS(kRequests));
  tcase_add_test(tcase, test_full_queue);
  tcase_add_test(tcase, test_layouts_differ);
  tcase_add_loop_test(tcase, test_ioctl, 0, G_N_ELEMENTS(kIoctls));
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(npu_refusals)
