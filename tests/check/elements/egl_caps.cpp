// SPDX-License-Identifier: LGPL-2.1-or-later
// The rules of egldmabufupload's caps: text to text for a small device. egl_caps_vendors.cpp has the lists of real
// vendors' drivers.
#include "egl_caps.hpp"

#include <vector>

#include "support/odd_queries.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::Format;
using gstdrm::FormatSet;
using gstdrm::GstPtr;
using gstdrm::ImplicitModifier;
using gstdrm::kModImplicit;
using gstdrm::UploadDevice;
using gstdrm::UploadFormats;
using gstdrm::egl::Shape;
using gstdrm::egl::Target;

#define DRM "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format="
#define DMABUF "video/x-raw(memory:DMABuf), format="
#define X_TILED ":0x0100000000000001"

FormatSet set_of(std::initializer_list<const char *> texts)
{
  std::vector<Format> pairs;
  for (const char *text : texts)
    pairs.push_back(pair(text));
  return FormatSet::from_pairs(std::move(pairs));
}

// XR24 and its X-tiled form and the parts of NV12 as 2D, NV12 as an external image alone.
UploadDevice small_device()
{
  UploadDevice device;
  device.images.texture_2d = set_of({"XR24", "XR24" X_TILED, "R8  ", "GR88"});
  device.images.external_only = set_of({"NV12", "NV12" X_TILED, "YUYV"});
  device.can_copy = false;
  return device;
}

UploadDevice copying_device()
{
  UploadDevice device;
  device.has_external_textures = false;
  return device;
}

UploadDevice device_without_modifiers()
{
  UploadDevice device;
  device.images.texture_2d = FormatSet::from_pairs(
      {{pair("XR24").fourcc, kModImplicit}, {pair("NV12").fourcc, kModImplicit}});
  device.can_copy = false;
  return device;
}

UploadDevice device_without_rg()
{
  UploadDevice device = small_device();
  device.has_rg_textures = false;
  return device;
}

UploadDevice strict_device()
{
  UploadDevice device = small_device();
  device.takes_plain = false;
  return device;
}

UploadDevice device_of_2048()
{
  UploadDevice device = small_device();
  device.max_size = 2048;
  return device;
}

// Converts YUV to a 2D texture by itself, and has textures of its planes.
UploadDevice converting_device()
{
  UploadDevice device;
  device.images.texture_2d = set_of({"NV12", "P010", "YUYV", "R8  ", "GR88", "R16 ", "GR32"});
  device.can_copy = false;
  return device;
}

// Lists the planes alone.
UploadDevice drawing_device()
{
  UploadDevice device;
  device.images.texture_2d = set_of({"R16 ", "GR32", "GR88", "AB24"});
  device.has_external_textures = false;
  device.can_copy = false;
  return device;
}

UploadDevice converting_device_without_rg()
{
  UploadDevice device = converting_device();
  device.has_rg_textures = false;
  return device;
}

// --- implicit-modifier

UploadDevice linear_for_implicit()
{
  UploadDevice device = small_device();
  device.implicit_modifier = ImplicitModifier::Linear;
  return device;
}

UploadDevice driver_for_implicit()
{
  UploadDevice device = small_device();
  device.images = gstdrm::with_implicit(device.images);
  device.implicit_modifier = ImplicitModifier::Driver;
  return device;
}

UploadDevice refuses_implicit()
{
  UploadDevice device = device_without_modifiers();
  device.images = gstdrm::with_linear(device.images);
  device.implicit_modifier = ImplicitModifier::Refuse;
  return device;
}

UploadDevice copies_linear_for_implicit()
{
  UploadDevice device = copying_device();
  device.implicit_modifier = ImplicitModifier::Linear;
  return device;
}

struct Row {
  const char *name;
  UploadDevice (*device)();
  GstPadDirection direction; // of the pad that `caps` are on
  const char *caps;
  const char *expected; // without the sizes of the templates
};

const Row kRows[] = {
    {"RGB becomes a 2D texture, or an external one", small_device, GST_PAD_SINK, DRM "XR24" X_TILED,
     GL "2D, format=RGBA; " GL "external-oes, format=RGBA"},
    {"NV12: planes before the external image, and that before RGBA that is drawn", small_device, GST_PAD_SINK, DRM "NV12",
     GL "2D, format=NV12; " GL "external-oes, format=RGBA; " GL "2D, format=RGBA"},
    {"packed 4:2:2 drawn, which the driver does not list as a whole", drawing_device, GST_PAD_SINK, DRM "YUYV",
     GL "2D, format=YUY2; " GL "2D, format=RGBA"},
    {"tiled packed 4:2:2 has no planes", drawing_device, GST_PAD_SINK, DRM "YUYV" X_TILED, "EMPTY"},
    {"packed 4:2:2 without a texture for its chroma", small_device, GST_PAD_SINK, DRM "YUYV",
     GL "2D, format=YUY2; " GL "external-oes, format=RGBA"},
    {"tiled NV12 whose planes are not listed so", small_device, GST_PAD_SINK, DRM "NV12" X_TILED,
     GL "external-oes, format=RGBA"},
    {"the driver's conversion before planes", converting_device, GST_PAD_SINK, DRM "NV12",
     GL "2D, format=RGBA; " GL "2D, format=NV12; " GL "external-oes, format=RGBA"},
    {"10 bits: planes before the driver's conversion", converting_device, GST_PAD_SINK, DRM "P010",
     GL "2D, format=P010_10LE; " GL "2D, format=RGBA; " GL "external-oes, format=RGBA"},
    {"10 bits drawn of the planes, which the driver does not list as a whole", drawing_device, GST_PAD_SINK,
     DRM "P010, colorimetry=bt709", GL "2D, format=P010_10LE, colorimetry=bt709; " GL "2D, format=RGBA"},
    {"10 bits drawn, of a format that GL elements have no name for", drawing_device, GST_PAD_SINK, DRM "P210",
     GL "2D, format=RGBA"},
    {"fields of 4:2:0 are not drawn", drawing_device, GST_PAD_SINK, DRM "P010, interlace-mode=interleaved",
     GL "2D, format=P010_10LE, interlace-mode=interleaved"},
    {"10 bits without planes", converting_device_without_rg, GST_PAD_SINK, DRM "P010",
     GL "2D, format=RGBA; " GL "external-oes, format=RGBA"},
    {"fields: planes alone", converting_device, GST_PAD_SINK, DRM "NV12, interlace-mode=interleaved",
     GL "2D, format=NV12, interlace-mode=interleaved"},
    {"fields of 4:2:2", converting_device, GST_PAD_SINK, DRM "YUYV, interlace-mode=interleaved",
     GL "2D, format=RGBA, interlace-mode=interleaved; " GL "2D, format=YUY2, interlace-mode=interleaved; " GL
        "external-oes, format=RGBA, interlace-mode=interleaved"},
    {"fields of RGB", small_device, GST_PAD_SINK, DRM "XR24, interlace-mode=mixed",
     GL "2D, format=RGBA, interlace-mode=mixed; " GL "external-oes, format=RGBA, interlace-mode=mixed"},
    {"fields that may be none", converting_device_without_rg, GST_PAD_SINK, DRM "NV12, interlace-mode={interleaved, progressive}",
     GL "2D, format=RGBA, interlace-mode={interleaved, progressive}; " GL
        "external-oes, format=RGBA, interlace-mode={interleaved, progressive}"},
    {"fields that are copied", copying_device, GST_PAD_SINK, DRM "NV12, interlace-mode=interleaved",
     GL "2D, format=NV12, interlace-mode=interleaved; " GL "2D, format=RGBA, interlace-mode=interleaved"},
    {"RGBA with fields comes of no 4:2:0", small_device, GST_PAD_SRC, GL "external-oes, format=RGBA, interlace-mode=interleaved",
     "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format={XR24, XR24" X_TILED
     ", YUYV}, interlace-mode=interleaved; video/x-raw, format={BGRx, YUY2}, interlace-mode=interleaved"},
    {"planes without texture_rg", device_without_rg, GST_PAD_SINK, DRM "NV12", GL "external-oes, format=RGBA"},
    {"the colours of YUV end where the driver converts", small_device, GST_PAD_SINK,
     DRM "NV12, colorimetry=bt709, chroma-site=mpeg2",
     GL "2D, format=NV12, colorimetry=bt709, chroma-site=mpeg2; " GL "external-oes, format=RGBA; " GL "2D, format=RGBA"},
    {"those of RGB stay", small_device, GST_PAD_SINK, DRM "XR24, colorimetry=sRGB",
     GL "2D, format=RGBA, colorimetry=sRGB; " GL "external-oes, format=RGBA, colorimetry=sRGB"},
    {"one channel is no RGBA", small_device, GST_PAD_SINK, DRM "\"R8  \"", GL "2D, format=GRAY8"},
    {"two channels are no picture", small_device, GST_PAD_SINK, DRM "GR88", "EMPTY"},
    {"not listed", small_device, GST_PAD_SINK, DRM "AR24", "EMPTY"},
    {"plain video is linear", small_device, GST_PAD_SINK, "video/x-raw, format=BGRx",
     GL "2D, format=RGBA; " GL "external-oes, format=RGBA"},
    {"plain video is no promise of DMA buffers", strict_device, GST_PAD_SINK, "video/x-raw, format=BGRx", "EMPTY"},
    {"the implicit modifier where explicit ones are listed", small_device, GST_PAD_SINK,
     "video/x-raw(memory:DMABuf), format=NV12", "EMPTY"},
    {"the implicit modifier where there is no other", device_without_modifiers, GST_PAD_SINK,
     "video/x-raw(memory:DMABuf), format=BGRx", GL "2D, format=RGBA; " GL "external-oes, format=RGBA"},
    {"linear is not implicit", device_without_modifiers, GST_PAD_SINK, DRM "XR24", "EMPTY"},
    {"implicit-modifier=linear: frames without a modifier are what linear ones are", linear_for_implicit, GST_PAD_SINK,
     DMABUF "NV12", GL "2D, format=NV12; " GL "external-oes, format=RGBA; " GL "2D, format=RGBA"},
    {"implicit-modifier=linear: a format that is not listed as linear", linear_for_implicit, GST_PAD_SINK, DMABUF "BGRA",
     "EMPTY"},
    {"implicit-modifier=linear: they are copied where the driver imports nothing", copies_linear_for_implicit, GST_PAD_SINK,
     DMABUF "NV12", GL "2D, format=NV12; " GL "2D, format=RGBA"},
    {"implicit-modifier=driver: as the driver lists the format", driver_for_implicit, GST_PAD_SINK, DMABUF "NV12",
     GL "2D, format=NV12; " GL "external-oes, format=RGBA; " GL "2D, format=RGBA"},
    {"implicit-modifier=driver: a format that the driver does not list", driver_for_implicit, GST_PAD_SINK, DMABUF "BGRA",
     "EMPTY"},
    {"implicit-modifier=refuse, of a driver that has no other", refuses_implicit, GST_PAD_SINK, DMABUF "BGRx", "EMPTY"},
    {"implicit-modifier=refuse leaves the linear pairs", refuses_implicit, GST_PAD_SINK, DRM "XR24",
     GL "2D, format=RGBA; " GL "external-oes, format=RGBA"},
    {"other fields stay", small_device, GST_PAD_SINK, DRM "XR24, width=[1,640], framerate=25/1, nobody-knows=this",
     GL "2D, format=RGBA, width=[1,640], framerate=25/1, nobody-knows=this; " GL
        "external-oes, format=RGBA, width=[1,640], framerate=25/1, nobody-knows=this"},
    {"a feature that nobody knows", small_device, GST_PAD_SINK,
     "video/x-raw(memory:DMABuf, meta:Nothing), format=DMA_DRM, drm-format=XR24", "EMPTY"},
    {"drm-format in plain video", small_device, GST_PAD_SINK, "video/x-raw, format=BGRx, drm-format=XR24", "EMPTY"},
    {"drm-format without DMA_DRM", small_device, GST_PAD_SINK, "video/x-raw(memory:DMABuf), format=NV12, drm-format=NV12",
     "EMPTY"},
    {"larger than a texture", device_of_2048, GST_PAD_SINK, DRM "XR24, width=2049", "EMPTY"},
    {"as large as a texture", device_of_2048, GST_PAD_SINK, DRM "XR24, width=2048, height=16",
     GL "2D, format=RGBA, width=2048, height=16; " GL "external-oes, format=RGBA, width=2048, height=16"},
    {"a copy keeps the format, and converts last", copying_device, GST_PAD_SINK, DRM "NV12",
     GL "2D, format=NV12; " GL "2D, format=RGBA"},
    {"a format without a fourcc", copying_device, GST_PAD_SINK, "video/x-raw, format=GBR",
     GL "2D, format=GBR; " GL "2D, format=RGBA"},
    {"a format without a fourcc is in no DMA buffers", copies_linear_for_implicit, GST_PAD_SINK, DMABUF "GBR", "EMPTY"},
    {"a format without a fourcc is copied alone", small_device, GST_PAD_SINK, "video/x-raw, format=GBR", "EMPTY"},
    {"GBRA, on which GstGLColorConvert ends the process", copying_device, GST_PAD_SINK, "video/x-raw, format=GBRA",
     GL "2D, format=RGBA"},
    {"a copy of a tiled frame", copying_device, GST_PAD_SINK, DRM "NV12" X_TILED, "EMPTY"},
    {"other media", small_device, GST_PAD_SINK, "audio/x-raw", "EMPTY"},
    {"nothing", small_device, GST_PAD_SINK, "EMPTY", "EMPTY"},

    {"RGBA 2D comes of RGB, and is drawn of planes", small_device, GST_PAD_SRC, GL "2D, format=RGBA",
     "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format={NV12, XR24, XR24" X_TILED
     ", YU12, YV12, NV21, NV16, NV61, YU16, YV16, NV24, NV42, YU24, YV24, YU11, YV11, YVU9, YUV9}; "
     "video/x-raw, format={NV12, BGRx, I420, YV12, NV21, NV16, NV61, Y42B, NV24, Y444, Y41B, YVU9, YUV9}"},
    {"RGBA external comes of all", small_device, GST_PAD_SRC, GL "external-oes, format=RGBA",
     "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format={NV12, NV12" X_TILED ", XR24, XR24" X_TILED
     ", YUYV}; video/x-raw, format={NV12, BGRx, YUY2}"},
    {"NV12 comes of its planes", small_device, GST_PAD_SRC, GL "2D, format=NV12",
     "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12; video/x-raw, format=NV12"},
    {"implicit-modifier=linear is offered after the pairs that say so", linear_for_implicit, GST_PAD_SRC, GL "2D, format=NV12",
     DRM "NV12; " DMABUF "NV12; video/x-raw, format=NV12"},
    {"implicit-modifier=driver is offered for tiled formats too", driver_for_implicit, GST_PAD_SRC,
     GL "external-oes, format=RGBA, width=64",
     DRM "{NV12, NV12" X_TILED ", XR24, XR24" X_TILED ", YUYV}, width=64; " DMABUF
         "{NV12, BGRx, YUY2}, width=64; video/x-raw, format={NV12, BGRx, YUY2}, width=64"},
    {"any target is both", small_device, GST_PAD_SRC, "video/x-raw(memory:GLMemory), format=NV12",
     "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12; video/x-raw, format=NV12"},
    {"a rectangle", small_device, GST_PAD_SRC, GL "rectangle, format=RGBA", "EMPTY"},
    {"colours of the texture are not those of YUV", small_device, GST_PAD_SRC,
     GL "external-oes, format=RGBA, colorimetry=sRGB",
     "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format={XR24, XR24" X_TILED "}, colorimetry=sRGB; "
     "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format={NV12, NV12" X_TILED ", YUYV}; "
     "video/x-raw, format=BGRx, colorimetry=sRGB; video/x-raw, format={NV12, YUY2}"},
    {"implicit pairs in the old dialect", device_without_modifiers, GST_PAD_SRC, GL "2D, format=RGBA",
     "video/x-raw(memory:DMABuf), format={NV12, BGRx}"},
    {"a copy of NV12: plain first, dmabufs after", copying_device, GST_PAD_SRC, GL "2D, format=NV12",
     "video/x-raw, format=NV12; video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12"},
    {"a texture in a format without a fourcc", copying_device, GST_PAD_SRC, GL "2D, format=GBR", "video/x-raw, format=GBR"},
    {"GL memory with a feature that nobody knows", small_device, GST_PAD_SRC,
     "video/x-raw(memory:GLMemory, meta:Nothing), format=RGBA", "EMPTY"},
    {"system memory", small_device, GST_PAD_SRC, "video/x-raw, format=RGBA", "EMPTY"},
    {"nothing downstream", small_device, GST_PAD_SRC, "EMPTY", "EMPTY"},
};

GstPtr<GstCaps> within_sizes(const char *caps)
{
  const auto limits = caps_of("video/x-raw(ANY), width=[1,16384], height=[1,16384]");
  return GstPtr<GstCaps>::adopt(gst_drm_caps_intersect(caps_of(caps).get(), limits.get()));
}

GST_START_TEST(test_rows)
{
  const Row &row = kRows[__i__];
  say(row.name);
  UploadDevice device = row.device();
  const auto max = static_cast<gint>(device.max_size);
  const UploadFormats formats = formats_of(std::move(device));
  auto got = gstdrm::upload_transform(row.direction, caps_of(row.caps).get(), formats);
  auto expected = within_sizes(row.expected);
  if (row.direction == GST_PAD_SRC) { // textures that upstream has already pass
    const auto textures = within_sizes(row.caps);
    for (guint i = 0; i < gst_caps_get_size(textures.get()); i++)
      if (gst_caps_is_subset(GstPtr<GstCaps>::adopt(gst_caps_copy_nth(textures.get(), i)).get(),
                             gstdrm::upload_src_template().get()))
        expected.reset(gst_caps_merge(gst_caps_ref(expected.get()), gst_caps_copy_nth(textures.get(), i)));
  }
  fail_unless(max < 16384 || gst_caps_is_strictly_equal(got.get(), expected.get()) ||
                  gst_caps_is_equal(got.get(), expected.get()),
              "got %s, expected %s", text_of(got.get()).c_str(), text_of(expected.get()).c_str());
  fail_unless_equals_int(gst_caps_get_size(got.get()), gst_caps_get_size(expected.get()));
  for (guint i = 0; i < gst_caps_get_size(got.get()); i++) { // the order is that of preference
    const auto one = GstPtr<GstCaps>::adopt(gst_caps_copy_nth(got.get(), i));
    const auto other = GstPtr<GstCaps>::adopt(gst_caps_copy_nth(expected.get(), i));
    fail_unless(gst_caps_is_subset(one.get(), other.get()), "%u: got %s, expected %s", i,
                text_of(got.get()).c_str(), text_of(expected.get()).c_str());
  }
}
GST_END_TEST

// --- forms ---------------------------------------------------------------------------------------

struct FormRow {
  const char *in;
  const char *out;
  bool imported;
  Shape shape;
  Target target;
  GstVideoFormat format;
};

const FormRow kForms[] = {
    {"XR24", GL "2D, format=RGBA", true, Shape::OneImage, Target::Texture2D, GST_VIDEO_FORMAT_RGBA},
    {"XR24", GL "external-oes, format=RGBA", true, Shape::OneImage, Target::External, GST_VIDEO_FORMAT_RGBA},
    {"XR24", GL "2D, format=BGRx", false, Shape::OneImage, Target::Texture2D, GST_VIDEO_FORMAT_RGBA},
    {"NV12", GL "2D, format=NV12", true, Shape::PerPlane, Target::Texture2D, GST_VIDEO_FORMAT_NV12},
    {"NV12", GL "external-oes, format=RGBA", true, Shape::OneImage, Target::External, GST_VIDEO_FORMAT_RGBA},
    {"NV12", GL "2D, format=RGBA", true, Shape::Drawn, Target::Texture2D, GST_VIDEO_FORMAT_RGBA},
    {"NV12" X_TILED, GL "2D, format=RGBA", false, Shape::OneImage, Target::Texture2D, GST_VIDEO_FORMAT_RGBA},
    {"NV12" X_TILED, GL "2D, format=NV12", false, Shape::OneImage, Target::Texture2D, GST_VIDEO_FORMAT_RGBA},
    {"R8  ", GL "2D, format=GRAY8", true, Shape::PerPlane, Target::Texture2D, GST_VIDEO_FORMAT_GRAY8},
};

GST_START_TEST(test_forms)
{
  const FormRow &row = kForms[__i__];
  UploadDevice device = small_device();
  device.can_copy = true;
  const UploadFormats formats = formats_of(std::move(device));
  GstDrmVideoInfo info;
  fail_unless(gst_drm_video_info_set_format(&info, pair(row.in).fourcc, pair(row.in).modifier, 64, 48, nullptr));
  const auto out = caps_of(row.out);
  const auto form = gstdrm::texture_form(info, out.get(), formats);
  fail_unless_equals_int(form.has_value(), row.imported);
  if (form) {
    fail_unless(form->shape == row.shape && form->target == row.target);
    fail_unless_equals_int(form->format, row.format);
  } else { // linear frames are copied to it
    fail_unless_equals_int(gstdrm::is_copy_form(info, out.get(), formats),
                           info.drm_modifier == gstdrm::kModLinear);
  }
  fail_unless(!gstdrm::texture_form(info, caps_of("ANY").get(), formats));
  fail_unless(!gstdrm::texture_form(info, caps_of("EMPTY").get(), formats));
}
GST_END_TEST

// --- before there is a device --------------------------------------------------------------------

GST_START_TEST(test_superset)
{
  const UploadFormats unknown;
  const auto sink = gstdrm::upload_sink_template();
  const auto src = gstdrm::upload_src_template();
  const auto any = caps_of("ANY");
  fail_unless(gst_caps_is_equal(gstdrm::upload_transform(GST_PAD_SRC, any.get(), unknown).get(), sink.get()));
  fail_unless(gst_caps_is_equal(gstdrm::upload_transform(GST_PAD_SINK, any.get(), unknown).get(), src.get()));
  // whatever a device answers is within it
  for (const auto &device : {small_device(), copying_device(), device_without_modifiers(), device_of_2048()}) {
    const UploadFormats known = formats_of(device);
    for (const char *text : {"ANY", GL "2D", GL "external-oes, format=RGBA, width=64"}) {
      const auto got = gstdrm::upload_transform(GST_PAD_SRC, caps_of(text).get(), known);
      const auto super = gstdrm::upload_transform(GST_PAD_SRC, caps_of(text).get(), unknown);
      fail_unless(gst_caps_is_subset(got.get(), super.get()), "%s: %s is not within %s", text,
                  text_of(got.get()).c_str(), text_of(super.get()).c_str());
    }
    const auto out = gstdrm::upload_transform(GST_PAD_SINK, any.get(), known);
    fail_unless(gst_caps_is_subset(out.get(), src.get()), "%s", text_of(out.get()).c_str());
  }
}
GST_END_TEST

GST_START_TEST(test_odd_caps)
{
  const auto caps = odd_caps(kOddCaps[__i__]);
  if (!caps)
    return;
  for (const auto &formats : {UploadFormats(), formats_of(small_device()), formats_of(copying_device())}) {
    const auto out = gstdrm::upload_transform(GST_PAD_SINK, caps.get(), formats);
    const auto in = gstdrm::upload_transform(GST_PAD_SRC, caps.get(), formats);
    fail_unless(gst_caps_is_subset(out.get(), gstdrm::upload_src_template().get()), "%s",
                text_of(out.get()).c_str());
    fail_unless(gst_caps_is_subset(in.get(), gstdrm::upload_sink_template().get()), "%s",
                text_of(in.get()).c_str());
  }
}
GST_END_TEST

// --- colours -------------------------------------------------------------------------------------

struct HintRow {
  const char *colorimetry;
  GstVideoChromaSite site;
  gstdrm::egl::ColorHints expected;
};

const HintRow kHints[] = {
    {"bt601", GST_VIDEO_CHROMA_SITE_MPEG2,
     {EGL_ITU_REC601_EXT, EGL_YUV_NARROW_RANGE_EXT, EGL_YUV_CHROMA_SITING_0_EXT, EGL_YUV_CHROMA_SITING_0_5_EXT}},
    {"bt709", GST_VIDEO_CHROMA_SITE_JPEG,
     {EGL_ITU_REC709_EXT, EGL_YUV_NARROW_RANGE_EXT, EGL_YUV_CHROMA_SITING_0_5_EXT, EGL_YUV_CHROMA_SITING_0_5_EXT}},
    {"bt2020", GST_VIDEO_CHROMA_SITE_COSITED,
     {EGL_ITU_REC2020_EXT, EGL_YUV_NARROW_RANGE_EXT, EGL_YUV_CHROMA_SITING_0_EXT, EGL_YUV_CHROMA_SITING_0_EXT}},
    {"1:4:0:0", GST_VIDEO_CHROMA_SITE_UNKNOWN, {EGL_ITU_REC601_EXT, EGL_YUV_FULL_RANGE_EXT, 0, 0}},
    {"smpte240m", GST_VIDEO_CHROMA_SITE_UNKNOWN, {EGL_ITU_REC709_EXT, EGL_YUV_NARROW_RANGE_EXT, 0, 0}},
    {"2:2:0:0", GST_VIDEO_CHROMA_SITE_UNKNOWN, {EGL_ITU_REC601_EXT, EGL_YUV_NARROW_RANGE_EXT, 0, 0}}, // FCC
    {"0:0:0:0", GST_VIDEO_CHROMA_SITE_UNKNOWN, {}},
    {"sRGB", GST_VIDEO_CHROMA_SITE_MPEG2, {}},
};

GST_START_TEST(test_hints)
{
  const HintRow &row = kHints[__i__];
  GstVideoColorimetry colorimetry;
  fail_unless(gst_video_colorimetry_from_string(&colorimetry, row.colorimetry), "%s", row.colorimetry);
  const auto got = gstdrm::color_hints(colorimetry, row.site);
  fail_unless(got == row.expected, "%s: 0x%x 0x%x 0x%x 0x%x", row.colorimetry, got.space, got.range,
              got.siting_horizontal, got.siting_vertical);
  const GstVideoColorimetry rgb = gstdrm::rgb_colorimetry(colorimetry);
  fail_unless(rgb.matrix == GST_VIDEO_COLOR_MATRIX_RGB && rgb.range == GST_VIDEO_COLOR_RANGE_0_255);
  fail_unless(rgb.transfer == colorimetry.transfer && rgb.primaries == colorimetry.primaries);
}
GST_END_TEST

Suite *egl_caps_suite()
{
  Suite *suite = suite_create("egl-caps");
  TCase *tcase = tcase_create("caps");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_rows, 0, G_N_ELEMENTS(kRows));
  tcase_add_loop_test(tcase, test_forms, 0, G_N_ELEMENTS(kForms));
  tcase_add_test(tcase, test_superset);
  tcase_add_loop_test(tcase, test_odd_caps, 0, kOddCapsCount);
  tcase_add_loop_test(tcase, test_hints, 0, G_N_ELEMENTS(kHints));
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(egl_caps)
