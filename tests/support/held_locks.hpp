// SPDX-License-Identifier: LGPL-2.1-or-later
// Looks, whenever an element sends a message, a signal or an event, whether the sending thread
// holds one of the project's locks (core/ordered_mutex.hpp): whoever handles it may call the
// element, or wait for a thread that does. A lock that is held ends the process with its name.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <link.h>

#include <gst/gst.h>

namespace gstdrm::test {

class NoLocks {
public:
  // Of every module that is loaded by now: make the elements first. The library and each plugin
  // have a list of their own.
  NoLocks()
  {
    std::vector<std::string> modules;
    dl_iterate_phdr(
        [](dl_phdr_info *info, std::size_t, void *names) noexcept {
          static_cast<std::vector<std::string> *>(names)->emplace_back(info->dlpi_name);
          return 0;
        },
        &modules);
    for (const std::string &name : modules) {
      void *module = name.empty() ? nullptr : dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
      if (!module)
        continue;
      if (void *found = dlsym(module, "gst_drm_innermost_lock"))
        lists_.push_back(reinterpret_cast<Innermost>(found));
      dlclose(module); // stays loaded, as a plugin does
    }
    std::sort(lists_.begin(), lists_.end());
    lists_.erase(std::unique(lists_.begin(), lists_.end()), lists_.end());
  }

  // Modules whose locks are checked; 0: a build with NDEBUG.
  [[nodiscard]] std::size_t modules() const { return lists_.size(); }
  // Of the calling thread; nullptr: none.
  [[nodiscard]] const char *innermost() const noexcept
  {
    for (const Innermost list : lists_)
      if (const char *name = list())
        return name;
    return nullptr;
  }
  void check(const char *sent) const noexcept
  {
    const char *held = innermost();
    if (!held)
      return;
    std::fprintf(stderr, "%s is sent under %s.\n", sent, held);
    std::abort();
  }

private:
  using Innermost = const char *(*)();
  std::vector<Innermost> lists_;
};

// Returns once nobody holds it. A thread that holds it itself waits until the test's time is over.
inline void pass_through(GMutex *lock)
{
  while (!g_mutex_trylock(lock))
    g_usleep(1000);
  g_mutex_unlock(lock);
}

// The pad belongs to the element's neighbour: what the element sends arrives there.
inline void watch_events(GstPad *pad, GstPadProbeType which, const std::shared_ptr<NoLocks> &locks)
{
  if (!pad)
    return;
  constexpr auto kFlushes = GST_PAD_PROBE_TYPE_EVENT_FLUSH;
  gst_pad_add_probe(
      pad, static_cast<GstPadProbeType>(which | kFlushes),
      [](GstPad *, GstPadProbeInfo *info, gpointer self) noexcept {
        (*static_cast<std::shared_ptr<NoLocks> *>(self))
            ->check(GST_EVENT_TYPE_NAME(GST_PAD_PROBE_INFO_EVENT(info)));
        return GST_PAD_PROBE_OK;
      },
      new std::shared_ptr<NoLocks>(locks),
      [](gpointer self) noexcept { delete static_cast<std::shared_ptr<NoLocks> *>(self); });
}

// The signals of its properties, and of what it is the parent of.
inline void watch_signals(GstElement *element, const std::shared_ptr<NoLocks> &locks)
{
  for (const char *signal : {"notify", "deep-notify", "pad-added", "pad-removed"})
    g_signal_connect_data(
        element, signal,
        G_CALLBACK(+[](std::shared_ptr<NoLocks> *self) noexcept { (*self)->check("a signal"); }),
        new std::shared_ptr<NoLocks>(locks),
        [](gpointer self, GClosure *) noexcept {
          delete static_cast<std::shared_ptr<NoLocks> *>(self);
        },
        G_CONNECT_SWAPPED);
}

// Until another handler takes its place.
inline void watch_messages(GstBus *bus, const std::shared_ptr<NoLocks> &locks)
{
  gst_bus_set_sync_handler(
      bus,
      [](GstBus *, GstMessage *message, gpointer self) noexcept {
        (*static_cast<std::shared_ptr<NoLocks> *>(self))->check(GST_MESSAGE_TYPE_NAME(message));
        return GST_BUS_PASS;
      },
      new std::shared_ptr<NoLocks>(locks),
      [](gpointer self) noexcept { delete static_cast<std::shared_ptr<NoLocks> *>(self); });
}

} // namespace gstdrm::test
