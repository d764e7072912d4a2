// SPDX-License-Identifier: LGPL-2.1-or-later
#include "egl_driver.hpp"

#include <charconv>
#include <string_view>
#include <system_error>

namespace gstdrm::egl {
namespace {

// The first Mesa whose software renderers map the buffers of others as dma-bufs (docs/drivers.md).
constexpr unsigned kSafeSoftwareMesa = 26;

constexpr std::string_view kGlesPrefix = "OpenGL ES ";

// Reads one number off the front of `text`; 0 where there is none.
unsigned take_number(std::string_view &text) noexcept
{
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc{} ? number : 0;
}

// Only the start of the name counts: virgl draws on the host, whose renderer it names in brackets
// ("virgl (LLVMPIPE …)"). Zink draws with Vulkan, whose device it names.
bool is_software_renderer(std::string_view renderer) noexcept
{
  for (const char *start : {"llvmpipe", "softpipe", "swrast", "Software Rasterizer", "SWR "})
    if (renderer.starts_with(start))
      return true;
  return renderer.starts_with("zink") && (renderer.find("llvmpipe") != std::string_view::npos ||
                                          renderer.find("lavapipe") != std::string_view::npos);
}

// NVIDIA's driver for cards imports by nvidia-drm; that for Tegra ("NVIDIA Tegra … /integrated") by
// another kernel driver, which has no node.
bool needs_nvidia_drm(const Driver &driver)
{
  return driver.is_without_node && driver.egl_vendor == "NVIDIA" &&
         driver.gl_renderer.find("/PCIe") != std::string::npos;
}

} // namespace

std::string Driver::describe() const
{
  std::string text = gl_renderer.empty() ? "unknown renderer" : gl_renderer;
  if (mesa_major > 0)
    return text + ", Mesa " + std::to_string(mesa_major) + "." + std::to_string(mesa_minor);
  return gl_version.empty() ? text : text + ", " + gl_version;
}

bool Driver::is_gl(unsigned major, unsigned minor) const noexcept
{
  std::string_view version = gl_version;
  if (is_gles)
    version.remove_prefix(kGlesPrefix.size());
  const unsigned has_major = take_number(version);
  if (has_major != major || !version.starts_with('.'))
    return has_major > major;
  version.remove_prefix(1);
  return take_number(version) >= minor;
}

// See docs/drivers.md. Nothing that Mesa says tells a display that maps foreign buffers with
// dumb buffers' ioctl from one that does not, so all of them are refused.
std::string Driver::import_refusal() const
{
  if (needs_nvidia_drm(*this))
    return describe() +
           ", imports no dma-buf: it lists formats, and refuses each import where its GPU has no "
           "node in /dev/dri; load nvidia-drm (modprobe nvidia-drm modeset=1), and show /dev/dri "
           "to the container";
  if (!is_software || mesa_major >= kSafeSoftwareMesa)
    return {};
  return describe() + ", imports no dma-buf: software rendering of Mesa before " +
         std::to_string(kSafeSoftwareMesa) +
         " crashes when it draws a buffer that another device made; update Mesa, or use a GPU";
}

void read_driver_strings(Driver &driver)
{
  driver.is_gles = driver.gl_version.starts_with(kGlesPrefix);
  driver.is_software = is_software_renderer(driver.gl_renderer);
  driver.mesa_major = 0;
  driver.mesa_minor = 0;
  constexpr std::string_view kMesa = "Mesa ";
  const std::size_t at = driver.gl_version.find(kMesa);
  if (at == std::string::npos)
    return;
  std::string_view rest = std::string_view(driver.gl_version).substr(at + kMesa.size());
  driver.mesa_major = take_number(rest);
  if (!rest.starts_with('.'))
    return;
  rest.remove_prefix(1);
  driver.mesa_minor = take_number(rest);
}

} // namespace gstdrm::egl
