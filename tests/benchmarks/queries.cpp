// SPDX-License-Identifier: LGPL-2.1-or-later
// What a caps query costs on its way through one element to real peers: a capsfilter with the table
// of a real GPU, and a fakesink. The same query through dmabufupload, identity, videoconvert and a
// capsfilter without caps, in the same run; then a stream without a frame from NULL to EOS and
// back. `bench-queries count N ELEMENT TABLE [FILTER]` asks N times and ends, for valgrind
// (docs/benchmarks.md).
// The uploaders into OpenGL beside each other: glupload and egldmabufupload, on this machine's EGL.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include <gst/allocators/gstdmabuf.h>
#include <gst/base/gstpushsrc.h>

#include "bench.hpp"
#include "support/gpu_table.hpp"
#include "support/no_display_server.hpp"

namespace {

using namespace gstdrm::bench;
using benchmark::State;

constexpr const char *kElements[] = {"dmabufupload", "identity", "videoconvert", "capsfilter"};

CapsPtr table_caps(const std::string &name)
{
  const auto pairs = gstdrm::test::load_gpu_table(name);
  const Inputs in = make_inputs(name, pairs, pairs);
  return CapsPtr(gst_caps_ref(in.caps_a.get()));
}

// A source of empty buffers that has the table of a GPU, and chooses as GstBaseSrc does.
struct TableSrc {
  GstPushSrc parent;
};
struct TableSrcClass {
  GstPushSrcClass parent_class;
};
constexpr const char *kSourceTable = "amd-vangogh";

GType table_src_get_type();
G_DEFINE_TYPE(TableSrc, table_src, GST_TYPE_PUSH_SRC)

GstFlowReturn table_src_create(GstPushSrc *, GstBuffer **buffer)
{
  *buffer = gst_buffer_new();
  return GST_FLOW_OK;
}

void table_src_class_init(TableSrcClass *klass)
{
  GST_PUSH_SRC_CLASS(klass)->create = table_src_create;
  gst_element_class_add_pad_template(
      GST_ELEMENT_CLASS(klass),
      gst_pad_template_new("src", GST_PAD_SRC, GST_PAD_ALWAYS, table_caps(kSourceTable).get()));
}

void table_src_init(TableSrc *self)
{
  gst_base_src_set_format(GST_BASE_SRC(self), GST_FORMAT_TIME);
}

GstElement *make(const char *factory)
{
  GstElement *element = gst_element_factory_make(factory, nullptr);
  if (!element) {
    std::fprintf(stderr, "no element %s\n", factory);
    std::abort();
  }
  return element;
}

// pad -> ELEMENT -> capsfilter with a table -> fakesink, in PAUSED.
class Chain {
public:
  Chain(const char *element, GstCaps *table) : pipeline_(gst_pipeline_new(nullptr))
  {
    GstElement *tested = make(element);
    GstElement *filter = make("capsfilter");
    GstElement *sink = make("fakesink");
    g_object_set(filter, "caps", table, nullptr);
    g_object_set(sink, "async", FALSE, nullptr);
    gst_bin_add_many(GST_BIN(pipeline_), tested, filter, sink, nullptr);
    gst_element_link_many(tested, filter, sink, nullptr);
    after_ = gst_element_get_static_pad(filter, "sink");
    pad_ = gst_pad_new("src", GST_PAD_SRC);
    gst_pad_set_active(pad_, TRUE);
    GstPad *first = gst_element_get_static_pad(tested, "sink");
    gst_pad_link(pad_, first);
    gst_object_unref(first);
    gst_element_set_state(pipeline_, GST_STATE_PAUSED);
  }
  Chain(const Chain &) = delete;
  Chain &operator=(const Chain &) = delete;
  ~Chain()
  {
    gst_element_set_state(pipeline_, GST_STATE_NULL);
    gst_object_unref(after_);
    gst_object_unref(pad_);
    gst_object_unref(pipeline_);
  }

  [[nodiscard]] CapsPtr ask(GstCaps *filter) const
  {
    return CapsPtr(gst_pad_peer_query_caps(pad_, filter));
  }
  // As downstream does when its answer has changed: nothing that was remembered counts any more.
  void reconfigure() const { gst_pad_push_event(after_, gst_event_new_reconfigure()); }

private:
  GstElement *pipeline_;
  GstPad *after_;
  GstPad *pad_;
};

// One query again and again, as upstream asks while it negotiates.
void query_again(State &state, const char *element, const std::string &table,
                 const std::string &filter)
{
  const Chain chain(element, table_caps(table).get());
  const CapsPtr caps = filter.empty() ? nullptr : table_caps(filter);
  for (auto _ : state)
    benchmark::DoNotOptimize(chain.ask(caps.get()));
}

// The first query after downstream's RECONFIGURE.
void query_first(State &state, const char *element, const std::string &table,
                 const std::string &filter)
{
  const Chain chain(element, table_caps(table).get());
  const CapsPtr caps = filter.empty() ? nullptr : table_caps(filter);
  for (auto _ : state) {
    chain.reconfigure();
    const auto before = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(chain.ask(caps.get()));
    state.SetIterationTime(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count());
  }
}

// Whether the pad had caps, which outlive EOS.
bool was_negotiated(GstElement *sink)
{
  GstPad *pad = gst_element_get_static_pad(sink, "sink");
  GstCaps *caps = gst_pad_get_current_caps(pad);
  gst_object_unref(pad);
  if (caps)
    gst_caps_unref(caps);
  return caps != nullptr;
}

// A source that has a table, the element, a capsfilter with another table: NULL to EOS and back.
// The source negotiates and ends without a frame: dmabufupload refuses one without memory.
void null_to_eos(State &state, const char *element, const std::string &table)
{
  const CapsPtr downstream = table_caps(table);
  for (auto _ : state) {
    GstElement *pipeline = gst_pipeline_new(nullptr);
    auto *source =
        static_cast<GstElement *>(g_object_new(table_src_get_type(), "num-buffers", 0, nullptr));
    GstElement *tested = make(element);
    GstElement *after = make("capsfilter");
    GstElement *sink = make("fakesink");
    g_object_set(after, "caps", downstream.get(), nullptr);
    gst_bin_add_many(GST_BIN(pipeline), source, tested, after, sink, nullptr);
    gst_element_link_many(source, tested, after, sink, nullptr);
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    GstBus *bus = gst_element_get_bus(pipeline);
    GstMessage *end = gst_bus_timed_pop_filtered(
        bus, 100 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
    const bool ended = end && GST_MESSAGE_TYPE(end) == GST_MESSAGE_EOS && was_negotiated(sink);
    if (end)
      gst_message_unref(end);
    gst_object_unref(bus);
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(pipeline);
    if (!ended) {
      std::fprintf(stderr, "%s: no caps, or no end of stream\n", element);
      std::abort(); // the test of this program would not see a row that is skipped
    }
  }
}

// dmabufupload lets DMA_DRM through, as identity does: what is timed has to be the same answer.
void check(const std::string &table, const std::string &filter)
{
  const CapsPtr caps = table_caps(filter);
  const CapsPtr ours = Chain("dmabufupload", table_caps(table).get()).ask(caps.get());
  const CapsPtr theirs = Chain("identity", table_caps(table).get()).ask(caps.get());
  const SetPtr a(gst_drm_format_set_new_from_caps(ours.get()));
  const SetPtr b(gst_drm_format_set_new_from_caps(theirs.get()));
  if (!a || !b || !gst_drm_format_set_is_equal(a.get(), b.get())) {
    std::fprintf(stderr, "%s, filter %s: answers differ\n", table.c_str(), filter.c_str());
    std::abort();
  }
}

// Whether the machine has the element, and OpenGL by EGL: without it the first query fails.
bool works(const char *element, const CapsPtr &downstream, GstCaps *filter)
{
  GstElementFactory *factory = gst_element_factory_find(element);
  if (!factory)
    return false;
  gst_object_unref(factory);
  const CapsPtr answer = Chain(element, downstream.get()).ask(filter);
  return gst_caps_is_any(answer.get()) || !gst_caps_is_empty(answer.get());
}

// As many pairs as glupload was measured with (docs/benchmarks.md), and plain video behind them.
constexpr std::size_t kGlPairs = 110;

void gl_query(State &state, const char *element)
{
  const CapsPtr downstream(gst_caps_from_string("video/x-raw(memory:GLMemory)"));
  auto pairs = gstdrm::test::load_gpu_table("amd-navi31");
  pairs.resize(kGlPairs);
  const Inputs in = make_inputs("amd-navi31", pairs, pairs);
  const CapsPtr filter(gst_caps_copy(in.caps_a.get()));
  gst_caps_append(filter.get(), gst_caps_from_string("video/x-raw, format={NV12, BGRx, RGBA}"));
  if (!works(element, downstream, filter.get())) {
    state.SkipWithError("no OpenGL by EGL here");
    return;
  }
  const Chain chain(element, downstream.get());
  benchmark::DoNotOptimize(chain.ask(filter.get())); // finds the context
  for (auto _ : state)
    benchmark::DoNotOptimize(chain.ask(filter.get()));
}

void register_all()
{
  using benchmark::RegisterBenchmark;
  const auto &names = gstdrm::test::gpu_table_names();
  for (std::size_t i = 0; i < names.size(); i++) {
    const std::string &table = names[i];
    const std::string &other = names[(i + 1) % names.size()];
    check(table, other);
    for (const std::string &filter : {std::string(), table, other}) {
      const std::string inputs =
          table + (filter.empty() ? "/no-filter" : "/filter-" + filter) + "/";
      for (const char *element : kElements) {
        RegisterBenchmark(("query/" + inputs + element).c_str(), query_again, element, table,
                          filter);
        RegisterBenchmark(("query-first/" + inputs + element).c_str(), query_first, element, table,
                          filter)
            ->UseManualTime();
      }
    }
  }
  for (const char *element : {"egldmabufupload", "glupload"})
    RegisterBenchmark((std::string("query-gl/110-pairs/") + element).c_str(), gl_query, element);
  for (const char *element : {"dmabufupload", "identity", "capsfilter"})
    RegisterBenchmark(
        (std::string("null-to-eos/") + kSourceTable + "/amd-navi31/" + element).c_str(),
        null_to_eos, element, "amd-navi31")
        ->MeasureProcessCPUTime();
}

// After the table: how many times as long the same takes through each other element, by the least
// CPU time of all repetitions.
class Ratios : public benchmark::ConsoleReporter {
public:
  void ReportRuns(const std::vector<Run> &runs) override
  {
    ConsoleReporter::ReportRuns(runs);
    for (const Run &run : runs) {
      const std::string &name = run.run_name.function_name;
      const std::size_t slash = name.rfind('/');
      if (run.run_type != Run::RT_Iteration || run.iterations == 0 || slash == std::string::npos)
        continue;
      const double seconds = run.cpu_accumulated_time / static_cast<double>(run.iterations);
      const auto known = least_[name.substr(0, slash)].try_emplace(name.substr(slash + 1), seconds);
      known.first->second = std::min(known.first->second, seconds);
    }
  }
  void Finalize() override
  {
    GetOutputStream()
        << "\nLeast CPU time through the element of gst-drm, and how many times that elsewhere\n";
    for (const auto &[name, elements] : least_) {
      auto ours = elements.find("dmabufupload");
      if (ours == elements.end())
        ours = elements.find("egldmabufupload");
      if (ours == elements.end())
        continue;
      GetOutputStream() << name << ": " << ours->second * 1e6 << " us";
      for (const auto &[element, seconds] : elements)
        if (element != ours->first)
          GetOutputStream() << ", " << element << " " << seconds / ours->second;
      GetOutputStream() << "\n";
    }
  }

private:
  std::map<std::string, std::map<std::string, double>> least_; // name, element: seconds
};

// `count N ELEMENT TABLE [FILTER]`: nothing else, so that a tool can count instructions.
int ask_often(int argc, char **argv)
{
  if (argc < 5) {
    std::fprintf(stderr, "usage: %s count N ELEMENT TABLE [FILTER]\n", argv[0]);
    return 1;
  }
  const Chain chain(argv[3], table_caps(argv[4]).get());
  const CapsPtr filter = argc > 5 ? table_caps(argv[5]) : nullptr;
  for (long left = std::strtol(argv[2], nullptr, 10); left > 0; left--)
    benchmark::DoNotOptimize(chain.ask(filter.get()));
  return 0;
}

} // namespace

int main(int argc, char **argv)
{
  gstdrm::test::use_no_display_server();
  gst_init(nullptr, nullptr);
  if (argc > 1 && std::string(argv[1]) == "count")
    return ask_often(argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 1;
  register_all();
  Ratios ratios;
  benchmark::RunSpecifiedBenchmarks(&ratios);
  benchmark::Shutdown();
  return 0;
}
