// SPDX-License-Identifier: LGPL-2.1-or-later
// Everything that can be wrong with a device, with caps and with a buffer ends in one element error that names
// what failed, why, and what to try; and no bad buffer reaches the kernel.
#include <cerrno>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xf86drm.h>
#include <xf86drmMode.h>

#include "kms_ioctls.hpp"
#include "kms_support.hpp"

#include <gst/allocators/gstdmabuf.h>

using namespace gstdrm::test;

namespace {

// Card of a driver: numbers differ from kernel to kernel.
std::string card_of(const char *driver)
{
  for (int n = 0; n < 16; n++) {
    const std::string path = "/dev/dri/card" + std::to_string(n);
    const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0)
      continue;
    drmVersion *version = drmGetVersion(fd);
    const bool found = version && std::string(version->name) == driver;
    drmFreeVersion(version);
    close(fd);
    if (found)
      return path;
  }
  return "";
}

void expect_words(const std::string &message, const std::vector<std::string> &words, const char *row)
{
  for (const std::string &word : words)
    ck_assert_msg(message.find(word) != std::string::npos, "%s: \"%s\" is not in \"%s\"", row, word.c_str(),
                  message.c_str());
}

void expect_no_error(Sink &sink, const char *row)
{
  const std::string message = sink.next_message(GST_MESSAGE_ERROR);
  ck_assert_msg(message.empty(), "%s: one more error: %s", row, message.c_str());
}

// The sink refuses to open, with one error that has all these words.
void expect_open_error(const char *row, const std::string &properties, const std::vector<std::string> &words)
{
  Sink sink(properties.c_str());
  ck_assert_msg(!sink.set_state(GST_STATE_READY), "%s: the device was opened", row);
  expect_words(sink.next_message(GST_MESSAGE_ERROR), words, row);
  expect_no_error(sink, row);
}

struct OpenRow {
  const char *name;
  const char *properties;
  std::vector<std::string> words;
};

const OpenRow kOpenRows[] = {
    {"no such node", "device=/dev/dri/card99", {"/dev/dri/card99", "ENOENT", "no such device"}},
    {"no DRM device", "device=/dev/null driver-name=\"\"", {"/dev/null", "not a DRM device"}},
    {"closed descriptor", "fd=987", {"fd=987", "EBADF"}},
    {"no such driver", "driver-name=nosuch", {"driver-name=nosuch", "/dev/dri/card", "vkms"}},
    {"no such bus id", "bus-id=pci:0000:00:99.0", {"bus-id=pci:0000:00:99.0"}},
    {"no such connector", "connector=HDMI-A-7", {"HDMI-A-7", "Virtual-1", "connector"}},
    {"no such plane", "plane-id=99999", {"Plane 99999", "plane-id"}},
};

} // namespace

GST_START_TEST(test_open_errors)
{
  const OpenRow &row = kOpenRows[__i__];
  g_print("# %s\n", row.name);
  expect_open_error(row.name, row.properties, row.words);
}
GST_END_TEST

GST_START_TEST(test_card_without_outputs)
{
  const std::string vgem = card_of("vgem");
  ck_assert_str_ne(vgem.c_str(), "");
  expect_open_error("vgem", "driver-name=\"\" device=" + vgem, {vgem, "vgem", "card"});
}
GST_END_TEST

GST_START_TEST(test_display_is_taken)
{
  const int other = open(card_of("vkms").c_str(), O_RDWR | O_CLOEXEC); // the first to open is master
  ck_assert_int_ge(other, 0);
  ck_assert(drmIsMaster(other));
  expect_open_error("taken", "", {"vkms", "Another program holds the display", "SET_MASTER", "compositor"});
  close(other);
  Sink sink;
  ck_assert(sink.set_state(GST_STATE_READY));
}
GST_END_TEST

GST_START_TEST(test_no_permission)
{
  ck_assert_int_eq(seteuid(65534), 0);
  expect_open_error("no permission", "", {"/dev/dri/card", "EACCES", "group"});
  ck_assert_int_eq(seteuid(0), 0);
}
GST_END_TEST

// The application's own descriptor: used, and left as it was.
GST_START_TEST(test_descriptor_of_the_application)
{
  const int fd = open(card_of("vkms").c_str(), O_RDWR | O_CLOEXEC);
  ck_assert_int_ge(fd, 0);
  const GstVideoInfo info = video_info(plain_caps("BGRx", 640, 480));
  {
    Sink sink(("driver-name=\"\" fd=" + std::to_string(fd)).c_str());
    ck_assert(sink.set_caps(dma_drm_caps("XR24", 640, 480)));
    ck_assert_int_eq(sink.push(to_dmabuf(info, make_noise(info, 1).get(), Shape::Tight).release()), GST_FLOW_OK);
    sink.eos();
    ck_assert_uint_eq(sink.stat("shown"), 1);
  }
  ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
  ck_assert(drmIsMaster(fd));
  close(fd);
}
GST_END_TEST

namespace {

bool write_file(const std::string &path, const char *text)
{
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const bool written = fd >= 0 && write(fd, text, strlen(text)) == static_cast<ssize_t>(strlen(text));
  if (fd >= 0)
    close(fd);
  return written;
}

// A second vkms made through configfs, whose only connector is unplugged.
void make_unplugged_vkms(const std::string &root)
{
  for (const char *directory : {"", "/planes/p", "/crtcs/c", "/encoders/e", "/connectors/x"})
    ck_assert_msg(mkdir((root + directory).c_str(), 0755) == 0, "%s%s: %s", root.c_str(), directory,
                  strerror(errno));
  ck_assert(write_file(root + "/planes/p/type", "1"));
  ck_assert(write_file(root + "/connectors/x/status", "2"));
  ck_assert_int_eq(symlink((root + "/crtcs/c").c_str(), (root + "/planes/p/possible_crtcs/c").c_str()), 0);
  ck_assert_int_eq(symlink((root + "/crtcs/c").c_str(), (root + "/encoders/e/possible_crtcs/c").c_str()), 0);
  ck_assert_int_eq(
      symlink((root + "/encoders/e").c_str(), (root + "/connectors/x/possible_encoders/e").c_str()), 0);
  ck_assert(write_file(root + "/enabled", "1"));
}

} // namespace

GST_START_TEST(test_nothing_is_connected)
{
  make_unplugged_vkms("/sys/kernel/config/vkms/unplugged");
  expect_open_error("unplugged", "driver-name=\"\" device=/dev/dri/card2",
                    {"No output", "/dev/dri/card2", "disconnected", "connector"});
  expect_open_error("unplugged, by name", "driver-name=\"\" device=/dev/dri/card2 connector=Virtual-2",
                    {"Virtual-2", "/dev/dri/card2"});
  // left to choose, the sink takes the device that has a display
  Sink sink("driver-name=\"\"");
  ck_assert(sink.set_state(GST_STATE_READY));
}
GST_END_TEST

namespace {

struct CapsRow {
  const char *name;
  const char *properties;
  std::string caps;
  std::vector<std::string> words;
};

const CapsRow kCapsRows[] = {
    {"format of no plane", "", dma_drm_caps("YUYV", 640, 480), {"YUYV", "XR24", "vkms", "videoconvert"}},
    {"modifier of no plane", "", dma_drm_caps("XR24:0x0100000000000001", 640, 480),
     {"XR24:0x0100000000000001", "INTEL_X_TILED", "Ask upstream for XR24"}},
    {"larger than every mode", "", dma_drm_caps("XR24", 5000, 3000),
     {"5000x3000", "takes sizes from", "to 4096x2160", "videoscale"}},
    {"wider than every mode", "", dma_drm_caps("XR24", 4097, 10), {"4097x10", "sizes from"}},
    {"system memory with zero-copy=require", "zero-copy=require", plain_caps("BGRx", 640, 480),
     {"zero-copy=require", "dmabufupload"}},
    {"written linear modifier", "", dma_drm_caps("XR24:0x0000000000000000", 640, 480), {"XR24:0x0000000000000000"}},
};

} // namespace

namespace {

void keep_warnings(GstDebugCategory *, GstDebugLevel level, const gchar *, const gchar *, gint, GObject *,
                   GstDebugMessage *message, gpointer data)
{
  if (level == GST_LEVEL_WARNING)
    *static_cast<std::string *>(data) += gst_debug_message_get(message);
}

} // namespace

GST_START_TEST(test_refused_caps)
{
  const CapsRow &row = kCapsRows[__i__];
  g_print("# %s\n", row.name);
  std::string log;
  gst_debug_set_active(TRUE);
  gst_debug_set_threshold_for_name("kmsdmabufsink", GST_LEVEL_WARNING);
  gst_debug_remove_log_function(gst_debug_log_default);
  gst_debug_add_log_function(keep_warnings, &log, nullptr);
  Sink sink(row.properties);
  ck_assert_msg(!sink.set_caps(row.caps), "%s was accepted", row.name);
  gst_debug_remove_log_function(keep_warnings);
  expect_words(sink.next_message(GST_MESSAGE_ERROR), row.words, row.name);
  expect_no_error(sink, row.name);
  // the formats are listed where one of them would have helped
  const bool is_size = strstr(row.name, "every mode") != nullptr;
  ck_assert_msg((log.find("sizes from") != std::string::npos) == is_size, "%s: %s", row.name, log.c_str());
  ck_assert_msg(!is_size || log.find("planes take") == std::string::npos, "%s: %s", row.name, log.c_str());
}
GST_END_TEST

namespace {

constexpr int kWidth = 640, kHeight = 480;

GstBuffer *system_memory(const GstVideoInfo &info)
{
  return make_noise(info, 1).release();
}

GstBuffer *too_small(const GstVideoInfo &)
{
  return allocate(GST_DRM_ALLOCATOR_KIND_UDMABUF, 0x34325258, kWidth, 16).release();
}

GstBuffer *without_meta_too_short(const GstVideoInfo &)
{
  auto small = GstPtr<GstBuffer>::adopt(too_small({}));
  GstBuffer *buffer = gst_buffer_new();
  gst_buffer_append_memory(buffer, gst_buffer_get_memory(small.get(), 0));
  return buffer;
}

GstBuffer *with_lying_meta(const GstVideoInfo &info, gsize offset, gint stride)
{
  GstPtr<GstBuffer> good = to_dmabuf(info, make_noise(info, 1).get(), Shape::Tight);
  GstBuffer *buffer = gst_buffer_new();
  gst_buffer_append_memory(buffer, gst_buffer_get_memory(good.get(), 0));
  gsize offsets[GST_VIDEO_MAX_PLANES] = {offset};
  gint strides[GST_VIDEO_MAX_PLANES] = {stride};
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_BGRx, kWidth, kHeight, 1,
                                 offsets, strides);
  return buffer;
}

GstBuffer *stride_too_small(const GstVideoInfo &info)
{
  return with_lying_meta(info, 0, kWidth * 4 - 4);
}

GstBuffer *offset_past_the_end(const GstVideoInfo &info)
{
  return with_lying_meta(info, gsize{1} << 30, kWidth * 4);
}

GstBuffer *rows_past_the_end(const GstVideoInfo &info)
{
  return with_lying_meta(info, 0, kWidth * 8);
}

GstBuffer *dead_descriptor(const GstVideoInfo &info)
{
  GstPtr<GstBuffer> good = to_dmabuf(info, make_noise(info, 1).get(), Shape::Tight);
  const int fd = dup(gst_dmabuf_memory_get_fd(gst_buffer_peek_memory(good.get(), 0)));
  const auto allocator = GstPtr<GstAllocator>::adopt(gst_dmabuf_allocator_new());
  GstBuffer *buffer = gst_buffer_new();
  gst_buffer_append_memory(buffer, gst_dmabuf_allocator_alloc_with_flags(allocator.get(), fd,
                                                                         gsize{kWidth} * kHeight * 4,
                                                                         GST_FD_MEMORY_FLAG_DONT_CLOSE));
  close(fd);
  return buffer;
}

struct BufferRow {
  const char *name;
  GstBuffer *(*make)(const GstVideoInfo &info);
  std::vector<std::string> words;
};

const BufferRow kBufferRows[] = {
    {"system memory under memory:DMABuf caps", system_memory, {"memory:DMABuf", "other memory"}},
    {"meta of another size", too_small, {"16"}},
    {"no meta, memory too short", without_meta_too_short, {}},
    {"stride below the row", stride_too_small, {"2556"}},
    {"offset past the end", offset_past_the_end, {"1073741824"}},
    {"rows past the end", rows_past_the_end, {"5120"}},
    {"closed descriptor", dead_descriptor, {}},
};

} // namespace

GST_START_TEST(test_refused_buffers)
{
  const BufferRow &row = kBufferRows[__i__];
  g_print("# %s\n", row.name);
  const GstVideoInfo info = video_info(plain_caps("BGRx", kWidth, kHeight));
  Sink sink;
  ck_assert(sink.set_caps(dma_drm_caps("XR24", kWidth, kHeight)));
  GstBuffer *buffer = row.make(info);
  const unsigned before = count_drm_ioctls();
  ck_assert_uint_gt(before, 0);
  ck_assert_int_eq(sink.push(buffer), GST_FLOW_ERROR);
  ck_assert_uint_eq(count_drm_ioctls(), before);
  const std::string message = sink.next_message(GST_MESSAGE_ERROR);
  ck_assert(!message.empty());
  gstdrm::test::say(message);
  expect_words(message, row.words, row.name);
}
GST_END_TEST

// A dma-buf that the driver cannot import (a memfd posing as one): copied under prefer, and said so.
GST_START_TEST(test_unimportable_memory)
{
  const bool require = __i__ == 1;
  const GstVideoInfo info = video_info(plain_caps("BGRx", kWidth, kHeight));
  const GstPtr<GstBuffer> picture = make_noise(info, 5);
  Sink sink(require ? "zero-copy=require" : "");
  ck_assert(sink.set_caps(dma_drm_caps("XR24", kWidth, kHeight)));
  GstPtr<GstBuffer> memfd = allocate(GST_DRM_ALLOCATOR_KIND_MEMFD, 0x34325258, kWidth, kHeight);
  ck_assert(gst_is_dmabuf_memory(gst_buffer_peek_memory(memfd.get(), 0)));
  GstVideoFrame from, to;
  ck_assert(gst_video_frame_map(&from, &info, picture.get(), GST_MAP_READ));
  ck_assert(gst_video_frame_map(&to, &info, memfd.get(), GST_MAP_WRITE));
  gst_video_frame_copy(&to, &from);
  gst_video_frame_unmap(&to);
  gst_video_frame_unmap(&from);

  const GstFlowReturn ret = sink.push(memfd.release());
  if (require) {
    ck_assert_int_eq(ret, GST_FLOW_ERROR);
    expect_words(sink.next_message(GST_MESSAGE_ERROR), {"import"}, "memfd");
    return;
  }
  ck_assert_int_eq(ret, GST_FLOW_OK);
  expect_words(sink.next_message(GST_MESSAGE_INFO), {"copied", "import"}, "memfd");
  const GstPtr<GstSample> sample = sink.snapshot();
  ck_assert(sample);
  ck_assert_int_eq(largest_difference(sample.get(), reference(info, picture.get(), kWidth, kHeight)), 0);
  ck_assert_uint_eq(sink.stat("copies"), 1);
}
GST_END_TEST

static Suite *kms_errors_suite(void)
{
  Suite *s = suite_create("kms-errors");
  TCase *tc = tcase_create("errors");
  suite_add_tcase(s, tc);
  tcase_set_timeout(tc, 60);
  tcase_add_loop_test(tc, test_open_errors, 0, G_N_ELEMENTS(kOpenRows));
  tcase_add_test(tc, test_card_without_outputs);
  tcase_add_test(tc, test_display_is_taken);
  tcase_add_test(tc, test_no_permission);
  tcase_add_test(tc, test_descriptor_of_the_application);
  tcase_add_loop_test(tc, test_refused_caps, 0, G_N_ELEMENTS(kCapsRows));
  tcase_add_loop_test(tc, test_refused_buffers, 0, G_N_ELEMENTS(kBufferRows));
  tcase_add_loop_test(tc, test_unimportable_memory, 0, 2);
  tcase_add_test(tc, test_nothing_is_connected); // last: the second device stays
  return s;
}

GST_DRM_CHECK_MAIN(kms_errors)
