// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:element-metisdmabufinfer
 * @title: metisdmabufinfer
 *
 * Runs a model on each frame, on an Axelera Metis or on the CPU, and attaches the result tensors to
 * the frame's buffer. The frame passes through untouched.
 *
 * ## Example
 * |[
 * gst-launch-1.0 videotestsrc ! dmabufupload ! metisdmabufinfer model=blazeface.onnx backend=cpu !
 * drmtensordecode ! fakesink
 * ]|
 */
#include <array>
#include <utility>

#include <gst/drm/gstdrm-guard-private.hpp>
#include <gst/drm/gstdrm-log-private.hpp>
#include <gst/gst.h>

#include "gstdrmsettings.hpp"
#include "gstmetisinferer.hpp"
#include "gstmetisinfersettings.hpp"

GST_DEBUG_CATEGORY(gst_metis_dmabuf_infer_debug);
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT gst_metis_dmabuf_infer_debug

using namespace gstdrm;
using namespace gstdrm::metis;

G_DECLARE_FINAL_TYPE(GstMetisDmabufInfer, gst_metis_dmabuf_infer, GST, METIS_DMABUF_INFER,
                     GstElement)

struct _GstMetisDmabufInfer {
  GstElement parent;
  GstPad *sink, *src;      // owned by the element
  InferSettings *settings; // guarded by the object's lock
  Inferer *inferer;        // both made in init, deleted in finalize
};

G_DEFINE_TYPE(GstMetisDmabufInfer, gst_metis_dmabuf_infer, GST_TYPE_ELEMENT)
GST_ELEMENT_REGISTER_DEFINE(metisdmabufinfer, "metisdmabufinfer", GST_RANK_NONE,
                            gst_metis_dmabuf_infer_get_type())

namespace {

GstMetisDmabufInfer *self_of(gpointer object)
{
  return GST_METIS_DMABUF_INFER(object);
}

Inferer &inferer_of(gpointer object)
{
  return *self_of(object)->inferer;
}

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

// The property of a row's place here: gstdrmsettings.hpp. The first two are common ones.
const auto &infer_properties()
{
  using S = InferSettings;
  constexpr auto flags = kReadyProperty;
  static constexpr std::array rows{
      common_property<&S::zero_copy>(),
      common_property<&S::implicit_modifier>(),
      property<&S::model>(
          "model", "Model",
          "Path of the model's file; its description, a modelinfo file, lies beside it", flags),
      property<&S::device>("device", "Device",
                           "Name of the device, such as metis-0:1:0; none: the first one", flags),
      property<&S::backend>("backend", "Back end", "What runs the model", flags,
                            {.type = backend_type}),
      property<&S::import_mode>("import-mode", "Import mode", "How the device gets at a frame",
                                flags, {.type = import_mode_type}),
      property<&S::output_mode>("output-buffer-mode", "Output buffer mode", "Where results lie",
                                flags, {.type = output_mode_type}),
      property<&S::max_in_flight>("max-in-flight", "Most in flight",
                                  "Inferences that may be under way at once", flags,
                                  {1, InferenceSetup::kMostInFlight}),
      property<&S::timeout_ms>(
          "timeout", "Timeout",
          "Milliseconds that one inference, or the fences of one frame, may take", flags,
          {1, 60000}),
      property<&S::open_timeout_ms>(
          "open-timeout", "Timeout of opening",
          "Milliseconds that a runtime may take to open the model on its device", flags,
          {1, 3600000}),
      property<&S::on_device_lost>(
          "on-device-lost", "On device lost",
          "What becomes of frames whose inference fails, is late or has no device", flags,
          {.type = on_device_lost_type}),
      property<&S::interval>("interval", "Interval",
                             "Infer every n-th frame, and pass the others on", flags, {1, 1000}),
      property<&S::leaky>("leaky", "Leaky",
                          "For live streams: infer the newest frame, one at a time, and pass on "
                          "those that came meanwhile, and those that are late (QoS)",
                          flags),
      property<&S::cpu_threads>("cpu-threads", "CPU threads",
                                "Threads of the back end cpu; 0: as many as it likes", flags,
                                {0, 1024}),
      property<&S::cache_imports>("cache-imports", "Cache imports",
                                  "Keep a frame's import as long as its memory lives; otherwise "
                                  "import each frame anew",
                                  flags),
  };
  return rows;
}

InferSettings copy_settings(GstMetisDmabufInfer *self)
{
  const ObjectLock lock(self);
  return *self->settings;
}

} // namespace

static void gst_metis_dmabuf_infer_set_property(GObject *object, guint id, const GValue *value,
                                                GParamSpec *spec)
{
  const auto *row = row_of(infer_properties(), id);
  if (!row) {
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
    return;
  }
  const ObjectLock lock(object);
  row->set(*self_of(object)->settings, value);
}

static void gst_metis_dmabuf_infer_get_property(GObject *object, guint id, GValue *value,
                                                GParamSpec *spec)
{
  if (id == kStatsId)
    g_value_take_boxed(value, inferer_of(object).stats());
  else if (const auto *row = row_of(infer_properties(), id))
    row->get(copy_settings(self_of(object)), value);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
}

// Returns the flow of a refusal: GStreamer turns a plain FALSE into an error, even if downstream
// only flushes.
static GstFlowReturn gst_metis_dmabuf_infer_sink_event(GstPad *, GstObject *parent, GstEvent *event)
{
  const bool is_caps = GST_EVENT_TYPE(event) == GST_EVENT_CAPS;
  Inferer &inferer = inferer_of(parent);
  if (inferer.sink_event(event))
    return GST_FLOW_OK;
  if (const GstFlowReturn flow = inferer.flow(); flow != GST_FLOW_OK)
    return flow;
  return is_caps ? GST_FLOW_NOT_NEGOTIATED : GST_FLOW_ERROR;
}

static GstStateChangeReturn gst_metis_dmabuf_infer_change_state(GstElement *element,
                                                                GstStateChange transition)
{
  Inferer &inferer = inferer_of(element);
  if (transition == GST_STATE_CHANGE_READY_TO_PAUSED &&
      !inferer.start(copy_settings(self_of(element))))
    return GST_STATE_CHANGE_FAILURE;
  const GstStateChangeReturn result =
      GST_ELEMENT_CLASS(gst_metis_dmabuf_infer_parent_class)->change_state(element, transition);
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY ||
      (transition == GST_STATE_CHANGE_READY_TO_PAUSED && result == GST_STATE_CHANGE_FAILURE))
    inferer.stop(); // the pads are inactive now
  return result;
}

static void gst_metis_dmabuf_infer_finalize(GObject *object) noexcept
{
  delete self_of(object)->inferer;
  delete self_of(object)->settings;
  G_OBJECT_CLASS(gst_metis_dmabuf_infer_parent_class)->finalize(object);
}

static GstDebugCategory *debug_category() noexcept
{
  return gst_metis_dmabuf_infer_debug;
}

static void gst_metis_dmabuf_infer_class_init(GstMetisDmabufInferClass *klass)
{
  GST_DEBUG_CATEGORY_INIT(gst_metis_dmabuf_infer_debug, "metisdmabufinfer", 0,
                          "Inference on DMA buffers");
  connect_log<debug_category>(); // of the engine
  GObjectClass *object_class = G_OBJECT_CLASS(klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS(klass);
  object_class->set_property = logging<gst_metis_dmabuf_infer_set_property>;
  object_class->get_property = logging<gst_metis_dmabuf_infer_get_property>;
  object_class->finalize = gst_metis_dmabuf_infer_finalize;
  install_properties(object_class, infer_properties());
  install_common_properties(
      object_class,
      {row_id<0>, "What to do where a frame would have to be copied", kStatsId,
       "Counters since start: frames, imports, import-hits, copies, bytes-copied, "
       "last-copy-reason, waits, waiting-ns, preprocessing-ns, device-ns, inferences, "
       "passed-through, in-flight",
       row_id<1>,
       "Caps that name no modifier (memory:DMABuf without DMA_DRM): of linear frames "
       "(linear), or never taken (all others: no driver is asked)"});
  gst_element_class_set_static_metadata(
      element_class, "Inference on DMA buffers", "Filter/Analyzer/Video/Hardware",
      "Runs a model on frames in DMA buffers and attaches the result tensors",
      "gst-drm contributors");
  const GstPtr<GstCaps> caps = infer_template();
  for (const auto &[name, direction] : {std::pair("sink", GST_PAD_SINK), {"src", GST_PAD_SRC}})
    gst_element_class_add_pad_template(
        element_class, gst_pad_template_new(name, direction, GST_PAD_ALWAYS, caps.get()));
  element_class->change_state = posting<gst_metis_dmabuf_infer_change_state>;
}

static GstPad *add_pad(GstMetisDmabufInfer *self, const char *name)
{
  GstPad *pad = gst_pad_new_from_template(
      gst_element_class_get_pad_template(GST_ELEMENT_GET_CLASS(self), name), name);
  gst_element_add_pad(GST_ELEMENT(self), pad);
  return pad;
}

static void gst_metis_dmabuf_infer_init(GstMetisDmabufInfer *self)
{
  self->sink = add_pad(self, "sink");
  self->src = add_pad(self, "src");
  gst_pad_set_chain_function(self->sink, (posting<inferer_of, &Inferer::chain>));
  gst_pad_set_event_full_function(self->sink, posting<gst_metis_dmabuf_infer_sink_event>);
  watch_caps_events<inferer_of, &Inferer::explain_refused_caps>(self->sink, self);
  gst_pad_set_query_function(self->sink, (logging<inferer_of, &Inferer::sink_query>));
  gst_pad_set_activatemode_function(self->sink, (logging<inferer_of, &Inferer::activate_sink>));
  gst_pad_set_event_function(self->src, (logging<inferer_of, &Inferer::src_event>));
  gst_pad_set_query_function(self->src, (logging<inferer_of, &Inferer::src_query>));
  gst_pad_set_activatemode_function(self->src, (logging<inferer_of, &Inferer::activate_src>));
  self->settings = new InferSettings;
  self->inferer = new Inferer(GST_ELEMENT(self), self->sink, self->src);
}
