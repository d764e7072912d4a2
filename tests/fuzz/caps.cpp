// SPDX-License-Identifier: LGPL-2.1-or-later
// Fuzz target: two caps, built from bytes. They are read as video infos and format sets, and intersected. Nothing may
// crash or be said as CRITICAL, and what is written has to be read as the same.
#include <gst/drm/drm.h>

#include "fuzz/caps_builder.hpp"
#include "fuzz/gstreamer.hpp"

namespace {

using gstdrm::test::expect;

void check_info(const GstCaps *caps)
{
  (void)gst_drm_is_dma_drm_caps(caps);
  GstDrmVideoInfo info;
  GError *error = nullptr;
  if (!gst_drm_video_info_from_caps_full(&info, caps, &error)) {
    expect(error && g_utf8_validate(error->message, -1, nullptr), "a refusal has a reason");
    expect(!g_strrstr(error->message, "fault of gst-drm"), "no exception");
    g_error_free(error);
    return;
  }
  g_autoptr(GstCaps) written = gst_drm_video_info_to_caps(&info);
  if (!written)
    return; // implicit, and without a name
  expect(gst_caps_is_fixed(written), "written caps are fixed");
  GstDrmVideoInfo again;
  expect(gst_drm_video_info_from_caps(&again, written), "written caps can be read");
  expect(again.drm_fourcc == info.drm_fourcc && again.drm_modifier == info.drm_modifier, "the pair survives");
}

void check_set(const GstCaps *caps)
{
  GstDrmFormatSet *set = gst_drm_format_set_new_from_caps(caps);
  if (!set)
    return;
  g_autoptr(GstCaps) written = gst_drm_format_set_to_caps(set);
  GstDrmFormatSet *again = gst_drm_format_set_new_from_caps(written);
  expect(again && gst_drm_format_set_is_equal(set, again), "a set survives its caps");
  g_autoptr(GstCaps) raw = gst_drm_format_set_to_raw_caps(set);
  g_autofree gchar *text = gst_drm_format_set_to_string(set);
  expect(text && raw, "a set has a text and raw caps");
  gst_drm_format_set_unref(again);
  gst_drm_format_set_unref(set);
}

} // namespace

extern "C" int LLVMFuzzerInitialize(int *argc, char ***argv)
{
  return gstdrm::test::init_gstreamer(argc, argv);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
  gstdrm::test::Bytes bytes(data, size);
  g_autoptr(GstCaps) first = gstdrm::test::build_caps(bytes);
  g_autoptr(GstCaps) second = gstdrm::test::build_caps(bytes);
  for (const GstCaps *caps : {first, second}) {
    check_info(caps);
    check_set(caps);
  }
  g_autoptr(GstCaps) common = gst_drm_caps_intersect(first, second);
  check_info(common);
  check_set(common);
  return 0;
}
