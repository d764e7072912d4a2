// SPDX-License-Identifier: LGPL-2.1-or-later
#include "machine_check.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>

#include <gio/gio.h>
#include <sys/resource.h>
#include <unistd.h>

#include <gst/drm/core/constraints.hpp>
#include <gst/drm/core/kernel.hpp>
#include <gst/gst.h>

#include "../inspect/machine.hpp"

namespace verify {

namespace {

namespace fs = std::filesystem;
using inspect::count;

// Options without which there is no memory that devices share (the zero-copy document), and what
// each is for.
struct KernelOption {
  const char *name;
  const char *purpose;
};
constexpr KernelOption kOptions[] = {
    {"DMA_SHARED_BUFFER", "dma-bufs"},
    {"SYNC_FILE", "fences"},
    {"DMABUF_HEAPS", "memory of no device"},
    {"DMABUF_HEAPS_SYSTEM", "memory of no device"},
    {"DMABUF_HEAPS_CMA", "contiguous memory"},
    {"CMA", "contiguous memory"},
    {"DMA_CMA", "contiguous memory"},
    {"UDMABUF", "memory of no device"},
    {"DMABUF_SYSFS_STATS", "who exported each dma-buf"},
};

// The files of the machine that is looked at.
class Machine {
public:
  explicit Machine(std::string root) : root_(std::move(root)) {}

  [[nodiscard]] std::string path(const std::string &name) const { return root_ + name; }
  // Without the line feed at its end; nullopt if it cannot be read.
  [[nodiscard]] std::optional<std::string> read(const std::string &name) const
  {
    std::ifstream file(path(name), std::ios::binary);
    if (!file)
      return std::nullopt;
    std::string text(std::istreambuf_iterator<char>(file), {});
    while (text.ends_with('\n'))
      text.pop_back();
    return text;
  }
  [[nodiscard]] std::string word(const std::string &name) const
  {
    return inspect::printable(read(name).value_or(""));
  }
  // The names in a directory that start with `prefix`, sorted.
  [[nodiscard]] std::vector<std::string> list(const std::string &name,
                                              std::string_view prefix = "") const
  {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto &entry : fs::directory_iterator(path(name), error))
      if (std::string found = entry.path().filename().string(); found.starts_with(prefix))
        names.push_back(std::move(found));
    std::sort(names.begin(), names.end());
    return names;
  }
  [[nodiscard]] bool exists(const std::string &name) const
  {
    return ::access(path(name).c_str(), F_OK) == 0;
  }
  [[nodiscard]] bool opens(const std::string &name) const
  {
    return ::access(path(name).c_str(), R_OK | W_OK) == 0;
  }

private:
  std::string root_;
};

std::string joined(const std::vector<std::string> &names)
{
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

// --- the kernel ----------------------------------------------------------------------------------

Finding check_kernel(const Machine &machine)
{
  const std::string release = machine.word("/proc/sys/kernel/osrelease");
  const std::string found = "Linux " + release;
  const gstdrm::KernelLack lack = gstdrm::kernel_lack(release);
  if (lack == gstdrm::KernelLack::Nothing)
    return {Light::Green, "kernel", found + ", with the sync_file ioctls of dma-bufs", {}};
  return {lack == gstdrm::KernelLack::Inodes ? Light::Red : Light::Yellow, "kernel",
          found + " " + gstdrm::describe(lack), "take a newer kernel"};
}

std::string unpacked(const std::string &path)
{
  const std::unique_ptr<GFile, decltype(&g_object_unref)> file(g_file_new_for_path(path.c_str()),
                                                               g_object_unref);
  GFileInputStream *packed = g_file_read(file.get(), nullptr, nullptr);
  if (!packed)
    return {};
  GZlibDecompressor *gzip = g_zlib_decompressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP);
  GInputStream *stream = g_converter_input_stream_new(G_INPUT_STREAM(packed), G_CONVERTER(gzip));
  std::string text;
  char part[4096];
  gssize size = 0;
  while ((size = g_input_stream_read(stream, part, sizeof(part), nullptr, nullptr)) > 0)
    text.append(part, static_cast<std::size_t>(size));
  g_object_unref(stream);
  g_object_unref(gzip);
  g_object_unref(packed);
  return text;
}

std::optional<Finding> check_options(const Machine &machine)
{
  std::string config = unpacked(machine.path("/proc/config.gz"));
  if (config.empty())
    config =
        machine.read("/boot/config-" + machine.word("/proc/sys/kernel/osrelease")).value_or("");
  if (config.empty())
    return std::nullopt; // the devices and files below say what is there
  std::set<std::string> set;
  std::istringstream lines(config);
  for (std::string line; std::getline(lines, line);)
    if (line.ends_with("=y") || line.ends_with("=m"))
      set.insert(line.substr(0, line.size() - 2));
  std::vector<std::string> missing;
  for (const KernelOption &option : kOptions)
    if (!set.contains(std::string("CONFIG_") + option.name))
      missing.push_back(std::string("CONFIG_") + option.name + " (" + option.purpose + ")");
  if (missing.empty())
    return Finding{Light::Green, "kernel options", "all that frames without copies need", {}};
  return Finding{Light::Yellow, "kernel options", "not set: " + joined(missing),
                 "build the kernel with those that your devices need"};
}

// --- memory --------------------------------------------------------------------------------------

// A name may go on with an address, as in "linux,cma@40000000".
bool is_contiguous(std::string_view heap)
{
  const auto begins = [heap](const char *name) { return heap.starts_with(name); };
  return std::ranges::any_of(gstdrm::kContiguousHeaps, begins);
}

void check_heaps(const Machine &machine, std::vector<Finding> &findings)
{
  const std::vector<std::string> heaps = machine.list("/dev/dma_heap");
  if (heaps.empty()) {
    findings.push_back({Light::Yellow, "dma-heaps", "none: there is no /dev/dma_heap",
                        "dmabufupload takes udmabuf or a device's memory; for heaps the kernel "
                        "needs CONFIG_DMABUF_HEAPS"});
    return;
  }
  for (const std::string &heap : heaps) {
    const std::string found = is_contiguous(heap) ? "contiguous memory" : "scattered memory";
    if (machine.opens("/dev/dma_heap/" + heap))
      findings.push_back({Light::Green, "dma-heap " + heap, found, {}});
    else
      findings.push_back({Light::Yellow, "dma-heap " + heap, found + ", which may not be opened",
                          "give the user rights on /dev/dma_heap/" + heap + " (a udev rule)"});
  }
  if (std::none_of(heaps.begin(), heaps.end(), is_contiguous))
    findings.push_back({Light::Yellow, "contiguous memory", "no heap of it",
                        "a device without an IOMMU or scatter-gather needs one: "
                        "CONFIG_DMABUF_HEAPS_CMA and a CMA region"});
}

Finding check_udmabuf(const Machine &machine)
{
  if (!machine.exists("/dev/udmabuf"))
    return {Light::Yellow, "udmabuf", "none",
            "modprobe udmabuf, or a kernel with CONFIG_UDMABUF: it makes dma-bufs of plain memory"};
  if (!machine.opens("/dev/udmabuf"))
    return {Light::Yellow, "udmabuf", "may not be opened",
            "add the user to the group of /dev/udmabuf (kvm on Debian), and log in again"};
  const std::string limit = machine.word("/sys/module/udmabuf/parameters/size_limit_mb");
  return {Light::Green,
          "udmabuf",
          limit.empty() ? "works" : "works, for at most " + limit + " MB in one dma-buf",
          {}};
}

std::optional<std::uint64_t> meminfo_kb(const std::string &meminfo, std::string_view key)
{
  const std::size_t at = meminfo.find(key);
  if (at == std::string::npos)
    return std::nullopt;
  return std::strtoull(meminfo.c_str() + at + key.size(), nullptr, 10);
}

Finding check_cma(const Machine &machine)
{
  constexpr std::uint64_t kLittle_kb = 32U << 10; // 10 frames of 1080p NV12
  const std::string meminfo = machine.read("/proc/meminfo").value_or("");
  const std::uint64_t total = meminfo_kb(meminfo, "CmaTotal:").value_or(0);
  const std::uint64_t free = meminfo_kb(meminfo, "CmaFree:").value_or(0);
  if (total == 0)
    return {Light::Yellow, "CMA", "none",
            "only for devices that need contiguous memory: cma=256M on the kernel's command line, "
            "or a region in the device tree"};
  const std::string found =
      std::to_string(free >> 10) + " of " + std::to_string(total >> 10) + " MB free";
  if (free < kLittle_kb)
    return {Light::Yellow, "CMA", found, "enlarge the region (cma= or the device tree)"};
  return {Light::Green, "CMA", found, {}};
}

Finding check_iommu(const Machine &machine)
{
  const std::size_t groups = machine.list("/sys/kernel/iommu_groups").size();
  if (groups == 0)
    return {Light::Yellow, "IOMMU", "none, or switched off",
            "devices see physical addresses: those without scatter-gather need contiguous memory"};
  return {Light::Green, "IOMMU", count(groups, "group", "groups"), {}};
}

Finding check_statistics(const Machine &machine)
{
  const bool bufinfo =
      ::access(machine.path("/sys/kernel/debug/dma_buf/bufinfo").c_str(), R_OK) == 0;
  const bool buffers = machine.exists("/sys/kernel/dmabuf/buffers");
  const std::string found = std::string("debugfs' bufinfo ") +
                            (bufinfo ? "can be read" : "cannot be read") +
                            (buffers ? ", sysfs lists dma-bufs" : ", no list in sysfs");
  if (bufinfo)
    return {Light::Green, "who shares what", found, {}};
  return {Light::Yellow, "who shares what", found,
          "to judge I1: be root, and mount -t debugfs none /sys/kernel/debug"};
}

// --- devices -------------------------------------------------------------------------------------

void check_nodes(const Machine &machine, std::vector<Finding> &findings)
{
  std::size_t nodes = 0;
  for (const char *prefix : {"card", "renderD"})
    for (const std::string &name : machine.list("/dev/dri", prefix)) {
      nodes++;
      const std::string driver_link = machine.path("/sys/class/drm/" + name + "/device/driver");
      std::error_code none;
      const std::string driver = fs::read_symlink(driver_link, none).filename().string();
      const std::string found = driver.empty() ? "there" : "of " + driver;
      if (machine.opens("/dev/dri/" + name))
        findings.push_back({Light::Green, name, found, {}});
      else
        findings.push_back({Light::Red, name, found + ", but may not be opened",
                            std::string("add the user to the group ") +
                                (prefix[0] == 'c' ? "video" : "render") + ", and log in again"});
    }
  if (nodes == 0)
    findings.push_back({Light::Red, "DRM devices", "none: there is no /dev/dri",
                        "load the driver of the GPU or the display; in a container, hand "
                        "/dev/dri over"});
}

void check_connectors(const Machine &machine, std::vector<Finding> &findings)
{
  for (const std::string &name : machine.list("/sys/class/drm", "card")) {
    const std::string folder = "/sys/class/drm/" + name;
    const std::string status = machine.word(folder + "/status");
    if (name.find('-') == std::string::npos || status != "connected")
      continue;
    const std::string modes = machine.read(folder + "/modes").value_or("");
    const auto n_modes = static_cast<std::size_t>(
        modes.empty() ? 0 : std::count(modes.begin(), modes.end(), '\n') + 1);
    const bool has_edid = !machine.read(folder + "/edid").value_or("").empty();
    const std::string found =
        "connected, " + count(n_modes, "mode", "modes") + (has_edid ? ", EDID" : ", no EDID");
    if (n_modes == 0)
      findings.push_back({Light::Red, name, found,
                          "no mode, so nothing can be shown: look at the "
                          "cable, or give it a mode (video= of the kernel)"});
    else
      findings.push_back({has_edid ? Light::Green : Light::Yellow, name, found,
                          has_edid ? "" : "colorimetry and HDR of the display are not known"});
  }
}

// debugfs' dri/N/clients: rows "command tgid dev master a uid magic" (drm_debugfs.c).
void check_master(const Machine &machine, std::vector<Finding> &findings)
{
  for (const std::string &number : machine.list("/sys/kernel/debug/dri")) {
    std::istringstream rows(
        machine.read("/sys/kernel/debug/dri/" + number + "/clients").value_or(""));
    for (std::string row; std::getline(rows, row);) {
      std::istringstream words(row);
      std::string command;
      std::string tgid;
      std::string dev;
      std::string master;
      if (words >> command >> tgid >> dev >> master && master == "y" && number.size() < 3)
        findings.push_back({Light::Yellow, "card" + number,
                            inspect::printable(command) + " (" + inspect::printable(tgid) +
                                ") is master of its displays",
                            "kmsdmabufsink gets none of them meanwhile: end it, or lease one"});
    }
  }
}

// GPUs, displays and accelerators (PCI class codes 03 and 12).
void check_pci(const Machine &machine, std::vector<Finding> &findings)
{
  constexpr std::string_view kAxelera = "0x1f9d";
  const std::string all = "/sys/bus/pci/devices/";
  for (const std::string &name : machine.list(all)) {
    const std::string kind = machine.word(all + name + "/class");
    if (!kind.starts_with("0x03") && !kind.starts_with("0x12") &&
        machine.word(all + name + "/vendor") != kAxelera)
      continue;
    const std::string speed = machine.word(all + name + "/current_link_speed");
    const std::string width = machine.word(all + name + "/current_link_width");
    const std::string most = machine.word(all + name + "/max_link_speed");
    const std::string widest = machine.word(all + name + "/max_link_width");
    if (speed.empty() || most.empty() || width == "0")
      continue; // part of the processor
    const std::string found = speed + " x" + width + " of " + most + " x" + widest;
    if (speed == most && width == widest)
      findings.push_back({Light::Green, "PCIe " + name, found, {}});
    else
      findings.push_back({Light::Yellow, "PCIe " + name, found,
                          "an idle GPU slows its link down: look again under load; else reseat the "
                          "card, or take a slot with more lanes"});
  }
}

// --- this process --------------------------------------------------------------------------------

Finding check_memlock()
{
  constexpr rlim_t kLittle = 64U << 20;
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  if (limit.rlim_cur == RLIM_INFINITY)
    return {Light::Green, "memlock", "unlimited", {}};
  const std::string found = std::to_string(limit.rlim_cur >> 20) + " MB";
  if (limit.rlim_cur >= kLittle)
    return {Light::Green, "memlock", found, {}};
  return {Light::Yellow, "memlock", found,
          "runtimes that pin memory themselves, as some NPUs' do, may need more (ulimit -l)"};
}

bool speaks_dma_drm(GstElementFactory *factory)
{
  for (const GList *item = gst_element_factory_get_static_pad_templates(factory); item;
       item = item->next) {
    const auto *pad = static_cast<const GstStaticPadTemplate *>(item->data);
    if (pad->static_caps.string && std::strstr(pad->static_caps.string, "DMA_DRM"))
      return true;
  }
  return false;
}

Finding check_gstreamer()
{
  const inspect::Text version(gst_version_string());
  std::vector<std::string> names;
  GList *features = gst_registry_get_feature_list(gst_registry_get(), GST_TYPE_ELEMENT_FACTORY);
  for (const GList *item = features; item; item = item->next)
    if (speaks_dma_drm(GST_ELEMENT_FACTORY(item->data)))
      names.emplace_back(GST_OBJECT_NAME(item->data));
  gst_plugin_feature_list_free(features);
  std::sort(names.begin(), names.end());
  if (names.empty())
    return {Light::Red, version.get(), "no element with DMA_DRM caps",
            "install gst-drm's plugins, or set GST_PLUGIN_PATH"};
  return {Light::Green, version.get(), "DMA_DRM caps: " + joined(names), {}};
}

} // namespace

std::vector<Finding> check_machine(const std::string &root)
{
  const Machine machine(root);
  std::vector<Finding> findings = {check_kernel(machine)};
  if (std::optional<Finding> options = check_options(machine))
    findings.push_back(std::move(*options));
  check_heaps(machine, findings);
  findings.push_back(check_udmabuf(machine));
  findings.push_back(check_cma(machine));
  findings.push_back(check_iommu(machine));
  findings.push_back(check_statistics(machine));
  check_nodes(machine, findings);
  check_connectors(machine, findings);
  check_master(machine, findings);
  check_pci(machine, findings);
  if (root.empty()) {
    findings.push_back(check_memlock());
    findings.push_back(check_gstreamer());
  }
  return findings;
}

std::string write_findings(const std::vector<Finding> &findings, bool colours)
{
  constexpr const char *kWords[] = {"green ", "yellow", "red   "};
  constexpr const char *kCodes[] = {"\033[32m", "\033[33m", "\033[31m"};
  std::string text;
  for (const Finding &finding : findings) {
    const auto light = static_cast<std::size_t>(finding.light);
    text += (colours ? std::string(kCodes[light]) + kWords[light] + "\033[0m" : kWords[light]) +
            "  " + inspect::printable(finding.subject + ": " + finding.found) + "\n";
    if (!finding.advice.empty())
      text += "        What to do: " + inspect::printable(finding.advice) + "\n";
  }
  return text;
}

} // namespace verify
