// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:element-vadmabufsrc
 * @title: vadmabufsrc
 *
 * Draws test patterns on a GPU through VA-API and pushes them as DMA buffers, in a format and
 * modifier that downstream takes and the driver chose.
 *
 * ## Example
 * |[
 * gst-launch-1.0 vadmabufsrc pattern=ball ! video/x-raw(memory:DMABuf),width=1280,height=720 !
 * kmsdmabufsink
 * ]|
 */
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <gst/base/gstpushsrc.h>
#include <gst/drm/element/errors.hpp>
#include <gst/drm/element/failed_negotiation.hpp>
#include <gst/drm/element/needs.hpp>
#include <gst/drm/element/producer.hpp>
#include <gst/drm/element/stats.hpp>
#include <gst/drm/gstdrm-guard-private.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmallocator.h>
#include <gst/drm/gstdrmbufferpool.h>
#include <gst/drm/gstdrmvideoinfo.h>

#include "gstvadisplaycontext.hpp"
#include "gstvadmabufallocator.hpp"
#include "gstvadmabufframes.hpp"
#include "gstvadmabufpool.hpp"
#include "gstvaelement.hpp"
#include "gstvamachine.hpp"
#include "gstvapaircache.hpp"

GST_DEBUG_CATEGORY(gst_va_dmabuf_src_debug);
#define GST_CAT_DEFAULT gst_va_dmabuf_src_debug

namespace gstdrm::va {

struct SourceSettings {
  std::string device; // empty: the first that exports
  Pattern pattern = Pattern::Smpte;
  std::uint32_t argb = 0xff0000ff;
  guint num_surfaces = 6;
  ZeroCopy zero_copy = ZeroCopy::Prefer;
  ImplicitModifier implicit_modifier = ImplicitModifier::Auto;
};

// The class behind vadmabufsrc. The object lock guards the properties, the device and the worker;
// only the streaming thread uses the rest.
class Source {
public:
  explicit Source(GstBaseSrc *element)
      : element_(element), context_(GST_ELEMENT(element), gst_va_dmabuf_src_debug),
        producer_(GST_ELEMENT(element), gst_va_dmabuf_src_debug)
  {
  }

  SourceSettings properties; // under the object lock
  SourceSettings settings(); // any thread
  Stats stats;

  bool start();
  void stop();
  void unlock() { set_cancelled(true); }
  void unlock_stop() { set_cancelled(false); }
  GstCaps *query_caps(GstCaps *filter);
  bool negotiate();
  bool set_caps(GstCaps *caps);
  bool decide_allocation(GstQuery *query);
  GstFlowReturn create(GstBuffer **buffer);
  // Continues with the frame at the segment's position. Returns false if the segment is not in time
  // or runs backwards. The caller holds the stream lock.
  bool seek(GstSegment *segment);
  GstStructure *stats_structure();
  // Answers queries for the latency, the duration and the display. Returns false if the base class
  // has to answer. Any thread.
  bool answer(GstQuery *query);
  // Returns true if the message is an error of the base class that must not be posted: the element
  // has posted the cause before, or posts a message with more details here. Any thread.
  bool replace(GstMessage *message);

private:
  std::shared_ptr<const Device> device(); // any thread
  void set_cancelled(bool cancelled);
  bool follow_pattern();
  Result<void> prepare(const Device &device, GstCaps *caps);
  void post_nothing_common(const GstCaps *own);
  Result<GstPtr<GstBufferPool>> pool_for(GstQuery *query, GstCaps *caps);
  void go_to(GstClockTime position, int rate_n, int rate_d);
  void post(const char *what, const Error &error);

  GstBaseSrc *element_;
  DisplayContext context_;
  std::shared_ptr<const Device> device_; // under the object lock
  PairCache pairs_;
  GstPtr<GstDrmAllocator> allocator_;
  // Set under the object lock. Events on any thread cancel its waits.
  std::shared_ptr<SyncWorker> worker_;
  Producer producer_;
  // What the pool was made for.
  struct PoolRequest {
    GstPtr<GstCaps> caps;
    guint wanted = 0; // surfaces; the driver may have had fewer
    bool with_meta = false;
  };
  PoolRequest made_for_;
  AgreedNeeds needs_; // of downstream, beyond its caps
  GstDrmVideoInfo info_{};
  // Made by prepare() for caps that are not set yet; set_caps() takes it.
  struct Prepared {
    GstPtr<GstCaps> caps;
    GstDrmVideoInfo info{};
    std::unique_ptr<FrameSource> frames;
  };
  Prepared prepared_;
  std::unique_ptr<FrameSource> frames_;
  Timeline timeline_;
  std::optional<GstClockTime> sought_; // position of a seek before the first caps give a rate
  std::uint64_t next_frame_ = 0;
  bool warned_of_device_ = false;
  // The element has posted an error since it was started or last drew a frame.
  std::atomic<bool> failed_{false};
};

std::shared_ptr<const Device> Source::device()
{
  const ObjectLock lock(element_);
  return device_;
}

SourceSettings Source::settings()
{
  const ObjectLock lock(element_);
  return properties;
}

void Source::post(const char *what, const Error &error)
{
  GST_WARNING_OBJECT(element_, "%s: %s", what, error.message.c_str());
  Failure failure(what, error);
  post_failure(GST_ELEMENT(element_), failure.advise(advice_on_frame(error, device().get(), "")));
}

// GstBaseSrc posts an error for each failure, without its cause.
bool Source::replace(GstMessage *message)
{
  GstElement *element = GST_ELEMENT(element_);
  const auto base = base_error_in(element, message);
  if (!base) {
    if (is_own_error(element, message))
      failed_ = true;
    return false;
  }
  if (failed_)
    return true;
  Failure failure = base->flow != GST_FLOW_OK
                        ? stopped_stream(element, GST_BASE_SRC_PAD(element_), base->flow)
                        : Failure(base->on_bus, std::string(GST_OBJECT_NAME(element)) + " failed",
                                  Error{ErrorCode::Device, base->text, 0});
  post_failure(element, failure.add("base-class", base->debug));
  return true;
}

bool Source::start()
{
  failed_ = false;
  const auto wanted = settings();
  auto device = context_.open(wanted.device);
  if (!device) {
    post_no_device(GST_ELEMENT(element_), device.error(), wanted.device);
    return false;
  }
  for (const auto &refused : device->capabilities.refused)
    GST_DEBUG_OBJECT(element_, "not offered: %s", refused.c_str());
  GST_INFO_OBJECT(element_, "%s (%s), %zu formats, video processing: %d",
                  device->display->node().c_str(), device->display->vendor().c_str(),
                  device->capabilities.formats.size(), device->capabilities.has_vpp);
  auto shared = std::make_shared<const Device>(std::move(device).value());
  allocator_ = GstPtr<GstDrmAllocator>::adopt(new_allocator(shared));
  auto worker = std::make_shared<SyncWorker>();
  stats.begin(GST_ELEMENT(element_));
  timeline_ = {};
  sought_.reset();
  next_frame_ = 0;
  warned_of_device_ = false;
  pairs_.reset();
  const ObjectLock lock(element_);
  device_ = std::move(shared);
  worker_ = std::move(worker);
  return true;
}

void Source::stop()
{
  prepared_ = {};
  frames_.reset();
  producer_.forget();
  made_for_ = {};
  allocator_ = {};
  // Declared before the lock, so destroyed without it: the worker's thread may sleep in the driver.
  std::shared_ptr<const Device> last;
  std::shared_ptr<SyncWorker> idle;
  const ObjectLock lock(element_);
  last = std::move(device_);
  idle = std::move(worker_);
}

void Source::set_cancelled(bool cancelled)
{
  std::shared_ptr<SyncWorker> worker;
  {
    const ObjectLock lock(element_);
    worker = worker_;
  }
  if (worker)
    worker->set_cancelled(cancelled);
}

// --- negotiation ---------------------------------------------------------------------------------

GstCaps *Source::query_caps(GstCaps *filter)
{
  const auto device = this->device();
  const auto wanted = settings();
  auto caps = device ? device_caps(device->capabilities, producer_formats(pairs_.known(*device),
                                                                          wanted.implicit_modifier))
                     : idle_caps(wanted.device, GST_PAD_SRC, wanted.implicit_modifier);
  if (filter)
    caps.reset(made(gst_drm_caps_intersect(filter, caps.get())));
  return caps.release();
}

void Source::post_nothing_common(const GstCaps *own)
{
  const Display &display = *device()->display;
  const Mismatch mismatch = describe_mismatch(
      {display.node() + " (" + display.vendor() + ") and downstream have no format in common.",
       {"The device", "makes", own},
       restrictions_after(GST_BASE_SRC_PAD(element_))},
      [](const GstCaps *, const GstCaps *) {
        return "Put an element between them that converts, such as vadmabufconvert, or choose "
               "another "
               "device.";
      });
  post_mismatch(GST_ELEMENT(element_), mismatch);
}

// Prepares the pattern for these caps and draws it once. ErrorCode::Layout: the pattern cannot be
// drawn with these caps in any format.
Result<void> Source::prepare(const Device &device, GstCaps *caps)
{
  g_autoptr(GError) error = nullptr;
  prepared_ = {};
  gst_drm_video_info_init(&prepared_.info);
  if (!gst_drm_video_info_from_caps_full(&prepared_.info, caps, &error))
    return Error{ErrorCode::Layout, error->message};
  const auto wanted = settings();
  resolve_implicit(prepared_.info, wanted.implicit_modifier);
  auto frames = FrameSource::create(GST_ELEMENT(element_), device, prepared_.info, wanted.pattern,
                                    wanted.argb, stats, *worker_);
  if (!frames)
    return frames.error();
  if (auto drawn = (*frames)->try_draw(device, prepared_.info); !drawn)
    return Error{ErrorCode::Allocation, drawn.error().message, drawn.error().sys_errno};
  prepared_.frames = std::move(frames).value();
  prepared_.caps = GstPtr<GstCaps>::share(caps);
  return {};
}

bool Source::negotiate()
{
  const auto device = this->device();
  const ImplicitModifier implicit_modifier = settings().implicit_modifier;
  FormatSet refused_pairs;
  bool drawn_alone = false; // only caps that the patterns can be drawn with are offered
  Error refused{ErrorCode::Unsupported, {}}; // of the first pair that could not be drawn
  while (true) {
    pairs_.learn(GST_ELEMENT(element_), GST_BASE_SRC_PAD(element_), *device, {}, refused_pairs);
    const auto formats = producer_formats(FormatSet::subtract(pairs_.known(*device), refused_pairs),
                                          implicit_modifier);
    auto own = device_caps(device->capabilities, formats);
    if (drawn_alone)
      own = drawn_caps(own.get());
    const auto agreement = producer_.agree(GST_BASE_SRC_PAD(element_), own.get(), formats,
                                           allocator_.get(), implicit_modifier);
    if (agreement.outcome == Producer::Outcome::Agreed) {
      const auto current =
          GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(GST_BASE_SRC_PAD(element_)));
      if (frames_ && current && gst_caps_is_equal(current.get(), agreement.caps.get()))
        return true;
      auto prepared = prepare(*device, agreement.caps.get());
      if (prepared)
        return gst_base_src_set_caps(element_, agreement.caps.get()) != FALSE;
      GST_DEBUG_OBJECT(element_, "%" GST_PTR_FORMAT " is not drawn: %s", agreement.caps.get(),
                       prepared.error().message.c_str());
      if (refused.message.empty())
        refused = prepared.error();
      const Format pair{prepared_.info.drm_fourcc, prepared_.info.drm_modifier};
      producer_.forget();
      if (prepared.error().code == ErrorCode::Layout && !drawn_alone) {
        drawn_alone = true;
        continue;
      }
      // A pattern that does not fit the size fits it in no format.
      const bool hopeless = prepared.error().code == ErrorCode::Layout || !formats.contains(pair);
      refused_pairs.add(pair);
      if (!hopeless)
        continue;
    }
    if (!refused.message.empty())
      post("The pattern cannot be prepared", refused);
    else if (agreement.outcome == Producer::Outcome::NothingInCommon)
      post_nothing_common(own.get());
    else
      post_not_allocated(GST_ELEMENT(element_), *device->display, agreement.refusals,
                         agreement.common.get());
    return false;
  }
}

bool Source::set_caps(GstCaps *caps)
{
  if (!prepared_.frames || !gst_caps_is_equal(caps, prepared_.caps.get())) {
    if (auto prepared = prepare(*device(), caps); !prepared) {
      post("The pattern cannot be prepared", prepared.error());
      return false;
    }
  }
  auto prepared = std::exchange(prepared_, {});
  if (prepared.frames->uses_cpu() && settings().zero_copy == ZeroCopy::Require) {
    const Display &display = *device()->display;
    Failure failure({GST_CORE_ERROR, GST_CORE_ERROR_NEGOTIATION},
                    std::string(GST_OBJECT_NAME(element_)) +
                        " may not let the CPU write frames (zero-copy=require)",
                    Error{ErrorCode::Unsupported,
                          display.node() + " (" + display.vendor() + ") has no video processing",
                          0});
    failure.advise("Use zero-copy=prefer, or another device.");
    failure.add_property("zero-copy", "require").add("device", display.node()).add("caps", caps);
    post_failure(GST_ELEMENT(element_), failure);
    return false;
  }
  const int rate_n = GST_VIDEO_INFO_FPS_N(&prepared.info.vinfo);
  const int rate_d = GST_VIDEO_INFO_FPS_D(&prepared.info.vinfo);
  if (const auto sought = std::exchange(sought_, std::nullopt))
    go_to(*sought, rate_n, rate_d);
  else // timestamps continue from the first frame of the new caps
    timeline_ = {next_frame_, timeline_.at(next_frame_), rate_n, rate_d};
  info_ = prepared.info;
  frames_ = std::move(prepared.frames);
  // The latency is one frame; the caps give its duration.
  if (gst_base_src_is_live(element_))
    gst_element_post_message(GST_ELEMENT(element_), gst_message_new_latency(GST_OBJECT(element_)));
  return true;
}

Result<GstPtr<GstBufferPool>> Source::pool_for(GstQuery *query, GstCaps *caps)
{
  const auto configured = settings();
  const auto wanted =
      surfaces_for(std::max(configured.num_surfaces, frames_kept(query, needs_) + 1), needs_);
  auto pool = GstPtr<GstBufferPool>::adopt(gst_base_src_get_buffer_pool(element_));
  const bool with_meta =
      gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr) ||
      gst_caps_features_contains(gst_caps_get_features(caps, 0), "memory:DMABuf");
  // Keep a pool that is too large, unless a consumer limits the number of buffers.
  if (pool && made_for_.caps && gst_caps_is_equal(caps, made_for_.caps.get()) &&
      made_for_.wanted >= wanted && surfaces_for(made_for_.wanted, needs_) == made_for_.wanted &&
      made_for_.with_meta == with_meta)
    return pool;
  if (frames_)
    frames_->drop_ahead();
  auto made =
      make_largest_pool(GST_ELEMENT(element_), allocator_.get(),
                        resolved_caps(caps, configured.implicit_modifier).get(), wanted, with_meta);
  made_for_ = made ? PoolRequest{GstPtr<GstCaps>::share(caps), wanted, with_meta} : PoolRequest{};
  return made;
}

bool Source::decide_allocation(GstQuery *query)
{
  compare_devices(GST_ELEMENT(element_), *device()->display, query, warned_of_device_);
  GstCaps *caps = nullptr;
  gst_query_parse_allocation(query, &caps, nullptr);
  Needs own;
  own.device = device()->display->node();
  own.buffers_held = 1; // the one being drawn
  own.most_buffers = kMostKept + 1;
  (frames_ && frames_->uses_cpu() ? own.cpu_access : own.permissions) = GST_DRM_ACCESS_WRITE;
  if (!agree_on_needs(
          GST_ELEMENT(element_), query, info_, own, [] { return true; }, needs_))
    return false;
  const auto made = pool_for(query, caps);
  if (!made) {
    post_no_pool(GST_ELEMENT(element_), allocator_.get(), *device()->display, info_, caps,
                 made.error());
    return false;
  }
  const auto &pool = *made;
  if (const Unmet unmet = unmet_by(pool.get(), needs_, info_, *device()->display)) {
    post_unmet(GST_ELEMENT(element_), unmet, caps, device()->display->node());
    return false;
  }
  GstStructure *config = gst_buffer_pool_get_config(pool.get());
  guint size = 0;
  guint surfaces = 0;
  gst_buffer_pool_config_get_params(config, nullptr, &size, nullptr, &surfaces);
  gst_structure_free(config);
  if (gst_query_get_n_allocation_pools(query) > 0)
    gst_query_set_nth_allocation_pool(query, 0, pool.get(), size, 0, surfaces);
  else
    gst_query_add_allocation_pool(query, pool.get(), size, 0, surfaces);
  return true;
}

// --- frames --------------------------------------------------------------------------------------

// Prepares new frames if the properties pattern or color have changed.
bool Source::follow_pattern()
{
  {
    const ObjectLock lock(element_);
    if (frames_->draws(properties.pattern, properties.argb))
      return true;
  }
  const auto wanted = settings();
  auto frames = FrameSource::create(GST_ELEMENT(element_), *device(), info_, wanted.pattern,
                                    wanted.argb, stats, *worker_);
  if (!frames) {
    post("The pattern cannot be prepared", frames.error());
    return false;
  }
  frames_ = std::move(frames).value();
  return true;
}

GstFlowReturn Source::create(GstBuffer **buffer)
{
  const auto pool = GstPtr<GstBufferPool>::adopt(gst_base_src_get_buffer_pool(element_));
  if (!frames_ || !pool)
    return GST_FLOW_NOT_NEGOTIATED;
  if (timeline_.rate_n == 0 && next_frame_ > timeline_.first_frame)
    return GST_FLOW_EOS; // a still picture is one frame
  if (!follow_pattern())
    return GST_FLOW_ERROR;
  auto produced = frames_->produce(pool.get(), next_frame_, timeline_);
  if (!produced) {
    post("A frame could not be drawn", produced.error());
    return GST_FLOW_ERROR;
  }
  if (produced->flow != GST_FLOW_OK)
    return produced->flow;
  failed_ = false;
  GstBuffer *frame = produced->buffer.release();
  GST_BUFFER_PTS(frame) = timeline_.at(next_frame_);
  GST_BUFFER_DTS(frame) = GST_CLOCK_TIME_NONE;
  GST_BUFFER_DURATION(frame) = timeline_.rate_n > 0
                                   ? timeline_.at(next_frame_ + 1) - GST_BUFFER_PTS(frame)
                                   : GST_CLOCK_TIME_NONE;
  GST_BUFFER_OFFSET(frame) = next_frame_;
  GST_BUFFER_OFFSET_END(frame) = next_frame_ + 1;
  ++next_frame_;
  *buffer = frame;
  return GST_FLOW_OK;
}

// Continues with the frame that is shown at `position` in a stream that had this rate from its
// start.
void Source::go_to(GstClockTime position, int rate_n, int rate_d)
{
  next_frame_ = rate_n > 0 ? gst_util_uint64_scale(position, static_cast<guint64>(rate_n),
                                                   GST_SECOND * static_cast<guint64>(rate_d))
                           : 0;
  timeline_ = {0, rate_n > 0 ? 0 : position, rate_n, rate_d};
  // The base class counts pushed buffers, not positions.
  if (element_->num_buffers >= 0)
    element_->num_buffers_left = static_cast<gint>(
        static_cast<guint64>(element_->num_buffers) -
        std::min<guint64>(next_frame_, static_cast<guint64>(element_->num_buffers)));
}

bool Source::seek(GstSegment *segment)
{
  if (segment->format != GST_FORMAT_TIME || segment->rate < 0)
    return false;
  segment->time = segment->start;
  if (!frames_) {
    sought_ = segment->position;
    return true;
  }
  frames_->drop_ahead();
  go_to(segment->position, timeline_.rate_n, timeline_.rate_d);
  return true;
}

bool Source::answer(GstQuery *query)
{
  if (context_.answer(query, device()))
    return true;
  const bool latency = GST_QUERY_TYPE(query) == GST_QUERY_LATENCY;
  if (!latency && GST_QUERY_TYPE(query) != GST_QUERY_DURATION)
    return false;
  const auto caps = GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(GST_BASE_SRC_PAD(element_)));
  gint rate_n = 0;
  gint rate_d = 1;
  if (!caps ||
      !gst_structure_get_fraction(gst_caps_get_structure(caps.get(), 0), "framerate", &rate_n,
                                  &rate_d) ||
      rate_n <= 0)
    return false;
  const auto frames_last = [rate_n, rate_d](guint64 frames) {
    return gst_util_uint64_scale(frames, GST_SECOND * static_cast<guint64>(rate_d),
                                 static_cast<guint64>(rate_n));
  };
  if (latency) {
    gst_query_set_latency(query, gst_base_src_is_live(element_), frames_last(1),
                          GST_CLOCK_TIME_NONE);
    return true;
  }
  GstFormat format = GST_FORMAT_UNDEFINED;
  gint buffers = -1;
  gst_query_parse_duration(query, &format, nullptr);
  g_object_get(element_, "num-buffers", &buffers, nullptr);
  if (format != GST_FORMAT_TIME || buffers < 0)
    return false;
  gst_query_set_duration(query, format,
                         static_cast<gint64>(frames_last(static_cast<guint64>(buffers))));
  return true;
}

GstStructure *Source::stats_structure()
{
  const auto device = this->device();
  return display_stats(stats, device ? device->display.get() : nullptr);
}

} // namespace gstdrm::va

G_DECLARE_FINAL_TYPE(GstVaDmabufSrc, gst_va_dmabuf_src, GST, VA_DMABUF_SRC, GstPushSrc)

using gstdrm::logging;
using gstdrm::posting;
using gstdrm::property;
using gstdrm::va::Pattern;
using gstdrm::va::Source;

struct _GstVaDmabufSrc {
  GstPushSrc parent;
  Source *source; // made in init, deleted in finalize
};

G_DEFINE_TYPE(GstVaDmabufSrc, gst_va_dmabuf_src, GST_TYPE_PUSH_SRC)

namespace {

GType pattern_type()
{
  static const GEnumValue values[] = {
      {static_cast<gint>(Pattern::Smpte), "SMPTE colour bars", "smpte"},
      {static_cast<gint>(Pattern::Checkers), "Black and white squares of 8 pixels", "checkers"},
      {static_cast<gint>(Pattern::Gradient), "Grey gradient that moves by 2 pixels a frame",
       "gradient"},
      {static_cast<gint>(Pattern::Ball), "White ball that moves on black", "ball"},
      {static_cast<gint>(Pattern::Solid), "One colour", "solid"},
      {static_cast<gint>(Pattern::FrameCounter), "Machine-readable frame number and timestamp",
       "frame-counter"},
      {0, nullptr, nullptr}};
  static const GType type = g_enum_register_static("GstVaDmabufSrcPattern", values);
  return type;
}

const auto &src_properties()
{
  using S = gstdrm::va::SourceSettings;
  constexpr auto playing = gstdrm::kPlayingProperty;
  static constexpr std::array rows{
      gstdrm::common_property<&S::zero_copy>(),
      gstdrm::common_property<&S::implicit_modifier>(),
      gstdrm::va::device_property<&S::device>(),
      gstdrm::va::num_surfaces_property<&S::num_surfaces>(),
      property<&S::pattern>("pattern", "Pattern", "What is drawn", playing, {.type = pattern_type}),
      property<&S::argb>("color", "Colour", "Colour of pattern=solid, 0xAARRGGBB", playing,
                         {0, G_MAXUINT32}),
  };
  return rows;
}
constexpr guint kIsLiveId = gstdrm::row_id<6>; // GstBaseSrc keeps its value

Source &source_of(gpointer object)
{
  return *GST_VA_DMABUF_SRC(object)->source;
}

} // namespace

static void gst_va_dmabuf_src_set_property(GObject *object, guint id, const GValue *value,
                                           GParamSpec *spec)
{
  if (id == kIsLiveId)
    gst_base_src_set_live(GST_BASE_SRC(object), g_value_get_boolean(value));
  else
    gstdrm::set_property(object, src_properties(), id, value, spec, [object](const auto &set) {
      const gstdrm::ObjectLock lock(object);
      set(source_of(object).properties);
    });
}

static void gst_va_dmabuf_src_get_property(GObject *object, guint id, GValue *value,
                                           GParamSpec *spec)
{
  auto &source = source_of(object);
  if (id == gstdrm::kStatsId)
    g_value_take_boxed(value, source.stats_structure());
  else if (id == kIsLiveId)
    g_value_set_boolean(value, gst_base_src_is_live(GST_BASE_SRC(object)));
  else
    gstdrm::get_property(object, src_properties(), id, value, spec, source.settings());
}

// GStreamer calls this for every message, also for those of the base class.
static gboolean gst_va_dmabuf_src_post_message(GstElement *element, GstMessage *message)
{
  auto owned = gstdrm::GstPtr<GstMessage>::adopt(message);
  return source_of(element).replace(message) ||
         GST_ELEMENT_CLASS(gst_va_dmabuf_src_parent_class)->post_message(element, owned.release());
}

// Returns true if the caps are fixed and the patterns can be drawn with them.
static bool can_be_sent(const GstCaps *caps)
{
  GstDrmVideoInfo info;
  return caps && !gst_caps_is_any(caps) && gst_caps_is_fixed(caps) &&
         (!gst_drm_video_info_from_caps(&info, caps) || gstdrm::va::not_drawn(info).empty());
}

static gboolean gst_va_dmabuf_src_query(GstBaseSrc *src, GstQuery *query)
{
  if (GST_QUERY_TYPE(query) == GST_QUERY_ACCEPT_CAPS) {
    GstCaps *caps = nullptr;
    gst_query_parse_accept_caps(query, &caps);
    if (!can_be_sent(caps)) {
      gst_query_set_accept_caps_result(query, FALSE);
      return TRUE;
    }
  }
  if (source_of(src).answer(query))
    return TRUE;
  return GST_BASE_SRC_CLASS(gst_va_dmabuf_src_parent_class)->query(src, query);
}

static gboolean gst_va_dmabuf_src_is_seekable(GstBaseSrc *src) noexcept
{
  return !gst_base_src_is_live(src);
}

static void gst_va_dmabuf_src_get_times(GstBaseSrc *src, GstBuffer *buffer, GstClockTime *start,
                                        GstClockTime *end) noexcept
{
  *start = *end = GST_CLOCK_TIME_NONE;
  if (!gst_base_src_is_live(src))
    return;
  *start = GST_BUFFER_PTS(buffer);
  if (GST_BUFFER_DURATION_IS_VALID(buffer))
    *end = *start + GST_BUFFER_DURATION(buffer);
}

static void gst_va_dmabuf_src_finalize(GObject *object) noexcept
{
  delete GST_VA_DMABUF_SRC(object)->source;
  G_OBJECT_CLASS(gst_va_dmabuf_src_parent_class)->finalize(object);
}

static void install_src_properties(GObjectClass *klass)
{
  gstdrm::install_properties(klass, src_properties());
  g_object_class_install_property(klass, kIsLiveId,
                                  g_param_spec_boolean("is-live", "Is live",
                                                       "Push each frame when its time has come",
                                                       FALSE, gstdrm::kReadyProperty));
  gstdrm::install_common_properties(
      klass,
      {gstdrm::row_id<0>, "What to do where the CPU would have to write frames", gstdrm::kStatsId,
       "Counters since start: frames, copies, bytes-copied, last-copy-reason, waits, "
       "surfaces, exports, va-calls",
       gstdrm::row_id<1>,
       "Caps that name no modifier (memory:DMABuf without DMA_DRM): sent where the driver "
       "names none (auto, driver), never (refuse), or for linear frames too (linear)"});
}

static void gst_va_dmabuf_src_class_init(GstVaDmabufSrcClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS(klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS(klass);
  GstBaseSrcClass *base_class = GST_BASE_SRC_CLASS(klass);
  object_class->set_property = logging<gst_va_dmabuf_src_set_property>;
  object_class->get_property = logging<gst_va_dmabuf_src_get_property>;
  object_class->finalize = gst_va_dmabuf_src_finalize;
  install_src_properties(object_class);
  gst_element_class_set_static_metadata(
      element_class, "VA-API DMA buffer source", "Source/Video/Hardware",
      "Draws test patterns on the GPU into DMA buffers", "gst-drm contributors");
  gstdrm::va::add_machine_template(element_class, "src", GST_PAD_SRC);
  element_class->post_message = logging<gst_va_dmabuf_src_post_message>;
  base_class->start = posting<source_of, &Source::start>;
  base_class->stop = logging<source_of, &Source::stop>;
  base_class->unlock = logging<source_of, &Source::unlock>;
  base_class->unlock_stop = logging<source_of, &Source::unlock_stop>;
  base_class->get_caps = posting<source_of, &Source::query_caps>;
  base_class->query = logging<gst_va_dmabuf_src_query>;
  base_class->negotiate = posting<source_of, &Source::negotiate>;
  base_class->set_caps = posting<source_of, &Source::set_caps>;
  base_class->decide_allocation = posting<source_of, &Source::decide_allocation>;
  base_class->is_seekable = gst_va_dmabuf_src_is_seekable;
  base_class->do_seek = posting<source_of, &Source::seek>;
  base_class->get_times = gst_va_dmabuf_src_get_times;
  GST_PUSH_SRC_CLASS(klass)->create = posting<source_of, &Source::create>;
}

static void gst_va_dmabuf_src_init(GstVaDmabufSrc *self)
{
  // The pool waits for a frame's release fences before it reuses the frame.
  gstdrm::set_up_producer_pad(GST_BASE_SRC_PAD(self));
  gstdrm::mark_as_explaining(GST_BASE_SRC_PAD(self));
  self->source = new Source(GST_BASE_SRC(self));
  gst_base_src_set_format(GST_BASE_SRC(self), GST_FORMAT_TIME);
}
