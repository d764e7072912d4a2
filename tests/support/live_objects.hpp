// SPDX-License-Identifier: LGPL-2.1-or-later
// What GStreamer's leaks tracer (GST_TRACERS=leaks) still sees alive. Objects that are to live as
// long as the process are marked GST_OBJECT_FLAG_MAY_BE_LEAKED and not listed.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include <unistd.h>

#include <gst/gst.h>

namespace gstdrm::test {

namespace detail {

// The tracer, transfer full; NULL: it was not asked for.
inline GstTracer *leaks_tracer()
{
  GList *active = gst_tracing_get_active_tracers();
  GstTracer *found = nullptr;
  for (GList *item = active; item; item = item->next)
    if (std::string(G_OBJECT_TYPE_NAME(item->data)) == "GstLeaksTracer")
      found = GST_TRACER(gst_object_ref(item->data));
  g_list_free_full(active, gst_object_unref);
  return found;
}

// Whether a thread still runs that holds a GL context or display and that nobody joins: GStreamer's
// own two, and the one on which the last owner on the GL thread ends its context
// (gst/egl/element/gstglthread.cpp). Thread names: proc(5), /proc/PID/task/TID/comm.
inline bool ends_gl_context()
{
  constexpr std::array<std::string_view, 3> kNames = {"gstglcontext", "gldisplay-event",
                                                      "gl-context-end"};
  std::error_code gone; // a thread may end while this looks
  for (const auto &task : std::filesystem::directory_iterator("/proc/self/task", gone)) {
    std::ifstream file(task.path() / "comm");
    std::string name;
    std::getline(file, name);
    if (std::find(kNames.begin(), kNames.end(), name) != kNames.end())
      return true;
  }
  return false;
}

// How often all other threads have been switched to and from; none while one of them does not sleep
// (proc(5), /proc/PID/task/TID/status).
inline std::optional<std::uint64_t> switches_of_sleepers()
{
  std::uint64_t switches = 0;
  std::error_code gone;
  const std::string self = std::to_string(::gettid());
  for (const auto &task : std::filesystem::directory_iterator("/proc/self/task", gone)) {
    if (task.path().filename() == self)
      continue;
    std::ifstream file(task.path() / "status");
    for (std::string line; std::getline(file, line);)
      if (line.starts_with("State:") && line.find("S (sleeping)") == std::string::npos)
        return std::nullopt;
      else if (const auto at = line.find("voluntary_ctxt_switches:"); at != std::string::npos)
        switches += std::stoull(line.substr(line.find(':') + 1));
  }
  return switches;
}

} // namespace detail

// A GL context that is on its way to its end is not leaked. One that is leaked keeps its threads:
// then this gives up, and the context is listed. So do the threads that Mesa 26 makes on
// GStreamer's and gives no name of their own, as long as the driver is loaded: where no thread has
// done anything for kQuiet looks, none is on its way.
inline void wait_for_gl_contexts()
{
  constexpr unsigned kQuiet = 200;
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  std::optional<std::uint64_t> last;
  for (unsigned quiet = 0;
       quiet < kQuiet && detail::ends_gl_context() && std::chrono::steady_clock::now() < give_up;) {
    const std::optional<std::uint64_t> switches = detail::switches_of_sleepers();
    quiet = switches && switches == last ? quiet + 1 : 0;
    last = switches;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// Says each on stderr. How many: none where the tracer is not there. The tracer's list drops a
// reference of each object that it never took (process_leak() in gstleaks.c), so a list of some is
// not freed: an object that somebody still has, as a failed case does, would be disposed under him.
inline unsigned report_live_objects()
{
  GstTracer *tracer = detail::leaks_tracer();
  if (!tracer)
    return 0;
  wait_for_gl_contexts();
  GstStructure *live = nullptr;
  g_signal_emit_by_name(tracer, "get-live-objects", &live);
  gst_object_unref(tracer);
  const GValue *list = live ? gst_structure_get_value(live, "live-objects-list") : nullptr;
  const guint n = list ? gst_value_list_get_size(list) : 0;
  for (guint i = 0; i < n; ++i) {
    gchar *text = gst_value_serialize(gst_value_list_get_value(list, i));
    g_printerr("leaked: %s\n", text ? text : "an object that cannot be written");
    g_free(text);
  }
  if (n == 0)
    g_clear_pointer(&live, gst_structure_free);
  return n;
}

} // namespace gstdrm::test
