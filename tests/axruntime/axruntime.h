/* SPDX-License-Identifier: LGPL-2.1-or-later
 * What the test runtime exports: the functions, structs and numbers of libaxruntime's public API
 * reference (Voyager SDK) that the axruntime back end needs, written down a second time. The back
 * end's own declarations are in gst/metis/engine/axruntime/axr_api.hpp; the two are compared by
 * nothing but the tests' results. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define AXR_EXPORT __attribute__((visibility("default")))

#ifndef AXR_MAX_TENSOR_DIMS
#define AXR_MAX_TENSOR_DIMS 8
#endif

typedef struct axrObject axrObject;
typedef struct axrContext axrContext;
typedef struct axrProperties axrProperties;
typedef struct axrConnection axrConnection;
typedef struct axrModel axrModel;
typedef struct axrModelInstance axrModelInstance;

typedef enum {
  AXR_SUCCESS,
  AXR_ERROR_RUNTIME_ERROR,
  AXR_ERROR_VALUE_ERROR,
  AXR_ERROR_INVALID_ARGUMENT,
  AXR_ERROR_CONNECTION_ERROR,
  AXR_ERROR_DEVICE_IN_USE,
} axrResult;

typedef struct {
  void *ptr;
  int fd;
  size_t offset;
  size_t size;
} axrArgument;

typedef struct {
  size_t dims[AXR_MAX_TENSOR_DIMS];
  size_t ndims;
  size_t bits;
  size_t type;
  char name[256];
  size_t padding[AXR_MAX_TENSOR_DIMS][2];
  double scale;
  int zero_point;
#ifdef AXR_TEST_LARGER_INFO
  size_t more[64]; /* as a later version could have it */
#endif
} axrTensorInfo;

/* In versions without a board controller it ends after firmware_version. */
typedef struct {
  char name[256];
  size_t subdevice_count;
  size_t max_memory;
  int in_use;
  char in_use_by[256];
  int board_type;
  char firmware_version[256];
  int board_revision;
  char flashed_firmware_version[256];
  char board_controller_firmware_version[256];
  char board_controller_board_type[256];
} axrDeviceInfo;

AXR_EXPORT unsigned int axr_api_version(void);
AXR_EXPORT axrContext *axr_create_context(void);
AXR_EXPORT void axr_destroy(const axrObject *object);
AXR_EXPORT axrResult axr_last_error(const axrObject *object);
AXR_EXPORT const char *axr_last_error_string(const axrObject *object);
AXR_EXPORT size_t axr_list_devices(axrContext *context, axrDeviceInfo **devices);
AXR_EXPORT axrProperties *axr_create_properties(axrContext *context, const char *lines);
AXR_EXPORT axrConnection *axr_device_connect(axrContext *context, axrDeviceInfo *device,
                                             size_t num_sub_devices, axrProperties *properties);
AXR_EXPORT axrModel *axr_load_model(axrContext *context, const char *path);
AXR_EXPORT size_t axr_num_model_inputs(axrModel *model);
AXR_EXPORT size_t axr_num_model_outputs(axrModel *model);
AXR_EXPORT axrTensorInfo axr_get_model_input(axrModel *model, size_t n);
AXR_EXPORT axrTensorInfo axr_get_model_output(axrModel *model, size_t n);
AXR_EXPORT size_t axr_tensor_size(const axrTensorInfo *info);
AXR_EXPORT axrModelInstance *axr_load_model_instance(axrConnection *connection, axrModel *model,
                                                     axrProperties *properties);
AXR_EXPORT axrResult axr_run_model_instance(axrModelInstance *instance, axrArgument *inputs,
                                            size_t num_inputs, axrArgument *outputs,
                                            size_t num_outputs);

/* For tests alone: objects that are alive; the device of the last connection; the properties of the
 * last instance; lets a call go that hangs, and every later one. */
AXR_EXPORT int axr_test_alive(void);
AXR_EXPORT const char *axr_test_device(void);
AXR_EXPORT const char *axr_test_properties(void);
AXR_EXPORT void axr_test_release(void);

#ifdef __cplusplus
}
#endif
