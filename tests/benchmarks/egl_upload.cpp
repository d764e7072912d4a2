// SPDX-License-Identifier: LGPL-2.1-or-later
// egldmabufupload beside upstream's glupload, both fed with the same dma-bufs, in turn in one run:
// CPU time of the process per frame, over that of a pipeline without either. No test: it takes some
// minutes, and needs a driver that imports (docs/benchmarks.md).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <gst/allocators/gstdmabuf.h>
#include <gst/app/gstappsrc.h>
#include <gst/video/video.h>

namespace {

constexpr int kWidth = 1280;
constexpr int kHeight = 720;
constexpr int kBuffers = 4;

struct Stream {
  const char *drm_format;
  GstVideoFormat format;
  gsize size;
};
const Stream kStreams[] = {
    {"XR24", GST_VIDEO_FORMAT_BGRx, gsize{kWidth} * kHeight * 4},
    {"NV12", GST_VIDEO_FORMAT_NV12, gsize{kWidth} * kHeight * 3 / 2},
};

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
    for (int i = 0; i < kBuffers; i++)
      pooled_[i] = wrap(i);
  }
  Memories(const Memories &) = delete;
  Memories &operator=(const Memories &) = delete;
  ~Memories()
  {
    for (int i = 0; i < kBuffers; i++) {
      gst_memory_unref(pooled_[i]);
      close(fds_[i]);
    }
    gst_object_unref(allocator_);
  }
  // The memory of a pool, or a new one around the same descriptor.
  GstBuffer *frame(int index, bool fresh)
  {
    GstBuffer *buffer = gst_buffer_new();
    const int i = index % kBuffers;
    gst_buffer_append_memory(buffer, fresh ? wrap(i) : gst_memory_ref(pooled_[i]));
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
  const Stream &stream_;
  GstAllocator *allocator_;
  int fds_[kBuffers];
  GstMemory *pooled_[kBuffers];
};

// A pipeline that stays for all rounds, so that contexts and first imports are not timed.
class Run {
public:
  Run(const std::string &element, const Stream &stream)
  {
    const std::string text =
        "appsrc name=src format=time block=true max-buffers=2 max-bytes=0 is-live=false "
        "caps=\"video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=" +
        std::string(stream.drm_format) + ", width=" + std::to_string(kWidth) +
        ", height=" + std::to_string(kHeight) + ", framerate=30/1\" ! " + element +
        "fakesink name=sink sync=false async=false";
    GError *error = nullptr;
    pipeline_ = gst_parse_launch(text.c_str(), &error);
    if (!pipeline_ || error) {
      std::fprintf(stderr, "%s\n", error ? error->message : "no pipeline");
      std::exit(1);
    }
    src_ = gst_bin_get_by_name(GST_BIN(pipeline_), "src");
    sink_ = gst_bin_get_by_name(GST_BIN(pipeline_), "sink");
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

  double us_per_frame(Memories &memories, int frames, bool fresh)
  {
    const double begin = cpu_us();
    for (int i = 0; i < frames; i++)
      if (gst_app_src_push_buffer(GST_APP_SRC(src_), memories.frame(i, fresh)) != GST_FLOW_OK)
        fail();
    while (true) { // the last one has come
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
};

double median(std::vector<double> values)
{
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Rival {
  const char *name;
  const char *element;
};
const Rival kRivals[] = {
    {"baseline", ""},
    {"glupload", "glupload ! video/x-raw(memory:GLMemory) ! "},
    {"egldmabufupload", "egldmabufupload ! video/x-raw(memory:GLMemory) ! "},
};

} // namespace

// [FRAMES PER ROUND [ROUNDS]]
int main(int argc, char **argv)
{
  gst_init(nullptr, nullptr);
  const int frames = argc > 1 ? std::atoi(argv[1]) : 2000;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 7;
  std::printf("%-6s %-7s %-16s %8s %8s %8s\n", "format", "memory", "element", "median", "min",
              "max");
  for (const Stream &stream : kStreams)
    for (const bool fresh : {false, true}) {
      Memories memories(stream);
      std::map<std::string, std::vector<double>> measured;
      {
        std::vector<std::unique_ptr<Run>> runs;
        for (const Rival &rival : kRivals) {
          runs.push_back(std::make_unique<Run>(rival.element, stream));
          (void)runs.back()->us_per_frame(memories, 100, fresh);
        }
        for (int round = 0; round < rounds; round++)
          for (std::size_t i = 0; i < std::size(kRivals); i++)
            measured[kRivals[i].name].push_back(runs[i]->us_per_frame(memories, frames, fresh));
      }
      for (const Rival &rival : kRivals) {
        const auto &values = measured[rival.name];
        std::printf("%-6s %-7s %-16s %8.1f %8.1f %8.1f\n", stream.drm_format,
                    fresh ? "fresh" : "pooled", rival.name, median(values),
                    *std::min_element(values.begin(), values.end()),
                    *std::max_element(values.begin(), values.end()));
      }
      rusage usage{};
      getrusage(RUSAGE_SELF, &usage);
      std::printf("# largest resident size so far: %ld KiB\n", usage.ru_maxrss);
    }
  return 0;
}
