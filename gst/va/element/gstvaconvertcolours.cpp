// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstvaconvertcolours.hpp"

#include <optional>
#include <string>
#include <utility>

#include <gst/drm/drm.h>

#include "engine/va_formats.hpp"

namespace gstdrm::va {
namespace {

Model model_of(const GstDrmVideoInfo &info)
{
  const auto *format = format_by_drm(info.drm_fourcc);
  return format ? format->model : Model::Rgb;
}

std::optional<Matrix> matrix_of(const GstVideoColorimetry &colorimetry)
{
  switch (colorimetry.matrix) {
  case GST_VIDEO_COLOR_MATRIX_BT709:
    return Matrix::Bt709;
  case GST_VIDEO_COLOR_MATRIX_BT2020:
    return Matrix::Bt2020;
  case GST_VIDEO_COLOR_MATRIX_FCC:
  case GST_VIDEO_COLOR_MATRIX_SMPTE240M:
    return std::nullopt; // VA-API has no name for them
  default:
    return Matrix::Bt601;
  }
}

const char *name_of(Matrix matrix)
{
  return matrix == Matrix::Bt709    ? GST_VIDEO_COLORIMETRY_BT709
         : matrix == Matrix::Bt2020 ? GST_VIDEO_COLORIMETRY_BT2020
                                    : GST_VIDEO_COLORIMETRY_BT601;
}

// With tones that a display of standard dynamic range does not have.
bool is_hdr(const GstVideoColorimetry &colorimetry)
{
  return colorimetry.transfer == GST_VIDEO_TRANSFER_SMPTE2084 ||
         colorimetry.transfer == GST_VIDEO_TRANSFER_ARIB_STD_B67;
}

// The primaries of television from BT.601 to BT.709 are taken for one another, as everywhere.
bool is_wide(const GstVideoColorimetry &colorimetry)
{
  return colorimetry.primaries >= GST_VIDEO_COLOR_PRIMARIES_BT2020 &&
         colorimetry.primaries != GST_VIDEO_COLOR_PRIMARIES_EBU3213;
}

Colours colours_of(Model model, const GstVideoColorimetry &own, Matrix matrix)
{
  return {matrix, model == Model::Rgb || own.range == GST_VIDEO_COLOR_RANGE_0_255};
}

ColourConversion conversion_of(const GstDrmVideoInfo &in, const GstDrmVideoInfo &out,
                               const GstVideoColorimetry &after, Matrix from, Matrix to)
{
  const Model from_model = model_of(in);
  const Model to_model = model_of(out);
  return {from_model, to_model,
          colours_of(from_model, in.vinfo.colorimetry, from_model == Model::Yuv ? from : to),
          colours_of(to_model, after, to_model == Model::Yuv ? to : from)};
}

// Of the caps that leave, whose fields say nothing yet of colours.
GstVideoColorimetry colours_after(const GstDrmVideoInfo &in, const GstDrmVideoInfo &out,
                                  const ColourRules &rules)
{
  const GstVideoColorimetry &before = in.vinfo.colorimetry;
  if (model_of(in) == model_of(out))
    return before;
  GstVideoColorimetry after = out.vinfo.colorimetry; // the default of the model and the size
  if (model_of(out) == Model::Rgb || is_hdr(before) || is_wide(before)) {
    after.primaries = before.primaries;
    after.transfer = before.transfer;
  }
  if (model_of(out) == Model::Rgb)
    return after;
  if (is_wide(before))
    after.matrix = GST_VIDEO_COLOR_MATRIX_BT2020;
  else if (const auto matrix = matrix_of(after);
           !matrix || !draws(rules, conversion_of(in, out, after, *matrix, *matrix)))
    gst_video_colorimetry_from_string(&after, name_of(rules.to_yuv.front()));
  return after;
}

constexpr char kAskForAnother[] = ". Ask for another format, or for the colorimetry of upstream";
constexpr char kConvertBetween[] = ", or put an element between that converts";

Error not_drawn(const std::string &what)
{
  return Error{ErrorCode::Format, what + kAskForAnother + kConvertBetween};
}

// Unless the colours may be off, as those of vapostproc are without a word.
Result<DrawnColours> drawn_nearly(ColourPolicy policy, const ColourConversion &told,
                                  std::string off)
{
  if (policy == ColourPolicy::Any)
    return DrawnColours{told, std::move(off)};
  return Error{ErrorCode::Format, off + kAskForAnother + kConvertBetween +
                                      ", or set colour-conversion=any, which shows what the "
                                      "driver makes of them"};
}

// Of those that VA-API has a name for: FCC is BT.601 but for a thousandth, SMPTE 240M near BT.709
// (ITU-T H.273, table 4).
Matrix nearest_matrix(const GstVideoColorimetry &colorimetry)
{
  const bool is_240m = colorimetry.matrix == GST_VIDEO_COLOR_MATRIX_SMPTE240M;
  return matrix_of(colorimetry).value_or(is_240m ? Matrix::Bt709 : Matrix::Bt601);
}

std::string described(const GstVideoColorimetry &colorimetry)
{
  g_autofree gchar *text = gst_video_colorimetry_to_string(&colorimetry);
  return text ? text : "unknown";
}

} // namespace

GstPtr<GstCaps> with_colours(const GstCaps *caps, const GstDrmVideoInfo &in,
                             const ColourRules &rules)
{
  auto complete = GstPtr<GstCaps>::adopt(gst_caps_copy(caps));
  GstStructure *structure = gst_caps_get_structure(complete.get(), 0);
  GstDrmVideoInfo out;
  gst_drm_video_info_init(&out);
  if (gst_structure_has_field(structure, "colorimetry") ||
      !gst_drm_video_info_from_caps(&out, complete.get()))
    return complete;
  const GstVideoColorimetry colours = colours_after(in, out, rules);
  if (g_autofree gchar *text = gst_video_colorimetry_to_string(&colours))
    gst_structure_set(structure, "colorimetry", G_TYPE_STRING, text, nullptr);
  return complete;
}

Result<DrawnColours> read_colours(const GstDrmVideoInfo &in, const GstDrmVideoInfo &out,
                                  const ColourRules &rules, ColourPolicy policy)
{
  const GstVideoColorimetry &before = in.vinfo.colorimetry;
  const GstVideoColorimetry &after = out.vinfo.colorimetry;
  const bool yuv_in = model_of(in) == Model::Yuv;
  const bool yuv_out = model_of(out) == Model::Yuv;
  if (before.transfer != after.transfer && (is_hdr(before) || is_hdr(after)))
    return not_drawn("PQ and HLG are not converted to other transfer functions");
  if (before.primaries != after.primaries && (is_wide(before) || is_wide(after)))
    return not_drawn("The colour primaries of " + described(before) +
                     " are not converted to those of " + described(after));
  if ((!yuv_in && before.range == GST_VIDEO_COLOR_RANGE_16_235) ||
      (!yuv_out && after.range == GST_VIDEO_COLOR_RANGE_16_235))
    return not_drawn("RGB of narrow range is not converted");
  const Matrix from = yuv_in ? nearest_matrix(before) : Matrix::Bt601;
  const Matrix to = yuv_out ? nearest_matrix(after) : Matrix::Bt601;
  const auto conversion = conversion_of(in, out, after, from, to);
  if (yuv_in && yuv_out && before.matrix == after.matrix && before.range == after.range)
    return DrawnColours{conversion, {}};
  if ((yuv_in && !matrix_of(before)) || (yuv_out && !matrix_of(after)))
    return drawn_nearly(policy, conversion,
                        "The colour matrices of FCC and SMPTE 240M have no name in VA-API");
  if (draws(rules, conversion))
    return DrawnColours{conversion, {}};
  return drawn_nearly(policy, conversion,
                      "The driver does not convert the colours of " + described(before) + " to " +
                          described(after));
}

} // namespace gstdrm::va
