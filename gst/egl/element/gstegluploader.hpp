// SPDX-License-Identifier: LGPL-2.1-or-later
// egldmabufupload behind its GObject shell: GL context, caps, proof, allocation query, failures.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include <gst/drm/core/format_offer.hpp>
#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/drm/element/failed_negotiation.hpp>
#include <gst/drm/element/properties.hpp>
#include <gst/drm/element/refusals.hpp>
#include <gst/drm/element/stats.hpp>
#include <gst/gl/gl.h>

#include "gstegluploadframes.hpp"

namespace gstdrm {

enum class UploadMode { Auto, Import, Copy }; // the property `mode`

struct UploadSettings {
  UploadMode mode = UploadMode::Auto;
  ZeroCopy zero_copy = ZeroCopy::Prefer;
  bool prove = true;
};

// The methods stand behind the virtual functions of GstGLBaseFilter and GstBaseTransform.
class EglUploader {
public:
  explicit EglUploader(GstGLBaseFilter *element);
  EglUploader(const EglUploader &) = delete;
  EglUploader &operator=(const EglUploader &) = delete;
  ~EglUploader();

  // Any thread.
  void set_settings(const UploadSettings &settings);
  [[nodiscard]] UploadSettings settings() const;
  [[nodiscard]] GstStructure *stats() const; // (transfer full)
  GstCaps *transform_caps(GstPadDirection direction, GstCaps *caps, GstCaps *filter);
  void set_flushing(bool flushing);

  bool start();
  bool stop();
  // The pipeline has another GL context than before: called on the streaming thread, or while
  // there is none.
  void take_context(GstGLContext *context);

  bool set_caps(GstCaps *in_caps, GstCaps *out_caps);
  bool sink_event(GstEvent *event); // takes the event
  bool propose_allocation(GstQuery *decide_query, GstQuery *query);
  bool decide_allocation(GstQuery *query);
  GstFlowReturn prepare_output(GstBuffer *in, GstBuffer **out);
};

} // namespace gstdrm
