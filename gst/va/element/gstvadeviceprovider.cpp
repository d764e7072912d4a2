// SPDX-License-Identifier: LGPL-2.1-or-later
// vadmabufdeviceprovider: the render nodes whose VA-API driver exports DMA buffers, as GstDevices.
#include <memory>
#include <string>

#include <gst/drm/gstdrm-guard-private.hpp>

#include "gstvadmabufconvert.hpp"
#include "gstvadmabufsrc.hpp"
#include "gstvamachine.hpp"
#include "gstvanodefeatures.hpp"
#include "gstvanodewatcher.hpp"

// The plugin's, with a name that upstream's GstVa... types do not have.
struct GstDrmVaDevice {
  GstDevice parent;
};
struct GstDrmVaDeviceClass {
  GstDeviceClass parent_class;
};
static GType gst_drm_va_device_get_type(void);
G_DEFINE_TYPE(GstDrmVaDevice, gst_drm_va_device, GST_TYPE_DEVICE)

struct GstDrmVaDeviceProvider {
  GstDeviceProvider parent;
  gstdrm::va::NodeWatcher *watcher; // between start and stop
};
struct GstDrmVaDeviceProviderClass {
  GstDeviceProviderClass parent_class;
};
static GType gst_drm_va_device_provider_get_type(void);
G_DEFINE_TYPE(GstDrmVaDeviceProvider, gst_drm_va_device_provider, GST_TYPE_DEVICE_PROVIDER)

constexpr char kPathField[] = "device.path";

// --- a node --------------------------------------------------------------------------------------

static gboolean gst_drm_va_device_configure(GstDevice *device, GstElement *element) noexcept
{
  if (!GST_IS_VA_DMABUF_SRC(element) && !GST_IS_VA_DMABUF_CONVERT(element))
    return FALSE;
  GstStructure *properties = gst_device_get_properties(device);
  g_object_set(element, "device", gst_structure_get_string(properties, kPathField), nullptr);
  gst_structure_free(properties);
  return TRUE;
}

static GstElement *gst_drm_va_device_create_element(GstDevice *device, const gchar *name) noexcept
{
  GstElement *element = gst_element_factory_make("vadmabufsrc", name);
  if (element)
    gst_drm_va_device_configure(device, element);
  return element;
}

static void gst_drm_va_device_class_init(GstDrmVaDeviceClass *klass)
{
  klass->parent_class.create_element = gst_drm_va_device_create_element;
  klass->parent_class.reconfigure_element = gst_drm_va_device_configure;
}

static void gst_drm_va_device_init(GstDrmVaDevice * /*self*/) {}

// The class has no "Source": programs that look for cameras ask for Video/Source.
static GstDevice *make_device(const gstdrm::va::MachineNode &node)
{
  const auto caps = gstdrm::va::node_caps(node, GST_PAD_SRC);
  const std::string name = node.vendor + " (" + node.path + ")";
  GstStructure *properties = gst_structure_new(
      "vadmabuf-proplist", "device.api", G_TYPE_STRING, "va", kPathField, G_TYPE_STRING,
      node.path.c_str(), "va.vendor", G_TYPE_STRING, node.vendor.c_str(), "va.video-processing",
      G_TYPE_BOOLEAN, static_cast<gboolean>(node.capabilities.has_vpp), nullptr);
  auto *device = GST_DEVICE(g_object_new(gst_drm_va_device_get_type(), "display-name", name.c_str(),
                                         "device-class", "Video/GPU", "caps", caps.get(),
                                         "properties", properties, nullptr));
  gst_structure_free(properties);
  return device;
}

// --- the provider --------------------------------------------------------------------------------

// Without a watcher: what the plugin found when it was loaded, as far as it is still there.
static GList *gst_drm_va_device_provider_probe(GstDeviceProvider * /*provider*/) noexcept
try {
  GList *devices = nullptr;
  for (const auto &node : gstdrm::va::machine_nodes())
    if (g_file_test(node.path.c_str(), G_FILE_TEST_EXISTS))
      devices = g_list_append(devices, make_device(node));
  return devices;
} catch (...) {
  return gstdrm::caught(static_cast<GList *>(nullptr), __func__);
}

static gboolean gst_drm_va_device_provider_start(GstDeviceProvider *provider) noexcept
try {
  reinterpret_cast<GstDrmVaDeviceProvider *>(provider)->watcher =
      gstdrm::va::NodeWatcher::start(provider, make_device).release();
  return TRUE;
} catch (...) {
  return gstdrm::caught(FALSE, __func__);
}

static void gst_drm_va_device_provider_stop(GstDeviceProvider *provider) noexcept
{
  auto *self = reinterpret_cast<GstDrmVaDeviceProvider *>(provider);
  const std::unique_ptr<gstdrm::va::NodeWatcher> watcher(self->watcher);
  self->watcher = nullptr;
}

static void gst_drm_va_device_provider_class_init(GstDrmVaDeviceProviderClass *klass)
{
  klass->parent_class.probe = gst_drm_va_device_provider_probe;
  klass->parent_class.start = gst_drm_va_device_provider_start;
  klass->parent_class.stop = gst_drm_va_device_provider_stop;
  gst_device_provider_class_set_static_metadata(
      &klass->parent_class, "VA-API render nodes", "Video/GPU",
      "Lists the render nodes whose VA-API driver exports DMA buffers", "gst-drm contributors");
}

static void gst_drm_va_device_provider_init(GstDrmVaDeviceProvider * /*self*/) {}

namespace gstdrm::va {

bool register_device_provider(GstPlugin *plugin)
{
  // GstDeviceMonitor leaves providers of rank NONE out
  return gst_device_provider_register(plugin, "vadmabufdeviceprovider", GST_RANK_MARGINAL,
                                      gst_drm_va_device_provider_get_type()) != FALSE;
}

} // namespace gstdrm::va
