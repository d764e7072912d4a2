// SPDX-License-Identifier: LGPL-2.1-or-later
// The properties of metisdmabufinfer.
#pragma once

#include <string>

#include <gst/drm/element/properties.hpp>
#include <gst/gst.h>

#include "engine/backend.hpp"

namespace gstdrm::metis {

enum class ImportMode { DmaBuf, Copy };
enum class OutputMode { DmaBuf, System };
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
  unsigned cpu_threads = 0;
  bool cache_imports = true;
  ZeroCopy zero_copy = ZeroCopy::Prefer;
  ImplicitModifier implicit_modifier = ImplicitModifier::Auto;
};

} // namespace gstdrm::metis
