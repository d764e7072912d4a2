// SPDX-License-Identifier: LGPL-2.1-or-later
#include "in_place_filter.hpp"

#include <atomic>
#include <functional>
#include <string>
#include <utility>

#include <gst/base/gstbasetransform.h>
#include <gst/drm/core/device_wait.hpp>
#include <gst/drm/gstdrm-guard-private.hpp>

#include "errors.hpp"
#include "explain.hpp"
#include "failed_negotiation.hpp"
#include "frame_copy.hpp"
#include "frame_import.hpp"
#include "frame_wait.hpp"
#include "properties.hpp"
#include "stats.hpp"
#include "transform_query.hpp"

namespace gstdrm {

namespace {

// The frames of one element, which owns this. The streaming thread calls everything, except where a
// function says otherwise. The only lock is that of Interrupt.
class InPlaceFrames {
public:
  InPlaceFrames(GstBaseTransform *element, std::unique_ptr<InPlaceFilter> filter,
                const char *suggestion);

  // Any thread.
  [[nodiscard]] InPlaceFilter &filter() noexcept { return *filter_; }
  [[nodiscard]] const InPlaceFilter &filter() const noexcept { return *filter_; }
  std::atomic<ZeroCopy> zero_copy{ZeroCopy::Prefer};
  [[nodiscard]] GstStructure *stats() const { return stats_.to_structure(); }
  // Any thread: the streaming thread leaves a wait for a fence, and waits for none until start() or
  // the end of a flush.
  void end_waits() { interrupt_.raise(); }
  // Any thread: downstream changed what it asks of frames.
  void ask_again() noexcept { copier_.ask_again(); }

  // The application's thread, while the streaming thread does not run.
  void start();
  void stop();
  // A flush comes from any thread. `pass_on` is the handler of GstBaseTransform.
  bool sink_event(GstEvent *event, const std::function<bool(GstEvent *)> &pass_on);
  bool set_caps(GstCaps *caps, GstCaps *);
  // `output` is the frame to change: `input`, or a copy where another element holds its memory too.
  GstFlowReturn make_writable(GstBuffer *input, GstBuffer **output);
  GstFlowReturn process(GstBuffer *frame);

private:
  [[nodiscard]] Mismatch mismatch(const GstCaps *caps) const;
  GstFlowReturn fail(const Error &error);
  GstFlowReturn fail_frame(const Error &error, const char *advice);
  GstFlowReturn copy(GstBuffer *input, GstBuffer **output);

  GstBaseTransform *const element_; // owns this
  const std::unique_ptr<InPlaceFilter> filter_;
  const char *const suggestion_;
  Stats stats_;
  FailedNegotiation failure_;
  Interrupt interrupt_;    // of the wait for a producer
  GstDrmVideoInfo info_{}; // of the caps of both pads
  FrameCopier copier_;
};

} // namespace

namespace {

enum { PROP_0, PROP_ZERO_COPY, PROP_DRM_STATS, PROP_FIRST_OWN };

struct Shell {
  GstBaseTransform parent;
  InPlaceFrames *frames; // made in init, deleted in finalize
};
struct ShellClass {
  GstBaseTransformClass parent_class;
  const InPlaceFilterClass *what;
};

InPlaceFrames &frames_of(gpointer element) noexcept
{
  return *static_cast<Shell *>(element)->frames;
}

template <typename Class> Class *base_class() noexcept
{
  return static_cast<Class *>(g_type_class_peek(GST_TYPE_BASE_TRANSFORM));
}

void set_property(GObject *object, guint id, const GValue *value, GParamSpec *)
{
  InPlaceFrames &frames = frames_of(object);
  if (id == PROP_ZERO_COPY)
    frames.zero_copy = static_cast<ZeroCopy>(g_value_get_enum(value));
  else
    frames.filter().set_property(id, value);
}

void get_property(GObject *object, guint id, GValue *value, GParamSpec *)
{
  const InPlaceFrames &frames = frames_of(object);
  if (id == PROP_ZERO_COPY)
    g_value_set_enum(value, static_cast<gint>(frames.zero_copy.load()));
  else if (id == PROP_DRM_STATS)
    g_value_take_boxed(value, frames.stats());
  else
    frames.filter().get_property(id, value);
}

gboolean filter_query(GstBaseTransform *trans, GstPadDirection direction, GstQuery *query)
{
  return query_transform(trans, base_class<GstBaseTransformClass>(), direction, query);
}

gboolean filter_sink_event(GstBaseTransform *trans, GstEvent *event)
{
  return frames_of(trans).sink_event(event, [trans](GstEvent *passed) {
    return base_class<GstBaseTransformClass>()->sink_event(trans, passed) != FALSE;
  });
}

gboolean filter_src_event(GstBaseTransform *trans, GstEvent *event) noexcept
{
  if (GST_EVENT_TYPE(event) == GST_EVENT_RECONFIGURE)
    frames_of(trans).ask_again();
  return base_class<GstBaseTransformClass>()->src_event(trans, event);
}

// Metas that describe memory never get here; all others stay true of a copy, which is the same
// picture.
gboolean transform_meta(GstBaseTransform *, GstBuffer *, GstMeta *, GstBuffer *) noexcept
{
  return TRUE;
}

GstFlowReturn prepare_output_buffer(GstBaseTransform *trans, GstBuffer *input, GstBuffer **output)
{
  const GstFlowReturn flow = frames_of(trans).make_writable(input, output);
  if (flow == GST_FLOW_OK && *output != input)
    GST_BASE_TRANSFORM_GET_CLASS(trans)->copy_metadata(trans, input, *output);
  return flow;
}

// A state change may have to end the wait of a streaming thread: before the pads are deactivated.
GstStateChangeReturn change_state(GstElement *element, GstStateChange transition)
{
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY)
    frames_of(element).end_waits();
  return base_class<GstElementClass>()->change_state(element, transition);
}

void finalize(GObject *object) noexcept
{
  delete static_cast<Shell *>(static_cast<gpointer>(object))->frames;
  base_class<GObjectClass>()->finalize(object);
}

void describe(GstElementClass *element_class, const InPlaceFilterClass &what)
{
  const GstPtr<GstCaps> caps = what.caps();
  gst_element_class_add_pad_template(
      element_class, gst_pad_template_new("sink", GST_PAD_SINK, GST_PAD_ALWAYS, caps.get()));
  gst_element_class_add_pad_template(
      element_class, gst_pad_template_new("src", GST_PAD_SRC, GST_PAD_ALWAYS, caps.get()));
  gst_element_class_set_static_metadata(element_class, what.long_name, what.classification,
                                        what.description, what.author);
}

void class_init(gpointer klass, gpointer class_data) noexcept
{
  const auto &what = *static_cast<const InPlaceFilterClass *>(class_data);
  static_cast<ShellClass *>(klass)->what = &what;

  auto *object_class = static_cast<GObjectClass *>(klass);
  object_class->set_property = logging<set_property>;
  object_class->get_property = logging<get_property>;
  object_class->finalize = finalize;
  install_common_properties(
      object_class, {PROP_ZERO_COPY, "Whether a frame that another element holds may be copied",
                     PROP_DRM_STATS, "Counters since start"});
  if (what.install_properties)
    what.install_properties(object_class, PROP_FIRST_OWN);

  auto *element_class = static_cast<GstElementClass *>(klass);
  element_class->change_state = posting<change_state>;
  describe(element_class, what);

  auto *transform_class = static_cast<GstBaseTransformClass *>(klass);
  transform_class->query = posting<filter_query>;
  transform_class->sink_event = posting<filter_sink_event>;
  transform_class->src_event = filter_src_event;
  transform_class->set_caps = posting<frames_of, &InPlaceFrames::set_caps>;
  transform_class->start = posting<frames_of, &InPlaceFrames::start>;
  transform_class->stop = logging<frames_of, &InPlaceFrames::stop>;
  transform_class->transform_meta = transform_meta;
  transform_class->prepare_output_buffer = posting<prepare_output_buffer>;
  transform_class->transform_ip = posting<frames_of, &InPlaceFrames::process>;
}

void instance_init(GTypeInstance *instance, gpointer klass) noexcept
{
  const auto &what = *static_cast<const ShellClass *>(klass)->what;
  auto *shell = static_cast<Shell *>(static_cast<gpointer>(instance));
  shell->frames = new InPlaceFrames(&shell->parent, what.make(), what.suggestion);
}

} // namespace

bool register_in_place_filter(GstPlugin *plugin, const InPlaceFilterClass &klass)
{
  GType type = g_type_from_name(klass.type_name);
  if (type == G_TYPE_INVALID) {
    const GTypeInfo info{sizeof(ShellClass), nullptr, nullptr,       class_init, nullptr, &klass,
                         sizeof(Shell),      0,       instance_init, nullptr};
    type = g_type_register_static(GST_TYPE_BASE_TRANSFORM, klass.type_name, &info,
                                  static_cast<GTypeFlags>(0));
  }
  return gst_element_register(plugin, klass.element_name, GST_RANK_NONE, type) != FALSE;
}

namespace {

// gst_video_frame_map() refuses a frame whose GstVideoMeta names the pseudo-format of DMA_DRM, as
// producers of GStreamer 1.24 do. While this lives, the meta names the real format. Nobody else
// holds the buffer.
class NamedFormat {
public:
  NamedFormat(GstBuffer *frame, const GstVideoInfo &info)
      : meta_(gst_buffer_get_video_meta(frame)),
        before_(meta_ ? meta_->format : GST_VIDEO_FORMAT_UNKNOWN)
  {
    if (meta_)
      meta_->format = GST_VIDEO_INFO_FORMAT(&info);
  }
  NamedFormat(const NamedFormat &) = delete;
  NamedFormat &operator=(const NamedFormat &) = delete;
  ~NamedFormat()
  {
    if (meta_)
      meta_->format = before_;
  }

private:
  GstVideoMeta *const meta_;
  const GstVideoFormat before_;
};

} // namespace

InPlaceFrames::InPlaceFrames(GstBaseTransform *element, std::unique_ptr<InPlaceFilter> filter,
                             const char *suggestion)
    : element_(element), filter_(std::move(filter)), suggestion_(suggestion),
      copier_(element, [this] { return failure_.claim(); })
{
  failure_.watch(element->sinkpad, [this](const GstCaps *filter) { return mismatch(filter); });
  failure_.watch_caps(element->sinkpad);
}

Mismatch InPlaceFrames::mismatch(const GstCaps *caps) const
{
  return describe_mismatch({nothing_in_common(GST_ELEMENT(element_)),
                            {origin_name(element_->sinkpad), "has", caps},
                            restrictions_after(element_->srcpad)},
                           [this](const GstCaps *, const GstCaps *) { return suggestion_; });
}

void InPlaceFrames::start()
{
  stats_.begin(GST_ELEMENT(element_));
  failure_.reset();
  interrupt_.clear();
}

void InPlaceFrames::stop()
{
  copier_.set_caps(nullptr);
}

bool InPlaceFrames::sink_event(GstEvent *event, const std::function<bool(GstEvent *)> &pass_on)
{
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_START)
    end_waits();
  else if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP) {
    interrupt_.clear();
    failure_.reset(); // the application tries again
  }
  if (GST_EVENT_TYPE(event) != GST_EVENT_CAPS)
    return pass_on(event);
  return failure_.take(GST_ELEMENT(element_), event, pass_on,
                       [this](const GstCaps *caps) { return mismatch(caps); });
}

bool InPlaceFrames::set_caps(GstCaps *caps, GstCaps *)
{
  copier_.set_caps(caps);
  GError *error = nullptr;
  if (!gst_drm_video_info_from_caps_full(&info_, caps, &error))
    return fail(take_error(error)) == GST_FLOW_OK;
  const Result<void> taken = filter_->take_caps(info_);
  return taken || fail(taken.error()) == GST_FLOW_OK;
}

GstFlowReturn InPlaceFrames::make_writable(GstBuffer *input, GstBuffer **output)
{
  // The layout comes from another element: it is checked before a pixel is touched.
  const auto layout = frame_layout_of(input, info_);
  if (!layout)
    return fail_frame(layout.error(), "Upstream breaks its own caps.");
  const Result<Waited> waited = wait_for_device(GST_ELEMENT(element_), input, stats_, interrupt_);
  if (!waited)
    return fail_frame(waited.error(), "The device may hang; see the kernel log.");
  if (*waited == Waited::Interrupted)
    return GST_FLOW_FLUSHING;
  if (!gst_buffer_is_writable(input) || !gst_buffer_is_all_memory_writable(input))
    return copy(input, output);
  *output = input;
  return GST_FLOW_OK;
}

GstFlowReturn InPlaceFrames::process(GstBuffer *frame)
{
  const Result<void> processed = [&] {
    const NamedFormat named(frame, info_.vinfo);
    return filter_->process(frame, info_);
  }();
  if (!processed)
    return fail(processed.error());
  failure_.succeed();
  stats_.frames++;
  return GST_FLOW_OK;
}

GstFlowReturn InPlaceFrames::fail(const Error &error)
{
  failure_.post(GST_ELEMENT(element_), error);
  return GST_FLOW_ERROR;
}

GstFlowReturn InPlaceFrames::fail_frame(const Error &error, const char *advice)
{
  const std::string sender = peer_name(element_->sinkpad);
  const auto caps = GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(element_->sinkpad));
  Failure failure(std::string(GST_OBJECT_NAME(element_)) + " cannot take a frame of " + sender,
                  error);
  failure_.post(GST_ELEMENT(element_),
                failure.advise(advice).add("sender", sender).add("caps", caps.get()));
  return GST_FLOW_ERROR;
}

GstFlowReturn InPlaceFrames::copy(GstBuffer *input, GstBuffer **output)
{
  if (zero_copy == ZeroCopy::Require)
    return fail({ErrorCode::Unsupported,
                 "zero-copy=require forbids to copy a frame that another element holds too. Put "
                 "this element before the tee, or set zero-copy=prefer.",
                 0});
  auto copied = copier_.copy(input, info_.vinfo);
  if (!copied)
    return fail(copied.error());
  stats_.count_copy(GST_ELEMENT(element_), info_.vinfo.size, "another element holds the frame");
  *output = copied->release();
  return GST_FLOW_OK;
}

} // namespace gstdrm
