// SPDX-License-Identifier: LGPL-2.1-or-later
// The nodes of a real kernel: vgem has a card and a render node, vkms a card (tests/box/README.md).
#include <string>
#include <vector>

#include <sys/stat.h>

#include <gst/drm/drm.h>

#include "core/drm_node.hpp"
#include "support/check_main.hpp"

namespace {

using gstdrm::DrmNodeType;

guint64 number_of(const char *node)
{
  struct stat status = {};
  fail_unless(::stat(node, &status) == 0, "%s", node);
  return status.st_rdev;
}

GST_START_TEST(test_nodes_are_listed)
{
  const std::vector<std::string> cards{"/dev/dri/card0", "/dev/dri/card1"};
  const std::vector<std::string> render_nodes{"/dev/dri/renderD128"};
  fail_unless(gstdrm::list_drm_nodes(DrmNodeType::Card) == cards);
  fail_unless(gstdrm::list_drm_nodes(DrmNodeType::Render) == render_nodes);
}
GST_END_TEST

GST_START_TEST(test_path_of_a_number)
{
  for (const char *node : {"/dev/dri/card0", "/dev/dri/card1", "/dev/dri/renderD128"}) {
    const std::string path = gstdrm::drm_node_path(number_of(node));
    fail_unless_equals_string(path.c_str(), node);
  }
}
GST_END_TEST

struct SameRow {
  const char *a;
  const char *b;
  bool same;
  bool known;
};
const SameRow kSame[] = {
    {"/dev/dri/card0", "/dev/dri/card0", true, true},
    {"/dev/dri/card0", "/dev/dri/renderD128", true, true},
    {"/dev/dri/renderD128", "/dev/dri/card0", true, true},
    {"/dev/dri/card0", "/dev/dri/card1", false, true},
    {"/dev/dri/card1", "/dev/dri/renderD128", false, true},
    {"/dev/dri/card0", "/dev/null", false, false},
    {"/dev/null", "/dev/dri/renderD128", false, false},
};

GST_START_TEST(test_same_device)
{
  const auto &row = kSame[__i__];
  g_autoptr(GError) error = nullptr;
  const gboolean same = gst_drm_device_is_same(number_of(row.a), number_of(row.b), &error);
  fail_unless_equals_int(same, row.same);
  fail_unless((error == nullptr) == row.known, "%s and %s: %s", row.a, row.b, error ? error->message : "no error");
  if (!row.known)
    fail_unless(g_error_matches(error, GST_DRM_ERROR, GST_DRM_ERROR_DEVICE) && strstr(error->message, "1:3"), "%s", error->message);
}
GST_END_TEST

Suite *drm_nodes_suite()
{
  Suite *suite = suite_create("DRM nodes");
  TCase *tcase = tcase_create("nodes");
  suite_add_tcase(suite, tcase);
  tcase_add_test(tcase, test_nodes_are_listed);
  tcase_add_test(tcase, test_path_of_a_number);
  tcase_add_loop_test(tcase, test_same_device, 0, G_N_ELEMENTS(kSame));
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(drm_nodes)
