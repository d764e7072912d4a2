// SPDX-License-Identifier: LGPL-2.1-or-later
// What the tests of dmabufupload and dmabufdownload share: harnesses, patterns, messages.
#pragma once

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <unistd.h>

#include <gst/check/gstharness.h>
#include <gst/drm/core/format.hpp>
#include <gst/drm/drm.h>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/video/video.h>

#include "support/check_main.hpp"
#include "support/held_locks.hpp"
#include "support/open_fds.hpp"
#include "support/video_info.hpp"

namespace gstdrm::test {

// The kinds of allocator to run with, separated by commas in GST_DRM_TEST_KINDS. Without it: memfd, which needs no
// device; tests/device runs the same programs in the box with the kernel's own.
inline const std::vector<const char *> &test_kinds()
{
  static gchar **const words = g_strsplit(g_getenv("GST_DRM_TEST_KINDS") ? g_getenv("GST_DRM_TEST_KINDS") : "memfd", ",", -1);
  static const std::vector<const char *> kinds(words, words + g_strv_length(words));
  return kinds;
}

inline GstPtr<GstCaps> caps_of(const std::string &text)
{
  GstCaps *caps = gst_caps_from_string(text.c_str());
  fail_unless(caps != nullptr, "caps '%s'", text.c_str());
  return GstPtr<GstCaps>::adopt(caps);
}

inline std::string text_of(const GstCaps *caps)
{
  g_autofree gchar *text = caps ? gst_caps_to_string(caps) : g_strdup("none");
  return text;
}

inline std::string plain_caps(const char *format, int width, int height)
{
  return std::string("video/x-raw, format=(string)") + format + ", width=(int)" +
         std::to_string(width) + ", height=(int)" + std::to_string(height) +
         ", framerate=(fraction)30/1";
}

inline std::string dmabuf_caps(const char *drm_format, int width, int height)
{
  return std::string("video/x-raw(memory:DMABuf), format=(string)DMA_DRM, drm-format=(string)") +
         drm_format + ", width=(int)" + std::to_string(width) + ", height=(int)" +
         std::to_string(height) + ", framerate=(fraction)30/1";
}

// "dmabufupload allocator=memfd"
inline GstElement *make_element(const std::string &description)
{
  std::istringstream words(description);
  std::string word;
  words >> word;
  GstElement *element = gst_element_factory_make(word.c_str(), nullptr);
  fail_unless(element != nullptr, "no element %s", word.c_str());
  while (words >> word) {
    const std::size_t equals = word.find('=');
    gst_util_set_object_arg(G_OBJECT(element), word.substr(0, equals).c_str(),
                            word.substr(equals + 1).c_str());
  }
  return element;
}

// A harness around one element, with a bus to read messages from. Whatever the element sends is sent
// under none of its locks.
class Harness {
public:
  explicit Harness(const std::string &description) : bus_(gst_bus_new())
  {
    GstElement *element = make_element(description);
    h_ = gst_harness_new_with_element(element, "sink", "src");
    gst_object_unref(element);
    gst_element_set_bus(h_->element, bus_);
    if (description.starts_with("dmabufupload")) // which sends plain video to ANY
      gst_harness_set_sink_caps_str(h_, "video/x-raw(memory:DMABuf), format=DMA_DRM; video/x-raw");
    gst_pad_add_probe(h_->sinkpad, GST_PAD_PROBE_TYPE_BUFFER, hand_over, handover_.get(), nullptr);
    const auto locks = std::make_shared<NoLocks>();
    watch_messages(bus_, locks);
    watch_events(h_->sinkpad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, locks);
    watch_events(h_->srcpad, GST_PAD_PROBE_TYPE_EVENT_UPSTREAM, locks);
    open_.push_back({h_, bus_});
  }
  Harness(const Harness &) = delete;
  Harness &operator=(const Harness &) = delete;
  ~Harness()
  {
    gst_element_set_state(h_->element, GST_STATE_NULL);
    take_over(); // what nobody has pulled
    end({h_, bus_});
  }
  // Ends the harnesses of a case that failed, out of which libcheck jumps without destructors.
  static void end_forgotten() noexcept
  {
    while (!open_.empty())
      end(open_.back());
  }

  [[nodiscard]] GstHarness *get() const { return h_; }
  [[nodiscard]] GstElement *element() const { return h_->element; }

  // false where the CAPS event was refused
  bool negotiate(const std::string &caps) const
  {
    gst_harness_play(h_);
    if (!started_)
      gst_pad_push_event(h_->srcpad, gst_event_new_stream_start("test"));
    gst_pad_push_event(h_->srcpad, gst_event_new_caps(caps_of(caps).get()));
    if (!started_) {
      GstSegment segment;
      gst_segment_init(&segment, GST_FORMAT_TIME);
      gst_pad_push_event(h_->srcpad, gst_event_new_segment(&segment));
    }
    started_ = true;
    // pushing says nothing of it
    const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(element(), "sink"));
    const auto current = GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(pad.get()));
    return current && gst_caps_is_equal(current.get(), caps_of(caps).get());
  }

  [[nodiscard]] GstPtr<GstCaps> output_caps() const
  {
    return GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(h_->sinkpad));
  }

  // Takes the buffer; fails the test where it does not come out.
  [[nodiscard]] GstPtr<GstBuffer> push(GstBuffer *buffer) const
  {
    const GstFlowReturn flow = gst_harness_push(h_, buffer);
    fail_unless(flow == GST_FLOW_OK, "%s: %s", gst_flow_get_name(flow), last_error().c_str());
    GstBuffer *out = gst_harness_try_pull(h_);
    fail_unless(out != nullptr);
    return GstPtr<GstBuffer>::adopt(out);
  }

  // A buffer that comes from another thread: the next one, or one that is there.
  [[nodiscard]] GstPtr<GstBuffer> pull() const { return taken_over(gst_harness_pull(h_)); }
  [[nodiscard]] GstPtr<GstBuffer> try_pull() const { return taken_over(gst_harness_try_pull(h_)); }

  [[nodiscard]] guint64 stat(const char *field) const
  {
    GstStructure *stats = nullptr;
    g_object_get(element(), "drm-stats", &stats, nullptr);
    guint64 value = G_MAXUINT64;
    gst_structure_get_uint64(stats, field, &value);
    gst_structure_free(stats);
    return value;
  }

  [[nodiscard]] std::string copy_reason() const
  {
    GstStructure *stats = nullptr;
    g_object_get(element(), "drm-stats", &stats, nullptr);
    std::string reason = gst_structure_get_string(stats, "last-copy-reason");
    gst_structure_free(stats);
    return reason;
  }

  // Texts of all messages of this type so far; takes them off the bus.
  [[nodiscard]] std::vector<std::string> messages(GstMessageType type) const
  {
    std::vector<std::string> texts;
    while (GstMessage *message = gst_bus_pop_filtered(bus_, type)) {
      GError *error = nullptr;
      g_autofree gchar *debug = nullptr;
      if (type == GST_MESSAGE_ERROR)
        gst_message_parse_error(message, &error, &debug);
      else if (type == GST_MESSAGE_WARNING)
        gst_message_parse_warning(message, &error, &debug);
      else
        gst_message_parse_info(message, &error, &debug);
      texts.emplace_back(error->message);
      g_error_free(error);
      gst_message_unref(message);
    }
    return texts;
  }

  [[nodiscard]] std::string last_error() const
  {
    const std::vector<std::string> texts = messages(GST_MESSAGE_ERROR);
    return texts.empty() ? "no error message" : texts.back();
  }

  // The answer to an ALLOCATION query of upstream, in `query`.
  [[nodiscard]] GstPtr<GstQuery> ask_allocation(const std::string &caps,
                                                bool need_pool = true) const
  {
    auto query = GstPtr<GstQuery>::adopt(gst_query_new_allocation(caps_of(caps).get(), need_pool));
    return gst_pad_peer_query(h_->srcpad, query.get()) ? query : GstPtr<GstQuery>();
  }

private:
  struct Open {
    GstHarness *harness;
    GstBus *bus;
  };
  inline static std::vector<Open> open_;
  static void end(Open which) noexcept
  {
    std::erase_if(open_, [=](const Open &open) { return open.harness == which.harness; });
    gst_element_set_state(which.harness->element, GST_STATE_NULL);
    gst_element_set_bus(which.harness->element, nullptr);
    gst_bus_set_sync_handler(which.bus, nullptr, nullptr, nullptr);
    gst_bus_set_flushing(which.bus, TRUE);
    gst_object_unref(which.bus);
    gst_harness_teardown(which.harness);
  }
  // The element's thread hands a buffer over, and the test's takes it, under a lock that TSan knows: the queue between
  // them is GStreamer's and has a lock of GLib's.
  static GstPadProbeReturn hand_over(GstPad *, GstPadProbeInfo *, gpointer lock) noexcept
  {
    const std::lock_guard guard(*static_cast<std::mutex *>(lock));
    return GST_PAD_PROBE_OK;
  }
  void take_over() const { const std::lock_guard guard(*handover_); }
  GstPtr<GstBuffer> taken_over(GstBuffer *buffer) const
  {
    take_over();
    return GstPtr<GstBuffer>::adopt(buffer);
  }
  // not of the stack: a forgotten harness still has it
  std::unique_ptr<std::mutex> handover_ = std::make_unique<std::mutex>();
  GstHarness *h_ = nullptr;
  GstBus *bus_;
  mutable bool started_ = false;
};

// What the error message of an element says that does not start.
inline std::string start_error(const std::string &description)
{
  const auto element = GstPtr<GstElement>::adopt(GST_ELEMENT(gst_object_ref_sink(make_element(description))));
  const auto bus = GstPtr<GstBus>::adopt(gst_bus_new());
  gst_element_set_bus(element.get(), bus.get());
  fail_unless_equals_int(gst_element_set_state(element.get(), GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
  const auto message = GstPtr<GstMessage>::adopt(gst_bus_pop_filtered(bus.get(), GST_MESSAGE_ERROR));
  fail_unless(message);
  g_autoptr(GError) error = nullptr;
  gst_message_parse_error(message.get(), &error, nullptr);
  gst_element_set_state(element.get(), GST_STATE_NULL);
  gst_element_set_bus(element.get(), nullptr);
  say(error->message);
  return error->message;
}

// Two planes of 64x48 in NV12 without a gap, except that the rows of `plane` are 4096 bytes apart in the GstVideoMeta and
// leave the memory. GStreamer would map it all the same.
inline GstBuffer *new_frame_with_long_rows(guint plane)
{
  GstBuffer *frame = gst_buffer_new_allocate(nullptr, 64 * 48 * 3 / 2, nullptr);
  gst_buffer_memset(frame, 0, 0, 64 * 48 * 3 / 2);
  gsize offsets[GST_VIDEO_MAX_PLANES] = {0, 64 * 48};
  gint strides[GST_VIDEO_MAX_PLANES] = {64, 64};
  strides[plane] = 4096;
  gst_buffer_add_video_meta_full(frame, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_NV12, 64, 48, 2, offsets, strides);
  return frame;
}

// Downstream's answer to each allocation query has `pool`, or the numbers without a pool.
inline void offer_pool(const Harness &h, GstBufferPool *pool, guint size, guint min, guint max = 0)
{
  struct Offer {
    GstPtr<GstBufferPool> pool;
    guint size;
    guint min;
    guint max;
  };
  GstPad *pad = h.get()->sinkpad;
  g_object_set_data_full(G_OBJECT(pad), "offer", new Offer{GstPtr<GstBufferPool>::share(pool), size, min, max},
                         [](gpointer offer) { delete static_cast<Offer *>(offer); });
  gst_pad_set_query_function(pad, [](GstPad *self, GstObject *parent, GstQuery *query) -> gboolean {
    if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION)
      return gst_pad_query_default(self, parent, query);
    const auto *offer = static_cast<const Offer *>(g_object_get_data(G_OBJECT(self), "offer"));
    gst_query_add_allocation_pool(query, offer->pool.get(), offer->size, offer->min, offer->max);
    return TRUE;
  });
}

// An active pool out of an allocation query's answer, set up as a decoder does it.
inline GstPtr<GstBufferPool> take_pool(GstQuery *query, const std::string &caps, bool video_meta)
{
  GstBufferPool *pool = nullptr;
  guint size = 0;
  guint min = 0;
  guint max = 0;
  fail_unless(gst_query_get_n_allocation_pools(query) > 0);
  gst_query_parse_nth_allocation_pool(query, 0, &pool, &size, &min, &max);
  fail_unless(pool != nullptr);
  GstStructure *config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_set_params(config, caps_of(caps).get(), size, min, max);
  if (video_meta)
    gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  fail_unless(gst_buffer_pool_set_config(pool, config));
  fail_unless(gst_buffer_pool_set_active(pool, TRUE));
  return GstPtr<GstBufferPool>::adopt(pool);
}

inline GstBuffer *acquire(const GstPtr<GstBufferPool> &pool)
{
  GstBuffer *buffer = nullptr;
  fail_unless_equals_int(gst_buffer_pool_acquire_buffer(pool.get(), &buffer, nullptr), GST_FLOW_OK);
  return buffer;
}

// Different for neighbours, for planes and for frames.
inline std::uint8_t pattern(guint seed, guint plane, guint row, guint column)
{
  return static_cast<std::uint8_t>(31 * seed + 17 * plane + 3 * row + 5 * column + (row >> 4));
}

// Calls f(plane, row, data, bytes) for each row of pixels.
template <typename F>
void for_each_row(GstBuffer *buffer, const GstVideoInfo &info, GstMapFlags flags, F &&f)
{
  guint64 modifier = 0;
  const FourccInfo *layout =
      fourcc_info(gst_drm_format_from_video_format(GST_VIDEO_INFO_FORMAT(&info), &modifier));
  fail_unless(layout != nullptr, "%s", GST_VIDEO_INFO_NAME(&info));
  GstVideoFrame frame;
  fail_unless(gst_video_frame_map(&frame, &info, buffer, flags));
  for (guint plane = 0; plane < GST_VIDEO_INFO_N_PLANES(&info); plane++)
    for (guint row = 0; row < plane_rows(layout->planes[plane], static_cast<guint>(info.height));
         row++)
      f(plane, row,
        static_cast<std::uint8_t *>(GST_VIDEO_FRAME_PLANE_DATA(&frame, plane)) +
            static_cast<gsize>(row) *
                static_cast<gsize>(GST_VIDEO_FRAME_PLANE_STRIDE(&frame, plane)),
        plane_row_bytes(layout->planes[plane], static_cast<guint>(info.width)));
  gst_video_frame_unmap(&frame);
}

inline void draw(GstBuffer *buffer, const GstVideoInfo &info, guint seed = 0)
{
  for_each_row(buffer, info, GST_MAP_WRITE,
               [&](guint plane, guint row, std::uint8_t *data, std::size_t bytes) {
                 for (guint x = 0; x < bytes; x++)
                   data[x] = pattern(seed, plane, row, x);
               });
}

inline void check_drawn(GstBuffer *buffer, const GstVideoInfo &info, guint seed = 0)
{
  std::vector<std::uint8_t> expected;
  for_each_row(buffer, info, GST_MAP_READ,
               [&](guint plane, guint row, std::uint8_t *data, std::size_t bytes) {
                 expected.resize(bytes);
                 for (guint x = 0; x < bytes; x++)
                   expected[x] = pattern(seed, plane, row, x);
                 const auto differs = std::mismatch(expected.begin(), expected.end(), data);
                 if (differs.first != expected.end())
                   fail("%s plane %u row %u byte %d: got %u, expected %u",
                        GST_VIDEO_INFO_NAME(&info), plane, row,
                        static_cast<int>(differs.first - expected.begin()), *differs.second,
                        *differs.first);
               });
}

// A drawn frame in system memory, without a GstVideoMeta.
inline GstBuffer *new_frame(const std::string &plain, guint seed = 0)
{
  const GstVideoInfo info = video_info(plain);
  GstBuffer *buffer = gst_buffer_new_allocate(nullptr, GST_VIDEO_INFO_SIZE(&info), nullptr);
  gst_buffer_memset(buffer, 0, 0, GST_VIDEO_INFO_SIZE(&info));
  draw(buffer, info, seed);
  GST_BUFFER_PTS(buffer) = seed * 33 * GST_MSECOND;
  GST_BUFFER_DURATION(buffer) = 33 * GST_MSECOND;
  return buffer;
}

// A drawn frame in one dmabuf, from the allocator of this kind.
inline GstBuffer *new_dmabuf_frame(const char *kind, const std::string &plain, guint seed = 0)
{
  GEnumClass *kinds = G_ENUM_CLASS(g_type_class_ref(GST_TYPE_DRM_ALLOCATOR_KIND));
  GError *error = nullptr;
  GstDrmAllocator *allocator = gst_drm_allocator_new(
      static_cast<GstDrmAllocatorKind>(g_enum_get_value_by_nick(kinds, kind)->value), nullptr,
      &error);
  g_type_class_unref(kinds);
  fail_unless(allocator != nullptr, "%s: %s", kind, error ? error->message : "");
  const GstVideoInfo info = video_info(plain);
  const guint64 linear = GST_DRM_MODIFIER_LINEAR;
  guint64 modifier = 0;
  GstBuffer *buffer = gst_drm_allocator_alloc_frame(
      allocator, gst_drm_format_from_video_format(GST_VIDEO_INFO_FORMAT(&info), &modifier),
      static_cast<guint>(info.width), static_cast<guint>(info.height), &linear, 1, nullptr, nullptr,
      &error);
  fail_unless(buffer != nullptr, "%s: %s", kind, error ? error->message : "");
  gst_object_unref(allocator);
  draw(buffer, info, seed);
  return buffer;
}

inline bool all_dmabuf(GstBuffer *buffer)
{
  for (guint i = 0; i < gst_buffer_n_memory(buffer); i++)
    if (!gst_is_dmabuf_memory(gst_buffer_peek_memory(buffer, i)))
      return false;
  return gst_buffer_n_memory(buffer) > 0;
}

} // namespace gstdrm::test

// The message is there exactly once, and says each of `parts`. `row` is the case's name.
#define CHECK_ONE_MESSAGE_OF(row, texts, parts)                                                    \
  do {                                                                                             \
    const std::vector<std::string> all_ = (texts);                                                 \
    fail_unless(all_.size() == 1, "%s: %zu messages, the last: %s", row, all_.size(),              \
                all_.empty() ? "" : all_.back().c_str());                                          \
    for (const char *part_ : parts)                                                                \
      fail_unless(all_.front().find(part_) != std::string::npos, "%s: '%s' does not say '%s'",     \
                  row, all_.front().c_str(), part_);                                               \
  } while (0)
#define CHECK_ONE_MESSAGE(texts, ...)                                                              \
  CHECK_ONE_MESSAGE_OF(__func__, texts, (std::initializer_list<const char *>{__VA_ARGS__}))
