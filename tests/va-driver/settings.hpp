// SPDX-License-Identifier: LGPL-2.1-or-later
// GST_DRM_VA_TEST, the one knob of the test driver: "key=value,key=value". README.md lists the
// keys.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <va/va.h>
#include <va/va_vpp.h>

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

enum class Matrix { Bt601, Bt709, Bt2020 };

// What happens in a call in place of its work.
enum class Mishap { Error, Crash, Hang, Exit };

struct Failure {
  Mishap mishap = Mishap::Error;
  std::string call;      // name of a counter
  std::uint64_t nth = 0; // counted from 1; 0: every call
};

// Another name in what vaExportSurfaceHandle says of a surface of the format `asked` (VA): its VA
// fourcc, and the DRM fourcc of its one layer.
struct Alias {
  std::uint32_t asked = 0;
  std::uint32_t fourcc = 0;
  std::uint32_t layer = 0;
};

// What a format of a saved machine has.
struct FormatModifiers {
  std::uint32_t format = 0; // VA
  std::vector<std::uint64_t> modifiers;
};

struct Settings {
  std::string profile;  // name of a driver that is played; empty: none
  std::string vendor;   // what vaQueryVendorString answers
  unsigned objects = 1; // dma-bufs per surface; at most one per plane
  std::uint32_t stride_align = 64;
  std::uint32_t stride_extra = 0;       // bytes, on top of the alignment; linear surfaces only
  std::uint32_t height_pad = 0;         // rows (of the first plane) under the picture
  std::vector<std::uint32_t> formats;   // VA fourccs; empty: all that the driver knows
  std::vector<std::uint64_t> modifiers; // what it can allocate, best first
  std::vector<FormatModifiers> machine; // of a saved machine: instead of `modifiers`, by format
  bool accept_modifiers = true;         // VASurfaceAttribDRMFormatModifiers is taken
  bool list_modifiers = false;          // and vaQuerySurfaceAttributes lists them
  bool report_modifier = true;          // false: exports say DRM_FORMAT_MOD_INVALID
  bool ignore_modifiers = false;        // the list is taken and not looked at
  bool implicit_unless_listed = false;  // exports say INVALID of surfaces made without a list
  bool linear_by_descriptor = true;     // an external buffer descriptor without tiling makes linear
  std::vector<std::uint32_t> linear_formats; // VA fourccs that are linear where no list is given
  std::uint64_t tall_modifier = 0;           // of pictures of more than tall_rows; 0: no other
  std::uint32_t tall_rows = 0;
  // What the attributes say of sizes, whatever is true.
  bool lies_of_sizes = false;
  int said_min = 0;
  int said_max = 0;
  // Surfaces of more rows with that modifier are not made, or not drawn into; 0 rows: all are.
  std::uint64_t make_refused = 0;
  std::uint32_t make_refused_above = 0;
  std::uint64_t draw_refused = 0;
  std::uint32_t draw_refused_above = 0;
  std::vector<Alias> aliases;
  std::vector<std::uint32_t> export_refused;   // VA fourccs that cannot be exported
  std::vector<std::uint32_t> composed_refused; // VA fourccs with separate layers only
  std::vector<std::uint32_t> vpp_refused;      // VA fourccs that video processing cannot write
  std::vector<std::uint32_t> read_refused;     // VA fourccs that video processing cannot read
  std::uint32_t vpp_refused_above = 0;         // rows: only surfaces of more; 0: all
  unsigned pipelines = 0;    // parameter buffers that a picture keeps, the last ones; 0: all
  bool status_ready = false; // vaQuerySurfaceStatus says ready, always
  bool composed = true;
  bool separate = true;
  bool vpp = true;
  std::vector<VAProcDeinterlacingType> deinterlacing; // algorithms of the filter
  unsigned frames_before = 1;                         // that the two motion algorithms need
  unsigned frames_behind = 0;                         // likewise
  bool rotates = true;                                // video processing turns and mirrors
  bool bob_works = true; // false: the filter is taken, and both fields are shown
  std::vector<Matrix> matrices{Matrix::Bt601, Matrix::Bt709, Matrix::Bt2020}; // that are listed
  bool explicit_colours = false; // VAProcColorStandardExplicit is listed
  bool fixed_colours = false; // whatever is asked for, in narrow range, YUV of other YUV as it is:
  Matrix fixed_from{};        // of YUV that becomes RGB
  Matrix fixed_to{};          // of YUV that is made of RGB
  bool background = true;     // output_background_color is drawn
  bool import_objects = true; // false: every plane is in the first object of a descriptor
  bool import_prime2 = true;  // foreign dma-bufs are taken as VADRMPRIMESurfaceDescriptor
  std::uint64_t import_refused_tall = 0; // this modifier, of more rows than that; 0: none
  std::uint32_t import_refused_above = 0;
  std::vector<std::uint64_t> import_refused; // modifiers of foreign dma-bufs that are refused
  bool derive = true;
  bool put = true;
  bool queue_put = false; // vaPutImage returns before the picture is there, as a drawing does
  Memory memory = Memory::Auto;
  unsigned async_ms = 0; // time one picture takes on the "GPU"; 0: done when vaEndPicture returns
  bool fences = true;    // asynchronous work leaves implicit fences in the dma-bufs (sw_sync)
  unsigned max_surfaces = 0; // alive at once; 0: no limit
  std::uint32_t min_size = 1;
  std::uint32_t max_size = 8192;
  Lie lie = Lie::None;
  std::uint64_t lie_from = 1; // the export from which on it lies, counted from 1
  std::vector<Failure> failures;
  bool prints = false; // what looks like a probe's answer, to standard output and standard error
  std::string counters_path;
};

// What surfaces of the format can be allocated with, best first.
inline const std::vector<std::uint64_t> &modifiers_of(const Settings &settings,
                                                      std::uint32_t va_fourcc)
{
  const auto it = std::find_if(settings.machine.begin(), settings.machine.end(),
                               [=](const FormatModifiers &m) { return m.format == va_fourcc; });
  return it == settings.machine.end() ? settings.modifiers : it->modifiers;
}

template <typename T> bool contains(const std::vector<T> &list, T wanted)
{
  return std::find(list.begin(), list.end(), wanted) != list.end();
}

// The settings for displays of one node, such as "renderD129": what stands before the first '@',
// and behind that what "@renderD129," begins.
std::string settings_of_node(std::string_view text, std::string_view node);

// A misspelled key or value is an error: a test must not pass because its knob was ignored.
bool parse_settings(std::string_view text, Settings &settings, std::string &error);

} // namespace gstdrm::test::vadriver
