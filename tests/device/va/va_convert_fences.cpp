// SPDX-License-Identifier: LGPL-2.1-or-later
// vadmabufconvert reads no frame before its producer is done, by whichever fence the producer says
// so. The test driver waits for nobody who writes into a source, as amdgpu does not where a buffer
// was made for explicit synchronisation (docs/elements/vadmabufconvert.md): the wait has to be the
// element's.
#include <cstring>

#include <sys/mman.h>

#include "support/unfinished_frames.hpp"
#include "va_support.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

const std::string kPlain = plain_caps("BGRx", 64, 48);
const std::string kCaps = dmabuf_caps("XR24", 64, 48);
const std::string kOut = dmabuf_caps("XR24", 128, 96);

constexpr Kind kKinds[] = {Kind::Acquire, Kind::Implicit};

const char *const kDrivers[] = {
    "formats=NV12:BGRX",
    "formats=NV12:BGRX,async=5",
    "formats=NV12:BGRX,async=5,fences=0",
    "profile=ihd",
    "profile=i965,async=5",
    "profile=radeonsi",
    "profile=radeonsi26,async=5",
    "profile=nouveau,async=5",
};

void prepare(const Harness &h)
{
  gst_harness_set_sink_caps_str(h.get(), kOut.c_str());
  fail_unless(h.negotiate(kCaps), "%s", h.last_error().c_str());
}

// The memory of a frame, which its producer writes without asking for the fences that are its own.
class Pixels {
public:
  explicit Pixels(GstBuffer *buffer)
      : bytes_(gst_buffer_get_size(buffer)),
        data_(::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf_fd(buffer), 0))
  {
    fail_unless(data_ != MAP_FAILED);
  }
  Pixels(const Pixels &) = delete;
  Pixels &operator=(const Pixels &) = delete;
  ~Pixels() { ::munmap(data_, bytes_); }
  void fill(int value) const { std::memset(data_, value, bytes_); }

private:
  gsize bytes_;
  void *data_;
};

// How many bytes of colour of the converted frame are not `value`.
std::size_t others_than(const GstPtr<GstBuffer> &out, std::uint8_t value)
{
  const auto sample =
      GstPtr<GstSample>::adopt(gst_sample_new(out.get(), caps_of(kOut).get(), nullptr, nullptr));
  const Frame frame = read_frame(sample.get());
  std::size_t others = 0;
  for (std::size_t i = 0; i < frame.planes[0].size(); ++i)
    others += i % 4 != 3 && frame.planes[0][i] != value ? 1 : 0;
  return others;
}

GST_START_TEST(test_waits)
{
  const char *driver = kDrivers[static_cast<std::size_t>(__i__) / G_N_ELEMENTS(kKinds)];
  set_driver(driver);
  const Harness h("vadmabufconvert");
  prepare(h);
  for (const std::uint8_t value : {0xff, 0x00}) { // the second one is of buffers that are there
    Timeline timeline;
    GstBuffer *buffer = unfinished_frame(
        timeline, kPlain, kKinds[static_cast<std::size_t>(__i__) % G_N_ELEMENTS(kKinds)]);
    const Pixels pixels(buffer);
    pixels.fill(0x40);
    const Device device(timeline, [&] { pixels.fill(value); });
    const auto out = h.push(buffer);
    fail_unless(device.done(), "%s: the frame went on before its producer was done", driver);
    const auto others = others_than(out, value);
    fail_unless(others == 0, "%s: %u bytes are from before the producer was done", driver,
                static_cast<unsigned>(others));
  }
  fail_unless(h.stat("waits") >= 2);
}
GST_END_TEST

// What is over already, well or badly, is converted at once.
GST_START_TEST(test_finished)
{
  set_driver(kDrivers[0]);
  const Harness h("vadmabufconvert");
  prepare(h);
  check_finished(h, kPlain, kKinds[__i__ % 2], __i__ < 2 ? End::Done : End::Failed);
}
GST_END_TEST

// A producer that is never done: an error that says how long was waited, and the driver has drawn
// nothing.
GST_START_TEST(test_hang)
{
  const Counters counters;
  set_driver(std::string(kDrivers[0]) + "," + counters.setting());
  const Harness h("vadmabufconvert");
  prepare(h);
  const auto drawn = counters[vadriver::Counter::End];
  Timeline timeline;
  fail_unless_equals_int(
      gst_harness_push(h.get(), unfinished_frame(timeline, kPlain, kKinds[__i__])), GST_FLOW_ERROR);
  CHECK_ONE_MESSAGE(h.messages(GST_MESSAGE_ERROR), "5000 ms");
  fail_unless_equals_uint64(counters[vadriver::Counter::End], drawn);
}
GST_END_TEST

GST_START_TEST(test_interrupted)
{
  set_driver(kDrivers[0]);
  const Harness h("vadmabufconvert");
  prepare(h);
  check_interrupted(h, kPlain, kKinds[__i__ % 2], __i__ < 2 ? Interruption::Flush : Interruption::Null);
}
GST_END_TEST

Suite *va_convert_fences_suite()
{
  Suite *suite = suite_create("va_convert_fences");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 200);
  tcase_add_loop_test(tcase, test_waits, 0, G_N_ELEMENTS(kDrivers) * G_N_ELEMENTS(kKinds));
  tcase_add_loop_test(tcase, test_finished, 0, 4);
  tcase_add_loop_test(tcase, test_hang, 0, 2);
  tcase_add_loop_test(tcase, test_interrupted, 0, 4);
  return suite;
}

} // namespace

GST_DRM_VA_CHECK_MAIN(va_convert_fences)
