// SPDX-License-Identifier: LGPL-2.1-or-later
// What the library lists of the box's devices, against what libdrm's own reader of IN_FORMATS and the
// kernel's ioctls say (tests/box/README.md has the devices).
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include <fcntl.h>
#include <xf86drm.h>
#include <xf86drmMode.h>

#include <gst/drm/drm.h>

#include "core/unique_fd.hpp"
#include "support/check_main.hpp"
#include "support/source_pairs.hpp"

namespace {

using gstdrm::test::Pairs;
using gstdrm::test::pairs_of;

constexpr const char *kVkms = "/dev/dri/card1";
constexpr guint32 kNv12 = 0x3231564e;
constexpr guint32 kYuyv = 0x56595559;

struct UnrefArray {
  void operator()(GPtrArray *array) const { g_ptr_array_unref(array); }
};
using List = std::unique_ptr<GPtrArray, UnrefArray>;

GstDrmSource *at(const List &list, guint index)
{
  return static_cast<GstDrmSource *>(g_ptr_array_index(list.get(), index));
}

GstDrmSource *find(const List &list, const std::string &name)
{
  for (guint i = 0; i < list->len; i++)
    if (name == gst_drm_source_get_name(at(list, i)))
      return at(list, i);
  return nullptr;
}

// By libdrm's iterator, which shares no code with the library.
Pairs in_formats(int fd, guint32 plane)
{
  Pairs pairs;
  drmModeObjectProperties *list = drmModeObjectGetProperties(fd, plane, DRM_MODE_OBJECT_PLANE);
  fail_unless(list != nullptr);
  for (guint32 i = 0; i < list->count_props; i++) {
    drmModePropertyRes *property = drmModeGetProperty(fd, list->props[i]);
    if (std::strcmp(property->name, "IN_FORMATS") == 0) {
      drmModePropertyBlobRes *blob =
          drmModeGetPropertyBlob(fd, static_cast<guint32>(list->prop_values[i]));
      drmModeFormatModifierIterator iterator{};
      while (drmModeFormatModifierBlobIterNext(blob, &iterator))
        pairs.insert({iterator.fmt, iterator.mod});
      drmModeFreePropertyBlob(blob);
    }
    drmModeFreeProperty(property);
  }
  drmModeFreeObjectProperties(list);
  return pairs;
}

GST_START_TEST(test_planes_are_their_in_formats)
{
  const gstdrm::UniqueFd fd(::open(kVkms, O_RDWR | O_CLOEXEC));
  drmSetClientCap(fd.get(), DRM_CLIENT_CAP_UNIVERSAL_PLANES, 1);
  drmModePlaneRes *planes = drmModeGetPlaneResources(fd.get());
  fail_unless(planes && planes->count_planes >= 3);
  const List list(gst_drm_enumerate_kms());
  fail_unless_equals_int(list->len, planes->count_planes); // vgem has none, and is no problem
  for (guint32 i = 0; i < planes->count_planes; i++) {
    const std::string name = "kms:card1:" + std::to_string(planes->planes[i]);
    const GstDrmSource *source = find(list, name);
    fail_unless(source != nullptr, "%s", name.c_str());
    const Pairs expected = in_formats(fd.get(), planes->planes[i]);
    fail_unless(!expected.empty());
    fail_unless(pairs_of(source) == expected, "%s: %zu pairs for %zu", name.c_str(),
                pairs_of(source).size(), expected.size());
    fail_unless_equals_string(gst_drm_source_get_device(source), kVkms);
    fail_unless_equals_string(gst_drm_source_get_driver(source), "vkms");
    fail_unless(gst_drm_source_get_problem(source) == nullptr);
    for (const auto &[fourcc, modifier] : expected)
      fail_unless(gst_drm_source_get_n_planes(source, fourcc, modifier) >= 1);
    fail_unless_equals_int(gst_drm_source_get_n_planes(source, kYuyv, G_MAXUINT64), 0);
  }
  drmModeFreePlaneResources(planes);
}
GST_END_TEST

// Whoever wants to show something afterwards is master.
GST_START_TEST(test_nobody_stays_master)
{
  const List list(gst_drm_enumerate_all());
  const gstdrm::UniqueFd fd(::open(kVkms, O_RDWR | O_CLOEXEC));
  fail_unless(drmIsMaster(fd.get()));
  // and a master is left in peace
  const List again(gst_drm_enumerate_kms());
  fail_unless(again->len > 0 && again->len <= list->len);
  fail_unless(drmIsMaster(fd.get()));
}
GST_END_TEST

GST_START_TEST(test_video_queues)
{
  const List list(gst_drm_enumerate_v4l2());
  guint vivid = 0;
  for (guint i = 0; i < list->len; i++) {
    const GstDrmSource *source = at(list, i);
    fail_unless_equals_int(gst_drm_source_get_kind(source), GST_DRM_SOURCE_KIND_V4L2);
    fail_unless(gst_drm_source_get_problem(source) == nullptr, "%s",
                gst_drm_source_get_problem(source));
    if (g_strcmp0(gst_drm_source_get_driver(source), "vivid") != 0 ||
        !g_str_has_suffix(gst_drm_source_get_name(source), ":capture"))
      continue;
    vivid++;
    const Pairs pairs = pairs_of(source);
    fail_unless(pairs.contains({kNv12, 0}) && pairs.contains({kYuyv, 0}), "%s: %zu pairs",
                gst_drm_source_get_name(source), pairs.size());
    fail_unless_equals_int(gst_drm_source_get_n_planes(source, kNv12, 0), 2);
  }
  fail_unless(vivid >= 1, "%u sources", list->len);
}
GST_END_TEST

// A node that goes away between the list and the question, or that this user may not open.
GST_START_TEST(test_device_that_cannot_be_asked)
{
  fail_unless(::symlink("/dev/null", "/dev/dri/card7") == 0);
  const List list(gst_drm_enumerate_kms());
  ::unlink("/dev/dri/card7");
  const GstDrmSource *source = find(list, "kms:card7");
  fail_unless(source != nullptr);
  const gchar *problem = gst_drm_source_get_problem(source);
  fail_unless(problem && std::strstr(problem, "/dev/dri/card7 is no DRM device"), "%s", problem);
  fail_unless(pairs_of(source).empty());
}
GST_END_TEST

Suite *sources_suite()
{
  Suite *suite = suite_create("sources");
  TCase *tcase = tcase_create("devices");
  suite_add_tcase(suite, tcase);
  tcase_add_test(tcase, test_planes_are_their_in_formats);
  tcase_add_test(tcase, test_nobody_stays_master);
  tcase_add_test(tcase, test_video_queues);
  tcase_add_test(tcase, test_device_that_cannot_be_asked);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(sources)
