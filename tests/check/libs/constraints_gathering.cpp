// SPDX-License-Identifier: LGPL-2.1-or-later
// The lists that an allocation query gathers: bounded, each consumer once, and nothing that is none.
#include <atomic>
#include <set>
#include <string>
#include <vector>

#include <gst/drm/drm.h>

#include "constraints_gathering.hpp"
#include "support/asked_constraints.hpp"
#include "support/threads.hpp"

namespace {

// Consumers behind a tee of 300 branches, each with a query of its own.
struct Branches {
  bool keeps = false; // somebody holds the producer's query
  GstQuery *kept = nullptr;
};

GstPadProbeReturn state_in_branches(GstPad *, GstPadProbeInfo *info, gpointer data) noexcept
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY(info);
  if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  GstCaps *caps = nullptr;
  gst_query_parse_allocation(query, &caps, nullptr);
  for (int i = 0; i < 300; i++) {
    g_autoptr(GstQuery) branch = gst_query_new_allocation(caps, FALSE);
    g_autoptr(GstDrmConstraints) asked = gst_drm_constraints_new(std::to_string(i).c_str(), nullptr);
    gst_query_add_drm_constraints(branch, asked);
  }
  if (auto *branches = static_cast<Branches *>(data); branches->keeps)
    branches->kept = gst_query_ref(query);
  return GST_PAD_PROBE_HANDLED;
}

// A consumer that answers the query itself.
GstPadProbeReturn state_in_query(GstPad *, GstPadProbeInfo *info, gpointer data) noexcept
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY(info);
  if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  gst_query_add_drm_constraints(query, static_cast<GstDrmConstraints *>(data));
  return GST_PAD_PROBE_HANDLED;
}

// A pad that gathers, linked to a pad of the test's, whose probe answers queries.
struct Gathering {
  GstPad *src = gst_pad_new("src", GST_PAD_SRC);
  GstPad *sink = gst_pad_new("sink", GST_PAD_SINK);
  GstCaps *caps = nullptr; // of the query; nullptr: its own

  Gathering(GstPadProbeCallback answer, gpointer data)
  {
    gst_pad_set_active(src, TRUE);
    gst_pad_set_active(sink, TRUE);
    fail_unless(gst_pad_link(src, sink) == GST_PAD_LINK_OK);
    gst_drm_pad_gather_constraints(src, nullptr, nullptr, nullptr);
    gst_pad_add_probe(sink, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, answer, data, nullptr);
  }
  Gathering(const Gathering &) = delete;
  Gathering &operator=(const Gathering &) = delete;
  ~Gathering()
  {
    gst_pad_set_active(src, FALSE);
    gst_pad_set_active(sink, FALSE);
    gst_object_unref(src);
    gst_object_unref(sink);
  }
  // How many answer; G_MAXUINT where the query fails or its caps are others then. Any thread.
  [[nodiscard]] guint ask() const
  {
    g_autoptr(GstCaps) asked = caps ? gst_caps_ref(caps) : gst_caps_new_empty_simple("video/x-raw");
    g_autoptr(GstQuery) query = gst_query_new_allocation(asked, TRUE);
    GstCaps *after = nullptr;
    if (!gst_pad_peer_query(src, query))
      return G_MAXUINT;
    gst_query_parse_allocation(query, &after, nullptr);
    if (after != asked && gst_query_is_writable(query))
      return G_MAXUINT;
    g_autoptr(GstQuery) answer = gst_query_copy(query); // GStreamer itself cannot read a query that somebody holds
    g_autoptr(GPtrArray) all = gst_query_get_drm_constraints(answer);
    return all->len;
  }
};

// Not without end: a reconciliation takes 256. One more is in the list, so that too many are a conflict and none is
// forgotten.
GST_START_TEST(test_many_branches)
{
  Branches branches;
  const Gathering gathering(state_in_branches, &branches);
  fail_unless_equals_int(gathering.ask(), 257);
  fail_unless_equals_int(gathering.ask(), 257);
}
GST_END_TEST

// Who holds the query sees it unchanged: nothing is added, and nothing is broken.
GST_START_TEST(test_kept_query)
{
  Branches branches;
  branches.keeps = true;
  const Gathering gathering(state_in_branches, &branches);
  fail_unless_equals_int(gathering.ask(), 0);
  gst_query_unref(branches.kept);
}
GST_END_TEST

// Without a tee it counts once.
GST_START_TEST(test_one_consumer)
{
  g_autoptr(GstDrmConstraints) asked = gst_drm_constraints_new("one", nullptr);
  const Gathering gathering(state_in_query, asked);
  fail_unless_equals_int(gathering.ask(), 1);
}
GST_END_TEST

// While one producer's query is under way, another producer asks with the same caps, as two branches of a tee do at
// once: each hears its own consumer, and the first one has its caps back.
struct Beside {
  const Gathering *other;
  GstDrmConstraints *asked;
  guint heard = 0; // by the other one
};

GstPadProbeReturn ask_beside(GstPad *, GstPadProbeInfo *info, gpointer data) noexcept
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY(info);
  if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  auto *beside = static_cast<Beside *>(data);
  gst_query_add_drm_constraints(query, beside->asked);
  beside->heard = beside->other->ask();
  return GST_PAD_PROBE_HANDLED;
}

GST_START_TEST(test_two_producers)
{
  g_autoptr(GstDrmConstraints) one = gst_drm_constraints_new("one", nullptr);
  g_autoptr(GstDrmConstraints) two = gst_drm_constraints_new("two", nullptr);
  g_autoptr(GstCaps) caps = gst_caps_new_empty_simple("video/x-raw");
  Gathering inner(state_in_query, two);
  inner.caps = caps;
  Beside beside{&inner, one};
  Gathering outer(ask_beside, &beside);
  outer.caps = caps;
  fail_unless_equals_int(outer.ask(), 1);
  fail_unless_equals_int(beside.heard, 1);
}
GST_END_TEST

// The same from several threads, while others merge what all of them read.
GST_START_TEST(test_threads)
{
  g_autoptr(GstCaps) caps = gst_caps_new_empty_simple("video/x-raw");
  g_autoptr(GstDrmConstraints) asked = gst_drm_constraints_new("one", nullptr);
  gst_drm_constraints_set_number(asked, GST_DRM_CONSTRAINT_STRIDE_ALIGN, 64);
  g_autoptr(GPtrArray) all = g_ptr_array_new();
  g_ptr_array_add(all, asked);
  std::atomic<guint> heard{0};
  std::atomic<guint> merged{0};
  const auto asks = [&] {
    Gathering gathering(state_in_query, asked);
    gathering.caps = caps;
    for (int i = 0; i < 200; i++)
      heard.fetch_add(gathering.ask(), std::memory_order_relaxed);
  };
  const auto merges = [&] {
    for (int i = 0; i < 200; i++) {
      g_autoptr(GstDrmConstraints) done = gst_drm_constraints_reconcile(all, nullptr);
      merged.fetch_add(done ? 1 : 0, std::memory_order_relaxed);
    }
  };
  gstdrm::test::at_once({asks, asks, asks, merges, merges});
  fail_unless_equals_int(heard, 600);
  fail_unless_equals_int(merged, 400);
}
GST_END_TEST

// Entries that are not what gst_query_add_drm_constraints() writes.
GST_START_TEST(test_foreign_entries)
{
  g_autoptr(GstCaps) caps = gst_caps_new_empty_simple("video/x-raw");
  g_autoptr(GstQuery) query = gst_query_new_allocation(caps, TRUE);
  const GType entry_type = gstdrm::test::constraints_entry_type();
  for (const char *text : {"GstDrmConstraints", "GstDrmConstraints, constraints=(int)5", "Other, other=(string)x"}) {
    g_autoptr(GstStructure) params = gst_structure_from_string(text, nullptr);
    gst_query_add_allocation_meta(query, entry_type, params);
  }
  gst_query_add_allocation_meta(query, entry_type, nullptr);
  g_autoptr(GPtrArray) all = gst_query_get_drm_constraints(query);
  fail_unless_equals_int(all->len, 0);
}
GST_END_TEST

// ---- real elements behind the producer's pad

// Elements that run, behind a pad that gathers.
class Line {
public:
  explicit Line(const char *elements) : bin_(gst_parse_bin_from_description(elements, TRUE, nullptr)), src_(gst_pad_new("src", GST_PAD_SRC))
  {
    fail_unless(bin_ != nullptr, "%s", elements);
    gst_object_ref_sink(bin_);
    GstPad *sink = gst_element_get_static_pad(bin_, "sink");
    fail_unless(gst_pad_link(src_, sink) == GST_PAD_LINK_OK);
    gst_object_unref(sink);
    gst_drm_pad_gather_constraints(src_, nullptr, nullptr, nullptr);
    gst_pad_set_active(src_, TRUE);
    gst_element_set_state(bin_, GST_STATE_PLAYING);
    caps_ = gst_caps_from_string("video/x-raw, format=NV12, width=64, height=32, framerate=30/1");
  }
  Line(const Line &) = delete;
  Line &operator=(const Line &) = delete;
  ~Line()
  {
    gst_element_set_state(bin_, GST_STATE_NULL);
    gst_pad_set_active(src_, FALSE);
    gst_object_unref(src_);
    gst_object_unref(bin_);
    gst_caps_unref(caps_);
  }
  // The sink of this name states that it holds two buffers.
  void consume(const char *name)
  {
    GstElement *sink = gst_bin_get_by_name(GST_BIN(bin_), name);
    GstPad *pad = gst_element_get_static_pad(sink, "sink");
    GstDrmConstraints *asked = gst_drm_constraints_new(name, nullptr);
    gst_drm_constraints_set_number(asked, GST_DRM_CONSTRAINT_BUFFERS_HELD, 2);
    gst_pad_add_probe(pad, static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM | GST_PAD_PROBE_TYPE_PUSH), state_in_query, asked,
                      [](gpointer data) noexcept { gst_drm_constraints_free(static_cast<GstDrmConstraints *>(data)); });
    gst_object_unref(pad);
    gst_object_unref(sink);
  }
  // Sends caps: an element with buffers of its own asks what is behind it.
  void start()
  {
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    fail_unless(gst_pad_push_event(src_, gst_event_new_stream_start("line")));
    fail_unless(gst_pad_push_event(src_, gst_event_new_caps(caps_)));
    fail_unless(gst_pad_push_event(src_, gst_event_new_segment(&segment)));
  }
  // The names of those that are heard, sorted.
  [[nodiscard]] std::string heard()
  {
    g_autoptr(GstQuery) query = gst_query_new_allocation(caps_, TRUE);
    answered_ = gst_pad_peer_query(src_, query) != FALSE;
    g_autoptr(GPtrArray) all = gst_query_get_drm_constraints(query);
    std::set<std::string> names;
    for (guint i = 0; i < all->len; i++)
      fail_unless(names.insert(gst_drm_constraints_get_name(static_cast<GstDrmConstraints *>(all->pdata[i]))).second);
    std::string text;
    for (const std::string &name : names)
      text += (text.empty() ? "" : " ") + name;
    return text;
  }
  [[nodiscard]] bool answered() const { return answered_; }

private:
  GstElement *bin_;
  GstPad *src_;
  GstCaps *caps_ = nullptr;
  bool answered_ = false;
};

#define SINK "fakesink async=false sync=false name="

struct LineRow {
  const char *elements;
  std::vector<const char *> consumers;
  bool answered;
  const char *heard;
};

const LineRow &line_row(int i)
{
  // A fakesink answers no allocation query, and a tee passes that on.
  static const std::vector<LineRow> kRows = {
      {"queue ! " SINK "a", {"a"}, true, "a"},
      {"queue ! " SINK "x", {}, false, ""},
      {"tee name=t ! queue ! " SINK "a t. ! queue ! " SINK "x", {"a"}, false, "a"},
      {"tee name=t ! queue ! " SINK "x t. ! queue ! " SINK "a", {"a"}, false, "a"},
      {"tee name=t ! " SINK "x t. ! " SINK "a t. ! " SINK "y t. ! " SINK "b", {"a", "b"}, false, "a b"},
      {"queue ! identity ! tee name=t ! " SINK "x t. ! queue ! tee name=u ! " SINK "y u. ! " SINK "a", {"a"}, false, "a"},
      // buffers of videoconvert's own
      {"videoconvert ! video/x-raw,format=I420 ! " SINK "a", {"a"}, true, ""},
      {"tee name=t ! videoconvert ! video/x-raw,format=I420 ! " SINK "b t. ! queue ! " SINK "a", {"a", "b"}, true, "a"},
      {"tee name=t ! queue ! " SINK "x t. ! videoconvert ! video/x-raw,format=I420 ! " SINK "b t. ! " SINK "a", {"a", "b"}, false, "a"},
  };
  return kRows.at(static_cast<std::size_t>(i));
}

GST_START_TEST(test_lines)
{
  const LineRow &row = line_row(__i__);
  Line line(row.elements);
  for (const char *name : row.consumers)
    line.consume(name);
  line.start();
  for (int i = 0; i < 2; i++) {
    const std::string heard = line.heard(); // the macro keeps a pointer
    fail_unless_equals_string(heard.c_str(), row.heard);
    fail_unless(line.answered() == row.answered, "%s", row.elements);
  }
}
GST_END_TEST

} // namespace

TCase *gathering_tcase()
{
  TCase *tcase = tcase_create("gathering");
  tcase_add_test(tcase, test_many_branches);
  tcase_add_test(tcase, test_kept_query);
  tcase_add_test(tcase, test_one_consumer);
  tcase_add_test(tcase, test_two_producers);
  tcase_add_test(tcase, test_threads);
  tcase_add_test(tcase, test_foreign_entries);
  tcase_add_loop_test(tcase, test_lines, 0, 9);
  return tcase;
}
