// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdrmframe-object.hpp"

#include <memory>
#include <mutex>
#include <optional>

#include <gst/allocators/gstfdmemory.h>

#include "core/ordered_mutex.hpp"
#include "gstdrmallocator.h"

namespace gstdrm {
namespace {

// Only this library's own memories are known to keep their descriptor open while they live: others
// may wrap a descriptor that somebody else closes (GST_FD_MEMORY_FLAG_DONT_CLOSE, which cannot be
// read back).
bool owns_descriptor(const GstMemory *memory)
{
  return memory->allocator && GST_IS_DRM_ALLOCATOR(memory->allocator);
}

GQuark object_info_quark()
{
  static const GQuark quark = g_quark_from_static_string("gst-drm-object-info");
  return quark;
}

// Guards the facts of all memories. GStreamer locks the qdata only while it looks for the pointer,
// and a second value in its place would free the first one while another thread reads it: so facts
// are set once, and copied while the lock is held. A leaf, held for no system call.
OrderedMutex &object_infos_lock()
{
  static OrderedMutex lock(100, "object_infos_lock()");
  return lock;
}

std::optional<ObjectInfo> kept_object_info(GstMemory *root)
{
  const std::lock_guard lock(object_infos_lock());
  const auto *kept = static_cast<const ObjectInfo *>(
      gst_mini_object_get_qdata(GST_MINI_OBJECT_CAST(root), object_info_quark()));
  return kept ? std::optional(*kept) : std::nullopt;
}

void keep_object_info(GstMemory *root, const ObjectInfo &info)
{
  auto own = std::make_unique<ObjectInfo>(info);
  const std::lock_guard lock(object_infos_lock());
  if (gst_mini_object_get_qdata(GST_MINI_OBJECT_CAST(root), object_info_quark()))
    return; // another thread was first
  gst_mini_object_set_qdata(GST_MINI_OBJECT_CAST(root), object_info_quark(), own.release(),
                            [](gpointer kept) noexcept {
                              std::default_delete<ObjectInfo>()(static_cast<ObjectInfo *>(kept));
                            });
}

} // namespace

Result<ObjectInfo> object_of(GstMemory *memory)
{
  const gint fd = gst_fd_memory_get_fd(memory);
  GstMemory *root = memory->parent ? memory->parent : memory; // sub-memories share the descriptor
  if (!owns_descriptor(root))
    return query_object(fd);
  if (const std::optional<ObjectInfo> kept = kept_object_info(root))
    return *kept;
  Result<ObjectInfo> info = query_object(fd);
  if (info)
    keep_object_info(root, *info);
  return info;
}

bool is_in_one_object(GstBuffer *buffer, gsize offset, guint64 bytes)
{
  const guint n_memory = gst_buffer_n_memory(buffer);
  guint i = 0;
  gsize skip = offset;
  while (i < n_memory && skip >= gst_buffer_peek_memory(buffer, i)->size)
    skip -= gst_buffer_peek_memory(buffer, i++)->size;
  for (; i + 1 < n_memory; ++i) {
    GstMemory *memory = gst_buffer_peek_memory(buffer, i);
    GstMemory *next = gst_buffer_peek_memory(buffer, i + 1);
    const gsize room = memory->size - skip;
    if (bytes <= room)
      return true;
    bytes -= room;
    skip = 0;
    if (!gst_is_fd_memory(next) || next->offset != memory->offset + memory->size)
      return false;
    const Result<ObjectInfo> object = object_of(memory);
    const Result<ObjectInfo> other = object_of(next);
    if (!object || !other || object->identity != other->identity)
      return false;
  }
  return true;
}

} // namespace gstdrm
