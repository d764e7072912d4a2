// SPDX-License-Identifier: LGPL-2.1-or-later
// What an engine logs appears in its plugin's category, at the level that the category has at that moment.
#include <string>
#include <vector>

#include "support/check_main.hpp"

#include <gst/drm/gstdrm-log-private.hpp>

namespace {

using gstdrm::LogLevel;

struct Line {
  std::string category, text;
  GstDebugLevel level;
};
std::vector<Line> lines;

GstDebugCategory *category() noexcept
{
  static GstDebugCategory *const made = [] {
    GstDebugCategory *created = nullptr;
    GST_DEBUG_CATEGORY_INIT(created, "engine-of-the-test", 0, "lines of the test");
    return created;
  }();
  return made;
}

void read_line(GstDebugCategory *from, GstDebugLevel level, const gchar *, const gchar *, gint, GObject *,
               GstDebugMessage *message, gpointer) noexcept
{
  if (from == category())
    lines.push_back({gst_debug_category_get_name(from), gst_debug_message_get(message), level});
}

struct Reading {
  Reading()
  {
    lines.clear();
    gstdrm::connect_log<category>();
    gst_debug_add_log_function(read_line, nullptr, nullptr);
  }
  ~Reading()
  {
    gst_debug_remove_log_function(read_line);
    gst_debug_category_reset_threshold(category());
    gstdrm::set_log_sink(nullptr);
  }
};

GST_START_TEST(a_line_keeps_its_level_and_text)
{
  const Reading reading;
  gst_debug_category_set_threshold(category(), GST_LEVEL_TRACE);
  GSTDRM_WARNING("%d", 1);
  GSTDRM_INFO("%d", 2);
  GSTDRM_DEBUG("%d", 3);
  GSTDRM_LOG("%d", 4);
  GSTDRM_TRACE("100 %%");
  fail_unless_equals_int(lines.size(), 5);
  constexpr GstDebugLevel kLevels[] = {GST_LEVEL_WARNING, GST_LEVEL_INFO, GST_LEVEL_DEBUG, GST_LEVEL_LOG,
                                       GST_LEVEL_TRACE};
  for (std::size_t i = 0; i < lines.size(); i++)
    fail_unless_equals_int(lines[i].level, kLevels[i]);
  fail_unless_equals_string(lines[0].text.c_str(), "1");
  fail_unless_equals_string(lines[4].text.c_str(), "100 %");
}
GST_END_TEST

GST_START_TEST(a_threshold_holds_from_the_moment_it_is_set)
{
  const Reading reading;
  GSTDRM_DEBUG("unread");
  fail_unless(lines.empty());
  gst_debug_set_threshold_for_name("engine-of-the-test", GST_LEVEL_DEBUG);
  GSTDRM_DEBUG("read");
  GSTDRM_LOG("unread");
  fail_unless_equals_int(lines.size(), 1);
  fail_unless_equals_string(lines[0].text.c_str(), "read");
}
GST_END_TEST

// The most detailed category of the process decides for nobody else.
GST_START_TEST(another_category_changes_nothing)
{
  const Reading reading;
  GstDebugCategory *other = nullptr;
  GST_DEBUG_CATEGORY_INIT(other, "another-of-the-test", 0, "not the engine's");
  gst_debug_category_set_threshold(other, GST_LEVEL_TRACE);
  GSTDRM_LOG("unread");
  gst_debug_category_reset_threshold(other);
  fail_unless(lines.empty());
}
GST_END_TEST

Suite *kit_log_suite()
{
  Suite *suite = suite_create("kit log");
  TCase *tcase = tcase_create("log of an engine");
  suite_add_tcase(suite, tcase);
  tcase_add_test(tcase, a_line_keeps_its_level_and_text);
  tcase_add_test(tcase, a_threshold_holds_from_the_moment_it_is_set);
  tcase_add_test(tcase, another_category_changes_nothing);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(kit_log)
