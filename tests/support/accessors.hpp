// SPDX-License-Identifier: LGPL-2.1-or-later
// Accessors of a buffer in a line each, and what is allocated for them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gst/drm/drm.h>

#include "check_main.hpp"

namespace gstdrm::test {

struct ConstraintsDeleter {
  void operator()(GstDrmConstraints *constraints) const { gst_drm_constraints_free(constraints); }
  void operator()(GstDrmConflict *conflict) const { gst_drm_conflict_free(conflict); }
  void operator()(GPtrArray *array) const { g_ptr_array_unref(array); }
};
using Constraints = std::unique_ptr<GstDrmConstraints, ConstraintsDeleter>;
using Buffers = std::unique_ptr<GPtrArray, ConstraintsDeleter>;

// What one accessor states, in the order of the test's row.
class Accessor {
public:
  explicit Accessor(const char *name, const char *device = nullptr) : made_(gst_drm_constraints_new(name, device)) {}
  Accessor &&set(GstDrmConstraintKey key, guint64 value) &&
  {
    fail_unless(gst_drm_constraints_set_number(made_.get(), key, value));
    return std::move(*this);
  }
  Accessor &&range(GstDrmConstraintKey key, guint64 min, guint64 max) &&
  {
    fail_unless(gst_drm_constraints_set_range(made_.get(), key, min, max));
    return std::move(*this);
  }
  Accessor &&type(GstDrmBufferType type) && { return std::move(*this).set(GST_DRM_CONSTRAINT_BUFFER_TYPE, type); }
  Accessor &&size(guint64 width, guint64 height) &&
  {
    return std::move(*this).set(GST_DRM_CONSTRAINT_WIDTH, width).set(GST_DRM_CONSTRAINT_HEIGHT, height);
  }
  Accessor &&formats(const std::vector<std::pair<guint32, guint64>> &pairs) &&
  {
    GstDrmFormatSet *set = gst_drm_format_set_new();
    for (const auto &[fourcc, modifier] : pairs)
      gst_drm_format_set_add(set, fourcc, modifier);
    gst_drm_constraints_set_formats(made_.get(), set);
    gst_drm_format_set_unref(set);
    return std::move(*this);
  }
  Accessor &&placement(GstDrmPlacement kinds, const char *heap = nullptr) &&
  {
    const gchar *const heaps[] = {heap, nullptr};
    gst_drm_constraints_set_placement(made_.get(), kinds, heap ? heaps : nullptr);
    return std::move(*this);
  }
  Accessor &&dims(const std::vector<guint64> &dims) &&
  {
    gst_drm_constraints_set_dims(made_.get(), dims.data(), static_cast<guint>(dims.size()));
    return std::move(*this);
  }
  operator Constraints() && { return std::move(made_); }

private:
  Constraints made_;
};

inline Buffers accessors(const std::vector<const GstDrmConstraints *> &all)
{
  GPtrArray *array = g_ptr_array_new();
  for (const GstDrmConstraints *one : all)
    g_ptr_array_add(array, const_cast<GstDrmConstraints *>(one));
  return Buffers(array);
}

inline Constraints agree(const std::vector<const GstDrmConstraints *> &all)
{
  GstDrmConflict *conflict = nullptr;
  Constraints agreed(gst_drm_constraints_reconcile(accessors(all).get(), &conflict));
  const std::unique_ptr<GstDrmConflict, ConstraintsDeleter> why(conflict);
  g_autofree gchar *text = why ? gst_drm_conflict_to_string(why.get()) : nullptr;
  fail_unless(agreed != nullptr, "%s", text);
  return agreed;
}

inline Buffers allocate(const GstDrmConstraints *agreed, guint n = 1)
{
  GError *error = nullptr;
  Buffers buffers(gst_drm_constraints_allocate(agreed, n, &error));
  fail_unless(buffers != nullptr && error == nullptr, "%s", error ? error->message : "no error");
  fail_unless_equals_int(buffers->len, n);
  return buffers;
}

inline GstBuffer *nth(const Buffers &buffers, guint index)
{
  return static_cast<GstBuffer *>(g_ptr_array_index(buffers.get(), index));
}

// The error has this code and these words.
inline void check_error(GError *error, GstDrmError code, const char *words)
{
  fail_unless(error != nullptr);
  say(error->message);
  fail_unless(g_error_matches(error, GST_DRM_ERROR, code), "code %d", error->code);
  fail_unless(std::string(error->message).find(words) != std::string::npos, "'%s' has no '%s'", error->message, words);
  g_error_free(error);
}

inline void check_meets(GstBuffer *buffer, const GstDrmConstraints *asked, const GstDrmVideoInfo *info = nullptr)
{
  GError *error = nullptr;
  const bool met = gst_drm_buffer_meets(buffer, info, asked, &error) != FALSE;
  fail_unless(met && !error, "%s", error ? error->message : "no error");
}

inline void check_unmet(GstBuffer *buffer, const GstDrmConstraints *asked, GstDrmError code, const char *words,
                        const GstDrmVideoInfo *info = nullptr)
{
  GError *error = nullptr;
  fail_if(gst_drm_buffer_meets(buffer, info, asked, &error));
  check_error(error, code, words);
}

// One accessor fills all of the buffer, another one reads it.
inline void write_and_read(GstBuffer *buffer)
{
  GstMapInfo map;
  fail_unless(gst_buffer_map(buffer, &map, GST_MAP_WRITE));
  for (gsize i = 0; i < map.size; ++i)
    map.data[i] = static_cast<guint8>(i * 7 + i / 251);
  gst_buffer_unmap(buffer, &map);
  fail_unless(gst_buffer_map(buffer, &map, GST_MAP_READ));
  for (gsize i = 0; i < map.size; ++i)
    fail_unless_equals_int(map.data[i], static_cast<guint8>(i * 7 + i / 251));
  gst_buffer_unmap(buffer, &map);
}

// The planes of the picture are where the constraints have them, at the alignments that were asked for.
inline void check_planes(GstBuffer *buffer, const GstDrmConstraints *agreed)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);
  fail_unless(meta != nullptr);
  guint64 stride_align = 1;
  guint64 offset_align = 1;
  guint64 size_align = 1;
  gst_drm_constraints_get_range(agreed, GST_DRM_CONSTRAINT_STRIDE_ALIGN, &stride_align, nullptr);
  gst_drm_constraints_get_range(agreed, GST_DRM_CONSTRAINT_OFFSET_ALIGN, &offset_align, nullptr);
  gst_drm_constraints_get_range(agreed, GST_DRM_CONSTRAINT_SIZE_ALIGN, &size_align, nullptr);
  for (guint i = 0; i < meta->n_planes; ++i) {
    guint64 offset = 0;
    guint64 stride = 0;
    fail_unless(gst_drm_constraints_get_plane(agreed, i, &offset, &stride));
    fail_unless_equals_uint64(meta->offset[i], offset);
    fail_unless_equals_uint64(static_cast<guint64>(meta->stride[i]), stride);
    fail_unless_equals_uint64(stride % MAX(stride_align, 1), 0);
    fail_unless_equals_uint64(offset % MAX(offset_align, 1), 0);
  }
  fail_unless_equals_uint64(gst_buffer_get_size(buffer), gst_drm_constraints_get_size(agreed));
  fail_unless_equals_uint64(gst_buffer_get_size(buffer) % MAX(size_align, 1), 0);
}

} // namespace gstdrm::test
