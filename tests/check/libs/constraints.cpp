// SPDX-License-Identifier: LGPL-2.1-or-later
// The C API of constraints: what is set is read back, what is reconciled is laid out, a conflict is told in three forms.
// The rules themselves have their tables in tests/unit/core/reconcile.cpp.
#include <gst/drm/drm.h>

#include "constraints_gathering.hpp"
#include "support/check_main.hpp"

namespace {

constexpr guint32 kNv12 = 0x3231564e;
constexpr guint32 kXr24 = 0x34325258;

GstDrmConstraints *reconcile(const std::initializer_list<GstDrmConstraints *> &all, GstDrmConflict **conflict)
{
  GPtrArray *accessors = g_ptr_array_new();
  for (GstDrmConstraints *one : all)
    g_ptr_array_add(accessors, one);
  GstDrmConstraints *done = gst_drm_constraints_reconcile(accessors, conflict);
  g_ptr_array_unref(accessors);
  return done;
}

GST_START_TEST(test_set_and_get)
{
  g_autoptr(GstDrmConstraints) one = gst_drm_constraints_new("camera", "/dev/video0");
  fail_unless_equals_string(gst_drm_constraints_get_name(one), "camera");
  fail_unless_equals_string(gst_drm_constraints_get_device(one), "/dev/video0");
  guint64 min = 7;
  guint64 max = 7;
  fail_if(gst_drm_constraints_get_range(one, GST_DRM_CONSTRAINT_WIDTH, &min, &max));
  fail_unless(gst_drm_constraints_set_range(one, GST_DRM_CONSTRAINT_WIDTH, 64, 4096));
  fail_unless(gst_drm_constraints_get_range(one, GST_DRM_CONSTRAINT_WIDTH, &min, &max));
  fail_unless(min == 64 && max == 4096);
  fail_if(gst_drm_constraints_set_range(one, GST_DRM_CONSTRAINT_STRIDE_ALIGN, 64, 128), "no range");
  fail_if(gst_drm_constraints_set_number(one, GST_DRM_CONSTRAINT_FORMATS, 1), "no number");

  const gchar *const heaps[] = {"secure", "cma", "cma", nullptr};
  gst_drm_constraints_set_placement(one, GST_DRM_PLACEMENT_CONTIGUOUS, heaps);
  GstDrmPlacement kinds = GST_DRM_PLACEMENT_NONE;
  gchar **names = nullptr;
  fail_unless(gst_drm_constraints_get_placement(one, &kinds, &names));
  fail_unless(kinds == GST_DRM_PLACEMENT_CONTIGUOUS && g_strv_length(names) == 2);
  fail_unless_equals_string(names[0], "cma");
  g_strfreev(names);

  const guint64 dims[] = {1, 3, 224, 224};
  gst_drm_constraints_set_dims(one, dims, 4);
  guint n = 0;
  g_autofree guint64 *read = gst_drm_constraints_get_dims(one, &n);
  fail_unless(n == 4 && read[3] == 224);
  g_autoptr(GstDrmConstraints) other = gst_drm_constraints_new("other", nullptr);
  fail_unless(gst_drm_constraints_get_dims(other, &n) == nullptr && n == 0);
}
GST_END_TEST

GST_START_TEST(test_formats)
{
  g_autoptr(GstDrmConstraints) one = gst_drm_constraints_new(nullptr, nullptr);
  fail_unless(gst_drm_constraints_get_formats(one) == nullptr, "any");
  g_autoptr(GstDrmFormatSet) set = gst_drm_format_set_new();
  gst_drm_format_set_add(set, kNv12, 0);
  gst_drm_constraints_set_formats(one, set);
  gst_drm_format_set_add(set, kXr24, 0);
  g_autoptr(GstDrmFormatSet) read = gst_drm_constraints_get_formats(one);
  fail_unless_equals_int(gst_drm_format_set_get_size(read), 1);
  gst_drm_constraints_set_formats(one, nullptr);
  fail_unless(gst_drm_constraints_get_formats(one) == nullptr);
}
GST_END_TEST

GST_START_TEST(test_layout)
{
  g_autoptr(GstDrmFormatSet) set = gst_drm_format_set_new();
  gst_drm_format_set_add(set, kNv12, 0);
  g_autoptr(GstDrmConstraints) camera = gst_drm_constraints_new("camera", nullptr);
  gst_drm_constraints_set_formats(camera, set);
  gst_drm_constraints_set_number(camera, GST_DRM_CONSTRAINT_WIDTH, 640);
  gst_drm_constraints_set_number(camera, GST_DRM_CONSTRAINT_HEIGHT, 480);
  g_autoptr(GstDrmConstraints) display = gst_drm_constraints_new("display", nullptr);
  gst_drm_constraints_set_number(display, GST_DRM_CONSTRAINT_STRIDE_ALIGN, 256);
  gst_drm_constraints_set_number(display, GST_DRM_CONSTRAINT_BUFFERS_HELD, 2);
  const gchar *const heaps[] = {"cma", nullptr};
  gst_drm_constraints_set_placement(display, GST_DRM_PLACEMENT_NONE, heaps);

  fail_unless(gst_drm_constraints_get_size(camera) == 0 && gst_drm_constraints_get_n_planes(camera) == 0);
  GstDrmConflict *conflict = nullptr;
  g_autoptr(GstDrmConstraints) done = reconcile({camera, display}, &conflict);
  fail_unless(done && !conflict);
  fail_unless_equals_uint64(gst_drm_constraints_get_size(done), 552960);
  fail_unless_equals_int(gst_drm_constraints_get_n_planes(done), 2);
  guint64 offset = 0;
  guint64 stride = 0;
  fail_unless(gst_drm_constraints_get_plane(done, 1, &offset, &stride));
  fail_unless(offset == 368640 && stride == 768);
  fail_if(gst_drm_constraints_get_plane(done, 2, &offset, &stride));
  GstDrmPlacement kind = GST_DRM_PLACEMENT_SYSTEM;
  g_autofree gchar *heap = gst_drm_constraints_get_heap(done, &kind);
  fail_unless(kind == GST_DRM_PLACEMENT_NONE);
  fail_unless_equals_string(heap, "cma");

  // system memory has no name
  g_autoptr(GstDrmConstraints) alone = reconcile({camera}, nullptr);
  fail_unless(gst_drm_constraints_get_heap(alone, &kind) == nullptr);
  fail_unless(kind == GST_DRM_PLACEMENT_SYSTEM);

  // what was reconciled is reconciled with one more, and copied with its layout
  g_autoptr(GstDrmConstraints) third = gst_drm_constraints_new("third", nullptr);
  gst_drm_constraints_set_number(third, GST_DRM_CONSTRAINT_STRIDE_ALIGN, 512);
  g_autoptr(GstDrmConstraints) again = reconcile({done, third}, nullptr);
  fail_unless(gst_drm_constraints_get_plane(again, 0, nullptr, &stride));
  fail_unless_equals_uint64(stride, 1024);
  g_autoptr(GstDrmConstraints) copy = gst_drm_constraints_copy(again);
  fail_unless_equals_uint64(gst_drm_constraints_get_size(copy), gst_drm_constraints_get_size(again));
}
GST_END_TEST

GST_START_TEST(test_conflict)
{
  g_autoptr(GstDrmConstraints) camera = gst_drm_constraints_new("camera", "/dev/video0");
  g_autoptr(GstDrmConstraints) display = gst_drm_constraints_new("display", nullptr);
  gst_drm_constraints_set_placement(camera, GST_DRM_PLACEMENT_CONTIGUOUS, nullptr);
  gst_drm_constraints_set_placement(display, GST_DRM_PLACEMENT_SYSTEM, nullptr);
  fail_unless(reconcile({camera, display}, nullptr) == nullptr);
  GstDrmConflict *made = nullptr;
  fail_unless(reconcile({camera, display}, &made) == nullptr && made);
  g_autoptr(GstDrmConflict) conflict = static_cast<GstDrmConflict *>(g_boxed_copy(GST_TYPE_DRM_CONFLICT, made));
  gst_drm_conflict_free(made);
  g_clear_pointer(&camera, gst_drm_constraints_free); // the conflict keeps what it said

  g_autofree gchar *text = gst_drm_conflict_to_string(conflict);
  fail_unless_equals_string(text, "No buffer suits all 2 accessors.\n"
                                  "placement: no memory is one that every accessor takes.\n"
                                  "  camera on /dev/video0: contiguous\n"
                                  "  display: system\n"
                                  "  Smallest change: Let camera on /dev/video0 also take system memory.");
  g_autofree gchar *json = gst_drm_conflict_to_json(conflict);
  fail_unless(g_str_has_prefix(json, "{\"schema\":\"gst-drm-conflict\",\"version\":1,\"accessors\":[{\"name\":\"camera\",\"device\":\"/dev/video0\"}"), "%s", json);
  GstStructure *structure = gst_drm_conflict_to_structure(conflict);
  fail_unless_equals_string(gst_structure_get_string(structure, "text"), text);
  const GValue *failures = gst_structure_get_value(structure, "failures");
  fail_unless_equals_int(gst_value_list_get_size(failures), 1);
  const GstStructure *failure = gst_value_get_structure(gst_value_list_get_value(failures, 0));
  fail_unless_equals_string(gst_structure_get_string(failure, "key"), "placement");
  fail_unless_equals_string(gst_structure_get_string(failure, "reason"), "disjoint");
  fail_unless_equals_int(gst_value_list_get_size(gst_structure_get_value(failure, "values")), 2);
  gst_structure_free(structure);
}
GST_END_TEST

GST_START_TEST(test_no_accessors)
{
  GstDrmConflict *conflict = nullptr;
  g_autoptr(GstDrmConstraints) done = reconcile({}, &conflict);
  fail_unless(done && !conflict);
  for (guint key = GST_DRM_CONSTRAINT_BUFFER_TYPE; key <= GST_DRM_CONSTRAINT_PYRAMID_SCALE; ++key)
    fail_if(gst_drm_constraints_get_range(done, static_cast<GstDrmConstraintKey>(key), nullptr, nullptr));
  fail_if(gst_drm_constraints_get_formats(done) || gst_drm_constraints_get_placement(done, nullptr, nullptr));
}
GST_END_TEST

// A consumer that states an alignment and how many buffers it holds, in the place of the sink behind `pad`.
GstPadProbeReturn state(GstPad *, GstPadProbeInfo *info, gpointer data) noexcept
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY(info);
  if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  gst_query_add_drm_constraints(query, static_cast<GstDrmConstraints *>(data));
  return GST_PAD_PROBE_HANDLED;
}

void consume_as(GstElement *sink, const gchar *name, guint64 stride_align)
{
  GstDrmConstraints *constraints = gst_drm_constraints_new(name, nullptr);
  gst_drm_constraints_set_number(constraints, GST_DRM_CONSTRAINT_STRIDE_ALIGN, stride_align);
  gst_drm_constraints_set_number(constraints, GST_DRM_CONSTRAINT_BUFFERS_HELD, 2);
  GstPad *pad = gst_element_get_static_pad(sink, "sink");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, state, constraints, [](gpointer data) noexcept { gst_drm_constraints_free(static_cast<GstDrmConstraints *>(data)); });
  gst_object_unref(pad);
}

GstDrmConstraints *reconciled(GstQuery *query)
{
  GPtrArray *all = gst_query_get_drm_constraints(query);
  GstDrmConstraints *done = gst_drm_constraints_reconcile(all, nullptr);
  g_ptr_array_unref(all);
  return done;
}

guint64 number_of(GstDrmConstraints *constraints, GstDrmConstraintKey key)
{
  guint64 value = 0;
  fail_unless(gst_drm_constraints_get_range(constraints, key, &value, nullptr));
  return value;
}

GST_START_TEST(test_query)
{
  g_autoptr(GstCaps) caps = gst_caps_new_empty_simple("video/x-raw");
  g_autoptr(GstQuery) query = gst_query_new_allocation(caps, TRUE);
  g_autoptr(GstDrmConstraints) one = gst_drm_constraints_new("one", nullptr);
  gst_drm_constraints_set_number(one, GST_DRM_CONSTRAINT_BUFFERS_HELD, 3);
  gst_query_add_drm_constraints(query, one);
  gst_query_add_drm_constraints(query, one);
  fail_unless_equals_int(gst_query_get_n_allocation_metas(query), 1);
  g_autofree gchar *text = gst_structure_to_string(gst_query_get_structure(query)); // what a log does
  fail_unless(text != nullptr);
  g_autoptr(GstQuery) copy = gst_query_copy(query);
  g_autoptr(GstDrmConstraints) done = reconciled(copy);
  fail_unless_equals_uint64(number_of(done, GST_DRM_CONSTRAINT_BUFFERS_HELD), 3);
}
GST_END_TEST

// A producer's pad, a tee, an identity that knows nothing of constraints, and two consumers; asked twice, for nothing of
// the first answer may be left in the second one.
GST_START_TEST(test_tee)
{
  GstElement *pipeline = gst_parse_launch("identity name=producer ! tee name=t ! identity ! fakesink name=a t. ! fakesink name=b", nullptr);
  g_autoptr(GstElement) producer = gst_bin_get_by_name(GST_BIN(pipeline), "producer");
  g_autoptr(GstElement) a = gst_bin_get_by_name(GST_BIN(pipeline), "a");
  g_autoptr(GstElement) b = gst_bin_get_by_name(GST_BIN(pipeline), "b");
  consume_as(a, "a", 64);
  consume_as(b, "b", 1024);
  g_autoptr(GstPad) src = gst_element_get_static_pad(producer, "src");
  gst_drm_pad_gather_constraints(src, nullptr, nullptr, nullptr);
  gst_element_set_state(pipeline, GST_STATE_PAUSED);
  g_autoptr(GstCaps) caps = gst_caps_new_empty_simple("video/x-raw");
  for (int i = 0; i < 2; ++i) {
    g_autoptr(GstQuery) query = gst_query_new_allocation(caps, TRUE);
    fail_unless(gst_pad_peer_query(src, query));
    g_autoptr(GPtrArray) all = gst_query_get_drm_constraints(query);
    fail_unless_equals_int(all->len, 2);
    g_autoptr(GstDrmConstraints) done = reconciled(query);
    fail_unless_equals_uint64(number_of(done, GST_DRM_CONSTRAINT_STRIDE_ALIGN), 1024);
    fail_unless_equals_uint64(number_of(done, GST_DRM_CONSTRAINT_BUFFERS_HELD), 4);
  }
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
}
GST_END_TEST

// Two producers on one tee's way, as a filter in passthrough is: the inner one takes nothing from the outer.
GST_START_TEST(test_nested_producers)
{
  GstElement *pipeline = gst_parse_launch("identity name=outer ! tee name=t ! identity name=inner ! fakesink name=a t. ! fakesink name=b", nullptr);
  g_autoptr(GstElement) outer = gst_bin_get_by_name(GST_BIN(pipeline), "outer");
  g_autoptr(GstElement) inner = gst_bin_get_by_name(GST_BIN(pipeline), "inner");
  g_autoptr(GstElement) a = gst_bin_get_by_name(GST_BIN(pipeline), "a");
  g_autoptr(GstElement) b = gst_bin_get_by_name(GST_BIN(pipeline), "b");
  consume_as(a, "a", 64);
  consume_as(b, "b", 1024);
  g_autoptr(GstPad) outer_src = gst_element_get_static_pad(outer, "src");
  g_autoptr(GstPad) inner_src = gst_element_get_static_pad(inner, "src");
  gst_drm_pad_gather_constraints(outer_src, nullptr, nullptr, nullptr);
  gst_drm_pad_gather_constraints(inner_src, nullptr, nullptr, nullptr);
  gst_element_set_state(pipeline, GST_STATE_PAUSED);
  g_autoptr(GstCaps) caps = gst_caps_new_empty_simple("video/x-raw");
  g_autoptr(GstQuery) all = gst_query_new_allocation(caps, TRUE);
  fail_unless(gst_pad_peer_query(outer_src, all));
  g_autoptr(GstDrmConstraints) of_all = reconciled(all);
  fail_unless_equals_uint64(number_of(of_all, GST_DRM_CONSTRAINT_STRIDE_ALIGN), 1024);
  g_autoptr(GstQuery) branch = gst_query_new_allocation(caps, TRUE);
  fail_unless(gst_pad_peer_query(inner_src, branch));
  g_autoptr(GstDrmConstraints) of_branch = reconciled(branch);
  fail_unless_equals_uint64(number_of(of_branch, GST_DRM_CONSTRAINT_STRIDE_ALIGN), 64);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
}
GST_END_TEST

// How often the function was called, and whether the probe let go of it.
struct Calls {
  int queries = 0;
  bool ended = false;
};

GST_START_TEST(test_before_query)
{
  GstElement *pipeline = gst_parse_launch("identity name=producer ! fakesink name=a async=false", nullptr);
  g_autoptr(GstElement) producer = gst_bin_get_by_name(GST_BIN(pipeline), "producer");
  g_autoptr(GstElement) a = gst_bin_get_by_name(GST_BIN(pipeline), "a");
  consume_as(a, "a", 64);
  g_autoptr(GstPad) src = gst_element_get_static_pad(producer, "src");
  Calls calls;
  const GstDrmQueryFunc announce = [](GstQuery *query, gpointer data) {
    static_cast<Calls *>(data)->queries++;
    gst_drm_query_announce_release_fences(query);
  };
  const gulong probe = gst_drm_pad_gather_constraints(src, announce, &calls, [](gpointer data) { static_cast<Calls *>(data)->ended = true; });
  gst_element_set_state(pipeline, GST_STATE_PAUSED);
  g_autoptr(GstCaps) caps = gst_pad_peer_query_caps(src, nullptr);
  fail_unless_equals_int(calls.queries, 0);
  g_autoptr(GstQuery) query = gst_query_new_allocation(caps, TRUE);
  fail_unless(gst_pad_peer_query(src, query));
  fail_unless_equals_int(calls.queries, 1);
  fail_unless(gst_drm_query_has_release_fences(query));
  g_autoptr(GstDrmConstraints) done = reconciled(query);
  fail_unless_equals_uint64(number_of(done, GST_DRM_CONSTRAINT_STRIDE_ALIGN), 64);
  fail_if(calls.ended);
  gst_pad_remove_probe(src, probe);
  fail_unless(calls.ended);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
}
GST_END_TEST

GST_START_TEST(test_gather_mistakes)
{
  const GstDrmQueryFunc nothing = [](GstQuery *, gpointer) {};
  GstPad *sink = gst_pad_new("sink", GST_PAD_SINK);
  GstPad *src = gst_pad_new("src", GST_PAD_SRC);
  EXPECT_CRITICAL(fail_unless(gst_drm_pad_gather_constraints(sink, nothing, nullptr, nullptr) == 0));
  gst_object_unref(sink);
  gst_object_unref(src);
}
GST_END_TEST

// One side of a mismatch: caps as text.
struct CapsSide {
  GValue value = G_VALUE_INIT;
  explicit CapsSide(const char *text)
  {
    g_value_init(&value, GST_TYPE_CAPS);
    g_value_take_boxed(&value, gst_caps_from_string(text));
    fail_unless(gst_value_get_caps(&value) != nullptr, "%s", text);
  }
  CapsSide(const CapsSide &) = delete;
  CapsSide &operator=(const CapsSide &) = delete;
  ~CapsSide() { g_value_unset(&value); }
};

#define DMABUF "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format="

const struct {
  const char *sent;
  const char *taken;
  const char *text; // nullptr: they meet
} kMismatches[] = {
    {DMABUF "NV12", DMABUF "{ NV12, XR24 }", nullptr},
    {DMABUF "NV12:0x0100000000000002", DMABUF "{ NV12, XR24 }",
     "gpu has DMA_DRM NV12:0x0100000000000002 (INTEL_Y_TILED). display takes DMA_DRM NV12, XR24. Both have NV12, and no pair in common (NV12 with other "
     "modifiers). Let the sender allocate with a modifier that the receiver takes, linear where it takes that, or put an element that the GPU copies with "
     "between them."},
    {DMABUF "AR24", DMABUF "NV12",
     "gpu has DMA_DRM AR24. display takes DMA_DRM NV12. They have nothing in common (no format in common). Put a converter between them (videoconvert for "
     "plain video), or let one of them take a format of the other."},
    {"video/x-raw, format=NV12", DMABUF "NV12",
     "gpu has plain NV12. display takes DMA_DRM NV12. They have nothing in common (system memory against memory:DMABuf). Put dmabufupload between them."},
    {DMABUF "NV12", "video/x-raw, format=NV12",
     "gpu has DMA_DRM NV12. display takes plain NV12. They have nothing in common (memory:DMABuf against system memory). Put dmabufdownload between them; it "
     "reads linear frames."},
    {"video/x-raw(memory:DMABuf, meta:GstVideoOverlayComposition), format=DMA_DRM, drm-format=XR24", DMABUF "{ XR24, NV12 }",
     "gpu has DMA_DRM XR24. display takes DMA_DRM XR24, NV12. They have nothing in common (memory:DMABuf, meta:GstVideoOverlayComposition against "
     "memory:DMABuf). Let both have the same caps features."},
    {"video/x-raw(memory:GLMemory), format=RGBA", DMABUF "AB24",
     "gpu has memory:GLMemory RGBA. display takes DMA_DRM AB24. They have nothing in common (memory:GLMemory against memory:DMABuf). Put egldmabufdownload "
     "between them."},
    {DMABUF "NV12", "video/x-raw(memory:GLMemory), format=RGBA",
     "gpu has DMA_DRM NV12. display takes memory:GLMemory RGBA. They have nothing in common (memory:DMABuf against memory:GLMemory). Put egldmabufupload "
     "between them."},
    {"video/x-raw, format=NV12, width=641", "video/x-raw, format=NV12, width=[ 1, 600 ]",
     "gpu has plain NV12. display takes plain NV12. They have nothing in common (width 641 against [ 1, 600 ]). Put an element that scales between them "
     "(videoscale), or let both have one size."},
    {"video/x-raw(memory:GLMemory), format=RGBA, texture-target={ 2D, rectangle }", "video/x-raw(memory:GLMemory), format=RGBA, texture-target=external-oes",
     "gpu has memory:GLMemory RGBA. display takes memory:GLMemory RGBA. They have nothing in common (texture-target { (string)2D, (string)rectangle } against "
     "external-oes). Let both have one texture-target."},
    // lists with values of two types, as a slip of the pen in a capsfilter makes them
    {DMABUF "{ AB24, (int)4 }", DMABUF "{ AB24, XR24 }", nullptr},
    {DMABUF "{ XR24, NV12 }", DMABUF "{ AB24, (int)4 }",
     "gpu has DMA_DRM XR24, NV12. display takes DMA_DRM AB24. They have nothing in common (no format in common). Put a converter between them (videoconvert "
     "for plain video), or let one of them take a format of the other."},
};

GST_START_TEST(test_explain_caps)
{
  const auto &row = kMismatches[__i__];
  const CapsSide sent(row.sent);
  const CapsSide taken(row.taken);
  GstStructure *details = nullptr;
  g_autofree gchar *text = gst_drm_explain_mismatch("gpu", &sent.value, "display", &taken.value, &details);
  fail_unless_equals_string(text, row.text);
  fail_unless((details != nullptr) == (row.text != nullptr));
  if (!details)
    return;
  fail_unless_equals_string(gst_structure_get_string(details, "text"), row.text);
  fail_unless_equals_string(gst_structure_get_string(details, "receiver"), "display");
  fail_unless(gst_caps_is_equal(gst_value_get_caps(gst_structure_get_value(details, "sent-caps")), gst_value_get_caps(&sent.value)));
  gst_structure_free(details);
}
GST_END_TEST

GST_START_TEST(test_explain_others)
{
  GValue set = G_VALUE_INIT;
  g_value_init(&set, GST_TYPE_DRM_FORMAT_SET);
  GstDrmFormatSet *formats = gst_drm_format_set_new();
  gst_drm_format_set_add(formats, kXr24, 0);
  g_value_take_boxed(&set, formats);
  const CapsSide taken(DMABUF "NV12");
  g_autofree gchar *of_sets = gst_drm_explain_mismatch(nullptr, &set, nullptr, &taken.value, nullptr);
  fail_unless(g_str_has_prefix(of_sets, "The sender has DMA_DRM XR24. The receiver takes DMA_DRM NV12. "), "%s", of_sets);

  GValue constraints = G_VALUE_INIT;
  g_value_init(&constraints, GST_TYPE_DRM_CONSTRAINTS);
  GstDrmConstraints *one = gst_drm_constraints_new(nullptr, nullptr);
  gst_drm_constraints_set_formats(one, formats);
  gst_drm_constraints_set_number(one, GST_DRM_CONSTRAINT_STRIDE_ALIGN, 48);
  g_value_take_boxed(&constraints, one);
  g_autofree gchar *of_constraints = gst_drm_explain_mismatch("npu", &constraints, "display", &taken.value, nullptr);
  fail_unless_equals_string(of_constraints,
                            "npu has formats XR24 (LINEAR), stride-align 48 bytes. display takes formats NV12 (LINEAR), stride-align any. They have nothing in "
                            "common (formats: no format is in every list, stride-align: 48 is not a power of two). Let npu also take NV12 (LINEAR). Let npu "
                            "ask for 64 bytes as stride-align.");
  g_value_unset(&set);
  g_value_unset(&constraints);
}
GST_END_TEST

Suite *constraints_suite()
{
  Suite *suite = suite_create("constraints");
  TCase *tcase = tcase_create("constraints");
  suite_add_tcase(suite, tcase);
  tcase_add_test(tcase, test_set_and_get);
  tcase_add_test(tcase, test_formats);
  tcase_add_test(tcase, test_layout);
  tcase_add_test(tcase, test_conflict);
  tcase_add_test(tcase, test_no_accessors);
  tcase_add_test(tcase, test_query);
  tcase_add_test(tcase, test_tee);
  tcase_add_loop_test(tcase, test_explain_caps, 0, G_N_ELEMENTS(kMismatches));
  tcase_add_test(tcase, test_explain_others);
  tcase_add_test(tcase, test_nested_producers);
  tcase_add_test(tcase, test_before_query);
  tcase_add_test(tcase, test_gather_mistakes);
  suite_add_tcase(suite, gathering_tcase());
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(constraints)
