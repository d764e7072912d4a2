// SPDX-License-Identifier: LGPL-2.1-or-later
// GstColorBalance of kmsdmabufsink: the channels that the display's driver has, and none where it
// has none. Any thread.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/gst.h>
#include <gst/video/colorbalance.h>

#include "gstkmssinkdisplay.hpp"

namespace gstdrm {

class SinkBalance {
public:
  // `display` outlives the balance.
  explicit SinkBalance(SinkDisplay &display) : display_(display) {}
  SinkBalance(const SinkBalance &) = delete;
  SinkBalance &operator=(const SinkBalance &) = delete;
  ~SinkBalance();

  // (transfer none) (element-type GstColorBalanceChannel) Of the display that is open; none in
  // NULL. Channels that were handed out live as long as the sink.
  const GList *channels();
  // Returns false if there is no such channel. The next frame has the value.
  bool set(std::string_view label, gint value);
  // What was set, else what the driver had when the display was opened.
  [[nodiscard]] gint get(std::string_view label) const;

private:
  SinkDisplay &display_;
  OrderedMutex lock_{kLeafLockRank, "SinkBalance::lock_"}; // guards the two below
  std::vector<kms::BalanceChannel> listed_;                // what lists_.back() has
  std::vector<GList *> lists_;                             // earlier ones may be in use
};

void sink_balance_init(GstColorBalanceInterface *iface) noexcept;

} // namespace gstdrm
