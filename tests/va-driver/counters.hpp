// SPDX-License-Identifier: LGPL-2.1-or-later
// What the test driver counts. With counters=PATH in GST_DRM_VA_TEST the values live in that file,
// which a test maps to read them while the pipeline runs.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gstdrm::test::vadriver {

enum class Counter : std::size_t {
  Init,    // displays initialised
  Create,  // surfaces created, imported ones included
  Import,  // surfaces made from foreign dma-bufs
  Destroy, // surfaces destroyed
  Export,  // vaExportSurfaceHandle
  Derive,  // vaDeriveImage
  Put,     // vaPutImage
  Get,     // vaGetImage
  Map,     // vaMapBuffer of an image's buffer: CPU pixels
  Buffer,  // vaCreateBuffer
  Begin,   // vaBeginPicture
  Render,  // vaRenderPicture
  Blit,    // pipelines rendered: one per VAProcPipelineParameterBuffer
  End,     // vaEndPicture
  Sync,    // vaSyncSurface and vaSyncSurface2
  Status,  // vaQuerySurfaceStatus
  Query,   // vaQuerySurfaceAttributes
  Count,
};
inline constexpr std::size_t kCounters = static_cast<std::size_t>(Counter::Count);

inline constexpr std::array<std::string_view, kCounters> kCounterNames = {
    "init",   "create", "import", "destroy", "export", "derive", "put",    "get",  "map",
    "buffer", "begin",  "render", "blit",    "end",    "sync",   "status", "query"};

struct CounterPage {
  std::array<std::atomic<std::uint64_t>, kCounters> values;
  std::atomic<std::uint64_t> &operator[](Counter counter)
  {
    return values[static_cast<std::size_t>(counter)];
  }
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "shared through a file");

} // namespace gstdrm::test::vadriver
