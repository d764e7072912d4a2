// SPDX-License-Identifier: LGPL-2.1-or-later
// dmabufupload behind its GObject shell: what becomes of each frame.
#pragma once

#include <gst/drm/core/frame_layout.hpp>

#include "gstdmabufallocation.hpp"
#include "gstdmabuftransformer.hpp"

namespace gstdrm {

class Uploader final : public Transformer {
public:
  explicit Uploader(GstBaseTransform *element);

  // Any thread.
  UploadAllocation &allocation() noexcept { return allocation_; }
  // Before the element changes its state.
  void prepare_state_change(GstStateChange transition);

  bool start() override;
  bool stop() override;
  bool sink_event(GstEvent *event) override;
  bool set_caps(GstCaps *incaps, GstCaps *outcaps) override;
  bool decide_allocation(GstQuery *query) override;
  bool propose_allocation(GstQuery *decide_query, GstQuery *query) override;

protected:
  GstFlowReturn process(GstPtr<GstBuffer> &frame) override;
  [[nodiscard]] CopyRules copy_rules() const override;
  GstFlowReturn fail(const Error &error) override;

private:
  const char *reason_to_copy(GstPtr<GstBuffer> &frame);
  [[nodiscard]] bool has_tight_rows(GstBuffer *buffer, const FrameLayout &layout) const;
  GstFlowReturn pass_through(GstPtr<GstBuffer> &frame);
  GstFlowReturn copy(GstPtr<GstBuffer> &frame, const char *reason);
  GstFlowReturn refuse_copy(const char *reason);

  UploadAllocation allocation_;
  GstDrmVideoInfo info_{}; // streaming thread: of the input, of plain video its linear layout
};

} // namespace gstdrm
