// SPDX-License-Identifier: LGPL-2.1-or-later
// Devices that are removed while the library lists them: from the n-th ioctl on, each of a DRM or
// V4L2 node answers ENODEV, as the kernel's do then. Walks n over the whole enumeration.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include <linux/ioctl.h>
#include <linux/videodev2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <gst/drm/drm.h>

#include "support/check_main.hpp"
#include "support/replace_ioctl.hpp"
#include "support/source_pairs.hpp"

namespace {

constexpr unsigned kDrmType = 'd';  // DRM_IOCTL_BASE of <drm.h>
constexpr unsigned kV4l2Type = 'V'; // of <linux/videodev2.h>

std::atomic<unsigned> asked{0};
std::atomic<unsigned> gone_from{~0U}; // the number of the first call that fails
std::atomic<unsigned> gone_type{0};
std::atomic<bool> two_queues{false}; // of video nodes, where there is one

using gstdrm::test::Pairs;
using gstdrm::test::pairs_of;

struct UnrefArray {
  void operator()(GPtrArray *array) const { g_ptr_array_unref(array); }
};
using List = std::unique_ptr<GPtrArray, UnrefArray>;
using Enumerate = GPtrArray *(*)();

List enumerate_until(Enumerate enumerate, unsigned type, unsigned n)
{
  asked = 0;
  gone_type = type;
  gone_from = n;
  List list(enumerate());
  gone_from = ~0U;
  return list;
}

struct Row {
  const char *name;
  Enumerate enumerate;
  unsigned type;
};

const Row kRows[] = {
    {"KMS", gst_drm_enumerate_kms, kDrmType},
    {"V4L2", gst_drm_enumerate_v4l2, kV4l2Type},
    {"GBM", gst_drm_enumerate_gbm, kDrmType},
};

// A source has all of its pairs, or a reason and none: half a list would be taken for the whole.
GST_START_TEST(test_removed_at_each_call)
{
  const Row &row = kRows[__i__];
  std::map<std::string, Pairs> whole;
  const List all = enumerate_until(row.enumerate, row.type, ~0U);
  const unsigned calls = asked;
  for (guint i = 0; i < all->len; i++) {
    const auto *source = static_cast<const GstDrmSource *>(g_ptr_array_index(all.get(), i));
    fail_unless(gst_drm_source_get_problem(source) == nullptr, "%s",
                gst_drm_source_get_problem(source));
    whole[gst_drm_source_get_name(source)] = pairs_of(source);
  }
  fail_unless(calls > 0 && !whole.empty(), "%s: %u calls, %zu sources", row.name, calls,
              whole.size());
  guint with_a_problem = 0;
  for (unsigned n = 0; n < calls; n++) {
    const List list = enumerate_until(row.enumerate, row.type, n);
    for (guint i = 0; i < list->len; i++) {
      const auto *source = static_cast<const GstDrmSource *>(g_ptr_array_index(list.get(), i));
      const char *name = gst_drm_source_get_name(source);
      const Pairs found = pairs_of(source);
      if (gst_drm_source_get_problem(source)) {
        with_a_problem++;
        fail_unless(found.empty(), "%s, call %u: %s has a problem and %zu pairs", row.name, n, name,
                    found.size());
      } else {
        fail_unless(whole.contains(name) && found == whole[name],
                    "%s, call %u of %u: %s has %zu pairs for %zu", row.name, n, calls, name,
                    found.size(), whole[name].size());
      }
    }
  }
  gstdrm::test::say(std::string(row.name) + ": " + std::to_string(calls) + " calls, " +
                    std::to_string(with_a_problem) + " problems");
  fail_unless(with_a_problem >= calls / 2, "%u problems in %u runs", with_a_problem, calls);
  // afterwards the devices are as they were
  fail_unless_equals_int(enumerate_until(row.enumerate, row.type, ~0U)->len, all->len);
}
GST_END_TEST

// A node with capture queues of both kinds, as some drivers have: vivid's is asked as either.
GST_START_TEST(test_two_queues_of_a_node)
{
  two_queues = true;
  const List list(gst_drm_enumerate_v4l2());
  two_queues = false;
  std::set<std::string> names;
  for (guint i = 0; i < list->len; i++)
    names.insert(
        gst_drm_source_get_name(static_cast<GstDrmSource *>(g_ptr_array_index(list.get(), i))));
  fail_unless_equals_int(static_cast<int>(names.size()), static_cast<int>(list->len));
  const bool second = std::any_of(names.begin(), names.end(), [](const std::string &name) {
    return name.ends_with(":capture-2") && name.starts_with("v4l2:video");
  });
  fail_unless(second, "%u sources", list->len);
}
GST_END_TEST

Suite *sources_gone_suite()
{
  Suite *suite = suite_create("sources_gone");
  TCase *tcase = tcase_create("devices");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_removed_at_each_call, 0, G_N_ELEMENTS(kRows));
  tcase_add_test(tcase, test_two_queues_of_a_node);
  return suite;
}

} // namespace

int gstdrm::test::replaced_ioctl(int fd, unsigned long request, void *argument) noexcept
{
  if (_IOC_TYPE(request) == gone_type && asked++ >= gone_from) {
    errno = ENODEV;
    return -1;
  }
  const bool lists = two_queues && request == VIDIOC_ENUM_FMT;
  auto *entry = static_cast<v4l2_fmtdesc *>(argument);
  if (lists && entry->type == V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE)
    entry->type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
  const auto result = static_cast<int>(::syscall(SYS_ioctl, fd, request, argument));
  if (two_queues && request == VIDIOC_QUERYCAP && result == 0) {
    auto *capability = static_cast<v4l2_capability *>(argument);
    if (capability->device_caps & V4L2_CAP_VIDEO_CAPTURE)
      capability->device_caps |= V4L2_CAP_VIDEO_CAPTURE_MPLANE;
  }
  return result;
}

GST_DRM_CHECK_MAIN(sources_gone)
