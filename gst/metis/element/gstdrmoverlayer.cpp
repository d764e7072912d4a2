// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdrmoverlayer.hpp"

#include <drm_fourcc.h>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/drm.h>
#include <gst/drm/element/chain.hpp>
#include <gst/drm/element/frame_import.hpp>
#include <gst/drm/element/mappable_frame.hpp>
#include <gst/drm/element/needs.hpp>
#include <gst/drm/gstdrmcaps-words.hpp>

#include "gstdrmwritable.hpp"

GST_DEBUG_CATEGORY_EXTERN(gst_drm_overlay_debug);
#define GST_CAT_DEFAULT gst_drm_overlay_debug

namespace gstdrm {

namespace {

// A composition that another element attached stays below.
void attach(GstBuffer *buffer, GstVideoOverlayComposition *composition)
{
  GstVideoOverlayCompositionMeta *there = gst_buffer_get_video_overlay_composition_meta(buffer);
  if (!there) {
    gst_buffer_add_video_overlay_composition_meta(buffer, composition);
    return;
  }
  const Composition joined(gst_video_overlay_composition_copy(there->overlay));
  for (guint i = 0; i < gst_video_overlay_composition_n_rectangles(composition); i++)
    gst_video_overlay_composition_add_rectangle(
        joined.get(), gst_video_overlay_composition_get_rectangle(composition, i));
  gst_buffer_remove_meta(buffer, &there->meta);
  gst_buffer_add_video_overlay_composition_meta(buffer, joined.get());
}

// Metas of the memory, as layout and fences, stay with the memory.
gboolean copy_meta(GstBuffer *from, GstMeta **meta, gpointer to) noexcept
{
  const GstMetaInfo *info = (*meta)->info;
  const bool of_memory =
      gst_meta_api_type_has_tag(info->api, g_quark_from_static_string(GST_META_TAG_MEMORY_STR)) ||
      gst_meta_api_type_has_tag(info->api,
                                g_quark_from_static_string(GST_META_TAG_MEMORY_REFERENCE_STR));
  if (!of_memory && info->transform_func) {
    GstMetaTransformCopy whole{FALSE, 0, static_cast<gsize>(-1)};
    info->transform_func(static_cast<GstBuffer *>(to), *meta, from, _gst_meta_transform_copy,
                         &whole);
  }
  return TRUE;
}

bool is_all_dmabuf(GstBuffer *buffer)
{
  for (guint i = 0; i < gst_buffer_n_memory(buffer); i++)
    if (!gst_is_fd_memory(gst_buffer_peek_memory(buffer, i)))
      return false;
  return gst_buffer_n_memory(buffer) > 0;
}

bool composes(GstQuery *answered)
{
  return gst_query_find_allocation_meta(answered, GST_VIDEO_OVERLAY_COMPOSITION_META_API_TYPE,
                                        nullptr) != FALSE;
}

} // namespace

GstStructure *Overlayer::stats() const
{
  GstStructure *stats = stats_.to_structure();
  gst_structure_set(stats, "objects", G_TYPE_UINT64, objects_.load(), "compositions", G_TYPE_UINT64,
                    compositions_.load(), "drawn", G_TYPE_UINT64, drawn_.load(), nullptr);
  return stats;
}

GstFlowReturn Overlayer::fail(const Error &error)
{
  const std::string sender = peer_name(element_->sinkpad);
  Failure failure(std::string(GST_OBJECT_NAME(element_)) + " cannot draw on a frame of " + sender,
                  error);
  failure_.post(GST_ELEMENT(element_), failure.add("sender", sender).add("caps", caps_.get()));
  return GST_FLOW_ERROR;
}

void Overlayer::start()
{
  stats_.reset();
  objects_ = compositions_ = drawn_ = 0;
  failure_.reset();
  caps.start();
  ask_ = true;
  waits.clear();
}

void Overlayer::stop()
{
  scene_.forget();
  copier_.set_caps(nullptr);
  caps_.reset();
}

bool Overlayer::set_caps(GstCaps *new_caps, GstCaps *)
{
  scene_.forget();
  copier_.set_caps(new_caps);
  ask_ = true;
  caps_ = GstPtr<GstCaps>::share(new_caps);
  const GstCapsFeatures *features = gst_caps_get_features(new_caps, 0);
  is_dmabuf_ = gst_caps_features_contains(features, GST_CAPS_FEATURE_MEMORY_DMABUF);
  GError *error = nullptr;
  if (gst_drm_video_info_from_caps_full(&info_, new_caps, &error)) {
    resolve_implicit(info_, implicit_modifier);
    return true;
  }
  // memory of another kind: not for the CPU, but a composition needs the size alone
  info_ = {};
  info_.drm_modifier = DRM_FORMAT_MOD_INVALID;
  if (gst_video_info_from_caps(&info_.vinfo, new_caps)) {
    g_clear_error(&error);
    return true;
  }
  caps.post(Failure({}, take_error(error)).add("caps", new_caps));
  return false;
}

bool Overlayer::takes_composition()
{
  if (!ask_.exchange(false))
    return takes_composition_;
  const auto query = GstPtr<GstQuery>::adopt(gst_query_new_allocation(caps_.get(), FALSE));
  takes_composition_ = gst_pad_peer_query(element_->srcpad, query.get()) && composes(query.get());
  GST_INFO_OBJECT(element_, "downstream %s", takes_composition_ ? "composes" : "does not compose");
  return takes_composition_;
}

void Overlayer::state_needs(GstQuery *answered) const
{
  GstCaps *asked = nullptr;
  gst_query_parse_allocation(answered, &asked, nullptr);
  GstDrmVideoInfo info;
  // no pixel of the frame is touched
  if (composes(answered) || !asked || !gst_caps_is_fixed(asked) ||
      !gst_drm_video_info_from_caps(&info, asked))
    return;
  resolve_implicit(info, implicit_modifier);
  if (info.drm_modifier != DRM_FORMAT_MOD_LINEAR)
    return;
  Needs needs;
  needs.cpu_access = GST_DRM_ACCESS_READ; // for the copy
  add_needs(GST_ELEMENT(element_), answered, needs);
}

bool Overlayer::is_blendable() const
{
  const GstVideoFormat format = GST_VIDEO_INFO_FORMAT(&info_.vinfo);
  return info_.drm_modifier == DRM_FORMAT_MOD_LINEAR && format != GST_VIDEO_FORMAT_UNKNOWN &&
         format != GST_VIDEO_FORMAT_ENCODED;
}

GstFlowReturn Overlayer::process(GstPtr<GstBuffer> &buffer)
{
  stats_.frames++;
  if (!caps_)
    return GST_FLOW_NOT_NEGOTIATED;
  std::vector<Marked> objects = marked_objects(buffer.get(), info_.vinfo, labels);
  if (objects.empty())
    return GST_FLOW_OK;
  objects_ += objects.size();
  GstVideoOverlayComposition *composition = scene_.draw(std::move(objects), info_.vinfo);
  drawn_ = scene_.drawn();
  if (!takes_composition())
    return blend(buffer, composition);
  if (const Result<void> made = make_writable(buffer); !made)
    return fail(made.error());
  attach(buffer.get(), composition);
  compositions_++;
  return GST_FLOW_OK;
}

GstFlowReturn Overlayer::blend(GstPtr<GstBuffer> &buffer, GstVideoOverlayComposition *composition)
{
  if (!is_blendable())
    return fail(
        {ErrorCode::Unsupported,
         "There is no way to draw on " + describe_caps(caps_.get()) +
             ": downstream shows no GstVideoOverlayComposition, and the CPU draws on linear "
             "frames alone. Ask upstream for a linear format with a capsfilter.",
         0});
  auto drawn = copy(buffer.get());
  if (!drawn)
    return fail(drawn.error());
  if (!*drawn)
    return GST_FLOW_FLUSHING;
  GstVideoFrame frame;
  if (!gst_video_frame_map(&frame, &info_.vinfo, drawn->get(), GST_MAP_READWRITE))
    return fail({ErrorCode::Import, "The CPU cannot map the copy of a frame for drawing.", 0});
  const bool blended = gst_video_overlay_composition_blend(composition, &frame);
  gst_video_frame_unmap(&frame);
  if (!blended)
    return fail({ErrorCode::Unsupported,
                 std::string("GStreamer blends no overlay on ") +
                     GST_VIDEO_INFO_NAME(&info_.vinfo) + " frames.",
                 0});
  buffer = std::move(*drawn);
  return GST_FLOW_OK;
}

void Overlayer::count_copy()
{
  stats_.count_copy(GST_ELEMENT(element_), info_.vinfo.size,
                    "downstream shows no GstVideoOverlayComposition");
}

// Empty where the wait for the frame was ended.
Result<GstPtr<GstBuffer>> Overlayer::copy(GstBuffer *input)
{
  if (zero_copy == ZeroCopy::Require)
    return Error{ErrorCode::Unsupported,
                 "zero-copy=require forbids to copy the frame that boxes are drawn on, and "
                 "downstream shows no GstVideoOverlayComposition. Set zero-copy=prefer, or use a "
                 "sink that shows overlays.",
                 0};
  const Result<Waited> ready = wait_for_device(GST_ELEMENT(element_), input, stats_, waits);
  if (!ready)
    return ready.error();
  if (*ready == Waited::Interrupted)
    return GstPtr<GstBuffer>();
  if (!is_dmabuf_ && !is_all_dmabuf(input)) {
    if (const auto checked = check_mappable_frame(input, info_.vinfo); !checked)
      return checked.error();
    count_copy();
    return GstPtr<GstBuffer>::adopt(gst_buffer_copy_deep(input));
  }
  // The layout comes from another element: it is checked before a pixel is touched.
  if (const auto layout = frame_layout_of(input, info_); !layout)
    return layout.error();
  auto made = copier_.copy(input, info_.vinfo);
  if (!made)
    return made.error();
  count_copy();
  gst_buffer_copy_into(
      made->get(), input,
      static_cast<GstBufferCopyFlags>(GST_BUFFER_COPY_FLAGS | GST_BUFFER_COPY_TIMESTAMPS), 0,
      static_cast<gsize>(-1));
  gst_buffer_foreach_meta(input, copy_meta, made->get());
  return made;
}

} // namespace gstdrm
