// SPDX-License-Identifier: LGPL-2.1-or-later
#include "support/egl_context.hpp"

#include <array>
#include <cstring>
#include <map>
#include <utility>

#include <config.h>
#include <dlfcn.h>
#include <drm.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#ifdef HAVE_GBM
#include <gbm.h>
#endif

#include "core/drm_node.hpp"
#include "core/unique_fd.hpp"

namespace gstdrm::test {
namespace {

template <typename Function> Function look_up(const egl::Loader &loader, const char *name)
{
  return reinterpret_cast<Function>(loader(name));
}

std::string driver_of(int fd)
{
  std::array<char, 64> name{};
  drm_version version{};
  version.name = name.data();
  version.name_len = name.size() - 1;
  return ::ioctl(fd, DRM_IOCTL_VERSION, &version) == 0 ? name.data() : "";
}

} // namespace

Result<egl::Loader> library_loader()
{
  // Never closed: drivers leave threads and exit handlers behind.
  void *const library = dlopen("libEGL.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (!library) {
    const char *const why = dlerror();
    return Error{ErrorCode::Unsupported,
                 std::string("libEGL.so.1 cannot be loaded (") + (why ? why : "no reason given") +
                     "); install the EGL library of the GPU's driver or of Mesa",
                 0};
  }
  using GetProcAddress = void (*(*)(const char *))();
  const auto get_proc_address =
      reinterpret_cast<GetProcAddress>(dlsym(library, "eglGetProcAddress"));
  return egl::Loader([library, get_proc_address](const char *name) -> void * {
    if (void *const exported = dlsym(library, name))
      return exported;
    return get_proc_address ? reinterpret_cast<void *>(get_proc_address(name)) : nullptr;
  });
}

std::string card_of_driver(const char *driver)
{
  for (const std::string &path : list_drm_nodes(DrmNodeType::Card)) {
    const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (fd && driver_of(fd.get()) == driver)
      return path;
  }
  return {};
}

struct EglContext::Display {
  explicit Display(egl::Loader loader) : loader_(std::move(loader)) {}
  Display(const Display &) = delete;
  Display &operator=(const Display &) = delete;

  ~Display()
  {
    if (egl != EGL_NO_DISPLAY)
      look_up<PFNEGLTERMINATEPROC>(loader_, "eglTerminate")(egl);
#ifdef HAVE_GBM
    if (gbm)
      gbm_device_destroy(gbm);
#endif
  }

  // The name of what fails, else empty.
  std::string open(const EglOptions &options)
  {
    const auto get_display =
        look_up<PFNEGLGETPLATFORMDISPLAYEXTPROC>(loader_, "eglGetPlatformDisplayEXT");
    if (!get_display)
      return "eglGetPlatformDisplayEXT is missing";
    if (options.platform == EglPlatform::Surfaceless) {
      egl = get_display(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, nullptr);
    } else {
#ifdef HAVE_GBM
      const std::string node = options.node.empty() ? card_of_driver("vkms") : options.node;
      if (node.empty())
        return "there is no card of driver vkms";
      fd = UniqueFd(::open(node.c_str(), O_RDWR | O_CLOEXEC));
      if (!fd)
        return node + " cannot be opened";
      gbm = gbm_create_device(fd.get());
      if (!gbm)
        return "gbm_create_device() failed on " + node;
      egl = get_display(EGL_PLATFORM_GBM_KHR, gbm, nullptr);
#else
      return "built without GBM";
#endif
    }
    if (egl == EGL_NO_DISPLAY)
      return "the platform has no display";
    if (!look_up<PFNEGLINITIALIZEPROC>(loader_, "eglInitialize")(egl, nullptr, nullptr)) {
      egl = EGL_NO_DISPLAY;
      return "eglInitialize() failed";
    }
    return {};
  }

  egl::Loader loader_;
  UniqueFd fd; // closed last
#ifdef HAVE_GBM
  gbm_device *gbm = nullptr;
#endif
  EGLDisplay egl = EGL_NO_DISPLAY;
};

std::unique_ptr<EglContext> EglContext::make(const EglOptions &options, std::string &why_not)
{
  // tests make contexts on one thread at a time
  static std::map<std::pair<EglPlatform, std::string>, std::weak_ptr<Display>> displays;

  const Result<egl::Loader> loader = library_loader();
  if (!loader) {
    why_not = loader.error().message;
    return nullptr;
  }
  std::unique_ptr<EglContext> made(new EglContext);
  made->loader_ = *loader;
  auto &known = displays[{options.platform, options.node}];
  made->display_ = known.lock();
  if (!made->display_) {
    made->display_ = std::make_shared<Display>(*loader);
    if (why_not = made->display_->open(options); !why_not.empty())
      return nullptr;
    known = made->display_;
  }

  look_up<PFNEGLBINDAPIPROC>(*loader, "eglBindAPI")(EGL_OPENGL_ES_API);
  const EGLDisplay display = made->display_->egl;
  const std::array<EGLint, 3> attributes{EGL_CONTEXT_CLIENT_VERSION, options.gles_version, EGL_NONE};
  // EGL_KHR_no_config_context, EGL_KHR_surfaceless_context: every Mesa has both
  made->context_ = look_up<PFNEGLCREATECONTEXTPROC>(*loader, "eglCreateContext")(
      display, EGL_NO_CONFIG_KHR, EGL_NO_CONTEXT, attributes.data());
  if (made->context_ == EGL_NO_CONTEXT || !made->make_current()) {
    why_not = "no context of GL ES " + std::to_string(options.gles_version);
    return nullptr;
  }
  Result<egl::Calls> calls = egl::load_calls(*loader, *loader);
  if (!calls) {
    why_not = calls.error().message;
    return nullptr;
  }
  made->calls_ = *calls;
  return made;
}

EglContext::~EglContext()
{
  if (context_ == EGL_NO_CONTEXT)
    return;
  if (look_up<PFNEGLGETCURRENTCONTEXTPROC>(loader_, "eglGetCurrentContext")() == context_)
    release();
  look_up<PFNEGLDESTROYCONTEXTPROC>(loader_, "eglDestroyContext")(display_->egl, context_);
}

EGLDisplay EglContext::display() const noexcept
{
  return display_->egl;
}

bool EglContext::make_current()
{
  return look_up<PFNEGLMAKECURRENTPROC>(loader_, "eglMakeCurrent")(display_->egl, EGL_NO_SURFACE,
                                                                   EGL_NO_SURFACE, context_);
}

void EglContext::release()
{
  look_up<PFNEGLMAKECURRENTPROC>(loader_, "eglMakeCurrent")(display_->egl, EGL_NO_SURFACE,
                                                            EGL_NO_SURFACE, EGL_NO_CONTEXT);
}

} // namespace gstdrm::test
