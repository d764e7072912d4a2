// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstmapwatch.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

namespace gstdrm::verify {

namespace {

struct Functions {
  GstMemoryMapFunction map = nullptr;
  GstMemoryMapFullFunction map_full = nullptr;
};

std::atomic<MapReport> map_report{nullptr};
// Guards which allocators are watched. Nothing is called while it is held.
std::mutex watched_lock;
std::vector<GstAllocator *> watched;
// GstDmaBufAllocator's map_full calls the allocator's map: one mapping of the user's.
thread_local bool within_map_full = false;

GQuark functions_quark()
{
  static const GQuark quark = g_quark_from_static_string("gst-drm-verify-functions");
  return quark;
}

// Its own functions, which stay with the allocator to the end: a call may be on its way when the
// fields are given back.
const Functions &own_functions(GstMemory *memory)
{
  return *static_cast<const Functions *>(
      g_object_get_qdata(G_OBJECT(memory->allocator), functions_quark()));
}

void report(GstMemory *memory, GstMapFlags flags, gsize bytes) noexcept
{
  if (const MapReport call = map_report.load(std::memory_order_acquire); call && !within_map_full)
    call(memory, (flags & GST_MAP_WRITE) != 0, bytes);
}

gpointer map(GstMemory *memory, gsize bytes, GstMapFlags flags) noexcept
{
  const gpointer data = own_functions(memory).map(memory, bytes, flags);
  if (data)
    report(memory, flags, bytes);
  return data;
}

gpointer map_full(GstMemory *memory, GstMapInfo *info, gsize bytes) noexcept
{
  const bool before = std::exchange(within_map_full, true);
  const gpointer data = own_functions(memory).map_full(memory, info, bytes);
  within_map_full = before;
  if (data)
    report(memory, info->flags, bytes);
  return data;
}

void forget(gpointer, GObject *allocator) noexcept
{
  const std::lock_guard lock(watched_lock);
  std::erase(watched, reinterpret_cast<GstAllocator *>(allocator));
}

// Another tracer may have replaced them in turn.
void give_back(GstAllocator *allocator) noexcept
{
  const auto *own =
      static_cast<const Functions *>(g_object_get_qdata(G_OBJECT(allocator), functions_quark()));
  if (allocator->mem_map == map)
    allocator->mem_map = own->map;
  if (allocator->mem_map_full == map_full)
    allocator->mem_map_full = own->map_full;
}

} // namespace

void watch_maps(GstAllocator *allocator) noexcept
{
  const std::lock_guard lock(watched_lock);
  if (!map_report.load(std::memory_order_relaxed) ||
      g_object_get_qdata(G_OBJECT(allocator), functions_quark()))
    return;
  // the fields last: a thread may map memory of this allocator now
  const auto own = new Functions{allocator->mem_map, allocator->mem_map_full};
  g_object_set_qdata_full(
      G_OBJECT(allocator), functions_quark(), own,
      [](gpointer functions) noexcept { delete static_cast<Functions *>(functions); });
  if (own->map)
    allocator->mem_map = map;
  if (own->map_full)
    allocator->mem_map_full = map_full;
  watched.push_back(allocator);
  g_object_weak_ref(G_OBJECT(allocator), forget, nullptr);
}

void report_maps(MapReport report) noexcept
{
  map_report.store(report, std::memory_order_release);
  if (report)
    return;
  std::vector<GstAllocator *> left;
  {
    const std::lock_guard lock(watched_lock);
    left.swap(watched);
  }
  for (GstAllocator *allocator : left) {
    g_object_weak_unref(G_OBJECT(allocator), forget, nullptr);
    give_back(allocator);
  }
}

} // namespace gstdrm::verify
