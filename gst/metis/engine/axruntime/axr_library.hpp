// SPDX-License-Identifier: LGPL-2.1-or-later
// libaxruntime.so: the part of its C interface that this plugin calls, in declarations of its own,
// because the library is opened at run time and its header is not needed to build. The facts are
// from the vendor's public API reference (Voyager SDK, axruntime.h), for LP64.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <gst/drm/core/result.hpp>

namespace gstdrm::metis::axr {

// Opaque. The runtime takes each of them as an axrObject, too.
struct Object;
struct Context;
struct Properties;
struct Device; // axrDeviceInfo: begins with `char name[256]`, and what follows differs by version
struct Connection;
struct CompiledModel;
struct Instance;

template <typename T> const Object *as_object(const T *any) noexcept
{
  return reinterpret_cast<const Object *>(any);
}

// The values of axrResult that have an errno of their own.
enum class Code : int {
  Success = 0,
  ConnectionError = 4,
  DeviceInUse = 5,
};

// axrArgument
struct Argument {
  void *ptr;     // host memory; null where fd is a dma-buf
  int fd;        // 0 or -1: host memory
  size_t offset; // must be 0
  size_t size;   // of the tensor; 0: not checked
};
static_assert(sizeof(Argument) == 32 || sizeof(void *) != 8);

constexpr std::size_t kMaxDims = 8;
enum class ElementType : std::size_t { Unsigned = 0, Signed = 1, Float = 2 };

// axrTensorInfo
struct TensorFields {
  std::size_t dims[kMaxDims]; // with the padding
  std::size_t n_dims;
  std::size_t bits; // of an element
  std::size_t type; // ElementType
  char name[256];
  std::size_t padding[kMaxDims][2]; // before, after
  double scale;
  int zero_point;
};
static_assert(sizeof(TensorFields) == 488 || sizeof(void *) != 8);

// The runtime returns an axrTensorInfo by value: the caller passes the address of an area, to which
// the runtime writes its own struct. A later version of that struct may be larger.
struct TensorArea {
  TensorFields fields;
  std::array<std::byte, 2048 - sizeof(TensorFields)> room;
};
// The calling convention returns such a type in memory of the caller.
static_assert(std::is_trivially_copyable_v<TensorArea> && sizeof(TensorArea) == 2048);

// The functions, by their names without axr_.
struct Api {
  unsigned (*api_version)();
  Context *(*create_context)();
  void (*destroy)(const Object *object);
  const char *(*last_error_string)(const Object *object);
  int (*last_error)(const Object *object); // may be missing
  std::size_t (*list_devices)(Context *context, const Device **devices);
  Properties *(*create_properties)(Context *context, const char *lines);
  Connection *(*device_connect)(Context *context, const Device *device, std::size_t n_sub_devices,
                                Properties *properties);
  CompiledModel *(*load_model)(Context *context, const char *path);
  std::size_t (*num_model_inputs)(CompiledModel *model);
  std::size_t (*num_model_outputs)(CompiledModel *model);
  TensorArea (*get_model_input)(CompiledModel *model, std::size_t n);
  TensorArea (*get_model_output)(CompiledModel *model, std::size_t n);
  std::size_t (*tensor_size)(const TensorArea *info); // may be missing
  Instance *(*load_model_instance)(Connection *connection, CompiledModel *model,
                                   Properties *properties);
  int (*run_model_instance)(Instance *instance, Argument *inputs, std::size_t n_inputs,
                            Argument *outputs, std::size_t n_outputs);
};

// axr_destroy() of a context destroys its objects, too. Owners of their own release the objects of
// a failed attempt at once.
struct Destroy {
  void (*destroy)(const Object *) = nullptr;
  template <typename T> void operator()(T *object) const noexcept { destroy(as_object(object)); }
};
template <typename T> using Owned = std::unique_ptr<T, Destroy>;

template <typename T> Owned<T> owned(const Api &api, T *object) noexcept
{
  return Owned<T>(object, Destroy{api.destroy});
}

int errno_of(int code) noexcept;

// What the runtime says about the last failure of `object`. Call no other function of the runtime
// on this thread before: the text is valid until then.
std::string last_error(const Api &api, const Object *object);

// The Error for a function that returned no object. `hint` is a sentence.
Error failed(const Api &api, const Context *context, const std::string &what,
             const std::string &hint);

// Environment variable with the file to open instead of library_names().
constexpr const char *kLibraryVariable = "GST_DRM_AXRUNTIME";

// What to open, in this order: the name alone, for the dynamic linker to find, then the runtimes
// that are installed under `root` (runtime-VERSION/lib/libaxruntime.so), the newest first.
std::vector<std::string> library_names(const std::string &root = "/opt/axelera");

// Never unloaded, because the runtime has threads of its own.
struct Library {
  Api api;
  std::string path; // of the file
};

// Any thread. ErrorCode::Device with ENOENT if the library, or one that it needs, is missing;
// ErrorCode::Unsupported if functions are missing, which the message names, or its version is 0.
Result<Library> open_library();

} // namespace gstdrm::metis::axr
