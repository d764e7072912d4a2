// SPDX-License-Identifier: LGPL-2.1-or-later
// What a GPU that draws by VA-API and one that reads by EGL agree on: vadmabufsrc on the test
// driver, and the caps of egldmabufupload for each vendor's real list.
#include <string>
#include <vector>

#include <gst/allocators/gstdmabuf.h>

#include "../va/va_support.hpp"
#include "element/gsteglcaps.hpp"
#include "element/gsteglformats.hpp"
#include "support/gpu_table.hpp"
#include "unit/egl/fake_egl.hpp"

namespace {

using gstdrm::GstPtr;
using namespace gstdrm::test;

// A table of tests/data/egl-formats through the engine's own query.
gstdrm::UploadFormats formats_of(const char *table)
{
  FakeEgl driver;
  driver.load_table(table);
  const auto listed = gstdrm::egl::query_formats(driver.calls().egl, driver.display());
  fail_unless(!!listed, "%s", table);
  gstdrm::UploadDevice device;
  device.images = *listed;
  device.planes = gstdrm::plane_pairs(*listed);
  device.can_copy = false;
  return gstdrm::UploadFormats(device);
}

// The caps of the sink pad, of a size.
GstPtr<GstCaps> sink_caps(const char *table, const char *downstream)
{
  g_autoptr(GstCaps) wanted = gst_caps_from_string(downstream);
  GstPtr<GstCaps> caps = gstdrm::upload_transform(GST_PAD_SRC, wanted, formats_of(table));
  GstCaps *sized = gst_caps_make_writable(caps.release());
  gst_caps_set_simple(sized, "width", G_TYPE_INT, 128, "height", G_TYPE_INT, 128, nullptr);
  return GstPtr<GstCaps>::adopt(sized);
}

// What the source chose, or "" after an error.
std::string agree(const std::string &driver, GstCaps *downstream)
{
  set_driver(driver);
  Pipeline pipeline(source("pattern=frame-counter num-buffers=1", "capsfilter name=filter"));
  g_object_set(pipeline.get("filter"), "caps", downstream, nullptr);
  if (!pipeline.play())
    return {};
  g_autoptr(GstSample) sample = pipeline.pull();
  if (!sample)
    return {};
  fail_unless(gst_is_dmabuf_memory(gst_buffer_peek_memory(gst_sample_get_buffer(sample), 0)));
  const GstStructure *structure = gst_caps_get_structure(gst_sample_get_caps(sample), 0);
  const char *pair = gst_structure_get_string(structure, "drm-format");
  return pair ? pair : std::string("implicit ") + gst_structure_get_string(structure, "format");
}

#define ANY "video/x-raw(memory:GLMemory)"
#define RGBA_2D "video/x-raw(memory:GLMemory), format=RGBA, texture-target=2D"
#define NV12_2D "video/x-raw(memory:GLMemory), format=NV12, texture-target=2D"

struct Row {
  const char *table;
  const char *modifier; // what the drawing GPU makes best; linear is next
  const char *downstream;
  const char *rgb; // agreed on by a source of XR24 alone; "": nothing
  const char *yuv; // by one of NV12 alone
};
const Row kRows[] = {
    // the GPU's best layout, which it reads as well
    {"amd-gfx1201", "0x0200000000082305", ANY, "XR24:0x0200000000082305",
     "NV12:0x0200000000082305"},
    {"amd-navi10", "0x0200000000801b02", ANY, "XR24:0x0200000000801b02", "NV12:0x0200000000801b02"},
    {"amd-navi21", "0x0200000020801b03", ANY, "XR24:0x0200000020801b03", "NV12:0x0200000020801b03"},
    {"amd-navi31", "0x0200000028a01f04", ANY, "XR24:0x0200000028a01f04", "NV12:0x0200000028a01f04"},
    {"amd-navi33", "0x0200000018601b04", ANY, "XR24:0x0200000018601b04", "NV12:0x0200000018601b04"},
    {"amd-phoenix", "0x0200000010401b04", ANY, "XR24:0x0200000010401b04",
     "NV12:0x0200000010401b04"},
    {"amd-raphael_mendocino", "0x0200000000401b03", ANY, "XR24:0x0200000000401b03",
     "NV12:0x0200000000401b03"},
    {"amd-raven", "0x0200000000401a01", ANY, "XR24:0x0200000000401a01", "NV12:0x0200000000401a01"},
    {"amd-raven2", "0x0200000003201a01", ANY, "XR24:0x0200000003201a01", "NV12:0x0200000003201a01"},
    {"amd-rembrandt", "0x0200000010401b03", ANY, "XR24:0x0200000010401b03",
     "NV12:0x0200000010401b03"},
    {"amd-renoir", "0x0200000000401a01", ANY, "XR24:0x0200000000401a01", "NV12:0x0200000000401a01"},
    {"amd-strix1", "0x0200000010401b04", ANY, "XR24:0x0200000010401b04", "NV12:0x0200000010401b04"},
    {"amd-vangogh", "0x0200000008401b03", ANY, "XR24:0x0200000008401b03",
     "NV12:0x0200000008401b03"},
    {"amd-vega10", "0x0200000004801a01", ANY, "XR24:0x0200000004801a01", "NV12:0x0200000004801a01"},
    {"amd-vega20", "0x0200000004801a01", ANY, "XR24:0x0200000004801a01", "NV12:0x0200000004801a01"},
    {"asahi-g13g", "0x0c00000000000002", ANY, "XR24:0x0c00000000000002", "NV12:0x0c00000000000002"},
    {"freedreno-a618", "0x0500000000000001", ANY, "XR24:0x0500000000000001",
     "NV12:0x0500000000000001"},
    // it makes layouts that its YUV cannot have: the planes of NV12 are linear
    {"freedreno-a660", "0x0500000000000003", ANY, "XR24:0x0500000000000003", "NV12"},
    {"freedreno-a702", "0x0500000000000003", ANY, "XR24:0x0500000000000003", "NV12"},
    // R8 and GR88 are listed as tiled and NV12 is not: no tiles of NV12 plane by plane
    {"nouveau-nv106", "0x03000000004fe010", ANY, "XR24:0x03000000004fe010", "NV12"},
    {"nouveau-nv12b", "0x03000000000fe010", ANY, "XR24:0x03000000000fe010", "NV12"},
    {"nouveau-nv162", "0x0300000000606010", ANY, "XR24:0x0300000000606010", "NV12"},
    {"nvidia-gh100", "0x0300000000606014", ANY, "XR24:0x0300000000606014",
     "NV12:0x0300000000606014"},
    // displays that list linear alone
    {"freedreno-a201", "0x0500000000000001", ANY, "XR24", "NV12"},
    {"freedreno-a305", "0x0500000000000001", ANY, "XR24", "NV12"},
    {"freedreno-a420", "0x0500000000000001", ANY, "XR24", "NV12"},
    {"llvmpipe", "x-tiled", ANY, "XR24", "NV12"},
    // the list of one vendor and the buffers of another
    {"amd-navi31", "x-tiled", ANY, "XR24", "NV12"},
    {"nouveau-nv106", "0x0200000000801b02", ANY, "XR24", "NV12"},
    // compressed: the test driver's frames have no plane of metadata, and the source says linear
    {"amd-navi31", "0x0200000028a6bf04", ANY, "XR24", "NV12"},
    // NV12 as one image is external-oes alone; plane by plane it is 2D, and drawn where RGBA is asked for
    {"amd-navi31", "0x0200000028a01f04", RGBA_2D, "XR24:0x0200000028a01f04", "NV12:0x0200000028a01f04"},
    {"amd-navi31", "0x0200000028a01f04", NV12_2D, "", "NV12:0x0200000028a01f04"},
    {"llvmpipe", "x-tiled", RGBA_2D, "XR24", "NV12"},
    {"llvmpipe", "x-tiled", NV12_2D, "", "NV12"},
    // NVIDIA's own driver reads linear frames as external-oes alone, and lists RG88 where planes need GR88
    {"nvidia-gh100", "x-tiled", ANY, "XR24", "NV12"},
    {"nvidia-gh100", "x-tiled", RGBA_2D, "", ""},
    {"nvidia-gh100", "0x0300000000606014", RGBA_2D, "XR24:0x0300000000606014", ""},
    {"nvidia-gh100", "0x0300000000606014", NV12_2D, "", ""},
};

GST_START_TEST(test_pair)
{
  const auto &row = kRows[__i__];
  const auto caps = sink_caps(row.table, row.downstream);
  const std::string driver = std::string("list-modifiers=1,modifiers=") + row.modifier + ":linear";
  const std::string rgb = agree(driver + ",formats=BGRX", caps.get());
  const std::string yuv = agree(driver + ",formats=NV12", caps.get());
  const std::string name = std::string(row.table) + ", " + row.modifier + ", " + row.downstream;
  fail_unless(rgb == row.rgb, "%s: got %s, expected %s", name.c_str(), rgb.c_str(), row.rgb);
  fail_unless(yuv == row.yuv, "%s: got %s, expected %s", name.c_str(), yuv.c_str(), row.yuv);
}
GST_END_TEST

Suite *egl_vendors_suite()
{
  Suite *suite = suite_create("EGL lists of vendors");
  TCase *tcase = tcase_create("pairs");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_pair, 0, G_N_ELEMENTS(kRows));
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(egl_vendors)
