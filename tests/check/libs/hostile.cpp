// SPDX-License-Identifier: LGPL-2.1-or-later
// Every public function, one row each, is fed what no sane caller would give it: numbers out of range, structs that
// were never filled, metas that lie, descriptors that are none. Pointers are good, for a bad one is nobody's to check.
// Nothing may end the process or be said as CRITICAL (fatal here), and an error has a message.
// tests/tree/hostile-rows.py fails where a public function has no row.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/core/unique_fd.hpp>
#include <gst/drm/drm.h>
#include <gst/video/video.h>

#include "support/check_main.hpp"

namespace {

using gstdrm::UniqueFd;

constexpr guint32 kNv12 = 0x3231564e;
constexpr guint32 kXr24 = 0x34325258;
constexpr guint64 kYTiled = G_GUINT64_CONSTANT(0x0100000000000002);
constexpr guint64 kVivante = G_GUINT64_CONSTANT(0x0600000000000001); // GStreamer names it for NV12

constexpr guint32 kFourccs[] = {0, 1, kNv12, kXr24, kNv12 | 1U << 31, 0x20202020, 0x3a3a3a3a, 0x7f7f7f7f, 0x80808080, G_MAXUINT32};
constexpr guint64 kModifiers[] = {0, 1, GST_DRM_MODIFIER_IMPLICIT, kYTiled, kVivante, 0x0200000028a6bf04, G_MAXINT64, G_GUINT64_CONSTANT(1) << 63, G_MAXUINT64};
constexpr gint kNumbers[] = {G_MININT, -65536, -1, 0, 1, 2, 3, 31, 255, 500, 16384, 16385, G_MAXINT - 1, G_MAXINT};
constexpr gsize kOffsets[] = {0, 1, 4095, 1228799, 1228800, G_MAXUINT32, static_cast<gsize>(G_MAXUINT32) + 1, G_MAXSIZE - 1, G_MAXSIZE};
const char *const kStrings[] = {"", ":", "NV12", "NV12:", "NV12:0x", "NV12:0X", "NV12:0x0", "\xff\xfe\xfd\xfc", "NV12:0xffffffffffffffffff", "    ", "NULL", "DMA_DRM"};

// Into an enum field, as C would: a cast of such a number to the enum is undefined in C++.
template <typename Enum> void put(Enum &field, gint number)
{
  static_assert(sizeof field == sizeof number);
  std::memcpy(&field, &number, sizeof field);
}

// As an argument; a caller in C passes any number.
template <typename Enum> __attribute__((no_sanitize("undefined"))) Enum enum_of(gint number)
{
  Enum value{};
  put(value, number);
  return value;
}

// A failure has its message, which is not that of an exception, and a success has none.
void check(bool success, GError *&error) // a reference: it is set when the other argument has its value
{
  fail_unless(success == (error == nullptr), "%s", error ? error->message : "failed without an error");
  if (error)
    fail_unless(error->message && *error->message && g_utf8_validate(error->message, -1, nullptr) &&
                    !strstr(error->message, "a fault of gst-drm"),
                "%s", error->message);
  g_clear_error(&error);
}

struct CapsDeleter {
  void operator()(GstCaps *caps) const { gst_caps_unref(caps); }
};
using CapsPtr = std::unique_ptr<GstCaps, CapsDeleter>;

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

// Caps with one field of a hostile kind, in each form that the library reads.
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

GstBuffer *buffer_of(gsize size)
{
  static GstAllocator *const allocator = [] {
    GstAllocator *made = gst_dmabuf_allocator_new();
    GST_OBJECT_FLAG_SET(made, GST_OBJECT_FLAG_MAY_BE_LEAKED);
    return made;
  }();
  GstBuffer *buffer = gst_buffer_new();
  const int fd = memfd_create("hostile", MFD_CLOEXEC);
  fail_unless(fd >= 0 && ftruncate(fd, static_cast<off_t>(size)) == 0);
  gst_buffer_append_memory(buffer, gst_dmabuf_allocator_alloc(allocator, fd, size));
  return buffer;
}

// One field of a good meta, replaced by each hostile value in turn.
void for_each_hostile_buffer(const std::function<void(GstBuffer *)> &call)
{
  GstBuffer *buffer = gst_buffer_new();
  call(buffer);
  gst_buffer_append_memory(buffer, gst_allocator_alloc(nullptr, 100, nullptr));
  call(buffer);
  gst_buffer_unref(buffer);

  buffer = buffer_of(1228800);
  call(buffer);
  gsize offsets[GST_VIDEO_MAX_PLANES] = {0, 307200};
  gint strides[GST_VIDEO_MAX_PLANES] = {640, 640};
  GstVideoMeta *meta = gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_NV12, 640, 480, 2, offsets, strides);
  const GstVideoMeta sane = *meta;
  const auto call_and_mend = [&] {
    call(buffer);
    *meta = sane;
  };
  for (const gint number : kNumbers) {
    put(meta->format, number);
    call_and_mend();
    meta->width = static_cast<guint>(number);
    call_and_mend();
    meta->height = static_cast<guint>(number);
    call_and_mend();
    meta->n_planes = static_cast<guint>(number);
    call_and_mend();
    meta->stride[1] = number;
    call_and_mend();
  }
  for (const gsize offset : kOffsets) {
    meta->offset[1] = offset;
    call_and_mend();
  }
  gst_buffer_unref(buffer);
}

// Descriptors that are none, or of the wrong kind.
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

// Sets of nothing, of one pair, and of all the hostile pairs that a set takes.
std::vector<GstDrmFormatSet *> hostile_sets()
{
  std::vector<GstDrmFormatSet *> sets{gst_drm_format_set_new(), gst_drm_format_set_new(), gst_drm_format_set_new()};
  gst_drm_format_set_add(sets[1], kNv12, GST_DRM_MODIFIER_IMPLICIT);
  for (const guint32 fourcc : kFourccs)
    for (const guint64 modifier : kModifiers)
      gst_drm_format_set_add(sets[2], fourcc, modifier);
  return sets;
}

void for_each_pair_of_sets(const std::function<void(GstDrmFormatSet *, GstDrmFormatSet *)> &call)
{
  const auto sets = hostile_sets();
  for (GstDrmFormatSet *a : sets)
    for (GstDrmFormatSet *b : sets)
      call(a, b);
  for (GstDrmFormatSet *set : sets)
    gst_drm_format_set_unref(set);
}

void for_each_set(const std::function<void(GstDrmFormatSet *)> &call)
{
  for_each_pair_of_sets([&call](GstDrmFormatSet *a, GstDrmFormatSet *) { call(a); });
}

void unref_set(GstDrmFormatSet *set)
{
  fail_unless(set != nullptr);
  gst_drm_format_set_unref(set);
}

void with_allocator(const std::function<void(GstDrmAllocator *)> &call)
{
  GstDrmAllocator *allocator = gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_MEMFD, nullptr, nullptr);
  fail_unless(allocator != nullptr);
  call(allocator);
  gst_object_unref(allocator);
}

void alloc_frames(GstDrmAllocator *allocator)
{
  const auto alloc = [allocator](guint32 fourcc, guint width, guint height, guint n, const GstVideoAlignment *align) {
    GError *error = nullptr;
    guint64 modifier = 0;
    GstBuffer *buffer =
        gst_drm_allocator_alloc_frame(allocator, fourcc, width, height, kModifiers, n, align, &modifier, &error);
    check(buffer != nullptr, error);
    gst_clear_buffer(&buffer);
  };
  for (const guint32 fourcc : kFourccs)
    alloc(fourcc, 64, 64, G_N_ELEMENTS(kModifiers), nullptr);
  alloc(kNv12, 64, 64, 0, nullptr);
  for (const gint number : kNumbers) {
    if (number == 16384)
      continue; // would be made
    alloc(kNv12, static_cast<guint>(number), 64, 1, nullptr);
    alloc(kNv12, static_cast<guint>(number), static_cast<guint>(number), 1, nullptr);
    GstVideoAlignment align;
    for (guint field = 0; field < 6; ++field) {
      gst_video_alignment_reset(&align);
      guint *const fields[] = {&align.padding_left, &align.padding_right, &align.padding_top, &align.padding_bottom, &align.stride_align[0], &align.stride_align[3]};
      *fields[field] = static_cast<guint>(number);
      alloc(kNv12, 64, 64, 1, &align);
    }
  }
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

void with_meta(const std::function<void(GstDrmSyncMeta *)> &call)
{
  for (const gsize size : {gsize{0}, gsize{4096}}) {
    GstBuffer *buffer = size ? buffer_of(size) : gst_buffer_new();
    call(gst_buffer_add_drm_sync_meta(buffer));
    gst_buffer_unref(buffer);
  }
}

void add_fences(gboolean (*add)(GstDrmSyncMeta *, gint, GError **))
{
  with_meta([add](GstDrmSyncMeta *meta) {
    for_each_hostile_fd([&](int fd) {
      const int owned = fd >= 0 && fcntl(fd, F_GETFD) >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : fd; // the meta's from now on
      GError *error = nullptr;
      const bool added = add(meta, owned, &error);
      check(added, error);
      fail_if(added);
    });
  });
}

void pool_of(const std::function<void(GstBufferPool *)> &call)
{
  with_allocator([&call](GstDrmAllocator *allocator) {
    GstBufferPool *pool = gst_drm_buffer_pool_new(allocator);
    call(pool);
    gst_object_unref(pool);
  });
}

void configure_pools(GstBufferPool *pool)
{
  for (auto &caps : hostile_caps()) {
    if (gst_caps_is_any(caps.get()) || gst_caps_is_empty(caps.get()) || !gst_caps_is_fixed(caps.get()))
      continue; // GstBufferPool itself asks for fixed caps
    GstStructure *config = gst_buffer_pool_get_config(pool);
    gst_buffer_pool_config_set_params(config, caps.get(), G_MAXUINT, 0, 0);
    gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
    (void)gst_buffer_pool_set_config(pool, config);
  }
}

struct Row {
  const char *function;
  void (*feed)();
};

// "The type is registered once": no argument, so nothing to be hostile with.
template <GType (*get)(void) noexcept> void type_row()
{
  fail_unless(get() != 0);
  fail_unless(get() == get());
}

template <typename Call> void infos(Call &&call)
{
  static const std::vector<GstDrmVideoInfo> all = hostile_infos();
  for (GstDrmVideoInfo info : all) // a copy: a call may change it
    call(&info);
}

// Each pair with a sane size, and a few pairs with each size.
void formats_and_sizes(const std::function<void(guint32, guint64, guint, guint)> &call)
{
  for (const guint32 fourcc : kFourccs)
    for (const guint64 modifier : kModifiers)
      call(fourcc, modifier, 640, 480);
  for (const guint64 modifier : {GST_DRM_MODIFIER_LINEAR, GST_DRM_MODIFIER_IMPLICIT, kYTiled, kVivante})
    for (const gint width : kNumbers)
      for (const gint height : kNumbers)
        call(kNv12, modifier, static_cast<guint>(width), static_cast<guint>(height));
}

const Row kRows[] = {
    {"gst_drm_allocator_kind_get_type", type_row<gst_drm_allocator_kind_get_type>},
    {"gst_drm_allocator_new", [] {
       for (const gint kind : kNumbers)
         for (const char *device : kStrings) {
           GError *error = nullptr;
           GstDrmAllocator *allocator = gst_drm_allocator_new(enum_of<GstDrmAllocatorKind>(kind), device, &error);
           check(allocator != nullptr, error);
           gst_clear_object(&allocator);
         }
     }},
    {"gst_drm_allocator_new_for_fd", [] {
       for (const gint kind : kNumbers)
         for_each_hostile_fd([kind](int fd) {
           GError *error = nullptr;
           GstDrmAllocator *allocator = gst_drm_allocator_new_for_fd(enum_of<GstDrmAllocatorKind>(kind), fd, &error);
           check(allocator != nullptr, error);
           gst_clear_object(&allocator);
         });
     }},
    {"gst_drm_allocator_get_kind", [] { with_allocator([](GstDrmAllocator *a) { fail_unless(gst_drm_allocator_get_kind(a) == GST_DRM_ALLOCATOR_KIND_MEMFD); }); }},
    {"gst_drm_allocator_get_device", [] { with_allocator([](GstDrmAllocator *a) { fail_unless(gst_drm_allocator_get_device(a) == nullptr); }); }},
    {"gst_drm_allocator_get_formats", [] { with_allocator([](GstDrmAllocator *a) {
       if (GstDrmFormatSet *set = gst_drm_allocator_get_formats(a))
         gst_drm_format_set_unref(set);
     }); }},
    {"gst_drm_allocator_get_notice", [] { with_allocator([](GstDrmAllocator *a) {
       g_autofree gchar *before = gst_drm_allocator_get_notice(a);
       fail_unless(before == nullptr, "%s", before);
       alloc_frames(a); // those that were too large as well: a notice comes with a frame
       g_autofree gchar *after = gst_drm_allocator_get_notice(a);
       fail_unless(after == nullptr, "%s", after);
     }); }},
    {"gst_drm_allocator_alloc_frame", [] { with_allocator(alloc_frames); }},
    {"gst_drm_buffer_pool_new", [] { pool_of(configure_pools); }},
    {"gst_drm_buffer_pool_get_waits", [] { pool_of([](GstBufferPool *p) { fail_unless(gst_drm_buffer_pool_get_waits(GST_DRM_BUFFER_POOL(p)) == 0); }); }},
    {"gst_drm_buffer_pool_get_stats", [] { pool_of([](GstBufferPool *p) {
       configure_pools(p);
       GstStructure *stats = gst_drm_buffer_pool_get_stats(GST_DRM_BUFFER_POOL(p));
       for (const char *field : {"allocations", "frames", "bytes", "out", "waits"}) {
         guint64 number = 7;
         fail_unless(gst_structure_get_uint64(stats, field, &number));
         fail_unless(number == 0 || !(g_str_equal(field, "out") || g_str_equal(field, "waits")), "%s %" G_GUINT64_FORMAT, field, number);
       }
       gst_structure_free(stats);
     }); }},
    {"gst_drm_query_add_device", [] { with_query([](GstQuery *q) { for_each_hostile_fd([q](int fd) { (void)gst_drm_query_add_device(q, fd); }); }); }},
    {"gst_drm_query_get_device", [] { with_query([](GstQuery *q) { fail_if(gst_drm_query_get_device(q, nullptr)); }); }},
    {"gst_drm_device_is_same", [] {
       for (const guint64 device : kModifiers)
         for (const guint64 other : kModifiers) {
           GError *error = nullptr;
           const gboolean same = gst_drm_device_is_same(device, other, &error);
           fail_unless(same == (device == other));
           check(same, error);
         }
     }},
    {"gst_drm_error_quark", [] { fail_unless(gst_drm_error_quark() == GST_DRM_ERROR); }},
    {"gst_drm_error_get_type", type_row<gst_drm_error_get_type>},
    {"gst_drm_format_parse", [] {
       for (const char *text : kStrings) {
         GError *error = nullptr;
         check(gst_drm_format_parse(text, nullptr, nullptr, &error), error);
       }
     }},
    {"gst_drm_format_to_string", [] {
       for (const guint32 fourcc : kFourccs)
         for (const guint64 modifier : kModifiers)
           g_free(gst_drm_format_to_string(fourcc, modifier));
     }},
    {"gst_drm_modifier_describe", [] {
       for (const guint64 modifier : kModifiers) {
         g_autofree gchar *text = gst_drm_modifier_describe(modifier);
         fail_unless(text && *text);
       }
     }},
    {"gst_drm_format_to_video_format", [] {
       for (const guint32 fourcc : kFourccs)
         for (const guint64 modifier : kModifiers)
           (void)gst_drm_format_to_video_format(fourcc, modifier);
     }},
    {"gst_drm_format_from_video_format", [] {
       for (const gint format : kNumbers)
         (void)gst_drm_format_from_video_format(enum_of<GstVideoFormat>(format), nullptr);
     }},
    {"gst_drm_format_set_get_type", type_row<gst_drm_format_set_get_type>},
    {"gst_drm_format_set_flags_get_type", type_row<gst_drm_format_set_flags_get_type>},
    {"gst_drm_format_set_new", [] { unref_set(gst_drm_format_set_new()); }},
    {"gst_drm_format_set_new_from_caps", [] {
       for (auto &caps : hostile_caps())
         if (GstDrmFormatSet *set = gst_drm_format_set_new_from_caps(caps.get()))
           gst_drm_format_set_unref(set);
     }},
    {"gst_drm_format_set_ref", [] { for_each_set([](GstDrmFormatSet *s) { fail_unless(gst_drm_format_set_ref(s) == s); gst_drm_format_set_unref(s); }); }},
    {"gst_drm_format_set_unref", [] { for_each_set([](GstDrmFormatSet *s) { gst_drm_format_set_unref(gst_drm_format_set_ref(s)); }); }},
    {"gst_drm_format_set_copy", [] { for_each_set([](GstDrmFormatSet *s) { unref_set(gst_drm_format_set_copy(s)); }); }},
    {"gst_drm_format_set_add", [] { for_each_set([](GstDrmFormatSet *s) { (void)gst_drm_format_set_add(s, G_MAXUINT32, G_MAXUINT64); }); }},
    {"gst_drm_format_set_contains", [] { for_each_set([](GstDrmFormatSet *s) { fail_if(gst_drm_format_set_contains(s, G_MAXUINT32, G_MAXUINT64)); }); }},
    {"gst_drm_format_set_get_size", [] { for_each_set([](GstDrmFormatSet *s) { fail_unless(gst_drm_format_set_get_size(s) < 1000); }); }},
    {"gst_drm_format_set_get", [] { for_each_set([](GstDrmFormatSet *s) { fail_if(gst_drm_format_set_get(s, G_MAXUINT, nullptr, nullptr)); }); }},
    {"gst_drm_format_set_get_modifiers", [] { for_each_set([](GstDrmFormatSet *s) { guint n = 7; fail_unless(!gst_drm_format_set_get_modifiers(s, G_MAXUINT32, &n) && n == 0); }); }},
    {"gst_drm_format_set_get_fourccs", [] { for_each_set([](GstDrmFormatSet *s) {
       guint n = 7;
       g_autofree guint32 *fourccs = gst_drm_format_set_get_fourccs(s, &n);
       fail_unless(n <= gst_drm_format_set_get_size(s) && (fourccs != nullptr) == (n != 0));
       for (guint i = 0; i < n; ++i)
         fail_unless(std::find(fourccs, fourccs + i, fourccs[i]) == fourccs + i);
     }); }},
    {"gst_drm_format_set_intersect", [] { for_each_pair_of_sets([](GstDrmFormatSet *a, GstDrmFormatSet *b) { unref_set(gst_drm_format_set_intersect(a, b)); }); }},
    {"gst_drm_format_set_intersect_full", [] { for_each_pair_of_sets([](GstDrmFormatSet *a, GstDrmFormatSet *b) {
       for (const gint flags : kNumbers)
         unref_set(gst_drm_format_set_intersect_full(a, b, enum_of<GstDrmFormatSetFlags>(flags)));
     }); }},
    {"gst_drm_format_set_union", [] { for_each_pair_of_sets([](GstDrmFormatSet *a, GstDrmFormatSet *b) { unref_set(gst_drm_format_set_union(a, b)); }); }},
    {"gst_drm_format_set_subtract", [] { for_each_pair_of_sets([](GstDrmFormatSet *a, GstDrmFormatSet *b) { unref_set(gst_drm_format_set_subtract(a, b)); }); }},
    {"gst_drm_format_set_is_subset", [] { for_each_set([](GstDrmFormatSet *s) { fail_unless(gst_drm_format_set_is_subset(s, s)); }); }},
    {"gst_drm_format_set_is_equal", [] { for_each_pair_of_sets([](GstDrmFormatSet *a, GstDrmFormatSet *b) { fail_unless(gst_drm_format_set_is_equal(a, b) == (a == b)); }); }},
    {"gst_drm_format_set_to_caps", [] { for_each_set([](GstDrmFormatSet *s) { gst_caps_unref(gst_drm_format_set_to_caps(s)); }); }},
    {"gst_drm_format_set_to_raw_caps", [] { for_each_set([](GstDrmFormatSet *s) { gst_caps_unref(gst_drm_format_set_to_raw_caps(s)); }); }},
    {"gst_drm_format_set_to_string", [] { for_each_set([](GstDrmFormatSet *s) { g_free(gst_drm_format_set_to_string(s)); }); }},
    {"gst_drm_caps_intersect", [] {
       const auto all = hostile_caps();
       for (std::size_t i = 0; i < all.size(); ++i)
         for (const std::size_t step : {0, 1, 5, 21})
           gst_caps_unref(gst_drm_caps_intersect(all[i].get(), all[(i + step) % all.size()].get()));
     }},
    {"gst_drm_frame_from_buffer", [] { for_each_hostile_buffer([](GstBuffer *buffer) { infos([buffer](GstDrmVideoInfo *info) {
       GstDrmFrame frame;
       GError *error = nullptr;
       check(gst_drm_frame_from_buffer(&frame, buffer, info, &error), error);
     }); }); }},
    {"gst_drm_frame_get_plane", [] {
       for (const gint planes : kNumbers)
         for (const gint index : kNumbers) {
           GstDrmFrame frame{};
           frame.n_planes = static_cast<guint>(planes);
           GstDrmFramePlane plane{};
           plane.fd = 7;
           const bool got = gst_drm_frame_get_plane(&frame, static_cast<guint>(index), &plane);
           fail_unless(got == (static_cast<guint>(index) < std::min<guint>(frame.n_planes, GST_DRM_MAX_PLANES)));
           fail_unless_equals_int(plane.fd, got ? 0 : -1);
         }
     }},
    {"gst_drm_fence_state_get_type", type_row<gst_drm_fence_state_get_type>},
    {"gst_drm_access_get_type", type_row<gst_drm_access_get_type>},
    {"gst_drm_sync_meta_api_get_type", type_row<gst_drm_sync_meta_api_get_type>},
    {"gst_drm_sync_meta_get_info", [] { fail_unless(gst_drm_sync_meta_get_info() != nullptr); }},
    {"gst_buffer_add_drm_sync_meta", [] { for_each_hostile_buffer([](GstBuffer *b) { fail_unless(gst_buffer_add_drm_sync_meta(b) != nullptr); }); }},
    {"gst_buffer_get_drm_sync_meta", [] { for_each_hostile_buffer([](GstBuffer *b) { fail_unless(gst_buffer_get_drm_sync_meta(b) == nullptr); }); }},
    {"gst_drm_sync_meta_add_acquire_fence", [] { add_fences(gst_drm_sync_meta_add_acquire_fence); }},
    {"gst_drm_sync_meta_add_release_fence", [] { add_fences(gst_drm_sync_meta_add_release_fence); }},
    {"gst_drm_sync_meta_dup_acquire_fence", [] { with_meta([](GstDrmSyncMeta *m) { fail_unless(gst_drm_sync_meta_dup_acquire_fence(m) == -1); }); }},
    {"gst_drm_sync_meta_dup_release_fence", [] { with_meta([](GstDrmSyncMeta *m) { fail_unless(gst_drm_sync_meta_dup_release_fence(m) == -1); }); }},
    {"gst_drm_sync_meta_clear", [] { with_meta(gst_drm_sync_meta_clear); }},
    {"gst_drm_query_announce_release_fences", [] { with_query([](GstQuery *q) { gst_drm_query_announce_release_fences(q); fail_unless(gst_drm_query_has_release_fences(q)); }); }},
    {"gst_drm_query_has_release_fences", [] { with_query([](GstQuery *q) { fail_if(gst_drm_query_has_release_fences(q)); }); }},
    {"gst_drm_fence_get_state", [] { for_each_hostile_fd([](int fd) {
       GError *error = nullptr;
       check(gst_drm_fence_get_state(fd, nullptr, &error), error);
     }); }},
    {"gst_drm_fence_wait", [] { for_each_hostile_fd([](int fd) {
       GError *error = nullptr;
       check(gst_drm_fence_wait(fd, G_MAXUINT64 - 1, nullptr, &error), error);
     }); }},
    {"gst_drm_dmabuf_export_fence", [] { for_each_hostile_fd([](int fd) {
       GError *error = nullptr;
       check(gst_drm_dmabuf_export_fence(fd, GST_DRM_ACCESS_READ, &error) >= 0, error);
     }); }},
    {"gst_drm_dmabuf_import_fence", [] { for_each_hostile_fd([](int fd) {
       GError *error = nullptr;
       check(gst_drm_dmabuf_import_fence(fd, fd, GST_DRM_ACCESS_WRITE, &error), error);
     }); }},
    {"gst_drm_pad_announce_release_fences", [] {
       GstSegment segment;
       gst_segment_init(&segment, GST_FORMAT_TIME);
       for (const bool with_caps : {false, true}) {
         GstPad *pad = gst_pad_new("src", GST_PAD_SRC); // no parent and no peer
         gst_pad_set_active(pad, TRUE);
         fail_unless(gst_drm_pad_announce_release_fences(pad) != 0);
         const gulong probe = gst_drm_pad_announce_release_fences(pad); // a second one on one pad
         fail_unless(probe != 0);
         gst_pad_push_event(pad, gst_event_new_stream_start("hostile"));
         for (auto &caps : hostile_caps()) {
           if (with_caps && (gst_caps_is_any(caps.get()) || gst_caps_is_empty(caps.get()) || !gst_caps_is_fixed(caps.get())))
             continue; // GstEvent itself asks for fixed caps
           if (with_caps)
             gst_pad_push_event(pad, gst_event_new_caps(caps.get()));
           gst_pad_push_event(pad, gst_event_new_segment(&segment));
           (void)gst_pad_push(pad, gst_buffer_new());
           GstQuery *query = gst_query_new_allocation(with_caps ? caps.get() : nullptr, FALSE);
           (void)gst_pad_peer_query(pad, query);
           gst_query_unref(query);
         }
         gst_pad_remove_probe(pad, probe);
         gst_object_unref(pad);
       }
     }},
    {"gst_drm_video_info_get_type", type_row<gst_drm_video_info_get_type>},
    {"gst_drm_video_info_init", [] { infos([](GstDrmVideoInfo *i) { gst_drm_video_info_init(i); fail_unless(i->drm_fourcc == 0); }); }},
    {"gst_drm_video_info_new", [] { gst_drm_video_info_free(gst_drm_video_info_new()); }},
    {"gst_drm_video_info_copy", [] { infos([](GstDrmVideoInfo *i) { gst_drm_video_info_free(gst_drm_video_info_copy(i)); }); }},
    {"gst_drm_video_info_new_from_caps", [] {
       for (auto &caps : hostile_caps())
         gst_drm_video_info_free(gst_drm_video_info_new_from_caps(caps.get()));
     }},
    {"gst_drm_video_info_new_from_format", [] { formats_and_sizes([](guint32 fourcc, guint64 modifier, guint width, guint height) {
       GError *error = nullptr;
       GstDrmVideoInfo *info = gst_drm_video_info_new_from_format(fourcc, modifier, width, height, &error);
       check(info != nullptr, error);
       if (info)
         gst_drm_video_info_free(info);
     }); }},
    {"gst_drm_video_info_set_format", [] { formats_and_sizes([](guint32 fourcc, guint64 modifier, guint width, guint height) {
       GError *error = nullptr;
       GstDrmVideoInfo info;
       std::memset(&info, 0x5a, sizeof info);
       const GstDrmVideoInfo before = info;
       const bool set = gst_drm_video_info_set_format(&info, fourcc, modifier, width, height, &error);
       check(set, error);
       fail_unless(set ? info.drm_fourcc == fourcc && info.drm_modifier == modifier : std::memcmp(&info, &before, sizeof info) == 0);
     }); }},
    {"gst_drm_video_info_get_fourcc", [] { infos([](GstDrmVideoInfo *i) { fail_unless(gst_drm_video_info_get_fourcc(i) == i->drm_fourcc); }); }},
    {"gst_drm_video_info_get_modifier", [] { infos([](GstDrmVideoInfo *i) { fail_unless(gst_drm_video_info_get_modifier(i) == i->drm_modifier); }); }},
    {"gst_drm_video_info_free", [] { gst_drm_video_info_free(nullptr); }},
    {"gst_drm_video_info_from_caps", [] {
       GstDrmVideoInfo info;
       for (auto &caps : hostile_caps())
         (void)gst_drm_video_info_from_caps(&info, caps.get());
     }},
    {"gst_drm_video_info_from_caps_full", [] {
       GstDrmVideoInfo info;
       for (auto &caps : hostile_caps()) {
         GError *error = nullptr;
         check(gst_drm_video_info_from_caps_full(&info, caps.get(), &error), error);
       }
     }},
    {"gst_drm_video_info_to_caps", [] { infos([](GstDrmVideoInfo *i) {
       GstCaps *caps = gst_drm_video_info_to_caps(i);
       if (caps)
         fail_unless(gst_caps_is_fixed(caps), "%" GST_PTR_FORMAT, caps);
       gst_clear_caps(&caps);
     }); }},
    {"gst_drm_video_info_from_video_info", [] { infos([](GstDrmVideoInfo *i) {
       for (const guint64 modifier : kModifiers) {
         GstDrmVideoInfo other;
         (void)gst_drm_video_info_from_video_info(&other, &i->vinfo, modifier);
       }
     }); }},
    {"gst_drm_video_info_to_video_info", [] { infos([](GstDrmVideoInfo *i) { GstVideoInfo plain; (void)gst_drm_video_info_to_video_info(i, &plain); }); }},
    {"gst_drm_video_info_is_equal", [] { infos([](GstDrmVideoInfo *a) {
       GstDrmVideoInfo sane;
       gst_drm_video_info_init(&sane);
       (void)gst_drm_video_info_is_equal(a, &sane);
       (void)gst_drm_video_info_is_equal(&sane, a);
       fail_unless(gst_drm_video_info_is_equal(a, a));
     }); }},
    {"gst_drm_is_dma_drm_caps", [] {
       for (auto &caps : hostile_caps())
         (void)gst_drm_is_dma_drm_caps(caps.get());
     }},
    {"gst_drm_zero_copy_get_type", type_row<gst_drm_zero_copy_get_type>},
};

GST_START_TEST(test_row)
{
  gstdrm::test::say(kRows[__i__].function);
  kRows[__i__].feed();
}
GST_END_TEST

Suite *hostile_suite()
{
  Suite *suite = suite_create("hostile");
  TCase *tcase = tcase_create("every public function");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_row, 0, G_N_ELEMENTS(kRows));
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(hostile)
