// SPDX-License-Identifier: LGPL-2.1-or-later
// The properties of metisdmabufinfer.
#pragma once

#include <string>

#include <gst/drm/element/properties.hpp>

#include "engine/open_backend.hpp"

namespace gstdrm::metis {

enum class ImportMode { DmaBuf, Copy };
enum class OutputMode { DmaBuf, System };
enum class OnDeviceLost { Error, Passthrough };

// Set while the element is stopped; what a start finds holds until the stop.
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
  unsigned cpu_threads = 0;
  bool cache_imports = true;
  ZeroCopy zero_copy = ZeroCopy::Prefer;
  ImplicitModifier implicit_modifier = ImplicitModifier::Auto;
};

} // namespace gstdrm::metis
