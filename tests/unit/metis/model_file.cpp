// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gst/metis/engine/model_file.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <ostream>

#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace {

namespace fs = std::filesystem;
using gstdrm::metis::ChannelOrder;
using gstdrm::metis::Fit;
using gstdrm::metis::LetterboxPlace;
using gstdrm::metis::Model;
using gstdrm::metis::Padding;
using gstdrm::metis::Quantisation;
using gstdrm::metis::read_model;
using gstdrm::metis::TensorLayout;
using gstdrm::metis::TensorType;

using Dims = std::vector<std::size_t>;

// A folder with model.onnx in it.
class ModelFile : public testing::Test {
protected:
  ModelFile()
  {
    std::string name = testing::TempDir() + "/gst-drm-model-XXXXXX";
    if (!::mkdtemp(name.data()))
      ADD_FAILURE() << name << ": errno " << errno;
    folder_ = name;
    write("model.onnx", "content");
  }
  ~ModelFile() override
  {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  void write(const std::string &name, const std::string &content) const
  {
    std::ofstream(folder_ / name, std::ios::binary) << content;
  }
  [[nodiscard]] std::string path(const std::string &name = "model.onnx") const
  {
    return (folder_ / name).string();
  }
  fs::path folder_;
};

constexpr const char *kHead = "[modelinfo]\nversion=1.0\n";
constexpr const char *kIn = "[in]\ndir=input\ntype=uint8\ndims=1,3,4,4\n";
constexpr const char *kOut = "[out]\ndir=output\ntype=int8\ndims=1,9\n";

std::string head(const std::string &more) { return kHead + more; }
std::string in(const std::string &more) { return head(kIn) + more; }
std::string own(const std::string &more) { return head("[gst-drm]\n") + more; }

struct GoodRow {
  const char *name;
  std::string content;
  std::function<bool(const Model &)> holds;
};
void PrintTo(const GoodRow &row, std::ostream *out) { *out << row.name; }

bool scaled(const Model &m, const std::array<float, 3> &mean, const std::array<float, 3> &scale)
{
  for (std::size_t i = 0; i < 3; i++)
    if (std::abs(m.image.mean[i] - mean[i]) > 1e-3F || std::abs(m.image.scale[i] - scale[i]) > 1e-6F)
      return false;
  return true;
}

constexpr float k255 = 1.0F / 255;

const GoodRow kGoodRows[] = {
    {"version_alone", head(""), [](const Model &m) { return m.name == "model" && m.outputs.empty() && m.input.dims.empty(); }},
    {"newer_minor_version", "[modelinfo]\nversion=1.7\n", [](const Model &m) { return m.name == "model"; }},
    {"group", head("group-id=faces\n"), [](const Model &m) { return m.name == "faces"; }},
    {"input", in(""), [](const Model &m) { return m.input.name == "in" && m.input.dims == Dims{1, 3, 4, 4} && m.input.type == TensorType::UInt8 && m.input.id.empty(); }},
    {"input_without_dims_and_type", head("[in]\ndir=input\n"), [](const Model &m) { return m.input.name == "in" && m.input.dims.empty() && m.input.type == TensorType::Float32; }},
    {"variable_dimension", head("[in]\ndir=input\ndims=-1,3,-1,8\n"), [](const Model &m) { return m.input.dims == Dims{0, 3, 0, 8}; }},
    {"separator_at_the_end_and_spaces", head("[in]\ndir=input\ndims= 1, 3,4 , 4,\n"), [](const Model &m) { return m.input.dims == Dims{1, 3, 4, 4}; }},
    {"row_major", in("dims-order=row-major\n"), [](const Model &m) { return m.input.dims.size() == 4; }},
    {"outputs_in_order", head(kOut) + "id=b\n[out2]\ndir=output\nid=a\n", [](const Model &m) { return m.outputs.size() == 2 && m.outputs[0].name == "out" && m.outputs[0].id == "b" && m.outputs[1].id == "a" && m.outputs[0].type == TensorType::Int8; }},
    {"keys_of_others", in("label=x\n"), [](const Model &m) { return m.input.name == "in"; }},
    {"range_of_nothing_done", in("ranges=0.0,255.0\n"), [](const Model &m) { return scaled(m, {0, 0, 0}, {1, 1, 1}); }},
    {"range_to_one", in("ranges=0.0,1.0\n"), [](const Model &m) { return scaled(m, {0, 0, 0}, {k255, k255, k255}); }},
    {"range_about_zero", in("ranges=-1.0,1.0\n"), [](const Model &m) { return scaled(m, {127.5F, 127.5F, 127.5F}, {2 * k255, 2 * k255, 2 * k255}); }},
    {"range_per_channel", in("ranges=0,255;-1,1;0,1\n"), [](const Model &m) { return scaled(m, {0, 127.5F, 0}, {1, 2 * k255, k255}); }},
    {"range_of_an_output_is_not_read", head(kOut) + "ranges=what\n", [](const Model &m) { return scaled(m, {0, 0, 0}, {k255, k255, k255}); }},
    {"defaults", own(""), [](const Model &m) { return m.image.layout == TensorLayout::Nchw && m.image.order == ChannelOrder::Rgb && m.image.fit == Fit::Letterbox && !m.device_id && m.decoder.empty(); }},
    {"nhwc_bgr_stretch", own("layout=nhwc\nchannel-order=bgr\nfit=stretch\n"), [](const Model &m) { return m.image.layout == TensorLayout::Nhwc && m.image.order == ChannelOrder::Bgr && m.image.fit == Fit::Stretch; }},
    {"nchw_rgb_letterbox", own("layout=nchw\nchannel-order=rgb\nfit=letterbox\n"), [](const Model &m) { return m.image.layout == TensorLayout::Nchw && m.image.order == ChannelOrder::Rgb && m.image.fit == Fit::Letterbox; }},
    {"mean_and_scale", own("mean=127.5\nscale=0.1,0.2,0.3\n"), [](const Model &m) { return scaled(m, {127.5F, 127.5F, 127.5F}, {0.1F, 0.2F, 0.3F}); }},
    {"mean_is_stronger_than_ranges", own("mean=1\n") + kIn + "ranges=-1,1\n", [](const Model &m) { return scaled(m, {1, 1, 1}, {2 * k255, 2 * k255, 2 * k255}); }},
    {"device_id", own("device-id=4294967295\n"), [](const Model &m) { return m.device_id == 4294967295U; }},
    {"decoder", own("decoder=blazeface\n"), [](const Model &m) { return m.decoder == "blazeface"; }},
    {"decoder_with_keys", own("decoder=yolov5\nbox-unit=normalised\nboxes=xyxy\n"), [](const Model &m) { return m.decoder == "yolov5,boxes=xyxy,box-unit=normalised"; }},
    {"decoder_with_scores", own("scores=logits\ndecoder=yolov8\n"), [](const Model &m) { return m.decoder == "yolov8,scores=logits"; }},
    {"nothing_to_decode", own("decoder=none\n"), [](const Model &m) { return m.decoder == "none"; }},
    {"letterbox_defaults", own(""), [](const Model &m) { return m.image.place == LetterboxPlace::Centre && m.image.bars == std::array<float, 3>{0, 0, 0}; }},
    {"letterbox", own("letterbox-place=top-left\nletterbox-colour=114\n"), [](const Model &m) { return m.image.place == LetterboxPlace::TopLeft && m.image.bars == std::array<float, 3>{114, 114, 114}; }},
    {"letterbox_of_three_channels", own("letterbox-place=centre\nletterbox-colour=0,128,255\n"), [](const Model &m) { return m.image.place == LetterboxPlace::Centre && m.image.bars == std::array<float, 3>{0, 128, 255}; }},
    {"quantisation", in("gst-drm-scale=0.5\ngst-drm-zero-point=255\n"), [](const Model &m) { return m.input.quantisation == Quantisation{0.5, 255}; }},
    {"quantisation_without_zero_point", in("gst-drm-scale=2\n"), [](const Model &m) { return m.input.quantisation == Quantisation{2, 0}; }},
    {"zero_point_below_zero", head(kOut) + "gst-drm-scale=2\ngst-drm-zero-point=-128\n", [](const Model &m) { return m.outputs.at(0).quantisation == Quantisation{2, -128}; }},
    {"padding", in("gst-drm-padding=0,0;0,0;1,1;0,3\n"), [](const Model &m) { return m.input.padding == std::vector<Padding>{{0, 0}, {0, 0}, {1, 1}, {0, 3}}; }},
    {"windows_line_ends", "[modelinfo]\r\nversion=1.0\r\n[gst-drm]\r\ndecoder=ssd\r\n", [](const Model &m) { return m.decoder == "ssd"; }},
};

class ModelGood : public ModelFile, public testing::WithParamInterface<GoodRow> {};

TEST_P(ModelGood, row)
{
  write("model.onnx.modelinfo", GetParam().content);
  const auto model = read_model(path());
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->path, path());
  EXPECT_TRUE(GetParam().holds(*model)) << GetParam().content;
}

INSTANTIATE_TEST_SUITE_P(Rows, ModelGood, testing::ValuesIn(kGoodRows), [](const auto &row) { return std::string(row.param.name); });

struct BadRow {
  const char *name;
  std::string content;
  const char *section, *key; // null: GLib says where
  const char *why;
};
void PrintTo(const BadRow &row, std::ostream *out) { *out << row.name; }

const BadRow kBadRows[] = {
    {"unknown_decoder", own("decoder=yolov9\n"), "gst-drm", "decoder", "There is no decoder \"yolov9\"; it may be one of blazeface, ssd, yolov8"},
    {"key_of_another_decoder", own("decoder=yolox\nboxes=xyxy\n"), "gst-drm", "decoder", "The decoder yolox has no key \"boxes\"."},
    {"boxes_of_no_kind", own("decoder=yolov5\nboxes=offsets\n"), "gst-drm", "decoder", "one of xyxy, cxcywh"},
    {"boxes_without_a_decoder", own("boxes=xyxy\n"), "gst-drm", "boxes", "there is no key decoder"},
    {"scores_of_no_kind", own("decoder=yolov8\nscores=softmax\n"), "gst-drm", "decoder", "probabilities or logits"},
    {"letterbox_place_of_no_kind", own("letterbox-place=left\n"), "gst-drm", "letterbox-place", "one of centre, top-left"},
    {"letterbox_colour_of_two", own("letterbox-colour=1,2\n"), "gst-drm", "letterbox-colour", "one number is needed"},
    {"letterbox_colour_too_bright", own("letterbox-colour=256\n"), "gst-drm", "letterbox-colour", "whole number from 0 to 255"},
    {"letterbox_colour_below_0", own("letterbox-colour=-1\n"), "gst-drm", "letterbox-colour", "whole number from 0 to 255"},
    {"letterbox_colour_between", own("letterbox-colour=0.5\n"), "gst-drm", "letterbox-colour", "whole number from 0 to 255"},
    {"empty", "", "modelinfo", "version", "there is none; write version=1.0."},
    {"no_version", "[modelinfo]\ngroup-id=x\n", "modelinfo", "version", "there is none"},
    {"version_of_one_number", "[modelinfo]\nversion=1\n", "modelinfo", "version", "\"1\" is no version such as 1.0."},
    {"version_of_three_numbers", "[modelinfo]\nversion=1.0.0\n", "modelinfo", "version", "no version"},
    {"version_of_letters", "[modelinfo]\nversion=one.zero\n", "modelinfo", "version", "no version"},
    {"other_major_version", "[modelinfo]\nversion=2.0\n", "modelinfo", "version", "\"2.0\" is not supported"},
    {"empty_group", "[modelinfo]\nversion=1.0\ngroup-id=\n", "modelinfo", "group-id", "the value is empty."},
    {"no_section", "version=1.0\n", nullptr, nullptr, "cannot be read"},
    {"line_of_no_kind", head("what\n"), nullptr, nullptr, "what"},
    {"section_without_end", "[modelinfo\nversion=1.0\n", nullptr, nullptr, "cannot be read"},
    {"not_utf8", "[modelinfo]\nversion=1.0\ngroup-id=\xff\n", "modelinfo", "group-id", "is no text"},
    {"no_direction", head("[in]\ntype=uint8\n"), "in", "dir", "it is input or output"},
    {"direction_of_no_kind", head("[in]\ndir=inputs\n"), "in", "dir", "\"inputs\" is not supported; it may be one of input, output."},
    {"type_of_no_kind", head("[in]\ndir=input\ntype=float\n"), "in", "type", "one of uint8, int8, float32"},
    {"type_not_supported", head("[in]\ndir=input\ntype=float16\n"), "in", "type", "\"float16\" is not supported"},
    {"column_major", in("dims-order=col-major\n"), "in", "dims-order", "row-major"},
    {"empty_dims", head("[in]\ndir=input\ndims=\n"), "in", "dims", "the value is empty."},
    {"dims_of_letters", head("[in]\ndir=input\ndims=1,x,4\n"), "in", "dims", "\"x\" is no whole number"},
    {"dims_with_a_hole", head("[in]\ndir=input\ndims=1,,4\n"), "in", "dims", "\"\" is no whole number"},
    {"dims_of_fractions", head("[in]\ndir=input\ndims=1,2.5\n"), "in", "dims", "\"2.5\" is no whole number"},
    {"dims_of_semicolons", head("[in]\ndir=input\ndims=1;3\n"), "in", "dims", "\"1;3\" is no whole number"},
    {"dimension_0", head("[in]\ndir=input\ndims=1,0\n"), "in", "dims", "a dimension is 0"},
    {"dimension_below_minus_1", head("[in]\ndir=input\ndims=-2\n"), "in", "dims", "\"-2\" is no whole number from -1"},
    {"dimension_too_large", head("[in]\ndir=input\ndims=2147483648\n"), "in", "dims", "to 2147483647"},
    {"dimension_beyond_64_bits", head("[in]\ndir=input\ndims=99999999999999999999\n"), "in", "dims", "no whole number"},
    {"nine_dims", head("[in]\ndir=input\ndims=1,1,1,1,1,1,1,1,1\n"), "in", "dims", "there are 9 dimensions, and 8 are supported"},
    {"two_inputs", in("[more]\ndir=input\n"), "more", "dir", "there is an input already, [in]"},
    {"ranges_of_one_number", in("ranges=255\n"), "in", "ranges", "\"255\" is no pair"},
    {"ranges_of_three_numbers", in("ranges=0,1,2\n"), "in", "ranges", "\"0,1,2\" is no pair"},
    {"ranges_of_letters", in("ranges=a,b\n"), "in", "ranges", "no pair"},
    {"ranges_of_infinity", in("ranges=0,inf\n"), "in", "ranges", "no pair"},
    {"ranges_of_nothing", in("ranges=1,1\n"), "in", "ranges", "a range is empty"},
    {"ranges_upside_down", in("ranges=255,0\n"), "in", "ranges", "a range is empty"},
    {"ranges_of_two_channels", in("ranges=0,1;0,1\n"), "in", "ranges", "there are 2 pairs"},
    {"own_key_in_tensor_unknown", in("gst-drm-zero=1\n"), "in", "gst-drm-zero", "there is no such key."},
    {"quantised_float", head("[in]\ndir=input\ngst-drm-scale=1\n"), "in", "gst-drm-scale", "float32 is not quantised"},
    {"zero_point_of_float", head("[in]\ndir=input\ngst-drm-zero-point=1\n"), "in", "gst-drm-zero-point", "float32 is not quantised"},
    {"zero_point_without_scale", in("gst-drm-zero-point=1\n"), "in", "gst-drm-scale", "a number above 0 is needed"},
    {"scale_0", in("gst-drm-scale=0\n"), "in", "gst-drm-scale", "above 0"},
    {"scale_below_0", in("gst-drm-scale=-1\n"), "in", "gst-drm-scale", "above 0"},
    {"two_scales", in("gst-drm-scale=1,2\n"), "in", "gst-drm-scale", "one number is needed"},
    {"two_zero_points", in("gst-drm-scale=1\ngst-drm-zero-point=1,2\n"), "in", "gst-drm-zero-point", "one number is needed"},
    {"zero_point_outside_uint8", in("gst-drm-scale=1\ngst-drm-zero-point=-1\n"), "in", "gst-drm-zero-point", "from 0 to 255"},
    {"zero_point_outside_int8", head(kOut) + "gst-drm-scale=1\ngst-drm-zero-point=128\n", "out", "gst-drm-zero-point", "from -128 to 127"},
    {"padding_of_too_few", in("gst-drm-padding=0,0\n"), "in", "gst-drm-padding", "1 pairs for 4 dimensions"},
    {"padding_without_dims", head("[in]\ndir=input\ngst-drm-padding=0,1\n"), "in", "gst-drm-padding", "1 pairs for 0 dimensions"},
    {"padding_below_0", in("gst-drm-padding=0,0;0,0;0,0;0,-1\n"), "in", "gst-drm-padding", "pair 4 is not"},
    {"padding_of_fractions", in("gst-drm-padding=0,0.5;0,0;0,0;0,0\n"), "in", "gst-drm-padding", "pair 1 is not"},
    {"padding_of_all", in("gst-drm-padding=0,0;0,0;2,2;0,0\n"), "in", "gst-drm-padding", "pair 3 is not"},
    {"padding_beyond_all", in("gst-drm-padding=0,1e300;0,0;0,0;0,0\n"), "in", "gst-drm-padding", "pair 1 is not"},
    {"own_key_unknown", own("chanel-order=rgb\n"), "gst-drm", "chanel-order", "there is no such key."},
    {"layout_of_no_kind", own("layout=chw\n"), "gst-drm", "layout", "one of nhwc, nchw"},
    {"order_of_no_kind", own("channel-order=RGB\n"), "gst-drm", "channel-order", "one of rgb, bgr"},
    {"fit_of_no_kind", own("fit=crop\n"), "gst-drm", "fit", "one of stretch, letterbox"},
    {"two_means", own("mean=1,2\n"), "gst-drm", "mean", "one number is needed, or 3"},
    {"mean_of_letters", own("mean=gray\n"), "gst-drm", "mean", "\"gray\" is no number such as 127.5."},
    {"mean_with_a_comma_for_a_point", own("mean=127,5\n"), "gst-drm", "mean", "or 3 for the channels"},
    {"image_scale_0", own("scale=0\n"), "gst-drm", "scale", "a scale is 0"},
    {"image_scale_of_one_channel_0", own("scale=1,0,1\n"), "gst-drm", "scale", "a scale is 0"},
    {"device_id_too_large", own("device-id=4294967296\n"), "gst-drm", "device-id", "from 0 to 4294967295"},
    {"device_id_below_0", own("device-id=-1\n"), "gst-drm", "device-id", "from 0"},
    {"two_device_ids", own("device-id=1,2\n"), "gst-drm", "device-id", "one number is needed"},
    {"empty_decoder", own("decoder=\n"), "gst-drm", "decoder", "the value is empty."},
};

class ModelBad : public ModelFile, public testing::WithParamInterface<BadRow> {};

TEST_P(ModelBad, row)
{
  const BadRow &row = GetParam();
  write("model.onnx.modelinfo", row.content);
  const auto model = read_model(path());
  ASSERT_FALSE(model);
  const std::string &message = model.error().message;
  EXPECT_NE(message.find(path("model.onnx.modelinfo")), std::string::npos) << message;
  if (row.section) {
    EXPECT_NE(message.find(std::string("section [") + row.section + "], key " + row.key + ": "), std::string::npos) << message;
  }
  EXPECT_NE(message.find(row.why), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(Rows, ModelBad, testing::ValuesIn(kBadRows), [](const auto &row) { return std::string(row.param.name); });

TEST_F(ModelFile, without_description)
{
  const auto model = read_model(path());
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->path, path());
  EXPECT_EQ(model->name, "model");
  EXPECT_TRUE(model->input.name.empty() && model->outputs.empty());
}

TEST_F(ModelFile, description_without_the_extension)
{
  write("model.modelinfo", own("decoder=ssd\n"));
  const auto second = read_model(path());
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->decoder, "ssd");
  write("model.onnx.modelinfo", own("decoder=blazeface\n"));
  const auto first = read_model(path());
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->decoder, "blazeface");
}

TEST_F(ModelFile, description_that_is_a_folder)
{
  fs::create_directory(folder_ / "model.onnx.modelinfo");
  const auto model = read_model(path());
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().message.find("model.onnx.modelinfo cannot be read"), std::string::npos) << model.error().message;
}

TEST_F(ModelFile, missing)
{
  const auto model = read_model(path("other.onnx"));
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().sys_errno, ENOENT);
  EXPECT_NE(model.error().message.find("other.onnx\" cannot be opened: ENOENT"), std::string::npos) << model.error().message;
}

TEST_F(ModelFile, no_name)
{
  const auto model = read_model("");
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().sys_errno, ENOENT);
}

TEST_F(ModelFile, empty)
{
  write("model.onnx", "");
  const auto model = read_model(path());
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().message.find("model.onnx\" is empty: 0 bytes."), std::string::npos) << model.error().message;
}

TEST_F(ModelFile, folder)
{
  const auto model = read_model(folder_.string());
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().message.find("is no regular file."), std::string::npos) << model.error().message;
}

// Nobody ever writes into it; the call returns all the same.
TEST_F(ModelFile, pipe)
{
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const auto model = read_model(path("pipe"));
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().message.find("is no regular file."), std::string::npos) << model.error().message;
}

TEST_F(ModelFile, names)
{
  for (const auto &[file, name] : {std::pair("a.b.onnx", "a.b"), {"plain", "plain"}, {".hidden", ".hidden"}}) {
    write(file, "content");
    const auto model = read_model(path(file));
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_EQ(model->name, name);
  }
}

} // namespace
