// SPDX-License-Identifier: LGPL-2.1-or-later
#include "chain.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include <gst/base/gstbasetransform.h>
#include <gst/drm/gstdrm-guard-private.hpp>
#include <gst/drm/gstdrmcaps-strings.hpp>
#include <gst/video/gstvideofilter.h>
#include <gst/video/gstvideometa.h>

#include "caps_features.hpp"

namespace gstdrm {

namespace {

// Elements of GStreamer that pass buffers and caps on as they are; a capsfilter limits the caps.
constexpr std::array kTransparent = {
    "capsfilter", "clocksync",       "concat",         "funnel", "identity", "input-selector",
    "multiqueue", "output-selector", "progressreport", "queue",  "queue2",   "streamsynchronizer",
    "tee",        "valve",           "watchdog"};

// Those of them through which a buffer goes at once.
constexpr std::array kKeepNothing = {"capsfilter", "identity", "progressreport", "valve",
                                     "watchdog"};

// Those of this set that send what comes, and know DMA_DRM.
constexpr std::array kInPlace = {"drmoverlay", "drmtensordecode", "metisdmabufinfer"};

constexpr std::size_t kMostElements = 64; // looked at: a graph with a loop ends here

constexpr const char *kReason = "gst-drm-reason"; // a field of CAPS queries

const char *factory_name(GstElement *element)
{
  GstElementFactory *factory = gst_element_get_factory(element);
  return factory ? GST_OBJECT_NAME(factory) : "";
}

std::string describe(GstElement *element)
{
  const char *factory = factory_name(element);
  g_autofree gchar *name = gst_object_get_name(GST_OBJECT(element));
  return *factory ? std::string(name) + " (" + factory + ")" : std::string(name);
}

GstPtr<GstElement> element_of(const GstPtr<GstPad> &pad)
{
  return GstPtr<GstElement>::adopt(pad ? gst_pad_get_parent_element(pad.get()) : nullptr);
}

template <std::size_t N>
bool is_one_of(GstElement *element, const std::array<const char *, N> &names)
{
  return std::any_of(names.begin(), names.end(), [element](const char *name) {
    return std::strcmp(name, factory_name(element)) == 0;
  });
}

bool is_transparent(GstElement *element)
{
  return is_one_of(element, kTransparent);
}

// The caps of a capsfilter; none where it lets everything through, and for other elements.
GstPtr<GstCaps> filter_caps(GstElement *element)
{
  GstCaps *caps = nullptr;
  if (std::strcmp(factory_name(element), "capsfilter") == 0)
    g_object_get(element, "caps", &caps, nullptr);
  auto owned = GstPtr<GstCaps>::adopt(caps);
  return owned && !gst_caps_is_any(owned.get()) ? owned : GstPtr<GstCaps>();
}

std::vector<GstPtr<GstPad>> pads_of(GstElement *element, GstPadDirection direction)
{
  std::vector<GstPtr<GstPad>> pads;
  const auto collect = [](GstElement *, GstPad *pad, gpointer data) noexcept -> gboolean {
    try {
      static_cast<std::vector<GstPtr<GstPad>> *>(data)->push_back(GstPtr<GstPad>::share(pad));
      return TRUE;
    } catch (...) {
      return caught(FALSE, "pads_of");
    }
  };
  if (direction == GST_PAD_SRC)
    gst_element_foreach_src_pad(element, collect, &pads);
  else
    gst_element_foreach_sink_pad(element, collect, &pads);
  return pads;
}

GQuark explaining()
{
  static const GQuark quark = g_quark_from_static_string("gst-drm-explaining-pad");
  return quark;
}

bool is_explaining(const GstPtr<GstPad> &pad)
{
  return g_object_get_qdata(G_OBJECT(pad.get()), explaining()) != nullptr;
}

bool is_of_raw_video(const GstPtr<GstPad> &pad)
{
  const auto caps = GstPtr<GstCaps>::adopt(gst_pad_get_pad_template_caps(pad.get()));
  for (guint i = 0; !gst_caps_is_any(caps.get()) && i < gst_caps_get_size(caps.get()); i++)
    if (gst_structure_has_name(gst_caps_get_structure(caps.get(), i), "video/x-raw"))
      return true;
  return false;
}

// Whether the template names the format: elements that vendors have taught it do.
bool knows_dma_drm(const GstPtr<GstPad> &pad)
{
  const auto caps = GstPtr<GstCaps>::adopt(gst_pad_get_pad_template_caps(pad.get()));
  bool found = false;
  for (guint i = 0; !gst_caps_is_any(caps.get()) && i < gst_caps_get_size(caps.get()); i++)
    if (const GValue *format =
            gst_structure_get_value(gst_caps_get_structure(caps.get(), i), "format"))
      for_each_string(format, [&](const char *name) { found |= g_str_equal(name, "DMA_DRM"); });
  return found;
}

// Whether the element passes DMA_DRM on in caps queries, and fails when such caps come.
bool fails_on_dma_drm(GstElement *element)
{
  if (gstreamer_has_dma_drm())
    return false;
  const auto sinks = pads_of(element, GST_PAD_SINK);
  const auto sources = pads_of(element, GST_PAD_SRC);
  const bool reads_caps =
      GST_IS_VIDEO_FILTER(element) || !(is_transparent(element) || GST_IS_BASE_TRANSFORM(element));
  return reads_caps && std::any_of(sinks.begin(), sinks.end(), is_of_raw_video) &&
         std::none_of(sinks.begin(), sinks.end(), is_explaining) &&
         std::none_of(sources.begin(), sources.end(), knows_dma_drm);
}

void add_restrictions(GstPad *src, std::size_t &left, std::vector<Restriction> &found)
{
  const GstPtr<GstPad> pad = linked_pad(src);
  const GstPtr<GstElement> element = element_of(pad);
  if (!pad || left == 0)
    return;
  left--;
  if (!element || !is_transparent(element.get())) {
    const auto query = GstPtr<GstQuery>::adopt(gst_query_new_caps(nullptr));
    GstCaps *taken = nullptr;
    if (gst_pad_query(pad.get(), query.get()))
      gst_query_parse_caps_result(query.get(), &taken);
    const char *reason = gst_structure_get_string(gst_query_get_structure(query.get()), kReason);
    if (element && taken && gst_caps_is_empty(taken) && fails_on_dma_drm(element.get()))
      reason =
          "nothing that it can pass on is taken behind it. Before GStreamer 1.24 it handles no "
          "DMA_DRM: let plain video/x-raw through it";
    found.push_back({peer_name(src), "takes",
                     taken ? GstPtr<GstCaps>::share(taken)
                           : GstPtr<GstCaps>::adopt(gst_pad_query_caps(pad.get(), nullptr)),
                     false, reason ? reason : ""});
    return;
  }
  if (auto caps = filter_caps(element.get()))
    found.push_back({describe(element.get()), "allows", std::move(caps), true});
  for (const GstPtr<GstPad> &next : pads_of(element.get(), GST_PAD_SRC))
    add_restrictions(next.get(), left, found);
}

// Whether the calling thread runs the task of the pad.
bool runs_task_of(GstPad *pad)
{
  GST_OBJECT_LOCK(pad);
  const auto task = GstPtr<GstTask>::share(GST_PAD_TASK(pad));
  GST_OBJECT_UNLOCK(pad);
  if (!task)
    return false;
  GST_OBJECT_LOCK(task.get());
  const bool runs = task->thread == g_thread_self();
  GST_OBJECT_UNLOCK(task.get());
  return runs;
}

// A task belongs to a source pad, or to the sink pad of an element that pulls.
bool runs_task_before(GstPad *sink, std::size_t &left)
{
  const GstPtr<GstPad> pad = linked_pad(sink);
  const GstPtr<GstElement> element = element_of(pad);
  if (!pad || left == 0)
    return false;
  left--;
  if (runs_task_of(pad.get()))
    return true;
  if (!element)
    return false;
  const auto sinks = pads_of(element.get(), GST_PAD_SINK);
  return std::any_of(sinks.begin(), sinks.end(), [&](const GstPtr<GstPad> &next) {
    return runs_task_of(next.get()) || runs_task_before(next.get(), left);
  });
}

// An element upstream.
struct Upstream {
  const GstPtr<GstPad> &src; // on the way
  GstElement *element;
  const std::vector<GstPtr<GstPad>> &sinks;
};

// Asks `answer` about each element upstream, the nearest first, until it has a value. False if the
// way ends, or goes on through several pads.
template <typename Answer> bool find_upstream(GstPad *sink, Answer answer)
{
  GstPtr<GstPad> here = GstPtr<GstPad>::share(sink);
  for (std::size_t left = kMostElements; left > 0; left--) {
    const GstPtr<GstPad> pad = linked_pad(here.get());
    const GstPtr<GstElement> element = element_of(pad);
    if (!element)
      return false;
    const auto sinks = pads_of(element.get(), GST_PAD_SINK);
    if (const std::optional<bool> found = answer(Upstream{pad, element.get(), sinks}))
      return *found;
    if (sinks.size() != 1)
      return false;
    here = sinks.front();
  }
  return false;
}

// Whether an element passes on what it is asked about and what it gets, with no say in DMA_DRM.
bool passes_dma_drm(GstElement *element, const GstPtr<GstPad> &src)
{
  return (is_transparent(element) || GST_IS_BASE_TRANSFORM(element)) && !knows_dma_drm(src);
}

bool leads_through_filter(GstPad *src, std::size_t &left)
{
  const GstPtr<GstPad> pad = linked_pad(src);
  const GstPtr<GstElement> element = element_of(pad);
  if (!element || left == 0 || knows_dma_drm(pad))
    return false;
  left--;
  if (fails_on_dma_drm(element.get()))
    return true;
  const auto sources = pads_of(element.get(), GST_PAD_SRC);
  return !is_explaining(pad) &&
         std::any_of(sources.begin(), sources.end(), [&](const GstPtr<GstPad> &next) {
           return passes_dma_drm(element.get(), next) && leads_through_filter(next.get(), left);
         });
}

// Whether the pad's element says in an allocation query that it reads GstVideoCropMeta. Transforms
// answer none before they have caps: vapostproc and those of this set read it.
bool reads_crop_meta(const GstPtr<GstPad> &pad, GstElement *element)
{
  const auto taken = GstPtr<GstCaps>::adopt(gst_pad_query_caps(pad.get(), nullptr));
  GstPtr<GstCaps> caps;
  for (guint i = 0; !caps && !gst_caps_is_any(taken.get()) && i < gst_caps_get_size(taken.get());
       i++)
    if (is_dma_drm(gst_caps_get_structure(taken.get(), i)))
      caps.reset(gst_caps_fixate(gst_caps_copy_nth(taken.get(), i)));
  if (!caps)
    return false;
  if (!gst_structure_has_field(gst_caps_get_structure(caps.get(), 0), "drm-format"))
    gst_caps_set_simple(caps.get(), "drm-format", G_TYPE_STRING, "NV12", nullptr);
  const auto query = GstPtr<GstQuery>::adopt(gst_query_new_allocation(caps.get(), FALSE));
  if (gst_pad_query(pad.get(), query.get()))
    return gst_query_find_allocation_meta(query.get(), GST_VIDEO_CROP_META_API_TYPE, nullptr);
  return is_explaining(pad) || std::strcmp(factory_name(element), "vapostproc") == 0;
}

// Whether what crops by a meta behind `src` is understood, on every branch. What takes ANY, such as
// appsink, does not understand it.
bool ends_in_crop_meta(GstPad *src, std::size_t &left)
{
  const GstPtr<GstPad> pad = linked_pad(src);
  const GstPtr<GstElement> element = element_of(pad);
  if (!element || left == 0)
    return false;
  left--;
  const bool is_in_place = is_one_of(element.get(), kInPlace);
  if (knows_dma_drm(pad) && !is_in_place)
    return reads_crop_meta(pad, element.get());
  const auto sources = pads_of(element.get(), GST_PAD_SRC);
  return !sources.empty() &&
         std::all_of(sources.begin(), sources.end(), [&](const GstPtr<GstPad> &next) {
           return (is_in_place || passes_dma_drm(element.get(), next)) &&
                  ends_in_crop_meta(next.get(), left);
         });
}

bool leads_to_refused_crop(GstPad *src, std::size_t &left)
{
  const GstPtr<GstPad> pad = linked_pad(src);
  const GstPtr<GstElement> element = element_of(pad);
  const bool is_in_place = element && is_one_of(element.get(), kInPlace);
  if (!element || left == 0 || (knows_dma_drm(pad) && !is_in_place))
    return false;
  left--;
  const bool crops = std::strcmp(factory_name(element.get()), "videocrop") == 0;
  const auto sources = pads_of(element.get(), GST_PAD_SRC);
  return std::any_of(sources.begin(), sources.end(), [&](const GstPtr<GstPad> &next) {
    return (crops && !ends_in_crop_meta(next.get(), left)) ||
           ((is_in_place || passes_dma_drm(element.get(), next)) &&
            leads_to_refused_crop(next.get(), left));
  });
}

bool flushes_after(GstPad *src, std::size_t &left)
{
  const GstPtr<GstPad> pad = linked_pad(src);
  const GstPtr<GstElement> element = element_of(pad);
  if (!pad || GST_PAD_IS_FLUSHING(pad.get()))
    return static_cast<bool>(pad);
  if (!element || left == 0)
    return false;
  left--;
  const auto sources = pads_of(element.get(), GST_PAD_SRC);
  return std::any_of(sources.begin(), sources.end(), [&](const GstPtr<GstPad> &next) {
    return GST_PAD_IS_FLUSHING(next.get()) || flushes_after(next.get(), left);
  });
}

} // namespace

GstPtr<GstPad> linked_pad(GstPad *pad)
{
  auto peer = GstPtr<GstPad>::adopt(gst_pad_get_peer(pad));
  // A ghost pad stands for a pad inside its bin, and the inner half of one for the bin's own peer.
  while (peer) {
    if (GST_IS_GHOST_PAD(peer.get())) {
      peer.reset(gst_ghost_pad_get_target(GST_GHOST_PAD(peer.get())));
    } else if (GST_IS_PROXY_PAD(peer.get())) {
      const auto outer =
          GstPtr<GstPad>::adopt(GST_PAD(gst_proxy_pad_get_internal(GST_PROXY_PAD(peer.get()))));
      peer.reset(outer ? gst_pad_get_peer(outer.get()) : nullptr);
    } else {
      break;
    }
  }
  return peer;
}

std::string peer_name(GstPad *pad)
{
  const GstPtr<GstPad> peer = linked_pad(pad);
  const GstPtr<GstElement> element = element_of(peer);
  if (element)
    return describe(element.get());
  return peer ? GST_PAD_NAME(peer.get()) : "nothing";
}

std::string origin_name(GstPad *sink)
{
  std::string filters;
  GstPtr<GstPad> here = GstPtr<GstPad>::share(sink);
  for (std::size_t left = kMostElements; left > 0; left--) {
    const GstPtr<GstElement> element = element_of(linked_pad(here.get()));
    if (!element || !is_transparent(element.get()))
      break;
    if (filter_caps(element.get()))
      filters += (filters.empty() ? ", through " : " and ") + describe(element.get());
    const std::vector<GstPtr<GstPad>> sinks = pads_of(element.get(), GST_PAD_SINK);
    if (sinks.size() != 1)
      break; // several sources: the element that joins them stands for all
    here = sinks.front();
  }
  return peer_name(here.get()) + filters;
}

std::string holder_name(GstPad *src)
{
  GstPtr<GstPad> here = GstPtr<GstPad>::share(src);
  for (std::size_t left = kMostElements; left > 0; left--) {
    const GstPtr<GstElement> element = element_of(linked_pad(here.get()));
    if (!element || !is_one_of(element.get(), kKeepNothing))
      break;
    const std::vector<GstPtr<GstPad>> sources = pads_of(element.get(), GST_PAD_SRC);
    if (sources.empty())
      break;
    here = sources.front();
  }
  return peer_name(here.get());
}

std::vector<Restriction> restrictions_after(GstPad *src)
{
  std::vector<Restriction> found;
  std::size_t left = kMostElements;
  add_restrictions(src, left, found);
  return found;
}

bool is_streaming_into(GstPad *sink)
{
  std::size_t left = kMostElements;
  return runs_task_before(sink, left);
}

void add_reason(GstQuery *query, const std::string &reason)
{
  gst_structure_set(gst_query_writable_structure(query), kReason, G_TYPE_STRING, reason.c_str(),
                    nullptr);
}

void mark_as_explaining(GstPad *pad)
{
  g_object_set_qdata(G_OBJECT(pad), explaining(), pad);
}

bool is_source_streaming_into(GstPad *sink)
{
  return find_upstream(sink, [](const Upstream &at) -> std::optional<bool> {
    if (at.sinks.empty())
      return !is_explaining(at.src) && runs_task_of(at.src.get());
    // A transform asks downstream as it is asked itself, and answers upstream by what it can make.
    const bool passes_queries = is_transparent(at.element) || GST_IS_BASE_TRANSFORM(at.element);
    if (!passes_queries || is_explaining(at.sinks.front()))
      return false;
    return std::nullopt;
  });
}

GstPtr<GstCaps> caps_of_choosing_transform(GstPad *sink)
{
  GstPtr<GstCaps> caps;
  std::vector<GstPtr<GstBaseTransform>> transforms; // the nearest first
  find_upstream(sink, [&](const Upstream &at) -> std::optional<bool> {
    if (gst_pad_has_current_caps(at.src.get()))
      return false;
    if (at.sinks.empty() || is_transparent(at.element) || !GST_IS_BASE_TRANSFORM(at.element))
      return std::nullopt;
    transforms.push_back(GstPtr<GstBaseTransform>::share(GST_BASE_TRANSFORM(at.element)));
    const auto before = GstPtr<GstPad>::adopt(gst_pad_get_peer(at.sinks.front().get()));
    caps.reset(before ? gst_pad_get_current_caps(before.get()) : nullptr);
    return caps ? std::optional(true) : std::nullopt;
  });
  for (auto at = transforms.rbegin(); caps && at != transforms.rend(); ++at)
    if (const auto convert = GST_BASE_TRANSFORM_GET_CLASS(at->get())->transform_caps)
      caps.reset(convert(at->get(), GST_PAD_SINK, caps.get(), nullptr));
  return caps;
}

bool comes_through_filter_without_dma_drm(GstPad *sink)
{
  if (gstreamer_has_dma_drm())
    return false;
  return find_upstream(sink, [](const Upstream &at) -> std::optional<bool> {
    if (fails_on_dma_drm(at.element))
      return true;
    // an element of this set answers its own queries so
    if (!passes_dma_drm(at.element, at.src) || at.sinks.empty() || is_explaining(at.sinks.front()))
      return false;
    return std::nullopt;
  });
}

bool leads_through_filter_without_dma_drm(GstPad *src)
{
  std::size_t left = kMostElements;
  return !gstreamer_has_dma_drm() && leads_through_filter(src, left);
}

bool leads_to_import_without_meta(GstPad *src)
{
  constexpr gint kDmabufImport = 5; // GST_V4L2_IO_DMABUF_IMPORT of gstv4l2object.h
  GstPtr<GstPad> here = GstPtr<GstPad>::share(src);
  for (std::size_t left = kMostElements; left > 0; left--) {
    const GstPtr<GstElement> element = element_of(linked_pad(here.get()));
    if (!element)
      return false;
    const std::vector<GstPtr<GstPad>> sources = pads_of(element.get(), GST_PAD_SRC);
    const bool passes_frames = is_transparent(element.get()) ||
                               is_one_of(element.get(), kInPlace) ||
                               std::strcmp(factory_name(element.get()), "dmabufrelabel") == 0;
    if (passes_frames && sources.size() == 1) {
      here = sources.front();
      continue;
    }
    gint io_mode = 0;
    if (std::strcmp(factory_name(element.get()), "v4l2sink") == 0)
      g_object_get(element.get(), "io-mode", &io_mode, nullptr);
    return io_mode == kDmabufImport;
  }
  return false;
}

bool leads_to_refused_crop(GstPad *src)
{
  std::size_t left = kMostElements;
  return leads_to_refused_crop(src, left);
}

bool is_flushing(GstElement *element)
{
  const auto sinks = pads_of(element, GST_PAD_SINK);
  const auto sources = pads_of(element, GST_PAD_SRC);
  const auto at_sink = [](const GstPtr<GstPad> &pad) {
    const auto peer = GstPtr<GstPad>::adopt(gst_pad_get_peer(pad.get()));
    return GST_PAD_IS_FLUSHING(pad.get()) || (peer && GST_PAD_IS_FLUSHING(peer.get()));
  };
  std::size_t left = kMostElements;
  return std::any_of(sinks.begin(), sinks.end(), at_sink) ||
         std::any_of(sources.begin(), sources.end(), [&](const GstPtr<GstPad> &pad) {
           return GST_PAD_IS_FLUSHING(pad.get()) || flushes_after(pad.get(), left);
         });
}

} // namespace gstdrm
