// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames whose metas lie, through the pads of both elements: each gets an error that says what is
// wrong, or the right picture. Nothing aborts, also with G_DEBUG=fatal-criticals.
#include "support/dmabuf_elements.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

constexpr int kWidth = 64;
constexpr int kHeight = 48;
constexpr gsize kLuma = 64 * 48;

enum class Verdict {
  Refused,
  Right,  // the picture is right all the same
  Either, // refused where the memory is as small as it can be; a dma-buf has whole pages
};

struct Lie {
  const char *name;
  void (*tell)(GstVideoMeta *meta);
  Verdict verdict;
};

// As a producer in C writes it: C++ must not read such a value as the enumeration.
void set_format(GstVideoMeta *meta, gint number)
{
  static_assert(sizeof meta->format == sizeof number);
  std::memcpy(&meta->format, &number, sizeof number);
}

// clang-format off
constexpr Lie kLies[] = {
    {"format 0",               [](GstVideoMeta *m) { set_format(m, 0); }, Verdict::Refused},
    {"format -1",              [](GstVideoMeta *m) { set_format(m, -1); }, Verdict::Refused},
    {"format INT_MIN",         [](GstVideoMeta *m) { set_format(m, G_MININT); }, Verdict::Refused},
    {"format INT_MAX",         [](GstVideoMeta *m) { set_format(m, G_MAXINT); }, Verdict::Refused},
    {"format 9999",            [](GstVideoMeta *m) { set_format(m, 9999); }, Verdict::Refused},
    {"format v210",            [](GstVideoMeta *m) { m->format = GST_VIDEO_FORMAT_v210; }, Verdict::Refused},
    {"format NV21",            [](GstVideoMeta *m) { m->format = GST_VIDEO_FORMAT_NV21; }, Verdict::Refused},
    {"no planes",              [](GstVideoMeta *m) { m->n_planes = 0; }, Verdict::Refused},
    {"one plane",              [](GstVideoMeta *m) { m->n_planes = 1; }, Verdict::Refused},
    {"three planes",           [](GstVideoMeta *m) { m->n_planes = 3; }, Verdict::Refused},
    {"five planes",            [](GstVideoMeta *m) { m->n_planes = 5; }, Verdict::Refused},
    {"4 billion planes",       [](GstVideoMeta *m) { m->n_planes = G_MAXUINT; }, Verdict::Refused},
    {"no width",               [](GstVideoMeta *m) { m->width = 0; }, Verdict::Refused},
    {"no height",              [](GstVideoMeta *m) { m->height = 0; }, Verdict::Refused},
    {"less wide",              [](GstVideoMeta *m) { m->width = kWidth - 1; }, Verdict::Refused},
    {"less high",              [](GstVideoMeta *m) { m->height = kHeight - 1; }, Verdict::Refused},
    {"wider",                  [](GstVideoMeta *m) { m->width = kWidth + 1; }, Verdict::Refused},
    {"higher",                 [](GstVideoMeta *m) { m->height = kHeight + 2; }, Verdict::Either},
    {"wider and less high",    [](GstVideoMeta *m) { m->width = 2 * kWidth; m->height = 24; }, Verdict::Refused},
    {"width INT_MAX",          [](GstVideoMeta *m) { m->width = G_MAXINT; }, Verdict::Refused},
    {"width INT_MAX + 65",     [](GstVideoMeta *m) { m->width = G_MAXINT + 65U; }, Verdict::Refused},
    {"width UINT_MAX",         [](GstVideoMeta *m) { m->width = G_MAXUINT; }, Verdict::Refused},
    {"height UINT_MAX",        [](GstVideoMeta *m) { m->height = G_MAXUINT; }, Verdict::Refused},
    {"both 2^24",              [](GstVideoMeta *m) { m->width = m->height = 1U << 24; }, Verdict::Refused},
    {"both 2^31",              [](GstVideoMeta *m) { m->width = m->height = 1U << 31; }, Verdict::Refused},
    {"stride 0",               [](GstVideoMeta *m) { m->stride[0] = 0; }, Verdict::Refused},
    {"stride 63",              [](GstVideoMeta *m) { m->stride[0] = 63; }, Verdict::Refused},
    {"stride -64",             [](GstVideoMeta *m) { m->stride[0] = -64; }, Verdict::Refused},
    {"stride INT_MIN",         [](GstVideoMeta *m) { m->stride[1] = G_MININT; }, Verdict::Refused},
    {"stride INT_MAX",         [](GstVideoMeta *m) { m->stride[1] = G_MAXINT; }, Verdict::Refused},
    {"stride 65536",           [](GstVideoMeta *m) { m->stride[0] = 65536; }, Verdict::Refused},
    {"offset at the end",      [](GstVideoMeta *m) { m->offset[1] = kLuma * 3 / 2; }, Verdict::Refused},
    {"offset past the end",    [](GstVideoMeta *m) { m->offset[1] = kLuma * 30; }, Verdict::Refused},
    {"offset 2^32",            [](GstVideoMeta *m) { m->offset[1] = gsize{1} << 32; }, Verdict::Refused},
    {"offset SIZE_MAX",        [](GstVideoMeta *m) { m->offset[0] = G_MAXSIZE; }, Verdict::Refused},
    {"offset SIZE_MAX - 63",   [](GstVideoMeta *m) { m->offset[1] = G_MAXSIZE - 63; }, Verdict::Refused},
    {"stride of no plane",     [](GstVideoMeta *m) { m->stride[3] = G_MININT; }, Verdict::Right},
    {"offset of no plane",     [](GstVideoMeta *m) { m->offset[2] = G_MAXSIZE; }, Verdict::Right},
    {"alignment",              [](GstVideoMeta *m) { m->alignment.padding_top = G_MAXUINT; }, Verdict::Right},
    {"frame number",           [](GstVideoMeta *m) { m->id = G_MAXINT; }, Verdict::Right},
};
// clang-format on

enum class Pads { UploadPlain, UploadPass, DownloadPlain, DownloadDmaBuf };
enum class Memory { System, DmaBuf, Split };

struct Way {
  const char *name;
  Pads pads;
  Memory memory;
};

constexpr Way kWays[] = {
    {"upload from system memory", Pads::UploadPlain, Memory::System},
    {"upload of a dmabuf", Pads::UploadPlain, Memory::DmaBuf},
    {"upload of planes in two memories", Pads::UploadPlain, Memory::Split},
    {"upload in passthrough", Pads::UploadPass, Memory::DmaBuf},
    {"download from system memory", Pads::DownloadPlain, Memory::System},
    {"download of planes in two memories", Pads::DownloadPlain, Memory::Split},
    {"download of a plain dmabuf", Pads::DownloadPlain, Memory::DmaBuf},
    {"download of a dmabuf", Pads::DownloadDmaBuf, Memory::DmaBuf},
};

const std::string kPlain = plain_caps("NV12", kWidth, kHeight);

GstBuffer *new_dmabuf_bytes(gsize size)
{
  GstDrmAllocator *allocator =
      gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_MEMFD, nullptr, nullptr);
  fail_unless(allocator != nullptr);
  GstBuffer *buffer = gst_buffer_new_allocate(GST_ALLOCATOR(allocator), size, nullptr);
  gst_object_unref(allocator);
  return buffer;
}

GstMemory *new_memory(gsize size)
{
  gpointer data = g_malloc0(size);
  return gst_memory_new_wrapped(GST_MEMORY_FLAG_NO_SHARE, data, size, 0, size, data, g_free);
}

// GStreamer's default layout, in memory of exactly its size.
GstBuffer *new_true_frame(Memory memory, guint seed)
{
  GstBuffer *buffer = nullptr;
  if (memory == Memory::DmaBuf)
    buffer = new_dmabuf_bytes(kLuma * 3 / 2);
  else
    buffer = gst_buffer_new_wrapped(g_malloc0(memory == Memory::Split ? kLuma : kLuma * 3 / 2),
                                    memory == Memory::Split ? kLuma : kLuma * 3 / 2);
  if (memory == Memory::Split)
    gst_buffer_append_memory(buffer, new_memory(kLuma / 2));
  gst_buffer_add_video_meta(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_NV12, kWidth,
                            kHeight);
  draw(buffer, video_info(kPlain), seed);
  return buffer;
}

std::string element_of(const Way &way)
{
  const bool up = way.pads == Pads::UploadPlain || way.pads == Pads::UploadPass;
  return up ? std::string("dmabufupload allocator=") + test_kinds().front() : "dmabufdownload";
}

std::string caps_for(const Way &way)
{
  const bool dmabuf = way.pads == Pads::UploadPass || way.pads == Pads::DownloadDmaBuf;
  return dmabuf ? dmabuf_caps("NV12", kWidth, kHeight) : kPlain;
}

// One frame that the caller may spoil; then a good one, which always passes.
void push_hostile(const Way &way, const char *lie, GstBuffer *buffer, Verdict verdict)
{
  const Harness h(element_of(way));
  gst_harness_add_propose_allocation_meta(h.get(), GST_VIDEO_META_API_TYPE, nullptr);
  fail_unless(h.negotiate(caps_for(way)), "%s", h.last_error().c_str());
  const GstFlowReturn flow = gst_harness_push(h.get(), buffer);
  if (flow == GST_FLOW_OK) {
    const auto out = GstPtr<GstBuffer>::adopt(gst_harness_try_pull(h.get()));
    fail_if(verdict == Verdict::Refused, "%s, %s: not refused", way.name, lie);
    check_drawn(out.get(), video_info(kPlain), 5);
  } else {
    fail_unless(flow == GST_FLOW_ERROR, "%s, %s: %s", way.name, lie, gst_flow_get_name(flow));
    const std::vector<std::string> errors = h.messages(GST_MESSAGE_ERROR);
    fail_unless(errors.size() == 1, "%s, %s: %zu messages", way.name, lie, errors.size());
    fail_if(verdict == Verdict::Right, "%s, %s: %s", way.name, lie, errors.front().c_str());
    fail_unless(gst_harness_try_pull(h.get()) == nullptr);
    say(std::string(way.name) + ", " + lie + ": " + errors.front());
  }
  check_drawn(h.push(new_true_frame(way.memory, 6)).get(), video_info(kPlain), 6);
}

GST_START_TEST(test_video_meta)
{
  const Way &way = kWays[__i__];
  for (const Lie &lie : kLies) {
    GstBuffer *buffer = new_true_frame(way.memory, 5);
    lie.tell(gst_buffer_get_video_meta(buffer));
    push_hostile(way, lie.name, buffer, lie.verdict);
  }
}
GST_END_TEST

// Every rectangle that does not lie in the frame, of a frame twice the caps' size.
GST_START_TEST(test_crop_meta)
{
  const Way &way = kWays[__i__];
  if (way.memory == Memory::Split)
    return; // the frame below is one memory
  static constexpr guint kCrops[][4] = {
      {65, 0, 64, 48},
      {0, 49, 64, 48},
      {G_MAXUINT, 0, 64, 48},
      {0, G_MAXUINT, 64, 48},
      {G_MAXUINT - 63, 0, 64, 48},
      {0, 0, 0, 0},
      {0, 0, 128, 96},
      {0, 0, G_MAXUINT, G_MAXUINT},
      {1U << 31, 1U << 31, 64, 48},
  };
  for (const guint(&row)[4] : kCrops) {
    constexpr gsize kBytes = 128 * 96 * 3 / 2;
    GstBuffer *buffer = way.memory == Memory::DmaBuf
                            ? new_dmabuf_bytes(kBytes)
                            : gst_buffer_new_wrapped(g_malloc0(kBytes), kBytes);
    gst_buffer_add_video_meta(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_NV12, 128, 96);
    GstVideoCropMeta *crop = gst_buffer_add_video_crop_meta(buffer);
    crop->x = row[0];
    crop->y = row[1];
    crop->width = row[2];
    crop->height = row[3];
    push_hostile(way, "crop", buffer, Verdict::Refused);
  }
}
GST_END_TEST

// A plane that ends in another memory than it begins in: there is no one place to map.
GST_START_TEST(test_torn_plane)
{
  const Way &way = kWays[__i__];
  if (way.memory != Memory::Split)
    return; // one memory
  for (gsize first : {gsize{1}, gsize{100}, kLuma - 1, kLuma + 1, kLuma + 64}) {
    GstBuffer *buffer = gst_buffer_new_wrapped(g_malloc0(first), first);
    const gsize rest = kLuma * 3 / 2 - first;
    gst_buffer_append_memory(buffer, new_memory(rest));
    gst_buffer_add_video_meta(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_NV12, kWidth,
                              kHeight);
    push_hostile(way, "torn plane", buffer, Verdict::Refused);
  }
}
GST_END_TEST

// Memory that is smaller than its dma-buf, and than the planes in it.
GST_START_TEST(test_short_memory)
{
  const Way &way = kWays[__i__];
  for (gsize cut : {gsize{1}, kLuma / 2 - 1, kLuma}) {
    GstBuffer *buffer = new_true_frame(way.memory, 5);
    const guint last = gst_buffer_n_memory(buffer) - 1;
    const gsize size = gst_buffer_peek_memory(buffer, last)->size;
    if (cut >= size) {
      gst_buffer_unref(buffer);
      continue;
    }
    gst_buffer_resize_range(buffer, last, 1, 0, static_cast<gssize>(size - cut));
    push_hostile(way, "short memory", buffer,
                 way.memory == Memory::DmaBuf ? Verdict::Either : Verdict::Refused);
  }
}
GST_END_TEST

Suite *dmabuf_hostile_suite()
{
  Suite *suite = suite_create("dmabuf-hostile");
  TCase *tcase = tcase_create("pads");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_video_meta, 0, G_N_ELEMENTS(kWays));
  tcase_add_loop_test(tcase, test_crop_meta, 0, G_N_ELEMENTS(kWays));
  tcase_add_loop_test(tcase, test_torn_plane, 0, G_N_ELEMENTS(kWays));
  tcase_add_loop_test(tcase, test_short_memory, 0, G_N_ELEMENTS(kWays));
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(dmabuf_hostile)
