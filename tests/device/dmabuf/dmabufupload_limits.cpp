// SPDX-License-Identifier: LGPL-2.1-or-later
// udmabuf's size limit as the kernel has it: auto takes a dma-heap beyond it and says so, and a user
// who named udmabuf hears what to do. /sys/module/udmabuf/parameters/size_limit_mb is writable here.
#include <fstream>
#include <string>

#include "support/dmabuf_elements.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

constexpr const char *kParameter = "/sys/module/udmabuf/parameters/size_limit_mb";

int size_limit()
{
  int mib = 0;
  std::ifstream(kParameter) >> mib;
  return mib;
}

// The limit for one test; 0: as it is.
class SizeLimit {
public:
  explicit SizeLimit(int mib) : before_(size_limit())
  {
    if (mib > 0)
      set(mib);
  }
  ~SizeLimit() { set(before_); }
  SizeLimit(const SizeLimit &) = delete;
  SizeLimit &operator=(const SizeLimit &) = delete;

  static void set(int mib)
  {
    std::ofstream(kParameter) << mib << std::flush;
    fail_unless_equals_int(size_limit(), mib);
  }

private:
  int before_;
};

// Who exported a dma-buf, as the kernel has it: "udmabuf", "system" (the heap).
std::string exporter_of(GstBuffer *buffer)
{
  const int fd = gst_dmabuf_memory_get_fd(gst_buffer_peek_memory(buffer, 0));
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(fd));
  for (std::string word; info >> word;)
    if (word == "exp_name:" && info >> word)
      return word;
  return "no dma-buf";
}

void check_exporter(GstBuffer *buffer, const char *expected)
{
  const std::string exporter = exporter_of(buffer); // the macro keeps a pointer
  fail_unless_equals_string(exporter.c_str(), expected);
}

struct AutoRow {
  const char *name;
  int limit_mib; // 0: the kernel's default, 64
  const char *format;
  int width;
  int height;
  const char *exporter;
};

constexpr AutoRow kAuto[] = {
    {"within the default limit", 0, "NV12", 1920, 1080, "udmabuf"},
    {"8K, default limit", 0, "BGRx", 7680, 4320, "system"},
    {"within a lower limit", 2, "NV12", 1280, 720, "udmabuf"},
    {"one page beyond", 1, "GRAY8", 1024, 1025, "system"},
    {"exactly the limit", 1, "GRAY8", 1024, 1024, "udmabuf"},
    {"P010", 4, "P010_10LE", 1920, 1080, "system"},
};

GST_START_TEST(test_library)
{
  const AutoRow &row = kAuto[__i__];
  const SizeLimit limit(row.limit_mib);
  GstDrmAllocator *allocator = gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_AUTO, nullptr, nullptr);
  fail_unless_equals_int(gst_drm_allocator_get_kind(allocator), GST_DRM_ALLOCATOR_KIND_UDMABUF);
  const GstVideoInfo info = video_info(plain_caps(row.format, row.width, row.height));
  guint64 modifier = 0;
  const guint32 fourcc = gst_drm_format_from_video_format(GST_VIDEO_INFO_FORMAT(&info), &modifier);
  GError *error = nullptr;
  const auto buffer = GstPtr<GstBuffer>::adopt(gst_drm_allocator_alloc_frame(
      allocator, fourcc, static_cast<guint>(row.width), static_cast<guint>(row.height), &modifier, 1, nullptr, nullptr,
      &error));
  fail_unless(buffer, "%s: %s", row.name, error ? error->message : "");
  check_exporter(buffer.get(), row.exporter);
  g_autofree gchar *notice = gst_drm_allocator_get_notice(allocator);
  fail_unless((notice != nullptr) == (std::string(row.exporter) != "udmabuf"), "%s: %s", row.name, notice);
  // plain bytes alike
  const auto memory = GstPtr<GstMemory>::adopt(
      gst_allocator_alloc(GST_ALLOCATOR(allocator), gst_buffer_get_size(buffer.get()), nullptr));
  fail_unless(memory && gst_is_dmabuf_memory(memory.get()));
  gst_object_unref(allocator);
}
GST_END_TEST

// One message says the limit, the heap, and how to raise the limit; the pictures are the same.
GST_START_TEST(test_upload)
{
  const SizeLimit limit(1);
  const Harness h("dmabufupload");
  const std::string caps = plain_caps("BGRx", 640, 480);
  const GstVideoInfo info = video_info(caps);
  fail_unless(h.negotiate(caps));
  if (__i__ == 1) { // upstream takes the pool
    const auto pool = take_pool(h.ask_allocation(caps).get(), caps, true);
    GstBuffer *buffer = acquire(pool);
    check_exporter(buffer, "system");
    draw(buffer, info, 1);
    const auto out = h.push(buffer);
    check_drawn(out.get(), info, 1);
    gst_buffer_pool_set_active(pool.get(), FALSE);
  } else {
    for (guint i = 0; i < 3; ++i) {
      const auto out = h.push(new_frame(caps, i));
      check_exporter(out.get(), "system");
      check_drawn(out.get(), info, i);
    }
  }
  std::vector<std::string> texts = h.messages(GST_MESSAGE_INFO);
  std::erase_if(texts, [](const std::string &text) { return text.find("are copied") != std::string::npos; });
  CHECK_ONE_MESSAGE(texts, "1 MiB per buffer", "size_limit_mb", "dma-heap (system)", "modprobe.d");
  fail_unless(h.messages(GST_MESSAGE_WARNING).empty());
}
GST_END_TEST

// The user named udmabuf: no other takes its place, and the error says what would.
GST_START_TEST(test_named_udmabuf)
{
  const SizeLimit limit(1);
  GError *error = nullptr;
  GstDrmAllocator *allocator = gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_UDMABUF, nullptr, &error);
  const guint64 linear = GST_DRM_MODIFIER_LINEAR;
  fail_unless(gst_drm_allocator_alloc_frame(allocator, gst_drm_format_from_video_format(GST_VIDEO_FORMAT_BGRx, nullptr), 640,
                                            480, &linear, 1, nullptr, nullptr, &error) == nullptr);
  for (const char *part : {"1 MiB per buffer", "size_limit_mb=", "dma-heap"})
    fail_unless(std::string(error->message).find(part) != std::string::npos, "%s", error->message);
  g_error_free(error);
  gst_object_unref(allocator);
}
GST_END_TEST

// The limit is raised while a stream runs: the next frames are udmabufs again.
GST_START_TEST(test_raised_limit)
{
  const SizeLimit limit(1);
  GstDrmAllocator *allocator = gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_AUTO, nullptr, nullptr);
  const guint64 linear = GST_DRM_MODIFIER_LINEAR;
  for (const char *exporter : {"system", "udmabuf"}) {
    const auto buffer = GstPtr<GstBuffer>::adopt(
        gst_drm_allocator_alloc_frame(allocator, gst_drm_format_from_video_format(GST_VIDEO_FORMAT_BGRx, nullptr), 640, 480,
                                      &linear, 1, nullptr, nullptr, nullptr));
    check_exporter(buffer.get(), exporter);
    SizeLimit::set(8);
  }
  gst_object_unref(allocator);
}
GST_END_TEST

Suite *dmabufupload_limits_suite()
{
  Suite *suite = suite_create("dmabufupload_limits");
  TCase *tcase = tcase_create("udmabuf");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_library, 0, G_N_ELEMENTS(kAuto));
  tcase_add_loop_test(tcase, test_upload, 0, 2);
  tcase_add_test(tcase, test_named_udmabuf);
  tcase_add_test(tcase, test_raised_limit);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(dmabufupload_limits)
