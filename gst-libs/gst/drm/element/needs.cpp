// SPDX-License-Identifier: LGPL-2.1-or-later
#include "needs.hpp"

#include <memory>
#include <utility>

#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmformat.h>

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
  return made;
}

void state_frame(GstDrmConstraints *constraints, const GstDrmVideoInfo &info)
{
  GstDrmFormatSet *formats = gst_drm_format_set_new();
  gst_drm_format_set_add(formats, info.drm_fourcc, info.drm_modifier);
  gst_drm_constraints_set_formats(constraints, formats);
  gst_drm_format_set_unref(formats);
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

// The first of those whose value is the agreed one.
std::string who_asks(const GPtrArray *all, GstDrmConstraintKey key, guint value)
{
  for (guint i = 0; i < all->len; ++i) {
    const auto *constraints = static_cast<const GstDrmConstraints *>(all->pdata[i]);
    if (number_of(constraints, key) == value)
      return gst_drm_constraints_get_name(constraints);
  }
  return {};
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
  const Owned<GPtrArray> all(gst_query_get_drm_constraints(query));
  if (all->len == 0)
    return true;
  auto mine = constraints_of(element, own);
  state_frame(mine.get(), info);
  g_ptr_array_add(all.get(), mine.release());
  GstDrmConflict *made = nullptr;
  const Owned<GstDrmConstraints> done(gst_drm_constraints_reconcile(all.get(), &made));
  const Owned<GstDrmConflict> conflict(made);
  if (!done) {
    if (conflict && claim())
      post_conflict(element, conflict.get());
    return false;
  }
  agreed.stride_align = number_of(done.get(), GST_DRM_CONSTRAINT_STRIDE_ALIGN);
  if (agreed.stride_align > 1)
    agreed.asked_by = who_asks(all.get(), GST_DRM_CONSTRAINT_STRIDE_ALIGN, agreed.stride_align);
  agreed.buffers_held = number_of(done.get(), GST_DRM_CONSTRAINT_BUFFERS_HELD);
  agreed.least_size =
      static_cast<guint>(MIN(gst_drm_constraints_get_size(done.get()), guint64{G_MAXUINT}));
  return true;
}

std::string unmet_need(const AgreedNeeds &agreed, GstBuffer *frame, const std::string &maker)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta(frame);
  if (!meta || agreed.stride_align <= 1)
    return {};
  for (guint i = 0; i < meta->n_planes; ++i)
    if (meta->stride[i] % static_cast<gint>(agreed.stride_align) != 0)
      return maker + " makes plane " + std::to_string(i) + " with a stride of " +
             std::to_string(meta->stride[i]) + " bytes, and " + agreed.asked_by +
             " asks for a multiple of " + std::to_string(agreed.stride_align);
  return {};
}

} // namespace gstdrm
