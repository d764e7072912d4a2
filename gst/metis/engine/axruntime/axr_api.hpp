// SPDX-License-Identifier: LGPL-2.1-or-later
// The part of libaxruntime's C interface that this plugin calls, in declarations of its own: the
// library is opened at run time, and its header is not needed to build. Facts from the vendor's
// public API reference (Voyager SDK, axruntime.h), LP64.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

namespace gstdrm::metis::axr {

// Opaque. Each of them can be handed over as an Object, and is one to axr_destroy().
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

// axrResult, those that mean something to the caller
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

// The runtime returns an axrTensorInfo by value: the caller hands over the address of an area, and
// the runtime writes as many bytes as its own struct has. A later struct may be larger.
struct TensorArea {
  TensorFields fields;
  std::array<std::byte, 2048 - sizeof(TensorFields)> room;
};
// Otherwise the calling convention could return it elsewhere than in memory of the caller's.
static_assert(std::is_trivially_copyable_v<TensorArea> && sizeof(TensorArea) == 2048);

// The functions, each named as the symbol is, without axr_.
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

} // namespace gstdrm::metis::axr
