// SPDX-License-Identifier: LGPL-2.1-or-later
// How the design document behind docs/axl.md verifies its own pipeline: invariants I1 to I4 by the
// means of its script (tracefs, /proc, the dma-buf's attachments), and its failure table, row by
// row.
#include "npu_document.hpp"

#include <atomic>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gst/allocators/gstdmabuf.h>
#include <gst/app/gstappsrc.h>

#include "npu_support.hpp"
#include "npu_trace.hpp"
#include "support/dmabuf_elements.hpp"

namespace {

// Bytes that anybody in the process copies by a call of the C library, while a run counts.
std::atomic<bool> counting{false};
std::atomic<std::uint64_t> copied_bytes{0};

// A sanitizer's runtime has memcpy() for itself.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kCounts = false;
#else
constexpr bool kCounts = true;
#endif

[[maybe_unused]] void count_copy(std::size_t n) noexcept
{
  if (counting.load(std::memory_order_relaxed))
    copied_bytes.fetch_add(n, std::memory_order_relaxed);
}

} // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Before the C library's, for every library of the process (--export-dynamic-symbol). Loops that
// the compiler must not turn into calls of themselves.
#define PLAIN_LOOP                                                                                 \
  __attribute__((visibility("default"), optimize("no-tree-loop-distribute-patterns")))

extern "C" PLAIN_LOOP void *memcpy(void *to, const void *from, std::size_t n)
{
  count_copy(n);
  auto *out = static_cast<unsigned char *>(to);
  const auto *in = static_cast<const unsigned char *>(from);
  while (n-- > 0)
    *out++ = *in++;
  return to;
}

extern "C" PLAIN_LOOP void *memmove(void *to, const void *from, std::size_t n)
{
  count_copy(n);
  auto *out = static_cast<unsigned char *>(to);
  const auto *in = static_cast<const unsigned char *>(from);
  if (out <= in) {
    while (n-- > 0)
      *out++ = *in++;
  } else {
    while (n-- > 0)
      out[n] = in[n];
  }
  return to;
}
#endif

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

constexpr int kWidth = 640;
constexpr int kHeight = 480;
constexpr guint kFrames = 60;
constexpr guint kMemories = 4;
constexpr std::uint64_t kFrameBytes = kWidth * kHeight * 3 / 2;

// What the document's check_dmabuf_invariants.py reads out of a run, and what our element says.
struct Observed {
  std::map<std::string, std::set<std::string>> attached; // of a frame: the most devices at a time
  std::set<std::string> exporters;                       // of what the NPU imported
  unsigned imports = 0;
  unsigned releases = 0;
  unsigned frame_mmaps = 0;  // by the CPU
  unsigned result_mmaps = 0; // likewise, of every other dma-buf
  std::vector<double> fence_seconds;
  std::uint64_t copied = 0; // bytes, by memcpy() and memmove()
  std::uint64_t copies = 0; // drm-stats
  std::uint64_t device_ns = 0;
  std::vector<std::string> infos;
  std::string error;
};

void read_trace(const std::vector<std::string> &lines, const std::set<std::string> &frames,
                Observed &seen)
{
  std::map<std::string, std::set<std::string>> now;
  std::map<std::string, double> begun;
  for (const std::string &line : lines) {
    if (is_event(line, "axl_dmabuf_import")) {
      seen.imports++;
      seen.exporters.insert(field_of(line, "exporter"));
      fail_unless(frames.count(field_of(line, "inode")) == 1 || seen.copies > 0);
    } else if (is_event(line, "axl_dmabuf_release")) {
      seen.releases++;
    } else if (is_event(line, "dma_buf_mmap_internal")) {
      (frames.count(field_of(line, "ino")) ? seen.frame_mmaps : seen.result_mmaps)++;
    } else if (is_event(line, "dma_buf_dynamic_attach") && frames.count(field_of(line, "ino"))) {
      auto &devices = now[field_of(line, "ino")];
      devices.insert(field_of(line, "dev_name"));
      auto &most = seen.attached[field_of(line, "ino")];
      if (devices.size() > most.size())
        most = devices;
    } else if (is_event(line, "dma_buf_detach")) {
      now[field_of(line, "ino")].erase(field_of(line, "dev_name"));
    } else if (line.find("timeline=metis-0") != std::string::npos) {
      if (is_event(line, "dma_fence_init"))
        begun[field_of(line, "seqno")] = seconds_of(line);
      else if (is_event(line, "dma_fence_signaled"))
        seen.fence_seconds.push_back(seconds_of(line) - begun.at(field_of(line, "seqno")));
    }
  }
}

std::string inode_of(GstBuffer *buffer)
{
  struct stat of = {};
  fail_unless_equals_int(fstat(gst_dmabuf_memory_get_fd(gst_buffer_peek_memory(buffer, 0)), &of),
                         0);
  return std::to_string(of.st_ino);
}

bool is_mapped(const std::set<std::string> &frames)
{
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    for (const std::string &inode : frames)
      if (line.find("/dmabuf:") != std::string::npos &&
          line.find(" " + inode + " ") != std::string::npos)
        return true;
  return false;
}

std::uint64_t stat_of(GstElement *element, const char *field)
{
  GstStructure *stats = nullptr;
  g_object_get(element, "drm-stats", &stats, nullptr);
  guint64 value = 0;
  fail_unless(gst_structure_get_uint64(stats, field, &value));
  gst_structure_free(stats);
  return value;
}

std::string text_of(GstMessage *message)
{
  GError *error = nullptr;
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR)
    gst_message_parse_error(message, &error, nullptr);
  else
    gst_message_parse_info(message, &error, nullptr);
  std::string text = error->message;
  g_error_free(error);
  return text;
}

// Until EOS or an error; the texts go to `seen`.
void wait_for_end(GstElement *pipeline, Observed &seen)
{
  GstBus *bus = gst_element_get_bus(pipeline);
  const auto types =
      static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR | GST_MESSAGE_INFO);
  for (bool ended = false; !ended;) {
    GstMessage *message = gst_bus_timed_pop_filtered(bus, 60 * GST_SECOND, types);
    fail_unless(message != nullptr, "neither EOS nor an error");
    ended = GST_MESSAGE_TYPE(message) != GST_MESSAGE_INFO;
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR)
      seen.error = text_of(message);
    else if (!ended)
      seen.infos.push_back(text_of(message));
    gst_message_unref(message);
  }
  gst_object_unref(bus);
}

enum class Memory { Heap, Udmabuf, Memfd };

// A frame in memory whose only mapping, the test's, is gone.
GstPtr<GstBuffer> new_frame_nobody_maps(Memory from)
{
  gstdrm::UniqueFd fd(memfd_create("frame", MFD_CLOEXEC));
  fail_unless_equals_int(ftruncate(fd.get(), kFrameBytes), 0);
  if (from != Memory::Memfd) {
    DmaBytes bytes(from == Memory::Heap ? DmaBytes::From::Heap : DmaBytes::From::Udmabuf,
                   kFrameBytes);
    for (std::uint64_t i = 0; i < kFrameBytes; i++)
      bytes.bytes()[i] = static_cast<std::uint8_t>(i * 7);
    fd = gstdrm::UniqueFd::dup(bytes.fd());
  }
  GstAllocator *allocator = gst_dmabuf_allocator_new();
  GstBuffer *buffer = gst_buffer_new();
  gst_buffer_append_memory(buffer,
                           gst_dmabuf_allocator_alloc(allocator, fd.release(), kFrameBytes));
  gst_object_unref(allocator);
  return GstPtr<GstBuffer>::adopt(buffer);
}

struct Options {
  const char *properties = "cache-imports=false"; // the document's way
  Memory from = Memory::Heap;
  guint n_frames = kFrames;
};

// The document's pipeline with this project's names. The frames are there before it starts, so that
// no producer copies or maps anything; the display is the second device.
Observed run(const Options &options)
{
  const std::string model =
      std::string(g_getenv("GST_DRM_TEST_DATA")) + "/../box/npu/models/check.npu";
  const std::string description =
      "appsrc name=src format=time max-buffers=0 max-bytes=0 ! metisdmabufinfer name=infer "
      "backend=axl model=" +
      model + " device=metis-0:01:0 import-mode=dmabuf output-buffer-mode=dmabuf " +
      options.properties + " ! kmsdmabufsink mode=match sync=false";
  GstElement *pipeline = gst_parse_launch(description.c_str(), nullptr);
  fail_unless(pipeline != nullptr, "%s", description.c_str());
  GstElement *src = gst_bin_get_by_name(GST_BIN(pipeline), "src");
  GstElement *infer = gst_bin_get_by_name(GST_BIN(pipeline), "infer");
  gst_app_src_set_caps(GST_APP_SRC(src), caps_of(dmabuf_caps("NV12", kWidth, kHeight)).get());
  std::vector<GstPtr<GstBuffer>> frames;
  std::set<std::string> inodes;
  for (guint i = 0; i < kMemories; i++) {
    frames.push_back(new_frame_nobody_maps(options.from));
    inodes.insert(inode_of(frames.back().get()));
  }
  Observed seen;
  {
    Trace trace({"axl", "dma_buf", "dma_fence"});
    copied_bytes = 0;
    counting = true;
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    for (guint i = 0; i < options.n_frames; i++) {
      GstBuffer *buffer = gst_buffer_copy(frames[i % kMemories].get()); // shares the memory
      GST_BUFFER_PTS(buffer) = i * GST_MSECOND;
      if (gst_app_src_push_buffer(GST_APP_SRC(src), buffer) != GST_FLOW_OK)
        break;
    }
    gst_app_src_end_of_stream(GST_APP_SRC(src));
    wait_for_end(pipeline, seen);
    counting = false;
    seen.copied = copied_bytes;
    seen.copies = stat_of(infer, "copies");
    if (const std::uint64_t inferences = stat_of(infer, "inferences"))
      seen.device_ns = stat_of(infer, "device-ns") / inferences;
    if (seen.copies == 0)
      fail_if(is_mapped(inodes), "a frame is mapped for the CPU");
    gst_element_set_state(pipeline, GST_STATE_NULL);
    Npu::expect("imports", 0);
    read_trace(trace.stop(), inodes, seen);
  }
  gst_object_unref(src);
  gst_object_unref(infer);
  gst_object_unref(pipeline);
  return seen;
}

std::string joined(const std::set<std::string> &names)
{
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : " ") + name;
  return text;
}

void say_result(const Observed &seen)
{
  for (const auto &[inode, devices] : seen.attached)
    g_print("# inode %s attached to: %s\n", inode.c_str(), joined(devices).c_str());
  g_print("# imports %u, releases %u, fences %u, exporters: %s, bytes copied %llu, mmaps of frames "
          "%u, of results %u\n",
          seen.imports, seen.releases, static_cast<unsigned>(seen.fence_seconds.size()),
          joined(seen.exporters).c_str(), static_cast<unsigned long long>(seen.copied),
          seen.frame_mmaps, seen.result_mmaps);
}

// --- invariants ----------------------------------------------------------------------------------

struct RunRow {
  const char *name;
  const char *properties;
  unsigned imports;
};
const RunRow kRuns[] = {
    {"each frame is imported and released, as in the document", "cache-imports=false", kFrames},
    {"imports are kept", "cache-imports=true", kMemories},
    {"four in flight", "cache-imports=false max-in-flight=4", kFrames},
};

GST_START_TEST(test_invariants)
{
  const RunRow &row = kRuns[__i__];
  say(row.name);
  Npu::reset();
  Options options;
  options.properties = row.properties;
  const Observed seen = run(options);
  fail_unless(seen.error.empty(), "%s", seen.error.c_str());
  say_result(seen);
  // I1: attachments >= 2, and the document's two devices: the camera's (here a display) and the NPU
  fail_unless_equals_int(static_cast<int>(seen.attached.size()), static_cast<int>(kMemories));
  for (const auto &[inode, devices] : seen.attached)
    fail_unless(devices.size() >= 2 && devices.count("metis.0") == 1, "I1: inode %s: %s",
                inode.c_str(), joined(devices).c_str());
  // I2: a known exporter
  const std::string exporters = joined(seen.exporters); // the macro outlives no temporary
  fail_unless_equals_string(exporters.c_str(), "system");
  // I3: the tracepoints fire
  fail_unless_equals_int(seen.imports, row.imports);
  fail_unless_equals_int(seen.releases, row.imports);
  fail_unless_equals_int(static_cast<int>(seen.fence_seconds.size()), static_cast<int>(kFrames));
  // I4: below 1 % of the pixels are copied, and none by way of a mapping; a result is mapped once
  fail_unless(seen.copied < kFrames * kFrameBytes / 100, "I4: %llu bytes",
              static_cast<unsigned long long>(seen.copied));
  fail_unless_equals_int(seen.frame_mmaps, 0);
  fail_unless(seen.result_mmaps <= 16);
}
GST_END_TEST

// --- the failure table ---------------------------------------------------------------------------

// "unknown property import-mode": what `gst-inspect-1.0 | grep -i dma` has to find.
GST_START_TEST(test_row_unknown_property)
{
  GstElement *element = make_element("metisdmabufinfer");
  for (const char *name : {"import-mode", "output-buffer-mode"}) {
    GParamSpec *spec = g_object_class_find_property(G_OBJECT_GET_CLASS(element), name);
    fail_unless(spec != nullptr && G_IS_PARAM_SPEC_ENUM(spec), "%s", name);
    fail_unless(g_enum_get_value_by_nick(G_PARAM_SPEC_ENUM(spec)->enum_class, "dmabuf") != nullptr);
  }
  gst_object_unref(element);
  GError *error = nullptr;
  GstElement *other = gst_parse_launch("metisdmabufinfer importmode=dmabuf", &error);
  fail_unless(error != nullptr && strstr(error->message, "importmode") != nullptr);
  g_clear_error(&error);
  if (other)
    gst_object_unref(other);
}
GST_END_TEST

// "attachments always == 1: the runtime is CPU-mapping via mmap", "memcpy > 5 % in perf": the way
// that does both shows both, and says so on the bus and in drm-stats.
GST_START_TEST(test_row_attachments_and_memcpy)
{
  Npu::reset();
  Options options;
  options.properties = "import-mode=copy";
  const Observed seen = run(options);
  fail_unless(seen.error.empty(), "%s", seen.error.c_str());
  say_result(seen);
  for (const auto &[inode, devices] : seen.attached)
    fail_if(devices.size() >= 2, "inode %s: %s", inode.c_str(), joined(devices).c_str());
  fail_unless(seen.frame_mmaps > 0);
  if (kCounts)
    fail_unless(seen.copied >= kFrames * kFrameBytes, "%llu bytes",
                static_cast<unsigned long long>(seen.copied));
  fail_unless_equals_uint64(seen.copies, kFrames);
  fail_unless_equals_int(static_cast<int>(seen.infos.size()), 1);
  fail_unless(seen.infos[0].find("import-mode=copy") != std::string::npos, "%s",
              seen.infos[0].c_str());
}
GST_END_TEST

struct FenceRow {
  const char *name;
  unsigned latency_us;
  bool above;
};
const FenceRow kFences[] = {{"a device in time", 2000, false}, {"a slow device", 60000, true}};

// "dma_fence_wait_* > 50 ms": the fences of the trace and `device-ns` say the same.
GST_START_TEST(test_row_fence_above_50_ms)
{
  const FenceRow &row = kFences[__i__];
  say(row.name);
  Npu::reset();
  Npu::set("latency_us", row.latency_us);
  Options options;
  options.properties = "max-in-flight=1";
  options.n_frames = 8;
  const Observed seen = run(options);
  fail_unless(seen.error.empty(), "%s", seen.error.c_str());
  fail_unless_equals_int(static_cast<int>(seen.fence_seconds.size()), 8);
  unsigned slow = 0;
  for (const double seconds : seen.fence_seconds)
    slow += seconds > 0.05 ? 1 : 0;
  fail_unless(row.above ? slow == 8 : slow < 8, "%u of 8 above 50 ms", slow);
  if (row.above)
    fail_unless(seen.device_ns > 50000000);
}
GST_END_TEST

struct ExporterRow {
  const char *name;
  Memory from;
  const char *exporter;
  const char *error;
};
const ExporterRow kExporters[] = {
    {"a dma-heap", Memory::Heap, "system", ""},
    {"udmabuf", Memory::Udmabuf, "udmabuf", ""},
    {"no exporter", Memory::Memfd, "", "takes frames in dma-bufs alone"},
};

// "exporter_name is system, not nvmap": whoever exports, the trace names it; memory of no exporter
// is refused.
GST_START_TEST(test_row_exporter)
{
  const ExporterRow &row = kExporters[__i__];
  say(row.name);
  Npu::reset();
  Options options;
  options.from = row.from;
  options.n_frames = 8;
  const Observed seen = run(options);
  say(seen.error);
  const std::string exporters = joined(seen.exporters);
  fail_unless_equals_string(exporters.c_str(), row.exporter);
  fail_unless(row.error[0] ? seen.error.find(row.error) != std::string::npos : seen.error.empty(),
              "%s", seen.error.c_str());
}
GST_END_TEST

// "axl_dmabuf_import never fires": a driver of another interface is refused at the start.
GST_START_TEST(test_row_import_never_fires)
{
  Npu::reset();
  Options options;
  options.properties = "device=/dev/udmabuf";
  options.n_frames = 1;
  const Observed seen = run(options);
  fail_unless_equals_int(seen.imports, 0);
  say(seen.error);
  for (const char *part : {"/dev/udmabuf", "AXL_IOCTL_RELEASE_IMPORT", "backend=axruntime"})
    fail_unless(seen.error.find(part) != std::string::npos, "%s", seen.error.c_str());
}
GST_END_TEST

} // namespace

TCase *gstdrm::test::npu_document_cases()
{
  TCase *tc = tcase_create("npu_document");
  tcase_add_loop_test(tc, test_invariants, 0, G_N_ELEMENTS(kRuns));
  tcase_add_test(tc, test_row_unknown_property);
  tcase_add_test(tc, test_row_attachments_and_memcpy);
  tcase_add_loop_test(tc, test_row_fence_above_50_ms, 0, G_N_ELEMENTS(kFences));
  tcase_add_loop_test(tc, test_row_exporter, 0, G_N_ELEMENTS(kExporters));
  tcase_add_test(tc, test_row_import_never_fires);
  return tc;
}
