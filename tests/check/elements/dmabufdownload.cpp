// SPDX-License-Identifier: LGPL-2.1-or-later
// dmabufdownload: caps, frames passed on and copied, and refusals. tests/device runs this with the
// kernel's exporters.
#include <fcntl.h>

#include "support/descriptors.hpp"
#include "support/dmabuf_elements.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

const std::string kPlain = plain_caps("NV12", 641, 481);
const std::string kDmaBuf = dmabuf_caps("NV12", 641, 481);

// NV12 with padded rows
GstBuffer *padded_frame(guint seed = 0)
{
  return new_dmabuf_frame(test_kinds().front(), kPlain, seed);
}

class Download : public Harness {
public:
  explicit Download(bool reads_meta, const char *more = "")
      : Harness(std::string("dmabufdownload ") + more)
  {
    if (reads_meta)
      gst_harness_add_propose_allocation_meta(get(), GST_VIDEO_META_API_TYPE, nullptr);
  }
};

struct CapsRow {
  const char *name;
  const char *upstream;
  const char *downstream;
  const char *result;               // format, or "" where it has to fail
  std::vector<const char *> says{}; // the error
  const char *properties = "";
};

const std::vector<CapsRow> &caps_rows()
{
  static const std::vector<CapsRow> rows = {
      {"linear", "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12, width=64, height=64",
       "ANY", "NV12"},
      {"byte order reads backwards",
       "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=XR24, width=64, height=64",
       "video/x-raw", "BGRx"},
      {"fourcc with spaces",
       "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=(string)\"R8\\ \\ \", width=64, "
       "height=64",
       "ANY", "GRAY8"},
      {"plain", "video/x-raw, format=I420, width=64, height=64", "ANY", "I420"},
      {"tiled",
       "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12:0x0100000000000002, width=64, "
       "height=64",
       "ANY",
       "",
       {"NV12:0x0100000000000002", "INTEL_Y_TILED", "a CPU cannot read", "glupload ! gldownload"}},
      {"named tiling",
       "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12:0x0900000000000001, width=64, "
       "height=64",
       "ANY",
       "",
       {"NV12:0x0900000000000001", "a CPU cannot read"}},
      {"fourcc without a GstVideoFormat",
       "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=AB4H, width=64, height=64",
       "ANY",
       "",
       {"AB4H", "no GstVideoFormat"}},
      {"written linear modifier",
       "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12:0x0000000000000000, width=64, "
       "height=64",
       "ANY",
       "",
       {"NV12"}},
      {"implicit modifier",
       "video/x-raw(memory:DMABuf), format=NV12, width=64, height=64",
       "ANY",
       "",
       {"do not say in which layout", "implicit-modifier=linear"}},
      {"implicit modifier, of linear frames",
       "video/x-raw(memory:DMABuf), format=NV12, width=64, height=64",
       "ANY",
       "NV12",
       {},
       "implicit-modifier=linear"},
      {"implicit modifier, of frames that only a driver reads",
       "video/x-raw(memory:DMABuf), format=NV12, width=64, height=64",
       "ANY",
       "",
       {"do not say in which layout", "implicit-modifier=linear"},
       "implicit-modifier=driver"},
      {"implicit modifier, refused",
       "video/x-raw(memory:DMABuf), format=NV12, width=64, height=64",
       "ANY",
       "",
       {"do not say in which layout"},
       "implicit-modifier=refuse"},
      {"implicit modifier, of a tiling",
       "video/x-raw(memory:DMABuf), format=NV12_4L4, width=64, height=64",
       "ANY",
       "",
       {"NV12_4L4"},
       "implicit-modifier=linear"},
      {"implicit modifier, and downstream wants another format",
       "video/x-raw(memory:DMABuf), format=NV12, width=64, height=64",
       "video/x-raw, format=I420",
       "",
       {"plain I420", "videoconvert after it"},
       "implicit-modifier=linear"},
      {"one field in a buffer",
       "video/x-raw(memory:DMABuf, format:Interlaced), format=DMA_DRM, drm-format=NV12, width=64, "
       "height=64, interlace-mode=alternate",
       "ANY",
       "",
       {"one field each", "interleaved"}},
      {"fields without the caps feature",
       "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12, width=64, height=64, "
       "interlace-mode=alternate",
       "ANY",
       "",
       {"format:Interlaced"}},
      {"downstream wants another format",
       "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12, width=64, height=64",
       "video/x-raw, format=I420",
       "",
       {"plain I420", "videoconvert after it"}},
      {"downstream wants another size",
       "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12, width=64, height=64",
       "video/x-raw, width=32",
       "",
       {"width 64 against 32", "videoconvertscale"}},
      {"downstream wants another rate",
       "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12, width=64, height=64, framerate=30/1",
       "video/x-raw, framerate=25/1",
       "",
       {"framerate 30/1 against 25/1", "videorate after"}},
  };
  return rows;
}

GST_START_TEST(test_caps)
{
  const CapsRow &row = caps_rows()[static_cast<std::size_t>(__i__)];
  const Download h(true, row.properties);
  gst_harness_set_sink_caps(h.get(), caps_of(row.downstream).release());
  const bool accepted = h.negotiate(row.upstream);
  fail_unless(accepted == (row.result[0] != '\0'), "%s: %s", row.name, h.last_error().c_str());
  if (accepted) {
    const std::string expected =
        std::string("video/x-raw, width=64, height=64, format=") + row.result;
    fail_unless(gst_caps_is_equal(h.output_caps().get(), caps_of(expected).get()), "%s: %s",
                row.name, text_of(h.output_caps().get()).c_str());
    return;
  }
  h.negotiate(row.upstream);
  CHECK_ONE_MESSAGE_OF(row.name, h.messages(GST_MESSAGE_ERROR), row.says);
}
GST_END_TEST

GST_START_TEST(test_query)
{
  const Download h(true);
  gst_harness_set_sink_caps(h.get(),
                            caps_of("video/x-raw, format={NV12, BGRx}, width=[64, 128]").release());
  gst_harness_play(h.get());
  const auto answer = GstPtr<GstCaps>::adopt(gst_pad_peer_query_caps(h.get()->srcpad, nullptr));
  const auto expected =
      caps_of("video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format={NV12, XR24}, width=[64, "
              "128], height=[1, 16384]; "
              "video/x-raw, format={BGRx, NV12}, width=[64, 128], height=[1, 16384]");
  fail_unless(gst_caps_is_strictly_equal(answer.get(), expected.get()), "%s",
              text_of(answer.get()).c_str());
  const auto tiled = caps_of(dmabuf_caps("NV12:0x0100000000000002", 64, 64));
  fail_if(gst_pad_peer_query_accept_caps(h.get()->srcpad, tiled.get()));
}
GST_END_TEST

// A reader of GstVideoMeta gets the very same memory, padded or not.
GST_START_TEST(test_same_memory)
{
  const Download h(true);
  fail_unless(h.negotiate(kDmaBuf), "%s", h.last_error().c_str());
  for (guint i = 0; i < 5; i++) {
    GstBuffer *buffer = padded_frame(i);
    GstMemory *memory = gst_buffer_peek_memory(buffer, 0);
    const auto out = h.push(buffer);
    fail_unless(out.get() == buffer);
    fail_unless(gst_buffer_peek_memory(out.get(), 0) == memory);
    check_drawn(out.get(), video_info(kPlain), i);
  }
  fail_unless_equals_uint64(h.stat("frames"), 5);
  fail_unless_equals_uint64(h.stat("copies"), 0);
}
GST_END_TEST

// A reader of the default layout alone: what has it is passed on, what is padded is copied, and
// that is said once.
GST_START_TEST(test_no_video_meta)
{
  const Download h(false);
  const std::string packed = plain_caps("BGRx", 64, 64); // 256 bytes a row: nothing to pad
  fail_unless(h.negotiate(dmabuf_caps("XR24", 64, 64)));
  GstBuffer *buffer = new_dmabuf_frame(test_kinds().front(), packed);
  fail_unless(h.push(buffer).get() == buffer);
  fail_unless_equals_uint64(h.stat("copies"), 0);

  fail_unless(h.negotiate(kDmaBuf));
  const GstVideoInfo info = video_info(kPlain);
  for (guint i = 0; i < 3; i++) {
    const auto out = h.push(padded_frame(i));
    const GstVideoMeta *meta = gst_buffer_get_video_meta(out.get());
    fail_unless(meta == nullptr || meta->stride[0] == info.stride[0]);
    check_drawn(out.get(), info, i);
  }
  fail_unless_equals_uint64(h.stat("copies"), 3);
  fail_unless_equals_uint64(h.stat("bytes-copied"), 3 * (641 * 481 + 642 * 241));
  CHECK_ONE_MESSAGE(h.messages(GST_MESSAGE_INFO), "copied by the CPU", "no GstVideoMeta");
}
GST_END_TEST

// None is left for the pool of copies: one error, and no critical of GStreamer's.
GST_START_TEST(test_no_descriptor_for_a_pool)
{
  const Download h(false);
  fail_unless(h.negotiate(kDmaBuf));
  GstBuffer *frame = padded_frame(0);
  GstFlowReturn flow = GST_FLOW_OK;
  {
    const FewDescriptors few(static_cast<unsigned>(__i__));
    flow = gst_harness_push(h.get(), frame);
  }
  fail_unless_equals_int(flow, GST_FLOW_ERROR);
  CHECK_ONE_MESSAGE(h.messages(GST_MESSAGE_ERROR), "EMFILE", "ulimit -n");
}
GST_END_TEST

// Copies go into the pool that downstream offers.
GST_START_TEST(test_downstream_pool)
{
  GstBufferPool *pool = gst_buffer_pool_new();
  const Download h(false);
  offer_pool(h, pool, 1, 2);
  fail_unless(h.negotiate(kDmaBuf));
  const auto out = h.push(padded_frame(6));
  fail_unless(out->pool == pool);
  check_drawn(out.get(), video_info(kPlain), 6);
  gst_object_unref(pool);
}
GST_END_TEST

// A pool that takes no configuration is not used, and its limits hold for it alone: downstream may
// keep more frames than that pool has, as they come from another one.
GST_START_TEST(test_refusing_pool)
{
  GTypeQuery base;
  g_type_query(GST_TYPE_BUFFER_POOL, &base);
  const auto refuse = [](gpointer klass, gpointer) {
    static_cast<GstBufferPoolClass *>(klass)->set_config = [](GstBufferPool *, GstStructure *) -> gboolean {
      return FALSE;
    };
  };
  const GType type = g_type_register_static_simple(GST_TYPE_BUFFER_POOL, "RefusingPool", base.class_size, refuse,
                                                   base.instance_size, nullptr, static_cast<GTypeFlags>(0));
  auto *pool = GST_BUFFER_POOL(gst_object_ref_sink(g_object_new(type, nullptr)));
  const Download h(false);
  offer_pool(h, pool, 1, 2, 2);
  fail_unless(h.negotiate(kDmaBuf));
  const auto out = h.push(padded_frame(6));
  fail_unless(out->pool && out->pool != pool);
  GstStructure *config = gst_buffer_pool_get_config(out->pool);
  guint most = 1;
  gst_buffer_pool_config_get_params(config, nullptr, nullptr, nullptr, &most);
  gst_structure_free(config);
  fail_unless_equals_int(most, 0);
  gst_object_unref(pool);
}
GST_END_TEST

GST_START_TEST(test_require)
{
  const Download h(false, "zero-copy=require");
  fail_unless(h.negotiate(kDmaBuf));
  fail_unless_equals_int(gst_harness_push(h.get(), padded_frame()), GST_FLOW_ERROR);
  fail_unless(gst_harness_try_pull(h.get()) == nullptr);
  CHECK_ONE_MESSAGE(h.messages(GST_MESSAGE_ERROR), "zero-copy=require", "videoconvert");
}
GST_END_TEST

// A producer that names the pseudo-format in its GstVideoMeta, of a buffer that it keeps.
GST_START_TEST(test_pseudo_format)
{
  const Download h(true);
  fail_unless(h.negotiate(kDmaBuf));
  const auto kept = GstPtr<GstBuffer>::adopt(padded_frame(8));
  gst_buffer_get_video_meta(kept.get())->format = GST_DRM_VIDEO_FORMAT_DMA_DRM;
  const auto out = h.push(gst_buffer_ref(kept.get()));
  fail_unless_equals_int(gst_buffer_get_video_meta(kept.get())->format,
                         GST_DRM_VIDEO_FORMAT_DMA_DRM);
  fail_unless_equals_int(gst_buffer_get_video_meta(out.get())->format, GST_VIDEO_FORMAT_NV12);
  fail_unless(gst_buffer_peek_memory(out.get(), 0) == gst_buffer_peek_memory(kept.get(), 0));
  fail_unless(gst_buffer_get_parent_buffer_meta(out.get()) != nullptr);
  check_drawn(out.get(), video_info(kPlain), 8);
  fail_unless_equals_uint64(h.stat("copies"), 0);
}
GST_END_TEST

// Plain video needs nothing done, unless its rows are padded and nobody downstream could know.
GST_START_TEST(test_plain)
{
  const Download h(false);
  fail_unless(h.negotiate(kPlain));
  GstBuffer *system = new_frame(kPlain);
  fail_unless(h.push(system).get() == system);
  fail_unless_equals_uint64(h.stat("copies"), 0);
  check_drawn(h.push(padded_frame(3)).get(), video_info(kPlain), 3);
  fail_unless_equals_uint64(h.stat("copies"), 1);
}
GST_END_TEST

// Buffers that are not what the caps say.
GST_START_TEST(test_bad_frame)
{
  const Download h(true);
  fail_unless(h.negotiate(kDmaBuf));
  GstBuffer *bad = nullptr;
  const char *says = nullptr;
  switch (__i__) {
  case 0:
    bad = new_frame(kPlain);
    says = "no file descriptor";
    break;
  case 1:
    bad = gst_buffer_new();
    says = "no memory";
    break;
  case 2:
    bad = padded_frame();
    gst_buffer_get_video_meta(bad)->offset[1] = G_MAXUINT32;
    says = "lies outside";
    break;
  case 3:
    bad = padded_frame();
    gst_buffer_get_video_meta(bad)->stride[0] = 640;
    says = "640";
    break;
  case 4:
    bad = padded_frame();
    gst_buffer_get_video_meta(bad)->width = 1920;
    says = "1920x481";
    break;
  default:
    bad = padded_frame();
    gst_buffer_get_video_meta(bad)->n_planes = 1;
    says = "plane";
    break;
  }
  fail_unless_equals_int(gst_harness_push(h.get(), bad), GST_FLOW_ERROR);
  CHECK_ONE_MESSAGE(h.messages(GST_MESSAGE_ERROR), says);
  (void)h.push(padded_frame());
}
GST_END_TEST

// An exporter that lets nobody map, of all memory or of the second one: said at the first frame, and not by whoever reads
// it.
GST_START_TEST(test_unmappable)
{
  const Download h(true);
  // memory of another kind may come with other caps
  fail_unless(h.negotiate(dmabuf_caps("NV12", 66, 64)));
  (void)h.push(new_dmabuf_frame("memfd", plain_caps("NV12", 66, 64)));
  fail_unless(h.negotiate(kDmaBuf));
  // a write-only description of a memfd cannot be mapped for reading; dma-bufs cannot be opened
  // anew
  GstBuffer *buffer = new_dmabuf_frame("memfd", kPlain);
  g_autofree gchar *path = g_strdup_printf(
      "/proc/self/fd/%d", gst_dmabuf_memory_get_fd(gst_buffer_peek_memory(buffer, 0)));
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  fail_unless(fd >= 0, "%s: %s", path, g_strerror(errno));
  GstAllocator *allocator = gst_dmabuf_allocator_new();
  const gsize size = gst_buffer_get_size(buffer);
  GstMemory *memory = gst_dmabuf_allocator_alloc(allocator, fd, size);
  if (__i__ == 0)
    gst_buffer_replace_all_memory(buffer, memory);
  else
    gst_buffer_append_memory(buffer, memory);
  gst_object_unref(allocator);
  fail_unless_equals_int(gst_harness_push(h.get(), buffer), GST_FLOW_ERROR);
  CHECK_ONE_MESSAGE(h.messages(GST_MESSAGE_ERROR), "cannot be mapped by the CPU", "gldownload");
}
GST_END_TEST

GST_START_TEST(test_metadata)
{
  const bool crops = __i__ == 2;
  const Download h(__i__ >= 1);
  if (crops)
    gst_harness_add_propose_allocation_meta(h.get(), GST_VIDEO_CROP_META_API_TYPE, nullptr);
  fail_unless(h.negotiate(kDmaBuf));
  GstBuffer *buffer = padded_frame();
  GST_BUFFER_PTS(buffer) = 3 * GST_SECOND;
  GST_BUFFER_DURATION(buffer) = GST_MSECOND;
  GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_GAP);
  GST_BUFFER_FLAG_SET(buffer, GST_VIDEO_BUFFER_FLAG_INTERLACED);
  gst_buffer_add_video_region_of_interest_meta(buffer, "face", 1, 2, 3, 4);
  gst_buffer_add_video_crop_meta(buffer)->width = 100;
  const auto out = h.push(buffer);
  fail_unless_equals_uint64(h.stat("copies"), __i__ >= 1 ? 0 : 1);
  fail_unless_equals_uint64(GST_BUFFER_PTS(out.get()), 3 * GST_SECOND);
  fail_unless_equals_uint64(GST_BUFFER_DURATION(out.get()), GST_MSECOND);
  fail_unless(GST_BUFFER_FLAG_IS_SET(out.get(), GST_BUFFER_FLAG_GAP));
  fail_unless(GST_BUFFER_FLAG_IS_SET(out.get(), GST_VIDEO_BUFFER_FLAG_INTERLACED));
  fail_unless(gst_buffer_get_video_region_of_interest_meta_id(out.get(), 0) != nullptr);
  // of the whole frame: to one only who says that it crops
  const GstVideoCropMeta *crop = gst_buffer_get_video_crop_meta(out.get());
  fail_unless((crop != nullptr) == crops);
  fail_unless(!crop || crop->width == 100);
}
GST_END_TEST

// Up and down again: every pixel, through real pipelines.
GST_START_TEST(test_round_trip)
{
  static const char *const kFormats[] = {"NV12", "I420", "YUY2", "BGRx", "P010_10LE"};
  const char *format = kFormats[__i__ / 2];
  const int width = __i__ % 2 ? 641 : 640;
  const std::string caps = plain_caps(format, width, 481);
  const Harness up(std::string("dmabufupload allocator=") + test_kinds().back());
  const Download down(true);
  fail_unless(up.negotiate(caps), "%s", up.last_error().c_str());
  fail_unless(down.negotiate(text_of(up.output_caps().get())), "%s", down.last_error().c_str());
  fail_unless(gst_caps_is_equal(down.output_caps().get(), caps_of(caps).get()));
  for (guint i = 0; i < 4; i++)
    check_drawn(down.push(up.push(new_frame(caps, i)).release()).get(), video_info(caps), i);
  fail_unless_equals_uint64(up.stat("copies"), 4);
  fail_unless_equals_uint64(down.stat("copies"), 0);
}
GST_END_TEST

// Between elements that know memory:DMABuf and no DMA_DRM: the same frames, with nothing copied on
// the way down.
GST_START_TEST(test_round_trip_without_a_modifier)
{
  const Harness up(std::string("dmabufupload implicit-modifier=linear allocator=") +
                   test_kinds().back());
  gst_harness_set_sink_caps(up.get(), caps_of("video/x-raw(memory:DMABuf), format=NV12").release());
  const Download down(true, "implicit-modifier=linear");
  fail_unless(up.negotiate(kPlain), "%s", up.last_error().c_str());
  const GstPtr<GstCaps> between = up.output_caps();
  GstDrmVideoInfo info;
  fail_unless(gst_drm_video_info_from_caps(&info, between.get()) &&
                  info.drm_modifier == GST_DRM_MODIFIER_IMPLICIT,
              "%s", text_of(between.get()).c_str());
  fail_unless(down.negotiate(text_of(between.get())), "%s", down.last_error().c_str());
  fail_unless(gst_caps_is_equal(down.output_caps().get(), caps_of(kPlain).get()));
  for (guint i = 0; i < 4; i++)
    check_drawn(down.push(up.push(new_frame(kPlain, i)).release()).get(), video_info(kPlain), i);
  fail_unless_equals_uint64(up.stat("copies"), 4);
  fail_unless_equals_uint64(down.stat("copies"), 0);
}
GST_END_TEST

// An answer that is remembered holds for the property as it was.
GST_START_TEST(test_query_after_a_change)
{
  const Download h(true);
  gst_harness_set_sink_caps(h.get(), caps_of("video/x-raw, format=NV12").release());
  const auto implicit = caps_of("video/x-raw(memory:DMABuf), format=NV12, width=64, height=64");
  for (const char *setting : {"auto", "linear", "driver", "linear", "refuse"}) {
    gst_element_set_state(h.element(), GST_STATE_READY);
    gst_util_set_object_arg(G_OBJECT(h.element()), "implicit-modifier", setting);
    gst_element_set_state(h.element(), GST_STATE_PLAYING);
    const auto answer = GstPtr<GstCaps>::adopt(gst_pad_peer_query_caps(h.get()->srcpad, nullptr));
    fail_unless_equals_int(gst_caps_can_intersect(answer.get(), implicit.get()),
                           std::string(setting) == "linear");
  }
}
GST_END_TEST

GST_START_TEST(test_flush_and_eos)
{
  const Download h(true);
  fail_unless(h.negotiate(kDmaBuf));
  (void)h.push(padded_frame());
  fail_unless(gst_harness_push_event(h.get(), gst_event_new_flush_start()));
  fail_unless_equals_int(gst_harness_push(h.get(), padded_frame()), GST_FLOW_FLUSHING);
  fail_unless(gst_harness_push_event(h.get(), gst_event_new_flush_stop(TRUE)));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  fail_unless(gst_harness_push_event(h.get(), gst_event_new_segment(&segment)));
  (void)h.push(padded_frame());
  // another size in mid-stream
  const std::string other = plain_caps("NV12", 64, 64);
  fail_unless(h.negotiate(dmabuf_caps("NV12", 64, 64)));
  check_drawn(h.push(new_dmabuf_frame(test_kinds().front(), other, 1)).get(), video_info(other), 1);
  fail_unless(gst_harness_push_event(h.get(), gst_event_new_eos()));
  fail_unless_equals_int(gst_harness_push(h.get(), padded_frame()), GST_FLOW_EOS);
}
GST_END_TEST

GST_START_TEST(test_start_stop)
{
  const Download h(__i__ == 1);
  std::size_t before = 0;
  for (int i = 0; i < 1000; i++) {
    if (i == 1)
      before = count_fds();
    gst_harness_play(h.get());
    gst_pad_push_event(h.get()->srcpad, gst_event_new_stream_start("test"));
    h.negotiate(dmabuf_caps("NV12", 66, 64));
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_pad_push_event(h.get()->srcpad, gst_event_new_segment(&segment));
    (void)h.push(new_dmabuf_frame(test_kinds().front(), plain_caps("NV12", 66, 64)));
    fail_unless_equals_uint64(h.stat("frames"), 1); // since start
    gst_element_set_state(h.element(), GST_STATE_NULL);
  }
  fail_unless_equals_int(count_fds(), before);
}
GST_END_TEST

// Upstream hears how many buffers downstream keeps.
GST_START_TEST(test_minimum)
{
  const Download h(true);
  offer_pool(h, nullptr, 0, 5);
  fail_unless(h.negotiate(kDmaBuf));
  const GstPtr<GstQuery> query = h.ask_allocation(kDmaBuf);
  guint min = 0;
  gst_query_parse_nth_allocation_pool(query.get(), 0, nullptr, nullptr, &min, nullptr);
  fail_unless_equals_int(min, 5);
  g_autoptr(GPtrArray) all = gst_query_get_drm_constraints(query.get());
  fail_unless_equals_int(all->len, 1);
  guint64 held = 0;
  fail_unless(gst_drm_constraints_get_range(static_cast<GstDrmConstraints *>(all->pdata[0]), GST_DRM_CONSTRAINT_BUFFERS_HELD, &held, nullptr));
  fail_unless_equals_uint64(held, 5);
  guint64 access = 0;
  fail_unless(gst_drm_constraints_get_range(static_cast<GstDrmConstraints *>(all->pdata[0]), GST_DRM_CONSTRAINT_CPU_ACCESS, &access, nullptr));
  fail_unless_equals_uint64(access, GST_DRM_ACCESS_READ);
}
GST_END_TEST

Suite *dmabufdownload_suite()
{
  Suite *suite = suite_create("dmabufdownload");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_caps, 0, static_cast<int>(caps_rows().size()));
  tcase_add_test(tcase, test_query);
  tcase_add_test(tcase, test_same_memory);
  tcase_add_test(tcase, test_no_video_meta);
  tcase_add_loop_test(tcase, test_no_descriptor_for_a_pool, 0, 2);
  tcase_add_test(tcase, test_downstream_pool);
  tcase_add_test(tcase, test_refusing_pool);
  tcase_add_test(tcase, test_require);
  tcase_add_test(tcase, test_pseudo_format);
  tcase_add_test(tcase, test_plain);
  tcase_add_loop_test(tcase, test_bad_frame, 0, 6);
  tcase_add_loop_test(tcase, test_unmappable, 0, 2);
  tcase_add_test(tcase, test_minimum);
  tcase_add_loop_test(tcase, test_metadata, 0, 3);
  tcase_add_loop_test(tcase, test_round_trip, 0, 10);
  tcase_add_test(tcase, test_round_trip_without_a_modifier);
  tcase_add_test(tcase, test_query_after_a_change);
  tcase_add_test(tcase, test_flush_and_eos);
  tcase_add_loop_test(tcase, test_start_stop, 0, 2);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(dmabufdownload)
