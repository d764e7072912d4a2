// SPDX-License-Identifier: LGPL-2.1-or-later
// Each order of the channels through both elements: the byte that means nothing in RGBx does not
// become the alpha of RGBA, in the copy neither.
#include <drm_fourcc.h>

#include "egl_pipeline.hpp"
#include "support/consumer.hpp"

namespace gstdrm::test {
namespace {

constexpr int kWidth = 66;
constexpr int kHeight = 50;

struct ExternalRow {
  std::uint32_t fourcc;
  const char *drm_format;
  double limit;
};
// P010: see the imports of egl_pipeline. RGB may be a 2D texture too, and becomes what is asked.
constexpr ExternalRow kExternal[] = {
    {DRM_FORMAT_XRGB8888, "XR24", 0}, {DRM_FORMAT_NV12, "NV12", 1}, {DRM_FORMAT_P010, "P010", 2.8}};

struct OrderRow {
  std::uint32_t fourcc;
  const char *drm_format;
  const char *gl_format;
};
constexpr OrderRow kOrders[] = {
    {DRM_FORMAT_ABGR8888, "AB24", "RGBA"}, {DRM_FORMAT_XBGR8888, "XB24", "RGBx"},
    {DRM_FORMAT_ARGB8888, "AR24", "BGRA"}, {DRM_FORMAT_XRGB8888, "XR24", "BGRx"},
    {DRM_FORMAT_BGRA8888, "BA24", "ARGB"}, {DRM_FORMAT_BGRX8888, "BX24", "xRGB"},
    {DRM_FORMAT_RGBA8888, "RA24", "ABGR"}, {DRM_FORMAT_RGBX8888, "RX24", "xBGR"},
};

std::string into_dmabuf(const std::string &settings, const std::string &gl)
{
  return "appsrc name=in format=time ! egldmabufupload name=u " + settings +
         " ! video/x-raw(memory:GLMemory)," + gl +
         " ! egldmabufdownload name=d ! video/x-raw,format=RGBA ! appsink name=out sync=false";
}

} // namespace

// 64 pixels: llvmpipe draws into tight rows of them.
GST_START_TEST(test_external)
{
  const ExternalRow &row = kExternal[__i__];
  if (!imports_here())
    return;
  EglPipeline stream(into_dmabuf("zero-copy=require", "format=RGBA,texture-target=external-oes"));
  stream.play();
  PatternFrame frame(GST_DRM_ALLOCATOR_KIND_UDMABUF, row.fourcc, 64, kHeight, {});
  for (unsigned seed = 1; seed < 4; seed++) {
    frame.fill(seed);
    const auto sample =
        stream.pass(frame, dma_drm_caps(row.drm_format, 64, kHeight, ",colorimetry=bt601"));
    const double distance = rgba_distance(sample.get(), frame, {});
    fail_unless(distance <= row.limit, "%s: %g", row.drm_format, distance);
  }
  fail_unless_equals_uint64(stream.stat("draws", "d"), 3);
  fail_unless_equals_uint64(stream.stat("copies", "d"), 0);
  fail_unless_equals_uint64(stream.stat("copies", "u"), 0);
}
GST_END_TEST

GST_START_TEST(test_orders)
{
  const OrderRow &row = kOrders[__i__];
  EglPipeline stream(into_dmabuf("mode=copy", std::string("format=") + row.gl_format));
  stream.play();
  PatternFrame frame(GST_DRM_ALLOCATOR_KIND_UDMABUF, row.fourcc, kWidth, kHeight, {});
  frame.fill(5);
  const auto sample = stream.pass(frame, dma_drm_caps(row.drm_format, kWidth, kHeight));
  const double distance = rgba_distance(sample.get(), frame, {});
  fail_unless(distance == 0, "%s: %g", row.gl_format, distance);
  // without GstVideoMeta the rows have 264 bytes, into which llvmpipe cannot draw
  fail_unless_equals_uint64(stream.stat("copies", "d"), 1);
}
GST_END_TEST

struct NeedRow {
  Consumer consumer;
  const char *error;     // part of it; "": the stream runs
  const char *structure; // the name of its details
};
const NeedRow kNeeds[] = {
    {{"display", 1024, 0}, "", ""},
    {{"display", 48, 0}, "Let display on /dev/dri/card7 ask for 64 bytes as stride-align", "GstDrmConflict"},
    {{"display", 0, 0, ask_for_heap}, "and display asks for memory of the heap nowhere", "GstDrmFailure"},
    {{"display", 0, 0, ask_for_two_planes}, "1 planes or more", "GstDrmConflict"},
    {{"display", 0, 0, ask_for_two_descriptors}, "a frame has at most 1 planes, so not 2 descriptors", "GstDrmConflict"},
};

// The first error is the element's, with details.
void check_unmet(const EglPipeline &stream, const NeedRow &row)
{
  const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(stream.bin()));
  const auto message = GstPtr<GstMessage>::adopt(gst_bus_timed_pop_filtered(bus.get(), 60 * GST_SECOND, GST_MESSAGE_ERROR));
  fail_unless(message, "no error");
  fail_unless_equals_string(GST_OBJECT_NAME(GST_MESSAGE_SRC(message.get())), "d");
  g_autoptr(GError) error = nullptr;
  gst_message_parse_error(message.get(), &error, nullptr);
  fail_unless(contains(error->message, row.error), "'%s'", error->message);
  const GstStructure *details = nullptr;
  gst_message_parse_error_details(message.get(), &details);
  fail_unless(details && gst_structure_has_name(details, row.structure), "'%s'", error->message);
  fail_unless_equals_string(gst_structure_get_string(details, "text"), error->message);
}

GST_START_TEST(test_needs_of_a_consumer)
{
  const NeedRow &row = kNeeds[__i__];
  EglPipeline stream("appsrc name=in format=time ! egldmabufupload name=u mode=copy ! "
                     "video/x-raw(memory:GLMemory),format=RGBA ! egldmabufdownload name=d ! " +
                     dma_drm_caps("AB24", kWidth, kHeight) + " ! appsink name=out sync=false");
  const auto sink = stream.element("out");
  const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(sink.get(), "sink"));
  answer_as(pad.get(), row.consumer);
  stream.play();
  PatternFrame frame(GST_DRM_ALLOCATOR_KIND_UDMABUF, DRM_FORMAT_ABGR8888, kWidth, kHeight, {});
  frame.fill(5);
  if (*row.error != '\0') {
    stream.push(frame, dma_drm_caps("AB24", kWidth, kHeight));
    check_unmet(stream, row);
    return;
  }
  const auto sample = stream.pass(frame, dma_drm_caps("AB24", kWidth, kHeight));
  const GstVideoMeta *meta = gst_buffer_get_video_meta(gst_sample_get_buffer(sample.get()));
  fail_unless_equals_int(meta->stride[0] % static_cast<int>(row.consumer.stride_align), 0);
}
GST_END_TEST

void add_downloads(Suite *suite)
{
  TCase *tcase = add_case(suite, "downloads");
  tcase_add_loop_test(tcase, test_external, 0, G_N_ELEMENTS(kExternal));
  tcase_add_loop_test(tcase, test_needs_of_a_consumer, 0, G_N_ELEMENTS(kNeeds));
  tcase_add_loop_test(tcase, test_orders, 0, G_N_ELEMENTS(kOrders));
}

} // namespace gstdrm::test
