// SPDX-License-Identifier: LGPL-2.1-or-later
// dmabufdownload behind its GObject shell: what becomes of each frame.
#pragma once

#include <string>

#include <gst/drm/drm.h>

#include "gstdmabuftransformer.hpp"

namespace gstdrm {

// All state belongs to the streaming thread, from set_caps() and the allocation query on.
class Downloader final : public Transformer {
public:
  explicit Downloader(GstBaseTransform *element);

  bool stop() override;
  bool set_caps(GstCaps *incaps, GstCaps *outcaps) override;
  bool decide_allocation(GstQuery *query) override;
  bool propose_allocation(GstQuery *decide_query, GstQuery *query) override;

protected:
  GstFlowReturn process(GstPtr<GstBuffer> &frame) override;
  [[nodiscard]] CopyRules copy_rules() const override;
  GstFlowReturn fail(const Error &error) override;

private:
  GstFlowReturn fail(const Error &error, const char *advice);
  GstFlowReturn refuse_copy(const char *reason);
  GstFlowReturn check_input(GstPtr<GstBuffer> &frame);
  GstFlowReturn prove_mappable(GstBuffer *frame);
  const char *reason_to_copy(GstPtr<GstBuffer> &frame) const;
  GstFlowReturn copy(GstPtr<GstBuffer> &frame, const char *reason);
  GstFlowReturn acquire(GstPtr<GstBuffer> &buffer);
  bool configure_pool(GstBufferPool *pool) const;
  void drop_pool();

  GstDrmVideoInfo info_{}; // of the input
  bool dmabuf_input_ = false;
  GstPtr<GstCaps> plain_caps_;
  bool takes_video_meta_ = false;         // downstream reads GstVideoMeta
  bool takes_crop_meta_ = false;          // downstream crops
  GstPtr<GstBufferPool> downstream_pool_; // not configured before the first copy
  guint min_buffers_ = 0;
  guint max_buffers_ = 0;
  GstPtr<GstBufferPool> copy_pool_;
  bool proved_mappable_ = false; // since set_caps(): the CPU could map a frame
};

} // namespace gstdrm
