// SPDX-License-Identifier: LGPL-2.1-or-later
// What the library lists of Mesa's Vulkan drivers, beside what a plain program hears from them
// through Vulkan's loader: lavapipe, and where mesa-drm-shim stands in for their kernel drivers,
// those of real GPUs. GST_DRM_TEST_VULKAN_DRIVER is the driver's name in its manifest,
// GST_DRM_TEST_VULKAN_VENDOR the vendor of its modifiers (drm_fourcc.h).
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <drm_fourcc.h>
#include <vulkan/vulkan.h>

#include <gst/drm/drm.h>

#include "support/check_main.hpp"

namespace {

using Modifiers = std::set<guint64>;

constexpr const char *kManifests = "/usr/share/vulkan/icd.d";

struct UnrefArray {
  void operator()(GPtrArray *array) const { g_ptr_array_unref(array); }
};
using List = std::unique_ptr<GPtrArray, UnrefArray>;

// Written down here again, and not taken from the library's table.
struct Name {
  guint32 fourcc;
  VkFormat format;
};
constexpr Name kNames[] = {
    {DRM_FORMAT_XRGB8888, VK_FORMAT_B8G8R8A8_UNORM},
    {DRM_FORMAT_ARGB8888, VK_FORMAT_B8G8R8A8_UNORM},
    {DRM_FORMAT_ABGR8888, VK_FORMAT_R8G8B8A8_UNORM},
    {DRM_FORMAT_RGB565, VK_FORMAT_R5G6B5_UNORM_PACK16},
    {DRM_FORMAT_R8, VK_FORMAT_R8_UNORM},
    {DRM_FORMAT_GR88, VK_FORMAT_R8G8_UNORM},
    {DRM_FORMAT_NV12, VK_FORMAT_G8_B8R8_2PLANE_420_UNORM},
    {DRM_FORMAT_P010, VK_FORMAT_G10X6_B10X6R10X6_2PLANE_420_UNORM_3PACK16},
};

class Instance {
public:
  Instance()
  {
    VkApplicationInfo application{};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.apiVersion = VK_API_VERSION_1_1;
    VkInstanceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pApplicationInfo = &application;
    fail_unless_equals_int(vkCreateInstance(&info, nullptr, &instance_), VK_SUCCESS);
  }
  Instance(const Instance &) = delete;
  Instance &operator=(const Instance &) = delete;
  ~Instance() { vkDestroyInstance(instance_, nullptr); }

  [[nodiscard]] std::vector<VkPhysicalDevice> devices() const
  {
    guint32 count = 0;
    vkEnumeratePhysicalDevices(instance_, &count, nullptr);
    std::vector<VkPhysicalDevice> all(count);
    vkEnumeratePhysicalDevices(instance_, &count, all.data());
    return all;
  }

private:
  VkInstance instance_ = nullptr;
};

bool has(VkPhysicalDevice device, const char *extension)
{
  guint32 count = 0;
  vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> all(count);
  vkEnumerateDeviceExtensionProperties(device, nullptr, &count, all.data());
  return std::any_of(all.begin(), all.end(), [=](const VkExtensionProperties &one) {
    return std::strcmp(one.extensionName, extension) == 0;
  });
}

bool is_importable(VkPhysicalDevice device, VkFormat format, guint64 modifier,
                   VkImageUsageFlags usage)
{
  VkPhysicalDeviceImageDrmFormatModifierInfoEXT layout{};
  layout.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_DRM_FORMAT_MODIFIER_INFO_EXT;
  layout.drmFormatModifier = modifier;
  VkPhysicalDeviceExternalImageFormatInfo external{};
  external.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO;
  external.pNext = &layout;
  external.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT;
  VkPhysicalDeviceImageFormatInfo2 image{};
  image.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2;
  image.pNext = &external;
  image.format = format;
  image.type = VK_IMAGE_TYPE_2D;
  image.tiling = VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT;
  image.usage = usage;
  VkExternalImageFormatProperties memory{};
  memory.sType = VK_STRUCTURE_TYPE_EXTERNAL_IMAGE_FORMAT_PROPERTIES;
  VkImageFormatProperties2 answer{};
  answer.sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2;
  answer.pNext = &memory;
  return vkGetPhysicalDeviceImageFormatProperties2(device, &image, &answer) == VK_SUCCESS &&
         (memory.externalMemoryProperties.externalMemoryFeatures &
          VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT);
}

Modifiers heard(VkPhysicalDevice device, VkFormat format, bool drawn)
{
  VkDrmFormatModifierPropertiesListEXT list{};
  list.sType = VK_STRUCTURE_TYPE_DRM_FORMAT_MODIFIER_PROPERTIES_LIST_EXT;
  VkFormatProperties2 properties{};
  properties.sType = VK_STRUCTURE_TYPE_FORMAT_PROPERTIES_2;
  properties.pNext = &list;
  vkGetPhysicalDeviceFormatProperties2(device, format, &properties);
  std::vector<VkDrmFormatModifierPropertiesEXT> all(list.drmFormatModifierCount);
  list.pDrmFormatModifierProperties = all.data();
  vkGetPhysicalDeviceFormatProperties2(device, format, &properties);
  Modifiers modifiers;
  for (const VkDrmFormatModifierPropertiesEXT &one : all)
    if ((one.drmFormatModifierTilingFeatures &
         (drawn ? VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BIT : VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT)) &&
        is_importable(device, format, one.drmFormatModifier,
                      drawn ? VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT : VK_IMAGE_USAGE_SAMPLED_BIT))
      modifiers.insert(one.drmFormatModifier);
  return modifiers;
}

Modifiers listed(const GstDrmSource *source, guint32 fourcc)
{
  g_autoptr(GstDrmFormatSet) set = gst_drm_source_get_formats(source);
  guint n = 0;
  g_autofree guint64 *modifiers = gst_drm_format_set_get_modifiers(set, fourcc, &n);
  return {modifiers, modifiers + n};
}

std::vector<const GstDrmSource *> sources_of(const List &list, const char *driver)
{
  std::vector<const GstDrmSource *> found;
  for (guint i = 0; i < list->len; i++) {
    const auto *source = static_cast<const GstDrmSource *>(g_ptr_array_index(list.get(), i));
    if (g_strcmp0(gst_drm_source_get_driver(source), driver) == 0)
      found.push_back(source);
  }
  return found;
}

void check_device(VkPhysicalDevice device, const List &list)
{
  VkPhysicalDeviceProperties properties{};
  vkGetPhysicalDeviceProperties(device, &properties);
  const auto sources = sources_of(list, properties.deviceName);
  for (const char *needed : {VK_EXT_IMAGE_DRM_FORMAT_MODIFIER_EXTENSION_NAME,
                             VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME}) {
    if (has(device, needed))
      continue;
    fail_unless_equals_int(sources.size(), 1);
    const gchar *problem = gst_drm_source_get_problem(sources[0]);
    fail_unless(problem && std::strstr(problem, needed), "%s", problem);
    gstdrm::test::say(problem);
    return;
  }
  fail_unless_equals_int(sources.size(), 2);
  std::size_t pairs = 0;
  for (const bool drawn : {false, true}) {
    const GstDrmSource *source = sources[drawn ? 1 : 0];
    fail_unless(g_str_has_suffix(gst_drm_source_get_name(source), drawn ? ":drawn" : ":sampled"));
    fail_unless(gst_drm_source_get_problem(source) == nullptr);
    for (const Name &name : kNames) {
      const Modifiers wanted = heard(device, name.format, drawn);
      const Modifiers found = listed(source, name.fourcc);
      fail_unless(found == wanted, "%s, %.4s: %zu modifiers for %zu",
                  gst_drm_source_get_name(source), reinterpret_cast<const char *>(&name.fourcc),
                  found.size(), wanted.size());
      pairs += found.size();
    }
  }
  gstdrm::test::say(std::string(properties.deviceName) + ": " + std::to_string(pairs) +
                    " pairs compared");
  fail_unless(pairs > 0);
  if (const char *vendor = std::getenv("GST_DRM_TEST_VULKAN_VENDOR")) {
    const Modifiers tiled = listed(sources[0], DRM_FORMAT_XRGB8888);
    fail_unless(tiled.contains(DRM_FORMAT_MOD_LINEAR));
    fail_unless(std::any_of(tiled.begin(), tiled.end(),
                            [=](guint64 modifier) {
                              return modifier >> 56 == g_ascii_strtoull(vendor, nullptr, 0);
                            }),
                "%s tiles as no other", properties.deviceName);
  }
}

GST_START_TEST(test_driver)
{
  for (int i = 0; i < 2; i++) { // nothing is left of the first time
    const List list(gst_drm_enumerate_vulkan());
    const Instance instance;
    const auto devices = instance.devices();
    fail_unless(!devices.empty(), "the driver has no device");
    for (VkPhysicalDevice device : devices)
      check_device(device, list);
  }
}
GST_END_TEST

// "lvp" is lvp_icd.x86_64.json or lvp_icd.json, of another Mesa; empty: not installed.
std::string manifest_of(const std::string &driver)
{
  const gchar *name = nullptr;
  std::string found;
  GDir *directory = g_dir_open(kManifests, 0, nullptr);
  while (directory && (name = g_dir_read_name(directory)))
    if (g_str_has_prefix(name, (driver + "_icd.").c_str()))
      found = std::string(kManifests) + "/" + name;
  if (directory)
    g_dir_close(directory);
  return found;
}

Suite *vulkan_drivers_suite()
{
  Suite *suite = suite_create("vulkan_drivers");
  TCase *tcase = tcase_create("driver");
  suite_add_tcase(suite, tcase);
  tcase_add_test(tcase, test_driver);
  return suite;
}

} // namespace

int main(int argc, char **argv)
{
  const char *driver = std::getenv("GST_DRM_TEST_VULKAN_DRIVER");
  const std::string manifest = manifest_of(driver ? driver : "lvp");
  if (manifest.empty()) {
    g_printerr("Mesa's Vulkan driver %s is not on this machine (package mesa-vulkan-drivers)\n",
               driver);
    return 77;
  }
  g_setenv("VK_ICD_FILENAMES", manifest.c_str(), TRUE);
  g_setenv("VK_DRIVER_FILES", manifest.c_str(), TRUE); // what newer loaders read first
  gst_check_init(&argc, &argv);
  return gstdrm::test::run_suite(vulkan_drivers_suite());
}
