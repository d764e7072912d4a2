// SPDX-License-Identifier: LGPL-2.1-or-later
// egldmabufupload beside upstream's glupload, both fed with the same dma-bufs, in turn in one run:
// calls per frame, and CPU time of the process per frame over that of a pipeline without either. No
// test: it takes some minutes, and needs a driver that imports (docs/benchmarks.md).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <gst/allocators/gstdmabuf.h>
#include <gst/app/gstappsrc.h>
#include <gst/gl/gl.h>
#include <gst/video/video.h>

#include "support/gl_count.hpp"

namespace {

constexpr int kWidth = 1280;
constexpr int kHeight = 720;
constexpr int kBuffers = 4;

struct Stream {
  const char *name;
  const char *drm_format;
  GstVideoFormat format;
  gsize size;
  const char *gl_caps; // what downstream takes, the same of both elements
};
constexpr gsize kPixels = gsize{kWidth} * kHeight;
#define GL_CAPS "video/x-raw(memory:GLMemory), "
const Stream kStreams[] = {
    {"XR24", "XR24", GST_VIDEO_FORMAT_BGRx, kPixels * 4, GL_CAPS "format=RGBA, texture-target=2D"},
    {"NV12-planes", "NV12", GST_VIDEO_FORMAT_NV12, kPixels * 3 / 2,
     GL_CAPS "format=NV12, texture-target=2D"},
    {"NV12-image", "NV12", GST_VIDEO_FORMAT_NV12, kPixels * 3 / 2,
     GL_CAPS "format=RGBA, texture-target=external-oes"},
    {"P010-image", "P010", GST_VIDEO_FORMAT_P010_10LE, kPixels * 3,
     GL_CAPS "format=RGBA, texture-target=external-oes"},
};

// Read: pooled, and each frame is mapped for GL downstream, as every element does that draws it.
// System: linear frames in system memory, which both upload, and mapped as well.
enum class Memory { Pooled, Fresh, Dup, Read, System };
constexpr Memory kMemories[] = {Memory::Pooled, Memory::Fresh, Memory::Dup, Memory::Read,
                                Memory::System};
const char *name_of(Memory memory)
{
  switch (memory) {
  case Memory::Pooled:
    return "pooled";
  case Memory::Fresh:
    return "fresh";
  case Memory::Dup:
    return "dup";
  case Memory::Read:
    return "read";
  case Memory::System:
    break;
  }
  return "system";
}

double cpu_us()
{
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

// Four memfds, which a surfaceless llvmpipe imports as dma-bufs.
class Memories {
public:
  explicit Memories(const Stream &stream) : stream_(stream), allocator_(gst_dmabuf_allocator_new())
  {
    for (int &fd : fds_) {
      fd = memfd_create("frame", MFD_CLOEXEC);
      if (fd < 0 || ftruncate(fd, static_cast<off_t>(stream.size)) != 0)
        std::abort();
    }
    for (int i = 0; i < kBuffers; i++) {
      pooled_[i] = wrap(i);
      system_[i] = gst_allocator_alloc(nullptr, stream.size, nullptr);
    }
  }
  Memories(const Memories &) = delete;
  Memories &operator=(const Memories &) = delete;
  ~Memories()
  {
    for (int i = 0; i < kBuffers; i++) {
      gst_memory_unref(pooled_[i]);
      gst_memory_unref(system_[i]);
      close(fds_[i]);
    }
    gst_object_unref(allocator_);
  }
  // The memory of a pool, or a new one around the same descriptor, or around a dup of it.
  GstBuffer *frame(int index, Memory memory)
  {
    GstBuffer *buffer = gst_buffer_new();
    const int i = index % kBuffers;
    gst_buffer_append_memory(buffer, memory == Memory::System  ? gst_memory_ref(system_[i])
                                     : memory == Memory::Fresh ? wrap(i)
                                     : memory == Memory::Dup   ? dup_of(i)
                                                               : gst_memory_ref(pooled_[i]));
    GstVideoInfo info;
    gst_video_info_set_format(&info, stream_.format, kWidth, kHeight);
    gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, stream_.format, kWidth,
                                   kHeight, info.finfo->n_planes, info.offset, info.stride);
    return buffer;
  }

private:
  GstMemory *wrap(int i)
  {
    return gst_fd_allocator_alloc(allocator_, fds_[i], stream_.size, GST_FD_MEMORY_FLAG_DONT_CLOSE);
  }
  GstMemory *dup_of(int i)
  {
    return gst_dmabuf_allocator_alloc(allocator_, fcntl(fds_[i], F_DUPFD_CLOEXEC, 3), stream_.size);
  }
  const Stream &stream_;
  GstAllocator *allocator_;
  int fds_[kBuffers];
  GstMemory *pooled_[kBuffers];
  GstMemory *system_[kBuffers];
};

GstPadProbeReturn read_by_gl(GstPad *, GstPadProbeInfo *info, gpointer)
{
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER(info);
  for (guint i = 0; i < gst_buffer_n_memory(buffer); i++) {
    GstMemory *memory = gst_buffer_peek_memory(buffer, i);
    GstMapInfo map;
    if (gst_is_gl_memory(memory) &&
        gst_memory_map(memory, &map, static_cast<GstMapFlags>(GST_MAP_READ | GST_MAP_GL)))
      gst_memory_unmap(memory, &map);
  }
  return GST_PAD_PROBE_OK;
}

// How many textures a frame has, which its caps alone do not say.
GstPadProbeReturn note_textures(GstPad *, GstPadProbeInfo *info, gpointer textures)
{
  *static_cast<guint *>(textures) = gst_buffer_n_memory(GST_PAD_PROBE_INFO_BUFFER(info));
  return GST_PAD_PROBE_REMOVE;
}

// A pipeline that stays for all rounds, so that contexts and first imports are not timed.
class Run {
public:
  Run(const char *factory, const Stream &stream, Memory memory)
  {
    const bool is_system = memory == Memory::System;
    const bool is_ours = std::string_view(factory) == "egldmabufupload";
    const std::string element =
        *factory ? std::string(factory) + (is_system && is_ours ? " mode=copy ! " : " ! ") +
                       (is_system ? GL_CAPS "texture-target=2D" : stream.gl_caps) + " ! "
                 : "capsfilter ! "; // which the others have as well
    const std::string format =
        is_system ? std::string("video/x-raw, format=") + gst_video_format_to_string(stream.format)
                  : std::string("video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=") +
                        stream.drm_format;
    const std::string text =
        "appsrc name=src format=time block=true max-buffers=2 max-bytes=0 is-live=false "
        "caps=\"" +
        format + ", width=" + std::to_string(kWidth) + ", height=" + std::to_string(kHeight) +
        ", framerate=30/1\" ! " + element + "fakesink name=sink sync=false async=false";
    GError *error = nullptr;
    pipeline_ = gst_parse_launch(text.c_str(), &error);
    if (!pipeline_ || error) {
      std::fprintf(stderr, "%s\n", error ? error->message : "no pipeline");
      std::exit(1);
    }
    src_ = gst_bin_get_by_name(GST_BIN(pipeline_), "src");
    sink_ = gst_bin_get_by_name(GST_BIN(pipeline_), "sink");
    GstPad *pad = gst_element_get_static_pad(sink_, "sink");
    if (memory == Memory::Read || is_system)
      gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, read_by_gl, nullptr, nullptr);
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, note_textures, &textures_, nullptr);
    gst_object_unref(pad);
    gst_element_set_state(pipeline_, GST_STATE_PLAYING);
  }
  Run(const Run &) = delete;
  Run &operator=(const Run &) = delete;
  ~Run()
  {
    gst_element_set_state(pipeline_, GST_STATE_NULL);
    gst_object_unref(src_);
    gst_object_unref(sink_);
    gst_object_unref(pipeline_);
  }

  // Until the last one has come.
  void play(Memories &memories, int frames, Memory memory)
  {
    for (int i = 0; i < frames; i++)
      if (gst_app_src_push_buffer(GST_APP_SRC(src_), memories.frame(i, memory)) != GST_FLOW_OK)
        fail();
    while (true) {
      GstStructure *stats = nullptr;
      guint64 rendered = 0;
      g_object_get(sink_, "stats", &stats, nullptr);
      gst_structure_get_uint64(stats, "rendered", &rendered);
      gst_structure_free(stats);
      if (rendered >= sent_ + static_cast<guint64>(frames))
        break;
      g_usleep(1000);
    }
    sent_ += static_cast<guint64>(frames);
  }

  [[nodiscard]] guint textures() const { return textures_; }
  double us_per_frame(Memories &memories, int frames, Memory memory)
  {
    const double begin = cpu_us();
    play(memories, frames, memory);
    return (cpu_us() - begin) / frames;
  }

private:
  [[noreturn]] void fail()
  {
    GstBus *bus = gst_element_get_bus(pipeline_);
    GstMessage *message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
    GError *error = nullptr;
    if (message)
      gst_message_parse_error(message, &error, nullptr);
    std::fprintf(stderr, "the pipeline ended: %s\n", error ? error->message : "no message");
    std::exit(1);
  }
  GstElement *pipeline_;
  GstElement *src_;
  GstElement *sink_;
  guint64 sent_ = 0;
  guint textures_ = 0; // written before the first frame has come
};

double median(std::vector<double> values)
{
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

constexpr const char *kRivals[] = {"", "glupload", "egldmabufupload"};
const char *name_of_rival(const char *rival)
{
  return *rival ? rival : "baseline";
}

constexpr int kWarmUp = 100; // frames; imports and negotiation are over then

void compare_time(const Stream &stream, Memory memory, int frames, int rounds)
{
  Memories memories(stream);
  std::map<std::string, std::vector<double>> measured;
  {
    std::vector<std::unique_ptr<Run>> runs;
    for (const char *rival : kRivals) {
      runs.push_back(std::make_unique<Run>(rival, stream, memory));
      runs.back()->play(memories, kWarmUp, memory);
    }
    for (int round = 0; round < rounds; round++)
      for (std::size_t i = 0; i < std::size(kRivals); i++)
        measured[kRivals[i]].push_back(runs[i]->us_per_frame(memories, frames, memory));
  }
  for (const char *rival : kRivals) {
    const auto &values = measured[rival];
    std::printf("%-12s %-7s %-16s %8.1f %8.1f %8.1f\n", stream.name, name_of(memory),
                name_of_rival(rival), median(values),
                *std::min_element(values.begin(), values.end()),
                *std::max_element(values.begin(), values.end()));
  }
  const auto least = [&](const char *rival) {
    return *std::min_element(measured[rival].begin(), measured[rival].end());
  };
  const double base = least("");
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("# over the baseline %.2f of glupload, by the least; largest resident size so far: "
              "%ld KiB\n",
              (least("egldmabufupload") - base) / (least("glupload") - base), usage.ru_maxrss);
}

// One pipeline, so that `strace -c -f` counts nothing else: the calls of two lengths apart are
// those of the frames between.
void count_calls(const Stream &stream, Memory memory, int frames, const char *rival)
{
  Memories memories(stream);
  Run run(rival, stream, memory);
  run.play(memories, kWarmUp, memory);
  const gstdrm::test::GlCalls before = gstdrm::test::gl_calls();
  run.play(memories, frames, memory);
  g_usleep(10000); // what nobody waits for is done too
  std::printf("%-12s %-7s %-16s textures in a frame %u;", stream.name, name_of(memory),
              name_of_rival(rival), run.textures());
  for (const auto &[call, count] : gstdrm::test::gl_calls())
    if (const auto made = count - before.at(call))
      std::printf(" %s %.2f", call.c_str(), static_cast<double>(made) / frames);
  std::printf("\n");
}

} // namespace

// [FRAMES PER ROUND [ROUNDS [STREAM MEMORY]]], or: counts FRAMES [STREAM MEMORY ELEMENT]
int main(int argc, char **argv)
{
  gst_init(nullptr, nullptr);
  const std::vector<std::string> args(argv + 1, argv + argc);
  const bool counts = !args.empty() && args[0] == "counts";
  const auto number = [&](std::size_t i, int otherwise) {
    return args.size() > i ? std::atoi(args[i].c_str()) : otherwise;
  };
  const auto takes = [&](std::size_t i, const char *name) {
    return args.size() <= i || args[i] == name;
  };
  if (counts && !gstdrm::test::count_gl())
    return 77;
  if (!counts)
    std::printf("%-12s %-7s %-16s %8s %8s %8s\n", "stream", "memory", "element", "median", "min",
                "max");
  for (const Stream &stream : kStreams)
    for (const Memory memory : kMemories) {
      if (!counts) {
        if (takes(2, stream.name) && takes(3, name_of(memory)))
          compare_time(stream, memory, number(0, 2000), number(1, 7));
        continue;
      }
      for (const char *rival : kRivals)
        if (takes(2, stream.name) && takes(3, name_of(memory)) && takes(4, name_of_rival(rival)))
          count_calls(stream, memory, number(1, 400), rival);
    }
  return 0;
}
