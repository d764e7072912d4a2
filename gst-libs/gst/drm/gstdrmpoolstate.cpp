// SPDX-License-Identifier: LGPL-2.1-or-later
// How a pool gets memory back that is referenced longer than the buffer, by a shallow copy, a
// sub-buffer, a buffer that was made of it. GstBufferPool frees such a buffer, and with it the
// dma-buf that every device has imported; the next frame would be allocated and imported anew.
//
// The buffer is emptied, and the memory's dispose function, which GstMiniObject calls when the last
// reference is dropped, returns the memory to the pool (GStreamer's V4L2 and VA allocators recycle
// in the same way). So the pool never has to poll whether the memory is free, and a thread that
// waits for a buffer is woken whoever drops the last reference.
#include "gstdrmpoolstate.hpp"

#include <cstddef>

namespace gstdrm {

// A buffer of the pool and the memories it was made with; lives as long as the last of these.
struct PooledFrame {
  struct Home {
    GstMemory *memory; // an address to compare with; a reference once it is `back`
    gsize offset;
    gsize size;
    GstMiniObjectDisposeFunction dispose; // the allocator's own, or nullptr
    bool back = false;
  };

  PooledFrame(GstBufferPool *pool, std::shared_ptr<FrameCount> alive, gsize bytes)
      : alive_(std::move(alive)), bytes_(bytes)
  {
    g_weak_ref_init(&pool_, pool);
    ++alive_->frames;
    alive_->bytes += bytes_;
  }
  PooledFrame(const PooledFrame &) = delete;
  PooledFrame &operator=(const PooledFrame &) = delete;
  ~PooledFrame()
  {
    g_weak_ref_clear(&pool_);
    --alive_->frames;
    alive_->bytes -= bytes_;
  }

  // Empty once the pool is being disposed of.
  GstPtr<GstBufferPool> pool()
  {
    return GstPtr<GstBufferPool>::adopt(static_cast<GstBufferPool *>(g_weak_ref_get(&pool_)));
  }

  std::vector<Home> homes;     // fixed, but for `back`
  GstBuffer *buffer = nullptr; // owned while awaited, without its memory then
  std::size_t missing = 0;     // the pool's lock guards these two and `back`

private:
  GWeakRef pool_{};
  std::shared_ptr<FrameCount> alive_;
  gsize bytes_;
};

namespace {

// What a memory knows of its frame.
struct Link {
  std::shared_ptr<PooledFrame> frame;
  std::size_t index;
};

GQuark link_quark()
{
  static const GQuark quark = g_quark_from_static_string("gst-drm-pooled-frame");
  return quark;
}

Link *link_of(GstMemory *memory)
{
  return static_cast<Link *>(gst_mini_object_get_qdata(GST_MINI_OBJECT_CAST(memory), link_quark()));
}

void delete_link(gpointer link) noexcept
{
  delete static_cast<Link *>(link);
}

gboolean dispose_memory(GstMiniObject *object) noexcept
{
  auto *link = static_cast<Link *>(gst_mini_object_get_qdata(object, link_quark()));
  const std::shared_ptr<PooledFrame> frame = link->frame; // the object may be freed on the way
  const std::size_t index = link->index;
  if (const GstPtr<GstBufferPool> pool = frame->pool())
    if (state_of(pool.get()).memory_returned(pool.get(), *frame, index))
      return FALSE;
  const GstMiniObjectDisposeFunction dispose = frame->homes[index].dispose;
  return dispose ? dispose(object) : TRUE;
}

void restore_size(GstMemory *memory, const PooledFrame::Home &home)
{
  if (memory->offset != home.offset || memory->size != home.size)
    gst_memory_resize(
        memory, static_cast<gssize>(home.offset) - static_cast<gssize>(memory->offset), home.size);
}

// An awaited buffer gets its memories again, as it was made.
void refill(PooledFrame &frame)
{
  for (PooledFrame::Home &home : frame.homes) {
    restore_size(home.memory, home);
    gst_buffer_append_memory(frame.buffer, home.memory);
    home.back = false;
  }
  GST_BUFFER_FLAG_UNSET(frame.buffer, GST_BUFFER_FLAG_TAG_MEMORY);
}

} // namespace

void adopt_memory(GstBufferPool *pool, GstBuffer *buffer)
{
  auto frame =
      std::make_shared<PooledFrame>(pool, state_of(pool).alive(), gst_buffer_get_size(buffer));
  const guint n = gst_buffer_n_memory(buffer);
  for (guint i = 0; i < n; ++i) {
    GstMemory *memory = gst_buffer_peek_memory(buffer, i);
    GstMiniObjectDisposeFunction dispose = memory->mini_object.dispose;
    if (dispose == dispose_memory) { // an allocator that recycles memory itself
      const Link *old = link_of(memory);
      dispose = old->frame->homes[old->index].dispose;
    }
    frame->homes.push_back({memory, memory->offset, memory->size, dispose});
  }
  for (guint i = 0; i < n; ++i) {
    GstMiniObject *object = GST_MINI_OBJECT_CAST(frame->homes[i].memory);
    gst_mini_object_set_qdata(object, link_quark(), new Link{frame, i}, delete_link);
    object->dispose = dispose_memory;
  }
}

std::shared_ptr<PooledFrame> pooled_frame(GstBuffer *buffer)
{
  const guint n = gst_buffer_n_memory(buffer);
  const Link *link = n > 0 ? link_of(gst_buffer_peek_memory(buffer, 0)) : nullptr;
  if (!link || link->frame->homes.size() != n)
    return {};
  for (guint i = 0; i < n; ++i)
    if (link->frame->homes[i].memory != gst_buffer_peek_memory(buffer, i))
      return {};
  return link->frame;
}

void restore_sizes(GstBuffer *buffer)
{
  const guint n = gst_buffer_n_memory(buffer);
  for (guint i = 0; i < n; ++i) {
    GstMemory *memory = gst_buffer_peek_memory(buffer, i);
    if (const Link *link = link_of(memory); link && gst_memory_is_writable(memory))
      restore_size(memory, link->frame->homes[link->index]);
  }
}

void PoolState::await_memory(const std::shared_ptr<PooledFrame> &frame, GstBuffer *adopted)
{
  std::vector<GstPtr<GstMemory>> memories; // let go last: each may come home at once
  memories.reserve(frame->homes.size());
  for (const PooledFrame::Home &home : frame->homes)
    memories.push_back(GstPtr<GstMemory>::share(home.memory));
  gst_buffer_remove_all_memory(adopted);
  const std::lock_guard lock(lock_);
  frame->buffer = adopted;
  frame->missing = frame->homes.size();
  awaited_.push_back(frame);
}

bool PoolState::memory_returned(GstBufferPool *pool, PooledFrame &frame, std::size_t index)
{
  GstBuffer *discarded = nullptr;
  const bool closed = is_closed(pool); // before lock_, which a flush takes under the pool's own
  {
    const std::lock_guard lock(lock_);
    if (!frame.buffer)
      return false;
    gst_memory_ref(frame.homes[index].memory);
    frame.homes[index].back = true;
    if (--frame.missing > 0)
      return true;
    refill(frame);
    GstBuffer *buffer = std::exchange(frame.buffer, nullptr);
    std::erase_if(awaited_, [&](const auto &one) { return one.get() == &frame; });
    // Under the lock, or a stop in between would leave the buffer in the queue of a stopped pool.
    // GstBufferPool only appends to its queue here, unless it frees a buffer of another size.
    if (gst_buffer_get_size(buffer) == size && !closed)
      base_pool_class()->release_buffer(pool, buffer);
    else
      discarded = buffer;
  }
  if (discarded && closed)
    GST_BUFFER_FLAG_SET(discarded, GST_BUFFER_FLAG_TAG_MEMORY); // frees it
  if (discarded)
    base_pool_class()->release_buffer(pool, discarded);
  wake();
  return true;
}

void PoolState::forget_awaited(GstBufferPool *pool)
{
  std::vector<GstBuffer *> buffers;
  std::vector<GstPtr<GstMemory>> memories; // those that are back already, of frames with several
  {
    const std::lock_guard lock(lock_);
    for (const auto &frame : awaited_) {
      buffers.push_back(std::exchange(frame->buffer, nullptr));
      for (PooledFrame::Home &home : frame->homes)
        if (std::exchange(home.back, false))
          memories.push_back(GstPtr<GstMemory>::adopt(home.memory));
    }
    awaited_.clear();
  }
  for (GstBuffer *buffer : buffers)
    base_pool_class()->release_buffer(pool, buffer); // frees it: it has no memory
}

} // namespace gstdrm
