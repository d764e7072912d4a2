// SPDX-License-Identifier: LGPL-2.1-or-later
#include "resources.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <xf86drm.h>
#include <xf86drmMode.h>

#include <gst/drm/core/errno_text.hpp>
#include <gst/drm/core/unique_fd.hpp>
#include <gst/drm/drm.h>

#include "../verify/machine_check.hpp"

namespace inspect {

namespace {

template <auto free_function> struct Freed {
  void operator()(auto *pointer) const noexcept { free_function(pointer); }
};
using Resources = std::unique_ptr<drmModeRes, Freed<drmModeFreeResources>>;
using Connector = std::unique_ptr<drmModeConnector, Freed<drmModeFreeConnector>>;
using Encoder = std::unique_ptr<drmModeEncoder, Freed<drmModeFreeEncoder>>;
using Crtc = std::unique_ptr<drmModeCrtc, Freed<drmModeFreeCrtc>>;

// One row of a section, with two columns.
std::string row(const std::string &name, const std::string &what)
{
  constexpr std::size_t kNameColumns = 24;
  std::string text = "  " + printable(name);
  text.append(name.size() < kNameColumns ? kNameColumns - name.size() : 1, ' ');
  return text + printable(what) + "\n";
}

// "1920x1080@59.94", "1920x1080i@50.00": an interlaced mode has its field rate, as in the kernel's
// drm_mode_vrefresh().
std::string mode_name(const drmModeModeInfo &mode)
{
  const double pixels = static_cast<double>(mode.htotal) * mode.vtotal *
                        std::max<unsigned>(mode.vscan, 1) *
                        ((mode.flags & DRM_MODE_FLAG_DBLSCAN) != 0 ? 2 : 1);
  const bool interlaced = (mode.flags & DRM_MODE_FLAG_INTERLACE) != 0;
  const double hz = pixels > 0 ? mode.clock * 1000.0 * (interlaced ? 2 : 1) / pixels : 0;
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%ux%u%s@%.2f", mode.hdisplay, mode.vdisplay,
                interlaced ? "i" : "", hz);
  return text.data();
}

std::string current_mode(int fd, const drmModeConnector &connector)
{
  const Encoder encoder(drmModeGetEncoder(fd, connector.encoder_id));
  const Crtc crtc(encoder ? drmModeGetCrtc(fd, encoder->crtc_id) : nullptr);
  return crtc && crtc->mode_valid ? "shows " + mode_name(crtc->mode) : "off";
}

std::string describe_connector(int fd, const drmModeConnector &connector)
{
  if (connector.connection == DRM_MODE_DISCONNECTED)
    return "disconnected";
  std::string text =
      connector.connection == DRM_MODE_CONNECTED ? "connected, " : "connection unknown, ";
  text += current_mode(fd, connector);
  const drmModeModeInfo *first = connector.modes;
  const drmModeModeInfo *end = first + connector.count_modes;
  text += ", " + count(static_cast<std::size_t>(connector.count_modes), "mode", "modes");
  const auto *preferred = std::find_if(first, end, [](const drmModeModeInfo &mode) {
    return (mode.type & DRM_MODE_TYPE_PREFERRED) != 0;
  });
  if (preferred != end)
    text += ", prefers " + mode_name(*preferred);
  return text;
}

// Returns what the kernel knows of a connector. Probes it only if nobody has probed it yet, because
// a probe may disturb a display that is in use.
Connector read_connector(int fd, std::uint32_t id)
{
  Connector known(drmModeGetConnectorCurrent(fd, id));
  if (known && known->connection == DRM_MODE_UNKNOWNCONNECTION && known->count_modes == 0)
    known.reset(drmModeGetConnector(fd, id));
  return known;
}

std::string list_connectors(const std::string &node)
{
  const gstdrm::UniqueFd fd(::open(node.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd)
    return row("connectors", gstdrm::errno_text(errno));
  const Resources resources(drmModeGetResources(fd.get()));
  if (!resources)
    return row("connectors", "none: it has no displays");
  std::string text;
  for (int i = 0; i < resources->count_connectors; i++) {
    const Connector connector = read_connector(fd.get(), resources->connectors[i]);
    // clients see writeback connectors only if they ask for them
    if (!connector || connector->connector_type == DRM_MODE_CONNECTOR_WRITEBACK)
      continue;
    const char *type = drmModeGetConnectorTypeName(connector->connector_type);
    text += row(std::string(type ? type : "Unknown") + "-" +
                    std::to_string(connector->connector_type_id),
                describe_connector(fd.get(), *connector));
  }
  return text.empty() ? row("connectors", "none") : text;
}

// The names in a directory that start with `prefix`, sorted.
std::vector<std::string> names_in(const char *directory, std::string_view prefix)
{
  std::vector<std::string> names;
  std::error_code error;
  for (const auto &entry : std::filesystem::directory_iterator(directory, error))
    if (std::string name = entry.path().filename().string(); name.starts_with(prefix))
      names.push_back(std::move(name));
  std::sort(names.begin(), names.end());
  return names;
}

std::string describe_memory(const std::string &name, GstDrmAllocatorKind kind, const char *device)
{
  g_autoptr(GError) error = nullptr;
  g_autoptr(GstDrmAllocator) allocator = gst_drm_allocator_new(kind, device, &error);
  if (!allocator)
    return row(name, std::string("does not work: ") + error->message);
  const gchar *opened = gst_drm_allocator_get_device(allocator);
  return row(name, opened ? opened : "shared memory, which no device imports");
}

} // namespace

std::string list_card(const std::string &node)
{
  if (!node.starts_with("/dev/dri/card"))
    return {};
  return list_connectors(node) +
         describe_memory("allocator=dumb", GST_DRM_ALLOCATOR_KIND_DUMB, node.c_str());
}

std::string list_resources(const Machine &machine)
{
  std::string text;
  for (const std::string &card : names_in("/dev/dri", "card")) {
    const std::string node = "/dev/dri/" + card;
    if (std::none_of(machine.sources.begin(), machine.sources.end(),
                     [&node](const Source &source) { return source.device == node; }))
      text +=
          (text.empty() ? "\ncards that list no formats\n" : "") + node + "\n" + list_card(node);
  }
  text +=
      "\nmemory for frames (dmabufupload's `allocator`), beside the cards and gbm devices above\n";
  text += describe_memory("udmabuf", GST_DRM_ALLOCATOR_KIND_UDMABUF, nullptr);
  for (const std::string &heap : names_in("/dev/dma_heap", ""))
    text += describe_memory("dma-heap " + heap, GST_DRM_ALLOCATOR_KIND_DMA_HEAP, heap.c_str());
  text += describe_memory("memfd", GST_DRM_ALLOCATOR_KIND_MEMFD, nullptr);

  std::vector<verify::Finding> findings = verify::check_machine("");
  std::erase_if(findings, [](const verify::Finding &f) { return f.light == verify::Light::Green; });
  if (!findings.empty())
    text += "\nwhat could be better here (gst-drm-verify-1.0 --machine)\n" +
            verify::write_findings(findings, false);
  return text;
}

} // namespace inspect
