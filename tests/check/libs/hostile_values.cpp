// SPDX-License-Identifier: LGPL-2.1-or-later
#include "hostile_values.hpp"

#include <array>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <gst/drm/core/unique_fd.hpp>

namespace gstdrm::test::hostile {

void check(bool success, GError *&error)
{
  fail_unless(success == (error == nullptr), "%s", error ? error->message : "failed without an error");
  if (error)
    fail_unless(error->message && *error->message && g_utf8_validate(error->message, -1, nullptr) &&
                    !strstr(error->message, "a fault of gst-drm"),
                "%s", error->message);
  g_clear_error(&error);
}

namespace {

void set_features(GstCaps *caps, const char *feature)
{
  for (guint i = 0; i < gst_caps_get_size(caps); ++i)
    gst_caps_set_features(caps, i, gst_caps_features_from_string(feature));
}

GValue *null_strings(const char *other, bool nested)
{
  auto *list = g_new0(GValue, 1);
  gst_value_list_init(list, 2);
  for (const char *text : {static_cast<const char *>(nullptr), other}) {
    GValue item = G_VALUE_INIT;
    g_value_init(&item, G_TYPE_STRING);
    g_value_set_string(&item, text);
    if (nested) {
      GValue inner = G_VALUE_INIT;
      gst_value_list_init(&inner, 1);
      gst_value_list_append_and_take_value(&inner, &item);
      gst_value_list_append_and_take_value(list, &inner);
    } else {
      gst_value_list_append_and_take_value(list, &item);
    }
  }
  return list;
}

} // namespace

std::vector<CapsPtr> hostile_caps()
{
  std::vector<CapsPtr> all;
  all.emplace_back(gst_caps_new_any());
  all.emplace_back(gst_caps_new_empty());
  all.emplace_back(gst_caps_new_empty_simple("video/x-raw"));
  all.emplace_back(gst_caps_new_empty_simple("audio/x-raw"));
  const auto add = [&all](const char *feature, const std::function<void(GstStructure *)> &change) {
    GstStructure *structure =
        gst_structure_new("video/x-raw", "format", G_TYPE_STRING, "DMA_DRM", "drm-format", G_TYPE_STRING, "XR24", "width",
                          G_TYPE_INT, 640, "height", G_TYPE_INT, 480, "framerate", GST_TYPE_FRACTION, 30, 1, nullptr);
    change(structure);
    GstCaps *caps = gst_caps_new_full(structure, nullptr);
    set_features(caps, feature);
    all.emplace_back(caps);
  };
  for (const char *feature : {"memory:DMABuf", "memory:SystemMemory", "ANY", "memory:Other, memory:DMABuf", "format:Interlaced"}) {
    for (const char *field : {"format", "drm-format", "width", "height", "framerate", "interlace-mode", "colorimetry", "chroma-site", "pixel-aspect-ratio", "multiview-mode"}) {
      add(feature, [field](GstStructure *s) { gst_structure_remove_field(s, field); });
      add(feature, [field](GstStructure *s) { gst_structure_set(s, field, G_TYPE_STRING, nullptr, nullptr); });
      add(feature, [field](GstStructure *s) { gst_structure_set(s, field, G_TYPE_INT, -1, nullptr); });
      add(feature, [field](GstStructure *s) { gst_structure_set(s, field, G_TYPE_INT, G_MAXINT, nullptr); });
      add(feature, [field](GstStructure *s) { gst_structure_set(s, field, GST_TYPE_FRACTION, G_MAXINT, 1, nullptr); });
      add(feature, [field](GstStructure *s) { gst_structure_set(s, field, GST_TYPE_INT_RANGE, 1, G_MAXINT, nullptr); });
      add(feature, [field](GstStructure *s) { gst_structure_set(s, field, G_TYPE_UINT64, G_MAXUINT64, nullptr); });
      for (const bool nested : {false, true})
        add(feature, [field, nested](GstStructure *s) {
          GValue *list = null_strings("XR24", nested);
          gst_structure_take_value(s, field, list);
          g_free(list);
        });
      for (const char *text : kStrings) {
        if (g_utf8_validate(text, -1, nullptr))
          add(feature, [field, text](GstStructure *s) { gst_structure_set(s, field, G_TYPE_STRING, text, nullptr); });
      }
    }
  }
  return all;
}

namespace {

void put_colorimetry(GstVideoColorimetry &colorimetry, gint number)
{
  put(colorimetry.range, number);
  put(colorimetry.matrix, number);
  put(colorimetry.transfer, number);
  put(colorimetry.primaries, number);
}

// Infos that were only zeroed, only made, filled well, and filled with nonsense.
std::vector<GstDrmVideoInfo> hostile_infos()
{
  std::vector<GstDrmVideoInfo> all(2);
  std::memset(&all[0], 0, sizeof all[0]);
  gst_drm_video_info_init(&all[1]);
  GstVideoInfo sane;
  gst_video_info_set_format(&sane, GST_VIDEO_FORMAT_NV12, 640, 480);
  for (const guint32 fourcc : kFourccs) {
    for (const guint64 modifier : kModifiers) {
      GstDrmVideoInfo info;
      gst_drm_video_info_init(&info);
      info.vinfo = sane;
      info.drm_fourcc = fourcc;
      info.drm_modifier = modifier;
      all.push_back(info);
      info.vinfo.finfo = nullptr;
      all.push_back(info);
    }
  }
  for (const gint number : kNumbers) {
    for (gint field = 0; field < 13; ++field) {
      GstDrmVideoInfo info;
      gst_drm_video_info_init(&info);
      info.vinfo = sane;
      info.drm_fourcc = kNv12;
      info.drm_modifier = field % 2 ? kYTiled : GST_DRM_MODIFIER_LINEAR;
      gint *const fields[] = {&info.vinfo.width, &info.vinfo.height, &info.vinfo.views, &info.vinfo.fps_n, &info.vinfo.fps_d, &info.vinfo.par_n, &info.vinfo.par_d};
      if (field < 7)
        *fields[field] = number;
      else if (field == 7)
        put(info.vinfo.interlace_mode, number);
      else if (field == 8)
        put(info.vinfo.chroma_site, number);
      else if (field == 9)
        put_colorimetry(info.vinfo.colorimetry, number);
      else if (field == 10)
        put(GST_VIDEO_INFO_MULTIVIEW_MODE(&info.vinfo), number);
      else if (field == 11)
        put(GST_VIDEO_INFO_FIELD_ORDER(&info.vinfo), number);
      else
        info.vinfo.stride[0] = info.vinfo.stride[1] = number;
      all.push_back(info);
    }
  }
  return all;
}

} // namespace

void infos(const std::function<void(GstDrmVideoInfo *)> &call)
{
  static const std::vector<GstDrmVideoInfo> all = hostile_infos();
  for (GstDrmVideoInfo info : all) // a copy: a call may change it
    call(&info);
}

void for_each_hostile_fd(const std::function<void(int)> &call)
{
  for (const int fd : {G_MININT, -2, -1, 1000000, G_MAXINT})
    call(fd);
  std::array<int, 2> ends{};
  fail_unless_equals_int(pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd reading(ends[0]);
  const UniqueFd writing(ends[1]);
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  const UniqueFd directory(open("/", O_PATH | O_CLOEXEC));
  const UniqueFd memory(memfd_create("hostile", MFD_CLOEXEC));
  for (const int fd : {reading.get(), writing.get(), null.get(), directory.get(), memory.get()})
    call(fd);
}

void with_query(const std::function<void(GstQuery *)> &call)
{
  for (auto &caps : hostile_caps()) {
    GstQuery *query = gst_query_new_allocation(caps.get(), TRUE);
    GstStructure *odd = gst_structure_new("GstDrmSyncMeta", "release-fences", G_TYPE_INT, 7, "drm-device", G_TYPE_STRING, nullptr, nullptr);
    gst_query_add_allocation_meta(query, GST_DRM_SYNC_META_API_TYPE, nullptr);
    gst_query_add_allocation_meta(query, GST_DRM_SYNC_META_API_TYPE, odd);
    gst_structure_set_name(odd, "GstDrmDevice");
    gst_query_add_allocation_meta(query, GST_DRM_SYNC_META_API_TYPE, odd);
    gst_structure_free(odd);
    call(query);
    gst_query_unref(query);
  }
}

} // namespace gstdrm::test::hostile
