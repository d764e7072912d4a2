// SPDX-License-Identifier: LGPL-2.1-or-later
#include "release_fences.hpp"

#include <memory>
#include <utility>

#include <gst/drm/gstdrm-guard-private.hpp>
#include <gst/drm/gstdrmsync.h>

namespace gstdrm {

namespace {

using When = std::function<bool()>;

GstPadProbeReturn announce(GstPad *, GstPadProbeInfo *info, gpointer data) noexcept
try {
  const auto &when = *static_cast<const When *>(data);
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY(info);
  if (GST_QUERY_TYPE(query) == GST_QUERY_ALLOCATION && (!when || when()))
    gst_drm_query_announce_release_fences(query);
  return GST_PAD_PROBE_OK;
} catch (...) {
  return caught(GST_PAD_PROBE_OK, __func__);
}

void delete_when(gpointer data) noexcept
{
  delete static_cast<When *>(data);
}

} // namespace

void announce_release_fences_on(GstPad *src, std::function<bool()> when)
{
  auto kept = std::make_unique<When>(std::move(when));
  gst_pad_add_probe(
      src,
      static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM | GST_PAD_PROBE_TYPE_PUSH),
      announce, kept.release(), delete_when);
}

} // namespace gstdrm
