// SPDX-License-Identifier: LGPL-2.1-or-later
// The `drm-stats` and `zero-copy` properties that every element here has (DESIGN.md, the buffer
// contract): counters since start, and the rule that a copy is never silent. Never installed.
#pragma once

#include <atomic>
#include <cstdint>

#include <gst/gst.h>

namespace gstdrm {

// Counters of one element. Written by the streaming thread, read by any.
class Stats {
public:
  std::atomic<std::uint64_t> frames{0};
  std::atomic<std::uint64_t> imports{0};
  std::atomic<std::uint64_t> import_hits{0};
  std::atomic<std::uint64_t> copies{0};
  std::atomic<std::uint64_t> bytes_copied{0};
  std::atomic<std::uint64_t> waits{0};

  void reset() noexcept
  {
    frames = imports = import_hits = copies = bytes_copied = waits = 0;
    last_copy_reason_ = nullptr;
    announced_ = false;
  }

  // `reason` is a string literal. Posts an info message on the bus for the first copy since start.
  void count_copy(GstElement *element, std::uint64_t bytes, const char *reason)
  {
    copies.fetch_add(1, std::memory_order_relaxed);
    bytes_copied.fetch_add(bytes, std::memory_order_relaxed);
    last_copy_reason_ = reason;
    if (!announced_.exchange(true))
      announce(element, reason);
  }

  [[nodiscard]] GstStructure *to_structure(const char *name) const
  {
    const char *reason = last_copy_reason_.load();
    return gst_structure_new(name, "frames", G_TYPE_UINT64, frames.load(), "imports", G_TYPE_UINT64,
                             imports.load(), "import-hits", G_TYPE_UINT64, import_hits.load(),
                             "copies", G_TYPE_UINT64, copies.load(), "bytes-copied", G_TYPE_UINT64,
                             bytes_copied.load(), "last-copy-reason", G_TYPE_STRING,
                             reason ? reason : "", "waits", G_TYPE_UINT64, waits.load(), nullptr);
  }

private:
  static void announce(GstElement *element, const char *reason)
  {
    GError *error = g_error_new(GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
                                "Frames are copied by the CPU: %s", reason);
    gst_element_post_message(
        element,
        gst_message_new_info_with_details(
            GST_OBJECT(element), error, error->message, // gst-launch prints the second text
            gst_structure_new("gst-drm-copy", "reason", G_TYPE_STRING, reason, nullptr)));
    g_error_free(error);
  }

  std::atomic<const char *> last_copy_reason_{nullptr};
  std::atomic<bool> announced_{false};
};

enum class ZeroCopy { Prefer, Require };

// GType of the `zero-copy` property; each plugin registers it under its own name.
inline GType register_zero_copy_type(const char *type_name)
{
  static const GEnumValue values[] = {
      {static_cast<gint>(ZeroCopy::Prefer), "Copy where there is no other way, count it and say so",
       "prefer"},
      {static_cast<gint>(ZeroCopy::Require), "Fail at negotiation where a copy would be needed",
       "require"},
      {0, nullptr, nullptr}};
  return g_enum_register_static(type_name, values);
}

} // namespace gstdrm
