// SPDX-License-Identifier: LGPL-2.1-or-later
// GST_DRM_VA_TEST, the one knob of the test driver: "key=value,key=value". README.md lists the
// keys.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gstdrm::test::vadriver {

enum class Memory { Auto, Udmabuf, DmaHeap, Memfd };

// One lie in what vaExportSurfaceHandle says.
enum class Lie {
  None,
  ZeroObjects,
  ManyObjects,
  ObjectIndex,
  Offset,
  OffsetOverflow,
  Modifier,
  InvalidModifier,
  ZeroPitch,
  ShortPitch,
  SmallObject,
  LargeObject,
  ManyLayers,
  ZeroLayers,
  ManyPlanes,
  Fourcc,
  Size,
  DeadFd,
  Unsized,
};

struct Failure {
  std::string call;      // name of a counter
  std::uint64_t nth = 0; // counted from 1; 0: every call
};

struct Settings {
  unsigned objects = 1; // dma-bufs per surface; at most one per plane
  std::uint32_t stride_align = 64;
  std::uint32_t stride_extra = 0;       // bytes, on top of the alignment; linear surfaces only
  std::uint32_t height_pad = 0;         // rows (of the first plane) under the picture
  std::vector<std::uint32_t> formats;   // VA fourccs; empty: all that the driver knows
  std::vector<std::uint64_t> modifiers; // what it can allocate, best first
  bool accept_modifiers = true;         // VASurfaceAttribDRMFormatModifiers is taken
  bool list_modifiers = false;          // and vaQuerySurfaceAttributes lists them
  bool report_modifier = true;          // false: exports say DRM_FORMAT_MOD_INVALID
  bool composed = true;
  bool separate = true;
  bool vpp = true;
  bool derive = true;
  bool put = true;
  Memory memory = Memory::Auto;
  unsigned async_ms = 0; // time one picture takes on the "GPU"; 0: done when vaEndPicture returns
  bool fences = true;    // asynchronous work leaves implicit fences in the dma-bufs (sw_sync)
  unsigned max_surfaces = 0; // alive at once; 0: no limit
  std::uint32_t max_size = 8192;
  Lie lie = Lie::None;
  std::uint64_t lie_from = 1; // the export from which on it lies, counted from 1
  std::vector<Failure> failures;
  std::string counters_path;
};

// A misspelled key or value is an error: a test must not pass because its knob was ignored.
bool parse_settings(std::string_view text, Settings &settings, std::string &error);

} // namespace gstdrm::test::vadriver
