// SPDX-License-Identifier: LGPL-2.1-or-later
#include "producer_pad.hpp"

#include <memory>
#include <utility>

#include <gst/drm/gstdrm-guard-private.hpp>
#include <gst/drm/gstdrmconstraints.h>
#include <gst/drm/gstdrmsync.h>

namespace gstdrm {

namespace {

using Waits = std::function<bool()>;

void announce(GstQuery *query, gpointer data)
{
  const auto &waits = *static_cast<const Waits *>(data);
  if (!waits || waits())
    gst_drm_query_announce_release_fences(query);
}

void delete_waits(gpointer data) noexcept
{
  delete static_cast<Waits *>(data);
}

} // namespace

void set_up_producer_pad(GstPad *src, std::function<bool()> waits)
{
  auto kept = std::make_unique<Waits>(std::move(waits));
  if (gst_drm_pad_gather_constraints(src, logging<announce>, kept.get(), delete_waits) != 0)
    kept.release(); // the probe has it
}

} // namespace gstdrm
