// SPDX-License-Identifier: LGPL-2.1-or-later
// An application that does something to one frame that comes to its element `here`: the cases of
// gst-drm-verify-1.0 that no pipeline of gst-launch-1.0 has.
// Usage: verify_app ACTION FRAME DESCRIPTION
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

#include <gst/allocators/allocators.h>
#include <gst/drm/drm.h>
#include <gst/gst.h>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

struct Plan {
  void (*act)(GstElement *pipeline, GstPadProbeInfo *info) = nullptr;
  GstElement *pipeline = nullptr;
  int frame = 0; // from 1
  int seen = 0;
};

GstBuffer *writable(GstPadProbeInfo *info)
{
  auto *buffer = gst_buffer_make_writable(GST_PAD_PROBE_INFO_BUFFER(info));
  GST_PAD_PROBE_INFO_DATA(info) = buffer;
  return buffer;
}

void map(GstPadProbeInfo *info, GstMapFlags flags)
{
  GstMapInfo map;
  GstMemory *memory = gst_buffer_peek_memory(GST_PAD_PROBE_INFO_BUFFER(info), 0);
  if (gst_memory_map(memory, &map, flags))
    gst_memory_unmap(map.memory, &map);
}
void read_pixels(GstElement *, GstPadProbeInfo *info)
{
  map(info, GST_MAP_READ);
}
void write_pixels(GstElement *, GstPadProbeInfo *info)
{
  map(info, GST_MAP_WRITE);
}

// Past GstMemory, and for good.
void map_descriptor(GstElement *, GstPadProbeInfo *info)
{
  GstMemory *memory = gst_buffer_peek_memory(GST_PAD_PROBE_INFO_BUFFER(info), 0);
  if (::mmap(nullptr, memory->maxsize, PROT_READ, MAP_SHARED, gst_dmabuf_memory_get_fd(memory),
             0) == MAP_FAILED)
    std::abort();
}

// Another frame of the same pool in place of this one.
void copy_pixels(GstElement *, GstPadProbeInfo *info)
{
  GstBuffer *from = GST_PAD_PROBE_INFO_BUFFER(info);
  GstBuffer *to = nullptr;
  GstMapInfo source;
  GstMapInfo target;
  if (!from->pool || gst_buffer_pool_acquire_buffer(from->pool, &to, nullptr) != GST_FLOW_OK ||
      !gst_buffer_map(from, &source, GST_MAP_READ) || !gst_buffer_map(to, &target, GST_MAP_WRITE))
    std::abort();
  std::memcpy(target.data, source.data, source.size);
  gst_buffer_unmap(to, &target);
  gst_buffer_unmap(from, &source);
  gst_buffer_copy_into(to, from, GST_BUFFER_COPY_TIMESTAMPS, 0, static_cast<gsize>(-1));
  gst_buffer_unref(from);
  GST_PAD_PROBE_INFO_DATA(info) = to;
}

void crash(GstElement *, GstPadProbeInfo *)
{
  std::abort();
}
// Without gst_deinit(), while this thread is within a push.
void end(GstElement *, GstPadProbeInfo *)
{
  std::exit(EXIT_SUCCESS);
}

// Lets frames through to a second branch.
void open_valve(GstElement *pipeline, GstPadProbeInfo *)
{
  GstElement *valve = gst_bin_get_by_name(GST_BIN(pipeline), "valve");
  g_object_set(valve, "drop", FALSE, nullptr);
  gst_object_unref(valve);
}

// Takes a branch of a tee out, and puts another one in its place. The tee is behind `here`, in the
// same thread: no frame is on its way through it.
void change_branch(GstElement *pipeline, GstPadProbeInfo *)
{
  GstElement *tee = gst_bin_get_by_name(GST_BIN(pipeline), "tee");
  GstPad *branch = gst_element_get_static_pad(tee, "src_1");
  GstPad *branch_end = gst_pad_get_peer(branch);
  gst_pad_unlink(branch, branch_end);
  gst_element_release_request_pad(tee, branch);
  gst_object_unref(branch_end);
  gst_object_unref(branch);
  for (const char *name : {"old-queue", "old-sink"}) {
    GstElement *old = gst_bin_get_by_name(GST_BIN(pipeline), name);
    gst_element_set_state(old, GST_STATE_NULL);
    gst_bin_remove(GST_BIN(pipeline), old);
    gst_object_unref(old);
  }
  GstElement *sink = gst_element_factory_make("fakesink", "new-sink");
  g_object_set(sink, "async", FALSE, "enable-last-sample", FALSE, nullptr);
  gst_bin_add(GST_BIN(pipeline), sink);
  gst_element_link(tee, sink);
  gst_element_sync_state_with_parent(sink);
  gst_object_unref(tee);
}

// drivers/dma-buf/sw_sync.c; it has no uapi header
struct sw_sync_create_fence_data {
  guint32 value;
  char name[32];
  gint32 fence;
};
#define SW_SYNC_IOC_CREATE_FENCE _IOWR('W', 0, sw_sync_create_fence_data)
#define SW_SYNC_IOC_INC _IOW('W', 1, guint32)

// A fence that signals 100 ms later.
int make_fence()
{
  const int timeline = ::open("/sys/kernel/debug/sync/sw_sync", O_RDWR | O_CLOEXEC);
  sw_sync_create_fence_data data = {};
  data.value = 1;
  if (::ioctl(timeline, SW_SYNC_IOC_CREATE_FENCE, &data) != 0)
    std::abort();
  std::thread([timeline] {
    g_usleep(100000);
    guint32 by = 1;
    ::ioctl(timeline, SW_SYNC_IOC_INC, &by); // which stays open: its end is an error of fences
  }).detach();
  return data.fence;
}
void add_fence(GstElement *, GstPadProbeInfo *info)
{
  GstDrmSyncMeta *meta = gst_buffer_add_drm_sync_meta(writable(info));
  gst_drm_sync_meta_add_acquire_fence(meta, make_fence(), nullptr);
}
void add_implicit_fence(GstElement *, GstPadProbeInfo *info)
{
  GstMemory *memory = gst_buffer_peek_memory(GST_PAD_PROBE_INFO_BUFFER(info), 0);
  const int fence = make_fence();
  gst_drm_dmabuf_import_fence(gst_dmabuf_memory_get_fd(memory), fence, GST_DRM_ACCESS_WRITE,
                              nullptr);
  ::close(fence);
}

constexpr struct {
  std::string_view name;
  void (*act)(GstElement *pipeline, GstPadProbeInfo *info);
} kActions[] = {
    {"mmap", map_descriptor}, {"read", read_pixels},   {"write", write_pixels},         {"copy", copy_pixels},
    {"crash", crash},        {"exit", end},                   {"open", open_valve},
    {"change", change_branch}, {"fence", add_fence},          {"implicit-fence", add_implicit_fence},
};

GstPadProbeReturn on_frame(GstPad *, GstPadProbeInfo *info, gpointer data) noexcept
{
  auto &plan = *static_cast<Plan *>(data);
  if (++plan.seen == plan.frame)
    plan.act(plan.pipeline, info);
  return GST_PAD_PROBE_OK;
}

} // namespace

int main(int argc, char **argv)
{
  gst_init(&argc, &argv);
  if (argc != 4)
    return EXIT_FAILURE;
  Plan plan;
  plan.frame = std::atoi(argv[2]);
  for (const auto &action : kActions)
    if (action.name == argv[1])
      plan.act = action.act;
  GError *error = nullptr;
  plan.pipeline = gst_parse_launch(argv[3], &error);
  if (error || !plan.act)
    return EXIT_FAILURE;
  GstElement *here = gst_bin_get_by_name(GST_BIN(plan.pipeline), "here");
  GstPad *pad = gst_element_get_static_pad(here, "sink");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_frame, &plan, nullptr);
  gst_object_unref(pad);
  gst_object_unref(here);
  gst_element_set_state(plan.pipeline, GST_STATE_PLAYING);
  GstBus *bus = gst_element_get_bus(plan.pipeline);
  GstMessage *end = gst_bus_timed_pop_filtered(
      bus, GST_CLOCK_TIME_NONE, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  const bool good = GST_MESSAGE_TYPE(end) == GST_MESSAGE_EOS;
  if (!good) {
    gst_message_parse_error(end, &error, nullptr);
    g_printerr("%s: %s\n", GST_MESSAGE_SRC_NAME(end), error->message);
    g_error_free(error);
  }
  gst_message_unref(end);
  gst_object_unref(bus);
  gst_element_set_state(plan.pipeline, GST_STATE_NULL);
  gst_object_unref(plan.pipeline);
  gst_deinit();
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
