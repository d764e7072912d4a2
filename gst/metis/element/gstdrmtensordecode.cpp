// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:element-drmtensordecode
 * @title: drmtensordecode
 * @short_description: the tensors of a model to objects in the frame
 *
 * Reads the #GstDrmTensorMeta of each buffer, decodes its tensors as those of BlazeFace, SSD or
 * YOLOv8 and adds the objects to the buffer as #GstVideoRegionOfInterestMeta and, with GStreamer
 * 1.24 or newer, #GstAnalyticsRelationMeta. Frames of all caps pass, and no pixel is touched.
 *
 * ## Example
 * |[
 * gst-launch-1.0 … ! metisdmabufinfer model=faces.onnx ! drmtensordecode ! drmoverlay !
 * kmsdmabufsink
 * ]|
 *
 * Since: 0.1
 */
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include <gst/base/gstbasetransform.h>
#include <gst/drm/core/errno_text.hpp>
#include <gst/drm/core/unique_fd.hpp>
#include <gst/drm/element/acquire_fence.hpp>
#include <gst/drm/element/chain.hpp>
#include <gst/drm/element/errors.hpp>
#include <gst/drm/element/frame_wait.hpp>
#include <gst/drm/element/properties.hpp>
#include <gst/drm/element/stats.hpp>
#include <gst/drm/gstdrm-guard-private.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmtensormeta.h>
#include <gst/video/gstvideometa.h>

#include "engine/decode/decoders.hpp"
#include "gstdrmdetections.hpp"
#include "gstdrmpassthrough.hpp"

GST_DEBUG_CATEGORY_STATIC(gst_drm_tensor_decode_debug);
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT gst_drm_tensor_decode_debug

namespace gstdrm {

// The names of a model's classes.
class Labels {
public:
  Labels() = default;
  // Reads one name per line; none if `path` is empty. ErrorCode::Layout if the file cannot be read.
  static Result<Labels> read(const std::string &path);

  // In UTF-8; empty if the class has no name.
  [[nodiscard]] std::string name_of(std::uint32_t label) const;

private:
  std::vector<std::string> names_;
};

namespace {

// Of the file. The labels of 21 841 classes (ImageNet) have 0.5 MB.
constexpr std::size_t kMostBytes = 8 << 20;

struct FreeText {
  void operator()(gchar *text) const noexcept { g_free(text); }
};
using Text = std::unique_ptr<gchar, FreeText>;

std::string valid_utf8(std::string_view line)
{
  const Text valid(g_utf8_make_valid(line.data(), static_cast<gssize>(line.size())));
  return valid.get();
}

} // namespace

Result<Labels> Labels::read(const std::string &path)
{
  Labels labels;
  if (path.empty())
    return labels;
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) // a pipe would wait for its writer
    return Error{ErrorCode::Layout,
                 valid_utf8("The labels cannot be read: " + path + " is no regular file. Name a file of one label a line."), 0};
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string contents(kMostBytes + 1, '\0');
  if (!file || !file.read(contents.data(), static_cast<std::streamsize>(contents.size())).eof())
    return Error{ErrorCode::Layout,
                 valid_utf8("The labels cannot be read: " + path +
                            (file ? " has more than " + std::to_string(kMostBytes) +
                                        " bytes. Name a file of one label a line."
                                  : ": " + errno_text(errno) + ".")),
                 0};
  std::string_view rest(contents.data(), static_cast<std::size_t>(file.gcount()));
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (!line.empty() && line.back() == '\r')
      line.remove_suffix(1);
    labels.names_.push_back(valid_utf8(line));
  }
  return labels;
}

std::string Labels::name_of(std::uint32_t label) const
{
  return label < names_.size() ? names_[label] : std::string();
}

// The properties. Guarded by the element's object lock.
struct DecodeSettings {
  std::optional<metis::DecoderKind> decoder; // nullopt: chosen by description and tensors
  std::string labels_file;
  gfloat threshold = 0.5F;
  gfloat iou_threshold = 0.45F;
  guint max_detections = 100;
  bool post_messages = false;
};

// drmtensordecode without GObject. Any thread uses settings, zero_copy, stats(), waits.raise() and
// waits.clear(); the streaming thread, or a state change while there is none, uses the rest.
class TensorDecoder {
public:
  explicit TensorDecoder(GstElement *element) : caps(GST_BASE_TRANSFORM(element)), element_(element)
  {
  }

  DecodeSettings settings;
  std::atomic<ZeroCopy> zero_copy{ZeroCopy::Prefer}; // without effect: no frame is copied
  [[nodiscard]] GstStructure *stats() const;

  bool start();
  Interrupt waits;
  PassedCaps caps;

  void set_caps(const GstCaps *new_caps, GstCaps *);
  // Makes `buffer` writable and adds the objects in its tensors.
  GstFlowReturn process(GstPtr<GstBuffer> &buffer);

private:
  [[nodiscard]] DecodeSettings current_settings() const;
  Result<std::vector<FoundObject>> objects_of(GstDrmTensorMeta *meta, FrameSize frame,
                                              const DecodeSettings &now) const;
  Result<FenceEnd> process_meta(GstBuffer *buffer, GstDrmTensorMeta *meta,
                                const DecodeSettings &now, std::vector<FoundObject> &objects);
  GstFlowReturn fail(const Error &error);
  [[nodiscard]] FrameSize size_of(GstBuffer *buffer) const;

  GstElement *const element_;
  Labels labels_;
  FrameSize caps_size_;
  OncePerFailure device_failed_;
  Stats stats_;
  std::atomic<guint64> detections_{0};
  std::atomic<guint64> decoding_ns_{0}; // without the wait for the tensors
};

namespace {

struct Freed {
  void operator()(gfloat *values) const noexcept { g_free(values); }
};

// The tensors of one meta as floats.
struct Numbers {
  std::vector<std::unique_ptr<gfloat, Freed>> owned;
  std::vector<metis::TensorValues> tensors;
};

std::vector<std::size_t> dims_of(const GstDrmTensor &tensor)
{
  std::vector<std::size_t> dims;
  for (guint i = 0; i < tensor.n_dims; i++)
    dims.push_back(tensor.dims[i].size - tensor.dims[i].padding_before -
                   tensor.dims[i].padding_after);
  return dims;
}

// The fence of the tensors must have signalled.
Result<Numbers> numbers_of(GstDrmTensorMeta *meta)
{
  Numbers numbers;
  for (guint i = 0; i < gst_drm_tensor_meta_get_n_tensors(meta); i++) {
    const GstDrmTensor *tensor = gst_drm_tensor_meta_get_tensor(meta, i);
    gsize count = 0;
    GError *error = nullptr;
    std::unique_ptr<gfloat, Freed> values(
        gst_drm_tensor_meta_dup_float32(meta, i, 0, &count, &error));
    if (!values)
      return take_error(error);
    numbers.tensors.push_back({tensor->name ? tensor->name : "", dims_of(*tensor),
                               std::span<const float>(values.get(), count)});
    numbers.owned.push_back(std::move(values));
  }
  return numbers;
}

std::vector<GstDrmTensorMeta *> metas_of(GstBuffer *buffer)
{
  std::vector<GstDrmTensorMeta *> metas;
  gpointer state = nullptr;
  while (GstMeta *meta =
             gst_buffer_iterate_meta_filtered(buffer, &state, GST_DRM_TENSOR_META_API_TYPE))
    metas.push_back(reinterpret_cast<GstDrmTensorMeta *>(meta));
  return metas;
}

} // namespace

GstStructure *TensorDecoder::stats() const
{
  GstStructure *stats = stats_.to_structure();
  gst_structure_set(stats, "detections", G_TYPE_UINT64, detections_.load(), "decoding-ns",
                    G_TYPE_UINT64, decoding_ns_.load(), nullptr);
  return stats;
}

DecodeSettings TensorDecoder::current_settings() const
{
  GST_OBJECT_LOCK(element_);
  DecodeSettings now = settings;
  GST_OBJECT_UNLOCK(element_);
  return now;
}

bool TensorDecoder::start()
{
  stats_.reset();
  detections_ = 0;
  decoding_ns_ = 0;
  device_failed_.reset();
  caps.start();
  caps_size_ = {};
  const std::string file = current_settings().labels_file;
  Result<Labels> labels = Labels::read(file);
  waits.clear();
  if (!labels) {
    post_failure(element_, Failure({}, labels.error())
                               .advise("Set labels-file to a text file with one label a line, or "
                                       "leave it unset.")
                               .add_property("labels-file", file));
    return false;
  }
  labels_ = std::move(*labels);
  return true;
}

void TensorDecoder::set_caps(const GstCaps *new_caps, GstCaps *)
{
  caps_size_ = {};
  if (gst_caps_is_any(new_caps) || gst_caps_is_empty(new_caps))
    return;
  const GstStructure *structure = gst_caps_get_structure(new_caps, 0);
  gst_structure_get_int(structure, "width", &caps_size_.width);
  gst_structure_get_int(structure, "height", &caps_size_.height);
}

FrameSize TensorDecoder::size_of(GstBuffer *buffer) const
{
  if (caps_size_.width > 0 && caps_size_.height > 0)
    return caps_size_;
  const GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);
  return meta ? FrameSize{static_cast<gint>(meta->width), static_cast<gint>(meta->height)}
              : FrameSize{};
}

Result<std::vector<FoundObject>> TensorDecoder::objects_of(GstDrmTensorMeta *meta, FrameSize frame,
                                                           const DecodeSettings &now) const
{
  const Result<Numbers> numbers = numbers_of(meta);
  if (!numbers)
    return numbers.error();
  Result<metis::DecoderKind> kind = metis::DecoderKind::BlazeFace;
  const gchar *said = gst_drm_tensor_meta_get_decoder(meta); // from the model's description
  if (now.decoder)
    kind = *now.decoder;
  else if (const auto named = metis::decoder_named(said ? said : ""))
    kind = *named;
  else
    kind = metis::recognise(numbers->tensors);
  if (!kind)
    return kind.error();
  const metis::DecodeOptions options{meta->placement.input_width, meta->placement.input_height,
                                     now.threshold, now.iou_threshold, now.max_detections};
  const auto found = metis::decode(*kind, numbers->tensors, options);
  if (!found)
    return found.error();
  auto objects = to_frame(*found, meta->placement, frame);
  if (!objects)
    return objects.error();
  for (FoundObject &object : *objects) {
    object.name = labels_.name_of(object.label);
    if (object.name.empty())
      object.name =
          *kind == metis::DecoderKind::BlazeFace ? "face" : "class " + std::to_string(object.label);
  }
  return objects;
}

Result<FenceEnd> TensorDecoder::process_meta(GstBuffer *buffer, GstDrmTensorMeta *meta,
                                             const DecodeSettings &now,
                                             std::vector<FoundObject> &objects)
{
  const Result<UniqueFd> fence = dup_acquire_fence(meta);
  if (!fence)
    return fence.error();
  const Result<FenceEnd> ready = wait_for_producer(fence->get(), stats_, waits);
  if (!ready || *ready != FenceEnd::Signalled)
    return ready;
  const GstClockTime start = gst_util_get_timestamp();
  auto found = objects_of(meta, size_of(buffer), now);
  decoding_ns_ += gst_util_get_timestamp() - start;
  if (!found)
    return found.error();
  objects.insert(objects.end(), std::make_move_iterator(found->begin()),
                 std::make_move_iterator(found->end()));
  return ready;
}

GstFlowReturn TensorDecoder::fail(const Error &error)
{
  const std::string sender = peer_name(GST_BASE_TRANSFORM_SINK_PAD(element_));
  Failure failure(std::string(GST_OBJECT_NAME(element_)) +
                      " cannot decode the tensors of a frame of " + sender,
                  error);
  post_failure(element_, failure.add("sender", sender));
  return GST_FLOW_ERROR;
}

GstFlowReturn TensorDecoder::process(GstPtr<GstBuffer> &buffer)
{
  stats_.frames++;
  if (!gst_buffer_get_drm_tensor_meta(buffer.get(), nullptr))
    return GST_FLOW_OK;
  if (const Result<void> made = make_writable(buffer); !made)
    return fail(made.error());
  const DecodeSettings now = current_settings();
  std::vector<FoundObject> objects;
  for (GstDrmTensorMeta *meta : metas_of(buffer.get())) {
    const auto ready = process_meta(buffer.get(), meta, now, objects);
    if (!ready)
      return fail(ready.error());
    if (*ready == FenceEnd::Interrupted)
      return GST_FLOW_FLUSHING;
    if (*ready == FenceEnd::Failed && device_failed_.claim())
      GST_ELEMENT_WARNING(element_, STREAM, FAILED,
                          ("The device that runs the model failed on a frame, which passes without "
                           "detections."),
                          ("the acquire fence of its tensors signalled an error"));
  }
  detections_ += objects.size();
  attach(buffer.get(), objects);
  if (now.post_messages)
    gst_element_post_message(
        element_, gst_message_new_element(GST_OBJECT(element_), message_of(buffer.get(), objects)));
  return GST_FLOW_OK;
}

} // namespace gstdrm

using gstdrm::GstPtr;
using gstdrm::logging;
using gstdrm::posting;
using gstdrm::TensorDecoder;
using gstdrm::metis::DecoderKind;

#define GST_TYPE_DRM_TENSOR_DECODE (gst_drm_tensor_decode_get_type())
G_DECLARE_FINAL_TYPE(GstDrmTensorDecode, gst_drm_tensor_decode, GST, DRM_TENSOR_DECODE,
                     GstBaseTransform)

struct _GstDrmTensorDecode {
  GstBaseTransform parent;
  TensorDecoder *decoder; // made in init, deleted in finalize
};

enum {
  PROP_0,
  PROP_DECODER,
  PROP_LABELS_FILE,
  PROP_THRESHOLD,
  PROP_IOU_THRESHOLD,
  PROP_MAX_DETECTIONS,
  PROP_POST_MESSAGES,
  PROP_ZERO_COPY,
  PROP_DRM_STATS
};

G_DEFINE_TYPE(GstDrmTensorDecode, gst_drm_tensor_decode, GST_TYPE_BASE_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE(drmtensordecode, "drmtensordecode", GST_RANK_NONE,
                            GST_TYPE_DRM_TENSOR_DECODE)

namespace {

enum DecoderProperty { DECODER_AUTO, DECODER_BLAZEFACE, DECODER_SSD, DECODER_YOLOV8 };

GType decoder_type() noexcept
{
  static const GEnumValue values[] = {
      {DECODER_AUTO,
       "As the model's description says, else by the names and dimensions of the tensors", "auto"},
      {DECODER_BLAZEFACE, "BlazeFace: faces with key points", "blazeface"},
      {DECODER_SSD, "SSD with its boxes already selected", "ssd"},
      {DECODER_YOLOV8, "YOLOv8", "yolov8"},
      {0, nullptr, nullptr}};
  static const GType type = g_enum_register_static("GstDrmTensorDecoderKind", values);
  return type;
}

std::optional<DecoderKind> kind_of(gint property)
{
  switch (property) {
  case DECODER_BLAZEFACE:
    return DecoderKind::BlazeFace;
  case DECODER_SSD:
    return DecoderKind::Ssd;
  case DECODER_YOLOV8:
    return DecoderKind::YoloV8;
  default:
    return std::nullopt;
  }
}

gint property_of(std::optional<DecoderKind> kind)
{
  return !kind                             ? DECODER_AUTO
         : *kind == DecoderKind::BlazeFace ? DECODER_BLAZEFACE
         : *kind == DecoderKind::Ssd       ? DECODER_SSD
                                           : DECODER_YOLOV8;
}

TensorDecoder &decoder_of(gpointer element) noexcept
{
  return *static_cast<GstDrmTensorDecode *>(element)->decoder;
}

} // namespace

static void gst_drm_tensor_decode_set_property(GObject *object, guint id, const GValue *value,
                                               GParamSpec *spec)
{
  TensorDecoder &decoder = decoder_of(object);
  const gchar *given = id == PROP_LABELS_FILE ? g_value_get_string(value) : nullptr;
  std::string text = given ? given : ""; // made before the lock is held
  GST_OBJECT_LOCK(object);
  switch (id) {
  case PROP_DECODER:
    decoder.settings.decoder = kind_of(g_value_get_enum(value));
    break;
  case PROP_LABELS_FILE:
    decoder.settings.labels_file.swap(text);
    break;
  case PROP_THRESHOLD:
    decoder.settings.threshold = g_value_get_float(value);
    break;
  case PROP_IOU_THRESHOLD:
    decoder.settings.iou_threshold = g_value_get_float(value);
    break;
  case PROP_MAX_DETECTIONS:
    decoder.settings.max_detections = g_value_get_uint(value);
    break;
  case PROP_POST_MESSAGES:
    decoder.settings.post_messages = g_value_get_boolean(value) != FALSE;
    break;
  case PROP_ZERO_COPY:
    decoder.zero_copy = gstdrm::zero_copy_from(value);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  }
  GST_OBJECT_UNLOCK(object);
}

static void gst_drm_tensor_decode_get_property(GObject *object, guint id, GValue *value,
                                               GParamSpec *spec) noexcept
{
  const TensorDecoder &decoder = decoder_of(object);
  GST_OBJECT_LOCK(object);
  switch (id) {
  case PROP_DECODER:
    g_value_set_enum(value, property_of(decoder.settings.decoder));
    break;
  case PROP_LABELS_FILE:
    if (const std::string &file = decoder.settings.labels_file; !file.empty())
      g_value_set_string(value, file.c_str()); // else NULL, which is the default
    break;
  case PROP_THRESHOLD:
    g_value_set_float(value, decoder.settings.threshold);
    break;
  case PROP_IOU_THRESHOLD:
    g_value_set_float(value, decoder.settings.iou_threshold);
    break;
  case PROP_MAX_DETECTIONS:
    g_value_set_uint(value, decoder.settings.max_detections);
    break;
  case PROP_POST_MESSAGES:
    g_value_set_boolean(value, decoder.settings.post_messages);
    break;
  case PROP_ZERO_COPY:
    gstdrm::set_zero_copy(value, decoder.zero_copy);
    break;
  case PROP_DRM_STATS:
    g_value_take_boxed(value, decoder.stats());
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  }
  GST_OBJECT_UNLOCK(object);
}

static gboolean gst_drm_tensor_decode_query(GstBaseTransform *trans, GstPadDirection direction,
                                            GstQuery *query) noexcept
{
  const auto passed = gstdrm::pass_query(trans, direction, query);
  return passed ? *passed
                : GST_BASE_TRANSFORM_CLASS(gst_drm_tensor_decode_parent_class)
                      ->query(trans, direction, query);
}

static gboolean gst_drm_tensor_decode_sink_event(GstBaseTransform *trans, GstEvent *event)
{
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_START)
    decoder_of(trans).waits.raise();
  else if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP)
    decoder_of(trans).waits.clear();
  GstBaseTransformClass *base = GST_BASE_TRANSFORM_CLASS(gst_drm_tensor_decode_parent_class);
  return GST_EVENT_TYPE(event) == GST_EVENT_CAPS ? decoder_of(trans).caps.take(event, base)
                                                 : base->sink_event(trans, event);
}

static GstStateChangeReturn gst_drm_tensor_decode_change_state(GstElement *element,
                                                               GstStateChange transition) noexcept
{
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY)
    decoder_of(element).waits.raise();
  return GST_ELEMENT_CLASS(gst_drm_tensor_decode_parent_class)->change_state(element, transition);
}

static GstFlowReturn gst_drm_tensor_decode_submit(GstBaseTransform *trans, gboolean discont,
                                                  GstBuffer *input)
{
  auto buffer = GstPtr<GstBuffer>::adopt(input);
  const GstFlowReturn flow = decoder_of(trans).process(buffer);
  return flow != GST_FLOW_OK ? flow
                             : GST_BASE_TRANSFORM_CLASS(gst_drm_tensor_decode_parent_class)
                                   ->submit_input_buffer(trans, discont, buffer.release());
}

static void gst_drm_tensor_decode_finalize(GObject *object) noexcept
{
  std::default_delete<TensorDecoder>()(&decoder_of(object));
  G_OBJECT_CLASS(gst_drm_tensor_decode_parent_class)->finalize(object);
}

static void install_properties(GObjectClass *klass)
{
  const auto live = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                             GST_PARAM_MUTABLE_PLAYING);
  const auto ready = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                              GST_PARAM_MUTABLE_READY);
  g_object_class_install_property(klass, PROP_DECODER,
                                  g_param_spec_enum("decoder", "Decoder",
                                                    "The kind of model that the tensors come from",
                                                    decoder_type(), DECODER_AUTO, live));
  g_object_class_install_property(
      klass, PROP_LABELS_FILE,
      g_param_spec_string("labels-file", "Labels file",
                          "The names of the classes, one per line, from class 0 on", nullptr,
                          ready));
  g_object_class_install_property(klass, PROP_THRESHOLD,
                                  g_param_spec_float("threshold", "Threshold",
                                                     "The least score of an object", 0, 1, 0.5F,
                                                     live));
  g_object_class_install_property(
      klass, PROP_IOU_THRESHOLD,
      g_param_spec_float("iou-threshold", "IoU threshold",
                         "Boxes of one class that overlap by more, as intersection over union, are "
                         "one object",
                         0, 1, 0.45F, live));
  g_object_class_install_property(klass, PROP_MAX_DETECTIONS,
                                  g_param_spec_uint("max-detections", "Most detections",
                                                    "Objects per frame and model, at most", 1, 1000,
                                                    100, live));
  g_object_class_install_property(
      klass, PROP_POST_MESSAGES,
      g_param_spec_boolean("post-messages", "Post messages",
                           "Post an element message drm-detections for each frame with tensors",
                           FALSE, live));
  gstdrm::install_common_properties(
      klass, {PROP_ZERO_COPY, "Of no effect: frames are never copied", PROP_DRM_STATS,
              "Counters since start: frames, detections, waits, decoding-ns"});
}

static void gst_drm_tensor_decode_class_init(GstDrmTensorDecodeClass *klass)
{
  GST_DEBUG_CATEGORY_INIT(gst_drm_tensor_decode_debug, "drmtensordecode", 0, "Tensors to objects");
  GObjectClass *object_class = G_OBJECT_CLASS(klass);
  object_class->set_property = logging<gst_drm_tensor_decode_set_property>;
  object_class->get_property = gst_drm_tensor_decode_get_property;
  object_class->finalize = gst_drm_tensor_decode_finalize;
  install_properties(object_class);

  GstElementClass *element_class = GST_ELEMENT_CLASS(klass);
  const auto any = GstPtr<GstCaps>::adopt(gst_caps_new_any());
  gst_element_class_add_pad_template(
      element_class, gst_pad_template_new("sink", GST_PAD_SINK, GST_PAD_ALWAYS, any.get()));
  gst_element_class_add_pad_template(
      element_class, gst_pad_template_new("src", GST_PAD_SRC, GST_PAD_ALWAYS, any.get()));
  gst_element_class_set_static_metadata(element_class, "Tensor decoder", "Filter/Analyzer/Video",
                                        "Finds objects in the tensors of a buffer",
                                        "gst-drm contributors");
  element_class->change_state = gst_drm_tensor_decode_change_state;
  gst_type_mark_as_plugin_api(decoder_type(), static_cast<GstPluginAPIFlags>(0));

  GstBaseTransformClass *transform_class = GST_BASE_TRANSFORM_CLASS(klass);
  transform_class->start = posting<decoder_of, &TensorDecoder::start>;
  transform_class->set_caps = posting<decoder_of, &TensorDecoder::set_caps>;
  transform_class->query = gst_drm_tensor_decode_query;
  transform_class->sink_event = posting<gst_drm_tensor_decode_sink_event>;
  transform_class->submit_input_buffer = posting<gst_drm_tensor_decode_submit>;
}

static void gst_drm_tensor_decode_init(GstDrmTensorDecode *self)
{
  self->decoder = std::make_unique<TensorDecoder>(GST_ELEMENT(self)).release();
  gst_base_transform_set_passthrough(GST_BASE_TRANSFORM(self), TRUE);
  self->decoder->caps.watch();
}
