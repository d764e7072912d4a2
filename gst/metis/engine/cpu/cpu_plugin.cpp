// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cpu_plugin.hpp"

#include <cerrno>
#include <utility>

#include <dlfcn.h>
#include <unistd.h>

namespace gstdrm::metis {

namespace {

// GStreamer's scanner takes every "*.so" for a plugin.
constexpr const char *kFile = "libgstmetiscpu.so.1";
constexpr const char *kPackages =
    "The CPU back end needs ONNX Runtime, which is libonnxruntime1.21 on Debian 13, or, where it "
    "was built without that, OpenCV's dnn and ONNX's messages, which are libopencv-dnn406 and "
    "libonnx1 on Debian 12.";

// The folder of the shared object with this code.
std::string own_folder()
{
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void *>(&open_cpu), &info) == 0 || !info.dli_fname)
    return ".";
  const std::string file = info.dli_fname;
  const auto slash = file.rfind('/');
  return slash == std::string::npos ? "." : file.substr(0, slash);
}

std::string dl_error()
{
  const char *text = ::dlerror(); // NOLINT(concurrency-mt-unsafe): per thread in glibc
  return text ? text : "no reason given";
}

} // namespace

Result<std::unique_ptr<Backend>> open_cpu(const BackendOptions &options)
{
  const auto part = find_cpu_part(own_folder());
  if (!part)
    return part.error();
  return open_cpu_part(*part, options);
}

Result<std::string> find_cpu_part(const std::string &folder)
{
  const std::string installed = folder + "/gst-drm/" + kFile;
  const std::string beside = folder + "/" + kFile; // in a build folder
  for (const std::string &part : {installed, beside})
    if (::access(part.c_str(), F_OK) == 0)
      return part;
  return Error{ErrorCode::Unsupported,
               "There is no CPU back end: neither " + installed + " nor " + beside +
                   " exists. Install the whole of gst-drm, built with -Dmetis-cpu=enabled. " +
                   kPackages,
               ENOENT};
}

Result<std::unique_ptr<Backend>> open_cpu_part(const std::string &part,
                                               const BackendOptions &options)
{
  // NODELETE, because the runtime has threads and exit handlers.
  void *module = ::dlopen(part.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!module)
    return Error{ErrorCode::Unsupported,
                 "The CPU back end " + part + " cannot be loaded: " + dl_error() + ". " + kPackages,
                 0};
  const auto open = reinterpret_cast<CpuPartOpen>(::dlsym(module, kCpuPartOpenName));
  if (!open)
    return Error{ErrorCode::Unsupported,
                 part + " is no CPU back end: it has no " + kCpuPartOpenName +
                     ". Install that of this gst-drm.",
                 0};
  Result<std::unique_ptr<Backend>> result = std::unique_ptr<Backend>();
  CpuPartCall call;
  call.log = detail::log_sink.load(std::memory_order_relaxed);
  call.options = &options;
  call.result = &result;
  if (!open(&call))
    return Error{ErrorCode::Unsupported,
                 "The CPU back end " + part +
                     " is of another version than the plugin (which wants " +
                     std::to_string(kCpuPartVersion) + "). Install both from the same build.",
                 0};
  return result;
}

} // namespace gstdrm::metis
