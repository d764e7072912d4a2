// SPDX-License-Identifier: LGPL-2.1-or-later
#include "axr_library.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <dlfcn.h>

#include <gst/drm/core/log.hpp>

namespace gstdrm::metis::axr {

namespace {

constexpr const char *kLibrary = "libaxruntime.so";

// Finds functions by name and collects the names of missing ones.
class Symbols {
public:
  explicit Symbols(void *handle) : handle_(handle) {}

  template <typename Function> void need(Function &function, const char *name)
  {
    want(function, name);
    if (!function)
      missing_ += std::string(missing_.empty() ? "" : ", ") + name;
  }
  template <typename Function> void want(Function &function, const char *name)
  {
    function = reinterpret_cast<Function>(::dlsym(handle_, name));
  }
  [[nodiscard]] const std::string &missing() const noexcept { return missing_; }

private:
  void *const handle_;
  std::string missing_;
};

void look_up(Symbols &symbols, Api &api)
{
  symbols.need(api.api_version, "axr_api_version");
  symbols.need(api.create_context, "axr_create_context");
  symbols.need(api.destroy, "axr_destroy");
  symbols.need(api.last_error_string, "axr_last_error_string");
  symbols.want(api.last_error, "axr_last_error");
  symbols.need(api.list_devices, "axr_list_devices");
  symbols.need(api.create_properties, "axr_create_properties");
  symbols.need(api.device_connect, "axr_device_connect");
  symbols.need(api.load_model, "axr_load_model");
  symbols.need(api.num_model_inputs, "axr_num_model_inputs");
  symbols.need(api.num_model_outputs, "axr_num_model_outputs");
  symbols.need(api.get_model_input, "axr_get_model_input");
  symbols.need(api.get_model_output, "axr_get_model_output");
  symbols.want(api.tensor_size, "axr_tensor_size");
  symbols.need(api.load_model_instance, "axr_load_model_instance");
  symbols.need(api.run_model_instance, "axr_run_model_instance");
}

std::string loaded_from(const Api &api, const std::string &otherwise)
{
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void *>(api.create_context), &info) != 0 && info.dli_fname)
    return info.dli_fname;
  return otherwise;
}

Result<Library> from_handle(void *handle, const std::string &name)
{
  Api api{};
  Symbols symbols(handle);
  look_up(symbols, api);
  if (!symbols.missing().empty())
    return Error{ErrorCode::Unsupported,
                 "\"" + name + "\" is no libaxruntime that this plugin knows: it has no " +
                     symbols.missing() +
                     ". Install another version of the runtime, or name one in " +
                     kLibraryVariable + ".",
                 ENOSYS};
  const std::string path = loaded_from(api, name);
  const unsigned version = api.api_version();
  if (version == 0)
    return Error{ErrorCode::Unsupported,
                 "\"" + path +
                     "\" says that it has version 0 of the runtime's interface. Install "
                     "another version of the runtime, or name one in " +
                     kLibraryVariable + ".",
                 ENOSYS};
  GSTDRM_INFO("axruntime: \"%s\", version of the interface %u (0x%x)", path.c_str(), version,
              version);
  return Library{api, path};
}

} // namespace

int errno_of(int code) noexcept
{
  switch (static_cast<Code>(code)) {
  case Code::ConnectionError:
    return ENODEV;
  case Code::DeviceInUse:
    return EBUSY;
  default:
    return EIO;
  }
}

std::string last_error(const Api &api, const Object *object)
{
  const char *text = api.last_error_string(object);
  return text && *text ? text : "the runtime gives no reason";
}

Error failed(const Api &api, const Context *context, const std::string &what,
             const std::string &hint)
{
  const std::string why = last_error(api, as_object(context));
  const int code = api.last_error ? api.last_error(as_object(context)) : -1;
  return Error{ErrorCode::Device, what + " failed: " + why + ". " + hint, errno_of(code)};
}

std::vector<std::string> library_names(const std::string &root)
{
  namespace fs = std::filesystem;
  std::vector<std::string> installed;
  std::error_code error;
  for (fs::directory_iterator entry(root, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().filename().string().rfind("runtime-", 0) == 0)
      installed.push_back((entry->path() / "lib" / kLibrary).string());
  // compares digits as numbers: 1.10 is newer than 1.9
  std::sort(installed.begin(), installed.end(), [](const std::string &a, const std::string &b) {
    return strverscmp(a.c_str(), b.c_str()) > 0;
  });
  installed.insert(installed.begin(), kLibrary);
  return installed;
}

Result<Library> open_library()
{
  const char *named = std::getenv(kLibraryVariable);
  const std::vector<std::string> names =
      named && *named ? std::vector<std::string>{named} : library_names();
  std::string tried;
  for (const std::string &name : names) {
    // NODELETE: another user of the same file may call dlclose(3)
    if (void *handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE))
      return from_handle(handle, name);
    const char *why = ::dlerror();
    tried += std::string(tried.empty() ? "" : "; ") + (why ? why : name.c_str());
  }
  return Error{ErrorCode::Device,
               "No libaxruntime can be opened (" + tried +
                   "). Install the Voyager SDK's runtime, or name the library in " +
                   kLibraryVariable + ".",
               ENOENT};
}

} // namespace gstdrm::metis::axr
