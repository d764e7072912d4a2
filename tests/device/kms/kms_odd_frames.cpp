// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames at the edge of what caps and metas can say: one pixel wide, 16K, no rate and a rate beyond every display, fields, a GstVideoMeta or a
// GstVideoCropMeta that lies. Each is shown as it is, or refused with one error that says why and what to do, and no bad frame reaches
// the kernel.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "kms_ioctls.hpp"
#include "kms_support.hpp"

#include <gst/allocators/gstdmabuf.h>

using namespace gstdrm::test;

namespace {

constexpr auto kTrouble = static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);

struct Size {
  const char *name;
  const char *format, *drm_format;
  int width, height;
  const char *refused; // a part of the error, empty: the pad template says it; nullptr: shown
  int mode_width = 1024, mode_height = 768;
};

const Size kSizes[] = {
    {"the least of vkms", "BGRx", "XR24", 10, 10, nullptr, 640, 480},
    {"a row of ten lines", "BGRx", "XR24", 1024, 10, nullptr},
    {"a column of ten pixels", "BGRx", "XR24", 10, 768, nullptr},
    {"odd sizes of NV12", "NV12", "NV12", 641, 481, nullptr, 800, 600},
    {"an odd column of NV12", "NV12", "NV12", 11, 479, nullptr, 640, 480},
    {"one pixel", "BGRx", "XR24", 1, 1, "sizes from 10x10"},
    {"one column", "BGRx", "XR24", 1, 480, "sizes from 10x10"},
    {"one row", "BGRx", "XR24", 640, 1, "sizes from 10x10"},
    {"one pixel of NV12", "NV12", "NV12", 1, 1, "sizes from 10x10"},
    {"8K", "BGRx", "XR24", 7680, 4320, "Put videoscale before the sink"},
    {"16K", "NV12", "NV12", 15360, 8640, "Put videoscale before the sink"},
    {"the largest frame", "BGRx", "XR24", 16384, 16384, "Put videoscale before the sink"},
    {"a row of 16384 pixels", "BGRx", "XR24", 16384, 10, "Put videoscale before the sink"},
    {"beyond the largest frame", "BGRx", "XR24", 16385, 480, ""},
    {"beyond every number", "BGRx", "XR24", 2147483647, 2147483647, ""},
};

// The last picture that was pushed is what the display shows, in a mode of this size.
void expect_on_screen(Sink &sink, const GstVideoInfo &info, GstBuffer *picture, int mode_width, int mode_height)
{
  const GstPtr<GstSample> sample = sink.snapshot();
  ck_assert_msg(sample, "%s", sink.next_message(GST_MESSAGE_WARNING).c_str());
  const int difference = largest_difference(sample.get(), reference(info, picture, mode_width, mode_height));
  ck_assert_msg(difference >= 0 && difference <= (GST_VIDEO_INFO_IS_RGB(&info) ? 0 : 1), "difference %d", difference);
}

// One error that contains the words; and no other message of the kind.
void expect_one_error(Sink &sink, const std::vector<std::string> &words)
{
  const std::string error = sink.next_message(GST_MESSAGE_ERROR);
  say(error);
  ck_assert(!error.empty());
  for (const std::string &word : words)
    ck_assert_msg(error.find(word) != std::string::npos, "\"%s\" is not in \"%s\"", word.c_str(), error.c_str());
  ck_assert(sink.next_message(kTrouble).empty());
}

} // namespace

GST_START_TEST(test_sizes)
{
  const Size &row = kSizes[__i__];
  g_print("# %s\n", row.name);
  Sink sink;
  const bool taken = sink.set_caps(dma_drm_caps(row.drm_format, row.width, row.height));
  ck_assert_int_eq(taken, row.refused == nullptr);
  if (row.refused) {
    if (*row.refused)
      expect_one_error(sink, {row.refused});
    return;
  }
  const GstVideoInfo info = video_info(plain_caps(row.format, row.width, row.height));
  const GstPtr<GstBuffer> picture = make_noise(info, 5);
  for (int i = 0; i < 3; i++)
    ck_assert_int_eq(sink.push(to_dmabuf(info, picture.get(), Shape::Tight).release()), GST_FLOW_OK);
  expect_on_screen(sink, info, picture.get(), row.mode_width, row.mode_height);
  ck_assert(sink.next_message(kTrouble).empty());
}
GST_END_TEST

namespace {

struct Rate {
  const char *framerate;
  const char *more;
  bool taken;
};

const Rate kRates[] = {
    {"0/1", "", true},
    {"0/1", ", max-framerate=60/1", true},
    {"1/2147483647", "", true},
    {"1000000/1", "", true},
    {"2147483647/1", "", true},
    {"2147483647/2147483646", "", true},
    {"25/1", ", interlace-mode=interleaved", true},
    {"25/1", ", interlace-mode=interleaved, field-order=bottom-field-first", true},
    {"25/1", ", interlace-mode=mixed", true},
    {"25/1", ", interlace-mode=fields", true},
    {"25/1", ", interlace-mode=alternate", false}, // without its feature
    {"25/1", ", pixel-aspect-ratio=1/1, multiview-mode=mono, chroma-site=jpeg", true},
    {"25/1", ", pixel-aspect-ratio=2147483647/1", true},
    {"25/1", ", pixel-aspect-ratio=1/2147483647", true},
    {"25/1", ", nobody-knows-this-field=42", true},
};

} // namespace

// Rates, fields and pixels of every shape: frames are shown whole, as they are.
GST_START_TEST(test_rates_and_fields)
{
  const Rate &row = kRates[__i__];
  g_print("# %s%s\n", row.framerate, row.more);
  const GstVideoInfo info = video_info(plain_caps("BGRx", 640, 480));
  const GstPtr<GstBuffer> picture = make_noise(info, 6);
  Sink sink("mode=640x480 fit=none");
  const std::string caps = std::string("video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=XR24, width=640, height=480, framerate=") +
                           row.framerate + row.more;
  ck_assert_int_eq(sink.set_caps(caps), row.taken);
  if (!row.taken) {
    expect_one_error(sink, {"alternate"});
    return;
  }
  for (int i = 0; i < 3; i++)
    ck_assert_int_eq(sink.push(to_dmabuf(info, picture.get(), Shape::Tight).release()), GST_FLOW_OK);
  expect_on_screen(sink, info, picture.get(), 640, 480);
  sink.eos();
  ck_assert_uint_eq(sink.stat("shown"), 3);
  ck_assert(sink.next_message(kTrouble).empty());
}
GST_END_TEST

namespace {

constexpr int kWidth = 640, kHeight = 480;

// What a row does to the GstVideoMeta and the GstVideoCropMeta of a frame of 704x544.
struct Lie {
  const char *name;
  std::function<void(GstVideoMeta &, GstVideoCropMeta &)> tell;
  std::vector<std::string> words; // of the error; none: shown from x, y on
  guint x = 0, y = 0;
  bool named_by_caps = false; // in system memory the caps say what it is, so it is shown
};

constexpr guint kWholeWidth = 704, kWholeHeight = 544, kRight = kWholeWidth - kWidth, kBottom = kWholeHeight - kHeight;

void crop_at(GstVideoCropMeta &crop, guint x, guint y)
{
  crop.x = x;
  crop.y = y;
}

const Lie kLies[] = {
    {"the right edge", [](auto &, auto &crop) { crop_at(crop, kRight, 0); }, {}, kRight, 0},
    {"the lower edge", [](auto &, auto &crop) { crop_at(crop, 0, kBottom); }, {}, 0, kBottom},
    {"the lower right corner", [](auto &, auto &crop) { crop_at(crop, kRight, kBottom); }, {}, kRight, kBottom},
    {"beyond the right edge", [](auto &, auto &crop) { crop_at(crop, kRight + 1, 0); }, {"65,0", "704x544"}},
    {"beyond the lower edge", [](auto &, auto &crop) { crop_at(crop, 0, kBottom + 1); }, {"0,65", "704x544"}},
    {"beyond every number", [](auto &, auto &crop) { crop_at(crop, G_MAXUINT, G_MAXUINT); }, {"4294967295", "704x544"}},
    {"of another size", [](auto &, auto &crop) { crop.width = 320; }, {"320x480", "640x480"}},
    {"of no size", [](auto &, auto &crop) { crop.width = crop.height = 0; }, {"0x0", "640x480"}},
    {"no known format", [](auto &meta, auto &) { meta.format = GST_VIDEO_FORMAT_UNKNOWN; }, {"format"}, 0, 0, true},
    {"a number that is no format", [](auto &meta, auto &) { meta.format = static_cast<GstVideoFormat>(77777); }, {"format"}, 0, 0, true},
    {"another format", [](auto &meta, auto &) { meta.format = GST_VIDEO_FORMAT_NV12; }, {"format", "NV12"}, 0, 0, true},
    {"no planes", [](auto &meta, auto &) { meta.n_planes = 0; }, {"0 planes"}},
    {"five planes", [](auto &meta, auto &) { meta.n_planes = 5; }, {"704x544"}},
    {"two planes", [](auto &meta, auto &) { meta.n_planes = 2; }, {"plane"}},
    {"no size", [](auto &meta, auto &) { meta.width = meta.height = 0; }, {"0x0"}},
    {"one row less than the picture", [](auto &meta, auto &) { meta.height = kHeight - 1; }, {"704x479"}},
    {"a size beyond every number", [](auto &meta, auto &crop) { meta.width = meta.height = G_MAXUINT; crop_at(crop, G_MAXUINT - kWidth, 0); }, {"lane 0"}},
    {"no stride", [](auto &meta, auto &) { meta.stride[0] = 0; }, {"stride"}},
    {"rows from below", [](auto &meta, auto &) { meta.stride[0] = -meta.stride[0]; }, {"stride"}},
    {"the largest offset", [](auto &meta, auto &) { meta.offset[0] = G_MAXSIZE; }, {"lane 0"}},
};

GstPtr<GstBuffer> lying_frame(const Lie &lie, GstBuffer *whole)
{
  auto frame = GstPtr<GstBuffer>::adopt(gst_buffer_copy(whole));
  GstVideoMeta *meta = gst_buffer_get_video_meta(frame.get());
  GstVideoCropMeta *crop = gst_buffer_add_video_crop_meta(frame.get());
  crop->x = crop->y = 0;
  crop->width = kWidth;
  crop->height = kHeight;
  lie.tell(*meta, *crop);
  return frame;
}

} // namespace

// In DMA buffers, and in system memory, which the CPU reads.
GST_START_TEST(test_lying_metas)
{
  const auto at = static_cast<std::size_t>(__i__) % G_N_ELEMENTS(kLies);
  const Lie &lie = kLies[at];
  const bool dmabuf = static_cast<std::size_t>(__i__) < G_N_ELEMENTS(kLies);
  g_print("# %s: %s\n", dmabuf ? "DMA buffers" : "system memory", lie.name);
  const GstVideoInfo whole_info = video_info(plain_caps("BGRx", kWholeWidth, kWholeHeight));
  const GstPtr<GstBuffer> noise = make_noise(whole_info, 4);
  GstPtr<GstBuffer> whole = dmabuf ? to_dmabuf(whole_info, noise.get(), Shape::Tight)
                                   : GstPtr<GstBuffer>::adopt(gst_buffer_copy_deep(noise.get()));
  if (!dmabuf)
    gst_buffer_add_video_meta(whole.get(), GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_BGRx, kWholeWidth, kWholeHeight);
  Sink sink("enable-last-sample=false");
  ck_assert(sink.set_caps(dmabuf ? dma_drm_caps("XR24", kWidth, kHeight) : plain_caps("BGRx", kWidth, kHeight)));
  const unsigned before = count_drm_ioctls(kAddFb2) + count_drm_ioctls(kPrimeFdToHandle);
  const GstFlowReturn ret = sink.push(lying_frame(lie, whole.get()).release());
  if (!lie.words.empty() && (dmabuf || !lie.named_by_caps)) {
    ck_assert_int_eq(ret, GST_FLOW_ERROR);
    if (dmabuf)
      ck_assert_uint_eq(count_drm_ioctls(kAddFb2) + count_drm_ioctls(kPrimeFdToHandle), before);
    std::vector<std::string> words = lie.words;
    words.emplace_back("Have ");
    expect_one_error(sink, words);
    return;
  }
  ck_assert_int_eq(ret, GST_FLOW_OK);
  const GstVideoInfo info = video_info(plain_caps("BGRx", kWidth, kHeight));
  const GstPtr<GstBuffer> visible = make_noise(info, 0);
  GstMapInfo from, to;
  ck_assert(gst_buffer_map(noise.get(), &from, GST_MAP_READ));
  ck_assert(gst_buffer_map(visible.get(), &to, GST_MAP_WRITE));
  for (guint y = 0; y < static_cast<guint>(kHeight); y++)
    std::copy_n(from.data + 4 * ((lie.y + y) * kWholeWidth + lie.x), 4 * kWidth, to.data + 4 * y * kWidth);
  gst_buffer_unmap(visible.get(), &to);
  gst_buffer_unmap(noise.get(), &from);
  expect_on_screen(sink, info, visible.get(), kWidth, kHeight);
}
GST_END_TEST

namespace {

struct Parts {
  const char *name;
  std::function<GstPtr<GstBuffer>(GstBuffer *one, GstBuffer *other)> make; // of two good frames
  bool shown;
};

GstPtr<GstBuffer> with_memories(std::vector<GstMemory *> memories, GstBuffer *metas)
{
  auto buffer = GstPtr<GstBuffer>::adopt(gst_buffer_new());
  for (GstMemory *memory : memories)
    gst_buffer_append_memory(buffer.get(), memory);
  GstVideoMeta *meta = gst_buffer_get_video_meta(metas);
  gst_buffer_add_video_meta_full(buffer.get(), meta->flags, meta->format, meta->width, meta->height, meta->n_planes, meta->offset,
                                 meta->stride);
  return buffer;
}

GstMemory *part(GstBuffer *buffer, gssize offset, gssize size)
{
  return gst_memory_share(gst_buffer_peek_memory(buffer, 0), offset, size);
}

const Parts kParts[] = {
    {"two halves of one dma-buf, the plane in both",
     [](GstBuffer *one, GstBuffer *) {
       return with_memories({part(one, 0, 4096 * 100), part(one, 4096 * 100, -1)}, one);
     }, true},
    {"a second dma-buf that no plane is in",
     [](GstBuffer *one, GstBuffer *other) { return with_memories({part(one, 0, -1), part(other, 0, -1)}, one); }, true},
    {"system memory behind the dma-buf",
     [](GstBuffer *one, GstBuffer *) {
       return with_memories({part(one, 0, -1), gst_allocator_alloc(nullptr, 4096, nullptr)}, one);
     }, false},
    {"no memory", [](GstBuffer *one, GstBuffer *) { return with_memories({}, one); }, false},
    // gst_buffer_copy_region() keeps a meta with the frame's offsets where the buffer begins at its first byte alone
    {"a buffer of both frames, whose region is the second",
     [](GstBuffer *one, GstBuffer *other) {
       auto both = GstPtr<GstBuffer>::adopt(gst_buffer_new());
       const gsize bytes = gsize{4} * kWidth * kHeight;
       for (GstBuffer *frame : {other, one})
         gst_buffer_append_memory(both.get(), part(frame, 0, static_cast<gssize>(bytes)));
       return GstPtr<GstBuffer>::adopt(gst_buffer_copy_region(both.get(), GST_BUFFER_COPY_ALL, bytes, bytes));
     }, true},
    {"a region that begins below the first row",
     [](GstBuffer *one, GstBuffer *) {
       constexpr gsize kRow = gsize{4} * kWidth, kRows = 16;
       auto region = GstPtr<GstBuffer>::adopt(gst_buffer_copy_region(one, GST_BUFFER_COPY_FLAGS, kRows * kRow, kRow * (kHeight - kRows)));
       return region; // which is too short for the caps
     }, false},
    {"a cut end", [](GstBuffer *one, GstBuffer *) { return with_memories({part(one, 0, 4096 * 100)}, one); }, true}, // of a dma-buf that is long enough
};

} // namespace

// Planes over several memories: shown right, or refused.
GST_START_TEST(test_memories)
{
  const Parts &row = kParts[__i__];
  g_print("# %s\n", row.name);
  const GstVideoInfo info = video_info(plain_caps("BGRx", kWidth, kHeight));
  const GstPtr<GstBuffer> picture = make_noise(info, 1), another = make_noise(info, 2);
  const GstPtr<GstBuffer> one = to_dmabuf(info, picture.get(), Shape::Tight),
                          other = to_dmabuf(info, another.get(), Shape::Tight);
  Sink sink;
  ck_assert(sink.set_caps(dma_drm_caps("XR24", kWidth, kHeight)));
  const GstFlowReturn ret = sink.push(row.make(one.get(), other.get()).release());
  ck_assert_int_eq(ret, row.shown ? GST_FLOW_OK : GST_FLOW_ERROR);
  if (row.shown)
    expect_on_screen(sink, info, picture.get(), kWidth, kHeight);
  else
    expect_one_error(sink, {});
}
GST_END_TEST

static Suite *kms_odd_frames_suite(void)
{
  Suite *s = suite_create("kms-odd-frames");
  TCase *tc = tcase_create("odd frames");
  suite_add_tcase(s, tc);
  tcase_set_timeout(tc, 120);
  tcase_add_loop_test(tc, test_sizes, 0, G_N_ELEMENTS(kSizes));
  tcase_add_loop_test(tc, test_rates_and_fields, 0, G_N_ELEMENTS(kRates));
  tcase_add_loop_test(tc, test_lying_metas, 0, 2 * G_N_ELEMENTS(kLies));
  tcase_add_loop_test(tc, test_memories, 0, G_N_ELEMENTS(kParts));
  return s;
}

GST_DRM_CHECK_MAIN(kms_odd_frames)
