// SPDX-License-Identifier: LGPL-2.1-or-later
// From dma-bufs into OpenGL and out of it again to a display, by upstream's elements and by this
// project's, beside each other on the same clip: calls of EGL and GL, hops to the GL thread, system
// calls, imports, draws, copies and CPU time per frame. No test: it takes some minutes. In the box
// it counts system calls and shows on its display; elsewhere the sink is a fakesink
// (docs/benchmarks.md).
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include <gst/allocators/gstdmabuf.h>
#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/drm/drm.h>
#include <gst/video/video.h>

#include "support/gl_count.hpp"
#include "syscall_count.hpp"

namespace {

using gstdrm::bench::CountedRun;
using gstdrm::bench::PerFrame;

constexpr int kWidth = 1024; // a mode of the box's display
constexpr int kHeight = 768;
constexpr int kBuffers = 4; // a frame of the clip in each
constexpr int kWarmUp = 40; // frames; imports and negotiation are over then
constexpr int kShort = 100, kLong = 300;
constexpr unsigned kPatience_s = 300;

struct Chain {
  const char *name;
  const char *up, *down;
};
const Chain kChains[] = {
    {"upstream", "glupload", "gldownload"},
    {"gst-drm", "egldmabufupload", "egldmabufdownload"},
};

// What stands behind the uploader: a texture, or whatever glcolorconvert makes RGBA of.
#define RGBA_CAPS "video/x-raw(memory:GLMemory), format=RGBA, texture-target=2D"
#define ANY_CAPS "video/x-raw(memory:GLMemory)"

struct Stream {
  const char *name;
  const char *drm_format; // of the frames; AB24 is shown
  GstVideoFormat format;
  const char *upstream_caps, *own_caps;
};
const Stream kStreams[] = {
    {"XR24", "XR24", GST_VIDEO_FORMAT_BGRx, RGBA_CAPS, RGBA_CAPS},
    {"NV12", "NV12", GST_VIDEO_FORMAT_NV12, ANY_CAPS, ANY_CAPS},
    {"P010", "P010", GST_VIDEO_FORMAT_P010_10LE, ANY_CAPS, ANY_CAPS},
    // glupload makes no RGBA of it as a 2D texture
    {"P010-drawn", "P010", GST_VIDEO_FORMAT_P010_10LE, ANY_CAPS, RGBA_CAPS},
};

bool in_box()
{
  return std::getenv("GST_DRM_IN_BOX") != nullptr;
}

// memfds stand for dma-bufs where the kernel makes none.
int descriptor_of(GstDrmAllocator *allocator, gsize size, GstMemory **memory)
{
  if (allocator) {
    *memory = gst_allocator_alloc(GST_ALLOCATOR(allocator), size, nullptr);
    return *memory ? gst_dmabuf_memory_get_fd(*memory) : -1;
  }
  const int fd = memfd_create("egl-chain", MFD_CLOEXEC);
  return fd >= 0 && ftruncate(fd, static_cast<off_t>(size)) == 0 ? fd : -1;
}

// A clip of kBuffers frames, each of which differs from the one before.
class Clip {
public:
  explicit Clip(const GstVideoInfo &info)
  {
    const std::string text = "videotestsrc num-buffers=" + std::to_string(kBuffers) +
                             " pattern=ball ! videoconvert ! video/x-raw, format=" +
                             gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(&info)) +
                             ", width=" + std::to_string(kWidth) +
                             ", height=" + std::to_string(kHeight) +
                             ", framerate=60/1 ! appsink name=sink sync=false";
    pipeline_ = gst_parse_launch(text.c_str(), nullptr);
    gst_element_set_state(pipeline_, GST_STATE_PLAYING);
    sink_ = gst_bin_get_by_name(GST_BIN(pipeline_), "sink");
  }
  Clip(const Clip &) = delete;
  Clip &operator=(const Clip &) = delete;
  ~Clip()
  {
    gst_element_set_state(pipeline_, GST_STATE_NULL);
    gst_object_unref(sink_);
    gst_object_unref(pipeline_);
  }
  void write_next(GstMemory *to)
  {
    GstSample *sample = gst_app_sink_pull_sample(GST_APP_SINK(sink_));
    GstMapInfo map;
    if (!sample || !gst_memory_map(to, &map, GST_MAP_WRITE)) {
      std::fprintf(stderr, "no clip\n");
      std::_Exit(1);
    }
    gst_buffer_extract(gst_sample_get_buffer(sample), 0, map.data, map.size);
    gst_memory_unmap(to, &map);
    gst_sample_unref(sample);
  }

private:
  GstElement *pipeline_;
  GstElement *sink_;
};

class Frames {
public:
  explicit Frames(const Stream &stream) : dmabufs_(gst_dmabuf_allocator_new())
  {
    gst_video_info_set_format(&info_, stream.format, kWidth, kHeight);
    GstDrmAllocator *udmabuf =
        gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_UDMABUF, nullptr, nullptr);
    Clip clip(info_);
    for (int i = 0; i < kBuffers; i++) {
      GstMemory *memory = nullptr;
      const int fd = descriptor_of(udmabuf, GST_VIDEO_INFO_SIZE(&info_), &memory);
      if (fd < 0) {
        std::fprintf(stderr, "no dma-bufs\n");
        std::_Exit(1);
      }
      memories_.push_back(
          memory ? memory : gst_dmabuf_allocator_alloc(dmabufs_, fd, GST_VIDEO_INFO_SIZE(&info_)));
      clip.write_next(memories_.back());
    }
    gst_clear_object(&udmabuf);
  }
  Frames(const Frames &) = delete;
  Frames &operator=(const Frames &) = delete;
  ~Frames()
  {
    for (GstMemory *memory : memories_)
      gst_memory_unref(memory);
    gst_object_unref(dmabufs_);
  }
  GstBuffer *next()
  {
    GstBuffer *buffer = gst_buffer_new();
    gst_buffer_append_memory(buffer, gst_memory_ref(memories_[count_++ % kBuffers]));
    gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(&info_),
                                   kWidth, kHeight, GST_VIDEO_INFO_N_PLANES(&info_), info_.offset,
                                   info_.stride);
    return buffer;
  }

private:
  GstAllocator *dmabufs_;
  GstVideoInfo info_{};
  std::vector<GstMemory *> memories_;
  std::size_t count_ = 0;
};

double cpu_us()
{
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

guint64 number(GstElement *element, const char *property, const char *field)
{
  GstStructure *stats = nullptr;
  guint64 value = 0;
  if (!g_object_class_find_property(G_OBJECT_GET_CLASS(element), property))
    return 0;
  g_object_get(element, property, &stats, nullptr);
  gst_structure_get_uint64(stats, field, &value);
  gst_structure_free(stats);
  return value;
}

class Pipeline {
public:
  Pipeline(const Chain &chain, const Stream &stream)
  {
    const std::string text =
        std::string("appsrc name=src format=time block=true max-buffers=2 max-bytes=0 caps=\""
                    "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=") +
        stream.drm_format + ", width=" + std::to_string(kWidth) +
        ", height=" + std::to_string(kHeight) + ", framerate=60/1\" ! " + chain.up + " name=up ! " +
        (std::strcmp(chain.name, "gst-drm") == 0 ? stream.own_caps : stream.upstream_caps) +
        " ! glcolorconvert ! gleffects effect=mirror ! " + chain.down +
        " name=down ! video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=AB24 ! " +
        (in_box() ? "kmsdmabufsink mode=match driver-name=vkms" : "fakesink") + " name=sink sync=false";
    GError *error = nullptr;
    pipeline_ = gst_parse_launch(text.c_str(), &error);
    if (!pipeline_ || error) {
      std::fprintf(stderr, "%s\n%s\n", text.c_str(), error ? error->message : "no pipeline");
      std::_Exit(1);
    }
    gst_element_set_state(pipeline_, GST_STATE_PLAYING);
  }
  Pipeline(const Pipeline &) = delete;
  Pipeline &operator=(const Pipeline &) = delete;
  ~Pipeline()
  {
    gst_element_set_state(pipeline_, GST_STATE_NULL);
    gst_object_unref(pipeline_);
  }
  // Until the last one has come.
  void play(Frames &frames, int count)
  {
    GstElement *src = element("src");
    for (int i = 0; i < count; i++)
      if (gst_app_src_push_buffer(GST_APP_SRC(src), frames.next()) != GST_FLOW_OK)
        fail();
    gst_object_unref(src);
    sent_ += static_cast<guint64>(count);
    while (stat("sink", "stats", "rendered") + stat("sink", "stats", "dropped") < sent_) {
      if (GstMessage *message = gst_bus_pop_filtered(GST_ELEMENT_BUS(pipeline_), GST_MESSAGE_ERROR))
        fail(message);
      g_usleep(2000);
    }
  }
  [[nodiscard]] guint64 stat(const char *name, const char *property, const char *field) const
  {
    GstElement *one = element(name);
    const guint64 value = number(one, property, field);
    gst_object_unref(one);
    return value;
  }
  // Of all elements of gst-drm.
  [[nodiscard]] guint64 counted(const char *field) const
  {
    guint64 sum = 0;
    for (const char *name : {"up", "down", "sink"})
      sum += stat(name, "drm-stats", field);
    return sum;
  }
  void print_caps() const
  {
    GstElement *sink = element("sink");
    GstPad *pad = gst_element_get_static_pad(sink, "sink");
    if (GstCaps *caps = gst_pad_get_current_caps(pad)) {
      gchar *text = gst_caps_to_string(caps);
      std::printf("# shown: %s\n", text);
      g_free(text);
      gst_caps_unref(caps);
    }
    gst_object_unref(pad);
    gst_object_unref(sink);
  }

private:
  [[nodiscard]] GstElement *element(const char *name) const
  {
    return gst_bin_get_by_name(GST_BIN(pipeline_), name);
  }
  [[noreturn]] void fail(GstMessage *message = nullptr)
  {
    if (!message)
      message = gst_bus_pop_filtered(GST_ELEMENT_BUS(pipeline_), GST_MESSAGE_ERROR);
    GError *error = nullptr;
    if (message)
      gst_message_parse_error(message, &error, nullptr);
    std::fprintf(stderr, "%s\n", error ? error->message : "no message");
    std::_Exit(1);
  }
  GstElement *pipeline_;
  guint64 sent_ = 0;
};

// What the process itself knows, per frame; one line each.
int play(const Chain &chain, const Stream &stream, int count)
{
  gst_init(nullptr, nullptr);
  if (!gstdrm::test::count_gl()) {
    std::fprintf(stderr, "no OpenGL by EGL here\n");
    return 77;
  }
  Frames frames(stream);
  Pipeline pipeline(chain, stream);
  pipeline.play(frames, kWarmUp);
  const gstdrm::test::GlCalls before = gstdrm::test::gl_calls();
  constexpr const char *kFields[] = {"imports", "draws", "copies"};
  std::map<std::string, guint64> counted;
  for (const char *field : kFields)
    counted[field] = pipeline.counted(field);
  const double begin = cpu_us();
  pipeline.play(frames, count);
  std::printf("CPU %.0f us; drm-stats:", (cpu_us() - begin) / count);
  for (const char *field : kFields)
    std::printf(" %s %.2f", field,
                static_cast<double>(pipeline.counted(field) - counted[field]) / count);
  std::printf(";");
  for (const auto &[name, value] : gstdrm::test::gl_calls())
    if (const auto made = value - before.at(name); made > 0)
      std::printf(" %s %.2f", name.c_str(), static_cast<double>(made) / count);
  std::printf("\n");
  pipeline.print_caps();
  std::fflush(stdout);
  return 0;
}

void compare(const Chain &chain, const Stream &stream)
{
  const auto run = [&](int frames) {
    return gstdrm::bench::run_counted(chain.name, kPatience_s,
                                      [&, frames] { return play(chain, stream, frames); });
  };
  const CountedRun shorter = run(kShort);
  const CountedRun longer = run(kLong);
  const PerFrame calls =
      gstdrm::bench::per_frame(shorter.calls, longer.calls, double{kLong} - kShort);
  double total = 0;
  for (const auto &[name, value] : calls)
    if (gstdrm::bench::is_call_elsewhere(name))
      total += value;
  std::printf("%s, %s: %s  %.1f system calls:", stream.name, chain.name, longer.output.c_str(),
              total);
  for (const auto &[name, value] : calls)
    if (gstdrm::bench::is_call_elsewhere(name))
      std::printf(" %s %.2f,", name.c_str(), value);
  std::printf("\n");
  std::fflush(stdout);
}

} // namespace

// In the box: no arguments. Elsewhere: FRAMES CHAIN STREAM, as in "300 gst-drm NV12".
int main(int argc, char **argv)
{
  for (const Stream &stream : kStreams)
    for (const Chain &chain : kChains) {
      if (argc == 1)
        compare(chain, stream);
      else if (argc == 4 && std::strcmp(argv[2], chain.name) == 0 &&
               std::strcmp(argv[3], stream.name) == 0)
        return play(chain, stream, std::atoi(argv[1]));
    }
  return 0;
}
