// SPDX-License-Identifier: LGPL-2.1-or-later
#include "trace.hpp"

#include <algorithm>
#include <bit>
#include <fstream>

#include <pthread.h>
#include <unistd.h>

#include <gst/drm/core/sync_file.hpp>

namespace gstdrm::verify {

namespace {

constexpr std::size_t kMostKnown = 65536; // dma-bufs; a pool has some ten
constexpr std::size_t kMostListed = 1024; // of them in the JSON
constexpr std::size_t kMostLinks = 4096;  // of an application that makes elements without end
constexpr std::size_t kMostInputs = 4096; // of one element that are remembered
constexpr std::size_t kMostPending = 64;  // fences that are kept until they signal
constexpr std::size_t kMostUnowned = 64;  // mappings of a thread that has not pushed yet

constexpr std::string_view kSystemMemory = "SystemMemory"; // GST_ALLOCATOR_SYSMEM

constexpr const char *kTreatmentNames[kTreatments] = {"made",   "passed", "changed",
                                                      "copied", "other",  "system"};

std::string thread_name()
{
  char name[16] = {};
  if (::pthread_getname_np(::pthread_self(), name, sizeof(name)) != 0)
    return "a thread";
  return std::string("thread ") + name;
}

// What the calling thread is doing. Pads push within pads that push, so the frames are a stack.
struct ThreadState {
  struct Entered {
    Id element = kNone;
    std::uint64_t frame = 0;
    Frame input;
    const void *asked = nullptr; // pad of a query that it answers; nullptr while it takes a frame
  };
  std::vector<Entered> entered;
  std::vector<Trace::Unowned> unowned;
  Id pushed_for = kNone;                   // the element of its last push that was in no other one
  std::shared_ptr<Trace::Orphans> orphans; // of the trace that the rest is about

  void begin(const Trace &trace)
  {
    entered.clear();
    unowned.clear();
    pushed_for = kNone;
    orphans = trace.orphans();
  }
  ~ThreadState()
  {
    if (unowned.empty())
      return;
    const std::lock_guard lock(orphans->lock);
    for (const Trace::Unowned &mapping : unowned)
      orphans->mappings.push_back({thread_name(), pushed_for, mapping});
  }
};

ThreadState &thread_state(const Trace &trace)
{
  thread_local ThreadState state;
  if (state.orphans != trace.orphans())
    state.begin(trace);
  return state;
}

std::string program_name()
{
  std::string name;
  std::getline(std::ifstream("/proc/self/comm"), name);
  return name;
}

void write_pair(JsonWriter &json, const char *key, std::uint64_t value)
{
  json.key(key).number(value);
}

} // namespace

// --- times ---------------------------------------------------------------------------------------

void Durations::add(std::int64_t ns)
{
  const auto us = static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0)) / 1000;
  // [2^n, 2^(n+1)) has kSteps buckets; the first kSteps values have one each
  std::size_t bucket = us;
  if (us >= kSteps) {
    const auto power = static_cast<unsigned>(std::bit_width(us)) - 1;
    bucket = (power - 2) * kSteps + ((us >> (power - 3)) & (kSteps - 1));
  }
  buckets_[std::min(bucket, buckets_.size() - 1)]++;
  count_++;
  max_us_ = std::max(max_us_, us);
}

std::uint64_t Durations::percentile_us(unsigned percent) const
{
  std::uint64_t left = (count_ * percent + 99) / 100;
  for (std::size_t bucket = 0; bucket < buckets_.size(); bucket++) {
    if (buckets_[bucket] < left) {
      left -= buckets_[bucket];
      continue;
    }
    if (bucket < kSteps)
      return bucket;
    if (bucket + 1 == buckets_.size())
      break; // whatever is longer is here, too
    const std::size_t power = bucket / kSteps + 2;
    const std::uint64_t step = std::uint64_t{1} << (power - 3);
    const std::uint64_t end = (std::uint64_t{1} << power) + (bucket % kSteps + 1) * step - 1;
    return std::min(end, max_us_);
  }
  return max_us_;
}

void Durations::write(JsonWriter &json) const
{
  json.begin_object();
  write_pair(json, "count", count_);
  write_pair(json, "p50-us", percentile_us(50));
  write_pair(json, "p95-us", percentile_us(95));
  write_pair(json, "max-us", max_us_);
  json.end_object();
}

void Arrivals::put(std::int64_t pts_ns, std::int64_t now_ns) noexcept
{
  if (pts_ns != kNoTime)
    ring_[next_++ % kMost] = {pts_ns, now_ns};
}

std::optional<std::int64_t> Arrivals::find(std::int64_t pts_ns) const noexcept
{
  if (pts_ns == kNoTime)
    return std::nullopt;
  for (std::size_t back = 1; back <= std::min(kMost, next_); back++)
    if (const Arrival &arrival = ring_[(next_ - back) % kMost]; arrival.pts_ns == pts_ns)
      return arrival.when_ns;
  return std::nullopt;
}

// --- elements, links and dma-bufs ----------------------------------------------------------------

Trace::Trace() : descriptors_at_start_(count_descriptors()), program_(program_name()) {}

Id Trace::element(const std::string &path, const std::string &name, const std::string &factory,
                  bool is_sink)
{
  const std::lock_guard lock(lock_);
  if (elements_.size() >= kMostLinks && !element_ids_.contains(path))
    return kNone;
  const auto [found, added] = element_ids_.emplace(path, static_cast<Id>(elements_.size()));
  if (added) {
    Element element;
    element.name = name;
    element.factory = factory;
    element.is_sink = is_sink;
    elements_.push_back(std::move(element));
  }
  return found->second;
}

Id Trace::link(Id from, Id to, const LinkFacts &facts)
{
  const std::lock_guard lock(lock_);
  if (from == kNone || to == kNone || links_.size() >= kMostLinks)
    return kNone;
  const std::string key = facts.from_pad + '\n' + facts.to_pad + '\n' + facts.caps;
  const auto [found, added] =
      link_ids_.emplace(std::tuple(from, to, key), static_cast<Id>(links_.size()));
  if (added) {
    Link link;
    link.from = from;
    link.to = to;
    link.facts = facts;
    links_.push_back(std::move(link));
    elements_[to].has_video_input |= facts.is_video;
  }
  return found->second;
}

Id Trace::dmabuf(int fd)
{
  const Result<ObjectInfo> object = query_object(fd);
  if (!object)
    return kNone;
  {
    const std::lock_guard lock(lock_);
    if (const auto found = dmabuf_ids_.find(object->identity); found != dmabuf_ids_.end())
      return found->second;
    if (dmabufs_.size() >= kMostKnown)
      return kNone;
  }
  std::string exporter = read_exporter(fd);
  return exporter.empty() ? kNone : dmabuf(*object, std::move(exporter)); // a memfd, or a file
}

Id Trace::dmabuf(const ObjectInfo &object, std::string exporter)
{
  const std::lock_guard lock(lock_);
  const auto [found, is_new] =
      dmabuf_ids_.emplace(object.identity, static_cast<Id>(dmabufs_.size()));
  if (is_new) {
    DmaBuf &added = dmabufs_.emplace_back();
    added.identity = object.identity;
    added.bytes = object.size_bytes;
    added.exporter = std::move(exporter);
  }
  return found->second;
}

// --- frames --------------------------------------------------------------------------------------

Treatment Trace::treat(Id from, const Frame &frame)
{
  Element &element = elements_[from];
  const std::vector<ThreadState::Entered> &entered = thread_state(*this).entered;
  // Within the element, its input is the frame that it was given last in this thread; in threads of
  // its own it may hand on any frame that it received.
  const bool within = !entered.empty() && entered.back().element == from && !entered.back().asked;
  const Frame *input = within ? &entered.back().input : nullptr;
  const auto was_input = [&](Id id) {
    return input ? std::find(input->dmabufs.begin(), input->dmabufs.begin() + input->n_dmabufs,
                             id) != input->dmabufs.begin() + input->n_dmabufs
                 : element.inputs.contains(id);
  };
  bool passed = false;
  bool written = false;
  for (std::size_t i = 0; i < frame.n_dmabufs; i++) {
    DmaBuf &dmabuf = dmabufs_[frame.dmabufs[i]];
    passed |= was_input(frame.dmabufs[i]);
    written |= dmabuf.written_by == from;
    dmabuf.cpu_written |= dmabuf.written_by == from;
    dmabuf.written_by = kNone;
  }
  const bool read = std::exchange(element.has_read_input, false);
  if (passed)
    return written ? Treatment::Changed : Treatment::Passed;
  if (!element.has_video_input)
    return Treatment::Made;
  const bool had_dmabuf = input ? input->n_dmabufs > 0 : !element.inputs.empty();
  if (!had_dmabuf && frame.n_dmabufs == 0) {
    // only the CPU makes one system memory of another
    const bool copied = input && input->first_memory != frame.first_memory &&
                        frame.memory == kSystemMemory && input->memory == kSystemMemory;
    return copied ? Treatment::Copied : Treatment::System;
  }
  return written || read ? Treatment::Copied : Treatment::Other;
}

void Trace::arrive(Id to, const Link &link, const Frame &frame, std::int64_t now_ns)
{
  Element &element = elements_[to];
  for (std::size_t i = 0; i < frame.n_dmabufs; i++)
    element.inputs.insert(frame.dmabufs[i]);
  if (element.inputs.size() > kMostInputs)
    element.inputs.clear();
  if (!link.facts.is_video)
    return;
  element.arrivals.put(frame.pts_ns, now_ns);
  if (element.is_sink)
    if (const auto made = made_.find(frame.pts_ns))
      element.from_start.add(now_ns - *made);
}

std::uint64_t Trace::enter(Id link_id, const Frame &frame, std::int64_t now_ns)
{
  ThreadState &thread = thread_state(*this);
  if (link_id == kNone) {
    thread.entered.emplace_back();
    return 0;
  }
  const std::lock_guard lock(lock_);
  Link &link = links_[link_id];
  link.frames++;
  frames_++;
  link.memory = frame.memory;
  if (frame.n_dmabufs > 0)
    link.dmabuf_frames++;
  for (std::size_t i = 0; i < frame.n_dmabufs; i++)
    link.dmabufs.insert(frame.dmabufs[i]);
  for (std::size_t i = 0; i < frame.n_dmabufs; i++)
    dmabufs_[frame.dmabufs[i]].is_frame |= link.facts.is_video;
  if (thread.entered.empty()) {
    for (const Unowned &mapping : thread.unowned)
      own_mapping(link.from, mapping.dmabuf, mapping.writes, mapping.bytes, link.frames);
    thread.unowned.clear();
    thread.pushed_for = link.from;
  }
  if (link.facts.is_video) {
    const auto treatment = static_cast<std::size_t>(treat(link.from, frame));
    if (link.treated[treatment]++ == 0)
      link.first[treatment] = link.frames;
    Element &from = elements_[link.from];
    if (!from.has_video_input)
      made_.put(frame.pts_ns, now_ns);
    else if (const auto arrived = from.arrivals.find(frame.pts_ns))
      from.latency.add(now_ns - *arrived);
  }
  arrive(link.to, link, frame, now_ns);
  thread.entered.push_back({link.to, link.frames, frame, nullptr});
  return link.frames;
}

void Trace::leave() noexcept
{
  std::vector<ThreadState::Entered> &entered = thread_state(*this).entered;
  while (!entered.empty() && entered.back().asked)
    entered.pop_back();
  if (!entered.empty())
    entered.pop_back();
}

void Trace::ask(Id element, const void *pad)
{
  thread_state(*this).entered.push_back({element, 0, {}, pad});
}

void Trace::answered(const void *pad) noexcept
{
  std::vector<ThreadState::Entered> &entered = thread_state(*this).entered;
  for (std::size_t i = entered.size(); i > 0 && entered[i - 1].asked; i--)
    if (entered[i - 1].asked == pad) {
      entered.resize(i - 1);
      return;
    }
}

// --- mappings ------------------------------------------------------------------------------------

void Trace::add_mapping(const std::string &who, Id dmabuf, bool writes, std::uint64_t bytes,
                        std::uint64_t frame)
{
  const MappingKey key(who, dmabuf, dmabufs_[dmabuf].is_frame);
  if (mappings_.size() >= kMostKnown && !mappings_.contains(key))
    return;
  Mapping &mapping = mappings_[key];
  (writes ? mapping.writes : mapping.reads)++;
  mapping.bytes += bytes;
  if (mapping.first_frame == 0)
    mapping.first_frame = frame;
}

void Trace::own_mapping(Id id, Id dmabuf, bool writes, std::uint64_t bytes, std::uint64_t frame)
{
  Element &element = elements_[id];
  add_mapping(element.name, dmabuf, writes, bytes, frame);
  if (writes)
    dmabufs_[dmabuf].written_by = id;
  element.has_read_input |= element.inputs.contains(dmabuf);
}

void Trace::mapped(Id dmabuf, bool writes, std::uint64_t bytes)
{
  ThreadState &thread = thread_state(*this);
  const std::lock_guard lock(lock_);
  dmabufs_[dmabuf].is_known_to_be = true;
  if (!thread.entered.empty()) {
    const ThreadState::Entered &in = thread.entered.back();
    if (in.element != kNone)
      own_mapping(in.element, dmabuf, writes, bytes, in.frame);
    return;
  }
  thread.unowned.push_back({dmabuf, writes, bytes});
  if (thread.unowned.size() < kMostUnowned)
    return;
  for (const Unowned &mapping : thread.unowned)
    add_mapping(thread_name(), mapping.dmabuf, mapping.writes, mapping.bytes, 0);
  thread.unowned.clear();
}

void Trace::take_orphans()
{
  std::vector<Orphan> left;
  {
    const std::lock_guard lock(orphans_->lock);
    left.swap(orphans_->mappings);
  }
  const std::lock_guard lock(lock_);
  for (const auto &[thread, element, mapping] : left)
    add_mapping(element == kNone ? thread : elements_[element].name, mapping.dmabuf, mapping.writes,
                mapping.bytes, 0);
}

// --- fences, statistics --------------------------------------------------------------------------

void Trace::pending(Id link, UniqueFd fence, std::int64_t now_ns)
{
  const std::lock_guard lock(lock_);
  links_[link].pending_frames++;
  if (fence && pending_.size() < kMostPending)
    pending_.push_back({link, std::move(fence), now_ns});
}

void Trace::settle_fences()
{
  std::vector<Pending> looked_at;
  {
    const std::lock_guard lock(lock_);
    looked_at.swap(pending_);
  }
  for (Pending &pending : looked_at) {
    const Result<FenceTime> time = fence_time(pending.fence.get());
    const std::lock_guard lock(lock_);
    if (time && time->has_value())
      links_[pending.link].pending.add(**time - pending.since_ns);
    else if (time && pending_.size() < kMostPending)
      pending_.push_back(std::move(pending));
    // else several fences in one, which have no single time
  }
}

void Trace::stats(Id element, ElementStats stats)
{
  const std::lock_guard lock(lock_);
  if (element != kNone)
    elements_[element].stats = std::move(stats);
}

void Trace::look()
{
  settle_fences();
  std::optional<Attachments> attachments = read_attachments();
  const std::set<std::uint64_t> mapped = read_mapped();
  const std::lock_guard lock(lock_);
  for (DmaBuf &dmabuf : dmabufs_)
    dmabuf.is_mapped |= mapped.contains(dmabuf.identity.inode);
  if (!attachments)
    return;
  attachments_known_ = true;
  for (DmaBuf &dmabuf : dmabufs_)
    if (const auto found = attachments->find(dmabuf.identity.inode); found != attachments->end())
      dmabuf.attached.merge(found->second);
}

std::uint64_t Trace::frames() const
{
  const std::lock_guard lock(lock_);
  return frames_;
}

// --- JSON ----------------------------------------------------------------------------------------

void Trace::write_element(JsonWriter &json, const Element &element) const
{
  json.begin_object();
  json.key("name").string(element.name);
  json.key("factory").string(element.factory);
  write_pair(json, "sink", element.is_sink ? 1 : 0);
  write_pair(json, "video-input", element.has_video_input ? 1 : 0);
  element.latency.write(json.key("latency"));
  element.from_start.write(json.key("latency-from-source"));
  json.key("stats");
  if (!element.stats) {
    json.null();
  } else {
    json.begin_object();
    for (const auto &[name, value] : element.stats->counters)
      write_pair(json, name.c_str(), value);
    json.key("last-copy-reason").string(element.stats->copy_reason);
    json.end_object();
  }
  json.end_object();
}

void Trace::write_link(JsonWriter &json, const Link &link) const
{
  std::set<std::string> exporters;
  for (const Id dmabuf : link.dmabufs)
    exporters.insert(dmabufs_[dmabuf].exporter);
  json.begin_object();
  json.key("from").string(elements_[link.from].name);
  json.key("from-pad").string(link.facts.from_pad);
  json.key("to").string(elements_[link.to].name);
  json.key("to-pad").string(link.facts.to_pad);
  json.key("caps").string(link.facts.caps);
  write_pair(json, "video", link.facts.is_video ? 1 : 0);
  json.key("memory").string(link.memory);
  json.key("exporters").begin_array();
  for (const std::string &exporter : exporters)
    json.string(exporter);
  json.end_array();
  write_pair(json, "frames", link.frames);
  write_pair(json, "dmabuf-frames", link.dmabuf_frames);
  write_pair(json, "dmabufs", link.dmabufs.size());
  for (std::size_t i = 0; i < kTreatments; i++)
    write_pair(json, kTreatmentNames[i], link.treated[i]);
  write_pair(json, "first-changed", link.first[static_cast<std::size_t>(Treatment::Changed)]);
  write_pair(json, "first-copied", link.first[static_cast<std::size_t>(Treatment::Copied)]);
  write_pair(json, "pending-frames", link.pending_frames);
  link.pending.write(json.key("pending"));
  json.end_object();
}

// Those of dma-bufs that are alike are added up.
void Trace::write_mappings(JsonWriter &json) const
{
  std::map<std::tuple<std::string, std::string, bool>, Mapping> sums;
  for (const auto &[key, mapping] : mappings_) {
    const auto &[who, dmabuf, is_frame] = key;
    Mapping &sum = sums[{who, dmabufs_[dmabuf].exporter, is_frame}];
    sum.reads += mapping.reads;
    sum.writes += mapping.writes;
    sum.bytes += mapping.bytes;
    if (sum.first_frame == 0 || mapping.first_frame < sum.first_frame)
      sum.first_frame = mapping.first_frame;
  }
  json.begin_array();
  for (const auto &[key, mapping] : sums) {
    json.begin_object();
    json.key("by").string(std::get<0>(key));
    json.key("exporter").string(std::get<1>(key));
    write_pair(json, "video", std::get<2>(key) ? 1 : 0);
    write_pair(json, "reads", mapping.reads);
    write_pair(json, "writes", mapping.writes);
    write_pair(json, "bytes", mapping.bytes);
    write_pair(json, "first-frame", mapping.first_frame);
    json.end_object();
  }
  json.end_array();
}

void Trace::write_dmabufs(JsonWriter &json) const
{
  json.begin_array();
  for (std::size_t i = 0; i < std::min(dmabufs_.size(), kMostListed); i++) {
    const DmaBuf &dmabuf = dmabufs_[i];
    json.begin_object();
    write_pair(json, "inode", dmabuf.identity.inode);
    json.key("exporter").string(dmabuf.exporter);
    write_pair(json, "bytes", dmabuf.bytes);
    write_pair(json, "cpu-written", dmabuf.cpu_written ? 1 : 0);
    const bool mapped_otherwise = dmabuf.is_frame && dmabuf.is_mapped && !dmabuf.is_known_to_be;
    write_pair(json, "mapped-otherwise", mapped_otherwise ? 1 : 0);
    json.key("attached").begin_array();
    for (const std::string &device : dmabuf.attached)
      json.string(device);
    json.end_array();
    json.end_object();
  }
  json.end_array();
}

std::string Trace::to_json(bool finished)
{
  const std::size_t descriptors = count_descriptors();
  take_orphans();
  JsonWriter json;
  const std::lock_guard lock(lock_);
  json.begin_object();
  json.key("schema").string("gst-drm-trace");
  write_pair(json, "version", 1);
  json.key("program").string(program_);
  write_pair(json, "pid", static_cast<std::uint64_t>(::getpid()));
  write_pair(json, "finished", finished ? 1 : 0);
  write_pair(json, "attachments-known", attachments_known_ ? 1 : 0);
  write_pair(json, "descriptors-at-start", descriptors_at_start_);
  write_pair(json, "descriptors-at-end", descriptors);
  json.key("elements").begin_array();
  for (const Element &element : elements_)
    write_element(json, element);
  json.end_array();
  json.key("links").begin_array();
  for (const Link &link : links_)
    write_link(json, link);
  json.end_array();
  write_mappings(json.key("mappings"));
  write_dmabufs(json.key("dmabufs"));
  json.end_object();
  return json.text() + "\n";
}

} // namespace gstdrm::verify
