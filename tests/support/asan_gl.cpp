// SPDX-License-Identifier: LGPL-2.1-or-later
// What a program needs under ASan whose OpenGL driver is Mesa's llvmpipe. These functions stand
// before those of libgcc and of the C library, for the driver and its loaders too.
extern "C" {
#pragma GCC visibility push(default)

// LLVM gives libgcc the unwinding tables of the code that it makes. The next search for a frame
// sorts them under libgcc's lock and allocates memory for that (init_object() in unwind-dw2-fde.c
// of gcc 12); ASan wants a stack of each allocation and searches for its frames, under the same
// lock: the thread sleeps for ever. Nobody here unwinds through such code, so libgcc gets none of
// it.
void take_no_frames(void *table) noexcept asm("__register_frame");
void take_no_frames(void * /*table*/) noexcept {}

void forget_no_frames(void *table) noexcept asm("__deregister_frame");
void forget_no_frames(void * /*table*/) noexcept {}

// GStreamer ends an EGL display with its last element, and libEGL unloads the driver with it. What
// the driver and its libraries allocate once and keep in static variables would be lost each time,
// in a module whose name is no longer known. They stay.
int dlclose(void * /*library*/) noexcept
{
  return 0;
}

#pragma GCC visibility pop
}
