// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames of memory:NVMM, made by the tests' libnvbufsurface, which is opened as programs on a
// Jetson open NVIDIA's: GST_DRM_TEST_NVBUFSURFACE has its path.
#pragma once

#include <functional>
#include <string>

#include <dlfcn.h>

#include <gst/check/gstcheck.h>

#include "nvbufsurface/nvbufsurface.h"

namespace gstdrm::test {

class NvLibrary {
public:
  static NvLibrary &get()
  {
    static NvLibrary library;
    return library;
  }

  decltype(&NvBufSurfaceCreate) create;
  decltype(&NvBufSurfaceDestroy) destroy;
  decltype(&NvBufSurfaceMap) map;
  decltype(&NvBufSurfaceUnMap) unmap;
  decltype(&NvBufSurfaceSyncForDevice) sync_for_device;

private:
  NvLibrary() : library_(::dlopen(GST_DRM_TEST_NVBUFSURFACE, RTLD_NOW | RTLD_LOCAL))
  {
    fail_unless(library_ != nullptr, "%s", ::dlerror());
    find(create, "NvBufSurfaceCreate");
    find(destroy, "NvBufSurfaceDestroy");
    find(map, "NvBufSurfaceMap");
    find(unmap, "NvBufSurfaceUnMap");
    find(sync_for_device, "NvBufSurfaceSyncForDevice");
  }
  template <typename Function> void find(Function &function, const char *name)
  {
    function = reinterpret_cast<Function>(::dlsym(library_, name));
    fail_unless(function != nullptr, "no %s", name);
  }
  void *library_; // for the rest of the process
};

inline std::string nvmm_caps(int width, int height, const char *format = "NV12")
{
  return std::string("video/x-raw(memory:NVMM), format=(string)") + format + ", width=(int)" +
         std::to_string(width) + ", height=(int)" + std::to_string(height) +
         ", framerate=(fraction)30/1";
}

inline NvBufSurface *new_surface(int width, int height,
                                 NvBufSurfaceColorFormat format = NVBUF_COLOR_FORMAT_NV12,
                                 std::uint32_t batch = 1,
                                 NvBufSurfaceLayout layout = NVBUF_LAYOUT_PITCH)
{
  NvBufSurfaceCreateParams params{};
  params.width = static_cast<std::uint32_t>(width);
  params.height = static_cast<std::uint32_t>(height);
  params.colorFormat = format;
  params.layout = layout;
  NvBufSurface *surface = nullptr;
  fail_unless_equals_int(NvLibrary::get().create(&surface, batch, &params), 0);
  return surface;
}

// As NVIDIA's elements do: the memory of the buffer is the description. Takes the surface.
inline GstBuffer *nvmm_buffer(NvBufSurface *surface, gsize size = sizeof(NvBufSurface))
{
  GstBuffer *buffer = gst_buffer_new();
  gst_buffer_append_memory(buffer, gst_memory_new_wrapped(GstMemoryFlags(0), surface, size, 0, size,
                                                          surface, [](gpointer data) noexcept {
                                                            NvLibrary::get().destroy(
                                                                static_cast<NvBufSurface *>(data));
                                                          }));
  return buffer;
}

// Calls write(plane, row, data, bytes) for each row of the first surface.
inline void
write_surface(NvBufSurface *surface,
              const std::function<void(guint, guint, std::uint8_t *, std::size_t)> &write)
{
  const NvLibrary &library = NvLibrary::get();
  NvBufSurfaceParams &params = surface->surfaceList[0];
  for (guint plane = 0; plane < params.planeParams.num_planes; plane++) {
    const auto index = static_cast<int>(plane);
    fail_unless_equals_int(library.map(surface, 0, index, NVBUF_MAP_WRITE), 0);
    auto *data = static_cast<std::uint8_t *>(params.mappedAddr.addr[plane]);
    for (guint row = 0; row < params.planeParams.height[plane]; row++)
      write(plane, row, data + std::size_t{row} * params.planeParams.pitch[plane],
            std::size_t{params.planeParams.width[plane]} * params.planeParams.bytesPerPix[plane]);
    library.sync_for_device(surface, 0, index);
    fail_unless_equals_int(library.unmap(surface, 0, index), 0);
  }
}

} // namespace gstdrm::test
