// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstkmssinkproperties.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include <gst/drm/gstdrm-guard-private.hpp>
#include <gst/video/videooverlay.h>

#include "gstkmsdmabufsink.hpp"
#include "gstkmssink.hpp"

namespace gstdrm {

namespace {

KmsSink &sink_of(gpointer object)
{
  return *GST_KMS_DMABUF_SINK(object)->sink;
}

void copy_string(std::string &to, const GValue *value)
{
  const gchar *text = g_value_get_string(value);
  to = text ? text : "";
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

// In pixels; 0 if no display is open.
kms::Display::Size display_size(GObject *object)
{
  const std::shared_ptr<kms::Display> display = sink_of(object).display().get();
  return display ? display->display_size() : kms::Display::Size{};
}

constexpr std::uint32_t kRotations =
    DRM_MODE_ROTATE_0 | DRM_MODE_ROTATE_90 | DRM_MODE_ROTATE_180 | DRM_MODE_ROTATE_270;

// A rotation with the flags of `value`; nothing where a picture cannot be turned so. Without a
// turn, the picture is only reflected.
std::optional<std::uint32_t> rotation_of(GObject *object, std::uint32_t value)
{
  if (!(value & kRotations))
    value |= DRM_MODE_ROTATE_0;
  if (std::has_single_bit(value & kRotations))
    return value;
  GST_ELEMENT_WARNING(
      object, RESOURCE, SETTINGS,
      ("rotation has more than one turn. Give only one of rotate-0, rotate-90, rotate-180 and "
       "rotate-270."),
      ("value 0x%x", value));
  return std::nullopt;
}

// What may change while frames are shown. false: the property is another one.
bool set_view_property(GObject *object, guint id, const GValue *value)
{
  SinkDisplay &display = sink_of(object).display();
  switch (id) {
  case PROP_FIT:
    display.change_view(
        [=](kms::View &view) { view.fit = static_cast<kms::Fit>(g_value_get_enum(value)); });
    return true;
  case PROP_ZPOS:
    display.change_view([=](kms::View &view) { view.zpos = g_value_get_int(value); });
    return true;
  case PROP_CAN_SCALE: {
    const bool may = g_value_get_boolean(value) != FALSE;
    display.change_view([may](kms::View &view) {
      if (may != (view.fit != kms::Fit::None))
        view.fit = may ? kms::Fit::Contain : kms::Fit::None;
    });
    return true;
  }
  case PROP_RESTORE:
  case PROP_RESTORE_CRTC:
    display.set_restore(g_value_get_boolean(value) != FALSE);
    return true;
  case PROP_ROTATION:
    if (const auto rotation = rotation_of(object, g_value_get_flags(value)))
      display.set_rotation(*rotation);
    return true;
  case PROP_VIDEO_DIRECTION:
    display.set_direction(static_cast<GstVideoOrientationMethod>(g_value_get_enum(value)));
    return true;
  case PROP_UPRIGHT:
    display.change_view([=](kms::View &view) { view.upright = g_value_get_boolean(value); });
    return true;
  default:
    return gst_video_overlay_set_property(object, PROP_RENDER_RECTANGLE, id, value) != FALSE;
  }
}

bool set_cursor_property(GObject *object, guint id, const GValue *value)
{
  SinkDisplay &display = sink_of(object).display();
  switch (id) {
  case PROP_CURSOR_X:
    display.move_cursor(g_value_get_int(value), std::nullopt);
    return true;
  case PROP_CURSOR_Y:
    display.move_cursor(std::nullopt, g_value_get_int(value));
    return true;
  case PROP_CURSOR_IMAGE:
    sink_of(object).set_cursor_image(gst_value_get_sample(value));
    return true;
  default:
    return false;
  }
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
  sink_of(object).display().change(
      [&](SinkSettings &settings) { settings.plane_properties = kept; });
}

bool set_driver_setting(SinkSettings &settings, guint id, const GValue *value)
{
  switch (id) {
  case PROP_CONNECTOR_PROPERTIES: {
    const GstStructure *from = gst_value_get_structure(value);
    settings.connector_properties = own_structure(from ? gst_structure_copy(from) : nullptr);
    return true;
  }
  case PROP_VRR:
    settings.output.vrr = g_value_get_boolean(value) != FALSE;
    return true;
  case PROP_TEARING:
    settings.output.tearing = g_value_get_boolean(value) != FALSE;
    return true;
  default:
    return false;
  }
}

// What the next change of state reads. Returns false if there is no such property.
bool set_setting(SinkSettings &settings, guint id, const GValue *value)
{
  switch (id) {
  case PROP_DRIVER_NAME:
    copy_string(settings.device.driver_name, value);
    return true;
  case PROP_BUS_ID:
    copy_string(settings.device.bus_id, value);
    return true;
  case PROP_DEVICE:
    copy_string(settings.device.path, value);
    return true;
  case PROP_FD:
    settings.device.fd = g_value_get_int(value);
    return true;
  case PROP_LEASE:
    copy_string(settings.device.lease, value);
    return true;
  case PROP_CONNECTOR:
    copy_string(settings.output.connector, value);
    return true;
  case PROP_PLANE_ID:
    settings.output.plane_id = static_cast<std::uint32_t>(std::max(0, g_value_get_int(value)));
    return true;
  // The defaults of kmssink's names take back what the same name has set, and nothing else: the
  // order of the properties on a command line does not matter.
  case PROP_CONNECTOR_ID:
    if (const gint number = g_value_get_int(value); number >= 0)
      settings.output.connector = std::to_string(number);
    else if (number_or_none(settings.output.connector) >= 0)
      settings.output.connector.clear();
    return true;
  case PROP_FORCE_MODESETTING:
    if (g_value_get_boolean(value))
      settings.mode = kMatch;
    else if (settings.mode == kMatch)
      settings.mode = kAuto;
    return true;
  case PROP_SKIP_VSYNC:
    return true; // the streaming thread never sleeps until a vertical blank
  case PROP_MODE:
    copy_string(settings.mode, value);
    return true;
  case PROP_MODE_CHANGES:
    settings.output.mode_changes = static_cast<kms::ModeChanges>(g_value_get_enum(value));
    return true;
  case PROP_ZERO_COPY:
    settings.zero_copy = zero_copy_from(value);
    return true;
  case PROP_IMPLICIT_MODIFIER:
    settings.implicit_modifier = implicit_modifier_from(value);
    return true;
  case PROP_SYNC_MODE:
    settings.sync_mode = static_cast<SyncMode>(g_value_get_enum(value));
    return true;
  case PROP_FENCE_TIMEOUT:
    settings.fence_timeout = g_value_get_uint64(value);
    return true;
  default:
    return set_driver_setting(settings, id, value);
  }
}

bool get_driver_setting(const SinkSettings &settings, guint id, GValue *value)
{
  switch (id) {
  case PROP_CONNECTOR_PROPERTIES:
    gst_value_set_structure(value, settings.connector_properties.get());
    return true;
  case PROP_PLANE_PROPERTIES:
    gst_value_set_structure(value, settings.plane_properties.get());
    return true;
  case PROP_RESTORE:
  case PROP_RESTORE_CRTC:
    g_value_set_boolean(value, settings.restore);
    return true;
  case PROP_VRR:
    g_value_set_boolean(value, settings.output.vrr);
    return true;
  case PROP_TEARING:
    g_value_set_boolean(value, settings.output.tearing);
    return true;
  default:
    return false;
  }
}

bool get_view(const kms::View &view, guint id, GValue *value)
{
  switch (id) {
  case PROP_CAN_SCALE:
    g_value_set_boolean(value, view.fit != kms::Fit::None);
    return true;
  case PROP_FIT:
    g_value_set_enum(value, static_cast<gint>(view.fit));
    return true;
  case PROP_ZPOS:
    g_value_set_int(value, view.zpos);
    return true;
  case PROP_ROTATION:
    g_value_set_flags(value, view.rotation);
    return true;
  case PROP_UPRIGHT:
    g_value_set_boolean(value, view.upright);
    return true;
  default:
    return false;
  }
}

// Returns false if there is no such property among these.
bool get_setting(const SinkSettings &settings, guint id, GValue *value)
{
  switch (id) {
  case PROP_DRIVER_NAME:
    g_value_set_string(value, settings.device.driver_name.c_str());
    return true;
  case PROP_BUS_ID:
    g_value_set_string(value, settings.device.bus_id.c_str());
    return true;
  case PROP_DEVICE:
    g_value_set_string(value, settings.device.path.c_str());
    return true;
  case PROP_FD:
    g_value_set_int(value, settings.device.fd);
    return true;
  case PROP_LEASE:
    g_value_set_string(value, settings.device.lease.c_str());
    return true;
  case PROP_CONNECTOR:
    g_value_set_string(value, settings.output.connector.c_str());
    return true;
  case PROP_PLANE_ID:
    g_value_set_int(value,
                    settings.output.plane_id ? static_cast<gint>(settings.output.plane_id) : -1);
    return true;
  case PROP_CONNECTOR_ID:
    g_value_set_int(value, number_or_none(settings.output.connector));
    return true;
  case PROP_FORCE_MODESETTING:
    g_value_set_boolean(value, settings.mode == kMatch);
    return true;
  case PROP_SKIP_VSYNC:
    g_value_set_boolean(value, TRUE);
    return true;
  case PROP_MODE:
    g_value_set_string(value, settings.mode.c_str());
    return true;
  case PROP_MODE_CHANGES:
    g_value_set_enum(value, static_cast<gint>(settings.output.mode_changes));
    return true;
  case PROP_VIDEO_DIRECTION:
    g_value_set_enum(value, settings.direction);
    return true;
  case PROP_ZERO_COPY:
    set_zero_copy(value, settings.zero_copy);
    return true;
  case PROP_IMPLICIT_MODIFIER:
    set_implicit_modifier(value, settings.implicit_modifier);
    return true;
  case PROP_SYNC_MODE:
    g_value_set_enum(value, static_cast<gint>(settings.sync_mode));
    return true;
  case PROP_FENCE_TIMEOUT:
    g_value_set_uint64(value, settings.fence_timeout);
    return true;
  case PROP_CURSOR_X:
    g_value_set_int(value, settings.cursor_x);
    return true;
  case PROP_CURSOR_Y:
    g_value_set_int(value, settings.cursor_y);
    return true;
  case PROP_CURSOR_IMAGE:
    gst_value_set_sample(value, settings.cursor_image.get());
    return true;
  default:
    return get_driver_setting(settings, id, value) || get_view(settings.view, id, value);
  }
}

} // namespace

void set_sink_property(GObject *object, guint id, const GValue *value, GParamSpec *spec)
{
  if (set_view_property(object, id, value) || set_cursor_property(object, id, value))
    return;
  if (id == PROP_PLANE_PROPERTIES) {
    set_plane_properties(object, value);
    return;
  }
  bool known = false;
  sink_of(object).display().change(
      [&](SinkSettings &settings) { known = set_setting(settings, id, value); });
  if (!known)
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
}

void get_sink_property(GObject *object, guint id, GValue *value, GParamSpec *spec)
{
  if (id == PROP_DRM_STATS)
    g_value_take_boxed(value, sink_of(object).stats_structure());
  else if (id == PROP_DISPLAY_WIDTH)
    g_value_set_int(value, static_cast<gint>(display_size(object).width));
  else if (id == PROP_DISPLAY_HEIGHT)
    g_value_set_int(value, static_cast<gint>(display_size(object).height));
  else if (!get_setting(sink_of(object).display().settings(), id, value))
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
}

} // namespace gstdrm
