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

// The id of drm-stats, which is not in InferSettings.
inline constexpr guint kInferStatsProperty = 1;

void install_infer_properties(GObjectClass *klass);

// The value's text; empty if it is no string or NULL.
std::string text_from(const GValue *value);
// Copies a property to the settings or back. Returns false if there is no such property. The caller
// makes `text`, text_from() of the value, before it takes the lock.
bool set_infer_property(InferSettings &settings, guint id, const GValue *value, std::string text);
bool get_infer_property(const InferSettings &settings, guint id, GValue *value);

} // namespace gstdrm::metis
