// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstkmssinkbalance.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <mutex>

#include <gst/drm/gstdrm-guard-private.hpp>

#include "gstkmsdmabufsink.hpp"
#include "gstkmssink.hpp"

namespace gstdrm {

namespace {

// The names that GStreamer's other elements have, by kms::BalanceKind.
constexpr std::array<const char *, kms::kBalanceKinds> kLabels = {"BRIGHTNESS", "CONTRAST",
                                                                  "SATURATION", "HUE"};

std::optional<std::size_t> kind_of(std::string_view label)
{
  const auto it = std::find(kLabels.begin(), kLabels.end(), label);
  return it == kLabels.end() ? std::nullopt : std::optional<std::size_t>(it - kLabels.begin());
}

std::vector<kms::BalanceChannel> channels_of(const SinkDisplay &display)
{
  const std::shared_ptr<kms::Display> open = display.get();
  return open ? open->balance_channels() : std::vector<kms::BalanceChannel>();
}

GList *make_list(const std::vector<kms::BalanceChannel> &channels)
{
  GList *list = nullptr;
  for (const kms::BalanceChannel &channel : channels) {
    auto *made = GST_COLOR_BALANCE_CHANNEL(g_object_new(GST_TYPE_COLOR_BALANCE_CHANNEL, nullptr));
    made->label = g_strdup(kLabels[static_cast<std::size_t>(channel.kind)]);
    made->min_value = channel.low;
    made->max_value = channel.high;
    list = g_list_append(list, made);
  }
  return list;
}

} // namespace

SinkBalance::~SinkBalance()
{
  for (GList *list : lists_)
    g_list_free_full(list, g_object_unref);
}

const GList *SinkBalance::channels()
{
  std::vector<kms::BalanceChannel> now = channels_of(display_);
  const std::lock_guard guard(lock_);
  if (now.empty())
    return nullptr;
  if (lists_.empty() || now != listed_) {
    lists_.push_back(make_list(now));
    listed_ = std::move(now);
  }
  return lists_.back();
}

bool SinkBalance::set(std::string_view label, gint value)
{
  const std::optional<std::size_t> kind = kind_of(label);
  if (!kind)
    return false;
  display_.change([=](SinkSettings &settings) { settings.view.balance[*kind] = value; });
  return true;
}

gint SinkBalance::get(std::string_view label) const
{
  const std::optional<std::size_t> kind = kind_of(label);
  if (!kind)
    return 0;
  if (const auto set = display_.settings().view.balance[*kind])
    return *set;
  for (const kms::BalanceChannel &channel : channels_of(display_))
    if (static_cast<std::size_t>(channel.kind) == *kind)
      return channel.found;
  return 0;
}

namespace {

SinkBalance &balance_of(GstColorBalance *balance)
{
  return GST_KMS_DMABUF_SINK(balance)->sink->balance();
}

// A paused picture is shown again with it.
void set_value(GstColorBalance *balance, GstColorBalanceChannel *channel, gint value)
{
  const gint inside = CLAMP(value, channel->min_value, channel->max_value);
  if (!balance_of(balance).set(channel->label, inside))
    return;
  GST_KMS_DMABUF_SINK(balance)->sink->repeat_frame();
  gst_color_balance_value_changed(balance, channel, inside);
}

gint get_value(GstColorBalance *balance, GstColorBalanceChannel *channel)
{
  return balance_of(balance).get(channel->label);
}

GstColorBalanceType balance_type(GstColorBalance *) noexcept
{
  return GST_COLOR_BALANCE_HARDWARE;
}

} // namespace

void sink_balance_init(GstColorBalanceInterface *iface) noexcept
{
  iface->list_channels = logging<balance_of, &SinkBalance::channels>;
  iface->set_value = logging<set_value>;
  iface->get_value = logging<get_value>;
  iface->get_balance_type = balance_type;
}

} // namespace gstdrm
