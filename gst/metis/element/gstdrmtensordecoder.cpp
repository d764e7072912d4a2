// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdrmtensordecoder.hpp"

#include <memory>
#include <span>
#include <utility>

#include <gst/drm/core/unique_fd.hpp>
#include <gst/drm/element/acquire_fence.hpp>
#include <gst/drm/element/chain.hpp>
#include <gst/video/gstvideometa.h>

#include "gstdrmwritable.hpp"

GST_DEBUG_CATEGORY_EXTERN(gst_drm_tensor_decode_debug);
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT gst_drm_tensor_decode_debug

namespace gstdrm {

namespace {

struct Freed {
  void operator()(gfloat *values) const noexcept { g_free(values); }
};

// The tensors of one meta as numbers.
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

// Their fence has signalled.
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
  const gchar *said = gst_drm_tensor_meta_get_decoder(meta); // by the model's description
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
