// SPDX-License-Identifier: LGPL-2.1-or-later
// What the VA engine logs for somebody who looks for a fault of a driver: the lines of category vadmabufsrc at their
// levels.
#include <algorithm>

#include "va_support.hpp"

namespace {

using namespace gstdrm::test;

std::mutex lines_lock; // guards lines, which streaming threads add to
std::vector<std::string> lines;

void read_line(GstDebugCategory *from, GstDebugLevel level, const gchar *, const gchar *, gint, GObject *,
               GstDebugMessage *message, gpointer) noexcept
{
  if (std::string(gst_debug_category_get_name(from)) != "vadmabufsrc")
    return;
  const std::lock_guard guard(lines_lock);
  lines.push_back(std::to_string(static_cast<int>(level)) + " " + gst_debug_message_get(message));
}

class Reading {
public:
  explicit Reading(GstDebugLevel most_detailed)
  {
    lines.clear();
    gst_debug_set_active(TRUE);
    gst_debug_remove_log_function(gst_debug_log_default);
    gst_debug_add_log_function(read_line, nullptr, nullptr);
    gst_debug_set_threshold_for_name("vadmabufsrc", most_detailed);
  }
  Reading(const Reading &) = delete;
  Reading &operator=(const Reading &) = delete;
  ~Reading()
  {
    gst_debug_unset_threshold_for_name("vadmabufsrc");
    gst_debug_remove_log_function(read_line);
  }
};

bool has(const char *part)
{
  const std::lock_guard guard(lines_lock);
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string &line) { return line.find(part) != line.npos; });
}

struct Row {
  const char *driver;
  std::vector<const char *> said;
  const char *format = "NV12";
};
const Row kRows[] = {
    {"formats=NV12,list-modifiers=1,modifiers=x-tiled:linear",
     {"4 opened /dev/dri/renderD128 with VA-API 1.",
      "VAEntrypointVideoProc: 1 formats, ",
      "a list of modifiers is taken; the driver lists 2 modifiers",
      "5 listed: ",
      "5 found NV12",
      "5 NV12 of 320x240 is drawn by video processing",
      " is made: NV12 of 320x240, ",
      " is exported with composed layers: NV12",
      "6   plane 1: object 0 of ",
      " pieces are composed"}},
    {"formats=NV12,layers=separate",
     {"5 refused: vaExportSurfaceHandle on /dev/dri/renderD128 (", "VA_STATUS_ERROR_",
      " is exported with separate layers: NV12"}},
    {"formats=NV12,fail=create", {"5 refused: vaCreateSurfaces on /dev/dri/renderD128 ("}},
    {"formats=NV12,fail=init", {"5 refused: vaInitialize on /dev/dri/renderD128: VA_STATUS_ERROR_",
                                "5 /dev/dri/renderD128 is not used: vaInitialize"}},
    {"formats=NV12,lie=zero-pitch", {"5 refused: The driver's description of a NV12 surface"}},
    // another name of the same layout, and a name of another one
    {"formats=BGRX,alias=BGRX:XRGB:XR24", {"6 the driver's name for BGRX (VA) is XRGB", " is exported with composed layers: XR24"}, "XR24"},
    {"formats=RGBA,alias=RGBA:RGBA:RA24", {"6 the driver's name for the layer AB24 is RA24", "5 found AB24"}, "AB24"},
    {"formats=YUY2,alias=YUY2:YUYV:YUYV", {"6 the driver's name for YUY2 (VA) is YUYV", "5 found YUYV"}, "YUYV"},
    {"formats=BGRX,alias=BGRX:BGRA:AR24", {"5 refused: The driver's description of a XR24 surface of 64x64 cannot be used: it says BGRA, BGRX (VA) was asked for"}, "XR24"},
    {"formats=NV12,async=20,fences=0", {"vaSyncSurface waits", "vaSyncSurface is done"}},
    {"formats=NV12,vpp=0,derive=0", {"5 NV12 of 320x240 is drawn by the CPU", "5 vaDeriveImage gives no image of NV12"}},
};

void play(const Row &row)
{
  set_driver(row.driver);
  Pipeline pipeline(source("num-buffers=3", dma_caps(row.format, 320, 240)));
  if (!pipeline.play())
    return;
  while (GstSample *sample = pipeline.pull())
    gst_sample_unref(sample);
}

GST_START_TEST(test_tells)
{
  const Row &row = kRows[__i__];
  const Reading reading(GST_LEVEL_TRACE);
  play(row);
  for (const char *part : row.said) {
    if (has(part))
      continue;
    for (const std::string &line : lines)
      std::fprintf(stderr, "# %s\n", line.c_str());
    fail("%s: no line has '%s'", row.driver, part);
  }
}
GST_END_TEST

// Frames cost no line at DEBUG.
GST_START_TEST(test_is_silent_about_frames_at_debug)
{
  const Reading reading(GST_LEVEL_DEBUG);
  set_driver("formats=NV12");
  Pipeline pipeline(source("num-buffers=100", dma_caps("NV12", 320, 240)));
  fail_unless(pipeline.play());
  g_autoptr(GstSample) first = pipeline.pull();
  fail_unless(first != nullptr);
  const auto count = [] {
    const std::lock_guard guard(lines_lock);
    return std::count_if(lines.begin(), lines.end(), [](const std::string &line) {
      return line.find("surface 0x") != line.npos || line.find("plane ") != line.npos;
    });
  };
  while (GstSample *sample = pipeline.pull())
    gst_sample_unref(sample);
  fail_unless_equals_int(count(), 0);
}
GST_END_TEST

Suite *va_log_suite()
{
  Suite *suite = suite_create("va log");
  TCase *tcase = tcase_create("log of the engine");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_tells, 0, G_N_ELEMENTS(kRows));
  tcase_add_test(tcase, test_is_silent_about_frames_at_debug);
  return suite;
}

} // namespace

GST_DRM_VA_CHECK_MAIN(va_log)
