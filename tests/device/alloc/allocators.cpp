// SPDX-License-Identifier: LGPL-2.1-or-later
// Every kind of allocator on a real kernel: udmabuf, dma-heap, vkms's dumb buffers, and GBM on vkms.
#include <string>
#include <vector>

#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <xf86drm.h>

#include "allocator_kinds.hpp"
#include "support/replace_ioctl.hpp"

namespace {

// What the process says to DMA_BUF_IOCTL_SYNC while `watch_sync` is set: GStreamer's calls come here
// too, because a program's symbols go before a library's.
bool watch_sync = false;
std::vector<std::uint64_t> sync_flags;

// What a driver answers in place of this kernel's: an errno, or that it lacks a capability.
struct Refusal {
  unsigned long request;
  std::uint64_t capability; // of DRM_IOCTL_GET_CAP
  int sys_errno;
  int times;
} refusal = {};

bool refuses(unsigned long request, const void *argument) noexcept
{
  return refusal.times > 0 && request == refusal.request &&
         (request != DRM_IOCTL_GET_CAP || static_cast<const drm_get_cap *>(argument)->capability == refusal.capability);
}

} // namespace

int gstdrm::test::replaced_ioctl(int fd, unsigned long request, void *argument) noexcept
{
  if (refuses(request, argument)) {
    refusal.times--;
    errno = refusal.sys_errno;
    if (request == DRM_IOCTL_GET_CAP)
      static_cast<drm_get_cap *>(argument)->value = 0;
    return request == DRM_IOCTL_GET_CAP ? 0 : -1;
  }
  if (watch_sync && request == DMA_BUF_IOCTL_SYNC)
    sync_flags.push_back(static_cast<const dma_buf_sync *>(argument)->flags);
  return static_cast<int>(::syscall(SYS_ioctl, fd, request, argument));
}

namespace {

using namespace gstdrm::test;
using gstdrm::UniqueFd;

// A real dma-buf, which fstat and lseek tell from any file, and the type says where from.
GST_START_TEST(test_is_dmabuf)
{
  const KindRow &kind = kKinds[__i__];
  GstDrmAllocator *allocator = new_of_row(kind);
  fail_unless_equals_string(G_OBJECT_TYPE_NAME(allocator), kind.type_name);
  fail_unless_equals_int(gst_drm_allocator_get_kind(allocator), kind.kind);
  fail_unless(gst_drm_allocator_get_device(allocator) != nullptr);
  GstBuffer *buffer = alloc_linear(allocator, {"NV12", 640, 480});
  const gint fd = gst_dmabuf_memory_get_fd(gst_buffer_peek_memory(buffer, 0));
  gchar *link = g_strdup_printf("/proc/self/fd/%d", fd);
  gchar *target = g_file_read_link(link, nullptr);
  fail_unless(target && g_str_has_prefix(target, "/dmabuf:"), "%s", target);
  fail_unless((::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
  g_free(target);
  g_free(link);
  gst_buffer_unref(buffer);
  gst_object_unref(allocator);
}
GST_END_TEST

struct SyncRow {
  GstMapFlags map;
  std::uint64_t access;
};

constexpr SyncRow kSyncs[] = {
    {GST_MAP_READ, DMA_BUF_SYNC_READ}, {GST_MAP_WRITE, DMA_BUF_SYNC_WRITE}, {GST_MAP_READWRITE, DMA_BUF_SYNC_RW}};

GST_START_TEST(test_maps_are_bracketed)
{
  GstDrmAllocator *allocator = new_of_row(kKinds[__i__]);
  GstBuffer *buffer = alloc_linear(allocator, {"XR24", 64, 64});
  const guint8 *first = nullptr;
  for (const SyncRow &row : kSyncs) {
    GstMapInfo map;
    sync_flags.clear();
    watch_sync = true;
    fail_unless(gst_buffer_map(buffer, &map, row.map));
    first = first ? first : map.data;
    fail_unless(map.data == first, "mapped twice");
    fail_unless_equals_int(sync_flags.size(), 1);
    fail_unless_equals_uint64(sync_flags[0], DMA_BUF_SYNC_START | row.access);
    gst_buffer_unmap(buffer, &map);
    watch_sync = false;
    fail_unless_equals_int(sync_flags.size(), 2);
    fail_unless_equals_uint64(sync_flags[1], DMA_BUF_SYNC_END | row.access);
  }
  gst_buffer_unref(buffer);
  gst_object_unref(allocator);
}
GST_END_TEST

GST_START_TEST(test_plain_memory)
{
  const KindRow &kind = kKinds[__i__];
  GstDrmAllocator *allocator = new_of_row(kind);
  GstMemory *memory = gst_allocator_alloc(GST_ALLOCATOR(allocator), 5000, nullptr);
  fail_unless((memory != nullptr) == kind.plain_memory);
  fail_unless(GST_OBJECT_FLAG_IS_SET(allocator, GST_ALLOCATOR_FLAG_CUSTOM_ALLOC) != kind.plain_memory);
  if (memory) {
    GstMapInfo map;
    fail_unless(gst_memory_map(memory, &map, GST_MAP_WRITE));
    fail_unless_equals_uint64(map.size, 5000);
    std::memset(map.data, 42, map.size);
    gst_memory_unmap(memory, &map);
    gst_memory_unref(memory);
  }
  gst_object_unref(allocator);
}
GST_END_TEST

GST_START_TEST(test_no_descriptor_is_left)
{
  const KindRow &kind = kKinds[__i__];
  gst_object_unref(new_of_row(kind)); // drivers open what they keep
  const std::size_t fds = count_fds();
  GstDrmAllocator *allocator = new_of_row(kind);
  const std::size_t opened = count_fds();
  for (int i = 0; i < 1000; ++i)
    gst_buffer_unref(alloc_linear(allocator, {"NV12", 64, 64}));
  fail_unless_equals_int(count_fds(), opened);
  gst_object_unref(allocator);
  fail_unless_equals_int(count_fds(), fds);
}
GST_END_TEST

void write_text(const char *path, const char *text)
{
  const UniqueFd fd(::open(path, O_WRONLY | O_CLOEXEC));
  const auto length = static_cast<ssize_t>(std::strlen(text));
  fail_unless(fd && ::write(fd.get(), text, std::strlen(text)) == length, "%s: %s", path, g_strerror(errno));
}

// Has the kernel fail the n-th allocation or copy of this thread (fault-injection.rst, fail-nth).
class FailNth {
public:
  FailNth() : fd_(::open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC))
  {
    fail_unless(static_cast<bool>(fd_), "no fail-nth: %s", g_strerror(errno));
    write_text("/sys/kernel/debug/failslab/ignore-gfp-wait", "N");
    write_text("/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait", "N");
    write_text("/sys/kernel/debug/fail_page_alloc/min-order", "0");
  }
  void arm(int n)
  {
    const std::string text = std::to_string(n);
    while (::pwrite(fd_.get(), text.c_str(), text.size(), 0) < 0)
      fail_unless(errno == EFAULT, "%s", g_strerror(errno)); // the copy of this very write was counted
  }
  // False: fewer than n happened.
  bool disarm()
  {
    char text[16] = {};
    while (::pread(fd_.get(), text, sizeof(text) - 1, 0) < 0)
      fail_unless(errno == EFAULT, "%s", g_strerror(errno));
    while (::pwrite(fd_.get(), "0", 1, 0) < 0)
      fail_unless(errno == EFAULT, "%s", g_strerror(errno));
    return std::atoi(text) == 0;
  }

private:
  UniqueFd fd_;
};

constexpr GstDrmAllocatorKind kInjected[] = {GST_DRM_ALLOCATOR_KIND_UDMABUF, GST_DRM_ALLOCATOR_KIND_DMA_HEAP,
                                             GST_DRM_ALLOCATOR_KIND_DUMB};

GST_START_TEST(test_every_failure_is_clean)
{
  GstDrmAllocator *allocator = new_allocator(kInjected[__i__]);
  gst_buffer_unref(alloc_linear(allocator, {"NV12", 64, 64})); // GLib's own caches are warm now
  FailNth fault;
  std::size_t fds = count_fds();
  const guint64 linear = GST_DRM_MODIFIER_LINEAR;
  int refused = 0;
  int n = 1;
  for (bool injected = true; injected; ++n) {
    fail_unless(n < 500, "no end of it");
    GError *error = nullptr;
    fault.arm(n);
    GstBuffer *buffer = gst_drm_allocator_alloc_frame(allocator, kNv12, 64, 64, &linear, 1, nullptr, nullptr, &error);
    injected = fault.disarm();
    fail_unless((buffer == nullptr) == (error != nullptr));
    if (error) {
      fail_unless_equals_int(error->code, GST_DRM_ERROR_ALLOCATION);
      fail_unless(std::strstr(error->message, ": E") != nullptr, "%s", error->message);
      ++refused;
    }
    // EFAULT at the end of a DRM ioctl: the kernel has installed the descriptor and could not tell its
    // number (drm_ioctl() copies out last), so nobody can close it.
    const bool lost = error && std::strstr(error->message, "EFAULT");
    gst_clear_buffer(&buffer);
    fail_unless(count_fds() == fds || (lost && count_fds() == fds + 1), "point %d: %zu descriptors, %zu before: %s", n,
                count_fds(), fds, error ? error->message : "no error");
    fds = count_fds();
    g_clear_error(&error);
  }
  fail_unless(refused > 3, "only %d of %d points refused", refused, n);
  gst_buffer_unref(alloc_linear(allocator, {"NV12", 64, 64}));
  gst_object_unref(allocator);
}
GST_END_TEST

struct AnswerRow {
  const char *name;
  GstDrmAllocatorKind kind;
  Refusal refusal;
  const char *said;   // part of the error; nullptr: the allocator opens
  const char *unsaid; // no part of it
};

constexpr AnswerRow kAnswers[] = {
    {"no dumb buffers", GST_DRM_ALLOCATOR_KIND_DUMB, {DRM_IOCTL_GET_CAP, DRM_CAP_DUMB_BUFFER, 0, G_MAXINT}, "makes no dumb buffers", "PRIME"},
    {"no PRIME", GST_DRM_ALLOCATOR_KIND_DUMB, {DRM_IOCTL_GET_CAP, DRM_CAP_PRIME, 0, G_MAXINT}, "cannot export dma-bufs (no PRIME)", "dumb buffers"},
    {"no dumb memory", GST_DRM_ALLOCATOR_KIND_DUMB, {DRM_IOCTL_MODE_CREATE_DUMB, 0, ENOSPC, G_MAXINT}, "bytes: ENOSPC", "PRIME"},
    {"a heap is interrupted", GST_DRM_ALLOCATOR_KIND_DMA_HEAP, {DMA_HEAP_IOCTL_ALLOC, 0, EINTR, 2}, nullptr, nullptr},
    {"a heap without memory", GST_DRM_ALLOCATOR_KIND_DMA_HEAP, {DMA_HEAP_IOCTL_ALLOC, 0, ENOMEM, G_MAXINT}, "it is out of memory", "EINVAL"},
    {"a heap that refuses", GST_DRM_ALLOCATOR_KIND_DMA_HEAP, {DMA_HEAP_IOCTL_ALLOC, 0, EINVAL, G_MAXINT}, "EINVAL", "out of memory"},
    {"udmabuf is forbidden", GST_DRM_ALLOCATOR_KIND_UDMABUF, {UDMABUF_CREATE, 0, EPERM, G_MAXINT}, "bytes: EPERM", "raise that"},
};

// Refused while it is opened, by one frame for a trial; nothing is left open.
GST_START_TEST(test_answers)
{
  const AnswerRow &row = kAnswers[__i__];
  const std::string node = vkms_node();
  const std::size_t fds = count_fds();
  GError *error = nullptr;
  refusal = row.refusal;
  GstDrmAllocator *allocator = gst_drm_allocator_new(row.kind, row.kind == GST_DRM_ALLOCATOR_KIND_DUMB ? node.c_str() : nullptr, &error);
  fail_unless(refusal.times < row.refusal.times, "%s: nothing was asked", row.name);
  refusal = {};
  fail_unless((allocator == nullptr) == (row.said != nullptr), "%s: %s", row.name, error ? error->message : "no error");
  fail_unless(!error || (std::strstr(error->message, row.said) && !std::strstr(error->message, row.unsaid)), "%s: %s", row.name, error ? error->message : "");
  g_clear_error(&error);
  g_clear_object(&allocator);
  fail_unless_equals_int(count_fds(), fds);
}
GST_END_TEST

GST_START_TEST(test_udmabuf_limit)
{
  const guint64 linear = GST_DRM_MODIFIER_LINEAR;
  GError *error = nullptr;
  GstDrmAllocator *allocator = new_allocator(GST_DRM_ALLOCATOR_KIND_UDMABUF);
  const std::size_t fds = count_fds();
  fail_if(gst_drm_allocator_alloc_frame(allocator, fourcc_of("XR24"), 8192, 8192, &linear, 1, nullptr, nullptr, &error));
  fail_unless(std::strstr(error->message, "64 MiB") != nullptr, "%s", error->message);
  fail_unless(std::strstr(error->message, "268435456") != nullptr, "%s", error->message);
  fail_unless(std::strstr(error->message, "size_limit_mb") != nullptr, "%s", error->message);
  fail_unless_equals_int(count_fds(), fds);
  g_error_free(error);
  gst_object_unref(allocator);
}
GST_END_TEST

struct NameRow {
  const char *device; // NULL: none; "card": the display's node
  GstDrmAllocatorKind kind;
  const char *reported;
};

constexpr NameRow kNames[] = {
    {nullptr, GST_DRM_ALLOCATOR_KIND_UDMABUF, "/dev/udmabuf"},
    {"/dev/udmabuf", GST_DRM_ALLOCATOR_KIND_UDMABUF, "/dev/udmabuf"},
    {"system", GST_DRM_ALLOCATOR_KIND_DMA_HEAP, "system"},
    {"/dev/dma_heap/system", GST_DRM_ALLOCATOR_KIND_DMA_HEAP, "system"},
    {"card", GST_DRM_ALLOCATOR_KIND_DUMB, "card"},
};

// A device says what kind it is, and what was reported opens the same again.
GST_START_TEST(test_auto_with_device)
{
  const NameRow &row = kNames[__i__];
  const std::string card = vkms_node();
  const auto named = [&](const char *name) { return name && g_str_equal(name, "card") ? card.c_str() : name; };
  GstDrmAllocator *allocator = new_allocator(GST_DRM_ALLOCATOR_KIND_AUTO, named(row.device));
  fail_unless_equals_int(gst_drm_allocator_get_kind(allocator), row.kind);
  fail_unless_equals_string(gst_drm_allocator_get_device(allocator), named(row.reported));
  GstDrmAllocator *again = new_allocator(row.kind, gst_drm_allocator_get_device(allocator));
  gst_object_unref(again);
  gst_object_unref(allocator);
}
GST_END_TEST

GST_START_TEST(test_heap_that_is_not_there_names_those_that_are)
{
  GError *error = nullptr;
  fail_if(gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_DMA_HEAP, "linux,cma", &error));
  fail_unless(g_error_matches(error, GST_DRM_ERROR, GST_DRM_ERROR_DEVICE));
  fail_unless(std::strstr(error->message, "heaps here: system") != nullptr, "%s", error->message);
  g_error_free(error);
}
GST_END_TEST

// vgem has a card node too, and no display behind it.
GST_START_TEST(test_card_without_dumb_buffers)
{
  const std::string display = vkms_node();
  for (const char *node : {"/dev/dri/card0", "/dev/dri/card1"}) {
    if (display == node)
      continue;
    GError *error = nullptr;
    fail_if(gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_DUMB, node, &error));
    fail_unless(g_error_matches(error, GST_DRM_ERROR, GST_DRM_ERROR_DEVICE));
    fail_unless(std::strstr(error->message, node) != nullptr, "%s", error->message);
    g_error_free(error);
  }
}
GST_END_TEST

// A display's owner opens it later and must become its master.
GST_START_TEST(test_nobody_is_master)
{
  const KindRow &kind = kKinds[__i__];
  const std::string node = vkms_node();
  GstDrmAllocator *allocator = new_of_row(kind);
  const UniqueFd card(::open(node.c_str(), O_RDWR | O_CLOEXEC));
  fail_unless(static_cast<bool>(card));
  fail_unless(drmIsMaster(card.get()));
  gst_buffer_unref(alloc_linear(allocator, {"XR24", 64, 64}));
  fail_unless(drmIsMaster(card.get()));
  gst_object_unref(allocator);
}
GST_END_TEST

constexpr GstDrmAllocatorKind kForFd[] = {
    GST_DRM_ALLOCATOR_KIND_DUMB,
    GST_DRM_ALLOCATOR_KIND_AUTO,
#if defined(HAVE_GBM)
    GST_DRM_ALLOCATOR_KIND_GBM,
#endif
};

// The importer on the same open file owns the handle that it gets, whatever the allocator does.
GST_START_TEST(test_handles_belong_to_the_importer)
{
  const UniqueFd card(::open(vkms_node().c_str(), O_RDWR | O_CLOEXEC));
  GError *error = nullptr;
  GstDrmAllocator *allocator = gst_drm_allocator_new_for_fd(kForFd[__i__], card.get(), &error);
  fail_unless(allocator != nullptr, "%s", error ? error->message : "no error");
  const FrameRow row{"XR24", 64, 64};
  GstBuffer *buffer = alloc_linear(allocator, row);
  const int fd = gst_dmabuf_memory_get_fd(gst_buffer_peek_memory(buffer, 0));
  std::uint32_t handle = 0;
  fail_unless_equals_int(drmPrimeFDToHandle(card.get(), fd, &handle), 0);

  // the buffer dies, another is made: the handle is still the first one's
  write_frame(buffer, row);
  gst_buffer_unref(buffer);
  gst_buffer_unref(alloc_linear(allocator, row));
  int exported = -1;
  fail_unless_equals_int(drmPrimeHandleToFD(card.get(), handle, DRM_CLOEXEC, &exported), 0);
  ::close(exported);

  // the handle dies, the buffer lives
  buffer = alloc_linear(allocator, row);
  std::uint32_t second = 0;
  fail_unless_equals_int(
      drmPrimeFDToHandle(card.get(), gst_dmabuf_memory_get_fd(gst_buffer_peek_memory(buffer, 0)), &second), 0);
  fail_unless(second != handle);
  fail_unless_equals_int(drmCloseBufferHandle(card.get(), second), 0);
  fail_unless_equals_int(drmCloseBufferHandle(card.get(), handle), 0);
  write_frame(buffer, row);
  check_frame(buffer, row);
  gst_buffer_unref(buffer);
  gst_object_unref(allocator);
}
GST_END_TEST

// The descriptor that was passed in may be closed at once.
GST_START_TEST(test_fd_stays_the_callers)
{
  const std::string node = vkms_node();
  UniqueFd card(::open(node.c_str(), O_RDWR | O_CLOEXEC));
  GstDrmAllocator *allocator = gst_drm_allocator_new_for_fd(kForFd[__i__], card.get(), nullptr);
  fail_unless(allocator != nullptr);
  fail_unless(::fcntl(card.get(), F_GETFD) >= 0);
  card.reset();
  gst_buffer_unref(alloc_linear(allocator, {"NV12", 640, 480}));
  fail_unless_equals_string(gst_drm_allocator_get_device(allocator), node.c_str());
  gst_object_unref(allocator);
}
GST_END_TEST

// Every kind says what it can make, linear NV12 among it; all but gbm say the same.
GST_START_TEST(test_formats)
{
  const KindRow &kind = kKinds[__i__];
  GstDrmAllocator *allocator = new_of_row(kind);
  g_autoptr(GstDrmFormatSet) formats = gst_drm_allocator_get_formats(allocator);
  fail_unless(gst_drm_format_set_contains(formats, fourcc_of("NV12"), GST_DRM_MODIFIER_LINEAR));
  if (kind.kind != GST_DRM_ALLOCATOR_KIND_GBM) {
    GstDrmAllocator *memfd = gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_MEMFD, nullptr, nullptr);
    g_autoptr(GstDrmFormatSet) linear = gst_drm_allocator_get_formats(memfd);
    fail_unless(gst_drm_format_set_is_equal(formats, linear));
    gst_object_unref(memfd);
  }
  gst_object_unref(allocator);
}
GST_END_TEST

#if defined(HAVE_GBM)
GST_START_TEST(test_gbm_formats)
{
  GstDrmAllocator *allocator = new_of_row(kKinds[kKindCount - 1]);
  GstDrmFormatSet *formats = gst_drm_allocator_get_formats(allocator);
  fail_unless(formats != nullptr);
  fail_unless(gst_drm_format_set_contains(formats, fourcc_of("XR24"), GST_DRM_MODIFIER_LINEAR));
  fail_unless(gst_drm_format_set_contains(formats, fourcc_of("NV12"), GST_DRM_MODIFIER_LINEAR));
  fail_if(gst_drm_format_set_contains(formats, fourcc_of("XR24"), kXTiled));
  gst_drm_format_set_unref(formats);
  gst_object_unref(allocator);
}
GST_END_TEST

// The implicit modifier is taken where nothing else is offered, and LINEAR goes before it.
GST_START_TEST(test_gbm_implicit)
{
  const guint64 offered[] = {GST_DRM_MODIFIER_IMPLICIT, GST_DRM_MODIFIER_LINEAR};
  GstDrmAllocator *allocator = new_of_row(kKinds[kKindCount - 1]);
  GError *error = nullptr;
  guint64 chosen = 42;
  GstBuffer *buffer =
      gst_drm_allocator_alloc_frame(allocator, fourcc_of("XR24"), 640, 480, offered, 1, nullptr, &chosen, &error);
  fail_unless(buffer != nullptr, "%s", error ? error->message : "no error");
  fail_unless(chosen == GST_DRM_MODIFIER_IMPLICIT || chosen == GST_DRM_MODIFIER_LINEAR);
  gst_buffer_unref(buffer);
  buffer = gst_drm_allocator_alloc_frame(allocator, fourcc_of("XR24"), 640, 480, offered, 2, nullptr, &chosen, &error);
  fail_unless(buffer != nullptr, "%s", error ? error->message : "no error");
  fail_unless_equals_uint64(chosen, GST_DRM_MODIFIER_LINEAR);
  gst_buffer_unref(buffer);
  gst_object_unref(allocator);
}
GST_END_TEST
#endif

// A decoder's padding on memory that decides its pitch itself.
GST_START_TEST(test_alignment)
{
  GstVideoAlignment align;
  gst_video_alignment_reset(&align);
  align.padding_left = align.padding_right = align.padding_top = align.padding_bottom = 32;
  for (guint &mask : align.stride_align)
    mask = 63;
  GstDrmAllocator *allocator = new_of_row(kKinds[__i__]);
  for (const FrameRow &row : {FrameRow{"NV12", 641, 481}, FrameRow{"YU12", 320, 240}, FrameRow{"XR24", 100, 100}}) {
    GstBuffer *buffer = alloc_linear(allocator, row, &align);
    check_linear_meta(buffer, row);
    gsize sizes[GST_VIDEO_MAX_PLANES];
    GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);
    fail_unless(meta->alignment.padding_left >= 32 && meta->alignment.padding_bottom >= 32, "%s", row.format);
    fail_unless(gst_video_meta_get_plane_size(meta, sizes));
    write_frame(buffer, row);
    check_frame(buffer, row);
    gst_buffer_unref(buffer);
  }
  gst_object_unref(allocator);
}
GST_END_TEST

Suite *allocators_suite()
{
  Suite *suite = suite_create("allocators");
  TCase *tcase = tcase_create("box");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_is_dmabuf, 0, kKindCount);
  tcase_add_loop_test(tcase, test_maps_are_bracketed, 0, kKindCount);
  tcase_add_loop_test(tcase, test_plain_memory, 0, kKindCount);
  tcase_add_loop_test(tcase, test_alignment, 0, kKindCount);
  tcase_add_loop_test(tcase, test_no_descriptor_is_left, 0, kKindCount);
  tcase_add_loop_test(tcase, test_every_failure_is_clean, 0, G_N_ELEMENTS(kInjected));
  tcase_add_loop_test(tcase, test_answers, 0, G_N_ELEMENTS(kAnswers));
  tcase_add_test(tcase, test_udmabuf_limit);
  tcase_add_loop_test(tcase, test_auto_with_device, 0, G_N_ELEMENTS(kNames));
  tcase_add_test(tcase, test_card_without_dumb_buffers);
  tcase_add_test(tcase, test_heap_that_is_not_there_names_those_that_are);
  tcase_add_loop_test(tcase, test_nobody_is_master, 0, kKindCount);
  tcase_add_loop_test(tcase, test_handles_belong_to_the_importer, 0, G_N_ELEMENTS(kForFd));
  tcase_add_loop_test(tcase, test_fd_stays_the_callers, 0, G_N_ELEMENTS(kForFd));
  tcase_add_loop_test(tcase, test_formats, 0, kKindCount);
#if defined(HAVE_GBM)
  tcase_add_test(tcase, test_gbm_formats);
  tcase_add_test(tcase, test_gbm_implicit);
#endif
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(allocators)
