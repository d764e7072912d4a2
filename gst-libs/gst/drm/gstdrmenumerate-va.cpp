// SPDX-License-Identifier: LGPL-2.1-or-later
// What VA-API exports on every render node. The element vadmabufsrc is asked, so that the library
// needs no libva and the answer is the one that a pipeline gets.
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <future>

#include <gst/gst.h>

#include "core/drm_node.hpp"
#include "gstdrm-private.hpp"
#include "gstdrmformatset-private.hpp"
#include "gstdrmsource-private.hpp"

namespace gstdrm {

namespace {

constexpr const char *kElement = "vadmabufsrc";
constexpr const char *kLimitVariable = "GST_DRM_VA_PROBE_TIMEOUT";

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

  // Why there is no frame; empty if there is one. Told by the bus, on which the reason stands
  // before the end of the stream that a failed source sends; the state may be given up before
  // either.
  std::string start()
  {
    constexpr const char *kNoReason = "The driver gives no reason.";
    if (!source || !sink || !gst_element_link(source, sink))
      return kNoReason;
    const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(pipeline.get()));
    const GstStateChangeReturn change = gst_element_set_state(pipeline.get(), GST_STATE_PAUSED);
    constexpr auto kWanted =
        static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_ASYNC_DONE);
    const GstClockTime limit = change == GST_STATE_CHANGE_ASYNC ? GST_CLOCK_TIME_NONE : 0;
    const auto message =
        GstPtr<GstMessage>::adopt(gst_bus_timed_pop_filtered(bus.get(), limit, kWanted));
    if (message && GST_MESSAGE_TYPE(message.get()) == GST_MESSAGE_ERROR) {
      g_autoptr(GError) error = nullptr;
      gst_message_parse_error(message.get(), &error, nullptr);
      return error->message;
    }
    return message || change == GST_STATE_CHANGE_SUCCESS ? "" : kNoReason;
  }
};

void ask(Source &source)
{
  Stream stream(source.device);
  source.problem = stream.start();
  if (!source.problem.empty())
    return;
  const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(stream.source, "src"));
  const auto caps = GstPtr<GstCaps>::adopt(gst_pad_query_caps(pad.get(), nullptr));
  GstDrmFormatSet *formats = gst_drm_format_set_new_from_caps(caps.get());
  if (!formats) { // caps without DMA buffers, or with those of any format
    source.problem = std::string(kElement) + " on " + source.device + " names no formats.";
    return;
  }
  source.formats = formats->set;
  gst_drm_format_set_unref(formats);
}

// The same limit as that of the plugin's probe (docs/elements/vadmabufsrc.md), which warns of what
// is no limit.
unsigned limit_in_seconds()
{
  constexpr unsigned kUsual = 20;
  constexpr unsigned kMost = 3600;
  const char *text = ::secure_getenv(kLimitVariable);
  const std::string_view word(text ? text : "");
  unsigned seconds = 0;
  const auto read = std::from_chars(word.data(), word.data() + word.size(), seconds);
  const bool good = read.ec == std::errc() && read.ptr == word.data() + word.size();
  return good && seconds >= 1 && seconds <= kMost ? seconds : kUsual;
}

// On a thread of its own, which is left alone where the driver never returns to it: it cannot be
// ended, and whoever lists devices need not hang with it.
Source ask_in_time(const Source &source)
{
  std::promise<Source> promise;
  std::future<Source> future = promise.get_future();
  std::thread thread([promise = std::move(promise), mine = source]() mutable noexcept {
    try {
      ask(mine);
      promise.set_value(std::move(mine));
    } catch (...) {
      promise.set_exception(std::current_exception());
    }
  });
  const unsigned limit_s = limit_in_seconds();
  if (future.wait_for(std::chrono::seconds(limit_s)) == std::future_status::ready) {
    thread.join();
    return future.get();
  }
  thread.detach();
  Source late = source;
  late.problem = "The VA-API driver of " + source.device + " gave no answer within " +
                 std::to_string(limit_s) + " s (" + kLimitVariable + ").";
  return late;
}

} // namespace

Sources enumerate_va()
{
  Sources sources;
  const auto factory = GstPtr<GstElementFactory>::adopt(
      gst_is_initialized() ? gst_element_factory_find(kElement) : nullptr);
  // the plugin asks each driver in a process of its own, with a limit of its own
  const auto loaded = GstPtr<GstPluginFeature>::adopt(
      factory ? gst_plugin_feature_load(GST_PLUGIN_FEATURE(factory.get())) : nullptr);
  if (!loaded)
    return sources;
  for (const std::string &path : list_drm_nodes(DrmNodeType::Render)) {
    const Source source{.kind = SourceKind::Va,
                        .name = "va:" + node_name(path),
                        .device = path,
                        .driver = driver_of_node(path),
                        .description = "video processor"};
    sources.push_back(ask_in_time(source));
  }
  return sources;
}

} // namespace gstdrm
