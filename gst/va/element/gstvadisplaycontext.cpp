// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstvadisplaycontext.hpp"

#include <memory>
#include <utility>

#include "gstvamachine.hpp"

namespace gstdrm::va {
namespace {

// gst-plugins-bad, gst-libs/gst/va/gstvadisplay.h and gstvautils.c: the type, and its two fields,
// an object of the class GstVaDisplay and a bare VADisplay.
constexpr char kContextType[] = "gst.va.display.handle";
constexpr char kObjectField[] = "gst-display";
constexpr char kHandleField[] = "va-display";
constexpr char kObjectClass[] = "GstVaDisplay";
// Ours, of device_type(): keeps the bare VADisplay open as long as the context lives, and tells
// other elements of this plugin what the probe found.
constexpr char kDeviceField[] = "gst-drm-va-device";

using DeviceRef = std::shared_ptr<const Device>;

// Without memory the process ends, as it does in GLib's own copies.
gpointer copy_device(gpointer device) noexcept
{
  return std::make_unique<DeviceRef>(*static_cast<DeviceRef *>(device)).release();
}

void free_device(gpointer device) noexcept
{
  const std::unique_ptr<DeviceRef> owned(static_cast<DeviceRef *>(device));
}

GType device_type()
{
  static const GType type =
      g_boxed_type_register_static("GstDrmVaSharedDevice", copy_device, free_device);
  return type;
}

// Elements keep such a context until they are in the NULL state, so that the display is closed when
// the pipeline is; upstream's lives as long as the pipeline.
GstPtr<GstContext> context_with(const DeviceRef &device)
{
  auto context = GstPtr<GstContext>::adopt(gst_context_new(kContextType, FALSE));
  gst_structure_set(gst_context_writable_structure(context.get()), kHandleField, G_TYPE_POINTER,
                    device->display->get(), kDeviceField, device_type(), &device, nullptr);
  return context;
}

// The context's own, where another element of this plugin has made it.
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
    if (device->display->node() == node)
      return share_device(*device);
    return Error{ErrorCode::Device,
                 "the VADisplay is of " + device->display->node() + ", not of " + node};
  }
  const auto handle = handle_in(structure);
  if (!handle)
    return handle.error();
  // Whoever made the context keeps its VADisplay open as long as the context lives.
  return adopt_device(*handle, node, std::make_shared<GstPtr<GstContext>>(context));
}

GstPtr<GstContext> ask_neighbours(GstElement *element, GstPadDirection direction)
{
  GstPtr<GstContext> found;
  const auto query = GstPtr<GstQuery>::adopt(gst_query_new_context(kContextType));
  GST_OBJECT_LOCK(element);
  GList *pads = g_list_copy_deep(
      direction == GST_PAD_SRC ? element->srcpads : element->sinkpads,
      [](gconstpointer pad, gpointer) -> gpointer {
        return gst_object_ref(const_cast<gpointer>(pad));
      },
      nullptr);
  GST_OBJECT_UNLOCK(element);
  for (GList *pad = pads; pad && !found; pad = pad->next) {
    GstContext *answer = nullptr;
    if (!gst_pad_peer_query(GST_PAD(pad->data), query.get()))
      continue;
    gst_query_parse_context(query.get(), &answer);
    if (answer)
      found = GstPtr<GstContext>::share(answer);
  }
  g_list_free_full(pads, gst_object_unref);
  return found;
}

} // namespace

// gst_va_ensure_element_data() of upstream asks in this order.
GstPtr<GstContext> DisplayContext::ask()
{
  const auto set = [this] {
    return GstPtr<GstContext>::adopt(gst_element_get_context(element_, kContextType));
  };
  if (auto already = set())
    return already;
  for (const GstPadDirection direction : {GST_PAD_SRC, GST_PAD_SINK})
    if (auto found = ask_neighbours(element_, direction))
      return found;
  gst_element_post_message(element_,
                           gst_message_new_need_context(GST_OBJECT(element_), kContextType));
  return set();
}

Result<Device> DisplayContext::open(const std::string &wanted)
{
  const auto *known = find_machine_node(wanted);
  const std::string node = known ? known->path : wanted;
  if (const auto context = ask(); context && !node.empty()) {
    auto shared = device_of(context, node);
    if (shared) {
      GST_CAT_INFO_OBJECT(category_, element_, "shares the display of %" GST_PTR_FORMAT,
                          gst_context_get_structure(context.get()));
      return shared;
    }
    GST_CAT_WARNING_OBJECT(
        category_, element_,
        "the display of a context of type %s is not used, and %s is opened instead: %s",
        kContextType, node.c_str(), shared.error().message.c_str());
  }
  // What the probe ran into, this process would run into as well.
  if (const auto *failed = wanted.empty() ? nullptr : find_failed_node(wanted))
    return Error{ErrorCode::Device,
                 failed->reason +
                     ", so it is not opened; GST_DRM_VA_PROBE=no opens it all the same"};
  auto device = wanted.empty() ? open_first_device(failed_nodes()) : open_device(wanted);
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
