// SPDX-License-Identifier: LGPL-2.1-or-later
// vadmabufconvert and what comes with frames: crops, regions of interest, orientation tags, and the fences by
// which a producer learns that its frame was read.
#include <unistd.h>

#include <gst/app/gstappsrc.h>
#include <gst/video/video.h>

#include <gst/drm/element/pixel_copy.hpp>
#include <gst/drm/gstdrm-private.hpp>

#include "support/descriptors.hpp"
#include "va_convert_pixels.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

constexpr int kWidth = 96;
constexpr int kHeight = 112;

// A frame of vadmabufsrc, and its caps.
GstPtr<GstSample> make_frame(const std::string &fourcc)
{
  Pipeline maker("vadmabufsrc num-buffers=1 pattern=frame-counter ! " + dma_caps(fourcc, kWidth, kHeight) +
                 ",framerate=30/1,colorimetry=" + (fourcc[0] == 'X' ? "sRGB" : "bt601") + " ! appsink name=sink sync=false");
  fail_unless(maker.play(), "%s", maker.message(GST_MESSAGE_ERROR).c_str());
  auto sample = GstPtr<GstSample>::adopt(maker.pull());
  fail_unless(static_cast<bool>(sample), "%s", maker.message(GST_MESSAGE_ERROR).c_str());
  return sample;
}

std::string feeding(const std::string &properties, const std::string &out)
{
  return "appsrc name=src format=time is-live=false ! vadmabufconvert name=convert " + properties + " ! " + out +
         " ! appsink name=sink sync=false";
}

GstPtr<GstPad> pad_of(const Pipeline &pipeline, const char *element, const char *name)
{
  return GstPtr<GstPad>::adopt(gst_element_get_static_pad(pipeline.get(element), name));
}

void start(Pipeline &pipeline, const GstPtr<GstSample> &sample)
{
  g_object_set(pipeline.get("src"), "caps", gst_sample_get_caps(sample.get()), nullptr);
  fail_unless(pipeline.play(), "%s", pipeline.message(GST_MESSAGE_ERROR).c_str());
}

GstPtr<GstBuffer> copy_of(const GstPtr<GstSample> &sample)
{
  return GstPtr<GstBuffer>::adopt(gst_buffer_copy(gst_sample_get_buffer(sample.get())));
}

GstPtr<GstSample> convert(Pipeline &pipeline, GstPtr<GstBuffer> buffer)
{
  fail_unless_equals_int(gst_app_src_push_buffer(GST_APP_SRC(pipeline.get("src")), buffer.release()), GST_FLOW_OK);
  auto sample = GstPtr<GstSample>::adopt(pipeline.pull());
  fail_unless(static_cast<bool>(sample), "%s", pipeline.message(GST_MESSAGE_ERROR).c_str());
  return sample;
}

struct DriverRow {
  const char *driver;
  const char *in;
};
const DriverRow kDrivers[] = {
    {"formats=NV12:BGRX", "NV12"},
    {"formats=NV12:BGRX", "XR24"},
    {"profile=ihd", "NV12:0x0100000000000002"},
    {"profile=i965", "NV12:0x0100000000000002"},
    {"profile=radeonsi", "NV12"},
    {"profile=radeonsi26", "NV12:0x0200000018801b03"},
    {"profile=nouveau", "P010"},
};

// ---- crops

struct CropRow {
  guint x, y, width, height;
};
const CropRow kCrops[] = {{0, 0, 96, 112}, {0, 0, 48, 56}, {48, 56, 48, 56}, {16, 8, 64, 32}, {2, 2, 2, 2}, {94, 110, 2, 2}};

GST_START_TEST(test_crop)
{
  const auto &driver = kDrivers[static_cast<std::size_t>(__i__) / G_N_ELEMENTS(kCrops)];
  const auto &crop = kCrops[static_cast<std::size_t>(__i__) % G_N_ELEMENTS(kCrops)];
  set_driver(driver.driver);
  const auto sample = make_frame(driver.in);
  const auto from = read_frame(sample.get());
  Pipeline pipeline(feeding("add-borders=false", dma_caps("XR24", 192, 224)));
  start(pipeline, sample);
  auto buffer = copy_of(sample);
  GstVideoCropMeta *meta = gst_buffer_add_video_crop_meta(buffer.get());
  meta->x = crop.x;
  meta->y = crop.y;
  meta->width = crop.width;
  meta->height = crop.height;
  const auto made = convert(pipeline, std::move(buffer));
  fail_unless(gst_buffer_get_video_crop_meta(gst_sample_get_buffer(made.get())) == nullptr, "the crop is done");
  Expected expected;
  expected.part_x = crop.x;
  expected.part_y = crop.y;
  expected.part_width = crop.width;
  expected.part_height = crop.height;
  compare_pixels(std::string(driver.driver) + " crop", from, read_frame(made.get()), expected, 3.5);
  // the next frame has none
  compare_pixels(std::string(driver.driver) + " whole", from, read_frame(convert(pipeline, copy_of(sample)).get()), {}, 3.5);
}
GST_END_TEST

// Plain frames, which the element copies into dma-bufs.
GST_START_TEST(test_crop_in_system_memory)
{
  const auto &crop = kCrops[__i__];
  set_driver("formats=NV12:BGRX");
  const auto sample = make_frame("XR24");
  const auto from = read_frame(sample.get());
  const auto caps = GstPtr<GstCaps>::adopt(gst_caps_from_string(
      ("video/x-raw,format=BGRx,framerate=30/1,width=" + std::to_string(kWidth) + ",height=" + std::to_string(kHeight)).c_str()));
  const auto buffer = GstPtr<GstBuffer>::adopt(gst_buffer_copy_deep(gst_sample_get_buffer(sample.get())));
  GstVideoCropMeta *meta = gst_buffer_add_video_crop_meta(buffer.get());
  meta->x = crop.x;
  meta->y = crop.y;
  meta->width = crop.width;
  meta->height = crop.height;
  const auto plain = GstPtr<GstSample>::adopt(gst_sample_new(buffer.get(), caps.get(), nullptr, nullptr));
  Pipeline pipeline(feeding("add-borders=false", dma_caps("XR24", 192, 224)));
  start(pipeline, plain);
  const auto made = convert(pipeline, copy_of(plain));
  Expected expected;
  expected.part_x = crop.x;
  expected.part_y = crop.y;
  expected.part_width = crop.width;
  expected.part_height = crop.height;
  compare_pixels("crop in system memory", from, read_frame(made.get()), expected, 3.5);
}
GST_END_TEST

// As videocrop of GStreamer 1.26 sends them: caps of the part, a frame of the whole, and the corner within a chroma block.
GST_START_TEST(test_odd_corner_in_system_memory)
{
  set_driver("formats=NV12:BGRX");
  const auto sample = make_frame("NV12");
  GstVideoInfo info;
  gst_video_info_set_format(&info, GST_VIDEO_FORMAT_NV12, 48, 56);
  info.fps_n = 30;
  const auto caps = GstPtr<GstCaps>::adopt(gst_video_info_to_caps(&info));
  const auto padded = GstPtr<GstBuffer>::adopt(gst_buffer_copy_deep(gst_sample_get_buffer(sample.get())));
  GstVideoCropMeta *meta = gst_buffer_add_video_crop_meta(padded.get());
  meta->x = 5;
  meta->y = 7;
  meta->width = 48;
  meta->height = 56;
  auto part = gstdrm::visible_picture(padded.get(), info);
  fail_unless(static_cast<bool>(part), "%s", part ? "" : part.error().message.c_str());
  const auto plain = GstPtr<GstSample>::adopt(gst_sample_new(padded.get(), caps.get(), nullptr, nullptr));
  Pipeline pipeline(feeding("add-borders=false", dma_caps("XR24", 48, 56)));
  start(pipeline, plain);
  const auto cropped = read_frame(convert(pipeline, copy_of(plain)).get());
  compare_pixels("odd corner in system memory", read_frame(convert(pipeline, std::move(*part)).get()), cropped, {}, 0);
}
GST_END_TEST

// ---- regions of interest

struct RegionRow {
  const char *properties;
  int width;
  int height;
  bool crops;
  bool kept;
  guint x, y, w, h; // of 8,16 24x32
};
const RegionRow kRegions[] = {
    {"", kWidth, kHeight, false, true, 8, 16, 24, 32},
    {"", 192, 224, false, true, 16, 32, 48, 64},
    {"", 48, 56, false, true, 4, 8, 12, 16},
    {"add-borders=false", 192, 112, false, true, 16, 16, 48, 32},
    {"", 192, 112, false, false, 0, 0, 0, 0}, // borders
    {"video-direction=180", kWidth, kHeight, false, false, 0, 0, 0, 0},
    {"add-borders=false", 192, 224, true, false, 0, 0, 0, 0},
};

GST_START_TEST(test_regions)
{
  const auto &row = kRegions[__i__];
  set_driver("formats=NV12:BGRX");
  const auto sample = make_frame("NV12");
  Pipeline pipeline(feeding(row.properties, dma_caps("XR24", row.width, row.height) + ",pixel-aspect-ratio=1/1"));
  start(pipeline, sample);
  auto buffer = copy_of(sample);
  auto *region = gst_buffer_add_video_region_of_interest_meta(buffer.get(), "face", 8, 16, 24, 32);
  region->id = 7;
  gst_video_region_of_interest_meta_add_param(region, gst_structure_new("detection", "confidence", G_TYPE_DOUBLE, 0.5, nullptr));
  if (row.crops)
    gst_buffer_add_video_crop_meta(buffer.get())->width = 48, gst_buffer_get_video_crop_meta(buffer.get())->height = 56;
  const auto made = convert(pipeline, std::move(buffer));
  const auto *got = reinterpret_cast<GstVideoRegionOfInterestMeta *>(
      gst_buffer_get_meta(gst_sample_get_buffer(made.get()), GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE));
  fail_unless((got != nullptr) == row.kept, "%s %dx%d", row.properties, row.width, row.height);
  if (!got)
    return;
  fail_unless(got->x == row.x && got->y == row.y && got->w == row.w && got->h == row.h, "%u,%u %ux%u", got->x, got->y, got->w, got->h);
  fail_unless_equals_string(g_quark_to_string(got->roi_type), "face");
  fail_unless_equals_int(got->id, 7);
  fail_unless(gst_video_region_of_interest_meta_get_param(const_cast<GstVideoRegionOfInterestMeta *>(got), "detection") != nullptr);
}
GST_END_TEST

// ---- video-direction=auto

struct TagRow {
  const char *tag; // nullptr: none
  Expected expected;
};
const TagRow kTags[] = {
    {nullptr, {}},
    {"rotate-0", {}},
    {"rotate-90", {.quarter_turns = 1}},
    {"rotate-180", {.quarter_turns = 2}},
    {"rotate-270", {.quarter_turns = 3}},
    {"flip-rotate-0", {.mirror_x = true}},
    {"flip-rotate-180", {.mirror_y = true}},
};

GstEvent *tag_event(const char *orientation)
{
  return gst_event_new_tag(gst_tag_list_new(GST_TAG_IMAGE_ORIENTATION, orientation, GST_TAG_TITLE, "clip", nullptr));
}

GstPadProbeReturn count_orientations(GstPad *, GstPadProbeInfo *info, gpointer data) noexcept
{
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);
  if (GST_EVENT_TYPE(event) != GST_EVENT_TAG)
    return GST_PAD_PROBE_OK;
  GstTagList *tags = nullptr;
  gst_event_parse_tag(event, &tags);
  auto *seen = static_cast<std::vector<std::string> *>(data);
  gchar *orientation = nullptr;
  gchar *title = nullptr;
  if (gst_tag_list_get_string(tags, GST_TAG_IMAGE_ORIENTATION, &orientation))
    seen->emplace_back(orientation);
  if (gst_tag_list_get_string(tags, GST_TAG_TITLE, &title))
    seen->emplace_back(title);
  g_free(orientation);
  g_free(title);
  return GST_PAD_PROBE_OK;
}

GST_START_TEST(test_orientation_tags)
{
  const auto &row = kTags[static_cast<std::size_t>(__i__) % G_N_ELEMENTS(kTags)];
  const bool follows = static_cast<std::size_t>(__i__) < G_N_ELEMENTS(kTags);
  set_driver("formats=BGRX");
  const auto sample = make_frame("XR24");
  const auto from = read_frame(sample.get());
  Pipeline pipeline(feeding(follows ? "video-direction=auto" : "", "video/x-raw(memory:DMABuf)"));
  std::vector<std::string> passed; // the streaming thread's until the frame has come
  gst_pad_add_probe(pad_of(pipeline, "convert", "src").get(), GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, count_orientations, &passed, nullptr);
  start(pipeline, sample);
  const auto first = convert(pipeline, copy_of(sample));
  compare_pixels("before the tag", from, read_frame(first.get()), {}, 0);
  if (row.tag)
    fail_unless(gst_element_send_event(pipeline.get("src"), tag_event(row.tag)));
  const auto turned = convert(pipeline, copy_of(sample));
  const auto name = std::string(row.tag ? row.tag : "no tag") + (follows ? "" : ", identity");
  compare_pixels(name, from, read_frame(turned.get()), follows ? row.expected : Expected{}, 0);
  // what was done here must not be done again downstream
  if (row.tag)
    fail_unless(passed == (follows ? std::vector<std::string>{"clip"} : std::vector<std::string>{row.tag, "clip"}),
                "%s: %u tags", name.c_str(), static_cast<unsigned>(passed.size()));
  if (!follows || !row.tag)
    return;
  // and back
  fail_unless(gst_element_send_event(pipeline.get("src"), tag_event("rotate-0")));
  compare_pixels(name + " and back", from, read_frame(convert(pipeline, copy_of(sample)).get()), {}, 0);
}
GST_END_TEST

// ---- the producer does not write before the read is over

struct FenceRow {
  const char *driver;
  bool announced;
  bool fence; // on the buffer, when the converted frame leaves
};
const FenceRow kFences[] = {
    {"formats=NV12:BGRX,async=40", true, true},
    {"formats=NV12:BGRX,async=40", false, false},        // the buffer comes back later
    {"formats=NV12:BGRX,async=40,fences=0", true, false}, // a thread has waited
    {"formats=NV12:BGRX", true, false},                   // read at once
    {"profile=ihd,async=40", true, true},
    {"profile=i965,async=40", true, true},
    {"profile=nouveau,formats=P010:XRGB:BGRX,async=40", true, true},
};

GST_START_TEST(test_release_fence)
{
  const auto &row = kFences[__i__];
  set_driver(row.driver);
  const auto sample = make_frame("XR24");
  Pipeline pipeline(feeding("", dma_caps("XR24", 192, 224)));
  if (row.announced)
    fail_unless(gst_drm_pad_announce_release_fences(pad_of(pipeline, "src", "src").get()) != 0);
  start(pipeline, sample);
  auto buffer = copy_of(sample);
  if (!gst_buffer_get_drm_sync_meta(buffer.get()))
    gst_buffer_add_drm_sync_meta(buffer.get());
  GstPtr<GstBuffer> kept = GstPtr<GstBuffer>::share(buffer.get());
  const auto made = convert(pipeline, std::move(buffer));
  const int fence = gst_drm_sync_meta_dup_release_fence(gst_buffer_get_drm_sync_meta(kept.get()));
  fail_unless((fence >= 0) == row.fence, "%s", row.driver);
  if (fence < 0)
    return;
  // it signals no earlier than the frame that is drawn from it
  GstDrmFenceState state{};
  fail_unless(gst_drm_fence_wait(fence, 5 * GST_SECOND, &state, nullptr));
  const int drawn = gst_drm_sync_meta_dup_acquire_fence(gst_buffer_get_drm_sync_meta(gst_sample_get_buffer(made.get())));
  if (drawn >= 0) {
    fail_unless(gst_drm_fence_get_state(drawn, &state, nullptr));
    fail_unless_equals_int(state, GST_DRM_FENCE_STATE_SIGNALLED);
    ::close(drawn);
  }
  ::close(fence);
}
GST_END_TEST

// A frame that the next one is compared with is read until that one is drawn.
GST_START_TEST(test_release_fence_of_the_frame_before)
{
  set_driver("formats=NV12:BGRX,async=40,deinterlace=bob:adaptive");
  const auto sample = make_frame("XR24");
  Pipeline pipeline(feeding("deinterlace=adaptive", dma_caps("XR24", 192, 224) + ",interlace-mode=progressive"));
  fail_unless(gst_drm_pad_announce_release_fences(pad_of(pipeline, "src", "src").get()) != 0);
  const auto caps = GstPtr<GstCaps>::adopt(gst_caps_copy(gst_sample_get_caps(sample.get())));
  gst_caps_set_simple(caps.get(), "interlace-mode", G_TYPE_STRING, "interleaved", nullptr);
  g_object_set(pipeline.get("src"), "caps", caps.get(), nullptr);
  fail_unless(pipeline.play(), "%s", pipeline.message(GST_MESSAGE_ERROR).c_str());
  GstPtr<GstBuffer> frames[2];
  GstPtr<GstSample> made[2];
  for (int i = 0; i < 2; ++i) {
    frames[i] = copy_of(make_frame("XR24"));
    GST_BUFFER_FLAG_UNSET(frames[i].get(), GST_BUFFER_FLAG_DISCONT);
    if (!gst_buffer_get_drm_sync_meta(frames[i].get()))
      gst_buffer_add_drm_sync_meta(frames[i].get());
    made[i] = convert(pipeline, GstPtr<GstBuffer>::share(frames[i].get()));
  }
  const int fence = gst_drm_sync_meta_dup_release_fence(gst_buffer_get_drm_sync_meta(frames[0].get()));
  fail_unless(fence >= 0);
  GstDrmFenceState state{};
  fail_unless(gst_drm_fence_wait(fence, 5 * GST_SECOND, &state, nullptr));
  ::close(fence);
  const int drawn = gst_drm_sync_meta_dup_acquire_fence(gst_buffer_get_drm_sync_meta(gst_sample_get_buffer(made[1].get())));
  if (drawn < 0) // done, and forgotten
    return;
  fail_unless(gst_drm_fence_get_state(drawn, &state, nullptr));
  fail_unless_equals_int(state, GST_DRM_FENCE_STATE_SIGNALLED);
  ::close(drawn);
}
GST_END_TEST

// ---- a process that has no descriptors left

// Until the element lets the buffer go, and then until its release fence.
void wait_for_release(const GstPtr<GstBuffer> &kept)
{
  while (GST_MINI_OBJECT_REFCOUNT_VALUE(kept.get()) > 1)
    g_usleep(1000);
  const int fence = gst_drm_sync_meta_dup_release_fence(gst_buffer_get_drm_sync_meta(kept.get()));
  if (fence < 0)
    return;
  fail_unless(gst_drm_fence_wait(fence, 5 * GST_SECOND, nullptr, nullptr));
  ::close(fence);
}

bool is_drawn(const GstPtr<GstSample> &sample)
{
  GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(gst_sample_get_buffer(sample.get()));
  const int fence = meta ? gst_drm_sync_meta_dup_acquire_fence(meta) : -1;
  GstDrmFenceState state = GST_DRM_FENCE_STATE_SIGNALLED;
  if (fence >= 0)
    fail_unless(gst_drm_fence_get_state(fence, &state, nullptr));
  if (fence >= 0)
    ::close(fence);
  return state != GST_DRM_FENCE_STATE_PENDING;
}

// The last descriptor is taken at each step of a frame: the frame comes or an error says why not, and its producer gets
// nothing back that the device reads.
GST_START_TEST(test_no_descriptor_left)
{
  const bool announced = __i__ % 2 == 0;
  const bool looks_back = __i__ >= 2;
  int told = 0;
  int converted = 0;
  for (unsigned left = 0; left < 9; ++left) {
    const Counters counters;
    set_driver("formats=NV12:BGRX,async=40,deinterlace=bob:adaptive," + counters.setting());
    const auto sample = make_frame("XR24");
    (void)read_frame(sample.get()); // it is drawn
    Pipeline pipeline(feeding(looks_back ? "deinterlace=adaptive" : "", dma_caps("XR24", 192, 224) + ",interlace-mode=progressive"));
    if (announced)
      fail_unless(gst_drm_pad_announce_release_fences(pad_of(pipeline, "src", "src").get()) != 0);
    const auto caps = GstPtr<GstCaps>::adopt(gst_caps_copy(gst_sample_get_caps(sample.get())));
    if (looks_back)
      gst_caps_set_simple(caps.get(), "interlace-mode", G_TYPE_STRING, "interleaved", nullptr);
    g_object_set(pipeline.get("src"), "caps", caps.get(), nullptr);
    fail_unless(pipeline.play(), "%s", pipeline.message(GST_MESSAGE_ERROR).c_str());
    const auto frame = [&] {
      auto buffer = copy_of(sample);
      GST_BUFFER_FLAG_UNSET(buffer.get(), GST_BUFFER_FLAG_DISCONT);
      return buffer;
    };
    const auto first = convert(pipeline, frame());
    (void)read_frame(first.get());
    const auto kept = frame();
    const auto drawings = counters[vadriver::Counter::End];
    const auto syncs = counters[vadriver::Counter::Sync];
    GstPtr<GstSample> made;
    {
      const FewDescriptors few(left);
      fail_unless_equals_int(gst_app_src_push_buffer(GST_APP_SRC(pipeline.get("src")), gst_buffer_ref(kept.get())), GST_FLOW_OK);
      made = GstPtr<GstSample>::adopt(pipeline.pull());
    }
    if (made) {
      ++converted;
      if (looks_back || !announced)
        pipeline.stop(); // the next frame would have let it go
      wait_for_release(kept);
      fail_unless(is_drawn(made), "%u left: the buffer came back while it was read", left);
      continue;
    }
    const auto error = pipeline.message(GST_MESSAGE_ERROR);
    fail_if(error.empty(), "%u left: neither frame nor error", left);
    told += error.find("EMFILE") != std::string::npos ? 1 : 0;
    if (counters[vadriver::Counter::End] > drawings)
      fail_unless(counters[vadriver::Counter::Sync] > syncs, "%u left: the device was not waited for: %s", left, error.c_str());
  }
  fail_unless(told > 0 && converted > 0, "%d errors, %d frames", told, converted);
}
GST_END_TEST

// A producer that writes with the CPU, into two buffers, one frame black and one white.
const char *const kSlow[] = {"formats=BGRX,async=15", "formats=BGRX,async=15,fences=0", "profile=ihd,async=15", "formats=BGRX"};

GST_START_TEST(test_writes_after_the_read)
{
  set_driver(kSlow[__i__]);
  Pipeline pipeline("videotestsrc name=src pattern=blink num-buffers=30 ! video/x-raw,format=BGRx,width=64,height=48 ! "
                    "dmabufupload ! vadmabufconvert name=convert ! " +
                    dma_caps("XR24", 128, 96) + " ! appsink name=sink sync=false max-buffers=1");
  fail_unless(pipeline.play(), "%s", pipeline.message(GST_MESSAGE_ERROR).c_str());
  int last = -1;
  for (int i = 0; i < 30; ++i) {
    g_autoptr(GstSample) sample = pipeline.pull();
    fail_unless(sample != nullptr, "%s: %s", kSlow[__i__], pipeline.message(GST_MESSAGE_ERROR).c_str());
    const auto frame = read_frame(sample);
    const int now = rgb_at(frame, 0, 0)[1] > 127 ? 1 : 0;
    fail_unless(now != last, "%s: frame %d has the picture of the frame before", kSlow[__i__], i);
    for (const auto &[x, y] : {std::pair{127U, 95U}, {0U, 95U}, {127U, 0U}, {64U, 48U}})
      fail_unless_equals_int(rgb_at(frame, x, y)[1] > 127 ? 1 : 0, now);
    last = now;
  }
}
GST_END_TEST

Suite *va_convert_metas_suite()
{
  Suite *suite = suite_create("va_convert_metas");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 200);
  tcase_add_loop_test(tcase, test_crop, 0, G_N_ELEMENTS(kCrops) * G_N_ELEMENTS(kDrivers));
  tcase_add_loop_test(tcase, test_crop_in_system_memory, 0, G_N_ELEMENTS(kCrops));
  tcase_add_test(tcase, test_odd_corner_in_system_memory);
  tcase_add_loop_test(tcase, test_regions, 0, G_N_ELEMENTS(kRegions));
  tcase_add_loop_test(tcase, test_orientation_tags, 0, 2 * G_N_ELEMENTS(kTags));
  tcase_add_loop_test(tcase, test_release_fence, 0, G_N_ELEMENTS(kFences));
  tcase_add_test(tcase, test_release_fence_of_the_frame_before);
  tcase_add_loop_test(tcase, test_no_descriptor_left, 0, 4);
  tcase_add_loop_test(tcase, test_writes_after_the_read, 0, G_N_ELEMENTS(kSlow));
  return suite;
}

} // namespace

GST_DRM_VA_CHECK_MAIN(va_convert_metas)
