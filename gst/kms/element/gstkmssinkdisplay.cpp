// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstkmssinkdisplay.hpp"

#include <cerrno>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gstkmssinkcursor.hpp"

namespace gstdrm {

namespace {

Result<void> show_cursor(kms::Display &display, GstSample *sample)
{
  const Result<std::optional<kms::CursorImage>> image = read_cursor_image(sample);
  return image ? display.set_cursor(*image) : Result<void>(image.error());
}

// GStreamer turns clockwise, KMS counter-clockwise after it has reflected.
std::uint32_t rotation_of(GstVideoOrientationMethod direction)
{
  switch (direction) {
  case GST_VIDEO_ORIENTATION_90R:
    return DRM_MODE_ROTATE_270;
  case GST_VIDEO_ORIENTATION_180:
    return DRM_MODE_ROTATE_180;
  case GST_VIDEO_ORIENTATION_90L:
    return DRM_MODE_ROTATE_90;
  case GST_VIDEO_ORIENTATION_HORIZ:
    return DRM_MODE_ROTATE_0 | DRM_MODE_REFLECT_X;
  case GST_VIDEO_ORIENTATION_VERT:
    return DRM_MODE_ROTATE_0 | DRM_MODE_REFLECT_Y;
  case GST_VIDEO_ORIENTATION_UL_LR:
    return DRM_MODE_ROTATE_90 | DRM_MODE_REFLECT_X;
  case GST_VIDEO_ORIENTATION_UR_LL:
    return DRM_MODE_ROTATE_90 | DRM_MODE_REFLECT_Y;
  default:
    return DRM_MODE_ROTATE_0;
  }
}

// Nothing: the value is of a type that no KMS property has.
std::optional<kms::PropertyWish> read_wish(const std::string &name, const GValue *value)
{
  if (G_VALUE_HOLDS_STRING(value) && g_value_get_string(value))
    return kms::PropertyWish{name, std::string(g_value_get_string(value))};
  if (G_VALUE_HOLDS_BOOLEAN(value))
    return kms::PropertyWish{name, std::int64_t{g_value_get_boolean(value) ? 1 : 0}};
  if (G_VALUE_HOLDS_INT(value))
    return kms::PropertyWish{name, std::int64_t{g_value_get_int(value)}};
  if (G_VALUE_HOLDS_INT64(value))
    return kms::PropertyWish{name, std::int64_t{g_value_get_int64(value)}};
  if (G_VALUE_HOLDS_UINT(value))
    return kms::PropertyWish{name, std::uint64_t{g_value_get_uint(value)}};
  if (G_VALUE_HOLDS_UINT64(value))
    return kms::PropertyWish{name, std::uint64_t{g_value_get_uint64(value)}};
  return std::nullopt;
}

Result<std::vector<kms::PropertyWish>> read_wishes(const char *property,
                                                   const GstStructure *structure)
{
  std::vector<kms::PropertyWish> wishes;
  for (gint i = 0; structure && i < gst_structure_n_fields(structure); i++) {
    const std::string name = gst_structure_nth_field_name(structure, static_cast<guint>(i));
    const GValue *value = gst_structure_get_value(structure, name.c_str());
    const std::optional<kms::PropertyWish> wish = read_wish(name, value);
    if (!wish)
      return Error{ErrorCode::Device,
                   std::string(property) + ": " + name + " is a " + G_VALUE_TYPE_NAME(value) +
                       ". Give an integer, a boolean, or a string with the name of a value.",
                   EINVAL};
    wishes.push_back(*wish);
  }
  return wishes;
}

} // namespace

SinkSettings SinkDisplay::settings() const
{
  const std::lock_guard guard(lock_);
  return settings_;
}

ZeroCopy SinkDisplay::zero_copy() const
{
  const std::lock_guard guard(lock_);
  return settings_.zero_copy;
}

ImplicitModifier SinkDisplay::implicit_modifier() const
{
  const std::lock_guard guard(lock_);
  return settings_.implicit_modifier;
}

void SinkDisplay::change(const std::function<void(SinkSettings &)> &change)
{
  const std::lock_guard guard(lock_);
  change(settings_);
}

void SinkDisplay::change_view(const std::function<void(kms::View &)> &change)
{
  const std::lock_guard guard(lock_);
  change(settings_.view);
  if (display_)
    display_->set_view(settings_.view);
}

void SinkDisplay::set_restore(bool restore)
{
  const std::lock_guard guard(lock_);
  settings_.restore = restore;
  if (display_)
    display_->set_restore(restore);
}

void SinkDisplay::set_rotation(std::uint32_t rotation)
{
  const std::lock_guard guard(lock_);
  settings_.direction = GST_VIDEO_ORIENTATION_CUSTOM;
  settings_.view.rotation = rotation;
  settings_.view.rotation_is_optional = false;
  if (display_)
    display_->set_view(settings_.view);
}

void SinkDisplay::set_direction(GstVideoOrientationMethod direction)
{
  const std::lock_guard guard(lock_);
  settings_.direction = direction;
  follow_direction();
}

void SinkDisplay::set_tag_direction(GstVideoOrientationMethod direction)
{
  const std::lock_guard guard(lock_);
  settings_.tag_direction = direction;
  if (settings_.direction == GST_VIDEO_ORIENTATION_AUTO)
    follow_direction();
}

// With the lock held.
void SinkDisplay::follow_direction()
{
  const GstVideoOrientationMethod direction = settings_.direction == GST_VIDEO_ORIENTATION_AUTO
                                                  ? settings_.tag_direction
                                                  : settings_.direction;
  if (direction == GST_VIDEO_ORIENTATION_CUSTOM)
    return;
  settings_.view.rotation = rotation_of(direction);
  settings_.view.rotation_is_optional = settings_.direction == GST_VIDEO_ORIENTATION_AUTO;
  if (display_)
    display_->set_view(settings_.view);
}

void SinkDisplay::move_cursor(std::optional<gint> x, std::optional<gint> y)
{
  const std::lock_guard guard(lock_);
  settings_.cursor_x = x.value_or(settings_.cursor_x);
  settings_.cursor_y = y.value_or(settings_.cursor_y);
  if (display_)
    display_->move_cursor(settings_.cursor_x, settings_.cursor_y);
}

Result<void> SinkDisplay::set_cursor_image(GstSample *sample)
{
  auto image = GstPtr<GstSample>::share(sample);
  {
    const std::lock_guard guard(lock_);
    std::swap(settings_.cursor_image, image); // the old one is freed without the lock
  }
  return show_wanted_cursor();
}

// Without the lock, so that another thread may set another image meanwhile: whoever shows an image
// that is not wanted any more shows the next one too.
Result<void> SinkDisplay::show_wanted_cursor()
{
  while (true) {
    const GstPtr<GstSample> wanted = settings().cursor_image;
    const std::shared_ptr<kms::Display> display = get();
    if (!display)
      return {};
    Result<void> shown = show_cursor(*display, wanted.get());
    const std::lock_guard guard(lock_);
    if (settings_.cursor_image.get() == wanted.get())
      return shown;
  }
}

Result<void> SinkDisplay::restore_cursor()
{
  move_cursor(std::nullopt, std::nullopt);
  return settings().cursor_image ? show_wanted_cursor() : Result<void>();
}

Result<std::shared_ptr<kms::Display>> SinkDisplay::open_display(kms::DisplayListener &listener,
                                                                const kms::Display *former) const
{
  SinkSettings wanted = settings();
  Result<kms::ModeRequest> mode = kms::parse_mode_request(wanted.mode);
  if (!mode)
    return mode.error();
  wanted.output.mode = *mode;
  wanted.output.implicit_modifiers = wanted.implicit_modifier == ImplicitModifier::Driver;
  if (former && former->is_joined()) // the display stays the other program's
    wanted.output.mode.kind = kms::ModeRequest::Kind::Current;
  for (const auto &[property, from, to] :
       {std::tuple("connector-properties", wanted.connector_properties.get(),
                   &wanted.output.connector_properties),
        std::tuple("plane-properties", wanted.plane_properties.get(),
                   &wanted.output.plane_properties)}) {
    Result<std::vector<kms::PropertyWish>> wishes = read_wishes(property, from);
    if (!wishes)
      return wishes.error();
    *to = std::move(*wishes);
  }
  Result<std::shared_ptr<kms::Display>> opened =
      kms::Display::open(wanted.device, wanted.output, listener);
  if (!opened)
    return opened;
  if (Result<void> view = (*opened)->check_view(settings().view); !view)
    return view.error();
  return opened;
}

// Returns the one before.
std::shared_ptr<kms::Display> SinkDisplay::set_display(std::shared_ptr<kms::Display> display)
{
  const std::lock_guard guard(lock_);
  display_.swap(display);
  display_->set_view(settings_.view);
  display_->set_restore(settings_.restore);
  return display;
}

Result<void> SinkDisplay::open(kms::DisplayListener &listener)
{
  Result<std::shared_ptr<kms::Display>> opened = open_display(listener, nullptr);
  if (!opened)
    return opened.error();
  (void)set_display(std::move(*opened));
  return {};
}

Result<void> SinkDisplay::open_another(kms::DisplayListener &listener)
{
  Result<std::shared_ptr<kms::Display>> opened = open_display(listener, get().get());
  if (!opened)
    return opened.error();
  if (Result<void> taken = (*opened)->take_output(); !taken)
    return taken;
  return set_display(std::move(*opened))->give_up_output();
}

Result<void> SinkDisplay::close()
{
  std::shared_ptr<kms::Display> last; // closed without the lock
  {
    const std::lock_guard guard(lock_);
    last = std::move(display_);
  }
  // another thread may be inside a snapshot or a property and hold it a moment longer
  return last ? last->give_up_output() : Result<void>();
}

std::shared_ptr<kms::Display> SinkDisplay::get() const
{
  const std::lock_guard guard(lock_);
  return display_;
}

} // namespace gstdrm
