// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:element-drmtensordecode
 * @title: drmtensordecode
 * @short_description: the tensors of a model to objects in the frame
 *
 * Reads the #GstDrmTensorMeta of each buffer, decodes its tensors as those of BlazeFace, SSD, YOLO
 * and other families of models, and adds the objects to the buffer as #GstVideoRegionOfInterestMeta
 * and, with GStreamer 1.24 or newer, #GstAnalyticsRelationMeta. Frames of all caps pass, and no
 * pixel is touched.
 *
 * ## Example
 * |[
 * gst-launch-1.0 … ! metisdmabufinfer model=faces.onnx ! drmtensordecode ! drmoverlay !
 * kmsdmabufsink
 * ]|
 *
 * Since: 0.1
 */
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include <gst/base/gstbasetransform.h>
#include <gst/drm/core/errno_text.hpp>
#include <gst/drm/core/unique_fd.hpp>
#include <gst/drm/element/chain.hpp>
#include <gst/drm/element/errors.hpp>
#include <gst/drm/element/frame_wait.hpp>
#include <gst/drm/element/property_rows.hpp>
#include <gst/drm/element/stats.hpp>
#include <gst/drm/gstdrm-guard-private.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmtensormeta.h>
#include <gst/video/gstvideometa.h>

#include "engine/decode/decoders.hpp"
#include "engine/decode/tracker.hpp"
#include "gstdrmdetections.hpp"
#include "gstdrmjsonlines.hpp"
#include "gstdrmpassthrough.hpp"
#include "gstdrmtensormarks.hpp"

GST_DEBUG_CATEGORY_STATIC(gst_drm_tensor_decode_debug);
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT gst_drm_tensor_decode_debug

namespace gstdrm {

namespace {

using Labels = std::vector<std::string>; // the names of a model's classes, in UTF-8

// Of the file. The labels of 21 841 classes (ImageNet) have 0.5 MB.
constexpr std::size_t kMostBytes = 8 << 20;

std::string valid_utf8(std::string_view line)
{
  g_autofree gchar *valid = g_utf8_make_valid(line.data(), static_cast<gssize>(line.size()));
  return valid;
}

// Reads one name per line; none if `path` is empty. ErrorCode::Layout if the file cannot be read.
Result<Labels> read_labels(const std::string &path)
{
  Labels labels;
  if (path.empty())
    return labels;
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 &&
      !S_ISREG(status.st_mode)) // a pipe would wait for its writer
    return Error{ErrorCode::Layout,
                 valid_utf8("The labels cannot be read: " + path +
                            " is no regular file. Name a file of one label a line."),
                 0};
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
    labels.push_back(valid_utf8(line));
  }
  return labels;
}

} // namespace

constexpr const char *kAuto = "auto"; // as the model's description says, else by the tensors

// The properties. Guarded by the element's object lock.
struct DecodeSettings {
  std::string decoder = kAuto; // or as read_output_setting() reads it
  std::string groups;          // separated by commas; empty: all that nobody has decoded
  std::string labels_file;
  gfloat threshold = 0.5F;
  gfloat iou_threshold = 0.45F;
  guint max_detections = 100;
  guint hold = 0; // frames
  bool track = false;
  bool post_messages = false;
  std::string json_file;                 // empty: none
  gint json_fd = -1;                     // none
  ZeroCopy zero_copy = ZeroCopy::Prefer; // without effect: no frame is copied
};

// What the models gave for a frame.
struct Decoded {
  bool any = false;             // tensors of this element's models
  std::set<std::string> groups; // of those that could be read
  std::vector<FoundObject> objects;
};

// drmtensordecode without GObject. Any thread uses settings, stats(), waits.raise() and
// waits.clear(); the streaming thread, or a state change while there is none, uses the rest.
class TensorDecoder {
public:
  explicit TensorDecoder(GstElement *element) : caps(GST_BASE_TRANSFORM(element)), element_(element)
  {
  }

  DecodeSettings settings;
  [[nodiscard]] GstStructure *stats() const;

  bool start();
  void stop() { lines_ = {}; }
  Interrupt waits;
  PassedCaps caps;

  void set_caps(const GstCaps *new_caps, GstCaps *);
  // The stream goes on somewhere else.
  void forget_objects()
  {
    held_.clear();
    tracker_.forget();
  }
  // Makes `buffer` writable and adds the objects in its tensors.
  GstFlowReturn process(GstPtr<GstBuffer> &buffer);

private:
  [[nodiscard]] DecodeSettings current_settings() const;
  Result<std::vector<GstDrmTensorMeta *>> metas_to_decode(GstBuffer *buffer,
                                                          const DecodeSettings &now);
  Result<metis::ModelDecoder *> decoder_of(GstDrmTensorMeta *meta, const std::string &said,
                                           metis::Tensors tensors,
                                           const metis::DecodeOptions &options);
  Result<std::vector<FoundObject>> objects_of(GstBuffer *buffer, GstDrmTensorMeta *meta,
                                              const DecodeSettings &now);
  Result<FenceEnd> process_meta(GstBuffer *buffer, GstDrmTensorMeta *meta,
                                const DecodeSettings &now, std::vector<FoundObject> &objects);
  GstFlowReturn decode(GstPtr<GstBuffer> &buffer, const DecodeSettings &now, Decoded &decoded);
  void age_objects(const DecodeSettings &now, const Decoded &decoded);
  void identify(std::vector<FoundObject> &objects, GstClockTime now);
  [[nodiscard]] std::vector<FoundObject> objects_meanwhile(GstBuffer *buffer) const;
  Result<JsonLines> open_lines(const DecodeSettings &now) const;
  void report(GstBuffer *buffer, const std::vector<FoundObject> &objects, bool as_message);
  void write_line(const std::string &json);
  GstFlowReturn fail(const Error &error);
  [[nodiscard]] FrameSize size_of(GstBuffer *buffer) const;

  GstElement *const element_;
  std::vector<std::string> labels_; // empty: the classes have no names
  FrameSize caps_size_;
  OncePerFailure device_failed_;
  OncePerFailure unknown_word_;
  std::map<std::string, metis::ModelDecoder> models_; // by group and setting
  std::vector<FoundObject> held_; // of each model's last frame, where it found them
  metis::Tracker tracker_;
  JsonLines lines_;
  Stats stats_;
  std::atomic<guint64> detections_{0};
  std::atomic<guint64> lines_dropped_{0};
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
                               std::span<const float>(values.get(), count),
                               tensor->quantised ? static_cast<float>(tensor->scale) : 0.0F});
    numbers.owned.push_back(std::move(values));
  }
  return numbers;
}

// The property, or else what the model's description says.
std::string said_of(GstDrmTensorMeta *meta, const DecodeSettings &now)
{
  const gchar *word = gst_drm_tensor_meta_get_decoder(meta);
  return now.decoder != kAuto ? now.decoder : word ? word : "";
}

// What is about a whole region lies where the region does. Returns false if it is not there.
bool take_region(GstBuffer *buffer, FoundObject &object)
{
  if (!object.whole)
    return true;
  const GstVideoRegionOfInterestMeta *region = region_of(buffer, object);
  if (!region)
    return false;
  const auto number = [](guint n) { return static_cast<gint>(MIN(n, G_MAXINT)); };
  object.x = number(region->x);
  object.y = number(region->y);
  object.width = number(region->w);
  object.height = number(region->h);
  return true;
}

} // namespace

GstStructure *TensorDecoder::stats() const
{
  GstStructure *stats = stats_.to_structure();
  gst_structure_set(stats, "detections", G_TYPE_UINT64, detections_.load(), "decoding-ns",
                    G_TYPE_UINT64, decoding_ns_.load(), "lines-dropped", G_TYPE_UINT64,
                    lines_dropped_.load(), nullptr);
  return stats;
}

DecodeSettings TensorDecoder::current_settings() const
{
  const ObjectLock lock(element_);
  return settings;
}

bool TensorDecoder::start()
{
  stats_.begin(GST_ELEMENT(element_));
  detections_ = 0;
  decoding_ns_ = 0;
  lines_dropped_ = 0;
  device_failed_.reset();
  unknown_word_.reset();
  models_.clear();
  held_.clear();
  tracker_ = {};
  caps.start();
  caps_size_ = {};
  const DecodeSettings now = current_settings();
  const std::string &file = now.labels_file;
  Result<Labels> labels = read_labels(file);
  waits.clear();
  if (now.decoder != kAuto) {
    if (const auto said = metis::read_output_setting(now.decoder); !said) {
      post_failure(element_, Failure({}, said.error())
                                 .advise("Set decoder to the kind of the model, or leave it unset.")
                                 .add_property("decoder", now.decoder));
      return false;
    }
  }
  if (!labels) {
    post_failure(element_, Failure({}, labels.error())
                               .advise("Set labels-file to a text file with one label a line, or "
                                       "leave it unset.")
                               .add_property("labels-file", file));
    return false;
  }
  labels_ = std::move(*labels);
  auto lines = open_lines(now);
  if (!lines) {
    const bool is_file = !now.json_file.empty();
    post_failure(element_,
                 Failure({}, lines.error())
                     .advise("Set json-file to a file in a folder that exists or to a FIFO whose "
                             "reader runs already, or json-fd to a descriptor that is open for "
                             "writing.")
                     .add_property(is_file ? "json-file" : "json-fd",
                                   is_file ? now.json_file : std::to_string(now.json_fd)));
    return false;
  }
  lines_ = std::move(*lines);
  return true;
}

Result<JsonLines> TensorDecoder::open_lines(const DecodeSettings &now) const
{
  if (!now.json_file.empty() && now.json_fd >= 0)
    return Error{ErrorCode::Unsupported, "json-file and json-fd are both set.", 0};
  if (now.json_fd >= 0)
    return JsonLines::open(now.json_fd);
  if (now.json_file.empty())
    return JsonLines();
  auto lines = JsonLines::open(now.json_file);
  if (lines)
    return lines;
  Error error = lines.error();
  error.message = valid_utf8(error.message); // of the path
  return error;
}

void TensorDecoder::set_caps(const GstCaps *new_caps, GstCaps *)
{
  caps_size_ = {};
  forget_objects();
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

// With `groups`, the metas of these groups. Without, those that nobody has decoded, and whose word,
// if they have one, is that of a decoder here: another element may know the others.
Result<std::vector<GstDrmTensorMeta *>> TensorDecoder::metas_to_decode(GstBuffer *buffer,
                                                                       const DecodeSettings &now)
{
  const std::set<std::string> wanted = names_in(now.groups);
  const TensorMarks marks(buffer);
  std::map<std::string, guint> seen;
  std::set<std::string> groups;
  std::vector<GstDrmTensorMeta *> chosen;
  for (GstDrmTensorMeta *meta : tensor_metas_of(buffer)) {
    const std::string group = group_of(meta);
    if (wanted.empty() ? seen[group]++ < marks.decoded(group) : wanted.count(group) == 0)
      continue;
    const std::string said = said_of(meta, now);
    const auto setting = metis::read_output_setting(said);
    if (!setting && wanted.empty() && now.decoder == kAuto) {
      if (unknown_word_.claim())
        GST_WARNING_OBJECT(element_, "the tensors of group \"%s\" pass: no decoder here is \"%s\"",
                           group.c_str(), said.c_str());
      continue;
    }
    if (setting && setting->decoder && !setting->decoder->decode) // "none"
      continue;
    groups.insert(group);
    chosen.push_back(meta);
  }
  if (groups.size() > 1 && !labels_.empty())
    return Error{ErrorCode::Unsupported,
                 "The labels are those of one model, and the frame has tensors of the groups \"" +
                     *groups.begin() + "\" and \"" + *std::next(groups.begin()) +
                     "\". Set group to the group of the model, and decode the other one with a "
                     "second drmtensordecode.",
                 0};
  return chosen;
}

// The decoder for this model, the same for all its frames.
Result<metis::ModelDecoder *> TensorDecoder::decoder_of(GstDrmTensorMeta *meta,
                                                        const std::string &said,
                                                        metis::Tensors tensors,
                                                        const metis::DecodeOptions &options)
{
  const std::string key = group_of(meta) + '\n' + said;
  if (const auto known = models_.find(key); known != models_.end())
    return &known->second;
  const auto setting = metis::read_output_setting(said);
  if (!setting)
    return setting.error();
  auto model = metis::ModelDecoder::create(*setting, tensors, options);
  if (!model)
    return model.error();
  constexpr std::size_t kMostModels = 64; // a producer whose groups never repeat
  if (models_.size() >= kMostModels)
    models_.clear();
  return &models_.emplace(key, std::move(*model)).first->second;
}

Result<std::vector<FoundObject>>
TensorDecoder::objects_of(GstBuffer *buffer, GstDrmTensorMeta *meta, const DecodeSettings &now)
{
  const Result<Numbers> numbers = numbers_of(meta);
  if (!numbers)
    return numbers.error();
  const metis::DecodeOptions options{meta->placement.input_width, meta->placement.input_height,
                                     now.threshold, now.iou_threshold, now.max_detections};
  const auto model = decoder_of(meta, said_of(meta, now), numbers->tensors, options);
  if (!model)
    return model.error();
  const bool first = !(*model)->settled();
  const auto found = (*model)->decode(numbers->tensors, options);
  if (!found)
    return found.error();
  if (first)
    GST_INFO_OBJECT(element_, "the decoder for group \"%s\" is %s", group_of(meta).c_str(),
                    (*model)->describe_choice().c_str());
  auto objects = to_frame(*found, meta->placement, size_of(buffer));
  if (!objects)
    return objects.error();
  const gchar *only_label = (*model)->decoder().only_label;
  const auto parent = TensorMarks(buffer).region(group_of(meta), index_in_group(buffer, meta));
  for (FoundObject &object : *objects) {
    object.name = object.label < labels_.size() ? labels_[object.label] : "";
    if (object.name.empty())
      object.name = only_label ? only_label : "class " + std::to_string(object.label);
    object.group = group_of(meta);
    object.parent = parent;
    object.whole = parent && (*model)->decoder().whole_picture;
    take_region(buffer, object);
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
  auto found = objects_of(buffer, meta, now);
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

// Objects of a model stay until it has seen another frame, or for `hold` frames.
void TensorDecoder::age_objects(const DecodeSettings &now, const Decoded &decoded)
{
  if (now.track)
    tracker_.advance(now.hold);
  else
    tracker_.forget();
  std::erase_if(held_, [&](FoundObject &object) {
    return ++object.age > now.hold || decoded.groups.count(object.group) != 0;
  });
}

void TensorDecoder::identify(std::vector<FoundObject> &objects, GstClockTime now)
{
  std::vector<metis::Detection> boxes;
  for (const FoundObject &object : objects) {
    if (object.whole) { // its region may have an id
      boxes.emplace_back();
      continue;
    }
    // classes of two models differ
    const std::size_t label =
        std::hash<std::string>()(std::to_string(object.label) + " of " + object.group);
    boxes.push_back({static_cast<float>(object.x),
                     static_cast<float>(object.y),
                     static_cast<float>(object.width),
                     static_cast<float>(object.height),
                     static_cast<float>(object.score),
                     static_cast<std::uint32_t>(label),
                     {}});
  }
  const auto identities = tracker_.match(boxes, now);
  for (std::size_t i = 0; i < objects.size(); i++) {
    objects[i].id = identities[i].id;
    objects[i].first_seen = identities[i].first_seen;
    objects[i].last_seen = now;
  }
}

// The objects of models that have not seen this frame, as metisdmabufinfer passes them with
// `interval`. Those that the tracker knows are where it expects them.
std::vector<FoundObject> TensorDecoder::objects_meanwhile(GstBuffer *buffer) const
{
  std::vector<FoundObject> objects;
  for (const FoundObject &object : held_) {
    const auto box = tracker_.expected(object.id);
    auto there = box ? moved(object, *box, size_of(buffer)) : object;
    if (there && take_region(buffer, *there))
      objects.push_back(std::move(*there));
  }
  return objects;
}

void TensorDecoder::report(GstBuffer *buffer, const std::vector<FoundObject> &objects,
                           bool as_message)
{
  if (!as_message && !lines_.is_open())
    return;
  const std::string json = json_of(buffer, size_of(buffer), objects);
  if (lines_.is_open())
    write_line(json);
  if (as_message)
    gst_element_post_message(
        element_, gst_message_new_element(GST_OBJECT(element_), message_of(buffer, objects, json)));
}

void TensorDecoder::write_line(const std::string &json)
{
  const Result<bool> written = lines_.write(json);
  if (!written)
    GST_ELEMENT_WARNING(
        element_, RESOURCE, WRITE,
        ("%s The frames go on without.", valid_utf8(written.error().message).c_str()), (nullptr));
  else if (!*written && lines_dropped_++ == 0)
    GST_ELEMENT_WARNING(element_, RESOURCE, WRITE,
                        ("The reader of the detections is slower than the stream: lines are "
                         "dropped, and counted as lines-dropped in drm-stats."),
                        (nullptr));
}

// The buffer is writable afterwards if it has tensors.
GstFlowReturn TensorDecoder::decode(GstPtr<GstBuffer> &buffer, const DecodeSettings &now,
                                    Decoded &decoded)
{
  if (!gst_buffer_get_drm_tensor_meta(buffer.get(), nullptr))
    return GST_FLOW_OK;
  if (const Result<void> made = make_writable(buffer); !made)
    return fail(made.error());
  const auto metas = metas_to_decode(buffer.get(), now);
  if (!metas)
    return fail(metas.error());
  decoded.any = !metas->empty();
  for (GstDrmTensorMeta *meta : *metas) {
    const auto ready = process_meta(buffer.get(), meta, now, decoded.objects);
    if (!ready)
      return fail(ready.error());
    if (*ready == FenceEnd::Interrupted)
      return GST_FLOW_FLUSHING;
    if (*ready == FenceEnd::Signalled)
      decoded.groups.insert(group_of(meta));
    else if (device_failed_.claim())
      GST_ELEMENT_WARNING(element_, STREAM, FAILED,
                          ("The device that runs the model failed on a frame, which passes without "
                           "detections."),
                          ("the acquire fence of its tensors signalled an error"));
    TensorMarks(buffer.get()).add_decoded(buffer.get(), group_of(meta));
  }
  return GST_FLOW_OK;
}

GstFlowReturn TensorDecoder::process(GstPtr<GstBuffer> &buffer)
{
  stats_.frames++;
  const DecodeSettings now = current_settings();
  Decoded decoded;
  if (const GstFlowReturn flow = decode(buffer, now, decoded); flow != GST_FLOW_OK)
    return flow;
  age_objects(now, decoded);
  if (now.track)
    identify(decoded.objects, GST_BUFFER_PTS(buffer.get()));
  const auto meanwhile = objects_meanwhile(buffer.get());
  if (!decoded.any && meanwhile.empty())
    return GST_FLOW_OK;
  if (const Result<void> made = make_writable(buffer); !made)
    return fail(made.error());
  attach(buffer.get(), decoded.objects);
  attach(buffer.get(), meanwhile);
  if (decoded.any) {
    detections_ += decoded.objects.size();
    report(buffer.get(), decoded.objects, now.post_messages);
  }
  held_.insert(held_.end(), std::make_move_iterator(decoded.objects.begin()),
               std::make_move_iterator(decoded.objects.end()));
  return GST_FLOW_OK;
}

} // namespace gstdrm

using gstdrm::GstPtr;
using gstdrm::logging;
using gstdrm::posting;
using gstdrm::TensorDecoder;

#define GST_TYPE_DRM_TENSOR_DECODE (gst_drm_tensor_decode_get_type())
G_DECLARE_FINAL_TYPE(GstDrmTensorDecode, gst_drm_tensor_decode, GST, DRM_TENSOR_DECODE,
                     GstBaseTransform)

struct _GstDrmTensorDecode {
  GstBaseTransform parent;
  TensorDecoder *decoder; // made in init, deleted in finalize
};

G_DEFINE_TYPE(GstDrmTensorDecode, gst_drm_tensor_decode, GST_TYPE_BASE_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE(drmtensordecode, "drmtensordecode", GST_RANK_NONE,
                            GST_TYPE_DRM_TENSOR_DECODE)

namespace {

TensorDecoder &decoder_of(gpointer element) noexcept
{
  return *static_cast<GstDrmTensorDecode *>(element)->decoder;
}

const auto &decode_properties()
{
  using S = gstdrm::DecodeSettings;
  using gstdrm::property;
  constexpr auto live = gstdrm::kPlayingProperty, ready = gstdrm::kReadyProperty;
  static const std::string decoder_blurb = "The kind of model that the tensors come from: auto (as "
                                           "the model's description says, else by "
                                           "the dimensions of the tensors), " +
                                           gstdrm::metis::decoder_words();
  static const std::array rows{
      gstdrm::common_property<&S::zero_copy>(),
      property<&S::decoder>("decoder", "Decoder", decoder_blurb.c_str(), live),
      property<&S::groups>("group", "Group",
                           "The group-id of the model whose tensors are decoded, or several, "
                           "separated by commas; unset: all that no element has decoded",
                           live),
      property<&S::labels_file>("labels-file", "Labels file",
                                "The names of the classes, one per line, from class 0 on", ready),
      property<&S::threshold>("threshold", "Threshold", "The least score of an object", live,
                              {0, 1}),
      property<&S::iou_threshold>("iou-threshold", "IoU threshold",
                                  "Boxes of one class that overlap by more, as intersection over "
                                  "union, are one object",
                                  live, {0, 1}),
      property<&S::max_detections>("max-detections", "Most detections",
                                   "Objects per frame and model, at most", live, {1, 1000}),
      property<&S::hold>("hold", "Hold",
                         "How many frames without tensors in a row get the objects of the last "
                         "frame that had tensors",
                         live, {0, 1000}),
      property<&S::track>("track", "Track",
                          "Give objects an id that stays while an object is missing for at most "
                          "hold frames, and move held objects on",
                          live),
      property<&S::post_messages>(
          "post-messages", "Post messages",
          "Post an element message drm-detections for each frame with tensors", live),
      property<&S::json_file>("json-file", "JSON file",
                              "A file or FIFO that gets a line of JSON for each frame with tensors",
                              ready),
      property<&S::json_fd>(
          "json-fd", "JSON descriptor",
          "A descriptor that gets a line of JSON for each frame with tensors; -1: none", ready,
          {-1, G_MAXINT}),
  };
  return rows;
}

} // namespace

static void gst_drm_tensor_decode_set_property(GObject *object, guint id, const GValue *value,
                                               GParamSpec *spec)
{
  gstdrm::set_property(object, decode_properties(), id, value, spec, [object](const auto &set) {
    const gstdrm::ObjectLock lock(object);
    set(decoder_of(object).settings);
  });
}

static void gst_drm_tensor_decode_get_property(GObject *object, guint id, GValue *value,
                                               GParamSpec *spec)
{
  const TensorDecoder &decoder = decoder_of(object);
  if (id == gstdrm::kStatsId) {
    g_value_take_boxed(value, decoder.stats());
    return;
  }
  const gstdrm::ObjectLock lock(object);
  gstdrm::get_property(object, decode_properties(), id, value, spec, decoder.settings);
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
  else if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP) { // the streaming thread is outside
    decoder_of(trans).waits.clear();
    decoder_of(trans).forget_objects();
  } else if (GST_EVENT_TYPE(event) == GST_EVENT_SEGMENT)
    decoder_of(trans).forget_objects();
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

static void gst_drm_tensor_decode_class_init(GstDrmTensorDecodeClass *klass)
{
  GST_DEBUG_CATEGORY_INIT(gst_drm_tensor_decode_debug, "drmtensordecode", 0, "Tensors to objects");
  GObjectClass *object_class = G_OBJECT_CLASS(klass);
  object_class->set_property = logging<gst_drm_tensor_decode_set_property>;
  object_class->get_property = logging<gst_drm_tensor_decode_get_property>;
  object_class->finalize = gst_drm_tensor_decode_finalize;
  gstdrm::install_properties(object_class, decode_properties());
  gstdrm::install_common_properties(
      object_class, {gstdrm::row_id<0>, "Of no effect: frames are never copied", gstdrm::kStatsId,
                     "Counters since start: frames, detections, waits, decoding-ns, "
                     "lines-dropped"});

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

  GstBaseTransformClass *transform_class = GST_BASE_TRANSFORM_CLASS(klass);
  transform_class->start = posting<decoder_of, &TensorDecoder::start>;
  transform_class->stop = logging<decoder_of, &TensorDecoder::stop>;
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
