// SPDX-License-Identifier: LGPL-2.1-or-later
// What the elements keep of the dma-bufs that they have imported: as long as the memory is alive,
// and no more than there is room for.
#include <memory>
#include <vector>

#include <drm_fourcc.h>

#include <gst/app/gstappsrc.h>
#include <gst/video/video.h>

#include "egl_pipeline.hpp"
#include "egl_refusing.hpp"

namespace gstdrm::test {
namespace {

constexpr unsigned kWidth = 64;
constexpr unsigned kHeight = 48;
constexpr int kFrames = 100;
// ImportBounds (core/import_cache.hpp), and what is under way
constexpr int kKeptDead = 32 + 4;
constexpr int kKeptOfOne = 64 + 4;
constexpr unsigned kMany = 40; // more than are kept without being alive

std::string xr24()
{
  return dma_drm_caps("XR24", kWidth, kHeight);
}

std::unique_ptr<PatternFrame> new_picture(unsigned height = kHeight)
{
  auto made = std::make_unique<PatternFrame>(GST_DRM_ALLOCATOR_KIND_UDMABUF, DRM_FORMAT_XRGB8888,
                                             kWidth, height, Placement{});
  made->fill(1);
  return made;
}

// The GL thread ends them when it comes to it.
void check_images(int most)
{
  for (int tenths = 0; live_images() > most; tenths++) {
    fail_unless(tenths < 20000, "%d images instead of %d", live_images(), most);
    g_usleep(100);
  }
}

} // namespace

// A producer that allocates each frame.
GST_START_TEST(test_memory_that_dies)
{
  if (!imports_here())
    return;
  EglPipeline stream(through("zero-copy=require", "RGBA", "RGBA"));
  stream.play();
  const int before = live_images();
  for (int i = 0; i < kFrames; i++)
    (void)stream.pass(*new_picture(), xr24());
  check_images(before + kKeptDead);
  fail_unless_equals_uint64(stream.stat("imports"), kFrames);
}
GST_END_TEST

namespace {

// Sends frames of a pool that is gone when this returns.
void pass_pool(EglPipeline &stream, unsigned height)
{
  std::vector<std::unique_ptr<PatternFrame>> pool;
  for (int i = 0; i < 8; i++)
    pool.push_back(new_picture(height));
  for (const auto &frame : pool)
    (void)stream.pass(*frame, dma_drm_caps("XR24", kWidth, static_cast<int>(height)));
}

enum class Letting { Drain, Flush, Caps };
struct LettingRow {
  const char *name;
  Letting by;
};
constexpr LettingRow kLetting[] = {
    {"DRAIN query", Letting::Drain}, {"flush", Letting::Flush}, {"new caps", Letting::Caps}};

} // namespace

// Upstream's pool is gone: its memory must not live on until other frames have come.
GST_START_TEST(test_memory_of_an_old_pool)
{
  if (!imports_here())
    return;
  EglPipeline stream(
      "appsrc name=in format=time ! egldmabufupload name=u zero-copy=require ! "
      "video/x-raw(memory:GLMemory),format=RGBA ! gldownload ! "
      "video/x-raw,format=RGBA ! appsink name=out sync=false enable-last-sample=false");
  stream.play();
  const int before = live_images();
  pass_pool(stream, kHeight);
  fail_unless(live_images() >= before + 8);
  const auto pad =
      GstPtr<GstPad>::adopt(gst_element_get_static_pad(stream.element("u").get(), "sink"));
  switch (kLetting[__i__].by) {
  case Letting::Drain: {
    const auto query = GstPtr<GstQuery>::adopt(gst_query_new_drain());
    (void)gst_pad_query(pad.get(), query.get());
    check_images(before + 1); // the last one, which appsink keeps
    break;
  }
  case Letting::Flush:
    (void)gst_pad_send_event(pad.get(), gst_event_new_flush_start());
    (void)gst_pad_send_event(pad.get(), gst_event_new_flush_stop(FALSE));
    check_images(before + 1); // the last one, which appsink keeps
    break;
  case Letting::Caps:
    pass_pool(stream, kHeight / 2);
    check_images(before + 8); // of the new caps
    break;
  }
}
GST_END_TEST

struct SampledRow {
  std::uint32_t fourcc;
  const char *drm_format;
  const char *behind;
  double limit = 1;
};

// P010: see the imports of egl_pipeline.
constexpr SampledRow kSampled[] = {
    {DRM_FORMAT_XRGB8888, "XR24", ""},
    {DRM_FORMAT_XRGB8888, "XR24", "glcolorconvert ! gleffects_identity ! "},
    {DRM_FORMAT_NV12, "NV12", ""},      // drawn into RGBA
    {DRM_FORMAT_P010, "P010", "", 2.8}, // too
};

// Drivers whose GPU cannot sample linear memory sample a copy of it: every frame that goes round is
// shown as it is now.
GST_START_TEST(test_sampled_copies)
{
  if (!imports_here())
    return;
  sample_copies(true);
  const SampledRow &row = kSampled[__i__];
  PatternFrame frames[] = {{GST_DRM_ALLOCATOR_KIND_UDMABUF, row.fourcc, kWidth, kHeight, {}},
                           {GST_DRM_ALLOCATOR_KIND_UDMABUF, row.fourcc, kWidth, kHeight, {}}};
  EglPipeline stream("appsrc name=in format=time ! egldmabufupload name=u zero-copy=require ! "
                     "video/x-raw(memory:GLMemory),format=RGBA,texture-target=2D ! " +
                     std::string(row.behind) +
                     "gldownload ! video/x-raw,format=RGBA ! appsink name=out sync=false");
  stream.play();
  int stale = 0;
  for (unsigned i = 0; i < 40; i++) {
    PatternFrame &frame = frames[i % 2];
    frame.fill(i);
    const auto sample = stream.pass(
        frame, dma_drm_caps(row.drm_format, kWidth, kHeight, ",colorimetry=(string)2:4:0:0"));
    stale += rgba_distance(sample.get(), frame, YuvMatrix{}) <= row.limit ? 0 : 1;
  }
  fail_unless(stale == 0, "%d of 40 frames show old pixels", stale);
}
GST_END_TEST

// A pool that is larger than what is kept of memory that has died.
GST_START_TEST(test_large_pool)
{
  if (!imports_here())
    return;
  std::vector<std::unique_ptr<PatternFrame>> pool;
  for (unsigned i = 0; i < kMany; i++)
    pool.push_back(new_picture());
  EglPipeline stream(through("zero-copy=require", "RGBA", "RGBA"));
  stream.play();
  for (int round = 0; round < 2; round++)
    for (const auto &frame : pool)
      (void)stream.pass(*frame, xr24());
  fail_unless_equals_uint64(stream.stat("imports"), kMany);
  fail_unless_equals_uint64(stream.stat("import-hits"), kMany);
}
GST_END_TEST

// A picture that moves within its buffer: each place is another import, of memory that lives on.
GST_START_TEST(test_moving_picture)
{
  if (!imports_here())
    return;
  const auto large = new_picture(kHeight + kFrames);
  EglPipeline stream("appsrc name=in format=time caps=\"" + xr24() +
                     "\" ! egldmabufupload name=u zero-copy=require ! "
                     "video/x-raw(memory:GLMemory),format=RGBA ! gldownload ! "
                     "video/x-raw,format=RGBA ! appsink name=out sync=false");
  stream.play();
  const int before = live_images();
  for (int i = 0; i < kFrames; i++) {
    const GstPtr<GstBuffer> buffer = large->buffer();
    GstVideoMeta *meta = gst_buffer_get_video_meta(buffer.get());
    meta->height = kHeight;
    meta->offset[0] += static_cast<gsize>(i) * static_cast<gsize>(meta->stride[0]);
    (void)gst_app_src_push_buffer(GST_APP_SRC(stream.element("in").get()),
                                  gst_buffer_ref(buffer.get()));
    fail_unless(stream.pull(), "%s", stream.outcome().c_str());
  }
  fail_unless_equals_uint64(stream.stat("imports"), kFrames);
  check_images(before + kKeptOfOne);
}
GST_END_TEST

// An application keeps many frames of egldmabufdownload and gives them back: they are drawn into
// again, each through the import that it had.
GST_START_TEST(test_kept_targets)
{
  if (!imports_here())
    return;
  EglPipeline stream("gltestsrc ! video/x-raw(memory:GLMemory),format=RGBA,width=64,height=48 ! "
                     "egldmabufdownload name=d zero-copy=require ! "
                     "video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=XR24 ! "
                     "appsink name=out sync=false max-buffers=1");
  stream.play();
  std::vector<GstPtr<GstSample>> kept;
  for (unsigned i = 0; i < kMany; i++) {
    kept.push_back(stream.pull());
    fail_unless(kept.back(), "%s", stream.outcome().c_str());
  }
  kept.clear();
  for (unsigned i = 0; i < 2 * kMany; i++)
    fail_unless(stream.pull(), "%s", stream.outcome().c_str());
  // and one in appsink, one on its way there, one that is drawn
  const auto imports = static_cast<unsigned>(stream.stat("imports", "d"));
  fail_unless(imports >= kMany && imports <= kMany + 3, "%u imports", imports);
}
GST_END_TEST

void add_cache(Suite *suite)
{
  TCase *tcase = add_case(suite, "imports that are kept");
  tcase_add_test(tcase, test_memory_that_dies);
  tcase_add_loop_test(tcase, test_memory_of_an_old_pool, 0, G_N_ELEMENTS(kLetting));
  tcase_add_loop_test(tcase, test_sampled_copies, 0, G_N_ELEMENTS(kSampled));
  tcase_add_test(tcase, test_large_pool);
  tcase_add_test(tcase, test_moving_picture);
  tcase_add_test(tcase, test_kept_targets);
}

} // namespace gstdrm::test
