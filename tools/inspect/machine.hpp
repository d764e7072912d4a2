// SPDX-License-Identifier: LGPL-2.1-or-later
// A machine: its sources, from the library or from a file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gst/drm/drm.h>

namespace inspect {

struct UnrefSet {
  void operator()(GstDrmFormatSet *set) const noexcept { gst_drm_format_set_unref(set); }
};
using Set = std::unique_ptr<GstDrmFormatSet, UnrefSet>;

struct FreeText {
  void operator()(gchar *text) const noexcept { g_free(text); }
};
using Text = std::unique_ptr<gchar, FreeText>;

struct Pair {
  std::uint32_t fourcc = 0;
  std::uint64_t modifier = 0;
  bool external_only = false;
  unsigned planes = 0; // memory planes; 0 if unknown
};

struct Source {
  std::string kind; // "kms", "egl" and so on; "table" for a list of pairs from a file
  std::string name;
  std::string device; // path of the node; this and the next three may be empty
  std::string driver;
  std::string description;
  std::string problem;     // why there are no pairs
  std::vector<Pair> pairs; // sorted by fourcc, then modifier; each pair once
};

struct Machine {
  std::string kernel;    // uname -sr
  std::string gstreamer; // its version
  bool is_live = false;  // this machine, whose nodes can be opened
  std::vector<Source> sources;
};

// A failure that ends the program, in one line for the user.
struct Failure {
  std::string text;
};
template <typename T> struct Outcome {
  std::optional<T> value;
  Failure failure;
  Outcome(T made) : value(std::move(made)) {}       // NOLINT(google-explicit-constructor)
  Outcome(Failure why) : failure(std::move(why)) {} // NOLINT(google-explicit-constructor)
  explicit operator bool() const noexcept { return value.has_value(); }
};

// A table in the form of tests/data/egl-formats: lines `FOURCC 0xMODIFIER EXTERNAL_ONLY`, comments
// after #. `name` is for messages.
Outcome<Source> parse_table(std::string_view text, const std::string &name);

// Sorts the pairs and removes duplicates.
void tidy(std::vector<Pair> &pairs);

Set to_set(const Source &source);
// "XR24"; "XR24_BE" for the big-endian one.
std::string fourcc_name(std::uint32_t fourcc);
// "LINEAR", "INTEL_X_TILED", "implicit".
std::string modifier_name(std::uint64_t modifier);
// "0x0100000000000001"
std::string hex(std::uint64_t modifier);
// Replaces control characters, which a terminal would execute, by question marks.
std::string printable(std::string_view text);
// The text, or at most `most` bytes of it, without a part of a character, and three dots.
std::string shorten(const std::string &text, std::size_t most);
// A JSON string of printable(text), with its quotation marks.
std::string quote(const std::string &text);
// "primary plane of vkms, /dev/dri/card0"
std::string describe(const Source &source);
// "1 pair", "2 pairs"
std::string count(std::size_t n, const char *singular, const char *plural);
// Joins the names to lines of at most `width` columns, without trailing spaces.
std::vector<std::string> wrap(const std::vector<std::string> &names, std::size_t width);
std::size_t count_fourccs(const std::vector<Pair> &pairs);

} // namespace inspect
