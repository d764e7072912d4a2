// SPDX-License-Identifier: LGPL-2.1-or-later
#include "va_colours.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "va_driver_facts.hpp"
#include "va_vpp.hpp"

namespace gstdrm::va {
namespace {

bool contains(const std::vector<Matrix> &list, Matrix matrix)
{
  return std::find(list.begin(), list.end(), matrix) != list.end();
}

// Matrices of YUV that the driver tells apart, as VAProcColorStandardExplicit names them: ITU-T
// H.273, table 4.
std::uint8_t code_of(Matrix matrix)
{
  switch (matrix) {
  case Matrix::Bt709:
    return 1;
  case Matrix::Bt2020:
    return 9;
  case Matrix::Bt601:
    break;
  }
  return 6;
}

std::uint8_t range_of(const Colours &colours)
{
  return colours.full_range ? VA_SOURCE_RANGE_FULL : VA_SOURCE_RANGE_REDUCED;
}

} // namespace

ColourRules colour_rules(std::string_view vendor, std::vector<VAProcColorStandardType> listed)
{
  const auto lists = [&](VAProcColorStandardType standard) {
    return std::find(listed.begin(), listed.end(), standard) != listed.end();
  };
  ColourRules rules;
  for (const Matrix matrix : {Matrix::Bt601, Matrix::Bt709, Matrix::Bt2020})
    if (lists(standard_of(matrix)))
      rules.listed.push_back(matrix);
  const FixedColours fixed = fixed_colours(vendor);
  if (lists(VAProcColorStandardExplicit) && (rules.listed.empty() || fixed.unless_explicit)) {
    rules.is_explicit = true;
    rules.listed = {Matrix::Bt601, Matrix::Bt709, Matrix::Bt2020};
  }
  if (rules.listed.empty())
    rules.listed = {Matrix::Bt601};
  rules.from_yuv = rules.to_yuv = rules.listed;
  if (rules.is_explicit || fixed.from_yuv.empty())
    return rules;
  rules.from_yuv = fixed.from_yuv;
  rules.to_yuv = fixed.to_yuv;
  rules.full_range = rules.between_yuv = false;
  return rules;
}

ColourRules query_colours(const std::shared_ptr<Display> &display)
{
  const auto made = open_video_processing(display);
  VAProcPipelineCaps caps{};
  if (!made || vaQueryVideoProcPipelineCaps(display->count(), made->context.id(), nullptr, 0,
                                            &caps) != VA_STATUS_SUCCESS)
    return colour_rules(display->vendor(), {});
  // the matrices that input and output list
  std::vector<VAProcColorStandardType> both;
  const auto *in = caps.input_color_standards;
  const auto *out = caps.output_color_standards;
  for (std::uint32_t i = 0; in && out && i < caps.num_input_color_standards; ++i)
    if (std::find(out, out + caps.num_output_color_standards, in[i]) !=
        out + caps.num_output_color_standards)
      both.push_back(in[i]);
  return colour_rules(display->vendor(), std::move(both));
}

bool draws(const ColourRules &rules, const ColourConversion &conversion)
{
  const bool yuv_in = conversion.from_model == Model::Yuv;
  const bool yuv_out = conversion.to_model == Model::Yuv;
  const Colours &from = conversion.from;
  const Colours &to = conversion.to;
  if (yuv_in && yuv_out)
    return from == to || (rules.between_yuv && contains(rules.listed, from.matrix) &&
                          contains(rules.listed, to.matrix));
  if (yuv_in)
    return contains(rules.from_yuv, from.matrix) && (rules.full_range || !from.full_range);
  return !yuv_out || (contains(rules.to_yuv, to.matrix) && (rules.full_range || !to.full_range));
}

void tell(const ColourRules &rules, const ColourConversion &conversion,
          VAProcPipelineParameterBuffer &parameters)
{
  // a matrix that is not listed is not converted: both sides get the same name
  const auto name = [&](Matrix matrix) {
    return contains(rules.listed, matrix) ? matrix : rules.listed.front();
  };
  auto &in = parameters.input_color_properties;
  auto &out = parameters.output_color_properties;
  in.color_range = range_of(conversion.from);
  out.color_range = range_of(conversion.to);
  if (!rules.is_explicit) {
    parameters.surface_color_standard = standard_of(name(conversion.from.matrix));
    parameters.output_color_standard = standard_of(name(conversion.to.matrix));
    return;
  }
  parameters.surface_color_standard = VAProcColorStandardExplicit;
  parameters.output_color_standard = VAProcColorStandardExplicit;
  // the same on both sides, so that they are not converted: those of BT.709 (H.273, tables 2 and 3)
  in.colour_primaries = out.colour_primaries = 1;
  in.transfer_characteristics = out.transfer_characteristics = 1;
  in.matrix_coefficients = code_of(conversion.from.matrix);
  out.matrix_coefficients = code_of(conversion.to.matrix);
}

} // namespace gstdrm::va
