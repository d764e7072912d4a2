// SPDX-License-Identifier: LGPL-2.1-or-later
// What dmabufupload and dmabufdownload ask their peers, what they remember of the answers, and that
// an answer is the one that GStreamer's own intersection would give.
#include <atomic>
#include <thread>

#include "support/dmabuf_elements.hpp"
#include "support/gpu_table.hpp"
#include "support/random_caps.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

constexpr const char *kElements[] = {"dmabufupload allocator=memfd", "dmabufdownload"};

GstPtr<GstCaps> ask(const Harness &h, GstCaps *filter)
{
  return GstPtr<GstCaps>::adopt(gst_pad_peer_query_caps(h.get()->srcpad, filter));
}

GstPtr<GstCaps> ask(const Harness &h, const char *filter)
{
  return ask(h, caps_of(filter).get());
}

GstPtr<GstCaps> table_caps(const std::string &name)
{
  GstDrmFormatSet *set = gst_drm_format_set_new();
  for (const gstdrm::Format &pair : load_gpu_table(name))
    gst_drm_format_set_add(set, pair.fourcc, pair.modifier);
  auto caps = GstPtr<GstCaps>::adopt(gst_drm_format_set_to_caps(set));
  gst_drm_format_set_unref(set);
  return caps;
}

bool has_drm_format(const GstCaps *caps)
{
  for (guint i = 0; caps && i < gst_caps_get_size(caps); i++)
    if (gst_structure_has_field(gst_caps_get_structure(caps, i), "drm-format"))
      return true;
  return false;
}

struct Asked {
  int queries = 0;
  int with_list = 0;
};

GstPadProbeReturn count_caps_queries(GstPad *, GstPadProbeInfo *info, gpointer data)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY(info);
  if (GST_QUERY_TYPE(query) != GST_QUERY_CAPS || !(info->type & GST_PAD_PROBE_TYPE_PUSH))
    return GST_PAD_PROBE_OK;
  auto *asked = static_cast<Asked *>(data);
  GstCaps *filter = nullptr;
  gst_query_parse_caps(query, &filter);
  asked->queries++;
  asked->with_list += has_drm_format(filter);
  return GST_PAD_PROBE_OK;
}

// Peers compare lists string by string: they are asked once, and see no list. From both sides.
GST_START_TEST(test_peer_is_asked_without_the_list)
{
  const Harness h(kElements[__i__ / 2]);
  const bool from_upstream = __i__ % 2 == 0;
  const bool upload = __i__ / 2 == 0;
  gst_harness_set_sink_caps(h.get(), upload ? table_caps("amd-vangogh").release()
                                            : caps_of("video/x-raw").release());
  GstPad *asking = from_upstream ? h.get()->srcpad : h.get()->sinkpad;
  const auto own = GstPtr<GstPad>::adopt(
      gst_element_get_static_pad(h.element(), from_upstream ? "src" : "sink"));
  Asked pushed; // by the element
  gst_pad_add_probe(own.get(), GST_PAD_PROBE_TYPE_QUERY_BOTH, count_caps_queries, &pushed, nullptr);
  const auto filter = table_caps("amd-navi31");
  const auto answer = GstPtr<GstCaps>::adopt(gst_pad_peer_query_caps(asking, filter.get()));
  fail_unless_equals_int(pushed.queries, 1);
  fail_unless_equals_int(pushed.with_list, 0);
}
GST_END_TEST

// An answer that was given is given again: nothing is converted or compared pair by pair.
GST_START_TEST(test_answer_is_remembered)
{
  const Harness h(kElements[__i__]);
  gst_harness_set_sink_caps(h.get(), __i__ == 0 ? table_caps("amd-vangogh").release()
                                                : caps_of("video/x-raw").release());
  gst_harness_play(h.get());
  const auto filter = table_caps("amd-navi31");
  const auto same_filter = GstPtr<GstCaps>::adopt(gst_caps_copy(filter.get()));
  const auto unfiltered = ask(h, static_cast<GstCaps *>(nullptr));
  const auto filtered = ask(h, filter.get());
  fail_if(gst_caps_is_empty(filtered.get()));
  fail_unless(ask(h, static_cast<GstCaps *>(nullptr)).get() == unfiltered.get());
  fail_unless(ask(h, "ANY").get() == unfiltered.get());
  fail_unless(ask(h, filter.get()).get() == filtered.get());
  fail_unless(ask(h, same_filter.get()).get() == filtered.get());
  fail_unless(filtered.get() != unfiltered.get());
}
GST_END_TEST

// GstHarness sends a RECONFIGURE with new caps, which lets go of what was remembered.
GstPadProbeReturn drop_reconfigure(GstPad *, GstPadProbeInfo *info, gpointer)
{
  return GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) == GST_EVENT_RECONFIGURE ? GST_PAD_PROBE_DROP
                                                                                 : GST_PAD_PROBE_OK;
}

// The peer's answer is part of the key: no event is needed for another one to count.
GST_START_TEST(test_other_answer_of_the_peer)
{
  const Harness h("dmabufupload allocator=memfd");
  const auto src = GstPtr<GstPad>::adopt(gst_element_get_static_pad(h.element(), "src"));
  gst_pad_add_probe(src.get(), GST_PAD_PROBE_TYPE_EVENT_UPSTREAM, drop_reconfigure, nullptr, nullptr);
  for (const char *format : {"NV12", "I420", "NV12"}) {
    gst_harness_set_sink_caps(h.get(),
                              caps_of(std::string("video/x-raw, format=") + format).release());
    fail_unless(gst_caps_can_intersect(ask(h, "video/x-raw").get(),
                                       caps_of(plain_caps(format, 64, 48)).get()));
    const char *other = std::strcmp(format, "NV12") == 0 ? "I420" : "NV12";
    fail_if(gst_caps_can_intersect(ask(h, "video/x-raw").get(),
                                   caps_of(plain_caps(other, 64, 48)).get()));
  }
}
GST_END_TEST

void count_freed(gpointer data, GstMiniObject *)
{
  ++*static_cast<int *>(data);
}

void watch(const GstPtr<GstCaps> &caps, int *freed)
{
  gst_mini_object_weak_ref(GST_MINI_OBJECT_CAST(caps.get()), count_freed, freed);
}

// RECONFIGURE, and the way to READY, let go of what was remembered.
GST_START_TEST(test_forgets)
{
  const Harness h(kElements[__i__ / 2]);
  gst_harness_set_sink_caps(h.get(), caps_of("video/x-raw").release());
  gst_harness_play(h.get());
  int freed = 0;
  for (const char *filter : {"ANY", "video/x-raw, format=NV12"})
    watch(ask(h, filter), &freed);
  fail_unless_equals_int(freed, 0);
  if (__i__ % 2 == 0)
    gst_harness_push_upstream_event(h.get(), gst_event_new_reconfigure());
  else
    gst_element_set_state(h.element(), GST_STATE_READY);
  fail_unless_equals_int(freed, 2);
}
GST_END_TEST

// However many filters there are, some answers are kept and no more.
GST_START_TEST(test_is_bounded)
{
  constexpr int kFilters = 100;
  constexpr int kKept = 8;
  int freed = 0;
  const Harness h(kElements[__i__]);
  gst_harness_set_sink_caps(h.get(), caps_of("video/x-raw").release());
  gst_harness_play(h.get());
  for (int width = 1; width <= kFilters; width++)
    watch(ask(h, ("video/x-raw, width=" + std::to_string(width)).c_str()), &freed);
  fail_unless_equals_int(freed, kFilters - kKept);
}
GST_END_TEST

// 64 bits a pixel are not named beside others in system memory.
GstPtr<GstCaps> without_deep_formats(GstCaps *caps)
{
  auto rest = GstPtr<GstCaps>::adopt(gst_caps_make_writable(caps));
  for (guint i = 0; i < gst_caps_get_size(rest.get()); i++) {
    GstStructure *structure = gst_caps_get_structure(rest.get(), i);
    const GValue *list = gst_structure_get_value(structure, "format");
    if (!list || !GST_VALUE_HOLDS_LIST(list) ||
        gst_caps_features_contains(gst_caps_get_features(rest.get(), i), "memory:DMABuf"))
      continue;
    GValue others = G_VALUE_INIT;
    g_value_init(&others, GST_TYPE_LIST);
    for (guint k = 0; k < gst_value_list_get_size(list); k++) {
      const GValue *name = gst_value_list_get_value(list, k);
      const auto *info = gst_video_format_get_info(gst_video_format_from_string(g_value_get_string(name)));
      if (GST_VIDEO_FORMAT_INFO_N_PLANES(info) != 1 || GST_VIDEO_FORMAT_INFO_PSTRIDE(info, 0) != 8)
        gst_value_list_append_value(&others, name);
    }
    gst_structure_take_value(structure, "format", &others);
  }
  return rest;
}

// With any filter the answer is what GStreamer finds in common with the unfiltered one, in the order of the latter.
GST_START_TEST(test_random)
{
  const Harness h(kElements[__i__ % 2]);
  gst_harness_play(h.get());
  RandomCaps generator(static_cast<guint32>(__i__) + 1);
  for (int i = 0; i < 100; i++) {
    gst_harness_set_sink_caps(h.get(), generator.caps());
    const auto unfiltered = ask(h, static_cast<GstCaps *>(nullptr));
    for (int k = 0; k < 5; k++) {
      const auto filter = k == 0   ? caps_of("ANY")
                          : k == 1 ? caps_of("EMPTY")
                                   : GstPtr<GstCaps>::adopt(generator.caps());
      const auto answer = ask(h, filter.get());
      GstCaps *common = gst_caps_intersect_full(unfiltered.get(), filter.get(), GST_CAPS_INTERSECT_FIRST);
      const auto expected = gst_caps_is_any(filter.get()) ? GstPtr<GstCaps>::adopt(common) : without_deep_formats(common);
      fail_unless(gst_caps_is_strictly_equal(answer.get(), expected.get()),
                  "filter %s\n= %s, expected\n  %s", text_of(filter.get()).c_str(),
                  text_of(answer.get()).c_str(), text_of(expected.get()).c_str());
    }
  }
}
GST_END_TEST

// Queries from other threads while downstream changes its mind, flushes, stops and starts.
GST_START_TEST(test_threads)
{
  const Harness h(kElements[__i__]);
  // They outlive the threads: GstHarness answers with its sink caps without a lock around them.
  const auto both = caps_of("video/x-raw, format={NV12, I420}");
  const auto one = caps_of("video/x-raw, format=I420");
  const auto other = caps_of("video/x-raw, format=NV12");
  gst_harness_set_sink_caps(h.get(), gst_caps_ref(both.get()));
  gst_harness_play(h.get());
  const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(h.element(), "sink"));
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::atomic<int> asked{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; t++)
    threads.emplace_back([&, t] {
      const auto filter =
          caps_of("video/x-raw, format={NV12, YUY2, I420}, width=" + std::to_string(64 + t));
      const auto most = caps_of("video/x-raw, format={NV12, I420, YUY2}");
      do {
        const auto answer =
            GstPtr<GstCaps>::adopt(gst_pad_query_caps(pad.get(), t == 0 ? nullptr : filter.get()));
        wrong += t > 0 && !gst_caps_is_subset(answer.get(), most.get());
        gst_pad_query_accept_caps(pad.get(), caps_of(plain_caps("NV12", 64, 48)).get());
        GstStructure *stats = nullptr;
        g_object_get(h.element(), "drm-stats", &stats, nullptr);
        gst_structure_free(stats);
        asked++;
      } while (!stop);
    });
  for (int i = 0; i < 30 || asked < 100; i++) {
    gst_harness_set_sink_caps(h.get(), gst_caps_ref(i % 2 ? other.get() : one.get()));
    gst_harness_push_upstream_event(h.get(), gst_event_new_reconfigure());
    gst_pad_push_event(h.get()->srcpad, gst_event_new_flush_start());
    gst_pad_push_event(h.get()->srcpad, gst_event_new_flush_stop(TRUE));
    gst_element_set_state(h.element(), i % 3 ? GST_STATE_PLAYING : GST_STATE_READY);
  }
  stop = true;
  for (std::thread &thread : threads)
    thread.join();
  fail_unless_equals_int(wrong.load(), 0);
}
GST_END_TEST

Suite *dmabuf_answers_suite()
{
  Suite *suite = suite_create("dmabuf-answers");
  TCase *tcase = tcase_create("answers");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_peer_is_asked_without_the_list, 0, 4);
  tcase_add_loop_test(tcase, test_answer_is_remembered, 0, 2);
  tcase_add_test(tcase, test_other_answer_of_the_peer);
  tcase_add_loop_test(tcase, test_forgets, 0, 4);
  tcase_add_loop_test(tcase, test_is_bounded, 0, 2);
  tcase_add_loop_test(tcase, test_random, 0, 10);
  tcase_add_loop_test(tcase, test_threads, 0, 2);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(dmabuf_answers)
