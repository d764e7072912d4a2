// SPDX-License-Identifier: LGPL-2.1-or-later
// What the tracer drmverify costs for each frame and link, beside the same pipeline without it in
// the same run, and what it keeps of a frame. Tracers are loaded when GStreamer starts, so each
// stream is a process of its own.
// Usage: bench-tracer [ROUNDS]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <malloc.h>
#include <sys/resource.h>

#include <gst/gst.h>

namespace {

constexpr int kLinks = 10;
constexpr int kFrames = 20000;

double cpu_us()
{
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto us = [](const timeval &time) {
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
  };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

// The same names each time: the tracer has a record for each element.
void play(int frames)
{
  std::string description =
      "fakesrc name=source format=time num-buffers=" + std::to_string(frames) +
      " ! capsfilter name=caps caps=video/x-raw,format=NV12,width=64,height=64";
  for (int i = 0; i < kLinks - 2; i++)
    description += " ! identity silent=true name=middle" + std::to_string(i);
  GstElement *pipeline = gst_parse_launch((description + " ! fakesink name=end").c_str(), nullptr);
  gst_object_set_name(GST_OBJECT(pipeline), "pipeline");
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstBus *bus = gst_element_get_bus(pipeline);
  gst_message_unref(gst_bus_timed_pop_filtered(
      bus, GST_CLOCK_TIME_NONE, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR)));
  gst_object_unref(bus);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
}

std::size_t allocated()
{
  const struct mallinfo2 all = ::mallinfo2();
  return all.uordblks + all.hblkhd;
}

// Prints the CPU time of a frame and link in us, and the bytes that are kept of all frames, each
// the least of three streams. The first streams make what every later one finds there.
int stream()
{
  gst_init(nullptr, nullptr);
  play(1000);
  play(1000);
  double least_us = 0;
  long least_kept = 0;
  for (int i = 0; i < 3; i++) {
    const std::size_t before = allocated();
    const double start = cpu_us();
    play(kFrames);
    const double spent = cpu_us() - start;
    const long kept = static_cast<long>(allocated()) - static_cast<long>(before);
    least_us = i == 0 ? spent : std::min(least_us, spent);
    least_kept = i == 0 ? kept : std::min(least_kept, kept);
  }
  std::printf("%f %ld\n", least_us / kFrames / kLinks, least_kept);
  return EXIT_SUCCESS;
}

struct Streams {
  std::vector<double> us;
  long kept = 0; // the most

  void run(const std::string &command)
  {
    double spent = 0;
    long bytes = 0;
    FILE *output = ::popen(command.c_str(), "r");
    if (!output || std::fscanf(output, "%lf %ld", &spent, &bytes) != 2)
      std::abort();
    ::pclose(output);
    us.push_back(spent);
    kept = std::max(kept, bytes);
  }
  [[nodiscard]] double median()
  {
    std::sort(us.begin(), us.end());
    return us[us.size() / 2];
  }
};

} // namespace

int main(int argc, char **argv)
{
  if (argc > 1 && std::strcmp(argv[1], "stream") == 0)
    return stream();
  const int rounds = argc > 1 ? std::max(std::atoi(argv[1]), 1) : 7;
  const std::string command = std::string("'") + argv[0] + "' stream";
  Streams off;
  Streams on;
  for (int i = 0; i < rounds; i++) {
    off.run("GST_TRACERS= " + command);
    on.run("GST_TRACERS=drmverify GST_DRM_VERIFY_FILE=/dev/null " + command);
  }
  std::printf(
      "CPU time of a frame and link, median of %d: %.2f us without the tracer, %.2f with it\n"
      "kept after %d frames: at most %ld bytes without it, %ld with it\n",
      rounds, off.median(), on.median(), kFrames, off.kept, on.kept);
  // less than a byte a frame: GStreamer's own tables grow by a block now and then
  return on.kept < kFrames ? EXIT_SUCCESS : EXIT_FAILURE;
}
