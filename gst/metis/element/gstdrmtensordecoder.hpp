// SPDX-License-Identifier: LGPL-2.1-or-later
// What drmtensordecode does with a frame.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include <gst/drm/element/errors.hpp>
#include <gst/drm/element/frame_wait.hpp>
#include <gst/drm/element/properties.hpp>
#include <gst/drm/element/stats.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmtensormeta.h>

#include "engine/decode/decoders.hpp"
#include "gstdrmdetections.hpp"
#include "gstdrmlabels.hpp"
#include "gstdrmpasscaps.hpp"

namespace gstdrm {

// The properties; the object lock of the element guards them.
struct DecodeSettings {
  std::optional<metis::DecoderKind> decoder; // none: by the tensors
  std::string labels_file;
  gfloat threshold = 0.5F;
  gfloat iou_threshold = 0.45F;
  guint max_detections = 100;
  bool post_messages = false;
};

// One object per element. Any thread uses settings, zero_copy, stats(), waits.raise() and
// waits.clear(); the streaming thread, or a state change without one, all the rest.
class TensorDecoder {
public:
  explicit TensorDecoder(GstElement *element) : caps(GST_BASE_TRANSFORM(element)), element_(element)
  {
  }

  DecodeSettings settings;
  std::atomic<ZeroCopy> zero_copy{ZeroCopy::Prefer}; // no frame is ever copied
  [[nodiscard]] GstStructure *stats() const;

  bool start();
  Interrupt waits;
  PassedCaps caps;

  void set_caps(const GstCaps *new_caps, GstCaps *);
  // Adds what the buffer's tensors say to `buffer`, which is made writable for that.
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

} // namespace gstdrm
