// SPDX-License-Identifier: LGPL-2.1-or-later
// The physical devices of Vulkan (VK_EXT_image_drm_format_modifier). The loader is loaded when it
// is asked for, so that a machine without it has no sources, and the library no dependency. Counts
// of a driver are never trusted: a list may grow between the question for its length and the list.
#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <sys/sysmacros.h>

#include "../core/drm_node.hpp"
#include "../core/log.hpp"
#include "source.hpp"
#include "vulkan_formats.hpp"

namespace gstdrm {

namespace {

// Far above what drivers list (Mesa 26.1: 40 modifiers of a format, 200 extensions): a count beyond
// is a mistake of the driver's, and not memory to ask for.
constexpr std::uint32_t kMaxListed = 4096;

struct Calls {
  PFN_vkDestroyInstance destroy_instance = nullptr;
  PFN_vkEnumeratePhysicalDevices devices = nullptr;
  PFN_vkEnumerateDeviceExtensionProperties extensions = nullptr;
  PFN_vkGetPhysicalDeviceProperties properties = nullptr;
  PFN_vkGetPhysicalDeviceProperties2 properties2 = nullptr;
  PFN_vkGetPhysicalDeviceFormatProperties2 format = nullptr;
  PFN_vkGetPhysicalDeviceImageFormatProperties2 image = nullptr;
};

template <typename T>
bool find(PFN_vkGetInstanceProcAddr get, VkInstance instance, const char *name, T &function)
{
  function = reinterpret_cast<T>(get(instance, name));
  return function != nullptr;
}

// An instance of Vulkan 1.1, the first with the questions that are asked here. Layers that the user
// turned on are in it.
class Instance {
public:
  Instance()
  {
    // drivers do not unload well
    void *const library = ::dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) {
      GSTDRM_DEBUG("no Vulkan devices: %s", ::dlerror());
      return;
    }
    const auto get =
        reinterpret_cast<PFN_vkGetInstanceProcAddr>(::dlsym(library, "vkGetInstanceProcAddr"));
    PFN_vkCreateInstance create = nullptr;
    if (!get || !find(get, nullptr, "vkCreateInstance", create))
      return;
    VkApplicationInfo application{};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.pApplicationName = "gst-drm";
    application.apiVersion = VK_API_VERSION_1_1;
    VkInstanceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pApplicationInfo = &application;
    if (const VkResult result = create(&info, nullptr, &instance_); result != VK_SUCCESS) {
      // VK_ERROR_INCOMPATIBLE_DRIVER: there is no driver, or none of 1.1
      GSTDRM_DEBUG("no Vulkan devices: vkCreateInstance returned %d", static_cast<int>(result));
      instance_ = nullptr;
      return;
    }
    find(get, instance_, "vkDestroyInstance", calls_.destroy_instance);
    ready_ = calls_.destroy_instance &&
             find(get, instance_, "vkEnumeratePhysicalDevices", calls_.devices) &&
             find(get, instance_, "vkEnumerateDeviceExtensionProperties", calls_.extensions) &&
             find(get, instance_, "vkGetPhysicalDeviceProperties", calls_.properties) &&
             find(get, instance_, "vkGetPhysicalDeviceProperties2", calls_.properties2) &&
             find(get, instance_, "vkGetPhysicalDeviceFormatProperties2", calls_.format) &&
             find(get, instance_, "vkGetPhysicalDeviceImageFormatProperties2", calls_.image);
  }
  Instance(const Instance &) = delete;
  Instance &operator=(const Instance &) = delete;
  ~Instance()
  {
    if (instance_ && calls_.destroy_instance)
      calls_.destroy_instance(instance_, nullptr);
  }

  [[nodiscard]] const Calls &calls() const noexcept { return calls_; }

  [[nodiscard]] std::vector<VkPhysicalDevice> devices() const
  {
    std::uint32_t count = 0;
    if (!ready_ || calls_.devices(instance_, &count, nullptr) != VK_SUCCESS)
      return {};
    std::vector<VkPhysicalDevice> list(std::min(count, kMaxListed));
    count = static_cast<std::uint32_t>(list.size());
    // VK_INCOMPLETE, which is no failure: there are more now
    if (list.empty() || calls_.devices(instance_, &count, list.data()) < VK_SUCCESS)
      return {};
    list.resize(std::min<std::size_t>(list.size(), count));
    std::erase(list, nullptr);
    return list;
  }

private:
  Calls calls_;
  VkInstance instance_ = nullptr;
  bool ready_ = false;
};

// Text of a fixed array, which a driver may have filled to the brim.
template <std::size_t Size> std::string_view text_of(const char (&array)[Size])
{
  return {array, ::strnlen(array, Size)};
}

class Device {
public:
  Device(const Calls &calls, VkPhysicalDevice device) : calls_(calls), device_(device)
  {
    VkPhysicalDeviceProperties properties{};
    calls_.properties(device_, &properties);
    name_ = text_of(properties.deviceName);
    version_ = properties.apiVersion;
    is_software_ = properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
    std::uint32_t count = 0;
    VkResult result = calls_.extensions(device_, nullptr, &count, nullptr);
    extensions_.resize(result == VK_SUCCESS ? std::min(count, kMaxListed) : 0);
    count = static_cast<std::uint32_t>(extensions_.size());
    if (!extensions_.empty())
      result = calls_.extensions(device_, nullptr, &count, extensions_.data());
    answers_ = result >= VK_SUCCESS; // VK_INCOMPLETE: there are more now
    extensions_.resize(answers_ ? std::min<std::size_t>(extensions_.size(), count) : 0);
  }

  [[nodiscard]] const std::string &name() const noexcept { return name_; }
  [[nodiscard]] bool is_software() const noexcept { return is_software_; }

  // Why its formats cannot be known; empty where they can.
  [[nodiscard]] std::string problem() const
  {
    if (!answers_)
      return name_ + " does not answer which formats it imports; was the device removed?";
    if (version_ < VK_API_VERSION_1_1)
      return name_ + " is a device of Vulkan 1.0, which does not say which formats it imports.";
    for (const char *needed : {VK_EXT_IMAGE_DRM_FORMAT_MODIFIER_EXTENSION_NAME,
                               VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME})
      if (!has(needed))
        return name_ + " does not say which formats it imports: it has no " + needed + ".";
    return {};
  }

  // st_rdev of its render node, else of its card.
  [[nodiscard]] std::optional<std::uint64_t> node() const
  {
    if (version_ < VK_API_VERSION_1_1 || !has(VK_EXT_PHYSICAL_DEVICE_DRM_EXTENSION_NAME))
      return std::nullopt;
    VkPhysicalDeviceDrmPropertiesEXT drm{};
    drm.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRM_PROPERTIES_EXT;
    VkPhysicalDeviceProperties2 properties{};
    properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    properties.pNext = &drm;
    calls_.properties2(device_, &properties);
    const auto number = [](std::int64_t major, std::int64_t minor) {
      return static_cast<std::uint64_t>(
          makedev(static_cast<unsigned>(major), static_cast<unsigned>(minor)));
    };
    if (drm.hasRender)
      return number(drm.renderMajor, drm.renderMinor);
    if (drm.hasPrimary)
      return number(drm.primaryMajor, drm.primaryMinor);
    return std::nullopt;
  }

  [[nodiscard]] std::vector<VkDrmFormatModifierPropertiesEXT> modifiers(VkFormat format) const
  {
    VkDrmFormatModifierPropertiesListEXT list{};
    list.sType = VK_STRUCTURE_TYPE_DRM_FORMAT_MODIFIER_PROPERTIES_LIST_EXT;
    VkFormatProperties2 properties{};
    properties.sType = VK_STRUCTURE_TYPE_FORMAT_PROPERTIES_2;
    properties.pNext = &list;
    calls_.format(device_, format, &properties);
    std::vector<VkDrmFormatModifierPropertiesEXT> found(
        std::min(list.drmFormatModifierCount, kMaxListed));
    if (found.empty())
      return found;
    list.drmFormatModifierCount = static_cast<std::uint32_t>(found.size());
    list.pDrmFormatModifierProperties = found.data();
    calls_.format(device_, format, &properties);
    found.resize(std::min<std::size_t>(found.size(), list.drmFormatModifierCount));
    return found;
  }

  // Whether a dma-buf of the pair becomes an image of that usage. The list of modifiers is for all
  // images, and says nothing of imports.
  [[nodiscard]] bool imports(VkFormat format, std::uint64_t modifier, VkImageUsageFlags usage)
  {
    VkPhysicalDeviceImageDrmFormatModifierInfoEXT layout{};
    layout.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_DRM_FORMAT_MODIFIER_INFO_EXT;
    layout.drmFormatModifier = modifier;
    layout.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
    VkPhysicalDeviceExternalImageFormatInfo external{};
    external.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO;
    external.pNext = &layout;
    external.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT;
    VkPhysicalDeviceImageFormatInfo2 info{};
    info.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2;
    info.pNext = &external;
    info.format = format;
    info.type = VK_IMAGE_TYPE_2D;
    info.tiling = VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT;
    info.usage = usage;
    VkExternalImageFormatProperties answer{};
    answer.sType = VK_STRUCTURE_TYPE_EXTERNAL_IMAGE_FORMAT_PROPERTIES;
    VkImageFormatProperties2 properties{};
    properties.sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2;
    properties.pNext = &answer;
    const VkResult result = calls_.image(device_, &info, &properties);
    if (result < VK_SUCCESS && result != VK_ERROR_FORMAT_NOT_SUPPORTED)
      answers_ = false;
    return result == VK_SUCCESS && (answer.externalMemoryProperties.externalMemoryFeatures &
                                    VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT) != 0;
  }

private:
  [[nodiscard]] bool has(std::string_view name) const
  {
    return std::any_of(
        extensions_.begin(), extensions_.end(),
        [name](const VkExtensionProperties &e) { return text_of(e.extensionName) == name; });
  }

  const Calls &calls_;
  VkPhysicalDevice device_;
  std::string name_;
  std::uint32_t version_ = 0;
  bool is_software_ = false;
  bool answers_ = true; // until a question fails that it may not refuse
  std::vector<VkExtensionProperties> extensions_;
};

// What an image is for: a producer's frames are sampled, a consumer's are drawn into.
struct Usage {
  const char *name;
  const char *description;
  VkFormatFeatureFlags feature;
  VkImageUsageFlags usage;
};
constexpr Usage kUsages[] = {
    {"sampled", "sampled images", VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT, VK_IMAGE_USAGE_SAMPLED_BIT},
    {"drawn", "colour attachments", VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BIT,
     VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT},
};

void read_formats(Device &device, const Usage &usage, Source &source)
{
  std::map<Format, std::uint8_t> planes; // in the order of the set
  for (const VulkanName &name : kVulkanNames) {
    for (const VkDrmFormatModifierPropertiesEXT &layout : device.modifiers(name.format)) {
      if (!(layout.drmFormatModifierTilingFeatures & usage.feature) ||
          layout.drmFormatModifier == kModImplicit ||
          !device.imports(name.format, layout.drmFormatModifier, usage.usage))
        continue;
      const std::uint32_t n = layout.drmFormatModifierPlaneCount;
      planes[{name.fourcc, layout.drmFormatModifier}] =
          static_cast<std::uint8_t>(n <= kMaxPlanes ? n : 0);
    }
  }
  source.problem = device.problem();
  if (!source.problem.empty())
    return; // half of a list would be taken for the whole
  for (const auto &[format, n] : planes) {
    source.formats.add(format);
    source.planes.push_back(n);
  }
}

void add_device(Device device, const OnlyDevice *only, Sources &sources)
{
  Source base{.kind = SourceKind::Vulkan,
              .name = device.is_software() ? "vulkan:software" : "vulkan:device",
              .driver = device.name()};
  if (const auto number = device.node()) {
    const std::string path = drm_node_path(*number);
    base.name = "vulkan:" + node_name(path);
    if (path.starts_with('/')) // a node, and not its number alone
      base.device = path;
  }
  const std::string first = base.name;
  const auto taken = [&sources, &base] {
    return std::any_of(sources.begin(), sources.end(), [&base](const Source &other) {
      return other.name == base.name || other.name.starts_with(base.name + ":");
    });
  };
  for (unsigned number = 2; taken(); number++)
    base.name = first + "-" + std::to_string(number);
  if (only)
    only->before(base);
  base.problem = device.problem();
  if (!base.problem.empty()) {
    sources.push_back(std::move(base));
    return;
  }
  for (const Usage &usage : kUsages) {
    Source source = base;
    source.name += std::string(":") + usage.name;
    source.description = usage.description;
    read_formats(device, usage, source);
    sources.push_back(std::move(source));
  }
}

} // namespace

Sources enumerate_vulkan(const OnlyDevice *only)
{
  Sources sources;
  const Instance instance;
  std::size_t number = 0;
  for (VkPhysicalDevice device : instance.devices())
    if (!only || number++ == only->number)
      add_device(Device(instance.calls(), device), only, sources);
  return sources;
}

} // namespace gstdrm
