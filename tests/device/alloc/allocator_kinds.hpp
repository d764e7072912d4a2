// SPDX-License-Identifier: LGPL-2.1-or-later
// The kinds of allocator that the box has, for the programs that go through them.
#pragma once

#include <string>

#include "config.h"
#include "support/check_main.hpp"
#include "support/frames.hpp"

namespace gstdrm::test {

struct KindRow {
  GstDrmAllocatorKind kind;
  const char *type_name;
  bool plain_memory;
};

inline constexpr KindRow kKinds[] = {
    {GST_DRM_ALLOCATOR_KIND_UDMABUF, "GstDrmAllocatorUdmabuf", true},
    {GST_DRM_ALLOCATOR_KIND_DMA_HEAP, "GstDrmAllocatorDmaHeap", true},
    {GST_DRM_ALLOCATOR_KIND_DUMB, "GstDrmAllocatorDumb", false},
#if defined(HAVE_GBM)
    {GST_DRM_ALLOCATOR_KIND_GBM, "GstDrmAllocatorGbm", false},
#endif
};
inline constexpr int kKindCount = G_N_ELEMENTS(kKinds);

inline GstDrmAllocator *new_allocator(GstDrmAllocatorKind kind, const char *device = nullptr)
{
  GError *error = nullptr;
  GstDrmAllocator *allocator = gst_drm_allocator_new(kind, device, &error);
  fail_unless(allocator != nullptr, "%s", error ? error->message : "no error");
  return allocator;
}

// The display: the only card here that makes dumb buffers.
inline std::string vkms_node()
{
  GstDrmAllocator *allocator = new_allocator(GST_DRM_ALLOCATOR_KIND_DUMB);
  std::string node = gst_drm_allocator_get_device(allocator);
  gst_object_unref(allocator);
  return node;
}

inline GstDrmAllocator *new_of_row(const KindRow &row)
{
  if (row.kind == GST_DRM_ALLOCATOR_KIND_GBM)
    return new_allocator(row.kind, vkms_node().c_str());
  return new_allocator(row.kind);
}

} // namespace gstdrm::test
