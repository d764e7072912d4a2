// SPDX-License-Identifier: LGPL-2.1-or-later
// What the tracer drmverify recorded of a program, read from its file (docs/gst-drm-verify.md).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../inspect/machine.hpp"

namespace verify {

using inspect::Failure;
using inspect::Outcome;

struct Durations {
  std::uint64_t count = 0;
  std::uint64_t p50_us = 0;
  std::uint64_t p95_us = 0;
  std::uint64_t max_us = 0;
};

struct Element {
  std::string name;
  std::string factory;
  bool is_sink = false;
  bool has_video_input = false;
  Durations latency;      // from its input to its output
  Durations from_source;  // of a sink: since the frame was made
  bool has_stats = false; // the property drm-stats
  std::map<std::string, std::uint64_t> stats;
  std::string copy_reason;
};

struct Link {
  std::string from;
  std::string from_pad;
  std::string to;
  std::string to_pad;
  std::string caps;
  bool is_video = false;
  std::string memory;
  std::vector<std::string> exporters;
  std::uint64_t frames = 0;
  std::uint64_t dmabuf_frames = 0;
  std::uint64_t dmabufs = 0;
  // what the element in front did, in frames
  std::uint64_t made = 0;
  std::uint64_t passed = 0;
  std::uint64_t changed = 0;
  std::uint64_t copied = 0;
  std::uint64_t other = 0;
  std::uint64_t system = 0;
  std::uint64_t first_changed = 0; // number of the frame, from 1
  std::uint64_t first_copied = 0;
  std::uint64_t pending_frames = 0;
  Durations pending;
};

struct Mapping {
  std::string by; // an element, or "thread NAME"
  std::string exporter;
  bool is_video = false; // frames; else results of a network, say
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t bytes = 0;
  std::uint64_t first_frame = 0;
};

struct DmaBuf {
  std::uint64_t inode = 0;
  std::string exporter;
  std::uint64_t bytes = 0;
  bool cpu_written = false;
  bool mapped_otherwise = false; // a frame, by an mmap() of nobody's that maps a GstMemory
  std::vector<std::string> attached;
};

struct Trace {
  std::string program;
  bool finished = false;
  bool attachments_known = false;
  std::uint64_t descriptors_at_start = 0;
  std::uint64_t descriptors_at_end = 0;
  std::vector<Element> elements;
  std::vector<Link> links;
  std::vector<Mapping> mappings;
  std::vector<DmaBuf> dmabufs;
  // The pipeline by GStreamer, as Graphviz reads it; empty: the program made none.
  std::string drawing;
};

// `text` may be any bytes. `name` is the name of the file, for messages.
Outcome<Trace> parse_trace(std::string_view text, const std::string &name);

// "XR24 INTEL_X_TILED 320x240", "BGRx 320x240"; the media type of other streams.
std::string format_of(const Link &link);

} // namespace verify
