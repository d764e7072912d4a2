// SPDX-License-Identifier: LGPL-2.1-or-later
// Who may have a frame beside the sink, and what of it: behind a tee and a queue, as a shallow copy, a region or a
// share, kept by a branch that is slow to let go. The producer's pool recycles, and each of its buffers is imported
// once: 0 imports and 0 allocations per frame, and the right picture at the end.
#include <deque>
#include <set>
#include <string>

#include <sys/stat.h>

#include "kms_ioctls.hpp"
#include "kms_support.hpp"

#include <gst/allocators/gstdmabuf.h>
#include <gst/app/gstappsrc.h>

using namespace gstdrm::test;

namespace {

constexpr unsigned kCreateDumb = 0xb2; // of <drm.h>
constexpr guint kKept = 3;             // frames that a slow branch has

enum class Form { Same, Copy, Region, Share };

// The same pixels in another buffer.
GstPtr<GstBuffer> in_form(GstBuffer *buffer, Form form)
{
  if (form == Form::Same)
    return GstPtr<GstBuffer>::share(buffer);
  if (form == Form::Copy)
    return GstPtr<GstBuffer>::adopt(gst_buffer_copy(buffer));
  if (form == Form::Region)
    return GstPtr<GstBuffer>::adopt(gst_buffer_copy_region(buffer, GST_BUFFER_COPY_ALL, 0, -1));
  auto share = GstPtr<GstBuffer>::adopt(gst_buffer_new());
  for (guint i = 0; i < gst_buffer_n_memory(buffer); i++)
    gst_buffer_append_memory(share.get(), gst_memory_share(gst_buffer_peek_memory(buffer, i), 0, -1));
  gst_buffer_copy_into(share.get(), buffer, GST_BUFFER_COPY_METADATA, 0, -1);
  return share;
}

struct Topology {
  const char *name;
  const char *between;       // appsrc and the sink
  Form shown = Form::Same;   // what the sink gets
  Form kept = Form::Same;    // what the element "other" keeps
  guint buffers = 12;        // of the producer's pool
  const char *sink = "";     // its properties
};

constexpr const char *kTee = "tee name=t t. ! queue ! fakesink name=other sync=false async=false t. ! queue !";

const Topology kTopologies[] = {
    {"nobody between", ""},
    {"a queue", "queue !"},
    {"a shallow copy is shown", "", Form::Copy},
    {"a region is shown", "", Form::Region},
    {"a share is shown", "", Form::Share},
    {"shares of more buffers than dead imports are kept for frames", "", Form::Share, Form::Same, 40},
    {"a tee, and both have the buffer", kTee},
    {"a tee, the other keeps shallow copies", kTee, Form::Same, Form::Copy},
    {"a tee, the other keeps regions", kTee, Form::Same, Form::Region},
    {"a tee, the other keeps shares", kTee, Form::Same, Form::Share},
    {"a tee, a share is shown, the other keeps copies", kTee, Form::Share, Form::Copy},
    {"a pool of two", "", Form::Same, Form::Same, 2, "enable-last-sample=false"},
    {"a pool of two, and a last sample", "", Form::Same, Form::Same, 2},
};

// What passed the pads.
struct Seen {
  Form shown = Form::Same, kept = Form::Same;
  std::set<ino_t> dmabufs;
  std::deque<GstPtr<GstBuffer>> held; // by the other branch
};

GstPadProbeReturn show_form(GstPad *, GstPadProbeInfo *info, gpointer data)
{
  auto &seen = *static_cast<Seen *>(data);
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER(info);
  struct stat status {};
  ck_assert_int_eq(fstat(gst_dmabuf_memory_get_fd(gst_buffer_peek_memory(buffer, 0)), &status), 0);
  seen.dmabufs.insert(status.st_ino);
  GST_PAD_PROBE_INFO_DATA(info) = in_form(buffer, seen.shown).release();
  gst_buffer_unref(buffer);
  return GST_PAD_PROBE_OK;
}

GstPadProbeReturn keep_form(GstPad *, GstPadProbeInfo *info, gpointer data)
{
  auto &seen = *static_cast<Seen *>(data);
  seen.held.push_back(in_form(GST_PAD_PROBE_INFO_BUFFER(info), seen.kept));
  if (seen.held.size() > kKept)
    seen.held.pop_front();
  return GST_PAD_PROBE_OK;
}

GstPtr<GstBufferPool> new_pool(GstCaps *caps, const GstVideoInfo &info, guint buffers)
{
  GError *error = nullptr;
  const auto allocator =
      GstPtr<GstDrmAllocator>::adopt(gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_UDMABUF, nullptr, &error));
  ck_assert_msg(allocator, "%s", error ? error->message : "?");
  auto pool = GstPtr<GstBufferPool>::adopt(gst_drm_buffer_pool_new(allocator.get()));
  GstStructure *config = gst_buffer_pool_get_config(pool.get());
  gst_buffer_pool_config_set_params(config, caps, static_cast<guint>(GST_VIDEO_INFO_SIZE(&info)), buffers, buffers);
  gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  ck_assert(gst_buffer_pool_set_config(pool.get(), config));
  ck_assert(gst_buffer_pool_set_active(pool.get(), TRUE));
  return pool;
}

guint64 stat_of(GstElement *sink, const char *name)
{
  g_autoptr(GstStructure) stats = nullptr;
  g_object_get(sink, "drm-stats", &stats, nullptr);
  guint64 value = 0;
  ck_assert_msg(gst_structure_get_uint64(stats, name, &value), "no %s", name);
  return value;
}

void fill(GstBuffer *buffer, const GstVideoInfo &info, GstBuffer *picture)
{
  GstVideoFrame from, to;
  ck_assert(gst_video_frame_map(&from, &info, picture, GST_MAP_READ));
  ck_assert(gst_video_frame_map(&to, &info, buffer, GST_MAP_WRITE));
  ck_assert(gst_video_frame_copy(&to, &from));
  gst_video_frame_unmap(&to);
  gst_video_frame_unmap(&from);
}

void probe(GstElement *pipeline, const char *name, GstPadProbeCallback callback, Seen &seen)
{
  const auto element = GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(pipeline), name));
  if (!element)
    return;
  const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(element.get(), "sink"));
  gst_pad_add_probe(pad.get(), GST_PAD_PROBE_TYPE_BUFFER, callback, &seen, nullptr);
}

} // namespace

GST_START_TEST(test_recycles_and_imports_once)
{
  const Topology &row = kTopologies[__i__];
  g_print("# %s\n", row.name);
  const guint frames = 60 + 2 * row.buffers;
  const GstVideoInfo info = video_info(plain_caps("BGRx", 640, 480));
  const GstPtr<GstBuffer> pictures[] = {make_noise(info, 1), make_noise(info, 2)};
  Seen seen{row.shown, row.kept, {}, {}};
  GError *error = nullptr;
  const std::string line = std::string("appsrc name=source format=time block=true max-buffers=1 ! ") + row.between +
                           " kmsdmabufsink name=sink mode=match driver-name=vkms sync=false zero-copy=require " + row.sink;
  const auto pipeline = GstPtr<GstElement>::adopt(gst_parse_launch(line.c_str(), &error));
  ck_assert_msg(pipeline && !error, "%s", error ? error->message : "?");
  probe(pipeline.get(), "sink", show_form, seen);
  probe(pipeline.get(), "other", keep_form, seen);
  const auto source = GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(pipeline.get()), "source"));
  const auto sink = GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(pipeline.get()), "sink"));
  const auto caps = GstPtr<GstCaps>::adopt(gst_caps_from_string(dma_drm_caps("XR24", 640, 480).c_str()));
  gst_app_src_set_caps(GST_APP_SRC(source.get()), caps.get());
  const GstPtr<GstBufferPool> pool = new_pool(caps.get(), info, row.buffers);
  gst_element_set_state(pipeline.get(), GST_STATE_PLAYING);
  guint64 imports = 0;
  unsigned ioctls = 0;
  const auto asked_for_memory = [] { return count_drm_ioctls(kPrimeFdToHandle) + count_drm_ioctls(kAddFb2) + count_drm_ioctls(kCreateDumb); };
  for (guint i = 0; i < frames; i++) {
    GstBuffer *buffer = nullptr;
    ck_assert_int_eq(gst_buffer_pool_acquire_buffer(pool.get(), &buffer, nullptr), GST_FLOW_OK);
    fill(buffer, info, pictures[i % 2].get());
    ck_assert_int_eq(gst_app_src_push_buffer(GST_APP_SRC(source.get()), buffer), GST_FLOW_OK);
    if (i == frames - 20) { // each buffer was on screen
      imports = stat_of(sink.get(), "imports");
      ioctls = asked_for_memory();
    }
  }
  gst_app_src_end_of_stream(GST_APP_SRC(source.get()));
  const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(pipeline.get()));
  const auto message = GstPtr<GstMessage>::adopt(gst_bus_timed_pop_filtered(
      bus.get(), 60 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR)));
  ck_assert(message && GST_MESSAGE_TYPE(message.get()) == GST_MESSAGE_EOS);
  ck_assert_uint_eq(stat_of(sink.get(), "shown"), frames);
  ck_assert_uint_eq(stat_of(sink.get(), "copies"), 0);
  ck_assert_uint_eq(seen.dmabufs.size(), row.buffers);
  ck_assert_uint_eq(stat_of(sink.get(), "imports"), row.buffers);
  ck_assert_uint_eq(imports, row.buffers);
  ck_assert_uint_eq(asked_for_memory(), ioctls);
  GstSample *taken = nullptr;
  g_signal_emit_by_name(sink.get(), "snapshot", &taken);
  const auto sample = GstPtr<GstSample>::adopt(taken);
  ck_assert(sample);
  ck_assert_int_eq(
      largest_difference(sample.get(), reference(info, pictures[(frames - 1) % 2].get(), 640, 480)), 0);
  gst_element_set_state(pipeline.get(), GST_STATE_NULL);
  seen.held.clear();
  gst_buffer_pool_set_active(pool.get(), FALSE);
}
GST_END_TEST

// Frames in system memory, and an application that keeps the last sample of each: what the sink copies to is its own, so it needs no
// more than it holds at once.
GST_START_TEST(test_own_copies_are_bounded)
{
  constexpr guint kFrames = 40, kOwn = 5; // four held, one that is filled
  const GstVideoInfo info = video_info(plain_caps("BGRx", 640, 480));
  const GstPtr<GstBuffer> picture = make_noise(info, 3);
  Sink sink;
  ck_assert(sink.set_caps(plain_caps("BGRx", 640, 480)));
  unsigned before = 0;
  std::deque<GstPtr<GstSample>> kept;
  for (guint i = 0; i < kFrames; i++) {
    if (i == 1) // the first one makes the pool
      before = count_drm_ioctls(kCreateDumb);
    ck_assert_int_eq(sink.push(gst_buffer_copy_deep(picture.get())), GST_FLOW_OK);
    GstSample *sample = nullptr;
    g_object_get(sink.element(), "last-sample", &sample, nullptr);
    ck_assert(sample);
    kept.push_back(GstPtr<GstSample>::adopt(sample));
  }
  sink.eos();
  ck_assert_uint_eq(sink.stat("shown"), kFrames);
  ck_assert_uint_eq(sink.stat("copies"), kFrames);
  ck_assert_uint_eq(sink.stat("imports"), kOwn);
  ck_assert_uint_gt(before, 0);
  ck_assert_uint_eq(count_drm_ioctls(kCreateDumb), before);
}
GST_END_TEST

// An application that keeps every frame: each stays imported while it lives, and is let go of when it goes.
GST_START_TEST(test_frames_that_are_kept)
{
  constexpr guint kFrames = 150, kRemembered = 32;
  const GstVideoInfo info = video_info(plain_caps("BGRx", 64, 64));
  const GstPtr<GstBuffer> picture = make_noise(info, 3);
  Sink sink("enable-last-sample=false");
  ck_assert(sink.set_caps(dma_drm_caps("XR24", 64, 64)));
  std::deque<GstPtr<GstBuffer>> kept;
  for (guint i = 0; i < kFrames; i++) {
    kept.push_back(to_dmabuf(info, picture.get(), Shape::Tight));
    ck_assert_int_eq(sink.push(gst_buffer_ref(kept.back().get())), GST_FLOW_OK);
  }
  const unsigned removed = count_drm_ioctls(kRmFb);
  for (const GstPtr<GstBuffer> &frame : kept)
    ck_assert_int_eq(sink.push(gst_buffer_ref(frame.get())), GST_FLOW_OK);
  ck_assert_uint_eq(sink.stat("imports"), kFrames);
  ck_assert_uint_eq(count_drm_ioctls(kRmFb), removed);
  kept.clear();
  for (guint i = 0; i < kRemembered + 4; i++) {
    if (i % 4 == 0)
      kept.push_back(to_dmabuf(info, picture.get(), Shape::Tight));
    ck_assert_int_eq(sink.push(gst_buffer_ref(kept.back().get())), GST_FLOW_OK);
  }
  ck_assert_uint_ge(count_drm_ioctls(kRmFb) - removed, kFrames - 4);
}
GST_END_TEST

static Suite *kms_topologies_suite(void)
{
  Suite *s = suite_create("kms-topologies");
  TCase *tc = tcase_create("topologies");
  suite_add_tcase(s, tc);
  tcase_set_timeout(tc, 120);
  tcase_add_loop_test(tc, test_recycles_and_imports_once, 0, G_N_ELEMENTS(kTopologies));
  tcase_add_test(tc, test_own_copies_are_bounded);
  tcase_add_test(tc, test_frames_that_are_kept);
  return s;
}

GST_DRM_CHECK_MAIN(kms_topologies)
