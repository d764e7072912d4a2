// SPDX-License-Identifier: LGPL-2.1-or-later
// What vadmabufsrc and downstream agree on, in pipelines: driver x downstream's list -> format and
// modifier, or an error that names both; and what is registered.
#include <cstdio>
#include <cstring>

#include <gst/allocators/gstdmabuf.h>

#include "va_support.hpp"

namespace {

using namespace gstdrm::test;

#define DMA_DRM(list)                                                                              \
  "video/x-raw(memory:DMABuf),format=DMA_DRM,width=128,height=104,drm-format=" list
#define IMPLICIT(format) "video/x-raw(memory:DMABuf),width=128,height=104,format=" format
// planes end at page borders, as the driver has them: GStreamer's default layout, which needs no
// GstVideoMeta
#define PLAIN(format) "video/x-raw,width=128,height=128,format=" format
#define X_TILED "0x0100000000000001"
#define Y_TILED "0x0100000000000002"
#define RADEON "0x0200000018801b03"
#define BLOCKS_16 "0x03000000004fe014"
#define VIVANTE "0x0600000000000001"
#define SAMSUNG "0x0400000000000001"

struct Row {
  const char *driver;
  const char *downstream;
  const char *expected; // drm-format, or the format of other caps; "": an error
  bool dma_drm = true;
  const char *properties = "";
};
const Row kRows[] = {
    // one common pair
    {"formats=NV12", DMA_DRM("NV12"), "NV12"},
    {"modifiers=x-tiled", DMA_DRM("{NV12,NV12:" X_TILED "}"), "NV12:" X_TILED},
    {"modifiers=samsung", DMA_DRM("{XR24:" X_TILED ",NV12:" SAMSUNG "}"), "NV12:" SAMSUNG},
    {"modifiers=vivante:linear", DMA_DRM("{NV12:" X_TILED ",AR24:" VIVANTE "}"), "AR24:" VIVANTE},
    {"formats=P010:NV12", DMA_DRM("P010"), "P010"},
    // several: the driver chooses among all of them, in its own order, whatever downstream's is
    {"modifiers=x-tiled:linear", DMA_DRM("{XR24,XR24:" X_TILED "}"), "XR24:" X_TILED},
    {"modifiers=linear:x-tiled", DMA_DRM("{XR24:" X_TILED ",XR24}"), "XR24"},
    {"modifiers=samsung:x-tiled:linear", DMA_DRM("{NV12,NV12:" X_TILED ",NV12:" SAMSUNG "}"),
     "NV12:" SAMSUNG},
    {"modifiers=samsung:x-tiled:linear", DMA_DRM("NV12"), "NV12"},
    {"modifiers=samsung:x-tiled:linear,list-modifiers=1", DMA_DRM("{NV12,NV12:" X_TILED "}"),
     "NV12:" X_TILED},
    {"modifiers=x-tiled:linear,list-modifiers=1",
     "video/x-raw(memory:DMABuf),format=DMA_DRM,width=128,height=104", "NV12:" X_TILED},
    // of a driver that lists none, what downstream lists is tried
    {"modifiers=samsung:x-tiled:linear", DMA_DRM("{NV12,NV12:" X_TILED "}"), "NV12:" X_TILED},
    // a modifier that nobody here knows the layout of
    {"modifiers=0x0100000000000004:linear,list-modifiers=1",
     DMA_DRM("{NV12,NV12:0x0100000000000004}"), "NV12:0x0100000000000004"},
    // a driver that takes no list makes what it always makes
    {"modifiers=x-tiled:linear,accept-modifiers=0", DMA_DRM("{NV12,NV12:" X_TILED "}"),
     "NV12:" X_TILED},
    {"modifiers=x-tiled:linear,accept-modifiers=0", DMA_DRM("NV12"), "NV12"},
    {"modifiers=x-tiled:linear,accept-modifiers=0,linear-by-descriptor=0", DMA_DRM("NV12"), ""},
    // one that does not say what it made: implicit meets implicit only
    {"report-modifier=0,accept-modifiers=0", IMPLICIT("NV12"), "NV12", false},
    {"report-modifier=0,accept-modifiers=0", DMA_DRM("NV12"), ""},
    {"report-modifier=0,accept-modifiers=0", PLAIN("NV12"), ""},
    {"formats=NV12", IMPLICIT("NV12"), ""},
    // implicit-modifier: linear frames for peers that mean linear, and no others
    {"formats=NV12", IMPLICIT("NV12"), "NV12", false, "implicit-modifier=linear"},
    {"modifiers=x-tiled:linear", IMPLICIT("NV12"), "NV12", false, "implicit-modifier=linear"},
    {"modifiers=x-tiled:linear", DMA_DRM("NV12:" X_TILED) ";" IMPLICIT("NV12"), "NV12:" X_TILED, true,
     "implicit-modifier=linear"},
    {"modifiers=x-tiled", IMPLICIT("NV12"), "", true, "implicit-modifier=linear"},
    {"formats=NV12", IMPLICIT("NV12"), "", true, "implicit-modifier=driver"},
    {"report-modifier=0,accept-modifiers=0", IMPLICIT("NV12"), "NV12", false, "implicit-modifier=driver"},
    {"report-modifier=0,accept-modifiers=0", IMPLICIT("NV12"), "", true, "implicit-modifier=refuse"},
    // linear frames for peers that know no DMA_DRM
    {"formats=NV12", PLAIN("NV12"), "NV12", false},
    {"formats=BGRX", PLAIN("{NV12,BGRx}"), "BGRx", false},
    {"modifiers=x-tiled", PLAIN("NV12"), ""},
    {"modifiers=x-tiled:linear", PLAIN("NV12"), "NV12", false},
    // DMA_DRM before plain caps, whatever downstream's order
    {"formats=NV12", DMA_DRM("AR24") ";" PLAIN("NV12"), "NV12", false},
    {"formats=NV12", PLAIN("NV12") ";" DMA_DRM("NV12"), "NV12"},
    {"modifiers=x-tiled", PLAIN("NV12") ";" DMA_DRM("NV12:" X_TILED), "NV12:" X_TILED},
    // Intel's iHD: other names for RGB, linear by descriptor, a tiling of its own for YUV
    {"profile=ihd", DMA_DRM("XR24"), "XR24"},
    {"profile=ihd", DMA_DRM("{AB24,BX24}"), "AB24"},
    {"profile=ihd", DMA_DRM("BX24"), ""}, // its XRGB is XR24
    {"profile=ihd", DMA_DRM("NV12"), "NV12"},
    {"profile=ihd", DMA_DRM("{NV12,NV12:" Y_TILED "}"), "NV12:" Y_TILED},
    {"profile=ihd", PLAIN("NV12"), "NV12", false},
    {"profile=ihd", PLAIN("BGRx"), "BGRx", false},
    {"profile=ihd", DMA_DRM("NV12:" X_TILED), ""},
    {"profile=ihd,linear-by-descriptor=0", PLAIN("NV12"), ""},
    // Intel's i965: takes a list and does not look at it
    {"profile=i965", DMA_DRM("NV12"), "NV12"},
    {"profile=i965", DMA_DRM("{XR24,XR24:" X_TILED "}"), "XR24"},
    {"profile=i965", DMA_DRM("{NV12:" X_TILED ",NV12:" Y_TILED "}"), "NV12:" Y_TILED},
    {"profile=i965", PLAIN("YUY2"), "YUY2", false},
    // radeonsi: no modifier without a list, so downstream's list is tried; no drawing into 4:2:2
    {"profile=radeonsi", DMA_DRM("{NV12,NV12:" RADEON "}"), "NV12:" RADEON},
    {"profile=radeonsi", DMA_DRM("{NV12:" X_TILED ",NV12:" RADEON "}"), "NV12:" RADEON},
    {"profile=radeonsi", DMA_DRM("NV12:" X_TILED), ""},
    {"profile=radeonsi,stride-align=64", PLAIN("NV12"), "NV12", false},
    {"profile=radeonsi", IMPLICIT("NV12"), ""},
    {"profile=radeonsi", DMA_DRM("{YUYV,UYVY}"), ""},
    {"profile=radeonsi,vpp-refused=UYVY", DMA_DRM("YUYV"), "YUYV"},
    {"profile=radeonsi,stride-align=64", PLAIN("{YUY2,I420}"), "I420", false},
    // radeonsi of Mesa 26 has a modifier without a list, too
    {"profile=radeonsi26", DMA_DRM("{NV12,NV12:" RADEON "}"), "NV12:" RADEON},
    {"profile=radeonsi26", DMA_DRM("{XR24:" X_TILED ",XR24:" RADEON "}"), "XR24:" RADEON},
    {"profile=radeonsi26", DMA_DRM("{BA24,BX24}"), "BA24"},
    {"profile=radeonsi26", DMA_DRM("NV12:" X_TILED), ""},
    {"profile=radeonsi26,stride-align=64", PLAIN("NV12"), "NV12", false},
    {"profile=radeonsi26", IMPLICIT("NV12"), ""},
    {"profile=radeonsi26", DMA_DRM("{YUYV,UYVY}"), ""},
    // radeonsi before GFX9, which takes no list
    {"profile=radeonsi,accept-modifiers=0,modifiers=linear", IMPLICIT("NV12"), "NV12", false},
    // nouveau: takes no list, and the height decides
    {"profile=nouveau", DMA_DRM("XR24:" BLOCKS_16), "XR24:" BLOCKS_16},
    {"profile=nouveau", DMA_DRM("XR24"), "XR24"},
    {"profile=nouveau", PLAIN("BGRx"), "BGRx", false},
    {"profile=nouveau", DMA_DRM("YUYV"), ""},
    // drawn at 64 rows, when probed, and not at 104: the next pair
    {"formats=NV12:BGRX,vpp-refused=NV12,vpp-refused-above=100", DMA_DRM("{NV12,XR24}"), "XR24"},
    {"formats=NV12:BGRX,modifiers=x-tiled:linear,list-modifiers=1,vpp-refused=NV12,"
     "vpp-refused-above=100",
     DMA_DRM("{NV12,NV12:" X_TILED ",XR24:" X_TILED "}"), "XR24:" X_TILED},
    // the tiling that the driver likes best is not made, or not drawn, at this size: the next one
    {"formats=BGRX,modifiers=x-tiled:y-tiled:linear,make-refused-above=x-tiled:100",
     DMA_DRM("{XR24,XR24:" X_TILED ",XR24:" Y_TILED "}"), "XR24:" Y_TILED},
    {"formats=BGRX,modifiers=x-tiled:y-tiled:linear,draw-refused-above=x-tiled:100",
     DMA_DRM("{XR24,XR24:" X_TILED ",XR24:" Y_TILED "}"), "XR24:" Y_TILED},
    {"formats=BGRX,modifiers=x-tiled:y-tiled:linear,make-refused-above=x-tiled:400",
     DMA_DRM("{XR24,XR24:" X_TILED ",XR24:" Y_TILED "}"), "XR24:" X_TILED}, // at 480 rows it is not
    {"formats=BGRX,modifiers=x-tiled:y-tiled:linear,make-refused-above=x-tiled:100,list-modifiers=1",
     DMA_DRM("{XR24,XR24:" X_TILED ",XR24:" Y_TILED "}"), "XR24:" Y_TILED},
    // sizes that are none: those of the kernel and of GStreamer are the limits then
    {"formats=NV12,said-sizes=1:0", DMA_DRM("NV12"), "NV12"},
    {"formats=NV12,said-sizes=500:100", DMA_DRM("NV12"), "NV12"},
    {"formats=NV12,said-sizes=-5:-1", DMA_DRM("NV12"), "NV12"},
    {"formats=NV12,said-sizes=0:-1", DMA_DRM("NV12"), "NV12"},
    // nothing
    {"formats=NV12", DMA_DRM("{XR24,AR24}"), ""},
    {"modifiers=samsung", DMA_DRM("{NV12,NV12:" X_TILED "}"), ""},
    {"formats=NV12,max-size=64", DMA_DRM("NV12"), ""},
};

void set_filter(Pipeline &pipeline, const char *text)
{
  g_autoptr(GstCaps) caps = gst_caps_from_string(text);
  fail_unless(caps != nullptr, "%s", text);
  g_object_set(pipeline.get("filter"), "caps", caps, nullptr);
}

GST_START_TEST(test_agreement)
{
  const auto &row = kRows[__i__];
  set_driver(row.driver);
  Pipeline pipeline(source(std::string("pattern=frame-counter num-buffers=3 ") + row.properties,
                           "capsfilter name=filter"));
  set_filter(pipeline, row.downstream);
  const bool playing = pipeline.play();
  if (*row.expected == '\0') {
    const auto error = pipeline.message(GST_MESSAGE_ERROR);
    fail_unless(error.find("/dev/dri/renderD128") != std::string::npos, "%s to %s: '%s'",
                row.driver, row.downstream, error.c_str());
    fail_unless(error.find("format in common") != std::string::npos, "%s to %s: '%s'", row.driver,
                row.downstream, error.c_str());
    return;
  }
  fail_unless(playing);
  g_autoptr(GstSample) sample = pipeline.pull();
  fail_unless(sample != nullptr, "%s to %s: %s", row.driver, row.downstream,
              pipeline.message(GST_MESSAGE_ERROR).c_str());
  const GstCaps *caps = gst_sample_get_caps(sample);
  const GstStructure *structure = gst_caps_get_structure(caps, 0);
  const char *agreed = gst_structure_get_string(structure, row.dma_drm ? "drm-format" : "format");
  fail_unless(agreed != nullptr, "%" GST_PTR_FORMAT, caps);
  fail_unless(std::string(agreed) == row.expected, "%s to %s: got %s, expected %s", row.driver,
              row.downstream, agreed, row.expected);
  fail_unless_equals_int(gst_structure_has_field(structure, "drm-format"), row.dma_drm);
  fail_unless(gst_is_dmabuf_memory(gst_buffer_peek_memory(gst_sample_get_buffer(sample), 0)));
}
GST_END_TEST

struct ConvertRow {
  const char *properties; // of vadmabufconvert, whose frames name no modifier
  const char *error;      // a part of it; "": none
};
const ConvertRow kConverts[] = {
    {"implicit-modifier=linear", ""},
    {"implicit-modifier=driver", ""},
    {"implicit-modifier=auto", "vadmabufconvert0 (vadmabufconvert) takes no such caps"},
    {"implicit-modifier=refuse", "vadmabufconvert0 (vadmabufconvert) takes no such caps"},
};

GST_START_TEST(test_conversion_without_a_modifier)
{
  const auto &row = kConverts[__i__];
  set_driver("formats=NV12:BGRX");
  Pipeline pipeline(source("pattern=frame-counter num-buffers=3 implicit-modifier=linear",
                           std::string("capsfilter name=filter ! vadmabufconvert ") + row.properties +
                               " ! " DMA_DRM("XR24")));
  set_filter(pipeline, IMPLICIT("NV12")); // now that all is linked
  (void)pipeline.play();
  g_autoptr(GstSample) sample = *row.error ? nullptr : pipeline.pull();
  if (!*row.error && sample)
    return;
  const auto error = pipeline.message(GST_MESSAGE_ERROR);
  fail_unless(*row.error && error.find(row.error) != std::string::npos, "%s: '%s'", row.properties, error.c_str());
}
GST_END_TEST

// Downstream no longer takes the pair that the driver liked best, as a display whose plane refuses it at a size: the
// driver chooses among the others that downstream lists, those that it did not choose before among them.
GST_START_TEST(test_choice_that_is_taken_out)
{
  set_driver("formats=NV12:BGRX,modifiers=x-tiled:y-tiled:linear");
  const bool converts = __i__ == 1;
  Pipeline pipeline(source("pattern=frame-counter", std::string(converts ? DMA_DRM("NV12") " ! vadmabufconvert ! " : "") +
                                                        "capsfilter name=filter"));
  set_filter(pipeline, DMA_DRM("{XR24,XR24:" X_TILED ",XR24:" Y_TILED "}"));
  g_object_set(pipeline.get("sink"), "max-buffers", 1, nullptr);
  fail_unless(pipeline.play());
  std::string agreed;
  const auto next = [&] {
    g_autoptr(GstSample) sample = pipeline.pull();
    fail_unless(sample != nullptr, "%s", pipeline.message(GST_MESSAGE_ERROR).c_str());
    const char *pair =
        gst_structure_get_string(gst_caps_get_structure(gst_sample_get_caps(sample), 0), "drm-format");
    agreed = pair ? pair : "none";
  };
  next();
  fail_unless(agreed == "XR24:" X_TILED, "%s", agreed.c_str());
  set_filter(pipeline, DMA_DRM("{XR24,XR24:" Y_TILED "}"));
  for (int i = 0; i < 20 && agreed == "XR24:" X_TILED; ++i) // frames that are on their way
    next();
  fail_unless(agreed == "XR24:" Y_TILED, "%s", agreed.c_str());
}
GST_END_TEST

// gst-inspect-1.0 is not built with a sanitizer and cannot load plugins that are.
#if !defined(__SANITIZE_ADDRESS__)

struct InspectRow {
  const char *driver;
  const char *expected; // a line of the template
  const char *absent;   // "": nothing
};
const InspectRow kInspect[] = {
    {"modifiers=x-tiled:linear,formats=NV12:BGRX,accept-modifiers=0",
     "drm-format: { (string)NV12, (string)NV12:" X_TILED ", (string)XR24, (string)XR24:" X_TILED
     " }",
     ""},
    {"modifiers=x-tiled:linear,formats=NV12:BGRX,list-modifiers=1",
     "drm-format: { (string)NV12, (string)NV12:" X_TILED ", (string)XR24, (string)XR24:" X_TILED
     " }",
     ""},
    {"modifiers=x-tiled,formats=BGRX,accept-modifiers=0,linear-by-descriptor=0",
     "drm-format: XR24:" X_TILED, "video/x-raw\n"},
    // whatever downstream lists may be taken
    {"modifiers=x-tiled:linear,formats=NV12", "format: DMA_DRM", "drm-format: "},
    {"formats=NV12,max-size=4096", "width: [ 1, 4096 ]", ""},
    {"formats=NV12,fail=export", "format: DMA_DRM", "drm-format: "}, // as good as none
    {"fail=init", "format: DMA_DRM", "drm-format: "},
};

GST_START_TEST(test_inspect)
{
  const auto &row = kInspect[__i__];
  set_driver(row.driver);
  const auto registry = "/tmp/va-inspect-registry-" + std::to_string(__i__);
  g_setenv("GST_REGISTRY_1_0", registry.c_str(), TRUE);
  g_setenv("GST_PLUGIN_SYSTEM_PATH_1_0", "", TRUE);
  std::string out;
  FILE *pipe = ::popen("gst-inspect-1.0 vadmabufsrc", "r");
  fail_unless(pipe != nullptr);
  char part[4096];
  while (const auto length = std::fread(part, 1, sizeof part, pipe))
    out.append(part, length);
  fail_unless_equals_int(::pclose(pipe), 0);
  const auto begin = out.find("Pad Templates");
  fail_unless(begin != std::string::npos);
  const auto templates = out.substr(begin, out.find("Element has no clocking") -
                                               begin); // a message may not be too long
  fail_unless(templates.find(row.expected) != std::string::npos, "%s: %s", row.driver,
              templates.c_str());
  fail_unless(*row.absent == '\0' || templates.find(row.absent) == std::string::npos, "%s: %s",
              row.driver, templates.c_str());
}
GST_END_TEST

#endif

// ---- what the library lists

struct SourceRow {
  const char *driver;
  const char *pair;    // one of those listed; "": none is
  const char *problem; // part of it; "": there is none
};
const SourceRow kSources[] = {
    {"formats=NV12", "NV12", ""},
    {"formats=NV12,modifiers=samsung", "NV12:" SAMSUNG, ""},
    {"profile=radeonsi", "NV12", ""},
    {"fail=init", "", "vaInitialize"},
    {"fail=export", "", "vaExportSurfaceHandle"},
};

GST_START_TEST(test_sources)
{
  const auto &row = kSources[__i__];
  set_driver(row.driver);
  g_autoptr(GPtrArray) list = gst_drm_enumerate_va();
  fail_unless_equals_int(static_cast<int>(list->len), 1); // vgem's render node; vkms has none
  const auto *source = static_cast<const GstDrmSource *>(g_ptr_array_index(list, 0));
  fail_unless_equals_int(gst_drm_source_get_kind(source), GST_DRM_SOURCE_KIND_VA);
  fail_unless_equals_string(gst_drm_source_get_name(source), "va:renderD128");
  fail_unless_equals_string(gst_drm_source_get_device(source), "/dev/dri/renderD128");
  fail_unless_equals_string(gst_drm_source_get_driver(source), "vgem");
  g_autoptr(GstDrmFormatSet) formats = gst_drm_source_get_formats(source);
  const gchar *problem = gst_drm_source_get_problem(source);
  fail_unless((problem != nullptr) == (*row.problem != '\0'), "'%s'", problem);
  fail_unless(!problem || std::strstr(problem, row.problem), "'%s'", problem);
  if (*row.pair == '\0') {
    fail_unless_equals_int(static_cast<int>(gst_drm_format_set_get_size(formats)), 0);
    return;
  }
  guint32 fourcc = 0;
  guint64 modifier = 0;
  fail_unless(gst_drm_format_parse(row.pair, &fourcc, &modifier, nullptr));
  fail_unless(gst_drm_format_set_contains(formats, fourcc, modifier));
}
GST_END_TEST

Suite *va_negotiation_suite()
{
  Suite *suite = suite_create("vadmabufsrc negotiation");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_agreement, 0, G_N_ELEMENTS(kRows));
  tcase_add_loop_test(tcase, test_conversion_without_a_modifier, 0, G_N_ELEMENTS(kConverts));
  tcase_add_loop_test(tcase, test_choice_that_is_taken_out, 0, 2);
  tcase_add_loop_test(tcase, test_sources, 0, G_N_ELEMENTS(kSources));
#if !defined(__SANITIZE_ADDRESS__)
  tcase_add_loop_test(tcase, test_inspect, 0, G_N_ELEMENTS(kInspect));
#endif
  return suite;
}

} // namespace

GST_DRM_VA_CHECK_MAIN(va_negotiation)
