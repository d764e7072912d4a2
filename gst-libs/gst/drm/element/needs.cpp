// SPDX-License-Identifier: LGPL-2.1-or-later
#include "needs.hpp"

#include <memory>
#include <utility>

#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmallocation.h>
#include <gst/drm/gstdrmdifference.hpp>
#include <gst/video/video.h>

#include "format_sets.hpp"

namespace gstdrm {

namespace {

struct Freed {
  void operator()(GstDrmConstraints *constraints) const { gst_drm_constraints_free(constraints); }
  void operator()(GstDrmConflict *conflict) const { gst_drm_conflict_free(conflict); }
  void operator()(GPtrArray *array) const { g_ptr_array_unref(array); }
};
template <typename T> using Owned = std::unique_ptr<T, Freed>;

std::string name_of(GstObject *object)
{
  const g_autofree gchar *name = gst_object_get_name(object);
  return name ? name : "";
}

// "bin0/sink (kmsdmabufsink)": elements in two bins may have one name, and would count as one
// consumer by it. The bin that has all others is left out.
std::string label(GstElement *element)
{
  std::string path = name_of(GST_OBJECT(element));
  auto parent = GstPtr<GstObject>::adopt(gst_object_get_parent(GST_OBJECT(element)));
  while (parent) {
    auto above = GstPtr<GstObject>::adopt(gst_object_get_parent(parent.get()));
    if (above)
      path.insert(0, name_of(parent.get()) + "/");
    parent = std::move(above);
  }
  GstElementFactory *factory = gst_element_get_factory(element);
  return path + (factory ? " (" + name_of(GST_OBJECT(factory)) + ")" : "");
}

Owned<GstDrmConstraints> constraints_of(GstElement *element, const Needs &needs)
{
  Owned<GstDrmConstraints> made(
      gst_drm_constraints_new(label(element).c_str(), needs.device.c_str()));
  const auto state = [&](GstDrmConstraintKey key, guint value) {
    if (made && value != 0)
      gst_drm_constraints_set_number(made.get(), key, value);
  };
  state(GST_DRM_CONSTRAINT_STRIDE_ALIGN, needs.stride_align);
  state(GST_DRM_CONSTRAINT_BUFFERS_HELD, needs.buffers_held);
  state(GST_DRM_CONSTRAINT_CPU_ACCESS, needs.cpu_access);
  state(GST_DRM_CONSTRAINT_PERMISSIONS, needs.permissions);
  const auto state_range = [&](GstDrmConstraintKey key, const PixelRange &range) {
    if (made && range.most != 0)
      gst_drm_constraints_set_range(made.get(), key, range.least, range.most);
  };
  state_range(GST_DRM_CONSTRAINT_WIDTH, needs.width);
  state_range(GST_DRM_CONSTRAINT_HEIGHT, needs.height);
  return made;
}

void state_frame(GstDrmConstraints *constraints, const GstDrmVideoInfo &info)
{
  const FormatSetPtr formats =
      to_public(FormatSet::from_pairs({{info.drm_fourcc, info.drm_modifier}}));
  gst_drm_constraints_set_formats(constraints, formats.get());
  gst_drm_constraints_set_number(constraints, GST_DRM_CONSTRAINT_WIDTH,
                                 static_cast<guint64>(info.vinfo.width));
  gst_drm_constraints_set_number(constraints, GST_DRM_CONSTRAINT_HEIGHT,
                                 static_cast<guint64>(info.vinfo.height));
}

void post_conflict(GstElement *element, const GstDrmConflict *conflict)
{
  const g_autofree gchar *conflict_text = gst_drm_conflict_to_string(conflict);
  const std::string text = name_of(GST_OBJECT(element)) +
                           " cannot allocate what its consumers ask for. " + conflict_text;
  post_with_details(element, {GST_CORE_ERROR, GST_CORE_ERROR_NEGOTIATION},
                    Error{ErrorCode::Conflict, text, 0}, gst_drm_conflict_to_structure(conflict),
                    gst_drm_conflict_to_json(conflict));
}

guint number_of(const GstDrmConstraints *constraints, GstDrmConstraintKey key)
{
  guint64 value = 0;
  return gst_drm_constraints_get_range(constraints, key, &value, nullptr)
             ? static_cast<guint>(value)
             : 0;
}

// The end of a range; 0 where there is none.
guint end_of(const GstDrmConstraints *constraints, GstDrmConstraintKey key)
{
  guint64 value = 0;
  return gst_drm_constraints_get_range(constraints, key, nullptr, &value) && value < G_MAXUINT
             ? static_cast<guint>(value)
             : 0;
}

// What a producer can do, so that more is a conflict with its name.
void state_limits(GstDrmConstraints *mine, const Needs &own)
{
  // a GstBufferPool counts the bytes of a buffer in a guint
  gst_drm_constraints_set_range(mine, GST_DRM_CONSTRAINT_SIZE, 1, G_MAXUINT);
  if (own.most_buffers > 0)
    gst_drm_constraints_set_range(mine, GST_DRM_CONSTRAINT_BUFFERS, 1, own.most_buffers);
}

AgreedNeeds agreed_of(const GstDrmConstraints *done, const Needs &own)
{
  AgreedNeeds agreed;
  agreed.stride_align = number_of(done, GST_DRM_CONSTRAINT_STRIDE_ALIGN);
  agreed.buffers_held = number_of(done, GST_DRM_CONSTRAINT_BUFFERS_HELD) - own.buffers_held;
  agreed.fewest_buffers = number_of(done, GST_DRM_CONSTRAINT_BUFFERS);
  agreed.most_buffers = end_of(done, GST_DRM_CONSTRAINT_BUFFERS);
  agreed.cpu_access = number_of(done, GST_DRM_CONSTRAINT_CPU_ACCESS);
  return agreed;
}

} // namespace

void add_needs(GstElement *element, GstQuery *query, const Needs &needs)
{
  if (const auto made = constraints_of(element, needs))
    gst_query_add_drm_constraints(query, made.get());
}

bool agree_on_needs(GstElement *element, GstQuery *query, const GstDrmVideoInfo &info,
                    const Needs &own, const std::function<bool()> &claim, AgreedNeeds &agreed)
{
  agreed = {};
  agreed.device = own.device;
  Owned<GPtrArray> all(gst_query_get_drm_constraints(query));
  if (!all || all->len == 0)
    return true;
  auto mine = constraints_of(element, own);
  if (!mine)
    return false; // memory is exhausted
  state_frame(mine.get(), info);
  state_limits(mine.get(), own);
  g_ptr_array_add(all.get(), mine.release());
  GstDrmConflict *made = nullptr;
  Owned<GstDrmConstraints> done(gst_drm_constraints_reconcile(all.get(), &made));
  const Owned<GstDrmConflict> conflict(made);
  if (!done) {
    if (conflict && claim())
      post_conflict(element, conflict.get());
    return false;
  }
  g_ptr_array_set_size(all.get(), static_cast<gint>(all->len) - 1); // without the producer's
  agreed = agreed_of(done.get(), own);
  agreed.device = own.device;
  agreed.constraints = std::move(done);
  agreed.asked = std::shared_ptr<GPtrArray>(all.release(), g_ptr_array_unref);
  return true;
}

// --- what was made -------------------------------------------------------------------------------

// Whether a frame that was made is as each consumer asks.

namespace {

const GstDrmConstraints *nth(const AgreedNeeds &agreed, guint index)
{
  return static_cast<const GstDrmConstraints *>(g_ptr_array_index(agreed.asked.get(), index));
}

std::string name_of(const GstDrmConstraints *asked)
{
  return gst_drm_constraints_get_name(asked);
}

} // namespace

Unmet unmet_memory(const AgreedNeeds &agreed, GstAllocator *allocator, const std::string &maker)
{
  for (guint i = 0; agreed.asked && i < agreed.asked->len; ++i) {
    const GstDrmConstraints *asked = nth(agreed, i);
    if (const Difference found = memory_difference(asked, allocator, agreed.device))
      return {describe(found, maker, asked), name_of(asked)};
  }
  return {};
}

Unmet unmet_need(const AgreedNeeds &agreed, const GstDrmVideoInfo &info, GstBuffer *frame,
                 const std::string &maker)
{
  if (!agreed.asked || gst_buffer_n_memory(frame) == 0)
    return {};
  for (guint i = 0; i < agreed.asked->len; ++i) {
    const GstDrmConstraints *asked = nth(agreed, i);
    if (const Difference found = layout_difference(asked, frame, &info))
      return {describe(found, maker, asked), name_of(asked)};
  }
  return unmet_memory(agreed, gst_buffer_peek_memory(frame, 0)->allocator, maker);
}

void post_unmet(GstElement *element, const Unmet &unmet, const GstCaps *caps,
                const std::string &device)
{
  const g_autofree gchar *name = gst_object_get_name(GST_OBJECT(element));
  Failure failure({GST_CORE_ERROR, GST_CORE_ERROR_NEGOTIATION},
                  std::string(name ? name : "") + " makes no frames as its consumers ask for them",
                  Error{ErrorCode::Conflict, unmet.why, 0});
  failure.advise("Choose another width or format, or put an element between that copies into "
                 "buffers which both accept, such as dmabufdownload ! dmabufupload.");
  failure.add("device", device).add("receiver", unmet.asked_by).add("caps", caps);
  post_failure(element, failure);
}

GstPtr<GstDrmAllocator> open_agreed_allocator(const AgreedNeeds &agreed, GError **error)
{
  const GstDrmConstraints *constraints = agreed.constraints.get();
  return GstPtr<GstDrmAllocator>::adopt(
      constraints ? gst_drm_allocator_new_for_constraints(constraints, error)
                  : gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_AUTO, nullptr, error));
}

} // namespace gstdrm
