// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstvaconvertcaps.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gst/drm/core/limits.hpp>
#include <gst/drm/drm.h>
#include <gst/drm/element/producer.hpp>
#include <gst/drm/gstdrmcaps-parts.hpp>

#include "engine/va_formats.hpp"
#include "gstvamachine.hpp"

namespace gstdrm::va {
namespace {

// Returns true for fields that a conversion changes, and for those that producer_caps() sets.
bool changes(std::string_view field)
{
  constexpr std::array<std::string_view, 7> kChanged{
      "format",      "drm-format", "width", "height", "pixel-aspect-ratio",
      "colorimetry", "chroma-site"};
  return std::find(kChanged.begin(), kChanged.end(), field) != kChanged.end();
}

gboolean copy_field(GQuark field, const GValue *value, gpointer to) noexcept
{
  if (!changes(g_quark_to_string(field)))
    gst_structure_id_set_value(static_cast<GstStructure *>(to), field, value);
  return TRUE;
}

// The modes with whole frames in a buffer; `alternate` has one field in each.
constexpr std::array<const char *, 3> kModes{"progressive", "interleaved", "mixed"};

void set_modes(GValue *list, std::size_t count)
{
  g_value_init(list, GST_TYPE_LIST);
  for (std::size_t i = 0; i < count; ++i) {
    g_auto(GValue) mode = G_VALUE_INIT;
    g_value_init(&mode, G_TYPE_STRING);
    g_value_set_static_string(&mode, kModes[i]);
    gst_value_list_append_value(list, &mode);
  }
}

// The structure's fields that a conversion keeps; empty if its interlace-mode is not converted.
StructurePtr kept_fields(const GstStructure *from, Interlacing interlacing)
{
  StructurePtr kept(gst_structure_new_empty("kept"));
  GstStructure *to = kept.get();
  gst_structure_foreach(from, copy_field, to);
  const GValue *mode = gst_structure_get_value(from, "interlace-mode");
  if (!mode)
    return kept;
  // the modes that `from` may have, and those of `to`
  g_auto(GValue) taken = G_VALUE_INIT;
  g_auto(GValue) made = G_VALUE_INIT;
  set_modes(&taken, interlacing == Interlacing::Removed ? kModes.size() : 1);
  set_modes(&made, interlacing == Interlacing::Added ? kModes.size() : 1);
  if (!gst_value_intersect(nullptr, mode, &taken)) // can_intersect() is true for any two strings
    return {};
  if (interlacing != Interlacing::Kept)
    gst_structure_remove_field(to, "field-order");
  if (interlacing == Interlacing::Added)
    gst_structure_set_value(to, "interlace-mode", &made);
  else
    gst_structure_set(to, "interlace-mode", G_TYPE_STRING, kModes[0], nullptr);
  return kept;
}

// Appends every structure of `made`, with the fields of `kept`.
void append_all(GstCaps *result, const GstStructure *kept, const GstCaps *made)
{
  for (guint i = 0; i < gst_caps_get_size(made); ++i) {
    auto one = GstPtr<GstCaps>::adopt(gst_caps_copy_nth(made, i));
    gst_structure_foreach(kept, copy_field, gst_caps_get_structure(one.get(), 0));
    gst_caps_append(result, one.release());
  }
}

} // namespace

GstPtr<GstCaps> convertible_caps(const GstCaps *caps, GstPtr<GstCaps> same, GstPtr<GstCaps> other,
                                 Interlacing interlacing)
{
  if (gst_caps_is_any(caps))
    return other;
  auto result = GstPtr<GstCaps>::adopt(gst_caps_new_empty());
  // most structures have the same kept fields; append the long lists of `other` once for each
  std::vector<StructurePtr> done;
  for (const CapsPart &possible : intersect_parts(take_apart(caps), take_apart(same.get()))) {
    auto kept = kept_fields(possible.rest.get(), interlacing);
    const bool is_new = kept && std::none_of(done.begin(), done.end(), [&](const auto &one) {
                          return gst_structure_is_equal(one.get(), kept.get());
                        });
    if (!is_new)
      continue;
    append_all(result.get(), kept.get(), other.get());
    done.push_back(std::move(kept));
  }
  return done.size() > 1 ? GstPtr<GstCaps>::adopt(gst_caps_simplify(result.release())) : result;
}

GstPtr<GstCaps> offered_caps(GstPadDirection direction, const GstCaps *peer, const GstCaps *made,
                             const GstCaps *offer, const GstCaps *filter)
{
  auto possible = intersect_parts(take_apart(made), take_apart(offer));
  CapsParts parts;
  if (!gst_caps_is_any(peer))
    parts = intersect_parts(take_apart(peer), possible);
  for (CapsPart &part : possible)
    merge_part(parts, std::move(part));
  if (filter && !gst_caps_is_any(filter))
    parts = filter_parts(direction, parts, take_apart(filter));
  return GstPtr<GstCaps>::adopt(put_together(std::move(parts)));
}

GstPtr<GstCaps> output_caps(const GstCaps *in_caps, const Capabilities &capabilities,
                            const FormatSet &formats)
{
  auto result = GstPtr<GstCaps>::adopt(gst_caps_new_empty());
  const auto made = device_caps(capabilities, formats);
  const GstStructure *in = gst_caps_get_structure(in_caps, 0);
  // add no framerate to a stream without one
  if (!gst_structure_has_field(in, "framerate"))
    for (guint i = 0; i < gst_caps_get_size(made.get()); ++i)
      gst_structure_remove_field(gst_caps_get_structure(made.get(), i), "framerate");
  if (const auto kept = kept_fields(in, Interlacing::Removed))
    append_all(result.get(), kept.get(), made.get());
  return result;
}

bool is_interlaced(const GstCaps *caps)
{
  const auto *mode = gst_structure_get_string(gst_caps_get_structure(caps, 0), "interlace-mode");
  return mode && std::string_view(mode) != kModes[0];
}

// --- size ----------------------------------------------------------------------------------------

PictureSize picture_of(const GstVideoInfo &info, Orientation orientation)
{
  PictureSize picture{GST_VIDEO_INFO_WIDTH(&info), GST_VIDEO_INFO_HEIGHT(&info),
                      std::max(1, GST_VIDEO_INFO_PAR_N(&info)),
                      std::max(1, GST_VIDEO_INFO_PAR_D(&info))};
  if (swaps_sides(orientation)) {
    std::swap(picture.width, picture.height);
    std::swap(picture.par_n, picture.par_d);
  }
  return picture;
}

namespace {

// Display aspect ratio.
double shape_of(const PictureSize &picture)
{
  return static_cast<double>(picture.width) * picture.par_n /
         (static_cast<double>(picture.height) * picture.par_d);
}

int rounded(double value)
{
  return static_cast<int>(std::clamp(value + 0.5, 1.0, static_cast<double>(kMaxFrameSize)));
}

bool is_fixed(const GstStructure *structure, const char *field)
{
  const GValue *value = gst_structure_get_value(structure, field);
  return value && gst_value_is_fixed(value);
}

int number(const GstStructure *structure, const char *field)
{
  gint value = 0;
  gst_structure_get_int(structure, field, &value);
  return value;
}

} // namespace

void fix_size(GstStructure *structure, const PictureSize &picture)
{
  const double shape = shape_of(picture);
  const double par = static_cast<double>(picture.par_n) / picture.par_d;
  const bool only_height = is_fixed(structure, "height") && !is_fixed(structure, "width");
  if (only_height)
    gst_structure_fixate_field_nearest_int(structure, "width",
                                           rounded(number(structure, "height") * shape / par));
  else
    gst_structure_fixate_field_nearest_int(structure, "width", picture.width);
  const int width = number(structure, "width");
  gst_structure_fixate_field_nearest_int(
      structure, "height", width == picture.width ? picture.height : rounded(width * par / shape));
  const int height = number(structure, "height");
  int par_n = picture.par_n;
  int par_d = picture.par_d;
  if (width != picture.width || height != picture.height) {
    // the pixel aspect ratio that keeps the display aspect ratio
    int scale_n = 0;
    int scale_d = 0;
    if (!gst_util_fraction_multiply(picture.width, picture.height, height, width, &scale_n,
                                    &scale_d) ||
        !gst_util_fraction_multiply(scale_n, scale_d, picture.par_n, picture.par_d, &par_n, &par_d))
      par_n = par_d = 1;
  }
  if (gst_structure_has_field(structure, "pixel-aspect-ratio"))
    gst_structure_fixate_field_nearest_fraction(structure, "pixel-aspect-ratio", par_n, par_d);
  else
    gst_structure_set(structure, "pixel-aspect-ratio", GST_TYPE_FRACTION, par_n, par_d, nullptr);
}

Rect picture_area(const PictureSize &picture, const PictureSize &frame, bool add_borders)
{
  Rect area{0, 0, static_cast<std::uint32_t>(frame.width),
            static_cast<std::uint32_t>(frame.height)};
  const double wanted = shape_of(picture);
  const double have = shape_of(frame);
  if (!add_borders || std::max(wanted, have) / std::min(wanted, have) < 1.001)
    return area;
  const auto even = [](double value, int most) {
    return static_cast<std::uint32_t>(std::clamp(static_cast<int>(value / 2 + 0.5) * 2, 1, most));
  };
  if (wanted > have)
    area.height = even(frame.height * have / wanted, frame.height);
  else
    area.width = even(frame.width * wanted / have, frame.width);
  area.x = (static_cast<std::uint32_t>(frame.width) - area.width) / 4 * 2;
  area.y = (static_cast<std::uint32_t>(frame.height) - area.height) / 4 * 2;
  return area;
}

namespace {

bool is_same_size(const PictureSize &a, const PictureSize &b)
{
  return a.width == b.width && a.height == b.height && a.par_n == b.par_n && a.par_d == b.par_d;
}

PictureSize size_in(const GstStructure *structure)
{
  PictureSize size;
  gst_structure_get_int(structure, "width", &size.width);
  gst_structure_get_int(structure, "height", &size.height);
  gst_structure_get_fraction(structure, "pixel-aspect-ratio", &size.par_n, &size.par_d);
  return size;
}

} // namespace

std::vector<PictureSize> sizes_for(const PictureSize &picture, const GstCaps *common)
{
  std::vector<PictureSize> sizes;
  for (guint i = 0; i < gst_caps_get_size(common); ++i) {
    const auto one = GstPtr<GstCaps>::adopt(gst_caps_copy_nth(common, i));
    GstStructure *structure = gst_caps_get_structure(one.get(), 0);
    fix_size(structure, picture);
    const PictureSize size = size_in(structure);
    if (std::none_of(sizes.begin(), sizes.end(),
                     [&](const PictureSize &other) { return is_same_size(size, other); }))
      sizes.push_back(size);
  }
  return sizes;
}

GstPtr<GstCaps> with_size(GstPtr<GstCaps> caps, const PictureSize &size)
{
  gst_caps_set_simple(caps.get(), "width", G_TYPE_INT, size.width, "height", G_TYPE_INT,
                      size.height, "pixel-aspect-ratio", GST_TYPE_FRACTION, size.par_n, size.par_d,
                      nullptr);
  return caps;
}

// --- colours -------------------------------------------------------------------------------------

std::optional<Matrix> matrix_of(const GstVideoColorimetry &colorimetry)
{
  switch (colorimetry.matrix) {
  case GST_VIDEO_COLOR_MATRIX_BT709:
    return Matrix::Bt709;
  case GST_VIDEO_COLOR_MATRIX_BT2020:
    return Matrix::Bt2020;
  case GST_VIDEO_COLOR_MATRIX_FCC:
  case GST_VIDEO_COLOR_MATRIX_SMPTE240M:
    return std::nullopt; // without a name in VA-API
  default:
    return Matrix::Bt601;
  }
}

bool is_hdr(const GstVideoColorimetry &colorimetry)
{
  return colorimetry.transfer == GST_VIDEO_TRANSFER_SMPTE2084 ||
         colorimetry.transfer == GST_VIDEO_TRANSFER_ARIB_STD_B67;
}

namespace {

Model model_of(const GstDrmVideoInfo &info)
{
  const auto *format = format_by_drm(info.drm_fourcc);
  return format ? format->model : Model::Rgb;
}

const char *name_of(Matrix matrix)
{
  return matrix == Matrix::Bt709    ? GST_VIDEO_COLORIMETRY_BT709
         : matrix == Matrix::Bt2020 ? GST_VIDEO_COLORIMETRY_BT2020
                                    : GST_VIDEO_COLORIMETRY_BT601;
}

// The primaries of BT.601 and BT.709 count as the same, as in other converters.
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

// The colorimetry of output caps that have none yet.
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

// The conversion with inexact colours if the policy allows it, else an Error.
Result<DrawnColours> drawn_nearly(ColourPolicy policy, const ColourConversion &told,
                                  std::string off)
{
  if (policy == ColourPolicy::Any)
    return DrawnColours{told, std::move(off)};
  return Error{ErrorCode::Format, off + kAskForAnother + kConvertBetween +
                                      ", or set colour-conversion=any, which shows what the "
                                      "driver makes of them"};
}

// The nearest matrix that VA-API has a name for: FCC differs from BT.601 by a thousandth, SMPTE
// 240M is near BT.709 (ITU-T H.273, table 4).
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
