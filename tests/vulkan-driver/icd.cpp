// SPDX-License-Identifier: LGPL-2.1-or-later
// A Vulkan driver that answers for a physical device, and nothing else (README.md).
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>
#include <vulkan/vk_icd.h>
#include <vulkan/vulkan_core.h>

#include "gst/drm/core/format.hpp"
#include "gst/drm/enumerate/vulkan_formats.hpp"
#include "support/gpu_table.hpp"

namespace {

using gstdrm::Format;

constexpr const char *kExtensions[] = {VK_EXT_IMAGE_DRM_FORMAT_MODIFIER_EXTENSION_NAME,
                                       VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME,
                                       VK_EXT_PHYSICAL_DEVICE_DRM_EXTENSION_NAME};

struct Layout {
  std::uint64_t modifier = 0;
  bool drawn = false;
};

struct Settings {
  std::string name = "test";
  std::string lie;
  std::string without;
  std::uint32_t version = VK_API_VERSION_1_1;
  std::uint32_t devices = 1;
  bool gpu = false;
  std::int64_t major = -1;
  std::int64_t minor = -1;
  int planes = -1;
  long gone = -1;    // so many questions for an image are answered; -1: all
  std::string fault; // what happens at `fault_place`
  std::string fault_place;
  long faulty = -1; // of that device alone; -1: of all
  std::vector<std::uint64_t> refused;
  std::map<VkFormat, std::vector<Layout>> layouts;
};

// The loader writes its table into the first word of a handle that it dispatches by.
struct Handle {
  VK_LOADER_DATA loader{ICD_LOADER_MAGIC};
};

struct Driver {
  Handle handle;
  Settings settings;
  std::vector<Handle> devices;
  std::map<VkFormat, unsigned> asked; // questions for the list, by format
};

std::unique_ptr<Driver> current; // one instance at a time

// The device was removed. Asked by each question for an image: Vulkan's loader and its layers crash
// where a device does not say its extensions.
bool is_gone()
{
  long &left = current->settings.gone;
  if (left > 0)
    left--;
  else if (left == 0)
    return true;
  return false;
}

// The driver does there what no driver should.
void reach(std::string_view place, VkPhysicalDevice device = nullptr)
{
  const Settings &settings = current->settings;
  const auto *handle = reinterpret_cast<const Handle *>(device);
  if (settings.fault_place != place ||
      (settings.faulty >= 0 &&
       handle != &current->devices.at(static_cast<std::size_t>(settings.faulty))))
    return;
  if (settings.fault == "crash")
    (void)std::raise(SIGSEGV);
  else if (settings.fault == "exit")
    std::exit(3);
  else if (settings.fault == "print")
    (void)std::puts("a driver that says what nobody asked for");
  while (settings.fault == "hang")
    (void)::pause();
}

bool read_table(const std::string &path, Settings &settings)
{
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#')
      continue;
    std::istringstream words(line);
    std::string fourcc;
    std::string modifier;
    int external = 0;
    if (!(words >> fourcc >> modifier >> external))
      return false;
    for (const gstdrm::VulkanName &name : gstdrm::kVulkanNames) {
      if (name.fourcc != gstdrm::test::fourcc_of(fourcc))
        continue;
      auto &list = settings.layouts[name.format];
      const std::uint64_t number = std::stoull(modifier, nullptr, 16);
      if (std::none_of(list.begin(), list.end(), [=](auto &l) { return l.modifier == number; }))
        list.push_back({number, external == 0});
    }
  }
  return !settings.layouts.empty();
}

bool set(Settings &settings, const std::string &key, const std::string &value)
{
  if (key == "table")
    return read_table(value, settings);
  if (key == "name")
    settings.name = value;
  else if (key == "devices")
    settings.devices = static_cast<std::uint32_t>(std::stoul(value));
  else if (key == "version")
    settings.version = value == "1.0" ? VK_API_VERSION_1_0 : VK_API_VERSION_1_1;
  else if (key == "gpu")
    settings.gpu = value == "1";
  else if (key == "node")
    return std::sscanf(value.c_str(), "%ld:%ld", &settings.major, &settings.minor) == 2;
  else if (key == "without")
    settings.without = value;
  else if (key == "planes")
    settings.planes = std::stoi(value);
  else if (key == "gone")
    settings.gone = std::stol(value);
  else if (key == "refuse")
    settings.refused.push_back(std::stoull(value, nullptr, 16));
  else if (key == "lie")
    settings.lie = value;
  else if (key == "faulty")
    settings.faulty = std::stol(value);
  else if (key == "crash" || key == "exit" || key == "hang" || key == "print") {
    settings.fault = key;
    settings.fault_place = value;
  } else
    return false;
  return true;
}

bool parse(Settings &settings)
{
  const char *text = std::getenv(GST_DRM_VULKAN_SETTINGS);
  std::istringstream words(text ? text : "");
  for (std::string word; std::getline(words, word, ',');) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos ||
        !set(settings, word.substr(0, equals), word.substr(equals + 1))) {
      std::fprintf(stderr, GST_DRM_VULKAN_SETTINGS ": %s is not understood\n", word.c_str());
      return false;
    }
  }
  return true;
}

template <std::size_t Size> void write(char (&array)[Size], std::string_view text, bool ends)
{
  if (!ends) {
    std::memset(array, 'x', Size); // no NUL anywhere
    return;
  }
  array[std::min(text.copy(array, Size - 1), Size - 1)] = '\0';
}

VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *,
                                               const VkAllocationCallbacks *, VkInstance *instance)
{
  auto driver = std::make_unique<Driver>();
  if (!parse(driver->settings))
    return VK_ERROR_INITIALIZATION_FAILED;
  driver->devices.resize(driver->settings.devices);
  *instance = reinterpret_cast<VkInstance>(&driver->handle);
  current = std::move(driver);
  reach("instance");
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance, const VkAllocationCallbacks *)
{
  current.reset();
}

VKAPI_ATTR VkResult VKAPI_CALL devices(VkInstance, std::uint32_t *count, VkPhysicalDevice *list)
{
  reach("devices");
  const auto size = static_cast<std::uint32_t>(current->devices.size());
  if (!list) {
    *count = size;
    return VK_SUCCESS;
  }
  const std::uint32_t n = std::min(*count, size);
  for (std::uint32_t i = 0; i < n; i++)
    list[i] = reinterpret_cast<VkPhysicalDevice>(&current->devices[i]);
  *count = n;
  return n < size ? VK_INCOMPLETE : VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL extensions(VkPhysicalDevice, const char *, std::uint32_t *count,
                                          VkExtensionProperties *list)
{
  std::vector<std::string> names;
  for (const char *name : kExtensions)
    if (current->settings.without != name)
      names.emplace_back(name);
  const std::uint32_t room = list ? *count : 0;
  *count = static_cast<std::uint32_t>(names.size());
  for (std::uint32_t i = 0; list && i < std::min(room, *count); i++) {
    list[i].specVersion = 1;
    write(list[i].extensionName, names[i], true);
  }
  return list && room < names.size() ? VK_INCOMPLETE : VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL properties(VkPhysicalDevice, VkPhysicalDeviceProperties *answer)
{
  std::memset(answer, 0, sizeof(*answer));
  answer->apiVersion = current->settings.version;
  answer->deviceType = current->settings.gpu || current->settings.major >= 0
                           ? VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU
                           : VK_PHYSICAL_DEVICE_TYPE_CPU;
  write(answer->deviceName, current->settings.name, current->settings.lie != "no-end");
}

VKAPI_ATTR void VKAPI_CALL properties2(VkPhysicalDevice device, VkPhysicalDeviceProperties2 *answer)
{
  properties(device, &answer->properties);
  for (auto *next = static_cast<VkBaseOutStructure *>(answer->pNext); next; next = next->pNext) {
    if (next->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRM_PROPERTIES_EXT)
      continue;
    auto *drm = reinterpret_cast<VkPhysicalDeviceDrmPropertiesEXT *>(next);
    drm->hasPrimary = VK_FALSE;
    drm->hasRender = current->settings.major >= 0 ? VK_TRUE : VK_FALSE;
    drm->renderMajor = current->settings.major;
    drm->renderMinor = current->settings.minor;
  }
}

std::uint32_t planes_of(VkFormat format)
{
  if (current->settings.planes >= 0)
    return static_cast<std::uint32_t>(current->settings.planes);
  for (const gstdrm::VulkanName &name : gstdrm::kVulkanNames)
    if (name.format == format)
      return std::max(1U, static_cast<std::uint32_t>(
                              gstdrm::memory_plane_count({name.fourcc, gstdrm::kModLinear})));
  return 1;
}

// How many are said to be there at this question, of `real` ones.
std::uint32_t claimed(std::uint32_t real, unsigned question)
{
  const std::string &lie = current->settings.lie;
  if (lie == "huge")
    return UINT32_MAX;
  if (lie == "grows" && question == 0)
    return real / 2;
  if (lie == "shrinks" && question > 0)
    return real / 2;
  return real;
}

VKAPI_ATTR void VKAPI_CALL format(VkPhysicalDevice device, VkFormat format,
                                  VkFormatProperties2 *answer)
{
  reach("formats", device);
  const auto &layouts = current->settings.layouts[format];
  for (auto *next = static_cast<VkBaseOutStructure *>(answer->pNext); next; next = next->pNext) {
    if (next->sType != VK_STRUCTURE_TYPE_DRM_FORMAT_MODIFIER_PROPERTIES_LIST_EXT)
      continue;
    auto *list = reinterpret_cast<VkDrmFormatModifierPropertiesListEXT *>(next);
    const auto real = static_cast<std::uint32_t>(layouts.size());
    const std::uint32_t says = claimed(real, current->asked[format]++ % 2);
    const std::uint32_t room = list->pDrmFormatModifierProperties
                                   ? std::min(list->drmFormatModifierCount, std::min(says, real))
                                   : 0;
    for (std::uint32_t i = 0; i < room; i++)
      list->pDrmFormatModifierProperties[i] = {
          layouts[i].modifier, planes_of(format),
          VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT |
              (layouts[i].drawn ? VkFormatFeatureFlags{VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BIT}
                                : VkFormatFeatureFlags{0})};
    const bool more = current->settings.lie == "more" && list->pDrmFormatModifierProperties;
    list->drmFormatModifierCount = more ? room + 1000000
                                   : list->pDrmFormatModifierProperties && says <= real ? room
                                                                                        : says;
  }
}

VKAPI_ATTR VkResult VKAPI_CALL image(VkPhysicalDevice, const VkPhysicalDeviceImageFormatInfo2 *info,
                                     VkImageFormatProperties2 *answer)
{
  if (is_gone())
    return VK_ERROR_DEVICE_LOST;
  std::uint64_t modifier = gstdrm::kModImplicit;
  for (auto *next = static_cast<const VkBaseInStructure *>(info->pNext); next; next = next->pNext)
    if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_DRM_FORMAT_MODIFIER_INFO_EXT)
      modifier = reinterpret_cast<const VkPhysicalDeviceImageDrmFormatModifierInfoEXT *>(next)
                     ->drmFormatModifier;
  const auto &layouts = current->settings.layouts[info->format];
  const auto it = std::find_if(layouts.begin(), layouts.end(),
                               [=](const Layout &l) { return l.modifier == modifier; });
  if (info->tiling != VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT || it == layouts.end() ||
      (info->usage == VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT && !it->drawn))
    return VK_ERROR_FORMAT_NOT_SUPPORTED;
  const auto &refused = current->settings.refused;
  const bool taken = std::find(refused.begin(), refused.end(), modifier) == refused.end();
  for (auto *next = static_cast<VkBaseOutStructure *>(answer->pNext); next; next = next->pNext)
    if (next->sType == VK_STRUCTURE_TYPE_EXTERNAL_IMAGE_FORMAT_PROPERTIES)
      reinterpret_cast<VkExternalImageFormatProperties *>(next)
          ->externalMemoryProperties.externalMemoryFeatures =
          taken ? VkExternalMemoryFeatureFlags{VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT}
                : VkExternalMemoryFeatureFlags{0};
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL instance_extensions(const char *, std::uint32_t *count,
                                                   VkExtensionProperties *)
{
  *count = 0;
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL instance_version(std::uint32_t *version)
{
  *version = VK_API_VERSION_1_1;
  return VK_SUCCESS;
}

// What the loader wants to exist and nobody calls.
VKAPI_ATTR VkResult VKAPI_CALL never()
{
  return VK_ERROR_INITIALIZATION_FAILED;
}

template <typename T> PFN_vkVoidFunction function(T *address)
{
  return reinterpret_cast<PFN_vkVoidFunction>(address);
}

} // namespace

extern "C" {

VKAPI_ATTR __attribute__((visibility("default"))) VkResult VKAPI_CALL
vk_icdNegotiateLoaderICDInterfaceVersion(std::uint32_t *version)
{
  *version = std::min(*version, 5U);
  return VK_SUCCESS;
}

VKAPI_ATTR __attribute__((visibility("default"))) PFN_vkVoidFunction VKAPI_CALL
vk_icdGetInstanceProcAddr(VkInstance, const char *name)
{
  static const std::map<std::string_view, PFN_vkVoidFunction> functions = {
      {"vkCreateInstance", function(create_instance)},
      {"vkDestroyInstance", function(destroy_instance)},
      {"vkEnumerateInstanceExtensionProperties", function(instance_extensions)},
      {"vkEnumerateInstanceVersion", function(instance_version)},
      {"vkEnumeratePhysicalDevices", function(devices)},
      {"vkEnumerateDeviceExtensionProperties", function(extensions)},
      {"vkGetPhysicalDeviceProperties", function(properties)},
      {"vkGetPhysicalDeviceProperties2", function(properties2)},
      {"vkGetPhysicalDeviceFormatProperties2", function(format)},
      {"vkGetPhysicalDeviceImageFormatProperties2", function(image)},
      {"vkGetPhysicalDeviceFeatures", function(never)},
      {"vkGetPhysicalDeviceFormatProperties", function(never)},
      {"vkGetPhysicalDeviceImageFormatProperties", function(never)},
      {"vkGetPhysicalDeviceMemoryProperties", function(never)},
      {"vkGetPhysicalDeviceQueueFamilyProperties", function(never)},
      {"vkGetPhysicalDeviceSparseImageFormatProperties", function(never)},
      {"vkCreateDevice", function(never)},
      {"vkGetDeviceProcAddr", function(never)},
  };
  const auto it = functions.find(name);
  return it == functions.end() ? nullptr : it->second;
}

} // extern "C"
