// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>

#include <gst/drm/drm.h>
#include <gst/drm/element/property_rows.hpp>
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

// 0 if no display is open.
kms::Screen::Size display_size(KmsSink &sink)
{
  const std::shared_ptr<kms::Display> display = sink.display().get();
  return display ? display->display_size() : kms::Screen::Size{};
}

using S = SinkSettings;
using kms::DeviceRequest;
using kms::OutputRequest;
using kms::View;
using Row = Property<S>;

// A text that is empty in place of null.
template <auto... path>
constexpr Row text_property(const char *name, const char *nick, const char *blurb)
{
  using Text = MemberOf<path...>;
  Row row = property<path...>(name, nick, blurb, kReadyProperty);
  row.make_spec = [](const Row &text) {
    return g_param_spec_string(text.name, text.nick, text.blurb, Text::in(S{}).c_str(), text.flags);
  };
  row.set = [](S &settings, const GValue *value) {
    const gchar *text = g_value_get_string(value);
    Text::in(settings) = text ? text : "";
  };
  row.get = [](const S &settings, GValue *value) {
    g_value_set_string(value, Text::in(settings).c_str());
  };
  return row;
}

template <auto member>
constexpr Row structure_property(const char *name, const char *nick, const char *blurb)
{
  return {[](const Row &row) {
            return g_param_spec_boxed(row.name, row.nick, row.blurb, GST_TYPE_STRUCTURE, row.flags);
          },
          [](S &settings, const GValue *value) {
            const GstStructure *from = gst_value_get_structure(value);
            settings.*member = own_structure(from ? gst_structure_copy(from) : nullptr);
          },
          [](const S &settings, GValue *value) {
            gst_value_set_structure(value, (settings.*member).get());
          },
          name,
          nick,
          blurb};
}

// kmssink's names, so that its users' command lines work. The default of such a name takes back
// what the same name has set, and nothing else: the order on a command line does not matter.
template <bool (*read)(const S &), void (*change)(S &, bool)>
constexpr Row alias(const char *name, const char *nick, const char *blurb)
{
  return {[](const Row &row) {
            return g_param_spec_boolean(row.name, row.nick, row.blurb, read(S{}), row.flags);
          },
          [](S &settings, const GValue *value) {
            change(settings, g_value_get_boolean(value) != FALSE);
          },
          [](const S &settings, GValue *value) { g_value_set_boolean(value, read(settings)); },
          name,
          nick,
          blurb,
          kPlainProperty};
}

bool is_match(const S &settings)
{
  return settings.mode == kMatch;
}

void set_match(S &settings, bool match)
{
  if (match)
    settings.mode = kMatch;
  else if (settings.mode == kMatch)
    settings.mode = kAuto;
}

bool scales(const S &settings)
{
  return settings.view.fit != kms::Fit::None;
}

void set_scales(S &settings, bool may)
{
  if (may != scales(settings))
    settings.view.fit = may ? kms::Fit::Contain : kms::Fit::None;
}

bool skips_vsync(const S &)
{
  return true;
}

void ignore(S &, bool) {}

GParamSpec *make_rotation(const Row &row)
{
  gst_type_mark_as_plugin_api(rotation_type(), static_cast<GstPluginAPIFlags>(0));
  return g_param_spec_flags(row.name, row.nick, row.blurb, rotation_type(), DRM_MODE_ROTATE_0,
                            row.flags);
}

GParamSpec *make_sample(const Row &row)
{
  return g_param_spec_boxed(row.name, row.nick, row.blurb, GST_TYPE_SAMPLE, row.flags);
}

// The number of an object; -1: none is named.
GParamSpec *make_id(const Row &row)
{
  return g_param_spec_int(row.name, row.nick, row.blurb, -1, G_MAXINT, -1, row.flags);
}

void set_plane_id(S &settings, const GValue *value)
{
  settings.output.plane_id = static_cast<std::uint32_t>(std::max(0, g_value_get_int(value)));
}

void get_plane_id(const S &settings, GValue *value)
{
  const std::uint32_t id = settings.output.plane_id;
  g_value_set_int(value, id != 0 ? static_cast<gint>(id) : -1);
}

void set_connector_id(S &settings, const GValue *value)
{
  std::string &connector = settings.output.connector;
  if (const gint number = g_value_get_int(value); number >= 0)
    connector = std::to_string(number);
  else if (number_or_none(connector) >= 0)
    connector.clear();
}

void get_connector_id(const S &settings, GValue *value)
{
  g_value_set_int(value, number_or_none(settings.output.connector));
}

constexpr std::array kProperties{
    common_property<&S::direction>(), // of GstVideoDirection
    common_property<&S::zero_copy>(),
    common_property<&S::implicit_modifier>(),
    // Set by a function of their own, set_sink_property():
    Row{make_rotation, nullptr,
        [](const S &settings, GValue *value) { g_value_set_flags(value, settings.view.rotation); },
        "rotation", "Rotation",
        "How the display turns the picture, counter-clockwise in degrees, after reflecting it; "
        "planes that cannot turn it so are not used",
        kPlayingProperty},
    structure_property<&S::plane_properties>(
        "plane-properties", "Plane properties",
        "KMS properties of the plane that shows the picture, and their values; planes that cannot "
        "have them are not used. zpos and rotation set the sink's properties of these names"),
    Row{make_sample, nullptr,
        [](const S &settings, GValue *value) {
          gst_value_set_sample(value, settings.cursor_image.get());
        },
        "cursor-image", "Cursor image",
        "Picture for the hardware cursor, video/x-raw of 8-bit RGB with alpha (BGRA, ARGB, RGBA, "
        "ABGR; not premultiplied), no larger than the hardware's cursor (NULL: no cursor)",
        kPlayingProperty},
    // Which display.
    text_property<&S::device, &DeviceRequest::driver_name>(
        "driver-name", "Driver name",
        "Kernel driver of the device to open, such as vkms (empty: any)"),
    text_property<&S::device, &DeviceRequest::bus_id>(
        "bus-id", "Bus ID", "Bus id of the device to open, such as pci:0000:00:02.0 (empty: any)"),
    text_property<&S::device, &DeviceRequest::path>(
        "device", "Device",
        "Device node to open, such as /dev/dri/card1 (empty: the first with a connected output "
        "that driver-name and bus-id allow)"),
    property<&S::device, &DeviceRequest::fd>(
        "fd", "File descriptor",
        "Open KMS device to use in place of opening one; duplicated, so it stays the "
        "application's, as do its events, none of which the sink asks for or reads; any number of "
        "sinks may be given the same one (-1: none)",
        kReadyProperty, {-1, G_MAXINT}),
    text_property<&S::device, &DeviceRequest::lease>(
        "lease", "Lease",
        "Connectors to lease from the device (HDMI-A-1,DP-1), which must be master: the sink shows "
        "on the lease, and so does every other sink with the same device and lease (empty: no "
        "lease)"),
    text_property<&S::output, &OutputRequest::connector>(
        "connector", "Connector",
        "Connector to show on, by name (HDMI-A-1) or number (empty: the first that is connected)"),
    Row{make_id, set_plane_id, get_plane_id, "plane-id", "Plane ID",
        "KMS plane to show on (-1 or 0: the first that takes the picture, primary before overlay)"},
    // When a frame is shown.
    property<&S::sync_mode>(
        "sync-mode", "Synchronisation mode",
        "How the display waits until a buffer was drawn. Read when the sink goes to PAUSED",
        kReadyProperty, {.type = sync_mode_type}),
    property<&S::fence_timeout>(
        "fence-timeout", "Fence timeout",
        "Nanoseconds after which a frame is left out whose acquire fence has not signalled; until "
        "it has, the frame waits in the sink and not in the kernel (0: no limit). Read when the "
        "sink goes to PAUSED",
        kReadyProperty),
    // How the picture is shown.
    text_property<&S::mode>(
        "mode", "Mode",
        "Display mode: match (the mode that fits the video's size and rate), preferred (the "
        "display's own choice), current (no mode set: the picture is shown on a plane beside what "
        "another program shows), auto (current where fd or plane-id is given, the display is on "
        "and a plane is free; else the mode on screen stays where it can show the picture, and a "
        "dark display gets its own), or one of the connector's in pixels and Hz, such as "
        "1920x1080, 1920x1080@60, 1920x1080@59.94 or 1920x1080i@50 (fields)"),
    property<&S::output, &OutputRequest::mode_changes>(
        "mode-changes", "Mode changes",
        "When mode=auto and mode=match set a mode, which leaves most displays dark for seconds",
        kReadyProperty, {.type = mode_changes_type}),
    property<&S::view, &View::fit>(
        "fit", "Fit", "How the picture fills the render rectangle, or the mode where there is none",
        kPlayingProperty, {.type = fit_type}),
    property<&S::view, &View::zpos>(
        "zpos", "Z position",
        "Place of the plane in the stack, larger is nearer to the viewer; planes that cannot have "
        "this value are not used (-1: the driver's value)",
        kPlayingProperty, {-1, G_MAXINT}),
    property<&S::restore>("restore", "Restore",
                          "When the sink leaves PAUSED, show again what the display showed before; "
                          "otherwise the last frame stays on screen",
                          kPlayingProperty),
    property<&S::view, &View::upright>(
        "upright", "Upright",
        "Turn the picture so that it is upright on a panel that is mounted rotated (the "
        "connector's panel orientation), where a plane can; rotation is applied in addition",
        kPlayingProperty),
    // The driver's own properties and features.
    structure_property<&S::connector_properties>(
        "connector-properties", "Connector properties",
        "KMS properties of the connector and their values, such as "
        "\"properties,max-bpc=8,Broadcast-RGB=Full\": integers, or names of values; they come back "
        "when the sink stops"),
    property<&S::output, &OutputRequest::vrr>(
        "vrr", "Variable refresh rate",
        "The display refreshes when a frame comes; refused where it cannot", kReadyProperty),
    property<&S::output, &OutputRequest::tearing>(
        "tearing", "Tearing",
        "Frames are shown at once, without waiting for the vertical blank; refused where the "
        "driver cannot",
        kReadyProperty),
    // The cursor.
    property<&S::cursor_x>("cursor-x", "Cursor X",
                           "Left edge of the cursor, in pixels of the mode; may lie outside",
                           kPlayingProperty, {G_MININT, G_MAXINT}),
    property<&S::cursor_y>("cursor-y", "Cursor Y",
                           "Top edge of the cursor, in pixels of the mode; may lie outside",
                           kPlayingProperty, {G_MININT, G_MAXINT}),
    // Of kmssink.
    Row{make_id, set_connector_id, get_connector_id, "connector-id", "Connector ID",
        "kmssink's name: connector by its number (-1: not by its number)", kPlainProperty},
    alias<is_match, set_match>("force-modesetting", "Force modesetting",
                               "kmssink's name: mode=match (true), or mode=auto in place of that"),
    property<&S::restore>("restore-crtc", "Restore CRTC", "kmssink's name of restore",
                          kPlainProperty),
    alias<scales, set_scales>("can-scale", "Can scale",
                              "kmssink's name: fit=contain (true) or fit=none"),
    alias<skips_vsync, ignore>(
        "skip-vsync", "Skip vsync",
        "kmssink's name: taken, and without effect, since frames never wait here as it does"),
};
enum : guint {
  kDirectionId = row_id<0>,
  kZeroCopyId = row_id<1>,
  kImplicitModifierId = row_id<2>,
  kRotationId = row_id<3>,
  kPlanePropertiesId = row_id<4>,
  kCursorImageId = row_id<5>,
  kDisplayWidthId = row_id<kProperties.size()>,
  kDisplayHeightId,
  kRenderRectangleId,
};

void set_sink_property(GObject *object, guint id, const GValue *value, GParamSpec *spec)
{
  KmsSink &sink = sink_behind(object);
  if (gst_video_overlay_set_property(object, static_cast<gint>(kRenderRectangleId), id, value))
    return;
  if (id == kRotationId)
    set_rotation(object, value);
  else if (id == kPlanePropertiesId)
    set_plane_properties(object, value);
  else if (id == kCursorImageId)
    sink.set_cursor_image(gst_value_get_sample(value));
  else
    set_property(object, kProperties, id, value, spec,
                 [&sink](const auto &set) { sink.display().change(set); });
}

void get_sink_property(GObject *object, guint id, GValue *value, GParamSpec *spec)
{
  KmsSink &sink = sink_behind(object);
  if (id == kStatsId)
    g_value_take_boxed(value, sink.stats_structure());
  else if (id == kDisplayWidthId)
    g_value_set_int(value, static_cast<gint>(display_size(sink).width));
  else if (id == kDisplayHeightId)
    g_value_set_int(value, static_cast<gint>(display_size(sink).height));
  else
    get_property(object, kProperties, id, value, spec, sink.display().settings());
}

void install_display_size(GObjectClass *klass)
{
  constexpr auto kReadOnly = static_cast<GParamFlags>(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  g_object_class_install_property(
      klass, kDisplayWidthId,
      g_param_spec_int("display-width", "Display width",
                       "Width of the display's mode in pixels; before the first frame, of the mode "
                       "that another program has set, with mode=current, else of the one that the "
                       "display prefers (0: no display is open)",
                       0, G_MAXINT, 0, kReadOnly));
  g_object_class_install_property(klass, kDisplayHeightId,
                                  g_param_spec_int("display-height", "Display height",
                                                   "Height of the mode that display-width is of", 0,
                                                   G_MAXINT, 0, kReadOnly));
}

} // namespace

void install_sink_properties(GObjectClass *klass)
{
  klass->set_property = logging<set_sink_property>;
  klass->get_property = logging<get_sink_property>;
  install_properties(klass, kProperties);
  install_display_size(klass);
  g_object_class_override_property(klass, kDirectionId, "video-direction");
  gst_video_overlay_install_properties(klass, static_cast<gint>(kRenderRectangleId));
  install_common_properties(
      klass,
      {kZeroCopyId,
       "What to do about system memory, which has to be copied: require refuses caps that do not "
       "promise DMA buffers",
       kStatsId,
       "Counters since start: frames, imports (framebuffers made), import-hits, "
       "releases (framebuffers no longer kept), copies, bytes-copied, last-copy-reason, waits "
       "(times the streaming thread slept), shown (flips "
       "completed), dropped (replaced before they were shown, too late, or refused before upstream "
       "chose another format), late (shown more than a refresh and an eighth after they were due), "
       "commits, held (buffers held now), fence-timeouts and fence-errors (frames left out because "
       "their fence did not signal, or with an error), release-fences (buffers given back with "
       "one), overlays (frames with an overlay on a plane), overlays-blended, overlays-left-out, "
       "overlay-refusals (commits refused because of one), last-flip-sequence (vblank counter), "
       "last-flip-time (CLOCK_MONOTONIC, ns)",
       kImplicitModifierId,
       "Caps that name no modifier (memory:DMABuf without DMA_DRM): taken where the driver lists "
       "none (auto), never (refuse), as linear frames (linear), or shown without a modifier "
       "(driver). Read when the sink goes to READY"});
}

} // namespace gstdrm
