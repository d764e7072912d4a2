// SPDX-License-Identifier: LGPL-2.1-or-later
#include "verdict.hpp"

#include <algorithm>
#include <string_view>

namespace verify {

namespace {

constexpr const char *kUnseenImport =
    "a V4L2 device without DMA imports dma-bufs without being attached";
constexpr std::uint64_t kSlowFence_us = 50000; // the document's failure table

// Exporters that only hold memory: whoever uses it is attached to it, or maps it. All others are
// drivers of devices, which need no attachment to memory of their own.
bool is_memory(std::string_view exporter)
{
  constexpr std::string_view kMemories[] = {"system",   "system-uncached",    "reserved",
                                            "udmabuf",  "default_cma_region", "nvmap",
                                            "tegra-buf"};
  return exporter.starts_with("linux,cma") || exporter.ends_with("-heap") ||
         std::find(std::begin(kMemories), std::end(kMemories), exporter) != std::end(kMemories);
}

std::uint64_t counter(const Element &element, const char *name)
{
  const auto found = element.stats.find(name);
  return found == element.stats.end() ? 0 : found->second;
}

std::string of_frames(std::uint64_t n, const Link &link)
{
  return std::to_string(n) + " of " + inspect::count(link.frames, "frame", "frames");
}

class Judge {
public:
  explicit Judge(const Trace &trace) : trace_(trace) {}

  Invariant attached()
  {
    Invariant i{"I1", "I1_attach_count_ge2", "a dma-buf is shared by two devices", {}, {}};
    if (trace_.dmabufs.empty())
      return violate(i, {}, 0, "no dma-buf went through any pad",
                     "take a source or decoder that makes dma-bufs, or put dmabufupload before the "
                     "device");
    const bool shared = std::any_of(trace_.dmabufs.begin(), trace_.dmabufs.end(), is_shared);
    if (!trace_.attachments_known)
      return unknown(i, "reading debugfs' dma_buf/bufinfo takes root, and debugfs mounted");
    // a driver or a program that writes by a mapping of its own is not seen
    const bool imported =
        std::any_of(trace_.dmabufs.begin(), trace_.dmabufs.end(), [](const DmaBuf &dmabuf) {
          return is_memory(dmabuf.exporter) && !dmabuf.attached.empty();
        });
    if (!shared && imported)
      return unknown(i, "one device is attached, and nobody is seen to write the frames");
    if (!shared && is_imported_unseen())
      return unknown(i, kUnseenImport);
    if (!shared)
      return violate(i, {}, 0, "no dma-buf has more than one user",
                     "a consumer that does not import dma-bufs maps or ignores them: see the CPU "
                     "mappings, and put a device's element behind");
    return hold(i);
  }

  Invariant exporter()
  {
    Invariant i{"I2", "I2_known_exporter", "the exporter of each dma-buf is known", {}, {}};
    if (trace_.dmabufs.empty())
      return unknown(i, "there was no dma-buf");
    return hold(i); // a descriptor without "exp_name:" is none of a dma-buf
  }

  Invariant imports()
  {
    Invariant i{"I3", "I3_axl_imports", "a device imported the dma-bufs", {}, {}};
    std::uint64_t imports = 0;
    for (const Element &element : trace_.elements)
      imports += counter(element, "imports");
    const bool attached =
        std::any_of(trace_.dmabufs.begin(), trace_.dmabufs.end(),
                    [](const DmaBuf &dmabuf) { return !dmabuf.attached.empty(); });
    if (imports > 0 || attached)
      return hold(i);
    if (trace_.dmabufs.empty())
      return unknown(i, "there was no dma-buf");
    if (!trace_.attachments_known)
      return unknown(i, "no element with drm-stats counted one, and reading debugfs' "
                        "dma_buf/bufinfo takes root");
    if (is_imported_unseen())
      return unknown(i, kUnseenImport);
    // a driver is not attached to what it exported itself
    if (!std::all_of(trace_.dmabufs.begin(), trace_.dmabufs.end(),
                     [](const DmaBuf &dmabuf) { return is_memory(dmabuf.exporter); }))
      return unknown(i,
                     "no element with drm-stats counted one, and devices that import dma-bufs of "
                     "their own are not seen");
    return violate(i, {}, 0, "no device imported a dma-buf",
                   "the consumer's driver is not reached: look at its log for the import, and at "
                   "the kernel's");
  }

  Invariant no_copy()
  {
    Invariant i{"I4", "I4_no_memcpy_hot", "the CPU neither copies nor touches pixels", {}, {}};
    const std::set<std::string> judged = elements_on_the_way();
    for (const Link &link : trace_.links)
      if (judged.contains(link.from))
        judge_link(i, link);
    for (const Element &element : trace_.elements)
      if (const std::uint64_t copies = counter(element, "copies"); copies > 0)
        blame(i, element.name, 0,
              "counted " + inspect::count(copies, "copy", "copies") + " by the CPU" +
                  (element.copy_reason.empty() ? "" : ": " + element.copy_reason));
    for (const Mapping &mapping : trace_.mappings)
      judge_mapping(i, mapping);
    const auto others = std::count_if(trace_.dmabufs.begin(), trace_.dmabufs.end(),
                                      [](const DmaBuf &dmabuf) { return dmabuf.mapped_otherwise; });
    if (others > 0)
      i = violate(i, {}, 0,
                  inspect::count(static_cast<std::size_t>(others), "dma-buf", "dma-bufs") +
                      " mapped by an mmap() of their own of an element or a library",
                  "find out whose it is: a software renderer, such as llvmpipe, or an element that "
                  "maps descriptors; use one that imports them");
    return i.state == State::Violated ? i : hold(i);
  }

  std::vector<Violation> violations;

private:
  static Invariant hold(Invariant i)
  {
    i.state = State::Holds;
    return i;
  }
  static Invariant unknown(Invariant i, const std::string &why)
  {
    i.state = State::Unknown;
    i.why = why;
    return i;
  }
  Invariant violate(Invariant i, const std::string &element, std::uint64_t frame,
                    const std::string &what, const std::string &cure)
  {
    i.state = State::Violated;
    violations.push_back({i.name, element, frame, what, cure});
    return i;
  }

  // One violation for each element: the first that is found says most.
  void blame(Invariant &i, const std::string &element, std::uint64_t frame, const std::string &what)
  {
    i.state = State::Violated;
    const auto same = std::find_if(violations.begin(), violations.end(), [&](const Violation &v) {
      return v.invariant == i.name && v.element == element;
    });
    if (same == violations.end())
      violations.push_back({i.name, element, frame, what, cure_of(element)});
  }

  // The elements that are connected with a link that carries dma-bufs, all of them if there is
  // none: a program may convert a thumbnail beside its stream.
  [[nodiscard]] std::set<std::string> elements_on_the_way() const
  {
    std::set<std::string> found;
    for (const Link &link : trace_.links)
      if (link.dmabuf_frames > 0)
        found.insert({link.from, link.to});
    std::size_t before = 0;
    while (!found.empty() && found.size() != before) {
      before = found.size();
      for (const Link &link : trace_.links)
        if (found.contains(link.from) || found.contains(link.to))
          found.insert({link.from, link.to});
    }
    for (const Element &element : trace_.elements)
      if (before == 0)
        found.insert(element.name);
    return found;
  }

  void judge_link(Invariant &i, const Link &link)
  {
    if (link.copied > 0)
      blame(i, link.from, link.first_copied, "copied pixels: " + of_frames(link.copied, link));
    if (link.changed > 0)
      blame(i, link.from, link.first_changed,
            "wrote into frames by the CPU: " + of_frames(link.changed, link));
  }

  // What a source or decoder writes is no copy: it has no frame that it could copy. What is behind
  // a muxer has. Nor is it one to read the result of a network.
  void judge_mapping(Invariant &i, const Mapping &mapping)
  {
    if (!mapping.is_video)
      return;
    const Element *element = find(mapping.by);
    if (element && !element->has_video_input && (mapping.reads == 0 || !receives_dmabufs(*element)))
      return;
    const bool writes = mapping.writes > 0;
    blame(i, mapping.by, mapping.first_frame,
          std::string("mapped dma-bufs of ") + mapping.exporter + " to " +
              (writes ? mapping.reads > 0 ? "read and write" : "write" : "read") +
              " pixels by the CPU: " +
              inspect::count(mapping.reads + mapping.writes, "time", "times"));
  }

  [[nodiscard]] bool receives_dmabufs(const Element &element) const
  {
    return std::any_of(trace_.links.begin(), trace_.links.end(), [&](const Link &link) {
      return link.to == element.name && link.dmabuf_frames > 0;
    });
  }

  // V4L2 drivers without DMA (vivid; uvcvideo) map dma-bufs within the kernel, and are not attached
  // (vb2_vmalloc_attach_dmabuf() in drivers/media/common/videobuf2/videobuf2-vmalloc.c).
  [[nodiscard]] bool is_imported_unseen() const
  {
    return std::any_of(trace_.elements.begin(), trace_.elements.end(), [&](const Element &element) {
      return element.factory.starts_with("v4l2") && receives_dmabufs(element);
    });
  }

  [[nodiscard]] const Element *find(const std::string &name) const
  {
    const auto found = std::find_if(trace_.elements.begin(), trace_.elements.end(),
                                    [&](const Element &element) { return element.name == name; });
    return found == trace_.elements.end() ? nullptr : &*found;
  }

  [[nodiscard]] std::string cure_of(const std::string &name) const
  {
    const Element *element = find(name);
    const std::string factory = element ? element->factory : "";
    if (!element)
      return "find out which element the thread belongs to, and use one that imports dma-bufs";
    if (factory == "dmabufupload")
      return "let the element before take its pool (no element between that ends the allocation "
             "query), or a decoder that makes dma-bufs";
    if (factory == "dmabufdownload")
      return "leave it out, and let the consumer import dma-bufs";
    if (factory.find("convert") != std::string::npos || factory.find("scale") != std::string::npos)
      return "make the caps on both of its sides the same (format, size, colorimetry), or convert "
             "on a GPU (vadmabufconvert)";
    if (element->is_sink)
      return "use a sink that imports dma-bufs, such as kmsdmabufsink; of a frame now and then, "
             "keep "
             "no last one (enable-last-sample=false)";
    return "use an element that works on dma-bufs in place of " + factory;
  }

  const Trace &trace_;
};

void add_notes(const Trace &trace, std::vector<std::string> &notes)
{
  for (const Link &link : trace.links)
    if (link.pending.p95_us > kSlowFence_us)
      notes.push_back(
          "fences of frames from " + link.from + " are pending for " +
          std::to_string(link.pending.p95_us / 1000) +
          " ms (p95): the device is too slow, or its PCIe link is degraded (lspci -vvv, "
          "LnkSta)");
  const std::uint64_t before = trace.descriptors_at_start;
  const std::uint64_t after = trace.descriptors_at_end;
  if (trace.finished && after > before + 16)
    notes.push_back(std::to_string(after - before) +
                    " descriptors more at the end than at the start");
  for (const Link &link : trace.links)
    if (link.is_video && link.dmabufs > 64 && link.dmabufs * 10 > link.frames * 9)
      notes.push_back(std::to_string(link.dmabufs) + " dma-bufs in " + std::to_string(link.frames) +
                      " frames from " + link.from +
                      ": no pool is used, and each frame is a new import");
}

} // namespace

bool is_shared(const DmaBuf &dmabuf)
{
  return dmabuf.attached.size() + (is_memory(dmabuf.exporter) ? 0 : 1) +
             (dmabuf.cpu_written ? 1 : 0) >=
         2;
}

bool Verdict::is_unknown() const
{
  return std::any_of(invariants.begin(), invariants.end(),
                     [](const Invariant &i) { return i.state == State::Unknown; });
}

Verdict judge(const Trace &trace, const std::set<std::string> &skipped)
{
  Judge judge(trace);
  Verdict verdict{{judge.attached(), judge.exporter(), judge.imports(), judge.no_copy()}, {}, {}};
  for (Invariant &invariant : verdict.invariants)
    if (skipped.contains(invariant.name)) {
      invariant.state = State::Skipped;
      invariant.why = "not judged";
    }
  for (Violation &violation : judge.violations)
    if (!skipped.contains(violation.invariant))
      verdict.violations.push_back(std::move(violation));
  add_notes(trace, verdict.notes);
  return verdict;
}

} // namespace verify
