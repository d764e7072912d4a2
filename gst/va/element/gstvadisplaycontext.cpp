// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstvadisplaycontext.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "gstvamachine.hpp"

namespace gstdrm::va {
namespace {

// gst-plugins-bad, gst-libs/gst/va/gstvadisplay.h and gstvautils.c: the type, and its two fields,
// an object of the class GstVaDisplay and a bare VADisplay.
constexpr char kContextType[] = "gst.va.display.handle";
constexpr char kObjectField[] = "gst-display";
constexpr char kHandleField[] = "va-display";
constexpr char kObjectClass[] = "GstVaDisplay";
// Our own field, of device_type(): keeps the bare VADisplay open while the context lives, and has
// the probe's result for other elements of this plugin.
constexpr char kDeviceField[] = "gst-drm-va-device";

using DeviceRef = std::shared_ptr<const Device>;

// g_new() ends the process if memory runs out, as GLib's own copy functions do.
gpointer copy_device(gpointer device) noexcept
{
  return new (g_new(DeviceRef, 1)) DeviceRef(*static_cast<DeviceRef *>(device));
}

void free_device(gpointer device) noexcept
{
  std::destroy_at(static_cast<DeviceRef *>(device));
  g_free(device);
}

GType device_type()
{
  static const GType type =
      g_boxed_type_register_static("GstDrmVaSharedDevice", copy_device, free_device);
  return type;
}

// Not persistent: elements drop the context in the NULL state, so that the display is closed with
// the pipeline. Upstream's lives as long as the pipeline.
GstPtr<GstContext> context_with(const DeviceRef &device)
{
  auto context = GstPtr<GstContext>::adopt(gst_context_new(kContextType, FALSE));
  gst_structure_set(gst_context_writable_structure(context.get()), kHandleField, G_TYPE_POINTER,
                    device->display->get(), kDeviceField, device_type(), &device, nullptr);
  return context;
}

// The device of a context that another element of this plugin has made; nullptr for other contexts.
DeviceRef device_in(const GstStructure *structure)
{
  const GValue *value = gst_structure_get_value(structure, kDeviceField);
  if (!value || !G_VALUE_HOLDS(value, device_type()) || !g_value_get_boxed(value))
    return {};
  return *static_cast<DeviceRef *>(g_value_get_boxed(value));
}

// The VADisplay of a GstVaDisplay, read as any application could: this plugin does not link
// libgstva, which Debian 12 has no development files for beside all of gst-plugins-bad.
Result<VADisplay> handle_in(const GstStructure *structure)
{
  const GValue *object = gst_structure_get_value(structure, kObjectField);
  const GType display_class = g_type_from_name(kObjectClass);
  if (object && G_VALUE_HOLDS_OBJECT(object) && g_value_get_object(object)) {
    gpointer made = g_value_get_object(object);
    if (display_class == 0 || !g_type_is_a(G_OBJECT_TYPE(made), display_class))
      return Error{ErrorCode::Device, std::string(kObjectField) + " is a " +
                                          G_OBJECT_TYPE_NAME(made) + ", not a " + kObjectClass};
    VADisplay handle = nullptr;
    g_object_get(made, kHandleField, &handle, nullptr);
    return handle;
  }
  const GValue *handle = gst_structure_get_value(structure, kHandleField);
  if (handle && G_VALUE_HOLDS_POINTER(handle))
    return g_value_get_pointer(handle);
  return Error{ErrorCode::Device, std::string("it has neither a ") + kObjectClass + " as " +
                                      kObjectField + " nor a pointer as " + kHandleField};
}

Result<Device> device_of(const GstPtr<GstContext> &context, const std::string &node)
{
  const GstStructure *structure = gst_context_get_structure(context.get());
  if (const auto device = device_in(structure)) {
    if (node.empty() || device->display->is_of(node))
      return share_device(*device);
    return Error{ErrorCode::Device,
                 "the VADisplay is of " + device->display->node() + ", not of " + node};
  }
  const auto handle = handle_in(structure);
  if (!handle)
    return handle.error();
  // The maker of the context keeps its VADisplay open while the context lives.
  return adopt_device(*handle, node, std::make_shared<GstPtr<GstContext>>(context));
}

// The context that the peer of that pad answers with; nullptr if there is none.
GstPtr<GstContext> ask_neighbour(GstElement *element, const char *pad_name)
{
  const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(element, pad_name));
  const auto query = GstPtr<GstQuery>::adopt(gst_query_new_context(kContextType));
  GstContext *answer = nullptr;
  if (pad && gst_pad_peer_query(pad.get(), query.get()))
    gst_query_parse_context(query.get(), &answer);
  return GstPtr<GstContext>::share(answer);
}

// Probes a driver that was too slow once more, in its own process. Returns true if it answers.
bool answers_now(const FailedNode &failed)
{
  return failed.may_pass && probe_nodes({failed.path}).failed.empty();
}

} // namespace

// gst_va_ensure_element_data() of upstream asks in this order, and takes the first context. Here a
// context of another device is skipped: a pipeline may have several.
std::optional<Device> DisplayContext::share(const std::string &node, std::string &refused)
{
  std::vector<GstPtr<GstContext>> seen;
  const auto use = [&](const GstPtr<GstContext> &context) -> std::optional<Device> {
    const auto is_same = [&](const GstPtr<GstContext> &one) { return one.get() == context.get(); };
    if (!context || std::any_of(seen.begin(), seen.end(), is_same))
      return std::nullopt;
    seen.push_back(context);
    auto shared = device_of(context, node);
    if (!shared) {
      refused = shared.error().message;
      return std::nullopt;
    }
    GST_CAT_INFO_OBJECT(category_, element_, "shares the display of %" GST_PTR_FORMAT,
                        gst_context_get_structure(context.get()));
    return std::move(*shared);
  };
  const auto use_own = [&] {
    return use(GstPtr<GstContext>::adopt(gst_element_get_context(element_, kContextType)));
  };
  if (auto device = use_own())
    return device;
  for (const char *pad : {"src", "sink"})
    if (auto device = use(ask_neighbour(element_, pad)))
      return device;
  gst_element_post_message(element_,
                           gst_message_new_need_context(GST_OBJECT(element_), kContextType));
  return use_own();
}

Result<Device> DisplayContext::open_own(const std::string &wanted, const std::string &node)
{
  if (wanted.empty()) {
    auto device = open_first_device(failed_nodes());
    for (const FailedNode &failed : failed_nodes())
      if (!device && answers_now(failed))
        device = open_device(failed.path);
    return device;
  }
  // The driver would crash or hang in this process too.
  if (const auto *failed = find_failed_node(wanted); failed && !answers_now(*failed))
    return Error{ErrorCode::Device,
                 failed->reason +
                     ", so it is not opened; GST_DRM_VA_PROBE=no opens it all the same"};
  return open_device(node);
}

Result<Device> DisplayContext::open(const std::string &wanted)
{
  const auto *known = find_machine_node(wanted);
  const std::string node = known ? known->path : wanted;
  std::string refused;
  if (auto shared = share(node, refused))
    return std::move(*shared);
  if (!refused.empty())
    GST_CAT_WARNING_OBJECT(
        category_, element_,
        "the display of a context of type %s is not used, and %s is opened instead: %s",
        kContextType, node.empty() ? "a node" : node.c_str(), refused.c_str());
  auto device = open_own(wanted, node);
  if (!device)
    return device;
  const auto offered = std::make_shared<const Device>(share_device(*device));
  gst_element_post_message(element_, gst_message_new_have_context(GST_OBJECT(element_),
                                                                  context_with(offered).release()));
  return device;
}

bool DisplayContext::answer(GstQuery *query, const std::shared_ptr<const Device> &device) const
{
  const gchar *type = nullptr;
  if (GST_QUERY_TYPE(query) != GST_QUERY_CONTEXT || !device ||
      !gst_query_parse_context_type(query, &type) || g_strcmp0(type, kContextType) != 0)
    return false;
  const auto context = context_with(device);
  gst_query_set_context(query, context.get());
  return true;
}

} // namespace gstdrm::va
