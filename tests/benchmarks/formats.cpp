// SPDX-License-Identifier: LGPL-2.1-or-later
// Times the library through its C API, on the tables of real GPUs, each beside GStreamer's own
// operation on the same lists, beside the floor (a merge of sorted arrays) and beside the idea of
// wlroots, in the same run.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <benchmark/benchmark.h>

#include "bench.hpp"
#include "core/reconcile.hpp"

namespace {

using namespace gstdrm::bench;
using benchmark::State;

void intersect_ours(State &state, const Inputs *in)
{
  for (auto _ : state) {
    GstDrmFormatSet *common = gst_drm_format_set_intersect(in->set_a.get(), in->set_b.get());
    benchmark::DoNotOptimize(common);
    gst_drm_format_set_unref(common);
  }
}

void intersect_floor(State &state, const Inputs *in)
{
  std::vector<gstdrm::Format> out(in->a.size() + in->b.size());
  for (auto _ : state) {
    benchmark::DoNotOptimize(floor_intersect(in->a, in->b, out));
    benchmark::ClobberMemory();
  }
}

void intersect_wlroots(State &state, const Inputs *in)
{
  const WlrootsSet a = wlroots_set(in->a);
  const WlrootsSet b = wlroots_set(in->b);
  for (auto _ : state)
    benchmark::DoNotOptimize(wlroots_intersect(a, b));
}

void intersect_gst(State &state, const Inputs *in)
{
  for (auto _ : state)
    gst_caps_unref(gst_caps_intersect(in->caps_a.get(), in->caps_b.get()));
}

// From caps to caps, what a caps query costs.
void intersect_caps_ours(State &state, const Inputs *in)
{
  for (auto _ : state)
    gst_caps_unref(gst_drm_caps_intersect(in->caps_a.get(), in->caps_b.get()));
}

void union_ours(State &state, const Inputs *in)
{
  for (auto _ : state) {
    GstDrmFormatSet *all = gst_drm_format_set_union(in->set_a.get(), in->set_b.get());
    benchmark::DoNotOptimize(all);
    gst_drm_format_set_unref(all);
  }
}

void union_floor(State &state, const Inputs *in)
{
  std::vector<gstdrm::Format> out(in->a.size() + in->b.size());
  for (auto _ : state) {
    benchmark::DoNotOptimize(floor_unite(in->a, in->b, out));
    benchmark::ClobberMemory();
  }
}

// GStreamer has no union of lists in one structure; appending and simplifying is the nearest.
void union_gst(State &state, const Inputs *in)
{
  for (auto _ : state) {
    GstCaps *all = gst_caps_merge(gst_caps_ref(in->caps_a.get()), gst_caps_ref(in->caps_b.get()));
    gst_caps_unref(gst_caps_simplify(all));
  }
}

// Eight accessors of one buffer, with both lists in turn and alignments of their own.
std::vector<gstdrm::Constraints> eight_accessors(const Inputs &in)
{
  std::vector<gstdrm::Constraints> all(8);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].name = "accessor " + std::to_string(i);
    all[i].formats = gstdrm::FormatSet::from_pairs(i % 2 == 0 ? in.a : in.b);
    all[i].set(gstdrm::ConstraintKey::StrideAlign, std::uint64_t{16} << i);
    all[i].set(gstdrm::ConstraintKey::Planes, 1, 4);
    all[i].set(gstdrm::ConstraintKey::Width, 1920);
    all[i].set(gstdrm::ConstraintKey::Height, 1080);
    all[i].set(gstdrm::ConstraintKey::BuffersHeld, 2);
  }
  return all;
}

void reconcile_ours(State &state, const Inputs *in)
{
  const auto all = eight_accessors(*in);
  std::vector<const gstdrm::Constraints *> pointers;
  for (const auto &one : all)
    pointers.push_back(&one);
  for (auto _ : state)
    benchmark::DoNotOptimize(gstdrm::reconcile(pointers));
}

void subset_ours(State &state, const Inputs *in)
{
  for (auto _ : state)
    benchmark::DoNotOptimize(gst_drm_format_set_is_subset(in->set_a.get(), in->set_b.get()));
}

void subset_gst(State &state, const Inputs *in)
{
  for (auto _ : state)
    benchmark::DoNotOptimize(gst_caps_is_subset(in->caps_a.get(), in->caps_b.get()));
}

void set_to_caps(State &state, const Inputs *in)
{
  for (auto _ : state)
    gst_caps_unref(gst_drm_format_set_to_caps(in->set_a.get()));
}

void caps_to_set(State &state, const Inputs *in)
{
  for (auto _ : state) {
    GstDrmFormatSet *set = gst_drm_format_set_new_from_caps(in->caps_a.get());
    benchmark::DoNotOptimize(set);
    gst_drm_format_set_unref(set);
  }
}

// What no conversion between sets and caps can beat: the strings have to be made.
void caps_copy_gst(State &state, const Inputs *in)
{
  for (auto _ : state)
    gst_caps_unref(gst_caps_copy(in->caps_a.get()));
}

void parse_ours(State &state, const char *text)
{
  for (auto _ : state) {
    guint32 fourcc = 0;
    guint64 modifier = 0;
    benchmark::DoNotOptimize(text);
    benchmark::DoNotOptimize(gst_drm_format_parse(text, &fourcc, &modifier, nullptr));
    benchmark::DoNotOptimize(modifier);
  }
}

void print_ours(State &state, guint64 modifier)
{
  for (auto _ : state) {
    benchmark::DoNotOptimize(modifier);
    gchar *text = gst_drm_format_to_string(0x3231564e, modifier);
    benchmark::DoNotOptimize(text);
    g_free(text);
  }
}

#if GST_CHECK_VERSION(1, 24, 0)
void parse_gst(State &state, const char *text)
{
  for (auto _ : state) {
    guint64 modifier = 0;
    benchmark::DoNotOptimize(text);
    benchmark::DoNotOptimize(gst_video_dma_drm_fourcc_from_string(text, &modifier));
    benchmark::DoNotOptimize(modifier);
  }
}

void print_gst(State &state, guint64 modifier)
{
  for (auto _ : state) {
    benchmark::DoNotOptimize(modifier);
    g_free(gst_video_dma_drm_fourcc_to_string(0x3231564e, modifier));
  }
}
#else
// GStreamer 1.22 has neither: what a caller of its time writes.
void parse_gst(State &state, const char *text)
{
  for (auto _ : state) {
    benchmark::DoNotOptimize(text);
    const char *colon = std::strchr(text, ':');
    benchmark::DoNotOptimize(colon ? g_ascii_strtoull(colon + 1, nullptr, 16) : 0);
  }
}

void print_gst(State &state, guint64 modifier)
{
  for (auto _ : state) {
    benchmark::DoNotOptimize(modifier);
    g_free(modifier != 0 ? g_strdup_printf("%" GST_FOURCC_FORMAT ":0x%016" G_GINT64_MODIFIER "x",
                                           GST_FOURCC_ARGS(0x3231564e), modifier)
                         : g_strdup_printf("%" GST_FOURCC_FORMAT, GST_FOURCC_ARGS(0x3231564e)));
  }
}
#endif

void video_info_from_caps(State &state)
{
  const CapsPtr caps(
      gst_caps_from_string("video/x-raw(memory:DMABuf), format=DMA_DRM, width=1920, height=1080, "
                           "framerate=30/1, drm-format=NV12:0x0100000000000002"));
  for (auto _ : state) {
    GstDrmVideoInfo info;
    benchmark::DoNotOptimize(gst_drm_video_info_from_caps(&info, caps.get()));
  }
}

// Everything that is timed has to find the same, or the figures mean nothing.
void check(const Inputs &in)
{
  const SetPtr common(gst_drm_format_set_intersect(in.set_a.get(), in.set_b.get()));
  const CapsPtr caps(gst_drm_caps_intersect(in.caps_a.get(), in.caps_b.get()));
  const SetPtr of_caps(gst_drm_format_set_new_from_caps(caps.get()));
  std::size_t of_wlroots = 0;
  for (const WlrootsFormat &format : wlroots_intersect(wlroots_set(in.a), wlroots_set(in.b)))
    of_wlroots += format.modifiers.size();
  const std::size_t size = gst_drm_format_set_get_size(common.get());
  std::vector<gstdrm::Format> out(in.a.size() + in.b.size());
  if (floor_intersect(in.a, in.b, out) != size || of_wlroots != size ||
      !gst_drm_format_set_is_equal(common.get(), of_caps.get())) {
    std::fprintf(stderr, "%s: results differ\n", in.name.c_str());
    std::abort();
  }
}

void register_all()
{
  using benchmark::RegisterBenchmark;
  for (const Inputs &in : all_inputs()) {
    check(in);
    const auto name = [&in](const char *what) { return std::string(what) + "/" + in.name; };
    const bool huge = in.a.size() > 1000; // GStreamer needs a second and more there
    RegisterBenchmark(name("intersect/ours").c_str(), intersect_ours, &in);
    RegisterBenchmark(name("intersect/floor").c_str(), intersect_floor, &in);
    RegisterBenchmark(name("intersect/wlroots-idea").c_str(), intersect_wlroots, &in);
    if (!huge)
      RegisterBenchmark(name("intersect/gst_caps_intersect").c_str(), intersect_gst, &in);
    RegisterBenchmark(name("intersect-caps/ours").c_str(), intersect_caps_ours, &in);
    RegisterBenchmark(name("reconcile/ours").c_str(), reconcile_ours, &in);
    RegisterBenchmark(name("union/ours").c_str(), union_ours, &in);
    RegisterBenchmark(name("union/floor").c_str(), union_floor, &in);
    RegisterBenchmark(name("subset/ours").c_str(), subset_ours, &in);
    RegisterBenchmark(name("to-caps/ours").c_str(), set_to_caps, &in);
    RegisterBenchmark(name("from-caps/ours").c_str(), caps_to_set, &in);
    RegisterBenchmark(name("copy-caps/gst_caps_copy").c_str(), caps_copy_gst, &in);
    if (!huge) {
      RegisterBenchmark(name("union/gst_caps_merge").c_str(), union_gst, &in);
      RegisterBenchmark(name("subset/gst_caps_is_subset").c_str(), subset_gst, &in);
    }
  }
  RegisterBenchmark("parse/ours/linear", parse_ours, "NV12");
  RegisterBenchmark("parse/ours/modifier", parse_ours, "NV12:0x0100000000000002");
  RegisterBenchmark("parse/gst/linear", parse_gst, "NV12");
  RegisterBenchmark("parse/gst/modifier", parse_gst, "NV12:0x0100000000000002");
  RegisterBenchmark("print/ours/linear", print_ours, guint64{0});
  RegisterBenchmark("print/ours/modifier", print_ours, G_GUINT64_CONSTANT(0x0100000000000002));
  RegisterBenchmark("print/gst/linear", print_gst, guint64{0});
  RegisterBenchmark("print/gst/modifier", print_gst, G_GUINT64_CONSTANT(0x0100000000000002));
  RegisterBenchmark("video-info/from-caps/ours", video_info_from_caps);
}

} // namespace

int main(int argc, char **argv)
{
  gst_init(nullptr, nullptr);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 1;
  register_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
