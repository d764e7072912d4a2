// SPDX-License-Identifier: LGPL-2.1-or-later
// From NULL to PLAYING with the lists of real GPUs on both ends, where caps queries are answered
// from format sets, and the same pipeline with gst_caps_intersect() on the lists, by turns in one
// process. Then the caps query of every element of gst-drm with a list as its filter. Usage:
// bench-negotiation [ROUNDS]
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <gst/base/gstbasesink.h>
#include <gst/base/gstpushsrc.h>

#include "bench.hpp"
#include "support/gpu_table.hpp"
#include "support/no_display_server.hpp"

namespace {

using namespace gstdrm::bench;
using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const std::string &what)
{
  std::fprintf(stderr, "bench-negotiation: %s\n", what.c_str());
  std::abort(); // the test of this program sees it
}

// Of all pairs, or of the first ones.
CapsPtr table_caps(const std::string &name, std::size_t most = SIZE_MAX)
{
  auto pairs = gstdrm::test::load_gpu_table(name);
  pairs.resize(std::min(most, pairs.size()));
  const Inputs in = make_inputs(name, pairs, pairs);
  return CapsPtr(gst_caps_ref(in.caps_a.get()));
}

// Microseconds: the least, and the one in the middle.
struct Times {
  std::vector<double> all;
  void time(const std::function<void()> &body)
  {
    const auto before = Clock::now();
    body();
    all.push_back(std::chrono::duration<double, std::micro>(Clock::now() - before).count());
  }
  double at(std::size_t index)
  {
    std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(index), all.end());
    return all[index];
  }
  double least() { return at(0); }
  double median() { return at(all.size() / 2); }
};

// --- both ends, each with a list -----------------------------------------------------------------

enum class Way { Sets, Caps };
Way way = Way::Sets; // in which both ends intersect
GstCaps *source_table = nullptr;
GstCaps *sink_table = nullptr;

GstCaps *answer(GstCaps *filter, GstCaps *table)
{
  if (!filter)
    return gst_caps_ref(table);
  return way == Way::Sets ? gst_drm_caps_intersect(filter, table)
                          : gst_caps_intersect_full(filter, table, GST_CAPS_INTERSECT_FIRST);
}

struct TableSrc {
  GstPushSrc parent;
};
struct TableSrcClass {
  GstPushSrcClass parent_class;
};
GType table_src_get_type();
G_DEFINE_TYPE(TableSrc, table_src, GST_TYPE_PUSH_SRC)

void table_src_class_init(TableSrcClass *klass)
{
  GST_BASE_SRC_CLASS(klass)->get_caps = [](GstBaseSrc *, GstCaps *filter) {
    return answer(filter, source_table);
  };
  GST_PUSH_SRC_CLASS(klass)->create = [](GstPushSrc *, GstBuffer **) { return GST_FLOW_EOS; };
  gst_element_class_add_pad_template(
      GST_ELEMENT_CLASS(klass),
      gst_pad_template_new("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_CAPS_ANY));
}

void table_src_init(TableSrc *self)
{
  gst_base_src_set_format(GST_BASE_SRC(self), GST_FORMAT_TIME);
}

struct TableSink {
  GstBaseSink parent;
};
struct TableSinkClass {
  GstBaseSinkClass parent_class;
};
GType table_sink_get_type();
G_DEFINE_TYPE(TableSink, table_sink, GST_TYPE_BASE_SINK)

void table_sink_class_init(TableSinkClass *klass)
{
  GST_BASE_SINK_CLASS(klass)->get_caps = [](GstBaseSink *, GstCaps *filter) {
    return answer(filter, sink_table);
  };
  gst_element_class_add_pad_template(
      GST_ELEMENT_CLASS(klass),
      gst_pad_template_new("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_CAPS_ANY));
}

void table_sink_init(TableSink *) {}

GstElement *make(const std::string &factory)
{
  GstElement *element = gst_element_factory_make(factory.c_str(), nullptr);
  if (!element)
    fail("no element " + factory);
  return element;
}

// source -> MIDDLE... -> sink. The source ends without a frame, so that PLAYING is reached when the
// caps are agreed on; with a frame, the row would time an import.
class Line {
public:
  explicit Line(const std::vector<std::string> &middle) : pipeline_(gst_pipeline_new(nullptr))
  {
    auto *last = static_cast<GstElement *>(g_object_new(table_src_get_type(), nullptr));
    sink_ = static_cast<GstElement *>(g_object_new(table_sink_get_type(), nullptr));
    gst_bin_add_many(GST_BIN(pipeline_), last, sink_, nullptr);
    for (const std::string &factory : middle) {
      GstElement *next = make(factory);
      gst_bin_add(GST_BIN(pipeline_), next);
      if (!gst_element_link(last, next))
        fail("no link to " + factory);
      last = next;
    }
    if (!gst_element_link(last, sink_))
      fail("no link to the sink");
  }
  Line(const Line &) = delete;
  Line &operator=(const Line &) = delete;
  ~Line()
  {
    gst_element_set_state(pipeline_, GST_STATE_NULL);
    gst_object_unref(pipeline_);
  }

  void start() const
  {
    gst_element_set_state(pipeline_, GST_STATE_PLAYING);
    if (gst_element_get_state(pipeline_, nullptr, nullptr, 100 * GST_SECOND) !=
        GST_STATE_CHANGE_SUCCESS)
      fail("not PLAYING");
  }
  // The pair that was agreed on.
  [[nodiscard]] std::string agreed() const
  {
    GstPad *pad = gst_element_get_static_pad(sink_, "sink");
    const CapsPtr caps(gst_pad_get_current_caps(pad));
    gst_object_unref(pad);
    const gchar *pair =
        caps ? gst_structure_get_string(gst_caps_get_structure(caps.get(), 0), "drm-format")
             : nullptr;
    if (!pair)
      fail("no caps");
    return pair;
  }

private:
  GstElement *pipeline_;
  GstElement *sink_;
};

struct Pipeline {
  const char *name;
  const char *source;
  const char *sink;
  std::vector<std::string> sets; // in the middle, where sets are intersected
  std::vector<std::string> caps; // and where GStreamer's base class intersects
};

std::string start_once(Way one, const std::vector<std::string> &middle, Times &times)
{
  way = one;
  const Line line(middle);
  times.time([&line] { line.start(); });
  return line.agreed();
}

// The two ways may choose another pair: sets are sorted, GStreamer's lists have the driver's order.
void check_pair(const std::string &pair)
{
  guint32 fourcc = 0;
  guint64 modifier = 0;
  gst_drm_format_parse(pair.c_str(), &fourcc, &modifier, nullptr);
  for (const GstCaps *caps : {source_table, sink_table})
    if (!gst_drm_format_set_contains(SetPtr(gst_drm_format_set_new_from_caps(caps)).get(), fourcc,
                                     modifier))
      fail(pair + " is not what both ends have");
}

void run_pipeline(const Pipeline &row, int rounds)
{
  const CapsPtr source = table_caps(row.source);
  const CapsPtr sink = table_caps(row.sink);
  source_table = source.get();
  sink_table = sink.get();
  Times sets;
  Times caps;
  for (int i = 0; i < rounds; i++) {
    check_pair(start_once(Way::Sets, row.sets, sets));
    check_pair(start_once(Way::Caps, row.caps, caps));
  }
  std::printf("%-34s %-12s %-12s %8.0f [%.0f] %10.0f [%.0f]   %.1f [%.1f]\n", row.name, row.source,
              row.sink, sets.median(), sets.least(), caps.median(), caps.least(),
              caps.median() / sets.median(), caps.least() / sets.least());
}

// --- one caps query of every element -------------------------------------------------------------

struct Query {
  const char *element;
  const char *pad;
};

const Query kQueries[] = {
    {"dmabufupload", "sink"},      {"dmabufupload", "src"},      {"dmabufdownload", "sink"},
    {"dmabufdownload", "src"},     {"egldmabufupload", "sink"},  {"egldmabufupload", "src"},
    {"egldmabufdownload", "sink"}, {"egldmabufdownload", "src"}, {"kmsdmabufsink", "sink"},
    {"vadmabufsrc", "src"},        {"vadmabufconvert", "sink"},  {"vadmabufconvert", "src"},
    {"metisdmabufinfer", "sink"},  {"metisdmabufinfer", "src"},  {"drmtensordecode", "sink"},
    {"drmtensordecode", "src"},    {"drmoverlay", "sink"},       {"drmoverlay", "src"},
};

// As many as glupload's query was timed with (docs/benchmarks.md).
constexpr std::size_t kGlPairs = 110;

// Pad -> ELEMENT -> capsfilter with a table -> fakesink, as far as the element has pads and starts
// here.
void run_query(const Query &query, const char *table, const char *filter_table, std::size_t pairs,
               int rounds)
{
  GstElement *element = gst_element_factory_make(query.element, nullptr);
  if (!element)
    return;
  GstElement *pipeline = gst_pipeline_new(nullptr);
  gst_bin_add(GST_BIN(pipeline), element);
  const CapsPtr downstream = table_caps(table);
  const CapsPtr filter = table_caps(filter_table, pairs);
  GstPad *after = nullptr;
  GstElement *behind = make("capsfilter");
  GstElement *sink = make("fakesink");
  gst_bin_add_many(GST_BIN(pipeline), behind, sink, nullptr);
  g_object_set(sink, "async", FALSE, nullptr);
  gst_element_link(behind, sink);
  if (element->numsrcpads > 0) {
    gst_element_link(element, behind);
    g_object_set(behind, "caps", downstream.get(), nullptr);
    after = gst_element_get_static_pad(behind, "sink");
  }
  if (gst_element_set_state(pipeline, GST_STATE_PAUSED) ==
      GST_STATE_CHANGE_FAILURE) // no device here
    gst_element_set_state(pipeline, GST_STATE_READY);
  GstPad *pad = gst_element_get_static_pad(element, query.pad);
  Times first;
  Times again;
  for (int i = 0; i < rounds; i++) {
    if (after) // what was remembered counts no more
      gst_pad_push_event(after, gst_event_new_reconfigure());
    first.time([&] { gst_caps_unref(gst_pad_query_caps(pad, filter.get())); });
    again.time([&] { gst_caps_unref(gst_pad_query_caps(pad, filter.get())); });
  }
  std::printf("%-20s %-5s %-12s %3zu of %-12s %8.1f [%.1f] %8.1f [%.1f]\n", query.element,
              query.pad, table, std::min(pairs, gstdrm::test::load_gpu_table(filter_table).size()),
              filter_table, first.median(), first.least(), again.median(), again.least());
  gst_object_unref(pad);
  if (after)
    gst_object_unref(after);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
}

} // namespace

int main(int argc, char **argv)
{
  gstdrm::test::use_no_display_server();
  gst_init(nullptr, nullptr);
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 100;
  const std::vector<Pipeline> pipelines = {
      {"source ! sink", "amd-vangogh", "amd-navi31", {}, {}},
      {"source ! ELEMENT ! sink", "amd-vangogh", "amd-navi31", {"dmabufupload"}, {"identity"}},
      {"source ! ELEMENT ! sink", "amd-gfx1201", "amd-navi31", {"dmabufupload"}, {"identity"}},
      {"source ! ELEMENT ! sink", "nouveau-nv106", "amd-gfx1201", {"dmabufupload"}, {"identity"}},
      {"source ! ELEMENT ! ELEMENT ! sink",
       "amd-vangogh",
       "amd-navi31",
       {"dmabufupload", "dmabufupload"},
       {"identity", "identity"}},
  };
  std::printf(
      "NULL to PLAYING, microseconds: median [least]\n%-34s %-12s %-12s %14s %20s   times\n",
      "pipeline", "source", "sink", "sets", "gst_caps_intersect");
  for (const Pipeline &row : pipelines)
    run_pipeline(row, rounds);
  std::printf("\ncaps query with a list as its filter, microseconds: median [least]\n%-20s %-5s "
              "%-12s %-19s %14s %14s\n",
              "element", "pad", "downstream", "filter", "first", "again");
  for (const Query &query : kQueries) {
    run_query(query, "amd-navi31", "amd-navi31", kGlPairs, rounds);
    run_query(query, "amd-navi31", "amd-gfx1201", SIZE_MAX, rounds); // the longest table there is
  }
  return 0;
}
