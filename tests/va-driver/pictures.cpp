// SPDX-License-Identifier: LGPL-2.1-or-later
// Video processing: contexts, vaBeginPicture to vaEndPicture, and what the pipeline can do.
#include <algorithm>

#include "driver.hpp"

namespace gstdrm::test::vadriver {
namespace {

VAStatus create_context(VADriverContextP context, VAConfigID config, int /*width*/, int /*height*/,
                        int /*flag*/, VASurfaceID * /*targets*/, int /*n_targets*/, VAContextID *id)
{
  auto &driver = Driver::of(context);
  const std::lock_guard guard(driver.lock);
  if (config < 1 || config > driver.configs.size())
    return VA_STATUS_ERROR_INVALID_CONFIG;
  *id = driver.next_id();
  driver.contexts[*id];
  return VA_STATUS_SUCCESS;
}

VAStatus destroy_context(VADriverContextP context, VAContextID id)
{
  auto &driver = Driver::of(context);
  const std::lock_guard guard(driver.lock);
  return driver.contexts.erase(id) == 1 ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_CONTEXT;
}

VAStatus begin_picture(VADriverContextP context, VAContextID id, VASurfaceID target)
{
  auto &driver = Driver::of(context);
  const std::lock_guard guard(driver.lock);
  if (const auto status = driver.count(Counter::Begin); status != VA_STATUS_SUCCESS)
    return status;
  const auto it = driver.contexts.find(id);
  if (it == driver.contexts.end())
    return VA_STATUS_ERROR_INVALID_CONTEXT;
  auto &picture = it->second.picture;
  picture.target = driver.surface(target);
  picture.blits.clear();
  return picture.target ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_SURFACE;
}

bool fits(const Rect &rect, const Surface &surface)
{
  return rect.x >= 0 && rect.y >= 0 && rect.width > 0 && rect.height > 0 &&
         static_cast<std::uint32_t>(rect.x) + rect.width <= surface.width &&
         static_cast<std::uint32_t>(rect.y) + rect.height <= surface.height;
}

Rect region(const VARectangle *rect, const Surface &surface)
{
  if (!rect)
    return {0, 0, surface.width, surface.height};
  return {rect->x, rect->y, rect->width, rect->height};
}

// False for one that this driver does not do, which a real one would pass over in silence.
bool read_turn(const Settings &settings, const VAProcPipelineParameterBuffer &parameters,
               Turn &turn)
{
  constexpr Turn kTurns[] = {Turn::None, Turn::Right90, Turn::Half, Turn::Left90};
  if (parameters.rotation_state > VA_ROTATION_270 ||
      (parameters.rotation_state != VA_ROTATION_NONE && parameters.mirror_state != VA_MIRROR_NONE))
    return false;
  turn = kTurns[parameters.rotation_state];
  if (parameters.mirror_state == VA_MIRROR_HORIZONTAL)
    turn = Turn::MirrorX;
  else if (parameters.mirror_state == VA_MIRROR_VERTICAL)
    turn = Turn::MirrorY;
  return turn == Turn::None || settings.rotates;
}

bool looks_back(VAProcDeinterlacingType algorithm)
{
  return algorithm == VAProcDeinterlacingMotionAdaptive ||
         algorithm == VAProcDeinterlacingMotionCompensated;
}

// The one filter that this driver knows, where the parameters have it.
VAStatus read_filter(const Driver &driver, const VAProcPipelineParameterBuffer &parameters,
                     Blit &blit)
{
  if (parameters.num_filters == 0)
    return VA_STATUS_SUCCESS;
  const auto found = driver.buffers.find(parameters.filters[0]);
  if (parameters.num_filters != 1 || found == driver.buffers.end() ||
      found->second.type != VAProcFilterParameterBufferType ||
      found->second.data.size() < sizeof(VAProcFilterParameterBufferDeinterlacing))
    return VA_STATUS_ERROR_INVALID_BUFFER;
  VAProcFilterParameterBufferDeinterlacing filter;
  std::copy_n(found->second.data.data(), sizeof filter,
              static_cast<std::uint8_t *>(static_cast<void *>(&filter)));
  const auto &known = driver.settings.deinterlacing;
  if (filter.type != VAProcFilterDeinterlacing ||
      std::find(known.begin(), known.end(), filter.algorithm) == known.end())
    return VA_STATUS_ERROR_UNSUPPORTED_FILTER;
  if (filter.algorithm != VAProcDeinterlacingWeave &&
      (filter.algorithm != VAProcDeinterlacingBob || driver.settings.bob_works))
    blit.field = (filter.flags & VA_DEINTERLACING_BOTTOM_FIELD) != 0 ? Field::Bottom : Field::Top;
  if (!looks_back(filter.algorithm))
    return VA_STATUS_SUCCESS;
  if (parameters.num_forward_references != driver.settings.frames_before ||
      parameters.num_backward_references != driver.settings.frames_behind)
    return VA_STATUS_ERROR_INVALID_PARAMETER;
  blit.before = driver.surface(parameters.forward_references[0]);
  const bool same_size = blit.before && blit.before->width == blit.source->width &&
                         blit.before->height == blit.source->height;
  return same_size ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_SURFACE;
}

VAProcColorStandardType standard_of(Matrix matrix)
{
  return matrix == Matrix::Bt709    ? VAProcColorStandardBT709
         : matrix == Matrix::Bt2020 ? VAProcColorStandardBT2020
                                    : VAProcColorStandardBT601;
}

// One that is not listed is drawn as the first that is.
Colours read_side(const Settings &settings, VAProcColorStandardType standard,
                  const VAProcColorProperties &properties)
{
  Colours colours;
  colours.matrix = settings.matrices.empty() ? Matrix::Bt601 : settings.matrices.front();
  colours.full_range = properties.color_range == VA_SOURCE_RANGE_FULL;
  for (const Matrix matrix : settings.matrices)
    if (standard_of(matrix) == standard)
      colours.matrix = matrix;
  if (standard == VAProcColorStandardExplicit && settings.explicit_colours)
    colours.matrix = properties.matrix_coefficients == 1   ? Matrix::Bt709
                     : properties.matrix_coefficients == 9 ? Matrix::Bt2020
                                                           : Matrix::Bt601;
  return colours;
}

Conversion read_colours(const Settings &settings, const VAProcPipelineParameterBuffer &parameters,
                        bool between_yuv)
{
  if (!settings.fixed_colours)
    return {
        read_side(settings, parameters.surface_color_standard, parameters.input_color_properties),
        read_side(settings, parameters.output_color_standard, parameters.output_color_properties)};
  if (between_yuv)
    return {};
  return {{settings.fixed_from, false}, {settings.fixed_to, false}};
}

VAStatus add_blit(Driver &driver, Picture &picture, const VAProcPipelineParameterBuffer &parameters)
{
  if (const auto status = driver.count(Counter::Blit); status != VA_STATUS_SUCCESS)
    return status;
  if (picture.target->height > driver.settings.vpp_refused_above &&
      contains(driver.settings.vpp_refused, picture.target->format->va_fourcc))
    return VA_STATUS_ERROR_UNIMPLEMENTED;
  const Settings &settings = driver.settings;
  if (settings.draw_refused_above > 0 && picture.target->height > settings.draw_refused_above &&
      picture.target->modifier == settings.draw_refused)
    return VA_STATUS_ERROR_UNIMPLEMENTED;
  Blit blit;
  blit.target_rect = region(parameters.output_region, *picture.target);
  if (!fits(blit.target_rect, *picture.target))
    return VA_STATUS_ERROR_INVALID_PARAMETER;
  // No surface: the area keeps its pixels, and only the background is drawn.
  if (parameters.surface != VA_INVALID_SURFACE) {
    blit.source = driver.surface(parameters.surface);
    if (!blit.source)
      return VA_STATUS_ERROR_INVALID_SURFACE;
    if (contains(driver.settings.read_refused, blit.source->format->va_fourcc))
      return VA_STATUS_ERROR_UNIMPLEMENTED;
    blit.source_rect = region(parameters.surface_region, *blit.source);
    if (!fits(blit.source_rect, *blit.source))
      return VA_STATUS_ERROR_INVALID_PARAMETER;
  }
  blit.colours = read_colours(driver.settings, parameters,
                              picture.target->format->model == Model::Yuv && blit.source &&
                                  blit.source->format->model == Model::Yuv);
  if (driver.settings.background)
    blit.background = parameters.output_background_color;
  if (!read_turn(driver.settings, parameters, blit.turn))
    return VA_STATUS_ERROR_UNSUPPORTED_FILTER;
  if (const auto status = read_filter(driver, parameters, blit); status != VA_STATUS_SUCCESS)
    return status;
  const auto kept = driver.settings.pipelines;
  if (kept > 0 && picture.blits.size() == kept)
    picture.blits.erase(picture.blits.begin());
  picture.blits.push_back(std::move(blit));
  return VA_STATUS_SUCCESS;
}

VAStatus render_picture(VADriverContextP context, VAContextID id, VABufferID *buffers, int count)
{
  auto &driver = Driver::of(context);
  const std::lock_guard guard(driver.lock);
  if (const auto status = driver.count(Counter::Render); status != VA_STATUS_SUCCESS)
    return status;
  const auto it = driver.contexts.find(id);
  if (it == driver.contexts.end() || !it->second.picture.target)
    return VA_STATUS_ERROR_INVALID_CONTEXT;
  for (int i = 0; i < count; ++i) {
    const auto found = driver.buffers.find(buffers[i]);
    if (found == driver.buffers.end() || found->second.type != VAProcPipelineParameterBufferType ||
        found->second.data.size() < sizeof(VAProcPipelineParameterBuffer))
      return VA_STATUS_ERROR_INVALID_BUFFER;
    VAProcPipelineParameterBuffer parameters;
    std::copy_n(found->second.data.data(), sizeof parameters,
                static_cast<std::uint8_t *>(static_cast<void *>(&parameters)));
    if (const auto status = add_blit(driver, it->second.picture, parameters);
        status != VA_STATUS_SUCCESS)
      return status;
  }
  return VA_STATUS_SUCCESS;
}

VAStatus end_picture(VADriverContextP context, VAContextID id)
{
  auto &driver = Driver::of(context);
  const std::lock_guard guard(driver.lock);
  if (const auto status = driver.count(Counter::End); status != VA_STATUS_SUCCESS)
    return status;
  const auto it = driver.contexts.find(id);
  if (it == driver.contexts.end() || !it->second.picture.target)
    return VA_STATUS_ERROR_INVALID_CONTEXT;
  auto &picture = it->second.picture;
  driver.submit(picture);
  picture.target.reset();
  picture.blits.clear(); // keeps its memory for the next picture
  return VA_STATUS_SUCCESS;
}

VAStatus query_filters(VADriverContextP context, VAContextID /*id*/, VAProcFilterType *filters,
                       unsigned *count)
{
  const unsigned room = *count;
  *count = Driver::of(context).settings.deinterlacing.empty() ? 0 : 1;
  if (room < *count)
    return VA_STATUS_ERROR_MAX_NUM_EXCEEDED;
  if (*count > 0)
    filters[0] = VAProcFilterDeinterlacing;
  return VA_STATUS_SUCCESS;
}

VAStatus query_filter_caps(VADriverContextP context, VAContextID /*id*/, VAProcFilterType type,
                           void *caps, unsigned *count)
{
  const auto &known = Driver::of(context).settings.deinterlacing;
  const unsigned room = *count;
  *count = type == VAProcFilterDeinterlacing ? static_cast<unsigned>(known.size()) : 0;
  if (*count == 0)
    return VA_STATUS_ERROR_UNSUPPORTED_FILTER;
  if (room < *count)
    return VA_STATUS_ERROR_MAX_NUM_EXCEEDED;
  for (unsigned i = 0; i < *count; ++i)
    static_cast<VAProcFilterCapDeinterlacing *>(caps)[i].type = known[i];
  return VA_STATUS_SUCCESS;
}

bool needs_references(Driver &driver, const VABufferID *filters, unsigned n_filters)
{
  const std::lock_guard guard(driver.lock);
  const auto found = n_filters == 1 ? driver.buffers.find(filters[0]) : driver.buffers.end();
  if (found == driver.buffers.end() ||
      found->second.data.size() < sizeof(VAProcFilterParameterBufferDeinterlacing))
    return false;
  VAProcFilterParameterBufferDeinterlacing filter;
  std::copy_n(found->second.data.data(), sizeof filter,
              static_cast<std::uint8_t *>(static_cast<void *>(&filter)));
  return looks_back(filter.algorithm);
}

VAStatus query_pipeline_caps(VADriverContextP context, VAContextID /*id*/, VABufferID *filters,
                             unsigned n_filters, VAProcPipelineCaps *caps)
{
  thread_local std::vector<VAProcColorStandardType> standards;
  thread_local std::vector<std::uint32_t> fourccs;
  auto &driver = Driver::of(context);
  fourccs.clear();
  for (const auto &format : all_formats()) {
    if (driver.has_format(format))
      fourccs.push_back(format.va_fourcc);
  }
  *caps = {};
  if (needs_references(driver, filters, n_filters)) {
    caps->num_forward_references = driver.settings.frames_before;
    caps->num_backward_references = driver.settings.frames_behind;
  }
  standards.clear();
  for (const Matrix matrix : driver.settings.matrices)
    standards.push_back(standard_of(matrix));
  if (driver.settings.explicit_colours)
    standards.push_back(VAProcColorStandardExplicit);
  caps->input_color_standards = caps->output_color_standards = standards.data();
  caps->num_input_color_standards = caps->num_output_color_standards =
      static_cast<std::uint32_t>(standards.size());
  caps->input_pixel_format = caps->output_pixel_format = fourccs.data();
  caps->num_input_pixel_formats = caps->num_output_pixel_formats =
      static_cast<std::uint32_t>(fourccs.size());
  caps->max_input_width = caps->max_output_width = driver.settings.max_size;
  caps->max_input_height = caps->max_output_height = driver.settings.max_size;
  caps->min_input_width = caps->min_output_width = 1;
  caps->min_input_height = caps->min_output_height = 1;
  caps->rotation_flags = driver.settings.rotates ? 0xfU : 1U << VA_ROTATION_NONE;
  caps->mirror_flags =
      driver.settings.rotates ? VA_MIRROR_HORIZONTAL | VA_MIRROR_VERTICAL : VA_MIRROR_NONE;
  return VA_STATUS_SUCCESS;
}

} // namespace

void install_pictures(VADriverVTable &vtable, VADriverVTableVPP *vpp)
{
  vtable.vaCreateContext = in_c<create_context>;
  vtable.vaDestroyContext = in_c<destroy_context>;
  vtable.vaBeginPicture = in_c<begin_picture>;
  vtable.vaRenderPicture = in_c<render_picture>;
  vtable.vaEndPicture = in_c<end_picture>;
  if (!vpp)
    return;
  vpp->version = VA_DRIVER_VTABLE_VPP_VERSION;
  vpp->vaQueryVideoProcFilters = in_c<query_filters>;
  vpp->vaQueryVideoProcFilterCaps = in_c<query_filter_caps>;
  vpp->vaQueryVideoProcPipelineCaps = in_c<query_pipeline_caps>;
}

} // namespace gstdrm::test::vadriver
