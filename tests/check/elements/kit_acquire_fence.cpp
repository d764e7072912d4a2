// SPDX-License-Identifier: LGPL-2.1-or-later
// A fence that there is no descriptor for is never taken for no fence: the device may still write what would be read.
#include <sys/mman.h>

#include <gst/drm/core/device_wait.hpp>
#include <gst/drm/element/frame_wait.hpp>

#include "support/descriptors.hpp"
#include "support/dmabuf_elements.hpp"
#include "support/float_tensors.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::test;

// A descriptor that has the name of a sync_file; nobody may wait for it.
int named_fence()
{
  const int fd = ::memfd_create("sync_file", MFD_CLOEXEC);
  fail_unless(fd >= 0);
  return fd;
}

enum class Of { Acquire, Release, Tensors };
struct Row {
  const char *name;
  Of of;
};
const Row kRows[] = {
    {"a frame", Of::Acquire},
    {"a frame that is still read", Of::Release},
    {"a frame's tensors", Of::Tensors},
};

class Frame {
public:
  Frame() : buffer_(GstPtr<GstBuffer>::adopt(gst_buffer_new())), sync_(gst_buffer_add_drm_sync_meta(buffer_.get())), tensors_(gst_buffer_add_drm_tensor_meta(buffer_.get(), nullptr)) {}

  void add_fence(Of of) const
  {
    const int fd = named_fence();
    const bool added = of == Of::Acquire   ? gst_drm_sync_meta_add_acquire_fence(sync_, fd, nullptr)
                       : of == Of::Release ? gst_drm_sync_meta_add_release_fence(sync_, fd, nullptr)
                                           : gst_drm_tensor_meta_add_acquire_fence(tensors_, fd, nullptr);
    fail_unless(added);
  }
  [[nodiscard]] Result<UniqueFd> dup(Of of) const
  {
    return of == Of::Acquire ? dup_acquire_fence(buffer_.get()) : of == Of::Release ? dup_release_fence(sync_) : dup_acquire_fence(tensors_);
  }
  [[nodiscard]] int dup_in_c(Of of) const
  {
    errno = EPERM; // of something before
    return of == Of::Acquire   ? gst_drm_sync_meta_dup_acquire_fence(sync_)
           : of == Of::Release ? gst_drm_sync_meta_dup_release_fence(sync_)
                               : gst_drm_tensor_meta_dup_acquire_fence(tensors_);
  }
  [[nodiscard]] GstBuffer *get() const { return buffer_.get(); }

private:
  GstPtr<GstBuffer> buffer_;
  GstDrmSyncMeta *sync_;
  GstDrmTensorMeta *tensors_;
};

GST_START_TEST(test_fence)
{
  const Row &row = kRows[__i__];
  const Frame frame;
  // none, with descriptors and without
  fail_unless_equals_int(frame.dup_in_c(row.of), -1);
  fail_unless_equals_int(errno, 0);
  {
    const FewDescriptors none(0);
    fail_unless_equals_int(frame.dup_in_c(row.of), -1);
    fail_unless_equals_int(errno, 0);
    const auto fence = frame.dup(row.of);
    fail_unless(fence && !*fence, "%s", row.name);
  }
  frame.add_fence(row.of);
  {
    const FewDescriptors none(0);
    fail_unless_equals_int(frame.dup_in_c(row.of), -1);
    fail_unless_equals_int(errno, EMFILE);
    const auto fence = frame.dup(row.of);
    fail_if(fence);
    fail_unless(fence.error().code == ErrorCode::Sync);
    fail_unless_equals_int(fence.error().sys_errno, EMFILE);
    for (const char *part : {row.name, "EMFILE", "ulimit -n"})
      fail_unless(fence.error().message.find(part) != std::string::npos, "'%s' does not say '%s'", fence.error().message.c_str(), part);
  }
  const auto fence = frame.dup(row.of);
  fail_unless(fence && *fence, "%s", row.name);
}
GST_END_TEST

GST_START_TEST(test_a_buffer_without_the_meta_has_none)
{
  const auto buffer = GstPtr<GstBuffer>::adopt(gst_buffer_new());
  const auto fence = dup_acquire_fence(buffer.get());
  fail_unless(fence && !*fence);
}
GST_END_TEST

// What every element does that reads with the CPU, or that has to wait itself.
GST_START_TEST(test_wait_for_device)
{
  const Frame frame;
  frame.add_fence(Of::Acquire);
  const auto element = GstPtr<GstElement>::adopt(GST_ELEMENT(gst_object_ref_sink(gst_element_factory_make("identity", nullptr))));
  Stats stats;
  Interrupt interrupt;
  const FewDescriptors none(0);
  const auto waited = wait_for_device(element.get(), frame.get(), stats, interrupt);
  fail_if(waited, "it says that the device is done");
  fail_unless_equals_int(waited.error().sys_errno, EMFILE);
}
GST_END_TEST

// Values of tensors whose fence has no descriptor are not given.
GST_START_TEST(test_values_of_tensors)
{
  const auto buffer = GstPtr<GstBuffer>::adopt(gst_buffer_new());
  GstDrmTensorMeta *meta = gst_buffer_add_drm_tensor_meta(buffer.get(), nullptr);
  add_tensor(meta, "scores", {2}, {1, 2});
  fail_unless(gst_drm_tensor_meta_add_acquire_fence(meta, named_fence(), nullptr));
  const FewDescriptors none(0);
  g_autoptr(GError) error = nullptr;
  gsize n = 0;
  gfloat *values = gst_drm_tensor_meta_dup_float32(meta, 0, GST_SECOND, &n, &error);
  fail_unless(values == nullptr && g_error_matches(error, GST_DRM_ERROR, GST_DRM_ERROR_SYNC));
  fail_unless(g_strstr_len(error->message, -1, "EMFILE") != nullptr, "%s", error->message);
}
GST_END_TEST

Suite *kit_acquire_fence_suite()
{
  Suite *suite = suite_create("kit-acquire-fence");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_fence, 0, G_N_ELEMENTS(kRows));
  tcase_add_test(tcase, test_a_buffer_without_the_meta_has_none);
  tcase_add_test(tcase, test_wait_for_device);
  tcase_add_test(tcase, test_values_of_tensors);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(kit_acquire_fence)
