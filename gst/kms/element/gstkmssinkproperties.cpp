// SPDX-License-Identifier: LGPL-2.1-or-later
// kmsdmabufsink: its properties, from GObject to SinkSettings and back.
#include <bit>

#include "gstkmsdmabufsink.hpp"

#define GST_CAT_DEFAULT gst_kms_dmabuf_sink_debug

namespace gstdrm {

namespace {

enum {
  PROP_0,
  PROP_DRIVER_NAME,
  PROP_BUS_ID,
  PROP_DEVICE,
  PROP_FD,
  PROP_LEASE,
  PROP_CONNECTOR,
  PROP_PLANE_ID,
  PROP_MODE,
  PROP_FIT,
  PROP_ZPOS,
  PROP_ROTATION,
  PROP_RENDER_RECTANGLE,
  PROP_ZERO_COPY,
  PROP_SYNC_MODE,
  PROP_FENCE_TIMEOUT,
  PROP_DRM_STATS,
};

SinkState &state_of(gpointer sink)
{
  return *GST_KMS_DMABUF_SINK(sink)->state;
}

void copy_string(std::string &to, const GValue *value)
{
  const gchar *text = g_value_get_string(value);
  to = text ? text : "";
}

constexpr std::uint32_t kRotations =
    DRM_MODE_ROTATE_0 | DRM_MODE_ROTATE_90 | DRM_MODE_ROTATE_180 | DRM_MODE_ROTATE_270;

// Reflections may stand alone.
void set_rotation(gpointer sink, std::uint32_t &rotation, std::uint32_t value)
{
  if (!(value & kRotations))
    value |= DRM_MODE_ROTATE_0;
  if (std::has_single_bit(value & kRotations))
    rotation = value;
  else
    GST_ELEMENT_WARNING(
        sink, RESOURCE, SETTINGS,
        ("rotation: a picture is turned once. Give one of rotate-0, rotate-90, rotate-180 "
         "and rotate-270."),
        ("value 0x%x", value));
}

// What may change while frames are shown. false: the property is another one.
bool set_view_property(GObject *object, guint id, const GValue *value)
{
  SinkState &state = state_of(object);
  if (gst_video_overlay_set_property(object, PROP_RENDER_RECTANGLE, id, value))
    return true;
  {
    const std::lock_guard guard(state.lock);
    kms::View &view = state.settings.view;
    switch (id) {
    case PROP_FIT:
      view.fit = static_cast<kms::Fit>(g_value_get_enum(value));
      break;
    case PROP_ZPOS:
      view.zpos = g_value_get_int(value);
      break;
    case PROP_ROTATION:
      set_rotation(object, view.rotation, g_value_get_flags(value));
      break;
    default:
      return false;
    }
  }
  sink_apply_view(state);
  return true;
}

void set_property(GObject *object, guint id, const GValue *value, GParamSpec *pspec) noexcept
try {
  if (set_view_property(object, id, value) || set_cursor_property(object, id, value))
    return;
  SinkState &state = state_of(object);
  const std::lock_guard guard(state.lock);
  switch (id) {
  case PROP_DRIVER_NAME:
    copy_string(state.settings.device.driver_name, value);
    break;
  case PROP_BUS_ID:
    copy_string(state.settings.device.bus_id, value);
    break;
  case PROP_DEVICE:
    copy_string(state.settings.device.path, value);
    break;
  case PROP_FD:
    state.settings.device.fd = g_value_get_int(value);
    break;
  case PROP_LEASE:
    copy_string(state.settings.device.lease, value);
    break;
  case PROP_CONNECTOR:
    copy_string(state.settings.output.connector, value);
    break;
  case PROP_PLANE_ID:
    state.settings.output.plane_id = g_value_get_uint(value);
    break;
  case PROP_MODE:
    copy_string(state.settings.mode, value);
    break;
  case PROP_ZERO_COPY:
    state.settings.zero_copy = zero_copy_from(value);
    break;
  case PROP_SYNC_MODE:
    state.settings.sync_mode = static_cast<SyncMode>(g_value_get_enum(value));
    break;
  case PROP_FENCE_TIMEOUT:
    state.settings.fence_timeout = g_value_get_uint64(value);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
  }
} catch (...) {
  caught(__func__);
}

// Frames that the base class left out because their time had passed.
guint64 base_sink_dropped(GstBaseSink *sink)
{
  GstStructure *stats = gst_base_sink_get_stats(sink);
  guint64 dropped = 0;
  gst_structure_get_uint64(stats, "dropped", &dropped);
  gst_structure_free(stats);
  return dropped;
}

GstStructure *make_stats(GstKmsDmabufSink *self)
{
  SinkState &state = *self->state;
  GstStructure *stats = state.stats.to_structure();
  kms::FlipQueue::Counters counters;
  if (const std::shared_ptr<Display> display = state.get_display())
    counters = display->counters();
  gst_structure_set(
      stats, "waits", G_TYPE_UINT64, state.stats.waits.load() + counters.waits, "shown",
      G_TYPE_UINT64, counters.shown, "dropped", G_TYPE_UINT64,
      counters.dropped + base_sink_dropped(GST_BASE_SINK(self)) + state.refusals.dropped(),
      "late", G_TYPE_UINT64, counters.late, "commits", G_TYPE_UINT64, counters.commits, "held",
      G_TYPE_UINT, counters.held, "fence-timeouts", G_TYPE_UINT64, counters.fence_timeouts,
      "fence-errors", G_TYPE_UINT64, counters.fence_errors, "release-fences", G_TYPE_UINT64,
      counters.release_fences, "last-flip-sequence", G_TYPE_UINT, counters.last_sequence,
      "last-flip-time", G_TYPE_UINT64,
      counters.last_flip_ns < 0 ? GST_CLOCK_TIME_NONE : static_cast<guint64>(counters.last_flip_ns),
      nullptr);
  return stats;
}

void get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec) noexcept
try {
  if (get_cursor_property(object, id, value))
    return;
  SinkState &state = state_of(object);
  if (id == PROP_DRM_STATS) {
    g_value_take_boxed(value, make_stats(GST_KMS_DMABUF_SINK(object)));
    return;
  }
  const std::lock_guard guard(state.lock);
  switch (id) {
  case PROP_DRIVER_NAME:
    g_value_set_string(value, state.settings.device.driver_name.c_str());
    break;
  case PROP_BUS_ID:
    g_value_set_string(value, state.settings.device.bus_id.c_str());
    break;
  case PROP_DEVICE:
    g_value_set_string(value, state.settings.device.path.c_str());
    break;
  case PROP_FD:
    g_value_set_int(value, state.settings.device.fd);
    break;
  case PROP_LEASE:
    g_value_set_string(value, state.settings.device.lease.c_str());
    break;
  case PROP_CONNECTOR:
    g_value_set_string(value, state.settings.output.connector.c_str());
    break;
  case PROP_PLANE_ID:
    g_value_set_uint(value, state.settings.output.plane_id);
    break;
  case PROP_MODE:
    g_value_set_string(value, state.settings.mode.c_str());
    break;
  case PROP_FIT:
    g_value_set_enum(value, static_cast<gint>(state.settings.view.fit));
    break;
  case PROP_ZPOS:
    g_value_set_int(value, state.settings.view.zpos);
    break;
  case PROP_ROTATION:
    g_value_set_flags(value, state.settings.view.rotation);
    break;
  case PROP_ZERO_COPY:
    set_zero_copy(value, state.settings.zero_copy);
    break;
  case PROP_SYNC_MODE:
    g_value_set_enum(value, static_cast<gint>(state.settings.sync_mode));
    break;
  case PROP_FENCE_TIMEOUT:
    g_value_set_uint64(value, state.settings.fence_timeout);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
  }
} catch (...) {
  caught(__func__);
}

GType sync_mode_type()
{
  static const GEnumValue values[] = {
      {static_cast<gint>(SyncMode::Auto),
       "Fences of GstDrmSyncMeta explicitly; implicit ones where the driver does not wait for them "
       "itself",
       "auto"},
      {static_cast<gint>(SyncMode::Explicit),
       "Fences of GstDrmSyncMeta, else the implicit ones of the dma-bufs, through IN_FENCE_FD",
       "explicit"},
      {static_cast<gint>(SyncMode::Implicit),
       "No IN_FENCE_FD: the driver waits for the dma-bufs' own fences", "implicit"},
      {0, nullptr, nullptr}};
  static const GType type = g_enum_register_static("GstKmsDmabufSinkSyncMode", values);
  return type;
}

void install_sync_properties(GObjectClass *klass)
{
  const auto flags = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                              GST_PARAM_MUTABLE_READY);
  g_object_class_install_property(
      klass, PROP_SYNC_MODE,
      g_param_spec_enum(
          "sync-mode", "Synchronisation mode",
          "How the display waits until a buffer was drawn. Read when the sink goes to PAUSED",
          sync_mode_type(), static_cast<gint>(SyncMode::Auto), flags));
  g_object_class_install_property(
      klass, PROP_FENCE_TIMEOUT,
      g_param_spec_uint64(
          "fence-timeout", "Fence timeout",
          "Nanoseconds after which a frame is left out whose acquire fence has not signalled; "
          "until it has, the frame waits in the sink and not in the kernel (0: no limit, and "
          "the kernel waits). Read when the sink goes to PAUSED",
          0, G_MAXUINT64, kDefaultFenceTimeout, flags));
}

GType fit_type()
{
  static const GEnumValue values[] = {
      {static_cast<gint>(kms::Fit::Contain),
       "As large as fits, the whole picture; pixel for pixel where the hardware does not scale",
       "contain"},
      {static_cast<gint>(kms::Fit::Cover),
       "Fills the whole area, and crops what hangs over; pixel for pixel where the hardware does "
       "not scale",
       "cover"},
      {static_cast<gint>(kms::Fit::None), "Pixel for pixel, centred; what hangs over is cropped",
       "none"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static("GstKmsDmabufSinkFit", values);
  return type;
}

GType rotation_type()
{
  static const GFlagsValue values[] = {
      {DRM_MODE_ROTATE_0, "As it is", "rotate-0"},
      {DRM_MODE_ROTATE_90, "90 degrees counter-clockwise", "rotate-90"},
      {DRM_MODE_ROTATE_180, "180 degrees", "rotate-180"},
      {DRM_MODE_ROTATE_270, "270 degrees counter-clockwise", "rotate-270"},
      {DRM_MODE_REFLECT_X, "Left and right swapped, before it is turned", "reflect-x"},
      {DRM_MODE_REFLECT_Y, "Top and bottom swapped, before it is turned", "reflect-y"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_flags_register_static("GstKmsDmabufSinkRotation", values);
  return type;
}

void install_view_properties(GObjectClass *klass)
{
  const auto flags = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                              GST_PARAM_MUTABLE_PLAYING);
  g_object_class_install_property(
      klass, PROP_MODE,
      g_param_spec_string(
          "mode", "Mode",
          "Display mode: match (the mode that fits the video's size and rate), preferred (the "
          "display's own choice), or one of the connector's in pixels and Hz, such as 1920x1080, "
          "1920x1080@60, 1920x1080@59.94 or 1920x1080i@50 (fields)",
          "match",
          static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                   GST_PARAM_MUTABLE_READY)));
  g_object_class_install_property(
      klass, PROP_FIT,
      g_param_spec_enum(
          "fit", "Fit",
          "How the picture fills the render rectangle, or the mode where there is none", fit_type(),
          static_cast<gint>(kms::Fit::Contain), flags));
  g_object_class_install_property(
      klass, PROP_ZPOS,
      g_param_spec_int(
          "zpos", "Z position",
          "Place of the plane in the stack, larger is nearer to the viewer; planes that cannot "
          "have it are not used (-1: the driver's)",
          -1, G_MAXINT, -1, flags));
  g_object_class_install_property(
      klass, PROP_ROTATION,
      g_param_spec_flags(
          "rotation", "Rotation",
          "How the display turns the picture, counter-clockwise in degrees, after reflecting it; "
          "planes that cannot are not used",
          rotation_type(), DRM_MODE_ROTATE_0, flags));
  gst_video_overlay_install_properties(klass, PROP_RENDER_RECTANGLE);
}

void install_device_properties(GObjectClass *klass)
{
  const auto flags = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                              GST_PARAM_MUTABLE_READY);
  g_object_class_install_property(
      klass, PROP_DRIVER_NAME,
      g_param_spec_string("driver-name", "Driver name",
                          "Kernel driver of the device to open, such as vkms (empty: any)", "",
                          flags));
  g_object_class_install_property(
      klass, PROP_BUS_ID,
      g_param_spec_string("bus-id", "Bus ID",
                          "Bus id of the device to open, such as pci:0000:00:02.0 (empty: any)", "",
                          flags));
  g_object_class_install_property(
      klass, PROP_DEVICE,
      g_param_spec_string("device", "Device",
                          "Device node to open, such as /dev/dri/card1 (empty: the first with a "
                          "connected output that driver-name and bus-id allow)",
                          "", flags));
  g_object_class_install_property(
      klass, PROP_FD,
      g_param_spec_int(
          "fd", "File descriptor",
          "Open KMS device to use in place of opening one; duplicated, so it stays the "
          "application's, which must leave its events unread while the sink is in PAUSED or "
          "PLAYING; any number of sinks may be given the same one (-1: none)",
          -1, G_MAXINT, -1, flags));
  g_object_class_install_property(
      klass, PROP_LEASE,
      g_param_spec_string(
          "lease", "Lease",
          "Connectors to lease from the device (HDMI-A-1,DP-1), which must be master: the "
          "sink shows on the lease, and so does every other sink with the same device and "
          "lease (empty: no lease)",
          "", flags));
  g_object_class_install_property(
      klass, PROP_CONNECTOR,
      g_param_spec_string(
          "connector", "Connector",
          "Connector to show on, by name (HDMI-A-1) or number (empty: the first that is "
          "connected)",
          "", flags));
  g_object_class_install_property(
      klass, PROP_PLANE_ID,
      g_param_spec_uint(
          "plane-id", "Plane ID",
          "KMS plane to show on (0: the first that takes the picture, primary before overlay)", 0,
          G_MAXUINT, 0, flags));
}

} // namespace

void install_sink_properties(GObjectClass *klass)
{
  klass->set_property = set_property;
  klass->get_property = get_property;
  install_device_properties(klass);
  install_sync_properties(klass);
  install_view_properties(klass);
  install_cursor_properties(klass);
  install_common_properties(
      klass,
      {PROP_ZERO_COPY,
       "What to do about system memory, which has to be copied: require refuses caps that do not "
       "promise DMA buffers",
       PROP_DRM_STATS,
       "Counters since start: frames, imports (framebuffers made), import-hits, copies, "
       "bytes-copied, last-copy-reason, waits (times the streaming thread slept), shown (flips "
       "completed), dropped (replaced before they were shown, too late, or refused before upstream "
       "chose another format), late (shown more than a refresh and an eighth after they were due), "
       "commits, held (buffers held now), fence-timeouts and fence-errors (frames left out since "
       "their fence did not signal, or with an error), release-fences (buffers given back with "
       "one), last-flip-sequence (vblank counter), last-flip-time (CLOCK_MONOTONIC, ns)"});
  for (const GType type : {sync_mode_type(), fit_type(), rotation_type()})
    gst_type_mark_as_plugin_api(type, static_cast<GstPluginAPIFlags>(0));
}

} // namespace gstdrm
