// SPDX-License-Identifier: LGPL-2.1-or-later
// What the elements of this plugin tell each other about the GstDrmTensorMetas of a buffer.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gst/drm/gstdrmtensormeta.h>
#include <gst/gst.h>

namespace gstdrm {

std::vector<GstDrmTensorMeta *> tensor_metas_of(GstBuffer *buffer);
std::string group_of(GstDrmTensorMeta *meta); // empty: none
// Which of the metas of its group it is, from 0 on.
guint index_in_group(GstBuffer *buffer, GstDrmTensorMeta *meta);

// The names in a list that is separated by commas, without the spaces around them.
std::set<std::string> names_in(const std::string &list);

// Notes in a meta of their own, because they have to be in copies of the buffer. A tensor meta is
// known by its group and its place in it: copies keep the order of metas, but no identity.
class TensorMarks {
public:
  explicit TensorMarks(GstBuffer *buffer) : meta_(gst_buffer_get_custom_meta(buffer, name())) {}

  // How many metas of the group are decoded already, for another drmtensordecode downstream.
  [[nodiscard]] guint decoded(const std::string &group) const;
  // The buffer is writable. A group that is decoded again, by name, has no more metas than before.
  void add_decoded(GstBuffer *buffer, const std::string &group);

  // The id of the GstVideoRegionOfInterestMeta whose part of the frame the model saw; nullopt: all
  // of the frame.
  [[nodiscard]] std::optional<gint> region(const std::string &group, guint index) const;
  void set_region(GstBuffer *buffer, const std::string &group, guint index, gint id);

private:
  static const char *name();
  GstStructure *made(GstBuffer *buffer);

  GstCustomMeta *meta_;
};

} // namespace gstdrm
