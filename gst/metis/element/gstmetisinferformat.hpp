// SPDX-License-Identifier: LGPL-2.1-or-later
// The settings of metisdmabufinfer, which caps it takes, and what the caps of a stream mean for its
// frames.
#pragma once

#include <memory>
#include <string>

#include <gst/drm/drm.h>
#include <gst/drm/element/properties.hpp>
#include <gst/drm/gstdrm-private.hpp>

#include "engine/inference_queue.hpp"

namespace gstdrm::metis {

enum class ImportMode { DmaBuf, Copy };
enum class OutputMode { DmaBuf, System };
enum class InferenceRegion { Frame, Regions };
enum class OnDeviceLost { Error, Passthrough };

// The properties. start() copies them, so that later changes apply from the next start on.
struct InferSettings {
  std::string model;
  std::string device;
  BackendKind backend = BackendKind::Auto;
  ImportMode import_mode = ImportMode::DmaBuf;
  OutputMode output_mode = OutputMode::DmaBuf;
  unsigned max_in_flight = 2;
  unsigned timeout_ms = 1000;
  unsigned open_timeout_ms = 60000;
  OnDeviceLost on_device_lost = OnDeviceLost::Error;
  unsigned interval = 1;
  bool leaky = false;
  InferenceRegion region = InferenceRegion::Frame;
  std::string region_class;     // labels, separated by commas; empty: all
  unsigned min_region_size = 1; // pixels
  unsigned cpu_threads = 0;
  bool cache_imports = true;
  ZeroCopy zero_copy = ZeroCopy::Prefer;
  ImplicitModifier implicit_modifier = ImplicitModifier::Auto;
};

// Where the pixels are.
enum class FrameMemory { DmaBuf, Nvmm, System };

// What the caps say about the frames of a stream.
struct InferFormat {
  FrameMemory memory = FrameMemory::DmaBuf;
  GstDrmVideoInfo info{}; // linear
  GstPtr<GstCaps> caps;
  std::shared_ptr<const FrameFormat> frames; // for the queue
};

// Caps of both pads for all back ends.
GstPtr<GstCaps> infer_template();
// Caps of both pads for this back end.
GstPtr<GstCaps> infer_caps(const Backend &backend, const InferSettings &settings);

// Returns an Error if the caps are not of video frames. For fixed caps.
Result<void> check_frame_caps(GstCaps *caps);
// Returns an Error if the frames cannot be read, or the model's input cannot be made of them.
Result<InferFormat> format_of_caps(GstCaps *caps, const Backend &backend,
                                   ImplicitModifier implicit_modifier);

// A part of the frame that a model sees alone.
struct Region {
  gint id = 0;                                       // of its GstVideoRegionOfInterestMeta
  std::uint32_t x = 0, y = 0, width = 0, height = 0; // x and y are even
};
// Likewise for a part of a frame of `format`.
Result<std::shared_ptr<const FrameFormat>>
format_of_region(const InferFormat &format, const Model &model, const Region &region);

// A sentence for a message about refused caps that says what to put before the element.
std::string suggest_for_infer(const GstCaps *upstream, const GstCaps *refusing);

} // namespace gstdrm::metis
