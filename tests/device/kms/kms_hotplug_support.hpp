// SPDX-License-Identifier: LGPL-2.1-or-later
// What tests of displays that come and go share.
#pragma once

#include <string>

#include "kms_support.hpp"

namespace gstdrm::test {

// An event comes within milliseconds; a loaded machine is given 20 s.
GstPtr<GstMessage> wait_for(Sink &sink, GstMessageType types);

// The next element message is kms-hotplug and says this.
void expect_hotplug(Sink &sink, const std::string &connector, bool connected);

// Counts RECONFIGURE events that arrive upstream.
class Reconfigures {
public:
  explicit Reconfigures(Sink &sink)
  {
    const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(sink.element(), "sink"));
    peer_.reset(gst_pad_get_peer(pad.get()));
    probe_ = gst_pad_add_probe(
        peer_.get(), GST_PAD_PROBE_TYPE_EVENT_UPSTREAM,
        [](GstPad *, GstPadProbeInfo *info, gpointer count) {
          if (GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) == GST_EVENT_RECONFIGURE)
            g_atomic_int_inc(static_cast<gint *>(count));
          return GST_PAD_PROBE_OK;
        },
        &count_, nullptr);
  }
  Reconfigures(const Reconfigures &) = delete;
  Reconfigures &operator=(const Reconfigures &) = delete;
  ~Reconfigures() { gst_pad_remove_probe(peer_.get(), probe_); }
  // The event comes with the message that the connector has changed.
  void expect_more_than(int before) const
  {
    for (int i = 0; i < 2000 && count() <= before; i++)
      g_usleep(5000);
    ck_assert_int_gt(count(), before);
  }
  [[nodiscard]] int count() const { return g_atomic_int_get(&count_); }

private:
  GstPtr<GstPad> peer_;
  gulong probe_ = 0;
  gint count_ = 0;
};

} // namespace gstdrm::test
