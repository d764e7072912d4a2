// SPDX-License-Identifier: LGPL-2.1-or-later
#include "support/gl_count.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <string_view>
#include <utility>

#include <gst/gl/gl.h>

namespace gstdrm::test {

namespace {

// Those that make, bind and end images and textures, those that copy, and those that wait. None has
// an argument that is no integer or pointer, and none has more than nine.
constexpr std::array<const char *, 26> kNames = {
    "eglCreateImage",
    "eglCreateImageKHR",
    "eglDestroyImage",
    "eglDestroyImageKHR",
    "eglCreateSync",
    "eglCreateSyncKHR",
    "eglClientWaitSync",
    "eglWaitSync",
    "eglWaitSyncKHR",
    "eglDupNativeFenceFDANDROID",
    "glEGLImageTargetTexture2DOES",
    "glGenTextures",
    "glDeleteTextures",
    "glBindTexture",
    "glTexParameteri",
    "glFinish",
    "glFlush",
    "glFenceSync",
    "glWaitSync",
    "eglExportDMABUFImageMESA",
    "glReadPixels",
    "glTexImage2D",
    "glTexSubImage2D",
    "glCopyTexImage2D",
    "glDrawElements",
    "glDrawArrays",
};

using Word = std::intptr_t;
using Function = Word (*)(Word, Word, Word, Word, Word, Word, Word, Word, Word);

std::array<std::atomic<std::uint64_t>, kNames.size()> counts;
std::array<std::atomic<std::uint64_t>, kNames.size()> last; // call, by its number among all
std::atomic<std::uint64_t> numbers;
std::array<std::atomic<Function>, kNames.size()> functions;
std::atomic<std::uint64_t> hops;
std::atomic<std::uint64_t> messages; // a hop is one of them

decltype(GstGLContextClass::get_proc_address) get_proc_address;
decltype(GstGLWindowClass::send_message) send_message;
decltype(GstGLWindowClass::send_message_async) send_message_async;

template <std::size_t I>
Word counted(Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i)
{
  counts[I]++;
  last[I] = ++numbers;
  return functions[I].load()(a, b, c, d, e, f, g, h, i);
}

template <std::size_t... I> constexpr auto make_counted(std::index_sequence<I...>)
{
  return std::array<Function, sizeof...(I)>{counted<I>...};
}
constexpr auto kCounted = make_counted(std::make_index_sequence<kNames.size()>());

gpointer find_function(GstGLAPI api, const gchar *name)
{
  gpointer found = get_proc_address(api, name);
  for (std::size_t i = 0; found && i < kNames.size(); i++)
    if (std::string_view(kNames[i]) == name) {
      functions[i] = reinterpret_cast<Function>(found);
      return reinterpret_cast<gpointer>(kCounted[i]);
    }
  return found;
}

void count_hop(GstGLWindow *window, GstGLWindowCB callback, gpointer data)
{
  hops++;
  send_message(window, callback, data);
}

void count_message(GstGLWindow *window, GstGLWindowCB callback, gpointer data,
                   GDestroyNotify destroy)
{
  messages++;
  send_message_async(window, callback, data, destroy);
}

// "eglCreateImageKHR" is what EGL 1.5 calls eglCreateImage.
std::string plain_name(std::string_view name)
{
  for (const std::string_view suffix : {"KHR", "OES"})
    if (name.ends_with(suffix))
      name.remove_suffix(suffix.size());
  return std::string(name);
}

} // namespace

bool count_gl()
{
  GstGLDisplay *display = gst_gl_display_new();
  GstGLContext *context = nullptr;
  GST_OBJECT_LOCK(display);
  (void)gst_gl_display_create_context(display, nullptr, &context, nullptr);
  GST_OBJECT_UNLOCK(display);
  GstGLWindow *window = context ? gst_gl_context_get_window(context) : nullptr;
  if (window) {
    auto *contexts = GST_GL_CONTEXT_GET_CLASS(context);
    get_proc_address = std::exchange(contexts->get_proc_address, find_function);
    auto *windows = GST_GL_WINDOW_GET_CLASS(window);
    send_message = std::exchange(windows->send_message, count_hop);
    send_message_async = std::exchange(windows->send_message_async, count_message);
  }
  const bool found = window != nullptr;
  gst_clear_object(&window);
  gst_clear_object(&context);
  // EGL ends a display with its last reference, also under contexts that are made later
  GST_OBJECT_FLAG_SET(display, GST_OBJECT_FLAG_MAY_BE_LEAKED);
  return found;
}

GlCalls gl_calls()
{
  GlCalls calls;
  for (std::size_t i = 0; i < kNames.size(); i++)
    calls[plain_name(kNames[i])] += counts[i];
  calls["hop"] = hops;
  calls["job"] = messages - hops;
  return calls;
}

GlCalls last_gl_calls()
{
  GlCalls calls;
  for (std::size_t i = 0; i < kNames.size(); i++) {
    std::uint64_t &call = calls[plain_name(kNames[i])];
    call = std::max(call, last[i].load());
  }
  return calls;
}

} // namespace gstdrm::test
