// SPDX-License-Identifier: LGPL-2.1-or-later
#include "stats.hpp"

namespace gstdrm {

namespace {

void announce_copy(GstElement *element, const char *reason)
{
  GError *error = g_error_new(GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
                              "Frames are copied by the CPU: %s", reason);
  gst_element_post_message(
      element, gst_message_new_info_with_details(
                   GST_OBJECT(element), error, error->message, // gst-launch prints the second text
                   gst_structure_new("gst-drm-copy", "reason", G_TYPE_STRING, reason, nullptr)));
  g_error_free(error);
}

} // namespace

void Stats::reset() noexcept
{
  frames = imports = import_hits = copies = bytes_copied = waits = 0;
  last_copy_reason_ = nullptr;
  announced_ = false;
}

void Stats::count_copy(GstElement *element, std::uint64_t bytes, const char *reason)
{
  copies.fetch_add(1, std::memory_order_relaxed);
  bytes_copied.fetch_add(bytes, std::memory_order_relaxed);
  last_copy_reason_ = reason;
  if (!announced_.exchange(true))
    announce_copy(element, reason);
}

GstStructure *Stats::to_structure() const
{
  const char *reason = last_copy_reason_.load();
  return gst_structure_new(
      "drm-stats", "frames", G_TYPE_UINT64, frames.load(), "imports", G_TYPE_UINT64, imports.load(),
      "import-hits", G_TYPE_UINT64, import_hits.load(), "copies", G_TYPE_UINT64, copies.load(),
      "bytes-copied", G_TYPE_UINT64, bytes_copied.load(), "last-copy-reason", G_TYPE_STRING,
      reason ? reason : "", "waits", G_TYPE_UINT64, waits.load(), nullptr);
}

} // namespace gstdrm
