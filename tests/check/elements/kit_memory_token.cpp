// SPDX-License-Identifier: LGPL-2.1-or-later
// A token that a GstMemory holds until it is freed.
#include <functional>
#include <memory>
#include <vector>

#include "support/check_main.hpp"
#include "support/threads.hpp"

#include <gst/drm/element/memory_token.hpp>

namespace {

using gstdrm::hold_while_alive;

GstMemory *new_memory()
{
  return gst_allocator_alloc(nullptr, 16, nullptr);
}

GST_START_TEST(test_until_the_memory_is_freed)
{
  GstMemory *memory = new_memory();
  auto token = std::make_shared<const int>(1);
  const std::weak_ptr<const int> watch = token;
  hold_while_alive(memory, token);
  token.reset();
  fail_if(watch.expired());
  gst_memory_unref(memory);
  fail_unless(watch.expired());
}
GST_END_TEST

GST_START_TEST(test_once_each)
{
  GstMemory *memory = new_memory();
  const auto token = std::make_shared<const int>(1);
  for (int i = 0; i < 3; i++)
    hold_while_alive(memory, token);
  fail_unless_equals_int(token.use_count(), 2);
  gst_memory_unref(memory);
  fail_unless_equals_int(token.use_count(), 1);
}
GST_END_TEST

// A decoder's pool keeps its memory for hours, while caches come and go.
GST_START_TEST(test_tokens_of_nobody_are_let_go)
{
  GstMemory *memory = new_memory();
  auto old = std::make_shared<const int>(1);
  const auto kept = std::make_shared<const int>(2);
  const std::weak_ptr<const int> watch = old;
  hold_while_alive(memory, old);
  hold_while_alive(memory, kept);
  old.reset();
  fail_if(watch.expired());
  hold_while_alive(memory, std::make_shared<const int>(3));
  fail_unless(watch.expired());
  fail_unless_equals_int(kept.use_count(), 2);
  gst_memory_unref(memory);
}
GST_END_TEST

GST_START_TEST(test_several_memories)
{
  GstMemory *one = new_memory();
  GstMemory *other = new_memory();
  const auto token = std::make_shared<const int>(1);
  hold_while_alive(one, token);
  hold_while_alive(other, token);
  fail_unless_equals_int(token.use_count(), 3);
  gst_memory_unref(one);
  fail_unless_equals_int(token.use_count(), 2);
  gst_memory_unref(other);
}
GST_END_TEST

// A share is made anew for each frame: what was imported lives as long as the memory that it is of.
GST_START_TEST(test_shares_of_one_memory)
{
  GstMemory *memory = new_memory();
  const auto token = std::make_shared<const int>(1);
  for (int i = 0; i < 3; i++) {
    GstMemory *share = gst_memory_share(memory, 4, 8);
    GstMemory *part = gst_memory_share(share, 2, 2);
    hold_while_alive(share, token);
    hold_while_alive(part, token);
    gst_memory_unref(part);
    gst_memory_unref(share);
    fail_unless_equals_int(token.use_count(), 2);
  }
  gst_memory_unref(memory);
  fail_unless_equals_int(token.use_count(), 1);
}
GST_END_TEST

// Two sinks behind a tee see one memory at the same time.
GST_START_TEST(test_threads)
{
  GstMemory *memory = new_memory();
  std::vector<std::shared_ptr<const int>> tokens;
  std::vector<std::function<void()>> jobs;
  for (int i = 0; i < 4; i++)
    tokens.push_back(std::make_shared<const int>(i));
  for (const auto &token : tokens)
    jobs.emplace_back([memory, &token] {
      for (int i = 0; i < 1000; i++) {
        hold_while_alive(memory, token);
        hold_while_alive(memory, std::make_shared<const int>(i));
      }
    });
  gstdrm::test::at_once(jobs);
  for (const auto &token : tokens)
    fail_unless_equals_int(token.use_count(), 2);
  gst_memory_unref(memory);
  for (const auto &token : tokens)
    fail_unless_equals_int(token.use_count(), 1);
}
GST_END_TEST

Suite *kit_memory_token_suite()
{
  Suite *suite = suite_create("kit memory token");
  TCase *tcase = tcase_create("tokens");
  suite_add_tcase(suite, tcase);
  tcase_add_test(tcase, test_until_the_memory_is_freed);
  tcase_add_test(tcase, test_once_each);
  tcase_add_test(tcase, test_tokens_of_nobody_are_let_go);
  tcase_add_test(tcase, test_several_memories);
  tcase_add_test(tcase, test_shares_of_one_memory);
  tcase_add_test(tcase, test_threads);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(kit_memory_token)
