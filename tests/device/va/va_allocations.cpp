// SPDX-License-Identifier: LGPL-2.1-or-later
// What a frame costs the heap once the stream runs: every malloc() of the streaming thread is counted, those of GStreamer, libva
// and the test driver included.
#include <atomic>
#include <cstddef>
#include <cstdio>

#include "va_support.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define COUNTS_ALLOCATIONS 0
#else
#define COUNTS_ALLOCATIONS 1
#endif

namespace {

thread_local std::uint64_t allocations = 0;

} // namespace

#if COUNTS_ALLOCATIONS
// glibc lets a program define these; its own remain under these names. Visible, or no library would see them.
#pragma GCC visibility push(default)
extern "C" {
void *__libc_malloc(std::size_t size);
void *__libc_calloc(std::size_t count, std::size_t size);
void *__libc_realloc(void *old, std::size_t size);
void *malloc(std::size_t size)
{
  ++allocations;
  return __libc_malloc(size);
}
void *calloc(std::size_t count, std::size_t size)
{
  ++allocations;
  return __libc_calloc(count, size);
}
void *realloc(void *old, std::size_t size)
{
  ++allocations;
  return __libc_realloc(old, size);
}
}
#pragma GCC visibility pop
#endif

namespace {

using namespace gstdrm::test;

struct Seen {
  std::uint64_t frames = 0;
  std::uint64_t at_start = 0;
  std::uint64_t in_steady_state = 0;
};

constexpr std::uint64_t kWarmUp = 50;
constexpr std::uint64_t kFrames = 550;

// Runs in the streaming thread, once a frame.
GstPadProbeReturn count_frame(GstPad *, GstPadProbeInfo *, gpointer user)
{
  auto &seen = *static_cast<Seen *>(user);
  ++seen.frames;
  if (seen.frames == kWarmUp)
    seen.at_start = allocations;
  else if (seen.frames == kFrames)
    seen.in_steady_state = allocations - seen.at_start;
  return GST_PAD_PROBE_OK;
}

const char *const kDrivers[] = {"formats=NV12", "formats=NV12,objects=2", "formats=BGRX,modifiers=x-tiled"};

GST_START_TEST(test_no_allocation_per_frame)
{
  set_driver(kDrivers[__i__]);
  Seen seen;
  Pipeline pipeline(source("pattern=frame-counter num-buffers=560", "video/x-raw(memory:DMABuf),width=64,height=64",
                           "fakesink name=sink sync=false"));
  GstPad *pad = gst_element_get_static_pad(pipeline.get("src"), "src");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, count_frame, &seen, nullptr);
  gst_object_unref(pad);
  fail_unless(pipeline.play());
  fail_unless(pipeline.wait_for_end() == "eos");
  fail_unless_equals_uint64(seen.frames, 560);
  fail_unless(seen.at_start > 0, "the counter sees the streaming thread");
  std::printf("# %s: %llu allocations in %llu frames\n", kDrivers[__i__],
              static_cast<unsigned long long>(seen.in_steady_state),
              static_cast<unsigned long long>(kFrames - kWarmUp));
  std::fflush(stdout);
  fail_unless_equals_uint64(seen.in_steady_state, 0);
}
GST_END_TEST

Suite *va_allocations_suite()
{
  Suite *suite = suite_create("vadmabufsrc allocations");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_no_allocation_per_frame, 0, G_N_ELEMENTS(kDrivers));
  return suite;
}

} // namespace

int main(int argc, char **argv)
{
  if (!COUNTS_ALLOCATIONS) {
    std::fprintf(stderr, "allocations are the sanitizer's here\n");
    return 77;
  }
  gst_check_init(&argc, &argv);
  return gstdrm::test::run_suite(va_allocations_suite());
}
