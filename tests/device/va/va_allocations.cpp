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

// The last reference to a frame's memory: the buffer itself, one of several branches, a shallow copy, a sub-buffer.
struct Row {
  const char *driver;
  const char *launch;
  double each = 0; // allocations a frame, at most
};
// What a converter's thread that waits for the device keeps for so long: the frames that are read. Everything else is of
// pools, or made before the stream.
constexpr double kKept = 1;
// With fences such a thread waits only for a device that is late, as that of a busy machine is now and then.
constexpr double kLate = 0.2;
#define SOURCE "vadmabufsrc name=src pattern=frame-counter num-buffers=560 ! video/x-raw(memory:DMABuf),width=64,height=64 ! "
#define CONVERTER "vadmabufsrc num-buffers=560 ! video/x-raw(memory:DMABuf),width=64,height=64 ! vadmabufconvert name=src video-direction=180 ! "
#define CONVERTED "video/x-raw(memory:DMABuf),width=96,height=64 ! "
#define SINK "identity name=held ! fakesink name=sink sync=false"
#define TEE "tee name=tee ! fakesink name=sink sync=false tee. ! fakesink sync=false async=false"
const Row kRows[] = {
    {"formats=NV12", SOURCE SINK},
    {"formats=NV12,objects=2", SOURCE SINK},
    {"formats=BGRX,modifiers=x-tiled", SOURCE SINK},
    {"formats=NV12,async=1,fences=0", SOURCE SINK},
    {"formats=NV12", SOURCE TEE},
    {"formats=NV12:BGRX", CONVERTER CONVERTED SINK},
    {"formats=NV12,objects=2", CONVERTER CONVERTED SINK},
    {"formats=BGRX,async=1,fences=0", CONVERTER CONVERTED SINK, kKept},
    {"formats=NV12:BGRX", CONVERTER CONVERTED TEE},
    // with fences, for a producer that waits for the device by itself, and for one that does not
    {"formats=NV12:BGRX,async=1", CONVERTER CONVERTED SINK, kLate},
    {"formats=NV12,async=1,objects=2", CONVERTER CONVERTED SINK, kLate},
    {"formats=NV12:BGRX,async=1", "vadmabufsrc num-buffers=560 ! video/x-raw(memory:DMABuf),width=64,height=64 ! identity drop-allocation=true ! "
                                  "vadmabufconvert name=src video-direction=180 ! " CONVERTED SINK, kKept},
    {"formats=NV12:BGRX", "videotestsrc num-buffers=560 ! video/x-raw,format=NV12,width=64,height=64 ! dmabufupload ! "
                          "vadmabufconvert name=src video-direction=180 ! " CONVERTED SINK},
    // the pool of dmabufupload waits for the device that still reads its frames
    {"formats=NV12:BGRX,async=1", "videotestsrc num-buffers=560 ! video/x-raw,format=NV12,width=64,height=64 ! dmabufupload ! "
                                  "vadmabufconvert name=src video-direction=180 ! " CONVERTED SINK, kLate},
    {"profile=ihd", SOURCE SINK},
    {"profile=ihd", CONVERTER CONVERTED SINK},
    {"profile=i965", SOURCE SINK},
    {"profile=i965", CONVERTER CONVERTED SINK},
    {"profile=radeonsi", SOURCE SINK},
    {"profile=radeonsi", CONVERTER CONVERTED SINK},
    {"profile=radeonsi26", SOURCE SINK},
    {"profile=radeonsi26", CONVERTER CONVERTED SINK},
    {"profile=nouveau", SOURCE SINK},
    {"profile=nouveau", CONVERTER CONVERTED SINK},
};

GST_START_TEST(test_allocations_per_frame)
{
  const Row &row = kRows[__i__];
  set_driver(row.driver);
  Seen seen;
  Pipeline pipeline(row.launch);
  GstPad *pad = gst_element_get_static_pad(pipeline.get("src"), "src");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, count_frame, &seen, nullptr);
  gst_object_unref(pad);
  fail_unless(pipeline.play());
  const auto end = pipeline.wait_for_end();
  fail_unless(end == "eos", "%s: %s", row.driver, end.c_str());
  fail_unless_equals_uint64(seen.frames, 560);
  fail_unless(seen.at_start > 0, "the counter sees the streaming thread");
  std::printf("# %s, %s: %llu allocations in %llu frames\n", row.driver, row.launch,
              static_cast<unsigned long long>(seen.in_steady_state),
              static_cast<unsigned long long>(kFrames - kWarmUp));
  std::fflush(stdout);
  fail_unless(static_cast<double>(seen.in_steady_state) <= row.each * (kFrames - kWarmUp), "%s", row.driver);
}
GST_END_TEST

// What is left of a frame is let go of by somebody else: the surface comes back all the same, and none is made.
GstPadProbeReturn take_part(GstPad *, GstPadProbeInfo *info, gpointer user)
{
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER(info);
  GstBuffer *part = GPOINTER_TO_INT(user) == 0 ? gst_buffer_copy(buffer) // shallow
                                               : gst_buffer_copy_region(buffer, GST_BUFFER_COPY_MEMORY, 0, 64);
  GST_PAD_PROBE_INFO_DATA(info) = part;
  gst_buffer_unref(buffer); // before the part
  return GST_PAD_PROBE_OK;
}

const Row kParts[] = {
    {"formats=NV12", SOURCE SINK},
    {"formats=NV12,objects=2", SOURCE SINK},
    {"formats=NV12:BGRX", CONVERTER CONVERTED SINK},
    {"formats=BGRX,async=1,fences=0", CONVERTER CONVERTED SINK},
};

GST_START_TEST(test_parts_that_outlive_their_buffer)
{
  const Row &row = kParts[__i__ / 2];
  const Counters counters;
  set_driver(std::string(row.driver) + "," + counters.setting());
  Pipeline pipeline(row.launch);
  g_object_set(pipeline.get("src"), "num-surfaces", 2, nullptr);
  GstPad *pad = gst_element_get_static_pad(pipeline.get("held"), "sink");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, take_part, GINT_TO_POINTER(__i__ % 2), nullptr);
  gst_object_unref(pad);
  fail_unless(pipeline.play());
  const auto end = pipeline.wait_for_end();
  fail_unless(end == "eos", "%s: %s", row.driver, end.c_str());
  fail_unless_equals_uint64(pipeline.stat("frames"), 560);
  // not one for each frame
  fail_unless(counters[vadriver::Counter::Create] < 100, "%d surfaces", static_cast<int>(counters[vadriver::Counter::Create]));
}
GST_END_TEST

Suite *va_allocations_suite()
{
  Suite *suite = suite_create("vadmabufsrc allocations");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 200);
  tcase_add_loop_test(tcase, test_allocations_per_frame, 0, G_N_ELEMENTS(kRows));
  tcase_add_loop_test(tcase, test_parts_that_outlive_their_buffer, 0, 2 * G_N_ELEMENTS(kParts));
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
