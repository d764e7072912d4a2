// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstmetisinfersettings.hpp"

#include <utility>

#include "engine/inference_queue.hpp"

namespace gstdrm::metis {

namespace {

enum Property {
  PROP_0,
  PROP_DRM_STATS = kInferStatsProperty, // first, because its number is fixed
  PROP_MODEL,
  PROP_DEVICE,
  PROP_BACKEND,
  PROP_IMPORT_MODE,
  PROP_OUTPUT_BUFFER_MODE,
  PROP_MAX_IN_FLIGHT,
  PROP_TIMEOUT,
  PROP_OPEN_TIMEOUT,
  PROP_ON_DEVICE_LOST,
  PROP_INTERVAL,
  PROP_LEAKY,
  PROP_CPU_THREADS,
  PROP_CACHE_IMPORTS,
  PROP_ZERO_COPY,
  PROP_IMPLICIT_MODIFIER,
};

GType backend_type()
{
  static const GEnumValue values[] = {
      {static_cast<gint>(BackendKind::Auto), "The first of axl, axruntime and cpu that works",
       "auto"},
      {static_cast<gint>(BackendKind::Axl), "A driver with the kernel interface of docs/axl.md",
       "axl"},
      {static_cast<gint>(BackendKind::AxRuntime), "Axelera's libaxruntime.so", "axruntime"},
      {static_cast<gint>(BackendKind::Cpu), "the CPU, by ONNX Runtime or OpenCV's dnn", "cpu"},
      {0, nullptr, nullptr}};
  static const GType type = g_enum_register_static("GstMetisDmabufInferBackend", values);
  return type;
}

GType import_mode_type()
{
  static const GEnumValue values[] = {
      {static_cast<gint>(ImportMode::DmaBuf), "The device reads the frame's own memory", "dmabuf"},
      {static_cast<gint>(ImportMode::Copy), "The device reads a copy, which the CPU makes", "copy"},
      {0, nullptr, nullptr}};
  static const GType type = g_enum_register_static("GstMetisDmabufInferImportMode", values);
  return type;
}

GType output_mode_type()
{
  static const GEnumValue values[] = {
      {static_cast<gint>(OutputMode::DmaBuf), "Results lie in dma-bufs", "dmabuf"},
      {static_cast<gint>(OutputMode::System), "Results lie in system memory", "system"},
      {0, nullptr, nullptr}};
  static const GType type = g_enum_register_static("GstMetisDmabufInferOutputMode", values);
  return type;
}

GType on_device_lost_type()
{
  static const GEnumValue values[] = {
      {static_cast<gint>(OnDeviceLost::Error), "The stream ends with an error", "error"},
      {static_cast<gint>(OnDeviceLost::Passthrough), "Frames go on without results", "passthrough"},
      {0, nullptr, nullptr}};
  static const GType type = g_enum_register_static("GstMetisDmabufInferOnDeviceLost", values);
  return type;
}

void set_string(GValue *value, const std::string &text)
{
  g_value_set_string(value, text.empty() ? nullptr : text.c_str());
}

constexpr auto kReadyFlags =
    static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY);

void install_enums(GObjectClass *klass)
{
  g_object_class_install_property(
      klass, PROP_BACKEND,
      g_param_spec_enum("backend", "Back end", "What runs the model", backend_type(),
                        static_cast<gint>(BackendKind::Auto), kReadyFlags));
  g_object_class_install_property(
      klass, PROP_IMPORT_MODE,
      g_param_spec_enum("import-mode", "Import mode", "How the device gets at a frame",
                        import_mode_type(), static_cast<gint>(ImportMode::DmaBuf), kReadyFlags));
  g_object_class_install_property(
      klass, PROP_OUTPUT_BUFFER_MODE,
      g_param_spec_enum("output-buffer-mode", "Output buffer mode", "Where results lie",
                        output_mode_type(), static_cast<gint>(OutputMode::DmaBuf), kReadyFlags));
  g_object_class_install_property(
      klass, PROP_ON_DEVICE_LOST,
      g_param_spec_enum("on-device-lost", "On device lost",
                        "What becomes of frames whose inference fails, is late or has no device",
                        on_device_lost_type(), static_cast<gint>(OnDeviceLost::Error),
                        kReadyFlags));
  for (const GType type :
       {backend_type(), import_mode_type(), output_mode_type(), on_device_lost_type()})
    gst_type_mark_as_plugin_api(type, static_cast<GstPluginAPIFlags>(0));
}

void install_numbers(GObjectClass *klass)
{
  const InferSettings defaults;
  g_object_class_install_property(klass, PROP_MAX_IN_FLIGHT,
                                  g_param_spec_uint("max-in-flight", "Most in flight",
                                                    "Inferences that may be under way at once", 1,
                                                    InferenceSetup::kMostInFlight,
                                                    defaults.max_in_flight, kReadyFlags));
  g_object_class_install_property(
      klass, PROP_TIMEOUT,
      g_param_spec_uint("timeout", "Timeout",
                        "Milliseconds that one inference, or the fences of one frame, may take", 1,
                        60000, defaults.timeout_ms, kReadyFlags));
  g_object_class_install_property(
      klass, PROP_OPEN_TIMEOUT,
      g_param_spec_uint("open-timeout", "Timeout of opening",
                        "Milliseconds that a runtime may take to open the model on its device", 1,
                        3600000, defaults.open_timeout_ms, kReadyFlags));
  g_object_class_install_property(
      klass, PROP_INTERVAL,
      g_param_spec_uint("interval", "Interval", "Infer every n-th frame, and pass the others on", 1,
                        1000, defaults.interval, kReadyFlags));
  g_object_class_install_property(
      klass, PROP_CPU_THREADS,
      g_param_spec_uint("cpu-threads", "CPU threads",
                        "Threads of the back end cpu; 0: as many as it likes", 0, 1024,
                        defaults.cpu_threads, kReadyFlags));
}

} // namespace

std::string text_from(const GValue *value)
{
  const gchar *text = G_VALUE_HOLDS_STRING(value) ? g_value_get_string(value) : nullptr;
  return text ? text : "";
}

bool set_infer_property(InferSettings &settings, guint id, const GValue *value, std::string text)
{
  switch (id) {
  case PROP_MODEL:
    settings.model = std::move(text);
    return true;
  case PROP_DEVICE:
    settings.device = std::move(text);
    return true;
  case PROP_BACKEND:
    settings.backend = static_cast<BackendKind>(g_value_get_enum(value));
    return true;
  case PROP_IMPORT_MODE:
    settings.import_mode = static_cast<ImportMode>(g_value_get_enum(value));
    return true;
  case PROP_OUTPUT_BUFFER_MODE:
    settings.output_mode = static_cast<OutputMode>(g_value_get_enum(value));
    return true;
  case PROP_MAX_IN_FLIGHT:
    settings.max_in_flight = g_value_get_uint(value);
    return true;
  case PROP_TIMEOUT:
    settings.timeout_ms = g_value_get_uint(value);
    return true;
  case PROP_OPEN_TIMEOUT:
    settings.open_timeout_ms = g_value_get_uint(value);
    return true;
  case PROP_ON_DEVICE_LOST:
    settings.on_device_lost = static_cast<OnDeviceLost>(g_value_get_enum(value));
    return true;
  case PROP_INTERVAL:
    settings.interval = g_value_get_uint(value);
    return true;
  case PROP_LEAKY:
    settings.leaky = g_value_get_boolean(value) != FALSE;
    return true;
  case PROP_CPU_THREADS:
    settings.cpu_threads = g_value_get_uint(value);
    return true;
  case PROP_CACHE_IMPORTS:
    settings.cache_imports = g_value_get_boolean(value) != FALSE;
    return true;
  case PROP_ZERO_COPY:
    settings.zero_copy = zero_copy_from(value);
    return true;
  case PROP_IMPLICIT_MODIFIER:
    settings.implicit_modifier = implicit_modifier_from(value);
    return true;
  default:
    return false;
  }
}

bool get_infer_property(const InferSettings &settings, guint id, GValue *value)
{
  switch (id) {
  case PROP_MODEL:
    set_string(value, settings.model);
    return true;
  case PROP_DEVICE:
    set_string(value, settings.device);
    return true;
  case PROP_BACKEND:
    g_value_set_enum(value, static_cast<gint>(settings.backend));
    return true;
  case PROP_IMPORT_MODE:
    g_value_set_enum(value, static_cast<gint>(settings.import_mode));
    return true;
  case PROP_OUTPUT_BUFFER_MODE:
    g_value_set_enum(value, static_cast<gint>(settings.output_mode));
    return true;
  case PROP_MAX_IN_FLIGHT:
    g_value_set_uint(value, settings.max_in_flight);
    return true;
  case PROP_TIMEOUT:
    g_value_set_uint(value, settings.timeout_ms);
    return true;
  case PROP_OPEN_TIMEOUT:
    g_value_set_uint(value, settings.open_timeout_ms);
    return true;
  case PROP_ON_DEVICE_LOST:
    g_value_set_enum(value, static_cast<gint>(settings.on_device_lost));
    return true;
  case PROP_INTERVAL:
    g_value_set_uint(value, settings.interval);
    return true;
  case PROP_LEAKY:
    g_value_set_boolean(value, settings.leaky);
    return true;
  case PROP_CPU_THREADS:
    g_value_set_uint(value, settings.cpu_threads);
    return true;
  case PROP_CACHE_IMPORTS:
    g_value_set_boolean(value, settings.cache_imports);
    return true;
  case PROP_ZERO_COPY:
    set_zero_copy(value, settings.zero_copy);
    return true;
  case PROP_IMPLICIT_MODIFIER:
    set_implicit_modifier(value, settings.implicit_modifier);
    return true;
  default:
    return false;
  }
}

void install_infer_properties(GObjectClass *klass)
{
  g_object_class_install_property(
      klass, PROP_MODEL,
      g_param_spec_string(
          "model", "Model",
          "Path of the model's file; its description, a modelinfo file, lies beside it", nullptr,
          kReadyFlags));
  g_object_class_install_property(
      klass, PROP_DEVICE,
      g_param_spec_string("device", "Device",
                          "Name of the device, such as metis-0:1:0; none: the first one", nullptr,
                          kReadyFlags));
  g_object_class_install_property(
      klass, PROP_LEAKY,
      g_param_spec_boolean("leaky", "Leaky",
                           "For live streams: infer the newest frame, one at a time, and pass on "
                           "those that came meanwhile, and those that are late (QoS)",
                           FALSE, kReadyFlags));
  g_object_class_install_property(
      klass, PROP_CACHE_IMPORTS,
      g_param_spec_boolean("cache-imports", "Cache imports",
                           "Keep a frame's import as long as its memory lives; otherwise import "
                           "each frame anew",
                           TRUE, kReadyFlags));
  install_enums(klass);
  install_numbers(klass);
  install_common_properties(
      klass, {PROP_ZERO_COPY, "What to do where a frame would have to be copied", PROP_DRM_STATS,
              "Counters since start: frames, imports, import-hits, copies, bytes-copied, "
              "last-copy-reason, waits, waiting-ns, preprocessing-ns, device-ns, inferences, "
              "passed-through, in-flight",
              PROP_IMPLICIT_MODIFIER,
              "Caps that name no modifier (memory:DMABuf without DMA_DRM): of linear frames "
              "(linear), or never taken (all others: no driver is asked)"});
}

} // namespace gstdrm::metis
