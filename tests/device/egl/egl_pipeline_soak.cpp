// SPDX-License-Identifier: LGPL-2.1-or-later
// What grows: nothing, over many negotiations and over many frames; two pipelines at a time.
#include <algorithm>
#include <cstdlib>
#include <fstream>

#include <drm_fourcc.h>

#include "egl_pipeline.hpp"
#include "egl_refusing.hpp"
#include "support/gl_objects.hpp"
#include "support/open_fds.hpp"

namespace gstdrm::test {
namespace {

// What a leak would add to.
struct Held {
  unsigned fds = count_fds();
  int images = live_images();
  int objects = live_gl_objects();
  unsigned pages = resident_pages();

  static unsigned resident_pages()
  {
#ifdef __SANITIZE_ADDRESS__
    return 0; // ASan keeps what was freed, and finds leaks itself
#else
    std::ifstream file("/proc/self/statm");
    unsigned total = 0;
    unsigned resident = 0;
    fail_unless(static_cast<bool>(file >> total >> resident));
    return resident;
#endif
  }
};

// Frames on their way, and the cache's last imports, differ by a few.
void check_growth(const Held &before, unsigned events)
{
  const Held now;
  g_print("# %u more: %u descriptors, %d images, %d objects of GL, %u pages; before %u, %d, %d, "
          "%u\n",
          events, now.fds, now.images, now.objects, now.pages, before.fds, before.images,
          before.objects, before.pages);
  fail_unless(now.fds <= before.fds + 12);
  fail_unless(now.images <= before.images + 8);
  fail_unless(now.objects <= before.objects + 16, "a texture, and a framebuffer or none, of each");
  fail_unless(now.pages < before.pages + std::max(events / 2, 200U), "half a page for each");
}

struct Kind {
  std::uint32_t fourcc;
  const char *drm_format;
};
constexpr Kind kKinds[] = {{DRM_FORMAT_XRGB8888, "XR24"},
                           {DRM_FORMAT_NV12, "NV12"},
                           {DRM_FORMAT_ABGR8888, "AB24"},
                           {DRM_FORMAT_P010, "P010"}};

// Fewer by default, as each takes the box some 20 ms.
unsigned soak(const char *name, unsigned by_default)
{
  const char *text = std::getenv(name);
  return text ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : by_default;
}

} // namespace

// Another size and format with each frame, and a new dma-buf, which the driver proves and imports.
// The one modifier of llvmpipe is LINEAR.
GST_START_TEST(test_many_negotiations)
{
  const bool imports = imports_here();
  EglPipeline stream(std::string("appsrc name=in format=time ! egldmabufupload name=u ") +
                     (imports ? "zero-copy=require" : "mode=copy") +
                     " ! appsink name=out sync=false");
  stream.play();
  const auto send = [&stream](unsigned i) {
    const Kind &kind = kKinds[i % G_N_ELEMENTS(kKinds)];
    const int width = 16 + 2 * static_cast<int>(i % 13);
    const int height = 16 + 2 * static_cast<int>(i % 17);
    const PatternFrame frame(GST_DRM_ALLOCATOR_KIND_UDMABUF, kind.fourcc,
                             static_cast<unsigned>(width), static_cast<unsigned>(height), {});
    (void)stream.pass(frame, dma_drm_caps(kind.drm_format, width, height));
  };
  const unsigned count = soak("GST_DRM_SOAK_NEGOTIATIONS", 500);
  for (unsigned i = 0; i < 300; i++) // the element remembers 256 proofs
    send(i);
  const Held before;
  for (unsigned i = 300; i < count; i++)
    send(i);
  check_growth(before, count - 300);
  fail_unless_equals_uint64(stream.stat("frames"), count);
  fail_unless_equals_uint64(stream.stat(imports ? "imports" : "copies"), count);
}
GST_END_TEST

namespace {

// What is held once the GL thread has ended, which it does on its own.
Held held_in_the_end(const Held &wanted)
{
  constexpr int kTries = 20000;
  Held now;
  for (int i = 0; i < kTries && (now.fds > wanted.fds || now.images > wanted.images ||
                                 now.objects > wanted.objects);
       i++) {
    g_usleep(1000);
    now = Held();
  }
  return now;
}

// Into GL and out of it, with other caps on both sides for each frame: the sizes and formats of the
// frames, and the format of what is drawn.
void renegotiate(unsigned count)
{
  EglPipeline stream("appsrc name=in format=time ! egldmabufupload name=u ! "
                     "video/x-raw(memory:GLMemory),format=RGBA ! "
                     "egldmabufdownload name=d ! capsfilter name=filter ! "
                     "appsink name=out sync=false");
  stream.play();
  for (unsigned i = 0; i < count; i++) {
    const Kind &kind = kKinds[i % G_N_ELEMENTS(kKinds)];
    const int width = 32 + 16 * static_cast<int>(i % 3);
    const auto made = GstPtr<GstCaps>::adopt(gst_caps_from_string(
        i / 2 % 2 ? "video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=(string)NV12"
                  : "video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=(string)XR24"));
    g_object_set(stream.element("filter").get(), "caps", made.get(), nullptr);
    const PatternFrame frame(GST_DRM_ALLOCATOR_KIND_UDMABUF, kind.fourcc,
                             static_cast<unsigned>(width), 32, {.stride_align = 16});
    const auto sample = stream.pass(frame, dma_drm_caps(kind.drm_format, width, 32));
    fail_unless(gst_caps_is_subset(gst_sample_get_caps(sample.get()), made.get()));
  }
  for (const char *name : {"u", "d"})
    fail_unless_equals_uint64(stream.stat("frames", name), count);
  for (const char *name : {"u", "d"})
    fail_unless(stream.stat("copies", name) == 0, "%s: %s", name, stream.notices().c_str());
}

} // namespace

// Nothing is left of many negotiations but what a few leave.
GST_START_TEST(test_renegotiations_of_both)
{
  if (!imports_here())
    return;
  const Held none;
  renegotiate(12); // descriptors may stay for as long as the process does
  const Held before = held_in_the_end({G_MAXUINT, none.images, none.objects, 0});
  renegotiate(soak("GST_DRM_SOAK_RENEGOTIATIONS", 24));
  constexpr unsigned kOfThreads = 12; // descriptors, which come and go
  const Held after = held_in_the_end({before.fds + kOfThreads, none.images, none.objects, 0});
  g_print("# %u descriptors, %d images, %d objects of GL; before %u, %d, %d\n", after.fds,
          after.images, after.objects, before.fds, before.images, before.objects);
  fail_unless(after.fds <= before.fds + kOfThreads);
  fail_unless(after.images <= none.images && after.objects <= none.objects);
}
GST_END_TEST

namespace {

struct Milestone {
  unsigned frames = 0;
  unsigned first = 0; // after so many the rest must cost nothing
  Held held;
};

GstPadProbeReturn count_frame(GstPad *, GstPadProbeInfo *, gpointer data) noexcept
{
  auto &milestone = *static_cast<Milestone *>(data);
  if (++milestone.frames == milestone.first)
    milestone.held = Held();
  return GST_PAD_PROBE_OK;
}

std::string both_elements(unsigned frames)
{
  return "videotestsrc pattern=black num-buffers=" + std::to_string(frames) +
         " ! video/x-raw,format=BGRx,width=16,height=16 ! dmabufupload ! "
         "video/x-raw(memory:DMABuf),format=DMA_DRM ! egldmabufupload name=u ! "
         "video/x-raw(memory:GLMemory),format=RGBA ! egldmabufdownload name=d ! "
         "video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=(string)XR24 ! "
         "fakesink name=sink sync=false";
}

} // namespace

// Into GL and out of it, frame after frame; two such streams at a time share the display.
GST_START_TEST(test_many_frames)
{
  const unsigned frames = soak("GST_DRM_SOAK_FRAMES", 2000);
  const EglPipeline stream(both_elements(frames));
  const EglPipeline other(both_elements(frames / 10));
  static Milestone milestone; // the probe's, also beyond a case that fails
  milestone = {};
  milestone.first = frames / 5; // the other one is over by then, or nearly
  const auto pad =
      GstPtr<GstPad>::adopt(gst_element_get_static_pad(stream.element("sink").get(), "sink"));
  gst_pad_add_probe(pad.get(), GST_PAD_PROBE_TYPE_BUFFER, count_frame, &milestone, nullptr);
  gst_element_set_state(other.bin(), GST_STATE_PLAYING);
  gst_element_set_state(stream.bin(), GST_STATE_PLAYING);
  const GstClockTime limit = 60 * GST_SECOND + frames * GST_SECOND / 10;
  other.play_to_end(limit);
  stream.play_to_end(limit);
  fail_unless_equals_int(milestone.frames, frames);
  check_growth(milestone.held, frames - milestone.first);
  for (const char *name : {"u", "d"}) {
    fail_unless_equals_uint64(stream.stat("frames", name), frames);
    fail_unless_equals_uint64(other.stat("frames", name), frames / 10);
    fail_unless_equals_uint64(stream.stat("copies", name), imports_here() ? 0 : frames);
    fail_unless(stream.stat("imports", name) <= 16);
  }
}
GST_END_TEST

void add_soak(Suite *suite)
{
  TCase *tcase = add_case(suite, "soak");
  tcase_add_checked_fixture(
      tcase,
      [] {
        (void)imports_here(); // makes the first context
        fail_unless(count_gl_objects());
      },
      nullptr);
  tcase_set_timeout(tcase, 3600);
  tcase_add_test(tcase, test_many_negotiations);
  tcase_add_test(tcase, test_renegotiations_of_both);
  tcase_add_test(tcase, test_many_frames);
}

} // namespace gstdrm::test
