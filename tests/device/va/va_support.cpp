// SPDX-License-Identifier: LGPL-2.1-or-later
#include "va_support.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <gst/app/gstappsink.h>

#include <gst/drm/core/format.hpp>

namespace gstdrm::test {

void set_driver(const std::string &settings)
{
  g_setenv("GST_DRM_VA_TEST", settings.c_str(), TRUE);
}

void own_registry(const std::string &name)
{
  const std::string path = "/tmp/" + name;
  std::error_code none; // it is filled then
  std::filesystem::copy_file(g_getenv("GST_REGISTRY_1_0"), path, none);
  g_setenv("GST_REGISTRY_1_0", path.c_str(), TRUE);
  g_unsetenv("GST_REGISTRY_UPDATE");
}

void start_again_if_loaded(char **argv)
{
  constexpr char kAgain[] = "GST_DRM_TEST_STARTED_AGAIN";
  g_autoptr(GstPlugin) plugin = gst_registry_find_plugin(gst_registry_get(), "vadmabuf");
  const char *wrong = nullptr; // no case runs yet that could fail
  if (!plugin)
    wrong = "the registry has no plugin vadmabuf";
  else if (gst_plugin_is_loaded(plugin) && g_getenv(kAgain))
    wrong = "the plugin is loaded although the registry is new";
  else if (gst_plugin_is_loaded(plugin)) {
    g_setenv(kAgain, "1", TRUE);
    ::execv("/proc/self/exe", argv);
    wrong = g_strerror(errno);
  }
  if (wrong)
    g_error("%s", wrong);
}

Counters::Counters()
{
  char name[] = "/tmp/va-counters-XXXXXX";
  const int fd = ::mkstemp(name);
  fail_unless(fd >= 0 && ::ftruncate(fd, sizeof(vadriver::CounterPage)) == 0);
  path_ = name;
  void *page = ::mmap(nullptr, sizeof(vadriver::CounterPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  fail_unless(page != MAP_FAILED);
  page_ = static_cast<vadriver::CounterPage *>(page);
  ::close(fd);
}

Counters::~Counters()
{
  ::munmap(page_, sizeof(vadriver::CounterPage));
  ::unlink(path_.c_str());
}

std::uint64_t Counters::operator[](vadriver::Counter counter) const
{
  return (*page_)[counter].load();
}

namespace {

using Alive = std::atomic<unsigned>;
std::mutex ended_lock; // guards all below: some tests have pipelines in several threads
std::vector<std::shared_ptr<const Alive>> ended_pipelines;

// Counts an object until it is finalised: GObject lets go of its data after the subclasses' own.
void watch_end(gpointer object, const std::shared_ptr<Alive> &alive)
{
  ++*alive;
  g_object_set_data_full(
      G_OBJECT(object), "test-alive", std::make_unique<std::shared_ptr<Alive>>(alive).release(), [](gpointer data) {
        const std::unique_ptr<std::shared_ptr<Alive>> owned(static_cast<std::shared_ptr<Alive> *>(data));
        --**owned;
      });
}

void watch_elements(GstElement *pipeline, const std::shared_ptr<Alive> &alive)
{
  watch_end(pipeline, alive);
  if (!GST_IS_BIN(pipeline)) // a description of one element
    return;
  GstIterator *elements = gst_bin_iterate_recurse(GST_BIN(pipeline));
  std::vector<GstElement *> found;
  const auto add = [](const GValue *element, gpointer to) {
    static_cast<std::vector<GstElement *> *>(to)->push_back(GST_ELEMENT(g_value_get_object(element)));
  };
  fail_unless(gst_iterator_foreach(elements, add, &found) == GST_ITERATOR_DONE); // nobody else knows it yet
  gst_iterator_free(elements);
  for (GstElement *element : found)
    watch_end(element, alive);
}

} // namespace

Pipeline::Pipeline(const std::string &launch)
{
  GError *error = nullptr;
  pipeline_ = gst_parse_launch(launch.c_str(), &error);
  fail_unless(pipeline_ != nullptr && error == nullptr, "%s: %s", launch.c_str(), error ? error->message : "");
  GstBus *bus = gst_element_get_bus(pipeline_);
  gst_bus_set_sync_handler(bus, see_message, this, nullptr);
  gst_object_unref(bus);
  watch_elements(pipeline_, alive_);
}

Pipeline::~Pipeline()
{
  stop();
  GstBus *bus = gst_element_get_bus(pipeline_);
  gst_bus_set_sync_handler(bus, nullptr, nullptr, nullptr);
  gst_object_unref(bus);
  gst_object_unref(pipeline_);
  const std::lock_guard lock(ended_lock);
  ended_pipelines.push_back(alive_);
}

bool Pipeline::play()
{
  {
    const std::lock_guard lock(texts_lock_);
    errors_.clear();
  }
  failed_ = false;
  return gst_element_set_state(pipeline_, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE;
}

void Pipeline::stop()
{
  gst_element_set_state(pipeline_, GST_STATE_NULL);
}

GstElement *Pipeline::get(const char *name) const
{
  GstElement *element = gst_bin_get_by_name(GST_BIN(pipeline_), name);
  fail_unless(element != nullptr, "no %s", name);
  gst_object_unref(element); // the bin keeps it
  return element;
}

GstSample *Pipeline::pull()
{
  GstSample *sample = nullptr;
  // In steps, because an error does not end an appsink's wait. A picture of 8K takes two minutes where the machine is busy
  // with three other programs a processor.
  for (int i = 0; i < 2400 && !sample; ++i) {
    sample = gst_app_sink_try_pull_sample(GST_APP_SINK(get("sink")), 100 * GST_MSECOND);
    if (!sample && gst_app_sink_is_eos(GST_APP_SINK(get("sink"))))
      break;
    if (!sample && failed_) // the message stays on the bus, with those before it
      break;
  }
  return sample;
}

GstMessage *Pipeline::pop(GstClockTime timeout, GstMessageType types)
{
  GstBus *bus = gst_element_get_bus(pipeline_);
  GstMessage *message = gst_bus_timed_pop_filtered(bus, timeout, types);
  gst_object_unref(bus);
  return message;
}

GstBusSyncReply Pipeline::see_message(GstBus * /*bus*/, GstMessage *message, gpointer self)
{
  auto &pipeline = *static_cast<Pipeline *>(self);
  const bool is_error = GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR;
  if (is_error || GST_MESSAGE_TYPE(message) == GST_MESSAGE_WARNING) {
    g_autoptr(GError) error = nullptr;
    (is_error ? gst_message_parse_error : gst_message_parse_warning)(message, &error, nullptr);
    const std::lock_guard lock(pipeline.texts_lock_);
    if (is_error)
      pipeline.errors_.emplace_back(GST_MESSAGE_SRC_NAME(message), error->message);
    else
      pipeline.warnings_.emplace_back(error->message);
  }
  if (is_error)
    pipeline.failed_ = true;
  return GST_BUS_PASS;
}

std::vector<std::string> Pipeline::warnings()
{
  const std::lock_guard lock(texts_lock_);
  return warnings_;
}

std::vector<std::string> Pipeline::errors_of(const std::string &element)
{
  const std::lock_guard lock(texts_lock_);
  std::vector<std::string> texts;
  for (const auto &[name, text] : errors_)
    if (name == element)
      texts.push_back(text);
  return texts;
}

std::string Pipeline::wait_for_end()
{
  GstMessage *end =
      pop(200 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  if (!end)
    return {};
  g_autoptr(GError) error = nullptr;
  if (GST_MESSAGE_TYPE(end) == GST_MESSAGE_ERROR)
    gst_message_parse_error(end, &error, nullptr);
  gst_message_unref(end);
  return error ? error->message : "eos";
}

std::string Pipeline::message(GstMessageType type)
{
  GstMessage *message = pop(60 * GST_SECOND, type);
  if (!message)
    return {};
  GError *error = nullptr;
  if (type == GST_MESSAGE_ERROR)
    gst_message_parse_error(message, &error, nullptr);
  else if (type == GST_MESSAGE_WARNING)
    gst_message_parse_warning(message, &error, nullptr);
  else if (type == GST_MESSAGE_INFO)
    gst_message_parse_info(message, &error, nullptr);
  std::string text = error ? error->message : gst_message_type_get_name(type);
  g_clear_error(&error);
  gst_message_unref(message);
  return text;
}

std::uint64_t Pipeline::stat(const char *field) const
{
  GstStructure *stats = nullptr;
  g_object_get(get("src"), "drm-stats", &stats, nullptr);
  guint64 value = 0;
  fail_unless(gst_structure_get_uint64(stats, field, &value), "no %s in drm-stats", field);
  gst_structure_free(stats);
  return value;
}

std::string source(const std::string &properties, const std::string &caps, const std::string &sink)
{
  return "vadmabufsrc name=src " + properties + " ! " + caps + " ! " + sink;
}

std::string dma_caps(const std::string &drm_format, int width, int height)
{
  return "video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=" + drm_format + ",width=" + std::to_string(width) +
         ",height=" + std::to_string(height);
}

namespace {

std::vector<std::uint8_t> read_plane(const Frame &frame, guint index, const gstdrm::PlaneInfo &shape,
                                     std::uint32_t row_bytes)
{
  const auto &plane = frame.layout.planes[index];
  void *map = ::mmap(nullptr, plane.size, PROT_READ, MAP_SHARED, plane.fd, 0);
  fail_unless(map != MAP_FAILED, "plane %u cannot be mapped: %s", index, g_strerror(errno));
  const auto *data = static_cast<const std::uint8_t *>(map) + plane.offset;
  const auto tiling = vadriver::tiling_of(frame.layout.drm_modifier);
  const auto align = vadriver::tile_align(tiling, shape.block_bytes);
  const auto rows = gstdrm::plane_rows(shape, frame.layout.height);
  const vadriver::TiledPlane tiled{tiling, plane.stride, (rows + align.rows - 1) / align.rows * align.rows,
                                 shape.block_bytes};
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(row_bytes) * rows);
  for (std::uint32_t y = 0; y < rows; ++y) {
    for (std::uint32_t done = 0; done < row_bytes;) {
      const auto run = vadriver::tiled_run(tiled, done, y);
      const auto length = std::min(run.length_bytes, row_bytes - done);
      std::memcpy(bytes.data() + static_cast<std::size_t>(row_bytes) * y + done, data + run.offset_bytes, length);
      done += length;
    }
  }
  ::munmap(map, plane.size);
  return bytes;
}

void wait_for_device(GstBuffer *buffer)
{
  GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(buffer);
  const int fence = meta ? gst_drm_sync_meta_dup_acquire_fence(meta) : -1;
  if (fence < 0)
    return;
  GstDrmFenceState state = GST_DRM_FENCE_STATE_PENDING;
  GError *error = nullptr;
  fail_unless(gst_drm_fence_wait(fence, 60 * GST_SECOND, &state, &error), "%s", error ? error->message : "");
  fail_unless_equals_int(state, GST_DRM_FENCE_STATE_SIGNALLED);
  ::close(fence);
}

} // namespace

Frame read_frame(GstSample *sample)
{
  Frame frame;
  GstBuffer *buffer = gst_sample_get_buffer(sample);
  GError *error = nullptr;
  gst_drm_video_info_init(&frame.info);
  fail_unless(gst_drm_video_info_from_caps_full(&frame.info, gst_sample_get_caps(sample), &error), "%s",
              error ? error->message : "");
  fail_unless(gst_drm_frame_from_buffer(&frame.layout, buffer, &frame.info, &error), "%s",
              error ? error->message : "");
  wait_for_device(buffer);
  const auto *info = gstdrm::fourcc_info(frame.info.drm_fourcc);
  fail_unless(info != nullptr);
  fail_unless_equals_int(frame.layout.n_planes, info->n_planes);
  for (guint i = 0; i < info->n_planes; ++i) {
    frame.row_bytes.push_back(gstdrm::plane_row_bytes(info->planes[i], frame.layout.width));
    frame.planes.push_back(read_plane(frame, i, info->planes[i], frame.row_bytes.back()));
  }
  return frame;
}

std::uint8_t brightness(const Frame &frame, std::uint32_t x, std::uint32_t y)
{
  const auto *info = gstdrm::fourcc_info(frame.info.drm_fourcc);
  const auto *row = frame.planes[0].data() + static_cast<std::size_t>(frame.row_bytes[0]) * y;
  const auto block = info->planes[0];
  if (info->n_planes > 1) // luma alone; of 10 bits the high byte
    return row[static_cast<std::size_t>(x) * block.block_bytes / block.block_width + block.block_bytes - 1];
  const char first = static_cast<char>(frame.info.drm_fourcc & 0xff);
  if (first == 'Y') // YUYV
    return row[x * 2];
  if (first == 'U') // UYVY
    return row[x * 2 + 1];
  // B G R X and R G B X have green at 1; X R G B has it at 2
  return row[x * 4 + (first == 'B' ? 2 : 1)];
}

Counter read_counter(const Frame &frame)
{
  std::uint32_t cell = 0;
  for (const std::uint32_t side : {8U, 4U, 2U}) {
    if (cell == 0 && frame.layout.width >= 8 * side && frame.layout.height >= 13 * side)
      cell = side;
  }
  fail_unless(cell > 0);
  std::array<std::uint8_t, 13> bytes{};
  for (std::uint32_t i = 0; i < bytes.size(); ++i) {
    for (std::uint32_t bit = 0; bit < 8; ++bit) {
      const auto level = brightness(frame, bit * cell + cell / 2, i * cell + cell / 2);
      bytes[i] = static_cast<std::uint8_t>(bytes[i] << 1 | (level > 127 ? 1 : 0));
    }
  }
  Counter counter{};
  unsigned sum = 0;
  for (std::size_t i = 0; i < 12; ++i) {
    auto &value = i < 4 ? counter.frame : counter.timestamp_ns;
    value = value << 8 | bytes[i];
    sum += bytes[i];
  }
  counter.valid = bytes[12] == static_cast<std::uint8_t>(~sum);
  return counter;
}

unsigned settled_fds()
{
  const std::lock_guard lock(ended_lock);
  for (const auto &alive : ended_pipelines) {
    for (int i = 0; i < 60000 && *alive > 0; ++i)
      g_usleep(1000);
    fail_unless(*alive == 0, "%u elements of a pipeline that has ended are alive", alive->load());
  }
  ended_pipelines.clear();
  return count_fds();
}

bool settles_at(unsigned fds)
{
  for (int i = 0; i < 12000 && count_fds() > fds; ++i)
    g_usleep(5000);
  return count_fds() <= fds;
}

} // namespace gstdrm::test
