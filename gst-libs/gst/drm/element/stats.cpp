// SPDX-License-Identifier: LGPL-2.1-or-later
#include "stats.hpp"

#include <string>

#include <sys/utsname.h>

#include <gst/drm/core/kernel.hpp>

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

// No driver and no element can tell before the first frame that needs what is missing.
void announce_kernel(GstElement *element)
{
  static std::atomic<KernelLack> announced{KernelLack::Nothing};
  utsname system{};
  if (::uname(&system) != 0)
    return;
  const KernelLack lack = kernel_lack(system.release);
  if (announced.exchange(lack) == lack || lack == KernelLack::Nothing)
    return;
  const std::string text = std::string("Linux ") + system.release + " " + describe(lack);
  GError *error =
      g_error_new_literal(GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS, text.c_str());
  gst_element_post_message(element, gst_message_new_info(GST_OBJECT(element), error, text.c_str()));
  g_error_free(error);
}

} // namespace

void Stats::begin(GstElement *element)
{
  announce_kernel(element);
  frames = imports = import_hits = releases = copies = bytes_copied = waits = 0;
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
  return gst_structure_new("drm-stats", "frames", G_TYPE_UINT64, frames.load(), "imports",
                           G_TYPE_UINT64, imports.load(), "import-hits", G_TYPE_UINT64,
                           import_hits.load(), "releases", G_TYPE_UINT64, releases.load(), "copies",
                           G_TYPE_UINT64, copies.load(), "bytes-copied", G_TYPE_UINT64,
                           bytes_copied.load(), "last-copy-reason", G_TYPE_STRING,
                           reason ? reason : "", "waits", G_TYPE_UINT64, waits.load(), nullptr);
}

} // namespace gstdrm
