// SPDX-License-Identifier: LGPL-2.1-or-later
// What happened to the frames of a pipeline: the record that the tracer drmverify keeps and writes
// as JSON (docs/gst-drm-verify.md). It knows no GStreamer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <unordered_set>

#include <gst/drm/core/frame_layout.hpp>
#include <gst/drm/core/json_writer.hpp>
#include <gst/drm/core/unique_fd.hpp>

#include "dmabuf_facts.hpp"

namespace gstdrm::verify {

using Id = std::uint32_t;
inline constexpr Id kNone = ~Id{0};

// How long something took, many times: the largest exactly, percentiles to 1/8 of their value.
class Durations {
public:
  void add(std::int64_t ns);
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  // {"count": N, "p50-us": N, "p95-us": N, "max-us": N}
  void write(JsonWriter &json) const;

private:
  static constexpr unsigned kSteps = 8; // of each power of two
  [[nodiscard]] std::uint64_t percentile_us(unsigned percent) const;

  std::array<std::uint32_t, 40 * kSteps> buckets_{};
  std::uint64_t count_ = 0;
  std::uint64_t max_us_ = 0;
};

// When the last few frames were here, by their timestamps.
class Arrivals {
public:
  static constexpr std::int64_t kNoTime = -1;
  void put(std::int64_t pts_ns, std::int64_t now_ns) noexcept;
  // Of the newest frame with that timestamp.
  [[nodiscard]] std::optional<std::int64_t> find(std::int64_t pts_ns) const noexcept;

private:
  // more than a queue holds by default (200 buffers)
  static constexpr std::size_t kMost = 256;
  struct Arrival {
    std::int64_t pts_ns = kNoTime;
    std::int64_t when_ns = 0;
  };
  std::array<Arrival, kMost> ring_{};
  std::size_t next_ = 0;
};

// What the element before a link did to a frame that it handed on.
enum class Treatment {
  Made,    // it has no frames as input: a source, a decoder
  Passed,  // the same dma-buf as it received
  Changed, // the same dma-buf, after the CPU wrote into it
  Copied,  // another memory, after the CPU wrote into it or read the one before
  Other,   // another memory, without the CPU: a device drew it, or imported the one before
  System,  // the same memory, which is no dma-buf; or nobody can tell
};
inline constexpr std::size_t kTreatments = 6;

struct LinkFacts {
  std::string from_pad; // "name.pad"
  std::string to_pad;
  std::string caps;
  bool is_video = false; // video/x-raw: what an element does to other streams is not judged
};

// One buffer.
struct Frame {
  std::array<Id, kMaxPlanes> dmabufs{};
  std::size_t n_dmabufs = 0;
  std::string_view memory;            // the kind of the first memory
  const void *first_memory = nullptr; // for memory that is no dma-buf: the same or another one
  std::int64_t pts_ns = Arrivals::kNoTime;
};

// The counters of an element with the property drm-stats.
struct ElementStats {
  std::vector<std::pair<std::string, std::uint64_t>> counters;
  std::string copy_reason;
};

// Any thread. Its lock is taken last and held for no call out of this class, so that hooks may run
// under locks of GStreamer and of elements.
class Trace {
public:
  Trace();

  // Finds one that is known already, or adds it; kNone if there are too many. `path` tells elements
  // with the same name apart.
  Id element(const std::string &path, const std::string &name, const std::string &factory,
             bool is_sink);
  Id link(Id from, Id to, const LinkFacts &facts);
  // The dma-buf of a descriptor, which is borrowed; kNone for what is none.
  Id dmabuf(int fd);
  Id dmabuf(const ObjectInfo &object, std::string exporter);

  // A frame goes through a link. Until the call of leave() in the same thread, what happens in it
  // is done by the element behind the link, or kNone for a link that is not followed. Returns how
  // many frames that link carried.
  std::uint64_t enter(Id link, const Frame &frame, std::int64_t now_ns);
  void leave() noexcept;
  // An element answers a query on a pad, in which it may allocate, copy what it keeps, and hand
  // frames on. `pad` is only compared: GStreamer does not tell of every end.
  void ask(Id element, const void *pad);
  void answered(const void *pad) noexcept;
  // The CPU mapped a dma-buf in this thread.
  void mapped(Id dmabuf, bool writes, std::uint64_t bytes);
  // The fence of a frame was pending when the frame went through the link.
  void pending(Id link, UniqueFd fence, std::int64_t now_ns);
  void stats(Id element, ElementStats stats);
  // Looks at fences that were pending, at who is attached, and at what is mapped. Costs system
  // calls.
  void look();

  [[nodiscard]] std::string to_json(bool finished);
  // Changes with each frame.
  [[nodiscard]] std::uint64_t frames() const;

  // Mapped by a thread while it was in no element, as a source does before it pushes.
  struct Unowned {
    Id dmabuf;
    bool writes;
    std::uint64_t bytes;
  };
  // What threads left that ended without a further push: of the element that they pushed for
  // before, such as a source that is stopped while it fills a frame, or else theirs.
  struct Orphan {
    std::string thread;
    Id element;
    Unowned mapping;
  };
  struct Orphans {
    std::mutex lock; // taken alone
    std::vector<Orphan> mappings;
  };
  [[nodiscard]] const std::shared_ptr<Orphans> &orphans() const noexcept { return orphans_; }

private:
  struct Element {
    std::string name;
    std::string factory;
    bool is_sink = false;
    bool has_video_input = false;
    bool has_read_input = false; // by the CPU, since it handed a frame on
    std::unordered_set<Id> inputs;
    Arrivals arrivals;
    Durations latency;    // from its input to its output
    Durations from_start; // of a sink: since the frame was made
    std::optional<ElementStats> stats;
  };
  struct Link {
    Id from = kNone;
    Id to = kNone;
    LinkFacts facts;
    std::string memory; // of the last frame
    std::uint64_t frames = 0;
    std::uint64_t dmabuf_frames = 0;
    std::uint64_t pending_frames = 0;
    std::array<std::uint64_t, kTreatments> treated{};
    std::array<std::uint64_t, kTreatments> first{}; // number of the first frame, from 1
    std::unordered_set<Id> dmabufs;
    Durations pending;
  };
  struct DmaBuf {
    BufferIdentity identity;
    std::string exporter;
    std::uint64_t bytes = 0;
    Id written_by = kNone;       // by the CPU, since it was handed on
    bool cpu_written = false;    // by any element
    bool is_frame = false;       // of a video stream; else the memory of a tensor, an encoded frame
    bool is_mapped = false;      // by anybody in this process, when look() looked
    bool is_known_to_be = false; // by a call of mapped()
    std::set<std::string> attached;
  };
  struct Mapping {
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
    std::uint64_t bytes = 0;
    std::uint64_t first_frame = 0;
  };
  struct Pending {
    Id link;
    UniqueFd fence;
    std::int64_t since_ns;
  };
  // element or thread; dma-buf; whether that was a frame already, and no new memory that is tried
  using MappingKey = std::tuple<std::string, Id, bool>;

  Treatment treat(Id from, const Frame &frame);
  void arrive(Id to, const Link &link, const Frame &frame, std::int64_t now_ns);
  void own_mapping(Id element, Id dmabuf, bool writes, std::uint64_t bytes, std::uint64_t frame);
  void add_mapping(const std::string &who, Id dmabuf, bool writes, std::uint64_t bytes,
                   std::uint64_t frame);
  void take_orphans();
  void settle_fences();
  void write_link(JsonWriter &json, const Link &link) const;
  void write_element(JsonWriter &json, const Element &element) const;
  void write_mappings(JsonWriter &json) const;
  void write_dmabufs(JsonWriter &json) const;

  mutable std::mutex lock_;
  std::vector<Element> elements_;
  std::vector<Link> links_;
  std::vector<DmaBuf> dmabufs_;
  std::map<std::string, Id> element_ids_;
  std::map<std::tuple<Id, Id, std::string>, Id> link_ids_;
  std::map<BufferIdentity, Id> dmabuf_ids_;
  std::map<MappingKey, Mapping> mappings_;
  std::vector<Pending> pending_;
  const std::shared_ptr<Orphans> orphans_ = std::make_shared<Orphans>(); // outlives this object
  Arrivals made_; // when each frame was handed on by its source
  std::uint64_t frames_ = 0;
  bool attachments_known_ = false;
  std::size_t descriptors_at_start_ = 0;
  std::string program_;
};

} // namespace gstdrm::verify
