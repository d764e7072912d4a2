// SPDX-License-Identifier: LGPL-2.1-or-later
// The EGL displays of every device (EGL_EXT_device_enumeration). libEGL is loaded when it is asked
// for, so that a machine without it has no sources, and the library no dependency.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <dlfcn.h>

#include "source.hpp"

#define EGL_NO_X11
#define MESA_EGL_NO_X11_HEADERS
#include <EGL/egl.h>
#include <EGL/eglext.h>

#include "../core/log.hpp"

namespace gstdrm {

namespace {

// Far above what drivers list (Mesa 26.1: 72 formats, 11 modifiers): a count beyond is a mistake of
// the driver's, and not memory to ask for.
constexpr EGLint kMaxListed = 4096;
// EGL_EXT_device_drm_render_node
constexpr EGLint kRenderNodeFile = 0x3377;
// EGL_KHR_display_reference
constexpr EGLAttrib kTrackReferences = 0x3352;

struct Calls {
  PFNEGLQUERYSTRINGPROC query_string = nullptr;
  PFNEGLINITIALIZEPROC initialize = nullptr;
  PFNEGLTERMINATEPROC terminate = nullptr;
  PFNEGLGETPLATFORMDISPLAYEXTPROC get_platform_display_ext = nullptr;
  PFNEGLGETPLATFORMDISPLAYPROC get_platform_display = nullptr;
  PFNEGLQUERYDEVICESEXTPROC query_devices = nullptr;
  PFNEGLQUERYDEVICESTRINGEXTPROC query_device_string = nullptr;
  PFNEGLQUERYDMABUFFORMATSEXTPROC query_formats = nullptr;
  PFNEGLQUERYDMABUFMODIFIERSEXTPROC query_modifiers = nullptr;
};

bool has_extension(const char *list, std::string_view name)
{
  std::string_view rest = list ? list : "";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    if (rest.substr(0, end) == name)
      return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

template <typename T> bool find(PFNEGLGETPROCADDRESSPROC get, const char *name, T &function)
{
  function = reinterpret_cast<T>(get(name));
  return function != nullptr;
}

// Returns false if there is no libEGL, or one that lists no devices. The library stays loaded:
// drivers do not unload well.
bool load(Calls &calls)
{
  void *const library = ::dlopen("libEGL.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library) {
    GSTDRM_DEBUG("no EGL displays: %s", ::dlerror());
    return false;
  }
  const auto symbol = [library](const char *name) { return ::dlsym(library, name); };
  const auto get = reinterpret_cast<PFNEGLGETPROCADDRESSPROC>(symbol("eglGetProcAddress"));
  calls.query_string = reinterpret_cast<PFNEGLQUERYSTRINGPROC>(symbol("eglQueryString"));
  calls.initialize = reinterpret_cast<PFNEGLINITIALIZEPROC>(symbol("eglInitialize"));
  calls.terminate = reinterpret_cast<PFNEGLTERMINATEPROC>(symbol("eglTerminate"));
  calls.get_platform_display =
      reinterpret_cast<PFNEGLGETPLATFORMDISPLAYPROC>(symbol("eglGetPlatformDisplay"));
  if (!get || !calls.query_string || !calls.initialize || !calls.terminate)
    return false;
  const char *const client = calls.query_string(EGL_NO_DISPLAY, EGL_EXTENSIONS);
  const bool lists = has_extension(client, "EGL_EXT_device_base") ||
                     has_extension(client, "EGL_EXT_device_enumeration");
  if (!lists || !has_extension(client, "EGL_EXT_platform_device"))
    return false;
  find(get, "eglQueryDeviceStringEXT", calls.query_device_string);
  find(get, "eglQueryDmaBufFormatsEXT", calls.query_formats);
  find(get, "eglQueryDmaBufModifiersEXT", calls.query_modifiers);
  return find(get, "eglQueryDevicesEXT", calls.query_devices) &&
         find(get, "eglGetPlatformDisplayEXT", calls.get_platform_display_ext);
}

// One device's display. An EGLDisplay is the same for everybody in the process, so eglTerminate()
// would end the displays of others too, unless EGL counts (EGL_KHR_display_reference); without that
// a display that was opened stays.
class Display {
public:
  Display(const Calls &calls, EGLDeviceEXT device) : calls_(calls)
  {
    const char *const client = calls.query_string(EGL_NO_DISPLAY, EGL_EXTENSIONS);
    counted_ = calls.get_platform_display && has_extension(client, "EGL_KHR_display_reference");
    const EGLAttrib attributes[] = {kTrackReferences, EGL_TRUE, EGL_NONE};
    display_ = counted_ ? calls.get_platform_display(EGL_PLATFORM_DEVICE_EXT, device, attributes)
                        : calls.get_platform_display_ext(EGL_PLATFORM_DEVICE_EXT, device, nullptr);
    ready_ = display_ != EGL_NO_DISPLAY && calls.initialize(display_, nullptr, nullptr);
  }
  Display(const Display &) = delete;
  Display &operator=(const Display &) = delete;
  ~Display()
  {
    if (ready_ && counted_)
      calls_.terminate(display_);
  }

  [[nodiscard]] bool ready() const noexcept { return ready_; }
  [[nodiscard]] EGLDisplay get() const noexcept { return display_; }

private:
  const Calls &calls_;
  EGLDisplay display_ = EGL_NO_DISPLAY;
  bool counted_ = false;
  bool ready_ = false;
};

// Nothing: the display does not answer.
std::optional<std::vector<EGLint>> list_fourccs(const Calls &calls, EGLDisplay display)
{
  EGLint count = 0;
  if (!calls.query_formats(display, 0, nullptr, &count))
    return std::nullopt;
  // what the driver leaves out stays 0, which is no format
  std::vector<EGLint> fourccs(static_cast<std::size_t>(std::clamp(count, 0, kMaxListed)));
  if (!fourccs.empty() &&
      !calls.query_formats(display, static_cast<EGLint>(fourccs.size()), fourccs.data(), &count))
    return std::nullopt;
  return fourccs;
}

// false: the display does not answer for a format that it lists.
bool add_fourcc(const Calls &calls, EGLDisplay display, EGLint number, Source &source)
{
  const auto fourcc = static_cast<std::uint32_t>(number);
  if (!fourcc_is_valid(fourcc))
    return true;
  EGLint count = 0;
  if (!calls.query_modifiers(display, number, 0, nullptr, nullptr, &count))
    return false;
  const auto size = static_cast<std::size_t>(std::clamp(count, 0, kMaxListed));
  std::vector<EGLuint64KHR> modifiers(size, kModImplicit);
  std::vector<EGLBoolean> external(size, EGL_TRUE);
  if (size > 0 && !calls.query_modifiers(display, number, static_cast<EGLint>(size),
                                         modifiers.data(), external.data(), &count))
    return false;
  bool any = false;
  for (std::size_t i = 0; i < size; i++) {
    // DRM_FORMAT_MOD_INVALID in the list: the implicit modifier, where no other one is listed
    if (modifiers[i] == kModImplicit)
      continue;
    any = true;
    source.formats.add({fourcc, modifiers[i]});
    if (external[i])
      source.external_only.add({fourcc, modifiers[i]});
  }
  if (any)
    return true;
  source.formats.add({fourcc, kModImplicit});
  if (fourcc_is_yuv(fourcc)) // the extension promises the external target alone
    source.external_only.add({fourcc, kModImplicit});
  return true;
}

void read_formats(const Calls &calls, EGLDisplay display, Source &source)
{
  const char *const extensions = calls.query_string(display, EGL_EXTENSIONS);
  if (!has_extension(extensions, "EGL_EXT_image_dma_buf_import_modifiers") ||
      !calls.query_formats || !calls.query_modifiers) {
    source.problem = "The EGL display of " + source.name +
                     " does not say which formats it imports: it has no "
                     "EGL_EXT_image_dma_buf_import_modifiers.";
    return;
  }
  auto listed = list_fourccs(calls, display);
  bool all_answered = listed.has_value();
  if (listed)
    for (const EGLint fourcc : *listed)
      all_answered = add_fourcc(calls, display, fourcc, source) && all_answered;
  // A driver may list a format that it knows nothing of. One that lists nothing any more is gone,
  // and half of its list would be taken for the whole.
  if (all_answered || (listed && list_fourccs(calls, display)))
    return;
  source.formats = {};
  source.external_only = {};
  source.problem = "The EGL display of " + source.name +
                   " does not answer which formats it imports; was its device removed?";
}

std::string device_string(const Calls &calls, EGLDeviceEXT device, const char *extension,
                          EGLint name)
{
  if (!calls.query_device_string ||
      !has_extension(calls.query_device_string(device, EGL_EXTENSIONS), extension))
    return {};
  const char *const text = calls.query_device_string(device, name);
  return text ? text : "";
}

// A GPU may have no node as well: NVIDIA's without nvidia-drm, or in a container.
std::string name_without_node(const Calls &calls, EGLDeviceEXT device)
{
  const char *const extensions =
      calls.query_device_string ? calls.query_device_string(device, EGL_EXTENSIONS) : nullptr;
  return has_extension(extensions, "EGL_MESA_device_software") ? "software" : "device";
}

void add_device(const Calls &calls, EGLDeviceEXT device, const OnlyDevice *only, Sources &sources)
{
  Source source{.kind = SourceKind::Egl};
  source.device = device_string(calls, device, "EGL_EXT_device_drm_render_node", kRenderNodeFile);
  if (source.device.empty())
    source.device = device_string(calls, device, "EGL_EXT_device_drm", EGL_DRM_DEVICE_FILE_EXT);
  source.name = "egl:" + (source.device.empty() ? name_without_node(calls, device)
                                                : node_name(source.device));
  if (only)
    only->before(source);
  const Display display(calls, device);
  if (!display.ready()) {
    source.problem = "No EGL display can be opened on " +
                     (source.device.empty() ? "the device without a node" : source.device) +
                     "; is its driver installed, and may this user open the node?";
  } else {
    const char *const vendor = calls.query_string(display.get(), EGL_VENDOR);
    source.driver = vendor ? vendor : "";
    source.description = "EGL display";
    read_formats(calls, display.get(), source);
  }
  add_named(sources, std::move(source));
}

} // namespace

Sources enumerate_egl(const OnlyDevice *only)
{
  Calls calls;
  Sources sources;
  EGLint count = 0;
  if (!load(calls) || !calls.query_devices(0, nullptr, &count))
    return sources;
  std::vector<EGLDeviceEXT> devices(static_cast<std::size_t>(std::clamp(count, 0, kMaxListed)));
  if (devices.empty() ||
      !calls.query_devices(static_cast<EGLint>(devices.size()), devices.data(), &count))
    return sources;
  devices.resize(std::min(devices.size(), static_cast<std::size_t>(std::max(count, 0))));
  for (std::size_t i = 0; i < devices.size(); i++)
    if (!only || i == only->number)
      add_device(calls, devices[i], only, sources);
  return sources;
}

} // namespace gstdrm
