// SPDX-License-Identifier: LGPL-2.1-or-later
// What VA-API exports on every render node. The element vadmabufsrc is asked, so that the library
// needs no libva and the answer is the one that a pipeline gets.
#include <memory>
#include <string>
#include <utility>

#include <gst/gst.h>

#include "core/drm_node.hpp"
#include "gstdrm-private.hpp"
#include "gstdrmformatset-private.hpp"
#include "gstdrmsource-private.hpp"

namespace gstdrm {

namespace {

constexpr const char *kElement = "vadmabufsrc";

std::string first_error(GstBus *bus)
{
  const auto message = GstPtr<GstMessage>::adopt(gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR));
  if (!message)
    return "The driver gives no reason.";
  g_autoptr(GError) error = nullptr;
  gst_message_parse_error(message.get(), &error, nullptr);
  return error->message;
}

// A stream of one frame into nothing: the device is open then, and the element's caps are those of
// the device, with what its driver really exported and drew.
struct Stream {
  GstPtr<GstElement> pipeline =
      GstPtr<GstElement>::adopt(GST_ELEMENT(gst_object_ref_sink(gst_pipeline_new("va-source"))));
  GstElement *source =
      gst_element_factory_make(kElement, nullptr); // the pipeline's, as is the next
  GstElement *sink = gst_element_factory_make("fakesink", nullptr);

  explicit Stream(const std::string &node)
  {
    if (source)
      g_object_set(source, "device", node.c_str(), "num-buffers", 1, nullptr);
    for (GstElement *element : {source, sink})
      if (element)
        gst_bin_add(GST_BIN(pipeline.get()), element);
  }
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;
  ~Stream() { gst_element_set_state(pipeline.get(), GST_STATE_NULL); }

  bool start()
  {
    return source && sink && gst_element_link(source, sink) &&
           gst_element_set_state(pipeline.get(), GST_STATE_PAUSED) != GST_STATE_CHANGE_FAILURE &&
           gst_element_get_state(pipeline.get(), nullptr, nullptr, GST_CLOCK_TIME_NONE) ==
               GST_STATE_CHANGE_SUCCESS;
  }
};

void ask(Source &source)
{
  Stream stream(source.device);
  if (!stream.start()) {
    const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(stream.pipeline.get()));
    source.problem = first_error(bus.get());
    return;
  }
  const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(stream.source, "src"));
  const auto caps = GstPtr<GstCaps>::adopt(gst_pad_query_caps(pad.get(), nullptr));
  GstDrmFormatSet *formats = gst_drm_format_set_new_from_caps(caps.get());
  source.formats = formats->set;
  gst_drm_format_set_unref(formats);
}

} // namespace

Sources enumerate_va()
{
  Sources sources;
  const auto factory = GstPtr<GstElementFactory>::adopt(
      gst_is_initialized() ? gst_element_factory_find(kElement) : nullptr);
  if (!factory)
    return sources;
  for (const std::string &path : list_drm_nodes(DrmNodeType::Render)) {
    Source source{.kind = SourceKind::Va,
                  .name = "va:" + node_name(path),
                  .device = path,
                  .driver = driver_of_node(path),
                  .description = "video processor"};
    ask(source);
    sources.push_back(std::move(source));
  }
  return sources;
}

} // namespace gstdrm
