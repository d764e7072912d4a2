// SPDX-License-Identifier: LGPL-2.1-or-later
#include "axl_device.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <map>
#include <system_error>

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/sync_file.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>

#include <gst/drm/core/errno_text.hpp>
#include <gst/drm/core/log.hpp>

namespace gstdrm::metis {

namespace {

std::map<DeviceAddress, std::string> devices_in(const std::string &directory)
{
  std::map<DeviceAddress, std::string> devices;
  std::error_code error;
  for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (const auto address = parse_device_name(name))
      devices.emplace(*address, name);
  }
  return devices;
}

bool is_dmabuf(int fd) noexcept
{
  struct statfs of = {};
  return ::fstatfs(fd, &of) == 0 && of.f_type == DMA_BUF_MAGIC;
}

bool is_tight(const FrameLayout &frame) noexcept
{
  return frame.planes[0].stride_bytes == frame.width && frame.planes[0].offset_bytes == 0 &&
         frame.planes[1].stride_bytes == frame.width &&
         frame.planes[1].offset_bytes == std::uint64_t{frame.width} * frame.height;
}

std::string describe_planes(const FrameLayout &frame)
{
  std::string text =
      std::to_string(frame.width) + "x" + std::to_string(frame.height) + ", offset/stride ";
  for (std::size_t i = 0; i < frame.n_planes; i++)
    text += (i ? ", " : "") + std::to_string(frame.planes[i].offset_bytes) + "/" +
            std::to_string(frame.planes[i].stride_bytes);
  return text + ", in a dma-buf of " + std::to_string(frame.planes[0].object.size_bytes) + " bytes";
}

std::string open_advice(int sys_errno)
{
  switch (sys_errno) {
  case EBUSY:
    return " Another process uses the device: end it, or name another device.";
  case ENODEV:
  case ENXIO:
    return " The device is lost: reset the card or load its driver again.";
  case EACCES:
  case EPERM:
    return " This user may not open the device: change the rights of the node.";
  default:
    return " Check that the card is there and its driver is loaded.";
  }
}

} // namespace

Result<std::string> find_device(const std::string &name, const std::string &directory)
{
  if (name.find('/') != std::string::npos)
    return name;
  const auto wanted = parse_device_name(name);
  if (!name.empty() && !wanted)
    return Error{ErrorCode::Device,
                 "'" + name +
                     "' is no name of a Metis device. Write it as metis-DOMAIN:BUS:SLOT with "
                     "hexadecimal numbers, such as metis-0:1:0.",
                 EINVAL};
  const auto devices = devices_in(directory);
  const auto found = wanted ? devices.find(*wanted) : devices.begin();
  if (found != devices.end())
    return directory + "/" + found->second;
  std::string there;
  for (const auto &[address, device] : devices)
    there += (there.empty() ? "" : ", ") + device;
  return Error{ErrorCode::Device,
               (name.empty() ? "No Metis device" : "No Metis device " + name) + ": " + directory +
                   " has " + (there.empty() ? "none" : there) +
                   ". Load the driver of the card, or name another device.",
               ENODEV};
}

Result<std::shared_ptr<AxlDevice>> AxlDevice::open(const std::string &name)
{
  Result<std::string> path = find_device(name);
  if (!path)
    return path.error();
  UniqueFd fd(::open(path->c_str(), O_RDWR | O_CLOEXEC));
  if (!fd) {
    const int error = errno;
    return Error{ErrorCode::Device,
                 "Cannot open " + *path + ": " + errno_text(error) + "." + open_advice(error),
                 error};
  }
  std::shared_ptr<AxlDevice> device(new AxlDevice(std::move(fd), std::move(*path)));
  if (Result<void> checked = device->check_interface(); !checked)
    return checked.error();
  GSTDRM_INFO("opened %s", device->name().c_str());
  return device;
}

// Returns 0 or errno.
int AxlDevice::request(unsigned long number, void *argument) noexcept
{
  int ret = 0;
  do
    ret = ::ioctl(fd_.get(), number, argument);
  while (ret < 0 && errno == EINTR);
  const int error = ret < 0 ? errno : 0;
  if (error == ENODEV)
    is_lost_ = true;
  return error;
}

// No handle is 0, so a driver with this interface answers ENOENT.
Result<void> AxlDevice::check_interface()
{
  std::uint32_t none = 0;
  const int error = request(AXL_IOCTL_RELEASE_IMPORT, &none);
  if (error == ENOENT)
    return {};
  return Error{ErrorCode::Unsupported,
               path_ +
                   " has a driver without the kernel interface that this back end uses "
                   "(AXL_IOCTL_RELEASE_IMPORT: " +
                   errno_text(error) +
                   "). Take backend=axruntime for a card with the vendor's driver.",
               error};
}

Error AxlDevice::lost() const
{
  return Error{
      ErrorCode::Device,
      path_ +
          " is lost: the driver reports ENODEV. Check the card and its power, reset it, and start "
          "the stream again.",
      ENODEV};
}

Error AxlDevice::device_error(ErrorCode code, const std::string &what, int sys_errno)
{
  if (sys_errno == ENODEV)
    return lost();
  return Error{code, path_ + " " + what, sys_errno};
}

Error AxlDevice::import_error(const FrameLayout &frame, int sys_errno)
{
  const std::string planes = describe_planes(frame);
  if (sys_errno != ENODEV && !is_dmabuf(frame.planes[0].fd))
    return device_error(ErrorCode::Import,
                        "takes frames in dma-bufs alone, and this frame's memory is none (" +
                            planes + "). Let upstream allocate dma-bufs, or use dmabufupload.",
                        sys_errno);
  return device_error(ErrorCode::Import,
                      "does not import the frame (" + planes + "): " + errno_text(sys_errno) +
                          ". Scale it to another size, or let upstream allocate it otherwise.",
                      sys_errno);
}

Result<void> AxlDevice::set_layout(std::uint32_t handle, const FrameLayout &frame)
{
  axl_layout layout = {};
  layout.handle = handle;
  layout.n_planes = 2;
  for (std::size_t i = 0; i < 2; i++) {
    layout.stride[i] = frame.planes[i].stride_bytes;
    layout.offset[i] = frame.planes[i].offset_bytes;
  }
  const int error = request(AXL_IOCTL_SET_LAYOUT, &layout);
  if (error == 0)
    return {};
  if (error == ENOTTY)
    return device_error(ErrorCode::Unsupported,
                        "takes tightly packed frames alone, and this one is not (" +
                            describe_planes(frame) +
                            "). Take a width that needs no padding, such as a multiple of 64.",
                        error);
  return import_error(frame, error);
}

Result<std::uint32_t> AxlDevice::import(const FrameLayout &frame)
{
  if (is_lost_)
    return lost();
  axl_import_fd args = {};
  args.fd = frame.planes[0].fd;
  args.width = frame.width;
  args.height = frame.height;
  args.pixfmt = AXL_PIXFMT_NV12;
  args.flags = AXL_IMPORT_TO_DEVICE;
  if (const int error = request(AXL_IOCTL_IMPORT_FD, &args))
    return import_error(frame, error);
  if (!is_tight(frame)) {
    if (Result<void> set = set_layout(args.handle, frame); !set) {
      release(args.handle);
      return set.error();
    }
  }
  GSTDRM_DEBUG("%s: imported inode %llu as handle %u, iova 0x%llx", path_.c_str(),
               static_cast<unsigned long long>(frame.planes[0].object.identity.inode), args.handle,
               static_cast<unsigned long long>(args.iova_base));
  return args.handle;
}

void AxlDevice::release(std::uint32_t handle) noexcept
{
  if (const int error = request(AXL_IOCTL_RELEASE_IMPORT, &handle))
    GSTDRM_WARNING("%s: handle %u was not released: errno %d", path_.c_str(), handle, error);
}

Result<AxlSubmission> AxlDevice::submit(std::uint32_t handle, int result_fd, std::uint32_t model_id,
                                        std::chrono::microseconds timeout)
{
  if (is_lost_)
    return lost();
  axl_submit args = {};
  args.input_handle = handle;
  args.result_fd = result_fd;
  args.fence_fd = -1; // or a driver that sets none would give descriptor 0
  args.model_id = model_id;
  args.timeout_us = static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(timeout.count(), 1, std::numeric_limits<std::uint32_t>::max()));
  const int error = request(AXL_IOCTL_SUBMIT, &args);
  if (error == 0)
    return AxlSubmission{UniqueFd(args.fence_fd), std::chrono::microseconds(args.submit_us)};
  const std::string refused = "refuses an inference with model " + std::to_string(model_id) + ": " +
                              errno_text(error) + ". ";
  if (error == EBUSY)
    return device_error(
        ErrorCode::Device,
        refused + "Its queue is full or another process has it: lower max-in-flight, or end "
                  "the other process.",
        error);
  if (error == ENOSPC)
    return device_error(ErrorCode::Allocation,
                        refused + "The dma-buf for the result is too small for the model's.",
                        error);
  if (!is_dmabuf(result_fd))
    return device_error(ErrorCode::Import, refused + "The memory for the result is no dma-buf.",
                        error);
  return device_error(ErrorCode::Device, refused + "Check that the model is loaded.", error);
}

Result<std::optional<axl_model_info>> AxlDevice::query_model(std::uint32_t model_id)
{
  axl_model_info info = {};
  info.model_id = model_id;
  const int error = request(AXL_IOCTL_QUERY_MODEL, &info);
  if (error == 0)
    return std::optional(info);
  if (error == ENOTTY)
    return std::optional<axl_model_info>();
  return device_error(ErrorCode::Device,
                      "has no model " + std::to_string(model_id) + ": " + errno_text(error) +
                          ". Load the model, or correct its number in the model's description.",
                      error);
}

Result<std::optional<AxlCompletion>> AxlDevice::completion(int fence_fd)
{
  sync_fence_info fence = {};
  sync_file_info info = {};
  info.num_fences = 1;
  info.sync_fence_info = reinterpret_cast<std::uintptr_t>(&fence);
  int ret = 0;
  do
    ret = ::ioctl(fence_fd, SYNC_IOC_FILE_INFO, &info);
  while (ret < 0 && errno == EINTR);
  if (ret < 0) {
    const int error = errno;
    return device_error(ErrorCode::Sync,
                        "gave a fence that cannot be read: " + errno_text(error) + ".", error);
  }
  if (info.status == 0)
    return std::optional<AxlCompletion>();
  if (info.status == -ENODEV)
    is_lost_ = true;
  return std::optional(AxlCompletion{info.status < 0 ? -info.status : 0,
                                     std::chrono::nanoseconds(fence.timestamp_ns)});
}

Error AxlDevice::failure(int sys_errno, std::chrono::milliseconds timeout)
{
  switch (sys_errno) {
  case ETIMEDOUT:
    return device_error(ErrorCode::Sync,
                        "did not finish an inference within " + std::to_string(timeout.count()) +
                            " ms (ETIMEDOUT). Check the card's link and load, or raise timeout.",
                        sys_errno);
  case EINVAL:
    return device_error(
        ErrorCode::Device,
        "refused an inference: the firmware reports EINVAL. Check that the model was compiled "
        "for this firmware.",
        sys_errno);
  case ENODATA:
    return device_error(
        ErrorCode::Device,
        "wrote less than the model's result (ENODATA). Check that the model's description "
        "belongs to the loaded model.",
        sys_errno);
  case ECANCELED:
    return device_error(ErrorCode::Device, "was closed before the inference was done (ECANCELED).",
                        sys_errno);
  default:
    return device_error(ErrorCode::Device, "failed an inference: " + errno_text(sys_errno) + ".",
                        sys_errno);
  }
}

Result<std::shared_ptr<AxlImport>> AxlImport::make(const std::shared_ptr<AxlDevice> &device,
                                                   const FrameLayout &frame)
{
  Result<std::uint32_t> handle = device->import(frame);
  if (!handle)
    return handle.error();
  return std::make_shared<AxlImport>(device, *handle);
}

} // namespace gstdrm::metis
