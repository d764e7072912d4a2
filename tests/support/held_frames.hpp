// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames whose device is never done, and a thread that is stuck with one.
#pragma once

#include <atomic>

#include <fcntl.h>
#include <unistd.h>

#include "support/dmabuf_elements.hpp"

namespace gstdrm::test {

// The descriptor stands for a dma-buf with a fence that never signals: poll(2) on a pipe that
// nobody writes to waits as well. Memory that no device imports, and which is never mapped.
class NeverDone {
public:
  NeverDone() { fail_unless(::pipe2(ends_, O_CLOEXEC) == 0); }
  NeverDone(const NeverDone &) = delete;
  NeverDone &operator=(const NeverDone &) = delete;
  ~NeverDone()
  {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  [[nodiscard]] GstBuffer *frame(const std::string &plain) const
  {
    return hold(gst_buffer_new(), video_info(plain).size);
  }
  // Appends such memory to a buffer, whose planes lie before it.
  GstBuffer *hold(GstBuffer *buffer, gsize bytes) const
  {
    GstAllocator *allocator = gst_dmabuf_allocator_new();
    gst_buffer_append_memory(buffer, gst_dmabuf_allocator_alloc(allocator, ::dup(ends_[0]), bytes));
    gst_object_unref(allocator);
    return buffer;
  }

private:
  int ends_[2] = {-1, -1};
};

// Pushes a frame from a thread of its own.
class Pusher {
public:
  Pusher(const Harness &h, GstBuffer *buffer)
      : h_(h), buffer_(buffer), thread_(g_thread_new("pusher", run, this))
  {
  }
  Pusher(const Pusher &) = delete;
  Pusher &operator=(const Pusher &) = delete;
  ~Pusher() { join(); }
  GstFlowReturn join()
  {
    if (thread_)
      g_thread_join(std::exchange(thread_, nullptr));
    return flow_;
  }
  // Until the thread sleeps in poll(2) on a device, as the kernel sees it. It polls only in such a
  // wait.
  void wait_until_stuck() const
  {
    while (!stuck())
      g_usleep(1000);
  }

private:
  static gpointer run(gpointer data)
  {
    auto *self = static_cast<Pusher *>(data);
    self->tid_ = ::gettid();
    self->flow_ = gst_harness_push(self->h_.get(), self->buffer_);
    return nullptr;
  }
  // Field 1 of /proc/…/syscall is the number of the call that a thread sleeps in. Where that file
  // is not readable: the state "S" of /proc/…/stat.
  [[nodiscard]] bool stuck() const
  {
    if (tid_ == 0)
      return false;
    std::ifstream file("/proc/self/task/" + std::to_string(tid_) + "/stat");
    std::string text;
    std::getline(file, text);
    const std::size_t end = text.rfind(')');
    return end != std::string::npos && text.size() > end + 2 && text[end + 2] == 'S';
  }
  const Harness &h_;
  GstBuffer *buffer_;
  std::atomic<pid_t> tid_{0};
  GstFlowReturn flow_ = GST_FLOW_OK;
  GThread *thread_;
};

} // namespace gstdrm::test
