// SPDX-License-Identifier: LGPL-2.1-or-later
// How vadmabufsrc and downstream agree: format, modifier, device, pool.
#include <algorithm>
#include <utility>

#include <gst/drm/element/failed_negotiation.hpp>
#include <gst/drm/gstdrmbufferpool.h>

#include "gstvadmabufallocator.hpp"
#include "gstvadmabufpool.hpp"
#include "gstvadmabufsrc-source.hpp"
#include "gstvafailures.hpp"

#define GST_CAT_DEFAULT gst_va_dmabuf_src_debug

namespace gstdrm::va {
void Source::post_nothing_common(const GstCaps *own)
{
  const Display &display = *device()->display;
  const Mismatch mismatch = describe_mismatch(
      {display.node() + " (" + display.vendor() + ") and downstream have no format in common.",
       {"The device", "makes", own},
       restrictions_after(GST_BASE_SRC_PAD(element_))},
      [](const GstCaps *, const GstCaps *) {
        return "Put an element between them that converts, such as vadmabufconvert, or choose "
               "another "
               "device.";
      });
  post_mismatch(GST_ELEMENT(element_), mismatch);
}

// Prepares the pattern for these caps and draws it once, at their size. ErrorCode::Layout: no other
// format will do.
Result<void> Source::prepare(const Device &device, GstCaps *caps)
{
  g_autoptr(GError) error = nullptr;
  prepared_ = {};
  gst_drm_video_info_init(&prepared_.info);
  if (!gst_drm_video_info_from_caps_full(&prepared_.info, caps, &error))
    return Error{ErrorCode::Layout, error->message};
  const auto wanted = copy_properties();
  resolve_implicit(prepared_.info, wanted.implicit_modifier);
  auto frames = FrameSource::create(GST_ELEMENT(element_), device, prepared_.info, wanted.pattern,
                                    wanted.argb, stats, *worker_);
  if (!frames)
    return frames.error();
  if (auto drawn = (*frames)->try_draw(device, prepared_.info); !drawn)
    return Error{ErrorCode::Allocation, drawn.error().message, drawn.error().sys_errno};
  prepared_.frames = std::move(frames).value();
  prepared_.pattern = wanted.pattern;
  prepared_.argb = wanted.argb;
  prepared_.caps = GstPtr<GstCaps>::share(caps);
  return {};
}

bool Source::negotiate()
{
  const auto device = this->device();
  const ImplicitModifier implicit_modifier = copy_properties().implicit_modifier;
  FormatSet refused_pairs;
  bool drawn_alone = false; // what the patterns do not have is left out of what is agreed on
  Error refused{ErrorCode::Unsupported, {}}; // of the first pair that was agreed on and not drawn
  while (true) {
    learner_.learn(GST_ELEMENT(element_), GST_BASE_SRC_PAD(element_), *device, {}, refused_pairs);
    const auto formats = producer_formats(
        FormatSet::subtract(learner_.known(*device), refused_pairs), implicit_modifier);
    auto own = device_caps(device->capabilities, formats);
    if (drawn_alone)
      own = drawn_caps(own.get());
    const auto agreement = producer_.agree(GST_BASE_SRC_PAD(element_), own.get(), formats,
                                           allocator_.get(), implicit_modifier);
    if (agreement.outcome == Producer::Outcome::Agreed) {
      const auto current =
          GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(GST_BASE_SRC_PAD(element_)));
      if (frames_ && current && gst_caps_is_equal(current.get(), agreement.caps.get()))
        return true;
      auto prepared = prepare(*device, agreement.caps.get());
      if (prepared)
        return gst_base_src_set_caps(element_, agreement.caps.get()) != FALSE;
      GST_DEBUG_OBJECT(element_, "%" GST_PTR_FORMAT " is not drawn: %s", agreement.caps.get(),
                       prepared.error().message.c_str());
      if (refused.message.empty())
        refused = prepared.error();
      const Format pair{prepared_.info.drm_fourcc, prepared_.info.drm_modifier};
      producer_.forget();
      if (prepared.error().code == ErrorCode::Layout && !drawn_alone) {
        drawn_alone = true; // where downstream has alternatives
        continue;
      }
      // A pattern that does not fit the size fits it in no format.
      const bool hopeless = prepared.error().code == ErrorCode::Layout || !formats.contains(pair);
      refused_pairs.add(pair);
      if (!hopeless)
        continue;
    }
    if (!refused.message.empty())
      post("The pattern cannot be prepared", refused);
    else if (agreement.outcome == Producer::Outcome::NothingInCommon)
      post_nothing_common(own.get());
    else
      post_not_allocated(GST_ELEMENT(element_), *device->display, agreement.refusals,
                         agreement.common.get());
    return false;
  }
}

bool Source::set_caps(GstCaps *caps)
{
  if (!prepared_.frames || !gst_caps_is_equal(caps, prepared_.caps.get())) {
    if (auto prepared = prepare(*device(), caps); !prepared) {
      post("The pattern cannot be prepared", prepared.error());
      return false;
    }
  }
  auto prepared = std::exchange(prepared_, {});
  if (prepared.frames->uses_cpu() && copy_properties().zero_copy == ZeroCopy::Require) {
    const Display &display = *device()->display;
    Failure failure({GST_CORE_ERROR, GST_CORE_ERROR_NEGOTIATION},
                    std::string(GST_OBJECT_NAME(element_)) +
                        " may not let the CPU write frames (zero-copy=require)",
                    Error{ErrorCode::Unsupported,
                          display.node() + " (" + display.vendor() + ") has no video processing",
                          0});
    failure.advise("Use zero-copy=prefer, or another device.");
    failure.add_property("zero-copy", "require").add("device", display.node()).add("caps", caps);
    post_failure(GST_ELEMENT(element_), failure);
    return false;
  }
  const int rate_n = GST_VIDEO_INFO_FPS_N(&prepared.info.vinfo);
  const int rate_d = GST_VIDEO_INFO_FPS_D(&prepared.info.vinfo);
  if (const auto sought = std::exchange(sought_, std::nullopt))
    go_to(*sought, rate_n, rate_d);
  else // timestamps continue from the first frame of the new caps
    timeline_ = {next_frame_, timeline_.at(next_frame_), rate_n, rate_d};
  info_ = prepared.info;
  frames_ = std::move(prepared.frames);
  drawn_pattern_ = prepared.pattern;
  drawn_argb_ = prepared.argb;
  // The latency is one frame, and only now it is known how long that is.
  if (gst_base_src_is_live(element_))
    gst_element_post_message(GST_ELEMENT(element_), gst_message_new_latency(GST_OBJECT(element_)));
  return true;
}

Result<GstPtr<GstBufferPool>> Source::pool_for(GstQuery *query, GstCaps *caps)
{
  const auto settings = copy_properties();
  const auto wanted =
      surfaces_for(std::max(settings.num_surfaces, frames_kept(query, needs_) + 1), needs_);
  auto pool = GstPtr<GstBufferPool>::adopt(gst_base_src_get_buffer_pool(element_));
  const bool with_meta =
      gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr) ||
      gst_caps_features_contains(gst_caps_get_features(caps, 0), "memory:DMABuf");
  // A pool that is larger than what is asked for now will do, unless a consumer wants no larger
  // one.
  if (pool && made_for_.caps && gst_caps_is_equal(caps, made_for_.caps.get()) &&
      made_for_.wanted >= wanted && surfaces_for(made_for_.wanted, needs_) == made_for_.wanted &&
      made_for_.with_meta == with_meta)
    return pool;
  if (frames_)
    frames_->drop_ahead();
  auto made =
      make_largest_pool(GST_ELEMENT(element_), allocator_.get(),
                        resolved_caps(caps, settings.implicit_modifier).get(), wanted, with_meta);
  made_for_ = made ? PoolRequest{GstPtr<GstCaps>::share(caps), wanted, with_meta} : PoolRequest{};
  return made;
}

bool Source::decide_allocation(GstQuery *query)
{
  compare_devices(GST_ELEMENT(element_), *device()->display, query, warned_of_device_);
  GstCaps *caps = nullptr;
  gst_query_parse_allocation(query, &caps, nullptr);
  Needs own;
  own.device = device()->display->node();
  own.buffers_held = 1; // the one that is drawn
  own.most_buffers = kMostKept + 1;
  (frames_ && frames_->uses_cpu() ? own.cpu_access : own.permissions) = GST_DRM_ACCESS_WRITE;
  if (!agree_on_needs(
          GST_ELEMENT(element_), query, info_, own, [] { return true; }, needs_))
    return false;
  const auto made = pool_for(query, caps);
  if (!made) {
    post_no_pool(GST_ELEMENT(element_), allocator_.get(), *device()->display, info_, caps,
                 made.error());
    return false;
  }
  const auto &pool = *made;
  if (const Unmet unmet = unmet_by(pool.get(), needs_, info_, *device()->display)) {
    post_unmet(GST_ELEMENT(element_), unmet, caps, device()->display->node());
    return false;
  }
  GstStructure *config = gst_buffer_pool_get_config(pool.get());
  guint size = 0;
  guint surfaces = 0;
  gst_buffer_pool_config_get_params(config, nullptr, &size, nullptr, &surfaces);
  gst_structure_free(config);
  if (gst_query_get_n_allocation_pools(query) > 0)
    gst_query_set_nth_allocation_pool(query, 0, pool.get(), size, 0, surfaces);
  else
    gst_query_add_allocation_pool(query, pool.get(), size, 0, surfaces);
  return true;
}

} // namespace gstdrm::va
