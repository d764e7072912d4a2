// SPDX-License-Identifier: LGPL-2.1-or-later
// gst_drm_caps_intersect() has to find what gst_caps_intersect() finds.
#include <string>

#include <gst/drm/drm.h>

#include "support/check_main.hpp"
#include "support/gpu_table.hpp"
#include "support/random_caps.hpp"

namespace {

std::string text_of(const GstCaps *caps)
{
  gchar *text = gst_caps_to_string(caps);
  std::string copy = text;
  g_free(text);
  return copy;
}

// What GStreamer finds, in the order of its structures; the order of lists is free.
void check_same(GstCaps *a, GstCaps *b, const char *name)
{
  g_autoptr(GstCaps) expected = gst_caps_intersect_full(a, b, GST_CAPS_INTERSECT_FIRST);
  g_autoptr(GstCaps) ours = gst_drm_caps_intersect(a, b);
  fail_unless(gst_caps_is_strictly_equal(ours, expected), "%s:\n  %s\nx %s\n= %s, expected\n  %s", name,
              text_of(a).c_str(), text_of(b).c_str(), text_of(ours).c_str(), text_of(expected).c_str());
}

struct Row {
  const char *name;
  const char *first;
  const char *second;
  const char *result;
};

constexpr Row kRows[] = {
    {"any with any", "ANY", "ANY", "ANY"},
    {"any with one", "ANY", "video/x-raw(memory:DMABuf), drm-format=(string)NV12", "video/x-raw(memory:DMABuf), drm-format=(string)NV12"},
    {"one with any", "video/x-raw, format=(string)NV12", "ANY", "video/x-raw, format=(string)NV12"},
    {"empty", "EMPTY", "ANY", "EMPTY"},
    {"list with list", "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format={ XR24, NV12:0x0100000000000002, NV12 }, width=[1,1000]",
     "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format={ NV12, NV12:0x0100000000000002, AR24 }, width=[100,2000]",
     "video/x-raw(memory:DMABuf), format=(string)DMA_DRM, width=(int)[ 100, 1000 ], drm-format=(string){ NV12, NV12:0x0100000000000002 }"},
    {"one left is no list", "video/x-raw(memory:DMABuf), drm-format={ XR24, NV12 }", "video/x-raw(memory:DMABuf), drm-format={ NV12, AR24 }",
     "video/x-raw(memory:DMABuf), drm-format=(string)NV12"},
    {"nothing in common", "video/x-raw(memory:DMABuf), drm-format={ XR24, NV12 }", "video/x-raw(memory:DMABuf), drm-format={ AR24 }", "EMPTY"},
    {"absent means any", "video/x-raw(memory:DMABuf), format=DMA_DRM", "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format={ XR24, NV12 }",
     "video/x-raw(memory:DMABuf), format=(string)DMA_DRM, drm-format=(string){ XR24, NV12 }"},
    {"fourccs in the order of the first", "video/x-raw(memory:DMABuf), drm-format={ XR24:0x0100000000000002, P010, XR24, NV12 }",
     "video/x-raw(memory:DMABuf), drm-format={ NV12, XR24, XR24:0x0100000000000002, AR24 }",
     "video/x-raw(memory:DMABuf), drm-format=(string){ XR24, XR24:0x0100000000000002, NV12 }"},
    {"features differ", "video/x-raw(memory:DMABuf), drm-format=NV12", "video/x-raw, drm-format=NV12", "EMPTY"},
    {"features any", "video/x-raw(ANY), drm-format={ NV12, XR24 }", "video/x-raw(memory:DMABuf), drm-format=NV12",
     "video/x-raw(memory:DMABuf), drm-format=(string)NV12"},
    {"second's features any", "video/x-raw(memory:DMABuf), drm-format={ NV12, XR24 }", "video/x-raw(ANY), drm-format=NV12",
     "video/x-raw(memory:DMABuf), drm-format=(string)NV12"},
    {"names differ", "video/x-raw(memory:DMABuf), drm-format=NV12", "image/jpeg(memory:DMABuf), drm-format=NV12", "EMPTY"},
    {"other field differs", "video/x-raw(memory:DMABuf), drm-format=NV12, width=1", "video/x-raw(memory:DMABuf), drm-format=NV12, width=2", "EMPTY"},
    {"order of first", "video/x-raw, format=NV12; video/x-raw(memory:DMABuf), drm-format=NV12",
     "video/x-raw(memory:DMABuf), drm-format=NV12; video/x-raw, format=NV12",
     "video/x-raw, format=(string)NV12; video/x-raw(memory:DMABuf), drm-format=(string)NV12"},
    {"said twice", "video/x-raw(memory:DMABuf), drm-format={ NV12, XR24 }; video/x-raw(memory:DMABuf), drm-format=NV12",
     "video/x-raw(memory:DMABuf), drm-format={ NV12, XR24 }", "video/x-raw(memory:DMABuf), drm-format=(string){ NV12, XR24 }"},
    // where this differs from GStreamer, by intention
    {"two spellings are one pair", "video/x-raw(memory:DMABuf), drm-format=NV12:0x100000000000002",
     "video/x-raw(memory:DMABuf), drm-format=NV12:0x0100000000000002", "video/x-raw(memory:DMABuf), drm-format=(string)NV12:0x0100000000000002"},
    {"a frame of SAND columns and a display that lists them without a height",
     "video/x-raw(memory:DMABuf), drm-format={ NV12, NV12:0x0700000000000004 }",
     "video/x-raw(memory:DMABuf), drm-format=NV12:0x0700000000066004",
     "video/x-raw(memory:DMABuf), drm-format=(string)NV12:0x0700000000066004"},
    {"a member twice", "video/x-raw(memory:DMABuf), drm-format={ NV12, XR24, NV12 }", "video/x-raw(memory:DMABuf)",
     "video/x-raw(memory:DMABuf), drm-format=(string){ NV12, XR24 }"},
    {"malformed left out", "video/x-raw(memory:DMABuf), drm-format={ NV12, X }", "video/x-raw(memory:DMABuf), drm-format={ NV12, X }",
     "video/x-raw(memory:DMABuf), drm-format=(string)NV12"},
    {"only malformed", "video/x-raw(memory:DMABuf), drm-format=X", "video/x-raw(memory:DMABuf), drm-format=X", "EMPTY"},
    {"malformed with absent", "video/x-raw(memory:DMABuf), drm-format=X", "video/x-raw(memory:DMABuf)", "EMPTY"},
};

GST_START_TEST(test_rows)
{
  const Row &row = kRows[__i__];
  g_autoptr(GstCaps) first = gst_caps_from_string(row.first);
  g_autoptr(GstCaps) second = gst_caps_from_string(row.second);
  g_autoptr(GstCaps) result = gst_drm_caps_intersect(first, second);
  fail_unless(text_of(result) == row.result, "row %s: got %s", row.name, text_of(result).c_str());
}
GST_END_TEST

GST_START_TEST(test_random)
{
  gstdrm::test::RandomCaps generator(static_cast<guint32>(__i__) + 1);
  for (int i = 0; i < 500; ++i) {
    g_autoptr(GstCaps) a = generator.caps();
    g_autoptr(GstCaps) b = generator.caps();
    check_same(a, b, "random caps");
  }
}
GST_END_TEST

GstCaps *gpu_caps(const std::string &name)
{
  GstDrmFormatSet *set = gst_drm_format_set_new();
  for (const gstdrm::Format &pair : gstdrm::test::load_gpu_table(name))
    gst_drm_format_set_add(set, pair.fourcc, pair.modifier);
  GstCaps *caps = gst_drm_format_set_to_caps(set);
  gst_drm_format_set_unref(set);
  gst_caps_set_simple(caps, "width", GST_TYPE_INT_RANGE, 1, 8192, "framerate", GST_TYPE_FRACTION_RANGE, 0, 1, G_MAXINT,
                      1, nullptr);
  return caps;
}

// Caps of every GPU with those of every other one.
GST_START_TEST(test_gpus)
{
  const auto &names = gstdrm::test::gpu_table_names();
  const std::string &name = names[static_cast<std::size_t>(__i__)];
  g_autoptr(GstCaps) first = gpu_caps(name);
  for (const std::string &other : names) {
    g_autoptr(GstCaps) second = gpu_caps(other);
    check_same(first, second, (name + " x " + other).c_str());
  }
}
GST_END_TEST

Suite *capsintersect_suite()
{
  Suite *suite = suite_create("capsintersect");
  TCase *tcase = tcase_create("capsintersect");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_rows, 0, G_N_ELEMENTS(kRows));
  tcase_add_loop_test(tcase, test_random, 0, 20);
  tcase_add_loop_test(tcase, test_gpus, 0, static_cast<int>(gstdrm::test::gpu_table_names().size()));
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(capsintersect)
