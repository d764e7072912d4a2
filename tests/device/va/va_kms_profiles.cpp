// SPDX-License-Identifier: LGPL-2.1-or-later
// vadmabufsrc ! kmsdmabufsink where both drivers are imitated: the test driver plays a VA-API driver, and
// vkms the display of the same machine. Each pair says what the two agree on; 600 frames are shown, none
// copied. vkms takes modifiers that it does not know as labels, so the pixels of tiled rows are not looked at.
#include <string>

#include "device/kms/profile_facts.hpp"
#include "va_support.hpp"
#include <gst/drm/gstdrm-private.hpp>

namespace {

using namespace gstdrm::test;

struct Row {
  const char *driver;
  const char *display;
  const char *caps; // between the two; "" where anything goes
  const char *agreed; // the drm-format, or the format of plain caps
};

const Row kRows[] = {
    {"ihd", "i915", "NV12", "NV12:0x0100000000000002"},
    {"ihd", "i915", "XR24", "XR24"},
    {"i965", "i915", "NV12", "NV12:0x0100000000000002"},
    {"radeonsi", "amdgpu", "NV12", "NV12"},
    {"radeonsi", "amdgpu", "XR24", "XR24"},
    {"radeonsi26", "amdgpu", "NV12", "NV12"},
    {"nouveau", "nvidia-drm", "XR24", "XR24"},
    {"ihd", "virtio", "", "BGRx"},
    {"ihd", "mediatek", "", "XR24"},
};

constexpr int kFrames = 600;

std::string caps_of(const Row &row)
{
  const std::string size = ",width=1024,height=768,framerate=60/1";
  if (!*row.caps)
    return "video/x-raw(ANY)" + size;
  std::string formats;
  for (const char *modifier : {":0x0100000000000002", ":0x0200000018801b03", ""})
    formats += std::string(formats.empty() ? "" : ",") + "(string)\"" + row.caps + modifier + "\"";
  return "video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format={" + formats + "}" + size;
}

// Of the sink; Pipeline::stat() is the source's.
std::uint64_t stat_of(const Pipeline &pipeline, const char *name)
{
  g_autoptr(GstStructure) stats = nullptr;
  g_object_get(pipeline.get("sink"), "drm-stats", &stats, nullptr);
  guint64 value = 0;
  ck_assert_msg(gst_structure_get_uint64(stats, name, &value), "%s", name);
  return value;
}

std::string agreed_of(const Pipeline &pipeline)
{
  const auto pad = gstdrm::GstPtr<GstPad>::adopt(gst_element_get_static_pad(pipeline.get("sink"), "sink"));
  const auto caps = gstdrm::GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(pad.get()));
  ck_assert(caps);
  const GstStructure *structure = gst_caps_get_structure(caps.get(), 0);
  const char *pair = gst_structure_get_string(structure, "drm-format");
  return pair ? pair : gst_structure_get_string(structure, "format");
}

GST_START_TEST(test_pair)
{
  const Row &row = kRows[__i__];
  const ConfigfsDevice device("pair" + std::to_string(__i__), facts_of(row.display));
  set_driver(std::string("profile=") + row.driver);
  Pipeline pipeline(source("pattern=smpte num-surfaces=8 num-buffers=" + std::to_string(kFrames), caps_of(row),
                           "kmsdmabufsink name=sink mode=match sync=false driver-name=\"\" device=" + device.path()));
  const bool plays = pipeline.play();
  const std::string end = pipeline.wait_for_end();
  ck_assert_msg(plays && end == "eos", "%s on %s: %s", row.driver, row.display, end.c_str());
  const std::string agreed = agreed_of(pipeline);
  g_print("# %s on %s: %s\n", row.driver, row.display, agreed.c_str());
  ck_assert_str_eq(agreed.c_str(), row.agreed);
  ck_assert_uint_eq(stat_of(pipeline, "frames"), kFrames);
  ck_assert_uint_eq(stat_of(pipeline, "shown"), kFrames);
  ck_assert_uint_eq(stat_of(pipeline, "copies"), 0);
}
GST_END_TEST

Suite *va_kms_profiles_suite()
{
  Suite *suite = suite_create("vadmabufsrc on displays of real drivers");
  TCase *tcase = tcase_create("pairs");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_pair, 0, G_N_ELEMENTS(kRows));
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(va_kms_profiles)
