// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <gst/drm/drm.h>
#include <gst/drm/element/properties.hpp>
#include <gst/drm/gstdrm-guard-private.hpp>
#include <gst/gst.h>
#include <gst/video/videooverlay.h>

#include "gstkmsdmabufsink.hpp"
#include "gstkmssink.hpp"
#include "gstkmssinkdisplay.hpp"

namespace gstdrm {

namespace {

KmsSink &sink_behind(gpointer object)
{
  return *GST_KMS_DMABUF_SINK(object)->sink;
}

// (transfer full) (nullable)
std::shared_ptr<const GstStructure> own_structure(GstStructure *structure)
{
  if (!structure)
    return nullptr;
  return {structure,
          [](const GstStructure *own) { gst_structure_free(const_cast<GstStructure *>(own)); }};
}

using Structure = std::shared_ptr<const GstStructure>;

// What a property is in the settings, from its value and back.
template <typename T> void read(T &to, const GValue *value)
{
  if constexpr (std::is_same_v<T, std::string>) {
    const gchar *text = g_value_get_string(value);
    to = text ? text : "";
  } else if constexpr (std::is_same_v<T, Structure>) {
    const GstStructure *from = gst_value_get_structure(value);
    to = own_structure(from ? gst_structure_copy(from) : nullptr);
  } else if constexpr (std::is_same_v<T, bool>) {
    to = g_value_get_boolean(value) != FALSE;
  } else if constexpr (std::is_same_v<T, guint64>) {
    to = g_value_get_uint64(value);
  } else if constexpr (std::is_enum_v<T>) {
    to = static_cast<T>(g_value_get_enum(value));
  } else {
    to = g_value_get_int(value);
  }
}

template <typename T> void write(const T &from, GValue *value)
{
  if constexpr (std::is_same_v<T, std::string>)
    g_value_set_string(value, from.c_str());
  else if constexpr (std::is_same_v<T, Structure>)
    gst_value_set_structure(value, from.get());
  else if constexpr (std::is_same_v<T, bool>)
    g_value_set_boolean(value, from);
  else if constexpr (std::is_same_v<T, guint64>)
    g_value_set_uint64(value, from);
  else if constexpr (std::is_enum_v<T>)
    g_value_set_enum(value, static_cast<gint>(from));
  else
    g_value_set_int(value, from);
}

// How a property changes the settings, and its value in them; or what it does with the sink.
struct Access {
  void (*set)(SinkSettings &settings, const GValue *value) = nullptr;
  void (*get)(const SinkSettings &settings, GValue *value) = nullptr;
  void (*set_in_sink)(GObject *object, const GValue *value) = nullptr;
  void (*get_from_sink)(KmsSink &sink, GValue *value) = nullptr;
};

// A property that is one member of the settings, named by the members that lead to it.
template <auto... Path> constexpr Access member()
{
  return {[](SinkSettings &settings, const GValue *value) { read((settings.*....*Path), value); },
          [](const SinkSettings &settings, GValue *value) { write((settings.*....*Path), value); }};
}
using kms::DeviceRequest;
using kms::OutputRequest;
using kms::View;
constexpr auto kDevice = &SinkSettings::device;
constexpr auto kOutput = &SinkSettings::output;
constexpr auto kView = &SinkSettings::view;

constexpr char kMatch[] = "match", kAuto[] = "auto"; // values of mode

// -1 if the text is no number.
gint number_or_none(const std::string &text)
{
  gint number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : -1;
}

constexpr std::uint32_t kRotations =
    DRM_MODE_ROTATE_0 | DRM_MODE_ROTATE_90 | DRM_MODE_ROTATE_180 | DRM_MODE_ROTATE_270;

// Without a turn, the picture is only reflected. With more than one, nothing changes.
void set_rotation(GObject *object, const GValue *value)
{
  std::uint32_t rotation = g_value_get_flags(value);
  if (!(rotation & kRotations))
    rotation |= DRM_MODE_ROTATE_0;
  if (std::has_single_bit(rotation & kRotations))
    sink_behind(object).display().change(
        [rotation](SinkSettings &settings) { settings.set_rotation(rotation); });
  else
    GST_ELEMENT_WARNING(
        object, RESOURCE, SETTINGS,
        ("rotation has more than one turn. Give only one of rotate-0, rotate-90, rotate-180 and "
         "rotate-270."),
        ("value 0x%x", rotation));
}

// Sets the property that has the name of the field. Returns false where there is no such field, or
// where its value is none of the property's.
bool set_from_field(GObject *object, const GstStructure *fields, const char *name)
{
  const GValue *field = gst_structure_get_value(fields, name);
  if (!field)
    return false;
  GParamSpec *spec = g_object_class_find_property(G_OBJECT_GET_CLASS(object), name);
  GValue value = G_VALUE_INIT; // a number, which need not be unset
  g_value_init(&value, spec->value_type);
  gchar *text =
      G_VALUE_HOLDS_STRING(field) ? g_value_dup_string(field) : gst_value_serialize(field);
  const bool is_value =
      text && gst_value_deserialize(&value, text) && g_param_value_validate(spec, &value) == FALSE;
  g_free(text);
  if (is_value)
    g_object_set_property(object, name, &value);
  return is_value;
}

// Users of kmssink write zpos and rotation among the plane's properties. The sink has properties
// for these two, which it sets in place of the fields. A field with a wrong value stays, so that
// READY fails and names it.
void set_plane_properties(GObject *object, const GValue *value)
{
  const GstStructure *from = gst_value_get_structure(value);
  GstStructure *others = from ? gst_structure_copy(from) : nullptr;
  if (others)
    for (const char *name : {"zpos", "rotation"})
      if (set_from_field(object, others, name))
        gst_structure_remove_field(others, name);
  const std::shared_ptr<const GstStructure> kept = own_structure(others);
  sink_behind(object).display().change(
      [&](SinkSettings &settings) { settings.plane_properties = kept; });
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

GType fit_type()
{
  static const GEnumValue values[] = {
      {static_cast<gint>(kms::Fit::Contain),
       "As large as fits, the whole picture; pixel for pixel where the hardware does not scale",
       "contain"},
      {static_cast<gint>(kms::Fit::Cover),
       "Fills the whole area, and crops the picture; pixel for pixel where the hardware does not "
       "scale",
       "cover"},
      {static_cast<gint>(kms::Fit::None), "Pixel for pixel, centred, and cropped where too large",
       "none"},
      {static_cast<gint>(kms::Fit::Fill),
       "The whole picture fills the whole area, in the area's aspect ratio; pixel for pixel where "
       "the hardware does not scale",
       "fill"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static("GstKmsDmabufSinkFit", values);
  return type;
}

GType mode_changes_type()
{
  static const GEnumValue values[] = {
      {static_cast<gint>(kms::ModeChanges::Auto),
       "Where the mode on screen cannot show the picture; mode=match: also with the first picture",
       "auto"},
      {static_cast<gint>(kms::ModeChanges::Always),
       "With each picture that another mode fits better, as mode=match says", "always"},
      {static_cast<gint>(kms::ModeChanges::Start), "With the first picture alone", "start"},
      {static_cast<gint>(kms::ModeChanges::Never),
       "Never: the display keeps the mode that it has; one that is dark gets one with the first "
       "picture",
       "never"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static("GstKmsDmabufSinkModeChanges", values);
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

// Width and height; 0 if no display is open.
std::pair<gint, gint> size_of(KmsSink &sink)
{
  const std::shared_ptr<kms::Display> display = sink.display().get();
  const kms::Screen::Size size = display ? display->display_size() : kms::Screen::Size{};
  return {static_cast<gint>(size.width), static_cast<gint>(size.height)};
}

constexpr auto kReadOnly = static_cast<GParamFlags>(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
constexpr auto kReadWrite = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);
constexpr auto kReady = static_cast<GParamFlags>(kReadWrite | GST_PARAM_MUTABLE_READY);
constexpr auto kPlaying = static_cast<GParamFlags>(kReadWrite | GST_PARAM_MUTABLE_PLAYING);

struct Property {
  GParamSpec *spec = nullptr; // null: one of the ids below
  Access access;
};
// Those that GStreamer's interfaces and the element kit install: the first in the list. The ids of
// the others are their places in the list, from 1; that of render-rectangle is the next one.
enum : guint {
  PROP_0,
  PROP_VIDEO_DIRECTION,
  PROP_ZERO_COPY,
  PROP_IMPLICIT_MODIFIER,
  PROP_DRM_STATS
};

// (transfer floating) of the specifications, when this is called first.
const std::vector<Property> &properties()
{
  static const std::vector<Property> all = {
      {nullptr, member<&SinkSettings::direction>()},
      {nullptr, member<&SinkSettings::zero_copy>()},
      {nullptr, member<&SinkSettings::implicit_modifier>()},
      {nullptr,
       {.get_from_sink = [](KmsSink &sink,
                            GValue *value) { g_value_take_boxed(value, sink.stats_structure()); }}},
      // Which display.
      {g_param_spec_string("driver-name", "Driver name",
                           "Kernel driver of the device to open, such as vkms (empty: any)", "",
                           kReady),
       member<kDevice, &DeviceRequest::driver_name>()},
      {g_param_spec_string("bus-id", "Bus ID",
                           "Bus id of the device to open, such as pci:0000:00:02.0 (empty: any)",
                           "", kReady),
       member<kDevice, &DeviceRequest::bus_id>()},
      {g_param_spec_string("device", "Device",
                           "Device node to open, such as /dev/dri/card1 (empty: the first with a "
                           "connected output that driver-name and bus-id allow)",
                           "", kReady),
       member<kDevice, &DeviceRequest::path>()},
      {g_param_spec_int(
           "fd", "File descriptor",
           "Open KMS device to use in place of opening one; duplicated, so it stays the "
           "application's, as do its events, none of which the sink asks for or reads; any number "
           "of sinks may be given the same one (-1: none)",
           -1, G_MAXINT, -1, kReady),
       member<kDevice, &DeviceRequest::fd>()},
      {g_param_spec_string(
           "lease", "Lease",
           "Connectors to lease from the device (HDMI-A-1,DP-1), which must be master: the "
           "sink shows on the lease, and so does every other sink with the same device and "
           "lease (empty: no lease)",
           "", kReady),
       member<kDevice, &DeviceRequest::lease>()},
      {g_param_spec_string(
           "connector", "Connector",
           "Connector to show on, by name (HDMI-A-1) or number (empty: the first that is "
           "connected)",
           "", kReady),
       member<kOutput, &OutputRequest::connector>()},
      {g_param_spec_int("plane-id", "Plane ID",
                        "KMS plane to show on (-1 or 0: the first that "
                        "takes the picture, primary before overlay)",
                        -1, G_MAXINT, -1, kReady),
       {[](SinkSettings &settings, const GValue *value) {
          settings.output.plane_id =
              static_cast<std::uint32_t>(std::max(0, g_value_get_int(value)));
        },
        [](const SinkSettings &settings, GValue *value) {
          const std::uint32_t id = settings.output.plane_id;
          write(id != 0 ? static_cast<gint>(id) : -1, value);
        }}},
      // When a frame is shown.
      {g_param_spec_enum(
           "sync-mode", "Synchronisation mode",
           "How the display waits until a buffer was drawn. Read when the sink goes to PAUSED",
           sync_mode_type(), static_cast<gint>(SyncMode::Auto), kReady),
       member<&SinkSettings::sync_mode>()},
      {g_param_spec_uint64(
           "fence-timeout", "Fence timeout",
           "Nanoseconds after which a frame is left out whose acquire fence has not signalled; "
           "until it has, the frame waits in the sink and not in the kernel (0: no limit). Read "
           "when the sink goes to PAUSED",
           0, G_MAXUINT64, kDefaultFenceTimeout, kReady),
       member<&SinkSettings::fence_timeout>()},
      // How the picture is shown.
      {g_param_spec_string(
           "mode", "Mode",
           "Display mode: match (the mode that fits the video's size and rate), preferred (the "
           "display's own choice), current (no mode set: the picture is shown on a plane beside "
           "what another program shows), auto (current where fd or plane-id is given, the display "
           "is on and a plane is free; else the mode on screen stays where it can show the "
           "picture, "
           "and a dark display gets its own), or one of the connector's in pixels and Hz, such as "
           "1920x1080, 1920x1080@60, 1920x1080@59.94 or 1920x1080i@50 (fields)",
           "auto", kReady),
       member<&SinkSettings::mode>()},
      {g_param_spec_enum(
           "mode-changes", "Mode changes",
           "When mode=auto and mode=match set a mode, which leaves most displays dark "
           "for seconds",
           mode_changes_type(), static_cast<gint>(kms::ModeChanges::Auto), kReady),
       member<kOutput, &OutputRequest::mode_changes>()},
      {g_param_spec_enum(
           "fit", "Fit",
           "How the picture fills the render rectangle, or the mode where there is none",
           fit_type(), static_cast<gint>(kms::Fit::Contain), kPlaying),
       member<kView, &View::fit>()},
      {g_param_spec_int(
           "zpos", "Z position",
           "Place of the plane in the stack, larger is nearer to the viewer; planes that cannot "
           "have this value are not used (-1: the driver's value)",
           -1, G_MAXINT, -1, kPlaying),
       member<kView, &View::zpos>()},
      {g_param_spec_flags(
           "rotation", "Rotation",
           "How the display turns the picture, counter-clockwise in degrees, after reflecting it; "
           "planes that cannot turn it so are not used",
           rotation_type(), DRM_MODE_ROTATE_0, kPlaying),
       {.get = [](const SinkSettings &settings,
                  GValue *value) { g_value_set_flags(value, settings.view.rotation); },
        .set_in_sink = set_rotation}},
      {g_param_spec_boolean("restore", "Restore",
                            "When the sink leaves PAUSED, show again what the display showed "
                            "before; otherwise the last frame stays on screen",
                            TRUE, kPlaying),
       member<&SinkSettings::restore>()},
      {g_param_spec_boolean(
           "upright", "Upright",
           "Turn the picture so that it is upright on a panel that is mounted rotated (the "
           "connector's panel orientation), where a plane can; rotation is applied in addition",
           TRUE, kPlaying),
       member<kView, &View::upright>()},
      // The driver's own properties and features.
      {g_param_spec_boxed(
           "connector-properties", "Connector properties",
           "KMS properties of the connector and their values, such as "
           "\"properties,max-bpc=8,Broadcast-RGB=Full\": integers, or names of values; "
           "they come back when the sink stops",
           GST_TYPE_STRUCTURE, kReady),
       member<&SinkSettings::connector_properties>()},
      {g_param_spec_boxed("plane-properties", "Plane properties",
                          "KMS properties of the plane that shows the picture, and their values; "
                          "planes that cannot have them are not used. zpos and rotation set the "
                          "sink's properties of these names",
                          GST_TYPE_STRUCTURE, kReady),
       {.get = member<&SinkSettings::plane_properties>().get, .set_in_sink = set_plane_properties}},
      {g_param_spec_boolean("vrr", "Variable refresh rate",
                            "The display refreshes when a frame comes; refused where it cannot",
                            FALSE, kReady),
       member<kOutput, &OutputRequest::vrr>()},
      {g_param_spec_boolean(
           "tearing", "Tearing",
           "Frames are shown at once, without waiting for the vertical blank; refused where the "
           "driver cannot",
           FALSE, kReady),
       member<kOutput, &OutputRequest::tearing>()},
      {g_param_spec_int(
           "display-width", "Display width",
           "Width of the display's mode in pixels; before the first frame, of the mode "
           "that another program has set, with mode=current, else of the one that the "
           "display prefers (0: no display is open)",
           0, G_MAXINT, 0, kReadOnly),
       {.get_from_sink = [](KmsSink &sink, GValue *value) { write(size_of(sink).first, value); }}},
      {g_param_spec_int("display-height", "Display height",
                        "Height of the mode that display-width is of", 0, G_MAXINT, 0, kReadOnly),
       {.get_from_sink = [](KmsSink &sink, GValue *value) { write(size_of(sink).second, value); }}},
      // The cursor.
      {g_param_spec_int("cursor-x", "Cursor X",
                        "Left edge of the cursor, in pixels of the mode; may lie outside", G_MININT,
                        G_MAXINT, 0, kPlaying),
       member<&SinkSettings::cursor_x>()},
      {g_param_spec_int("cursor-y", "Cursor Y",
                        "Top edge of the cursor, in pixels of the mode; may lie outside", G_MININT,
                        G_MAXINT, 0, kPlaying),
       member<&SinkSettings::cursor_y>()},
      {g_param_spec_boxed("cursor-image", "Cursor image",
                          "Picture for the hardware cursor, video/x-raw of 8-bit RGB with alpha "
                          "(BGRA, ARGB, RGBA, ABGR; not premultiplied), no larger than the "
                          "hardware's cursor (NULL: no cursor)",
                          GST_TYPE_SAMPLE, kPlaying),
       {.get = [](const SinkSettings &settings,
                  GValue *value) { gst_value_set_sample(value, settings.cursor_image.get()); },
        .set_in_sink =
            [](GObject *object, const GValue *value) {
              sink_behind(object).set_cursor_image(gst_value_get_sample(value));
            }}},
      // kmssink's names, so that its users' command lines work. The default of such a name takes
      // back what the same name has set, and nothing else: the order on a command line does not
      // matter.
      {g_param_spec_int("connector-id", "Connector ID",
                        "kmssink's name: connector by its number (-1: not by its number)", -1,
                        G_MAXINT, -1, kReadWrite),
       {[](SinkSettings &settings, const GValue *value) {
          std::string &connector = settings.output.connector;
          if (const gint number = g_value_get_int(value); number >= 0)
            connector = std::to_string(number);
          else if (number_or_none(connector) >= 0)
            connector.clear();
        },
        [](const SinkSettings &settings, GValue *value) {
          write(number_or_none(settings.output.connector), value);
        }}},
      {g_param_spec_boolean("force-modesetting", "Force modesetting",
                            "kmssink's name: mode=match (true), or mode=auto in place of that",
                            FALSE, kReadWrite),
       {[](SinkSettings &settings, const GValue *value) {
          if (g_value_get_boolean(value))
            settings.mode = kMatch;
          else if (settings.mode == kMatch)
            settings.mode = kAuto;
        },
        [](const SinkSettings &settings, GValue *value) {
          write(settings.mode == kMatch, value);
        }}},
      {g_param_spec_boolean("restore-crtc", "Restore CRTC", "kmssink's name of restore", TRUE,
                            kReadWrite),
       member<&SinkSettings::restore>()},
      {g_param_spec_boolean("can-scale", "Can scale",
                            "kmssink's name: fit=contain (true) or fit=none", TRUE, kReadWrite),
       {[](SinkSettings &settings, const GValue *value) {
          const bool may = g_value_get_boolean(value) != FALSE;
          if (may != (settings.view.fit != kms::Fit::None))
            settings.view.fit = may ? kms::Fit::Contain : kms::Fit::None;
        },
        [](const SinkSettings &settings, GValue *value) {
          write(settings.view.fit != kms::Fit::None, value);
        }}},
      {g_param_spec_boolean(
           "skip-vsync", "Skip vsync",
           "kmssink's name: taken, and without effect, since frames never wait here as it does",
           TRUE, kReadWrite),
       {[](SinkSettings &, const GValue *) {},
        [](const SinkSettings &, GValue *value) { write(true, value); }}},
  };
  return all;
}

guint render_rectangle_id()
{
  return static_cast<guint>(properties().size()) + 1;
}

void set_sink_property(GObject *object, guint id, const GValue *value, GParamSpec *)
{
  if (gst_video_overlay_set_property(object, static_cast<gint>(render_rectangle_id()), id, value))
    return;
  const Access &access = properties()[id - 1].access;
  if (access.set)
    sink_behind(object).display().change(
        [&](SinkSettings &settings) { access.set(settings, value); });
  else
    access.set_in_sink(object, value);
}

void get_sink_property(GObject *object, guint id, GValue *value, GParamSpec *)
{
  const Access &access = properties()[id - 1].access;
  if (access.get)
    access.get(sink_behind(object).display().settings(), value);
  else
    access.get_from_sink(sink_behind(object), value);
}

} // namespace

void install_sink_properties(GObjectClass *klass)
{
  klass->set_property = logging<set_sink_property>;
  klass->get_property = logging<get_sink_property>;
  guint id = PROP_0;
  for (const Property &property : properties())
    if (id++; property.spec)
      g_object_class_install_property(klass, id, property.spec);
  g_object_class_override_property(klass, PROP_VIDEO_DIRECTION, "video-direction");
  gst_video_overlay_install_properties(klass, static_cast<gint>(render_rectangle_id()));
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
       "commits, held (buffers held now), fence-timeouts and fence-errors (frames left out because "
       "their fence did not signal, or with an error), release-fences (buffers given back with "
       "one), overlays (frames with an overlay on a plane), overlays-blended, overlays-left-out, "
       "overlay-refusals (commits refused because of one), last-flip-sequence (vblank counter), "
       "last-flip-time (CLOCK_MONOTONIC, ns)",
       PROP_IMPLICIT_MODIFIER,
       "Caps that name no modifier (memory:DMABuf without DMA_DRM): taken where the driver lists "
       "none (auto), never (refuse), as linear frames (linear), or shown without a modifier "
       "(driver). Read when the sink goes to READY"});
  for (const GType type : {sync_mode_type(), fit_type(), mode_changes_type(), rotation_type()})
    gst_type_mark_as_plugin_api(type, static_cast<GstPluginAPIFlags>(0));
}

} // namespace gstdrm
