// SPDX-License-Identifier: LGPL-2.1-or-later
// GLib's locks are futexes of its own and its reference counts are atomics, in libraries that gcc
// has not instrumented: TSan sees neither, and takes what GST_OBJECT_LOCK() guards for unguarded. These
// stand before GLib's in a program, call them, and tell TSan the order that each of them makes.
#include <dlfcn.h>

#include <gst/gst.h>
#include <sanitizer/tsan_interface.h>

namespace {

// The function of that name in the libraries behind the program.
template <typename Function> Function *next(Function *, const char *name)
{
  return reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
}

} // namespace

#define NEXT(name) static const auto real = next(&(name), #name)
#define LOCKS(name, Type)                                                                          \
  void name(Type *lock)                                                                            \
  {                                                                                                \
    NEXT(name);                                                                                    \
    real(lock);                                                                                    \
    __tsan_acquire(lock);                                                                          \
  }
#define TRIES(name, Type)                                                                          \
  gboolean name(Type *lock)                                                                        \
  {                                                                                                \
    NEXT(name);                                                                                    \
    const gboolean locked = real(lock);                                                            \
    if (locked)                                                                                    \
      __tsan_acquire(lock);                                                                        \
    return locked;                                                                                 \
  }
#define UNLOCKS(name, Type)                                                                        \
  void name(Type *lock)                                                                            \
  {                                                                                                \
    NEXT(name);                                                                                    \
    __tsan_release(lock);                                                                          \
    real(lock);                                                                                    \
  }
// The last owner is ordered behind all others.
#define DROPS(name, Type)                                                                          \
  void name(Type object)                                                                           \
  {                                                                                                \
    NEXT(name);                                                                                    \
    __tsan_release(object);                                                                        \
    __tsan_acquire(object);                                                                        \
    real(object);                                                                                  \
  }

#undef g_mutex_lock
#undef g_mutex_unlock
#undef g_mutex_trylock
#undef g_object_unref

#pragma GCC visibility push(default)
extern "C" {

LOCKS(g_mutex_lock, GMutex)
TRIES(g_mutex_trylock, GMutex)
UNLOCKS(g_mutex_unlock, GMutex)
LOCKS(g_rec_mutex_lock, GRecMutex)
TRIES(g_rec_mutex_trylock, GRecMutex)
UNLOCKS(g_rec_mutex_unlock, GRecMutex)
LOCKS(g_rw_lock_writer_lock, GRWLock)
UNLOCKS(g_rw_lock_writer_unlock, GRWLock)
LOCKS(g_rw_lock_reader_lock, GRWLock)
UNLOCKS(g_rw_lock_reader_unlock, GRWLock)
DROPS(g_object_unref, gpointer)
DROPS(gst_object_unref, gpointer)
DROPS(gst_mini_object_unref, GstMiniObject *)

void g_cond_wait(GCond *condition, GMutex *lock)
{
  NEXT(g_cond_wait);
  __tsan_release(lock);
  real(condition, lock);
  __tsan_acquire(lock);
}

gboolean g_cond_wait_until(GCond *condition, GMutex *lock, gint64 end)
{
  NEXT(g_cond_wait_until);
  __tsan_release(lock);
  const gboolean woken = real(condition, lock, end);
  __tsan_acquire(lock);
  return woken;
}

} // extern "C"
#pragma GCC visibility pop
