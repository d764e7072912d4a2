// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstmetisinferformat.hpp"

#include <string>
#include <utility>

#include <drm_fourcc.h>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/core/limits.hpp>
#include <gst/drm/element/caps_features.hpp>
#include <gst/drm/element/errors.hpp>
#include <gst/drm/element/format_sets.hpp>

namespace gstdrm::metis {

namespace {

constexpr const char *kNvmm = "memory:NVMM";

FormatSetPtr linear_set(bool nv12_alone)
{
  FormatSetPtr set(gst_drm_format_set_new());
  for (const std::uint32_t fourcc : Preprocessor::readable_fourccs())
    if (!nv12_alone || fourcc == DRM_FORMAT_NV12)
      gst_drm_format_set_add(set.get(), fourcc, GST_DRM_MODIFIER_LINEAR);
  return set;
}

void append_with_feature(GstCaps *caps, GstCaps *part, const char *feature)
{
  if (feature)
    gst_caps_set_features_simple(part, gst_caps_features_new_single(feature));
  gst_caps_append(caps, part);
}

// DMA_DRM, NVMM and system memory. Also memory:DMABuf without a modifier if implicit-modifier says
// that it is linear: decoders send tiled frames under such caps, too.
GstPtr<GstCaps> caps_of_set(const GstDrmFormatSet *linear, bool system_memory,
                            ImplicitModifier implicit_modifier)
{
  const bool takes_implicit = implicit_modifier == ImplicitModifier::Linear;
  const FormatSetPtr dmabufs =
      to_public(takes_implicit ? with_implicit(from_public(*linear), implicit_modifier)
                               : from_public(*linear));
  auto caps = GstPtr<GstCaps>::adopt(gst_drm_format_set_to_caps(dmabufs.get()));
  append_with_feature(caps.get(),
                      gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING, "NV12", nullptr),
                      kNvmm);
  if (system_memory)
    append_with_feature(caps.get(), gst_drm_format_set_to_raw_caps(linear), nullptr);
  constexpr auto kMost = static_cast<gint>(kMaxFrameSize);
  gst_caps_set_simple(caps.get(), "width", GST_TYPE_INT_RANGE, 1, kMost, "height",
                      GST_TYPE_INT_RANGE, 1, kMost, nullptr);
  append_with_overlays(caps.get()); // an inference sees the picture without them
  return caps;
}

FrameMemory memory_of(const GstCaps *caps)
{
  GstCapsFeatures *features = gst_caps_get_features(caps, 0);
  if (gst_caps_features_contains(features, kNvmm))
    return FrameMemory::Nvmm;
  if (gst_caps_features_contains(features, GST_CAPS_FEATURE_MEMORY_DMABUF))
    return FrameMemory::DmaBuf;
  return FrameMemory::System;
}

ColorMatrix matrix_of(const GstVideoInfo &info)
{
  switch (info.colorimetry.matrix) {
  case GST_VIDEO_COLOR_MATRIX_BT709:
    return ColorMatrix::Bt709;
  case GST_VIDEO_COLOR_MATRIX_BT2020:
    return ColorMatrix::Bt2020;
  case GST_VIDEO_COLOR_MATRIX_SMPTE240M:
    return ColorMatrix::Smpte240m;
  case GST_VIDEO_COLOR_MATRIX_FCC:
    return ColorMatrix::Fcc;
  default:
    return ColorMatrix::Bt601;
  }
}

// Uses a chroma site only if the caps name it: GStreamer's default for small pictures is not where
// decoders put the samples.
Sampling sampling_of(const GstCaps *caps, const GstVideoInfo &info)
{
  Sampling sampling;
  if (info.par_n > 0 && info.par_d > 0) {
    sampling.par_n = static_cast<std::uint32_t>(info.par_n);
    sampling.par_d = static_cast<std::uint32_t>(info.par_d);
  }
  if (gst_structure_has_field(gst_caps_get_structure(caps, 0), "chroma-site") &&
      info.chroma_site != GST_VIDEO_CHROMA_SITE_UNKNOWN) {
    sampling.chroma_left = (info.chroma_site & GST_VIDEO_CHROMA_SITE_H_COSITED) != 0;
    sampling.chroma_top = (info.chroma_site & GST_VIDEO_CHROMA_SITE_V_COSITED) != 0;
  }
  return sampling;
}

Result<GstDrmVideoInfo> info_of_caps(GstCaps *caps, FrameMemory memory)
{
  auto readable = GstPtr<GstCaps>::share(caps);
  if (memory == FrameMemory::Nvmm) { // the same caps for system memory
    readable.reset(gst_caps_copy(caps));
    gst_caps_set_features_simple(
        readable.get(), gst_caps_features_new_single(GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY));
  }
  GstDrmVideoInfo info;
  GError *error = nullptr;
  if (!gst_drm_video_info_from_caps_full(&info, readable.get(), &error))
    return take_error(error);
  return info;
}

Result<void> prepare_with(FrameFormat &frames, const GstDrmVideoInfo &info, const Model &model,
                          const Sampling &sampling, const Region &part)
{
  auto made = Preprocessor::create(model, info.drm_fourcc, part.width, part.height, frames.matrix,
                                   frames.full_range, sampling);
  if (!made)
    return made.error();
  Placement &placement = frames.placement;
  placement = made->placement();
  placement.offset_x -= static_cast<float>(part.x) * placement.scale_x;
  placement.offset_y -= static_cast<float>(part.y) * placement.scale_y;
  frames.prepare = [preprocessor = std::make_shared<Preprocessor>(std::move(*made)),
                    part](const PictureView &picture, std::byte *tensor) {
    preprocessor->run(part_of(picture, part.x, part.y, part.width, part.height), tensor);
  };
  return {};
}

Region whole_frame(const GstVideoInfo &info)
{
  return {0, 0, 0, static_cast<std::uint32_t>(info.width), static_cast<std::uint32_t>(info.height)};
}

// For a device that reads frames: it scales the whole frame to the size of its input.
Placement stretched(const GstDrmVideoInfo &info, const Model &model)
{
  const TensorInfo &input = model.input;
  Placement placement;
  if (input.dims.size() != 4)
    return placement;
  const std::size_t first = model.image.layout == TensorLayout::Nchw ? 2 : 1;
  if (input.values_along(first) == 0 || input.values_along(first + 1) == 0)
    return placement;
  placement.scale_y =
      static_cast<float>(input.values_along(first)) / static_cast<float>(info.vinfo.height);
  placement.scale_x =
      static_cast<float>(input.values_along(first + 1)) / static_cast<float>(info.vinfo.width);
  return placement;
}

bool takes_plain(const GstCaps *caps)
{
  return any_features(caps, [](const GstCapsFeatures *features) {
    return !gst_caps_features_is_any(features) &&
           gst_caps_features_contains(features, GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY);
  });
}

} // namespace

GstPtr<GstCaps> infer_template()
{
  return caps_of_set(linear_set(false).get(), true, ImplicitModifier::Linear);
}

GstPtr<GstCaps> infer_caps(const Backend &backend, const InferSettings &settings)
{
  const bool imports = backend.takes() == Backend::Takes::Frames;
  return caps_of_set(linear_set(imports).get(),
                     !imports || settings.import_mode == ImportMode::Copy,
                     settings.implicit_modifier);
}

Result<void> check_frame_caps(GstCaps *caps)
{
  const auto info = info_of_caps(caps, memory_of(caps));
  return info ? Result<void>() : info.error();
}

Result<InferFormat> format_of_caps(GstCaps *caps, const Backend &backend,
                                   ImplicitModifier implicit_modifier)
{
  InferFormat format;
  format.memory = memory_of(caps);
  format.caps = GstPtr<GstCaps>::share(caps);
  auto info = info_of_caps(caps, format.memory);
  if (!info)
    return info.error();
  resolve_implicit(*info, implicit_modifier);
  format.info = *info;
  auto frames = std::make_shared<FrameFormat>();
  frames->matrix = matrix_of(info->vinfo);
  frames->full_range = info->vinfo.colorimetry.range == GST_VIDEO_COLOR_RANGE_0_255;
  if (backend.takes() == Backend::Takes::Tensors) {
    if (Result<void> prepared =
            prepare_with(*frames, *info, backend.model(), sampling_of(caps, info->vinfo),
                         whole_frame(info->vinfo));
        !prepared)
      return prepared.error();
  } else {
    frames->placement = stretched(*info, backend.model());
  }
  format.frames = std::move(frames);
  return format;
}

Result<std::shared_ptr<const FrameFormat>>
format_of_region(const InferFormat &format, const Model &model, const Region &region)
{
  auto frames = std::make_shared<FrameFormat>();
  frames->matrix = format.frames->matrix;
  frames->full_range = format.frames->full_range;
  if (Result<void> prepared = prepare_with(
          *frames, format.info, model, sampling_of(format.caps.get(), format.info.vinfo), region);
      !prepared)
    return prepared.error();
  return std::shared_ptr<const FrameFormat>(std::move(frames));
}

std::string suggest_for_infer(const GstCaps *upstream, const GstCaps *refusing)
{
  if (has_implicit(upstream))
    return advise_implicit(ImplicitModifier::Auto, false);
  if (!takes_plain(upstream))
    return "Put a converter before it that makes linear NV12.";
  if (takes_plain(refusing))
    return "Put videoconvert before it.";
  return "Put dmabufupload before it, or set import-mode=copy.";
}

} // namespace gstdrm::metis
