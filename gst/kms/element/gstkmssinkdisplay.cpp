// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstkmssinkdisplay.hpp"

#include <mutex>
#include <utility>

#include "gstkmssinkcursor.hpp"

namespace gstdrm {

namespace {

Result<void> show_cursor(kms::Display &display, GstSample *sample)
{
  const Result<std::optional<kms::CursorImage>> image = read_cursor_image(sample);
  return image ? display.set_cursor(*image) : Result<void>(image.error());
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
  std::shared_ptr<kms::Display> display;
  {
    const std::lock_guard guard(lock_);
    std::swap(settings_.cursor_image, image); // the old one is freed without the lock
    display = display_;
  }
  return display ? show_cursor(*display, sample) : Result<void>();
}

Result<void> SinkDisplay::restore_cursor()
{
  move_cursor(std::nullopt, std::nullopt);
  const GstPtr<GstSample> image = settings().cursor_image;
  const std::shared_ptr<kms::Display> display = get();
  return image && display ? show_cursor(*display, image.get()) : Result<void>();
}

Result<void> SinkDisplay::open(kms::DisplayListener &listener)
{
  SinkSettings wanted = settings();
  Result<kms::ModeRequest> mode = kms::parse_mode_request(wanted.mode);
  if (!mode)
    return mode.error();
  wanted.output.mode = *mode;
  Result<std::shared_ptr<kms::Display>> opened =
      kms::Display::open(wanted.device, wanted.output, listener);
  if (!opened)
    return opened.error();
  const std::lock_guard guard(lock_);
  display_ = std::move(*opened);
  display_->set_view(settings_.view);
  return {};
}

void SinkDisplay::close()
{
  std::shared_ptr<kms::Display> last; // closed without the lock
  {
    const std::lock_guard guard(lock_);
    last = std::move(display_);
  }
  // another thread may be inside a snapshot or a property and hold it a moment longer
  if (last)
    last->give_up_output();
}

std::shared_ptr<kms::Display> SinkDisplay::get() const
{
  const std::lock_guard guard(lock_);
  return display_;
}

} // namespace gstdrm
