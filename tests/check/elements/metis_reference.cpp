// SPDX-License-Identifier: LGPL-2.1-or-later
// The tensors of metisdmabufinfer against those that are computed here from the same pixels: every
// frame of a stream, in order, with each back end that runs without a device.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <drm_fourcc.h>

#include <glib/gstdio.h>
#include <gst/drm/gstdrmtensormeta.h>

#include "axruntime/network.hpp"
#include "support/crops.hpp"
#include "support/dmabuf_elements.hpp"
#include "support/nvmm.hpp"
#include "unit/metis/onnx_writer.hpp"
#include "unit/metis/preprocess_reference.hpp"

namespace {

using namespace gstdrm::metis;
using namespace gstdrm::test;
using gstdrm::GstPtr;

constexpr std::size_t kInputWidth = 20; // pixels of each network's input
constexpr std::size_t kInputHeight = 16;
constexpr guint kFrames = 250;

struct SizeRow {
  const char *name;
  int width;
  int height;
};

const SizeRow kSizes[] = {
    {"odd", 37, 53},
    {"smaller than the input", 12, 10},
    {"larger than the input", 160, 90},
    {"aspect of the input", 40, 32},
};

// --- frames --------------------------------------------------------------------------------------

// NV12 without space between rows: noise that no other frame has.
struct Picture {
  std::vector<std::uint8_t> planes[2];
  PictureView view;

  Picture(const SizeRow &size, guint frame)
  {
    const auto width = static_cast<std::uint32_t>(size.width);
    const auto height = static_cast<std::uint32_t>(size.height);
    view.fourcc = DRM_FORMAT_NV12;
    view.width = width;
    view.height = height;
    view.strides = {width, (width + 1) / 2 * 2, 0};
    planes[0].resize(std::size_t{width} * height);
    planes[1].resize(std::size_t{view.strides[1]} * ((height + 1) / 2));
    std::uint32_t state = 2654435761U * (frame + 1);
    for (std::size_t plane = 0; plane < 2; plane++) {
      for (std::uint8_t &sample : planes[plane]) {
        state = 1664525U * state + 1013904223U;
        sample = static_cast<std::uint8_t>(state >> 24);
      }
      view.planes[plane] = planes[plane].data();
    }
  }
};

GstBuffer *frame_of(const SizeRow &size, guint frame)
{
  const std::string plain = plain_caps("NV12", size.width, size.height);
  GstBuffer *buffer = new_dmabuf_frame(test_kinds().front(), plain);
  const Picture picture(size, frame);
  for_each_row(buffer, video_info(plain), GST_MAP_WRITE,
               [&](guint plane, guint row, std::uint8_t *data, std::size_t bytes) {
                 std::memcpy(data, picture.planes[plane].data() + row * bytes, bytes);
               });
  GST_BUFFER_PTS(buffer) = frame * GST_MSECOND;
  return buffer;
}

GstBuffer *surface_of(const SizeRow &size, guint frame)
{
  NvBufSurface *surface = new_surface(size.width, size.height);
  const Picture picture(size, frame);
  write_surface(surface, [&](guint plane, guint row, std::uint8_t *data, std::size_t bytes) {
    std::memcpy(data, picture.planes[plane].data() + row * bytes, bytes);
  });
  GstBuffer *buffer = nvmm_buffer(surface);
  GST_BUFFER_PTS(buffer) = frame * GST_MSECOND;
  return buffer;
}

struct Stream {
  std::string caps;
  GstBuffer *(*frame_of)(const SizeRow &size, guint frame);
};

Stream dmabufs(const SizeRow &size)
{
  return {dmabuf_caps("NV12", size.width, size.height), frame_of};
}

Stream surfaces(const SizeRow &size)
{
  return {nvmm_caps(size.width, size.height), surface_of};
}

// --- networks ------------------------------------------------------------------------------------

using Values = std::vector<double>; // the elements of a tensor in memory

struct Network {
  std::string properties;
  std::string file;
  std::string description; // empty: none
  Model model;             // its image and input, as the file and the description say
  double tolerance;
  std::function<std::vector<Values>(const Values &)> outputs_of;
};

// The mean of each 3x3 pixels of a channel: 1x3xHxW to 1x3x(H-2)x(W-2).
std::vector<Values> means_of(const Values &input)
{
  Values means;
  for (std::size_t channel = 0; channel < 3; channel++)
    for (std::size_t y = 0; y + 2 < kInputHeight; y++)
      for (std::size_t x = 0; x + 2 < kInputWidth; x++) {
        double sum = 0;
        for (std::size_t tap = 0; tap < 9; tap++)
          sum += input[(channel * kInputHeight + y + tap / 3) * kInputWidth + x + tap % 3];
        means.push_back(sum / 9);
      }
  return {means};
}

Network cpu_network()
{
  Network network;
  network.properties = "backend=cpu cpu-threads=1";
  OnnxModel onnx;
  onnx.inputs = {{"image", {1, 3, kInputHeight, kInputWidth}}};
  onnx.outputs = {{"means", {1, 3, kInputHeight - 2, kInputWidth - 2}}};
  onnx.nodes = {{"AveragePool",
                 {"image"},
                 {"means"},
                 onnx_ints("kernel_shape", {3, 3}) + onnx_ints("strides", {1, 1})}};
  network.file = onnx.file();
  network.description = "[modelinfo]\nversion=1.0\n[image]\ndir=input\n[means]\ndir=output\n"
                        "[gst-drm]\nchannel-order=bgr\nmean=127.5\nscale=0.0078125\n";
  network.model.image = {TensorLayout::Nchw,
                         ChannelOrder::Bgr,
                         Fit::Letterbox,
                         {127.5F, 127.5F, 127.5F},
                         {0.0078125F, 0.0078125F, 0.0078125F}};
  network.model.input.dims = {1, 3, kInputHeight, kInputWidth};
  network.model.input.padding = {{0, 0}, {0, 0}, {0, 0}, {0, 0}};
  network.tolerance = 1e-4; // a level more of one channel of one pixel is 8.7e-4
  network.outputs_of = means_of;
  return network;
}

std::string json_of(const NetworkTensor &tensor)
{
  std::ostringstream json;
  json.precision(17);
  json << "{\"name\": \"" << tensor.name << "\", \"scale\": " << tensor.scale
       << ", \"zero_point\": " << tensor.zero_point;
  const char *between = ", \"dims\": [";
  for (const std::size_t dim : tensor.dims)
    json << std::exchange(between, ", ") << dim;
  between = "], \"padding\": [";
  for (const auto &[before, after] : tensor.padding)
    json << std::exchange(between, ", ") << "[" << before << ", " << after << "]";
  json << "]}";
  return json.str();
}

Network axruntime_network()
{
  static const NetworkTensor input{"image",
                                   {1, kInputHeight + 2, kInputWidth + 4, 4},
                                   {{0, 0}, {1, 1}, {1, 3}, {0, 1}},
                                   1.0 / 255,
                                   -128};
  static const NetworkTensor outputs[] = {
      {"boxes", {1, 4, 4, 8}, {{0, 0}, {0, 0}, {0, 1}, {0, 2}}, 0.05, 7},
      {"classes", {1, 4, 4, 3}, {{0, 0}, {0, 0}, {0, 0}, {0, 0}}, 0.125, -5}};
  Network network;
  network.properties = "backend=axruntime";
  network.file = R"({"version": "gst-drm-test-1", "inputs": [)" + json_of(input) +
                 R"(], "outputs": [)" + json_of(outputs[0]) + ", " + json_of(outputs[1]) + "]}";
  network.model.image.layout = TensorLayout::Nhwc;
  network.model.input.type = TensorType::Int8;
  network.model.input.dims = input.dims;
  for (const auto &[before, after] : input.padding)
    network.model.input.padding.push_back({before, after});
  network.model.input.quantisation = Quantisation{input.scale, input.zero_point};
  network.tolerance = 0;
  network.outputs_of = [](const Values &elements) {
    const std::vector<std::int8_t> bytes(elements.begin(), elements.end());
    std::vector<Values> results;
    for (std::size_t t = 0; t < G_N_ELEMENTS(outputs); t++) {
      const std::vector<std::int8_t> result = network_output(input, bytes, outputs[t], t);
      results.emplace_back(result.begin(), result.end());
    }
    return results;
  };
  return network;
}

// --- what is expected ----------------------------------------------------------------------------

// One element of the input tensor, at its place in memory.
double input_element(const Model &model, const PictureView &picture, const Sampling &sampling,
                     const reference::Box &box, std::size_t element)
{
  std::int64_t index[4];
  for (std::size_t dim = 4; dim-- > 0; element /= model.input.dims[dim]) {
    const auto size = static_cast<std::int64_t>(model.input.dims[dim]);
    const auto before = static_cast<std::int64_t>(model.input.padding[dim].before);
    const auto after = static_cast<std::int64_t>(model.input.padding[dim].after);
    const auto at = static_cast<std::int64_t>(element % model.input.dims[dim]);
    if (at < before || at >= size - after)
      return model.input.quantisation.value_or(Quantisation{}).zero_point;
    index[dim] = at - before;
  }
  const bool nhwc = model.image.layout == TensorLayout::Nhwc;
  const auto channel = static_cast<int>(index[nhwc ? 3 : 1]);
  const std::int64_t y = index[nhwc ? 1 : 2] - box.y;
  const std::int64_t x = index[nhwc ? 2 : 3] - box.x;
  const bool inside = x >= 0 && x < box.width && y >= 0 && y < box.height;
  const int colour = model.image.order == ChannelOrder::Rgb ? channel : 2 - channel;
  const double level = inside ? reference::channel_at(picture, box, x, y, colour, sampling) : 0;
  return reference::tensor_value(model, channel, level);
}

std::vector<Values> expected_of(const Network &network, const PictureView &picture,
                                const Sampling &sampling = {})
{
  const reference::Box box =
      reference::content_box(network.model.image.fit, picture.width, picture.height, kInputWidth,
                             kInputHeight, sampling);
  Values input(network.model.input.n_elements());
  for (std::size_t element = 0; element < input.size(); element++)
    input[element] = input_element(network.model, picture, sampling, box, element);
  return network.outputs_of(input);
}

// --- streams -------------------------------------------------------------------------------------

// The files of a network while this lives.
class ModelFiles {
public:
  explicit ModelFiles(const Network &network) : folder_(g_dir_make_tmp("gst-drm-XXXXXX", nullptr))
  {
    std::ofstream(path(), std::ios::binary) << network.file;
    if (!network.description.empty())
      std::ofstream(description()) << network.description;
  }
  ModelFiles(const ModelFiles &) = delete;
  ModelFiles &operator=(const ModelFiles &) = delete;
  ~ModelFiles()
  {
    g_unlink(path().c_str());
    g_unlink(description().c_str());
    g_rmdir(folder_);
    g_free(folder_);
  }
  [[nodiscard]] std::string path() const { return std::string(folder_) + "/model.json"; }

private:
  [[nodiscard]] std::string description() const { return path() + ".modelinfo"; }
  gchar *const folder_;
};

Values elements_of(const GstDrmTensor &tensor)
{
  GstMapInfo map;
  fail_unless(gst_memory_map(tensor.memory, &map, GST_MAP_READ));
  fail_unless(tensor.offset + tensor.size <= map.size);
  const guint8 *bytes = map.data + tensor.offset;
  Values values;
  if (tensor.type == GST_DRM_TENSOR_TYPE_FLOAT32) {
    std::vector<float> floats(tensor.size / sizeof(float));
    std::memcpy(floats.data(), bytes, floats.size() * sizeof(float));
    values.assign(floats.begin(), floats.end());
  } else {
    fail_unless_equals_int(tensor.type, GST_DRM_TENSOR_TYPE_INT8);
    const auto *elements = reinterpret_cast<const std::int8_t *>(bytes);
    values.assign(elements, elements + tensor.size);
  }
  gst_memory_unmap(tensor.memory, &map);
  return values;
}

void check_next(const Harness &harness, const Network &network, const char *name, guint frame,
                const std::vector<Values> &expected)
{
  const auto buffer = harness.pull();
  fail_unless(static_cast<bool>(buffer), "no frame %u: %s", frame, harness.last_error().c_str());
  fail_unless_equals_uint64(GST_BUFFER_PTS(buffer.get()), frame * GST_MSECOND);
  GstDrmTensorMeta *meta = gst_buffer_get_drm_tensor_meta(buffer.get(), nullptr);
  fail_unless(meta != nullptr, "frame %u has no tensors", frame);
  fail_unless_equals_int(static_cast<int>(gst_drm_tensor_meta_get_n_tensors(meta)),
                         static_cast<int>(expected.size()));
  for (guint t = 0; t < expected.size(); t++) {
    const Values values = elements_of(*gst_drm_tensor_meta_get_tensor(meta, t));
    fail_unless_equals_int(static_cast<int>(values.size()), static_cast<int>(expected[t].size()));
    const auto [want, has] =
        std::mismatch(expected[t].begin(), expected[t].end(), values.begin(),
                      [&](double a, double b) { return std::abs(a - b) <= network.tolerance; });
    if (want != expected[t].end())
      fail("%s: frame %u, tensor %u, element %d is %g, expected %g", name, frame, t,
           static_cast<int>(want - expected[t].begin()), *has, *want);
  }
}

void run_stream(const Network &network, const SizeRow &size, const Stream &stream,
                const char *warning = nullptr)
{
  constexpr guint kAhead = 8; // frames that are pushed before the first is pulled: more than fly
  std::optional<ModelFiles> files(network);
  const Harness harness("metisdmabufinfer max-in-flight=4 timeout=60000 model=" + files->path() +
                        " " + network.properties);
  const bool taken = harness.negotiate(stream.caps);
  files.reset(); // read by now; a check that fails would leave them behind
  fail_unless(taken, "%s: %s", size.name, harness.last_error().c_str());
  for (guint frame = 0; frame < kFrames + kAhead; frame++) {
    if (frame < kFrames)
      fail_unless_equals_int(gst_harness_push(harness.get(), stream.frame_of(size, frame)), GST_FLOW_OK);
    if (frame >= kAhead)
      check_next(harness, network, size.name, frame - kAhead,
                 expected_of(network, Picture(size, frame - kAhead).view));
  }
  fail_unless_equals_uint64(harness.stat("inferences"), kFrames);
  fail_unless_equals_uint64(harness.stat("copies"), 0);
  const std::vector<std::string> warnings = harness.messages(GST_MESSAGE_WARNING);
  fail_unless_equals_int(static_cast<int>(warnings.size()), warning ? 1 : 0);
  if (warning)
    fail_unless(warnings[0].find(warning) != std::string::npos, "%s", warnings[0].c_str());
}

// --- caps ----------------------------------------------------------------------------------------

struct CapsRow {
  const char *name;
  const char *format;
  const char *drm_format; // nullptr: system memory
  const char *fields;
  ColorMatrix matrix;
  bool full_range;
  Sampling sampling;
};

constexpr Sampling kDefault{};

const CapsRow kCaps[] = {
    {"4:2:2 of a JPEG", "Y42B", nullptr, "chroma-site=jpeg, colorimetry=(string)1:4:0:0", ColorMatrix::Bt601, true, {1, 1, false, false}},
    {"4:2:2 of a JPEG, DMA_DRM", "Y42B", "YU16", "chroma-site=jpeg, colorimetry=(string)1:4:0:0", ColorMatrix::Bt601, true, {1, 1, false, false}},
    {"4:4:4 of a JPEG", "Y444", nullptr, "colorimetry=(string)1:4:0:0", ColorMatrix::Bt601, true, kDefault},
    {"a grey JPEG", "GRAY8", nullptr, "", ColorMatrix::Bt601, true, kDefault},
    {"grey, DMA_DRM", "GRAY8", "\"R8  \"", "", ColorMatrix::Bt601, true, kDefault},
    {"grey of limited range", "GRAY8", nullptr, "colorimetry=bt601", ColorMatrix::Bt601, false, kDefault},
    {"a camera", "YUY2", nullptr, "", ColorMatrix::Bt601, false, kDefault},
    {"a camera, DMA_DRM", "YUY2", "YUYV", "", ColorMatrix::Bt601, false, kDefault},
    {"another camera, DMA_DRM", "UYVY", "UYVY", "", ColorMatrix::Bt601, false, kDefault},
    {"4:2:2 in pairs, DMA_DRM", "NV16", "NV16", "", ColorMatrix::Bt601, false, kDefault},
    {"NV21", "NV21", nullptr, "", ColorMatrix::Bt601, false, kDefault},
    {"10 bits, DMA_DRM", "P010_10LE", "P010", "colorimetry=bt2020-10", ColorMatrix::Bt2020, false, kDefault},
    {"10 bits of a software decoder", "I420_10LE", nullptr, "colorimetry=bt709", ColorMatrix::Bt709, false, kDefault},
    {"wide pixels", "NV12", "NV12", "pixel-aspect-ratio=16/11", ColorMatrix::Bt601, false, {16, 11, true, false}},
    {"narrow pixels", "NV12", nullptr, "pixel-aspect-ratio=8/9", ColorMatrix::Bt601, false, {8, 9, true, false}},
    {"chroma between pixels", "NV12", "NV12", "chroma-site=jpeg", ColorMatrix::Bt601, false, {1, 1, false, false}},
    {"chroma on the first of four pixels", "I420", nullptr, "chroma-site=cosited", ColorMatrix::Bt601, false, {1, 1, true, true}},
    {"SMPTE 240M", "NV12", "NV12", "colorimetry=smpte240m", ColorMatrix::Smpte240m, false, kDefault},
    {"FCC", "NV12", nullptr, "colorimetry=(string)2:2:0:0", ColorMatrix::Fcc, false, kDefault},
    {"BT.709 of full range", "NV12", "NV12", "colorimetry=(string)1:3:5:1", ColorMatrix::Bt709, true, kDefault},
};

// Noise, of which `view` shows the pixels as long as this lives.
struct CapsFrame {
  GstPtr<GstBuffer> buffer;
  GstVideoFrame mapped;
  PictureView view;

  CapsFrame(const CapsRow &row, const SizeRow &size, guint seed)
  {
    const std::string plain = plain_caps(row.format, size.width, size.height);
    const GstVideoInfo info = video_info(plain);
    buffer = GstPtr<GstBuffer>::adopt(row.drm_format ? new_dmabuf_frame(test_kinds().front(), plain) : new_frame(plain));
    for_each_row(buffer.get(), info, GST_MAP_WRITE, [&](guint plane, guint y, std::uint8_t *data, std::size_t bytes) {
      fill_noise(data, bytes, seed * 1000 + y * 3 + plane);
      for (std::size_t i = 1; g_str_has_suffix(row.format, "0_10LE") && *row.format == 'I' && i < bytes; i += 2)
        data[i] &= 0x3;
    });
    fail_unless(gst_video_frame_map(&mapped, &info, buffer.get(), GST_MAP_READ));
    guint64 modifier = 0;
    view.fourcc = gst_drm_format_from_video_format(GST_VIDEO_INFO_FORMAT(&info), &modifier);
    view.width = static_cast<std::uint32_t>(size.width);
    view.height = static_cast<std::uint32_t>(size.height);
    for (guint i = 0; i < GST_VIDEO_FRAME_N_PLANES(&mapped); i++) {
      view.planes[i] = static_cast<const std::uint8_t *>(GST_VIDEO_FRAME_PLANE_DATA(&mapped, i));
      view.strides[i] = static_cast<std::uint32_t>(GST_VIDEO_FRAME_PLANE_STRIDE(&mapped, i));
    }
  }
  CapsFrame(const CapsFrame &) = delete;
  CapsFrame &operator=(const CapsFrame &) = delete;
  ~CapsFrame() { gst_video_frame_unmap(&mapped); }
};

// What caps say of pixels and colours reaches the tensors: without it they would be others.
GST_START_TEST(test_caps)
{
  const CapsRow &row = kCaps[__i__ / 2];
  const SizeRow &size = kSizes[__i__ % 2]; // odd, even
  const Network network = cpu_network();
  const ModelFiles files(network);
  const Harness harness("metisdmabufinfer model=" + files.path() + " " + network.properties);
  const std::string caps = (row.drm_format ? dmabuf_caps(row.drm_format, size.width, size.height)
                                           : plain_caps(row.format, size.width, size.height)) +
                           (*row.fields ? ", " : "") + row.fields;
  fail_unless(harness.negotiate(caps), "%s: %s", row.name, harness.last_error().c_str());
  for (guint frame = 0; frame < 2; frame++) {
    CapsFrame made(row, size, frame);
    const auto without = expected_of(network, made.view);
    made.view.matrix = row.matrix;
    made.view.full_range = row.full_range;
    const auto expected = expected_of(network, made.view, row.sampling);
    const bool limited_grey = g_str_equal(row.name, "grey of limited range");
    fail_if(*row.fields && !limited_grey && expected == without, "%s makes no difference", row.fields);
    GST_BUFFER_PTS(made.buffer.get()) = frame * GST_MSECOND;
    fail_unless_equals_int(gst_harness_push(harness.get(), gst_buffer_ref(made.buffer.get())), GST_FLOW_OK);
    check_next(harness, network, row.name, frame, expected);
  }
}
GST_END_TEST

GST_START_TEST(test_cpu)
{
  run_stream(cpu_network(), kSizes[__i__], dmabufs(kSizes[__i__]));
}
GST_END_TEST

// The runtime takes the model with outputs in dma-bufs, and no inference: said once on the bus, and
// each tensor is right.
GST_START_TEST(test_axruntime_fallback)
{
  g_setenv("GST_DRM_AXRUNTIME", GST_DRM_TEST_AXRUNTIME, TRUE);
  g_setenv("GST_DRM_AXRUNTIME_TEST", "fail-output-dmabuf", TRUE);
  run_stream(axruntime_network(), kSizes[0], dmabufs(kSizes[0]), "output-buffer-mode=system");
  g_unsetenv("GST_DRM_AXRUNTIME_TEST");
}
GST_END_TEST

GST_START_TEST(test_axruntime)
{
  g_setenv("GST_DRM_AXRUNTIME", GST_DRM_TEST_AXRUNTIME, TRUE);
  run_stream(axruntime_network(), kSizes[__i__], dmabufs(kSizes[__i__]));
}
GST_END_TEST

// memory:NVMM
GST_START_TEST(test_surfaces)
{
  run_stream(cpu_network(), kSizes[__i__], surfaces(kSizes[__i__]));
}
GST_END_TEST

Suite *metis_reference_suite()
{
  Suite *suite = suite_create("metis_reference");
  TCase *tc = tcase_create("metis_reference");
  if (GST_DRM_TEST_CPU)
  {
    tcase_add_loop_test(tc, test_cpu, 0, G_N_ELEMENTS(kSizes));
    tcase_add_loop_test(tc, test_caps, 0, 2 * G_N_ELEMENTS(kCaps));
  }
  if (*GST_DRM_TEST_AXRUNTIME != '\0')
  {
    tcase_add_loop_test(tc, test_axruntime, 0, G_N_ELEMENTS(kSizes));
    tcase_add_test(tc, test_axruntime_fallback);
  }
  suite_add_tcase(suite, tc);
  TCase *nvmm = tcase_create("nvmm");
  if (GST_DRM_TEST_CPU)
    tcase_add_loop_test(nvmm, test_surfaces, 0, G_N_ELEMENTS(kSizes));
  suite_add_tcase(suite, nvmm);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(metis_reference)
