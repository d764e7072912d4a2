// SPDX-License-Identifier: LGPL-2.1-or-later
// The exported functions. Built several times: as documented, and as other versions could be.
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <sstream>

#include "axruntime.h"
#include "objects.hpp"

namespace {

using gstdrm::test::NetworkTensor;
using gstdrm::test::Settings;

std::mutex last_lock; // guards the two below
std::string last_device;
std::string last_properties;

void copy_name(char (&to)[256], const std::string &from)
{
  std::strncpy(to, from.c_str(), sizeof(to) - 1);
}

// One wrong value, by the name of the fault.
void spoil(axrTensorInfo &info, const std::string &fault)
{
  if (fault == "n-dims-0")
    info.ndims = 0;
  else if (fault == "n-dims-9")
    info.ndims = 9;
  else if (fault == "dim-0")
    info.dims[1] = 0;
  else if (fault == "dim-huge")
    info.dims[1] = std::numeric_limits<std::size_t>::max() / 2;
  else if (fault == "batch")
    info.dims[0] = 4;
  else if (fault == "bits")
    info.bits = 4;
  else if (fault == "type")
    info.type = 9;
  else if (fault == "padding")
    info.padding[1][0] = info.dims[1];
  else if (fault == "padding-all")
    info.padding[1][0] = info.dims[1] - info.padding[1][1];
  else if (fault == "padding-huge")
    info.padding[1][1] = std::numeric_limits<std::size_t>::max();
  else if (fault == "name")
    std::memset(info.name, 'x', sizeof(info.name));
  else if (fault == "scale-0")
    info.scale = 0;
  else if (fault == "scale-nan")
    info.scale = std::nan("");
  else if (fault == "zero-point")
    info.zero_point = 200;
}

axrTensorInfo info_of(const axrModel *model, const NetworkTensor &tensor)
{
  axrTensorInfo info;
  std::memset(&info, 0xa5, sizeof(info)); // what is not written is nothing to rely on
  info.ndims = tensor.dims.size();
  for (std::size_t d = 0; d < tensor.dims.size() && d < AXR_MAX_TENSOR_DIMS; d++) {
    info.dims[d] = tensor.dims[d];
    info.padding[d][0] = tensor.padding[d][0];
    info.padding[d][1] = tensor.padding[d][1];
  }
  info.bits = 8;
  info.type = 1;
  std::memset(info.name, 0, sizeof(info.name));
  copy_name(info.name, tensor.name);
  info.scale = tensor.scale;
  info.zero_point = tensor.zero_point;
  spoil(info, model->context->settings.text("tensor"));
  return info;
}

// Records of the size that is set, which differs between versions.
std::size_t list_devices(axrContext &context)
{
  const std::string names = context.settings.text("devices", "metis-0:1:0");
  const std::size_t record = context.settings.number("device-record", sizeof(axrDeviceInfo));
  std::size_t count = 0;
  context.devices.clear();
  std::istringstream parts(names);
  for (std::string name; std::getline(parts, name, '+'); count++) {
    axrDeviceInfo info{};
    copy_name(info.name, name);
    copy_name(info.firmware_version, "v1.6.0");
    copy_name(info.flashed_firmware_version, "v1.5.0");
    info.subdevice_count = 4;
    info.board_type = 2;
    const char *bytes = reinterpret_cast<const char *>(&info);
    context.devices.insert(context.devices.end(), bytes, bytes + record);
  }
  if (count == 0)
    context.fail(AXR_ERROR_CONNECTION_ERROR, "no devices");
  return count;
}

} // namespace

unsigned int axr_api_version(void)
{
  return static_cast<unsigned>(Settings::read().number("api-version", 106));
}

axrContext *axr_create_context(void)
{
  return std::make_unique<axrContext>().release();
}

void axr_destroy(const axrObject *object)
{
  if (!object)
    return;
  if (object->context == object)
    std::unique_ptr<const axrObject>(object).reset();
  else
    object->context->destroy(object);
}

axrResult axr_last_error(const axrObject *object)
{
  const std::lock_guard guard(object->context->lock);
  return object->context->code;
}

const char *axr_last_error_string(const axrObject *object)
{
  const std::lock_guard guard(object->context->lock);
  return object->context->text.c_str();
}

size_t axr_list_devices(axrContext *context, axrDeviceInfo **devices)
{
  const std::size_t count = list_devices(*context);
  if (devices)
    *devices = reinterpret_cast<axrDeviceInfo *>(context->devices.data());
  return count;
}

axrProperties *axr_create_properties(axrContext *context, const char *lines)
{
  return context->make<axrProperties>(lines ? lines : "");
}

axrConnection *axr_device_connect(axrContext *context, axrDeviceInfo *device,
                                  size_t num_sub_devices, axrProperties *)
{
  if (!device && list_devices(*context) == 0)
    return nullptr;
  const std::string connect = context->settings.text("connect");
  if (connect == "busy" || connect == "lost") {
    context->fail(connect == "busy" ? AXR_ERROR_DEVICE_IN_USE : AXR_ERROR_CONNECTION_ERROR,
                  connect == "busy" ? "device is in use by root:1" : "firmware does not answer");
    return nullptr;
  }
  if (num_sub_devices != 1) {
    context->fail(AXR_ERROR_VALUE_ERROR, "one sub-device is expected");
    return nullptr;
  }
  const std::lock_guard guard(last_lock);
  last_device = device ? device->name : context->devices.data();
  return context->make<axrConnection>();
}

axrModel *axr_load_model(axrContext *context, const char *path)
{
  if (context->settings.has("hang-load"))
    gstdrm::test::hang();
  axrModel *model = context->make<axrModel>();
  const std::string wrong = gstdrm::test::read_model(path, *model);
  if (wrong.empty())
    return model;
  context->destroy(model);
  context->fail(AXR_ERROR_VALUE_ERROR, wrong);
  return nullptr;
}

size_t axr_num_model_inputs(axrModel *model)
{
  return model->context->settings.number("inputs", model->inputs.size());
}

size_t axr_num_model_outputs(axrModel *model)
{
  return model->context->settings.number("outputs", model->outputs.size());
}

axrTensorInfo axr_get_model_input(axrModel *model, size_t n)
{
  return info_of(model, model->inputs.at(n));
}

axrTensorInfo axr_get_model_output(axrModel *model, size_t n)
{
  return info_of(model, model->outputs.at(n));
}

size_t axr_tensor_size(const axrTensorInfo *info)
{
  std::size_t size = info->bits / 8;
  for (std::size_t d = 0; d < info->ndims; d++)
    size *= info->dims[d];
  return size + (Settings::read().text("tensor") == "size" ? 1 : 0);
}

axrModelInstance *axr_load_model_instance(axrConnection *connection, axrModel *model,
                                          axrProperties *properties)
{
  axrContext *context = connection->context;
  const bool input = properties->is_set("input_dmabuf");
  const bool output = properties->is_set("output_dmabuf");
  const Settings &settings = context->settings;
  if (settings.has("refuse-instance") || (input && settings.has("refuse-input-dmabuf")) ||
      (output && settings.has("refuse-output-dmabuf"))) {
    context->fail(AXR_ERROR_RUNTIME_ERROR, settings.has("refuse-instance")
                                               ? "out of device memory"
                                               : "dmabuf is not supported here");
    return nullptr;
  }
  const std::lock_guard guard(last_lock);
  last_properties = properties->lines;
  return context->make<axrModelInstance>(*model, input, output);
}

#ifndef AXR_TEST_WITHOUT_RUN
axrResult axr_run_model_instance(axrModelInstance *instance, axrArgument *inputs, size_t num_inputs,
                                 axrArgument *outputs, size_t num_outputs)
{
  return gstdrm::test::run(*instance, inputs, num_inputs, outputs, num_outputs);
}
#endif

int axr_test_alive(void)
{
  return gstdrm::test::alive;
}

const char *axr_test_device(void)
{
  const std::lock_guard guard(last_lock);
  return last_device.c_str();
}

const char *axr_test_properties(void)
{
  const std::lock_guard guard(last_lock);
  return last_properties.c_str();
}

void axr_test_release(void)
{
  gstdrm::test::release();
}
