// SPDX-License-Identifier: LGPL-2.1-or-later
// dmabufupload: what it makes of downstream's answers to the allocation query, and what it does
// where memory runs out. tests/device runs this with the kernel's exporters.
#include <fcntl.h>
#include <sys/resource.h>

#include "support/consumer.hpp"
#include "support/dmabuf_elements.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

const std::string kNv12 = plain_caps("NV12", 320, 240);

GstPtr<GstDrmAllocator> new_allocator(const char *kind)
{
  GEnumClass *kinds = G_ENUM_CLASS(g_type_class_ref(GST_TYPE_DRM_ALLOCATOR_KIND));
  const auto value = static_cast<GstDrmAllocatorKind>(g_enum_get_value_by_nick(kinds, kind)->value);
  g_type_class_unref(kinds);
  GError *error = nullptr;
  auto made = GstPtr<GstDrmAllocator>::adopt(gst_drm_allocator_new(value, nullptr, &error));
  fail_unless(made, "%s: %s", kind, error ? error->message : "");
  return made;
}

// One entry of the answer. Ours, Other: of the first and of the last kind that these tests run
// with.
enum class Entry { Nothing, NoAllocator, System, Ours, Other };

struct Row {
  const char *name;
  std::vector<Entry> params, pools;
  Entry taken; // Nothing: none of them
};

const std::vector<Row> &rows()
{
  static const std::vector<Row> list = {
      {"nothing", {}, {}, Entry::Nothing},
      {"parameters alone", {Entry::NoAllocator}, {}, Entry::Nothing},
      {"the system's allocator", {Entry::System}, {}, Entry::Nothing},
      {"a size alone", {}, {Entry::Nothing}, Entry::Nothing},
      {"a pool that chooses for itself", {}, {Entry::NoAllocator}, Entry::Nothing},
      {"a pool of system memory", {}, {Entry::System}, Entry::Nothing},
      {"an allocator", {Entry::Ours}, {}, Entry::Ours},
      {"a pool", {}, {Entry::Ours}, Entry::Ours},
      {"the second allocator", {Entry::System, Entry::Ours}, {}, Entry::Ours},
      {"the third pool", {}, {Entry::Nothing, Entry::System, Entry::Ours}, Entry::Ours},
      {"the first of two", {Entry::Other, Entry::Ours}, {}, Entry::Other},
      {"an allocator before a pool", {Entry::Other}, {Entry::Ours}, Entry::Other},
      {"a pool behind a useless allocator", {Entry::NoAllocator, Entry::System}, {Entry::Ours}, Entry::Ours},
  };
  return list;
}

// Downstream of the harness.
struct Downstream {
  const Row *row = nullptr;
  GstPtr<GstDrmAllocator> ours = new_allocator(test_kinds().front());
  GstPtr<GstDrmAllocator> other = new_allocator(test_kinds().back());
  guint min = 0;
  guint asked = 0;

  [[nodiscard]] GstAllocator *allocator(Entry entry) const
  {
    if (entry == Entry::Ours)
      return GST_ALLOCATOR(ours.get());
    return entry == Entry::Other ? GST_ALLOCATOR(other.get()) : nullptr;
  }

  void add_param(GstQuery *query, Entry entry) const
  {
    GstAllocationParams params;
    gst_allocation_params_init(&params);
    GstAllocator *system =
        entry == Entry::System ? gst_allocator_find(GST_ALLOCATOR_SYSMEM) : nullptr;
    gst_query_add_allocation_param(query, system ? system : allocator(entry), &params);
    g_clear_pointer(&system, gst_object_unref);
  }

  void add_pool(GstQuery *query, Entry entry) const
  {
    const GstVideoInfo info = video_info(kNv12);
    const auto size = static_cast<guint>(GST_VIDEO_INFO_SIZE(&info));
    GstPtr<GstBufferPool> pool;
    if (entry == Entry::Ours || entry == Entry::Other)
      pool.reset(gst_drm_buffer_pool_new(GST_DRM_ALLOCATOR(allocator(entry))));
    else if (entry != Entry::Nothing)
      pool.reset(gst_buffer_pool_new());
    if (pool) {
      GstStructure *config = gst_buffer_pool_get_config(pool.get());
      gst_buffer_pool_config_set_params(config, caps_of(kNv12).get(), size, min, 0);
      GstAllocator *system =
          entry == Entry::System ? gst_allocator_find(GST_ALLOCATOR_SYSMEM) : nullptr;
      if (system)
        gst_buffer_pool_config_set_allocator(config, system, nullptr);
      g_clear_pointer(&system, gst_object_unref);
      fail_unless(gst_buffer_pool_set_config(pool.get(), config));
    }
    gst_query_add_allocation_pool(query, pool.get(), size, min, 0);
  }

  static gboolean on_query(GstPad *pad, GstObject *parent, GstQuery *query)
  {
    if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION)
      return gst_pad_query_default(pad, parent, query);
    auto *self = static_cast<Downstream *>(g_object_get_data(G_OBJECT(pad), "downstream"));
    self->asked++;
    for (const Entry entry : self->row->params)
      self->add_param(query, entry);
    for (const Entry entry : self->row->pools)
      self->add_pool(query, entry);
    return TRUE;
  }

  void answer_for(const Harness &h)
  {
    g_object_set_data(G_OBJECT(h.get()->sinkpad), "downstream", this);
    gst_pad_set_query_function(h.get()->sinkpad, on_query);
  }
};

GST_START_TEST(test_answers)
{
  const Row &row = rows().at(static_cast<std::size_t>(__i__));
  g_print("# %s\n", row.name);
  Downstream downstream;
  downstream.row = &row;
  // a memfd is nothing that downstream could import
  const bool importable = std::strcmp(test_kinds().front(), "memfd") != 0;
  const Harness h("dmabufupload");
  downstream.answer_for(h);
  fail_unless(h.negotiate(kNv12), "%s", h.last_error().c_str());
  fail_unless_equals_int(downstream.asked, 1);
  const auto out = h.push(new_frame(kNv12, 5));
  check_drawn(out.get(), video_info(kNv12), 5);
  const GstAllocator *used = gst_buffer_peek_memory(out.get(), 0)->allocator;
  for (const Entry entry : {Entry::Ours, Entry::Other})
    fail_unless((used == downstream.allocator(entry)) == (importable && row.taken == entry),
                "%s: allocated by %s", row.name, GST_OBJECT_NAME(used));
}
GST_END_TEST

// A new answer counts from the next frame on: the pool for copies is made anew, as large as it
// says.
GST_START_TEST(test_new_answer)
{
  static const Row kRow = {"a size alone", {}, {Entry::Nothing}, Entry::Nothing};
  Downstream downstream;
  downstream.row = &kRow;
  const Harness h(std::string("dmabufupload allocator=") + test_kinds().front());
  downstream.answer_for(h);
  fail_unless(h.negotiate(kNv12), "%s", h.last_error().c_str());
  GstPtr<GstBufferPool> last;
  for (const guint min : {0U, 5U, 2U}) {
    downstream.min = min;
    const guint asked = downstream.asked;
    if (last)
      gst_pad_push_event(h.get()->sinkpad, gst_event_new_reconfigure());
    const auto out = h.push(new_frame(kNv12));
    fail_unless_equals_int(downstream.asked, last ? asked + 1 : asked);
    GstBufferPool *pool = out.get()->pool;
    fail_unless(pool != nullptr && pool != last.get());
    fail_if(last && gst_buffer_pool_is_active(last.get()));
    guint kept = 0;
    GstStructure *config = gst_buffer_pool_get_config(pool);
    gst_buffer_pool_config_get_params(config, nullptr, nullptr, &kept, nullptr);
    gst_structure_free(config);
    fail_unless_equals_int(kept, min + 1); // and the one that is being written
    last = GstPtr<GstBufferPool>::share(pool);
    const auto next = h.push(new_frame(kNv12));
    fail_unless(next.get()->pool == pool, "without a new answer the pool stays");
  }
}
GST_END_TEST

// ---- what a consumer asks for beyond its caps

GST_START_TEST(test_constraints_are_honoured)
{
  const Consumer consumer = {"display", 4096, 3};
  const Harness h(std::string("dmabufupload allocator=") + test_kinds().front());
  answer_as(h.get()->sinkpad, consumer);
  fail_unless(h.negotiate(kNv12), "%s", h.last_error().c_str());
  const auto out = h.push(new_frame(kNv12, 5));
  check_drawn(out.get(), video_info(kNv12), 5);
  const GstVideoMeta *meta = gst_buffer_get_video_meta(out.get());
  fail_unless_equals_int(meta->stride[0], 4096);
  fail_unless_equals_int(meta->stride[1], 4096);
  guint kept = 0;
  GstStructure *config = gst_buffer_pool_get_config(out.get()->pool);
  gst_buffer_pool_config_get_params(config, nullptr, nullptr, &kept, nullptr);
  gst_structure_free(config);
  fail_unless_equals_int(kept, 4); // three, and the one that is being written
}
GST_END_TEST

GST_START_TEST(test_conflict_is_posted)
{
  const Consumer consumer = {"display", 48, 3};
  const Harness h("dmabufupload name=up");
  answer_as(h.get()->sinkpad, consumer);
  h.negotiate(kNv12);
  gst_harness_push(h.get(), new_frame(kNv12, 5));
  const std::string text = h.last_error();
  say(text);
  for (const char *part : {"up cannot allocate what its consumers ask for", "stride-align: 48 is not a power of two", "display on /dev/dri/card7: 48 bytes",
                           "Smallest change: Let display on /dev/dri/card7 ask for 64 bytes as stride-align."})
    fail_unless(text.find(part) != std::string::npos, "'%s' does not say '%s'", text.c_str(), part);
}
GST_END_TEST

// Every key that a consumer states is met, or named in the error together with the consumer.
struct Ask {
  const char *name;
  void (*state)(GstDrmConstraints *asked);
  const char *error; // empty: the frame is checked
  void (*check)(GstBuffer *frame, const GstVideoMeta *meta);
};

template <GstDrmConstraintKey key, guint64 min, guint64 max = min> void range(GstDrmConstraints *asked)
{
  fail_unless(gst_drm_constraints_set_range(asked, key, min, max));
}
template <GstDrmPlacement kinds> void placed(GstDrmConstraints *asked)
{
  gst_drm_constraints_set_placement(asked, kinds, nullptr);
}
void in_no_such_heap(GstDrmConstraints *asked)
{
  const gchar *const heaps[] = {"no-such-heap", nullptr};
  gst_drm_constraints_set_placement(asked, GST_DRM_PLACEMENT_NONE, heaps);
}
void any_frame(GstBuffer *, const GstVideoMeta *) {}
void offsets_of_4096(GstBuffer *, const GstVideoMeta *meta)
{
  fail_unless(meta->offset[1] > 0 && meta->offset[1] % 4096 == 0);
}
void rows_of_1000(GstBuffer *, const GstVideoMeta *meta)
{
  fail_unless(meta->stride[0] >= 1000);
}
template <guint min, guint max> void pool_of(GstBuffer *frame, const GstVideoMeta *)
{
  guint least = 0;
  guint most = 0;
  GstStructure *config = gst_buffer_pool_get_config(frame->pool);
  gst_buffer_pool_config_get_params(config, nullptr, nullptr, &least, &most);
  gst_structure_free(config);
  fail_unless(least >= min && (max == 0 || most <= max), "%u to %u", least, most);
}

const Ask kAsks[] = {
    {"offset-align", range<GST_DRM_CONSTRAINT_OFFSET_ALIGN, 4096>, "", offsets_of_4096},
    {"least stride", range<GST_DRM_CONSTRAINT_STRIDE, 1000, G_MAXUINT64>, "", rows_of_1000},
    {"most stride", range<GST_DRM_CONSTRAINT_STRIDE, 1, 511>, "needs a stride of 512 bytes, and at most 511 is accepted", nullptr},
    {"exact stride", range<GST_DRM_CONSTRAINT_STRIDE, 768>, "", [](GstBuffer *, const GstVideoMeta *meta) { fail_unless_equals_int(meta->stride[0], 768); }},
    {"least size", range<GST_DRM_CONSTRAINT_SIZE, 10000000, G_MAXUINT64>, "", [](GstBuffer *frame, const GstVideoMeta *) { fail_unless(gst_buffer_get_size(frame) >= 10000000); }},
    {"most size", range<GST_DRM_CONSTRAINT_SIZE, 1, 1000>, "size: NV12 (LINEAR)", nullptr},
    {"size-align", range<GST_DRM_CONSTRAINT_SIZE_ALIGN, 1 << 18>, "", [](GstBuffer *frame, const GstVideoMeta *) { fail_unless_equals_uint64(gst_buffer_get_size(frame) % (1 << 18), 0); }},
    {"size beyond 4 GiB", range<GST_DRM_CONSTRAINT_SIZE, (guint64{1} << 32) + 1, G_MAXUINT64>, "size: the ranges have no value in common", nullptr},
    {"base-align of a page", range<GST_DRM_CONSTRAINT_BASE_ALIGN, 4096>, "", any_frame},
    {"base-align of 1 MiB", range<GST_DRM_CONSTRAINT_BASE_ALIGN, 1U << 20>, "asks for a multiple of 1048576", nullptr},
    {"two descriptors", range<GST_DRM_CONSTRAINT_FDS, 2, 4>, "makes frames of 1 descriptors, and display asks for 2 or more", nullptr},
    {"one plane", range<GST_DRM_CONSTRAINT_PLANES, 1>, "planes: the formats in common have 2 planes or more", nullptr},
    {"at least 9 buffers", range<GST_DRM_CONSTRAINT_BUFFERS, 9, 20>, "", pool_of<9, 20>},
    {"at most 2 buffers", range<GST_DRM_CONSTRAINT_BUFFERS, 1, 2>, "", pool_of<1, 2>},
    {"256 buffers held", range<GST_DRM_CONSTRAINT_BUFFERS_HELD, 256>, "", pool_of<257, 0>},
    {"257 buffers held", range<GST_DRM_CONSTRAINT_BUFFERS_HELD, 257>, "hold 258 at a time (display on /dev/dri/card7 257), and a pool may have 257", nullptr},
    {"65536 buffers held", range<GST_DRM_CONSTRAINT_BUFFERS_HELD, 65536>, "together 65537", nullptr},
    {"any kind of memory", placed<static_cast<GstDrmPlacement>(7)>, "", any_frame},
    {"system memory", placed<GST_DRM_PLACEMENT_SYSTEM>, "", any_frame},
    {"contiguous memory", placed<GST_DRM_PLACEMENT_CONTIGUOUS>, "display asks for contiguous memory", nullptr},
    {"a device's memory", placed<GST_DRM_PLACEMENT_DEVICE>, "the CPU needs access, and cannot rely on it in the memory of a device", nullptr},
    {"a heap that is not there", in_no_such_heap, "display asks for memory of the heap no-such-heap", nullptr},
};

GstPadProbeReturn answer_ask(GstPad *, GstPadProbeInfo *info, gpointer data) noexcept
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY(info);
  if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  g_autoptr(GstDrmConstraints) asked = gst_drm_constraints_new("display", "/dev/dri/card7");
  static_cast<const Ask *>(data)->state(asked);
  gst_query_add_drm_constraints(query, asked);
  gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
  return GST_PAD_PROBE_HANDLED;
}

GST_START_TEST(test_asked)
{
  const Ask &ask = kAsks[__i__];
  say(ask.name);
  const Harness h("dmabufupload name=up allocator=memfd");
  gst_pad_add_probe(h.get()->sinkpad, static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM | GST_PAD_PROBE_TYPE_PUSH), answer_ask,
                    const_cast<Ask *>(&ask), nullptr);
  h.negotiate(kNv12);
  if (*ask.error == '\0') {
    const auto out = h.push(new_frame(kNv12, 5));
    check_drawn(out.get(), video_info(kNv12), 5);
    ask.check(out.get(), gst_buffer_get_video_meta(out.get()));
    return;
  }
  gst_harness_push(h.get(), new_frame(kNv12, 5));
  const std::string text = h.last_error();
  fail_unless(text.find(ask.error) != std::string::npos, "'%s' does not say '%s'", text.c_str(), ask.error);
}
GST_END_TEST

// Without allocator= the heap that a consumer names is opened; the error says who named it.
GST_START_TEST(test_heap_is_opened)
{
  const Ask ask = {"", in_no_such_heap, "", nullptr};
  const Harness h("dmabufupload name=up");
  gst_pad_add_probe(h.get()->sinkpad, static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM | GST_PAD_PROBE_TYPE_PUSH), answer_ask,
                    const_cast<Ask *>(&ask), nullptr);
  h.negotiate(kNv12);
  gst_harness_push(h.get(), new_frame(kNv12, 5));
  const std::string text = h.last_error();
  for (const char *part : {"up has nothing to allocate dma-bufs from in the memory that display asks for", "no-such-heap"})
    fail_unless(text.find(part) != std::string::npos, "'%s' does not say '%s'", text.c_str(), part);
}
GST_END_TEST

// A tee fails the query at the first branch that does not answer, a fakesink: what the other branches ask for counts all
// the same, whichever comes first.
GST_START_TEST(test_constraints_behind_tee)
{
  static const char *const kBranches[] = {
      "t. ! queue ! fakesink async=false sync=false t. ! queue ! identity name=consumer ! fakesink async=false sync=false name=sink",
      "t. ! queue ! identity name=consumer ! fakesink async=false sync=false name=sink t. ! queue ! fakesink async=false sync=false",
  };
  const Consumer consumer = {"display", 4096, 3};
  const std::string text = std::string("videotestsrc num-buffers=2 ! ") + kNv12 + " ! dmabufupload allocator=" + test_kinds().front() +
                           " ! video/x-raw(memory:DMABuf) ! tee name=t " + kBranches[__i__];
  GstElement *pipeline = gst_parse_launch(text.c_str(), nullptr);
  fail_unless(pipeline != nullptr, "%s", text.c_str());
  GstElement *identity = gst_bin_get_by_name(GST_BIN(pipeline), "consumer");
  GstPad *pad = gst_element_get_static_pad(identity, "sink");
  answer_as(pad, consumer);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstBus *bus = gst_element_get_bus(pipeline);
  GstMessage *message = gst_bus_timed_pop_filtered(bus, GST_CLOCK_TIME_NONE, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  fail_unless_equals_int(GST_MESSAGE_TYPE(message), GST_MESSAGE_EOS);
  GstElement *sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
  GstSample *sample = nullptr;
  g_object_get(sink, "last-sample", &sample, nullptr);
  fail_unless(sample != nullptr);
  const GstVideoMeta *meta = gst_buffer_get_video_meta(gst_sample_get_buffer(sample));
  fail_unless(meta && meta->stride[0] == 4096);
  gst_sample_unref(sample);
  gst_message_unref(message);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  for (gpointer object : {static_cast<gpointer>(sink), static_cast<gpointer>(bus), static_cast<gpointer>(pad), static_cast<gpointer>(identity), static_cast<gpointer>(pipeline)})
    gst_object_unref(object);
}
GST_END_TEST

// The process has no descriptor left for a frame: an error that is said, and no frame. Once there
// are some again the stream goes on.
GST_START_TEST(test_out_of_descriptors)
{
  const Harness h(std::string("dmabufupload allocator=") + test_kinds().front());
  fail_unless(h.negotiate(kNv12), "%s", h.last_error().c_str());
  std::vector<GstPtr<GstBuffer>> held;
  for (guint i = 0; i < 4; i++)
    held.push_back(h.push(new_frame(kNv12, i)));
  const guint64 copies = h.stat("copies");
  const guint64 frames = h.stat("frames");

  const int next = fcntl(0, F_DUPFD_CLOEXEC, 0); // the lowest that is free
  fail_unless(next >= 0);
  close(next);
  rlimit before{};
  fail_unless_equals_int(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none = {static_cast<rlim_t>(next), before.rlim_max};
  fail_unless_equals_int(setrlimit(RLIMIT_NOFILE, &none), 0);
  const GstFlowReturn flow = gst_harness_push(h.get(), new_frame(kNv12, 4));
  fail_unless_equals_int(setrlimit(RLIMIT_NOFILE, &before), 0);
  fail_unless_equals_int(flow, GST_FLOW_ERROR);
  fail_unless(gst_harness_try_pull(h.get()) == nullptr);
  fail_unless_equals_uint64(h.stat("copies"), copies);
  fail_unless_equals_uint64(h.stat("frames"), frames);
  const auto out = h.push(new_frame(kNv12, 5));
  check_drawn(out.get(), video_info(kNv12), 5);
}
GST_END_TEST

Suite *dmabufupload_downstream_suite()
{
  Suite *suite = suite_create("dmabufupload-downstream");
  TCase *tcase = tcase_create("downstream");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_answers, 0, static_cast<int>(rows().size()));
  tcase_add_test(tcase, test_new_answer);
  tcase_add_test(tcase, test_constraints_are_honoured);
  tcase_add_test(tcase, test_conflict_is_posted);
  tcase_add_loop_test(tcase, test_constraints_behind_tee, 0, 2);
  tcase_add_loop_test(tcase, test_asked, 0, static_cast<int>(G_N_ELEMENTS(kAsks)));
  tcase_add_test(tcase, test_heap_is_opened);
  tcase_add_test(tcase, test_out_of_descriptors);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(dmabufupload_downstream)
