// SPDX-License-Identifier: LGPL-2.1-or-later
// What a hard user sends through egldmabufupload: rates, fields, crops, events, sizes and metas that are not everyday's. It is
// honoured, or refused in one error. Where OpenGL imports nothing, as on this machine, through the copy.
#include <array>
#include <set>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "support/crops.hpp"
#include "support/egl_odd.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

GST_START_TEST(test_rates_in)
{
  const std::string caps = with(plain("BGRx"), kRates[__i__]);
  const Harness h("egldmabufupload");
  fail_unless(h.negotiate(caps), "%s", h.last_error().c_str());
  const auto out = h.output_caps();
  fail_unless(gst_caps_is_subset(out.get(), caps_of(std::string("video/x-raw(ANY), ") + kRates[__i__]).get()), "%s", text_of(out.get()).c_str());
  check_drawn(h.push(new_frame(caps, 3)).get(), info_of(out), 3);
}
GST_END_TEST

struct ModeRow {
  const char *name;
  std::string caps;
  bool taken;
};
const ModeRow kModes[] = {
    {"interleaved", with(plain("NV12"), "interlace-mode=interleaved"), true},
    {"mixed", with(plain("NV12"), "interlace-mode=mixed"), true},
    {"RGB with fields", with(plain("BGRx"), "interlace-mode=interleaved"), true},
    {"one field each", "video/x-raw(format:Interlaced), format=NV12, width=64, height=48, framerate=25/1, interlace-mode=alternate", false},
    {"one field each, without the feature", with(plain("NV12"), "interlace-mode=alternate"), false},
};

GST_START_TEST(test_modes_in)
{
  const ModeRow &row = kModes[__i__];
  const Harness h("egldmabufupload");
  fail_unless_equals_int(h.negotiate(row.caps), row.taken);
  if (!row.taken) {
    CHECK_ONE_MESSAGE(h.messages(GST_MESSAGE_ERROR), "alternate");
    return;
  }
  GstBuffer *frame = new_frame(row.caps, 3);
  GST_BUFFER_FLAG_SET(frame, GST_VIDEO_BUFFER_FLAG_INTERLACED | GST_VIDEO_BUFFER_FLAG_TFF);
  const auto out = h.push(frame);
  const GstVideoInfo info = info_of(h.output_caps());
  fail_unless(GST_VIDEO_INFO_IS_INTERLACED(&info), "%s: %s", row.name, text_of(h.output_caps().get()).c_str());
  fail_unless(GST_BUFFER_FLAG_IS_SET(out.get(), GST_VIDEO_BUFFER_FLAG_TFF));
}
GST_END_TEST

// Grey whose chroma differs between the fields: of NV12, chroma rows alternate between them.
constexpr std::array<guint8, 2> kFieldBlue{60, 200};

GstBuffer *frame_of_two_fields()
{
  const GstVideoInfo info = video_info(with(plain("NV12"), "interlace-mode=interleaved"));
  GstBuffer *frame = gst_buffer_new_allocate(nullptr, info.size, nullptr);
  for_each_row(frame, info, GST_MAP_WRITE, [](guint plane, guint row, std::uint8_t *data, std::size_t bytes) {
    for (std::size_t x = 0; x < bytes; x++)
      data[x] = plane == 0 || x % 2 ? 128 : kFieldBlue[row % 2];
  });
  GST_BUFFER_FLAG_SET(frame, GST_VIDEO_BUFFER_FLAG_INTERLACED | GST_VIDEO_BUFFER_FLAG_TFF);
  return frame;
}

// Downstream takes RGBA alone: no colour of one field gets into the other.
GST_START_TEST(test_fields_keep_their_colours)
{
  const std::string caps = with(plain("NV12"), "interlace-mode=interleaved, framerate=25/1, colorimetry=bt601");
  const Harness h("egldmabufupload");
  gst_harness_set_sink_caps(h.get(), gst_caps_from_string("video/x-raw(memory:GLMemory), format=RGBA"));
  fail_unless(h.negotiate(caps), "%s", h.last_error().c_str());
  const auto out = h.push(frame_of_two_fields());
  std::array<std::set<int>, 2> blue;
  for_each_row(out.get(), info_of(h.output_caps()), GST_MAP_READ, [&](guint, guint row, std::uint8_t *data, std::size_t bytes) {
    for (std::size_t x = 2; x < bytes; x += 4)
      blue[row % 2].insert(data[x]);
  });
  fail_unless(blue[0].size() == 1 && blue[1].size() == 1, "%zu and %zu shades of blue in the two fields", blue[0].size(), blue[1].size());
  fail_unless(*blue[1].begin() - *blue[0].begin() > 100);
}
GST_END_TEST

GST_START_TEST(test_events_in)
{
  const EventRow &row = kEvents[__i__];
  const std::string caps = plain_caps("BGRx", 64, 48);
  const Harness h("egldmabufupload");
  fail_unless(h.negotiate(caps));
  (void)h.push(new_frame(caps, 1));
  fail_unless(gst_harness_push_event(h.get(), row.make()));
  check_arrival(h.get(), row);
  check_drawn(h.push(new_frame(caps, 2)).get(), info_of(h.output_caps()), 2);
}
GST_END_TEST

// --- crops and metas that lie --------------------------------------------------------------------

struct CropRow {
  const char *name;
  const char *format;
  Crop crop; // of no width: no GstVideoCropMeta
  const char *error; // part of it; "": the picture comes
};
const CropRow kCrops[] = {
    {"padding at the edges", "BGRx", {0, 0, 0, 0}, ""},
    {"from a pixel on", "BGRx", {7, 3, 64, 48}, ""},
    {"the last that there are", "BGRx", {16, 16, 64, 48}, ""},
    {"from an even pixel on", "NV12", {6, 4, 64, 48}, ""},
    {"in the middle of chroma", "NV12", {5, 4, 64, 48}, ""},
    {"beyond the frame", "BGRx", {20, 3, 64, 48}, "of a frame of 80x64"},
    {"far beyond", "NV12", {G_MAXUINT - 1, 4, 64, 48}, "of a frame of 80x64"},
    {"another size", "BGRx", {8, 8, 32, 32}, "the caps say 64x48"},
};

// Decoders pad their frames; the texture is the picture.
GST_START_TEST(test_crops)
{
  const CropRow &row = kCrops[__i__];
  const Harness h("egldmabufupload");
  fail_unless(h.negotiate(plain_caps(row.format, 64, 48)), "%s", h.last_error().c_str());
  const GstVideoInfo whole = video_info(plain_caps(row.format, 80, 64));
  const auto frame = GstPtr<GstBuffer>::adopt(new_noise_frame(whole, 5));
  if (row.crop.width > 0)
    add_crop(frame.get(), row.crop);
  if (*row.error != '\0') {
    fail_unless_equals_int(gst_harness_push(h.get(), gst_buffer_ref(frame.get())), GST_FLOW_ERROR);
    const auto errors = h.messages(GST_MESSAGE_ERROR);
    CHECK_ONE_MESSAGE(errors, row.error);
    return;
  }
  const auto out = h.push(gst_buffer_ref(frame.get()));
  fail_if(gst_buffer_get_video_crop_meta(out.get()), "%s: what was cropped is cropped again", row.name);
  std::vector<std::vector<guint8>> rows; // of all planes
  for_each_row(out.get(), info_of(h.output_caps()), GST_MAP_READ, [&](guint, guint, std::uint8_t *data, std::size_t bytes) {
    rows.emplace_back(data, data + bytes);
  });
  const bool is_yuv = g_str_equal(row.format, "NV12");
  std::size_t next = 0;
  for_each_row(frame.get(), whole, GST_MAP_READ, [&](guint plane, guint y, std::uint8_t *data, std::size_t) {
    const guint vertical = plane == 0 ? 1 : 2;
    if (y < row.crop.y / vertical || y >= (row.crop.y + 48) / vertical)
      return;
    fail_unless(next < rows.size());
    const guint8 *from = data + (!is_yuv ? 4 * row.crop.x : plane == 0 ? row.crop.x : row.crop.x / 2 * 2);
    for (std::size_t x = 0; x < rows[next].size(); x++)
      if (is_yuv || x % 4 != 3) // the byte of BGRx that means nothing
        fail_unless(rows[next][x] == from[x], "%s: plane %u row %u byte %zu", row.name, plane, y, x);
    next++;
  });
  fail_unless_equals_int(next, rows.size());
}
GST_END_TEST

struct Lie {
  const char *name;
  void (*tell)(GstVideoMeta *meta);
};

void set_format(GstVideoMeta *meta, gint number)
{
  std::memcpy(&meta->format, &number, sizeof number);
}

const Lie kLies[] = {
    {"format 0", [](GstVideoMeta *m) { set_format(m, 0); }},
    {"format -1", [](GstVideoMeta *m) { set_format(m, -1); }},
    {"format 9999", [](GstVideoMeta *m) { set_format(m, 9999); }},
    {"format NV21", [](GstVideoMeta *m) { m->format = GST_VIDEO_FORMAT_NV21; }},
    {"no planes", [](GstVideoMeta *m) { m->n_planes = 0; }},
    {"one plane", [](GstVideoMeta *m) { m->n_planes = 1; }},
    {"4 billion planes", [](GstVideoMeta *m) { m->n_planes = G_MAXUINT; }},
    {"less wide", [](GstVideoMeta *m) { m->width = 63; }},
    {"no height", [](GstVideoMeta *m) { m->height = 0; }},
    {"wider and less high", [](GstVideoMeta *m) { m->width = 128, m->height = 24; }},
    {"stride 0", [](GstVideoMeta *m) { m->stride[0] = 0; }},
    {"stride -64", [](GstVideoMeta *m) { m->stride[0] = -64; }},
    {"stride INT_MIN", [](GstVideoMeta *m) { m->stride[1] = G_MININT; }},
    {"stride 65536", [](GstVideoMeta *m) { m->stride[0] = 65536; }},
    {"offset past the end", [](GstVideoMeta *m) { m->offset[1] = 64 * 48 * 30; }},
    {"offset SIZE_MAX", [](GstVideoMeta *m) { m->offset[0] = G_MAXSIZE; }},
    {"larger, with rows beyond the end", [](GstVideoMeta *m) { m->width = m->height = 1U << 24, m->stride[0] = m->stride[1] = 1 << 24; }},
};

// Through import and copy there is one check before any pixel is read. The next frame of the next stream is a good one.
GST_START_TEST(test_lies)
{
  const Lie &row = kLies[__i__];
  const std::string caps = plain_caps("NV12", 64, 48);
  const Harness h("egldmabufupload");
  fail_unless(h.negotiate(caps));
  GstBuffer *frame = new_frame(caps, 1);
  row.tell(gst_buffer_add_video_meta(frame, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_NV12, 64, 48));
  fail_unless_equals_int(gst_harness_push(h.get(), frame), GST_FLOW_ERROR);
  CHECK_ONE_MESSAGE(h.messages(GST_MESSAGE_ERROR), "cannot take a frame of");
  check_drawn(h.push(new_frame(caps, 2)).get(), info_of(h.output_caps()), 2);
}
GST_END_TEST

struct ThinRow {
  const char *format;
  int height;
};
const ThinRow kThin[] = {{"BGRx", 1}, {"NV12", 1}, {"NV12", 2}, {"P010_10LE", 2}, {"NV12", 4}};

std::vector<guint8> converted(const Harness &h, const std::string &caps, guint seed)
{
  const auto out = h.push(new_frame(caps, seed));
  std::vector<guint8> bytes;
  for_each_row(out.get(), info_of(h.output_caps()), GST_MAP_READ, [&](guint, guint, std::uint8_t *data, std::size_t n) {
    bytes.insert(bytes.end(), data, data + n);
  });
  return bytes;
}

// Downstream takes RGBA alone. The second picture of few lines is as the same one that comes first.
GST_START_TEST(test_thin_conversions)
{
  const ThinRow &row = kThin[__i__];
  const std::string caps = with(plain(row.format, 16, row.height), "framerate=30/1");
  std::vector<std::vector<guint8>> pictures;
  for (const guint first : {1U, 2U}) {
    const Harness h("egldmabufupload");
    gst_harness_set_sink_caps(h.get(), gst_caps_from_string("video/x-raw(memory:GLMemory), format=RGBA"));
    fail_unless(h.negotiate(caps), "%s", h.last_error().c_str());
    pictures.push_back(converted(h, caps, first));
    if (first == 1)
      pictures.push_back(converted(h, caps, 2));
  }
  fail_unless(pictures[1] == pictures[2], "%s of %d lines: the second picture is another one", row.format, row.height);
  fail_if(pictures[0] == pictures[1], "%s: the pictures are the same", row.format);
}
GST_END_TEST

// --- sizes ---------------------------------------------------------------------------------------

struct SizeRow {
  const char *name;
  int width, height;
  bool taken;
};
const SizeRow kSizes[] = {
    {"1x1", 1, 1, true},           {"1xN", 1, 16384, true},       {"Nx1", 16384, 1, true},
    {"8K", 7680, 4320, true},      {"16K wide", 15360, 2, true},  {"wider than a texture", 16385, 2, false},
    {"higher than a texture", 2, 16385, false},
};

GST_START_TEST(test_sizes_in)
{
  const SizeRow &row = kSizes[__i__];
  const std::string caps = plain_caps("BGRx", row.width, row.height);
  const Harness h("egldmabufupload");
  const bool taken = h.negotiate(caps);
  if (!row.taken) {
    fail_if(taken, "%s", row.name);
    CHECK_ONE_MESSAGE(h.messages(GST_MESSAGE_ERROR), "No frame here has more than 16384 pixels");
    return;
  }
  fail_unless(taken, "%s: %s", row.name, h.last_error().c_str());
  if (row.width == 7680) { // the picture of 133 MB is only made and let go
    const GstVideoInfo info = video_info(caps);
    (void)h.push(gst_buffer_new_allocate(nullptr, info.size, nullptr));
  } else {
    check_drawn(h.push(new_frame(caps, 1)).get(), info_of(h.output_caps()), 1);
  }
  fail_unless_equals_uint64(h.stat("frames"), 1);
}
GST_END_TEST

// The process has no descriptor left for one frame: it is shown all the same, or there is one error that says what to do, and the
// next frame is shown. The bytes are the same, whether they are imported or copied. Where frames are imported, the one is no reason to copy
// others.
GST_START_TEST(test_no_descriptor_left)
{
  const std::string frames = plain_caps("RGBA", 64, 48);
  const Harness h(__i__ == 0 ? "egldmabufupload" : "egldmabufupload mode=import");
  if (!h.negotiate(dmabuf_caps("AB24", 64, 48))) {
    fail_unless(__i__ == 1, "%s", h.last_error().c_str());
    CHECK_ONE_MESSAGE(h.messages(GST_MESSAGE_ERROR), "mode=import forbids a copy");
    return;
  }
  (void)h.push(new_dmabuf_frame("memfd", frames, 1));
  const bool imports = h.stat("imports") > 0;
  GstBuffer *poor = new_dmabuf_frame("memfd", frames, 2);
  GstBuffer *rich = new_dmabuf_frame("memfd", frames, 3);
  const int lowest = ::dup(STDIN_FILENO);
  fail_unless(lowest >= 0 && ::close(lowest) == 0);
  const struct rlimit none = {static_cast<rlim_t>(lowest), descriptors_before.rlim_max};
  fail_unless(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  const GstFlowReturn flow = gst_harness_push(h.get(), poor);
  fail_unless(::setrlimit(RLIMIT_NOFILE, &descriptors_before) == 0);
  if (flow == GST_FLOW_OK) {
    fail_unless(h.messages(GST_MESSAGE_ERROR).empty());
    gst_buffer_unref(gst_harness_pull(h.get()));
  } else {
    fail_unless_equals_int(flow, GST_FLOW_ERROR);
    CHECK_ONE_MESSAGE(h.messages(GST_MESSAGE_ERROR), "ulimit -n");
  }
  check_drawn(h.push(rich).get(), info_of(h.output_caps()), 3);
  if (imports) {
    fail_unless(h.stat("copies") <= 1, "copies of frames for which there are descriptors: %s", h.copy_reason().c_str());
    fail_unless(h.stat("imports") >= 2);
    fail_unless_equals_uint64(h.stat("fallbacks"), 0);
  }
}
GST_END_TEST

// The memory of a GPU, as CUDA exports it: no CPU maps it. Where the driver imports nothing, the error says that too, because
// the copy was nobody's wish.
GST_START_TEST(test_memory_that_the_cpu_cannot_map)
{
  const Harness h(__i__ == 0 ? "egldmabufupload" : "egldmabufupload mode=copy");
  fail_unless(h.negotiate(dmabuf_caps("AB24", 64, 48)));
  check_drawn(h.push(new_dmabuf_frame("memfd", plain_caps("RGBA", 64, 48), 1)).get(), info_of(h.output_caps()), 1);
  if (h.stat("imports") > 0)
    return; // Mesa's software renderer would read it by the CPU, and crash
  GstBuffer *buffer = new_dmabuf_frame("memfd", plain_caps("RGBA", 64, 48), 2);
  const gsize size = gst_buffer_get_size(buffer);
  const std::string path =
      "/proc/self/fd/" + std::to_string(gst_dmabuf_memory_get_fd(gst_buffer_peek_memory(buffer, 0)));
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC); // cannot be mapped for reading
  fail_unless(fd >= 0, "%s: %s", path.c_str(), g_strerror(errno));
  const auto allocator = GstPtr<GstAllocator>::adopt(gst_dmabuf_allocator_new());
  gst_buffer_replace_all_memory(buffer, gst_dmabuf_allocator_alloc(allocator.get(), fd, size));
  fail_unless_equals_int(gst_harness_push(h.get(), buffer), GST_FLOW_ERROR);
  const std::string said = h.last_error();
  fail_unless(said.find("cannot be mapped for reading") != std::string::npos, "%s", said.c_str());
  fail_unless((said.find("It was to be copied because") == std::string::npos) == (__i__ == 1), "%s", said.c_str());
}
GST_END_TEST

// Copies in OpenGL's own textures; the frames themselves have gone back.
GST_START_TEST(test_kept_textures_are_said)
{
  check_kept_frames_are_said("videotestsrc ! video/x-raw,format=RGBA,width=16,height=16 ! egldmabufupload mode=copy",
                             "egldmabufupload", 64);
}
GST_END_TEST

Suite *egl_odd_upload_suite()
{
  Suite *suite = suite_create("egl-odd-upload");
  TCase *tcase = add_odd_cases(suite);
  tcase_add_loop_test(tcase, test_rates_in, 0, G_N_ELEMENTS(kRates));
  tcase_add_loop_test(tcase, test_modes_in, 0, G_N_ELEMENTS(kModes));
  tcase_add_test(tcase, test_fields_keep_their_colours);
  tcase_add_loop_test(tcase, test_events_in, 0, G_N_ELEMENTS(kEvents));
  tcase_add_loop_test(tcase, test_crops, 0, G_N_ELEMENTS(kCrops));
  tcase_add_loop_test(tcase, test_lies, 0, G_N_ELEMENTS(kLies));
  tcase_add_loop_test(tcase, test_thin_conversions, 0, G_N_ELEMENTS(kThin));
  tcase_add_loop_test(tcase, test_no_descriptor_left, 0, 2);
  tcase_add_loop_test(tcase, test_memory_that_the_cpu_cannot_map, 0, 2);
  tcase_add_test(tcase, test_kept_textures_are_said);
  tcase_add_loop_test(tcase, test_sizes_in, 0, G_N_ELEMENTS(kSizes));
  return suite;
}

} // namespace

int main(int argc, char **argv)
{
  return run_with_egl(argc, argv, egl_odd_upload_suite);
}
