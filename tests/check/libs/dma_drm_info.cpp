// SPDX-License-Identifier: LGPL-2.1-or-later
// What GstVideoInfoDmaDrm of GStreamer 1.24 reads and writes, GstDrmVideoInfo does as well. The few differences are named.
#include <initializer_list>
#include <random>
#include <regex>
#include <span>
#include <string>

#include <gst/drm/drm.h>
#include <gst/video/video-info-dma.h>

#include "support/check_main.hpp"

namespace {

constexpr unsigned kSeed = 20261129;
constexpr int kStrings = 1000000;
constexpr int kPairs = 250000;
constexpr int kCaps = 200000;

constexpr const char *kFourccs[] = {"NV12", "XR24", "AR24", "R8  ", "R16 ", "GR88", "P010", "YUYV", "BA24", "ZZZZ", "nv12",
                                    "AB48", "Y410", "NV15", "RG16", "NV12_BE", "AR24_BE"};
constexpr guint64 kModifiers[] = {0, GST_DRM_MODIFIER_IMPLICIT, 1, 0x0100000000000001, 0x0100000000000002, 0x0200000000000901,
                                  0x0500000000000001, 0x0800000000000051, 0x0900000000000001, ~guint64{0}};

class Random {
public:
  guint64 number() { return engine_(); }
  bool one_in(unsigned n) { return engine_() % n == 0; }
  template <typename T> T one_of(std::initializer_list<T> values) { return values.begin()[engine_() % values.size()]; }
  template <typename T, std::size_t N> T any_of(const T (&values)[N]) { return values[engine_() % N]; }
  guint64 modifier() { return one_in(2) ? any_of(kModifiers) : number(); }

private:
  std::mt19937_64 engine_{kSeed};
};

std::string take(gchar *text)
{
  const std::string copy = text ? text : "";
  g_free(text);
  return copy;
}

std::string text_of(const GstCaps *caps)
{
  return take(gst_caps_to_string(caps));
}

std::string random_string(Random &random)
{
  if (random.one_in(5)) {
    std::string bytes(random.number() % 12, ' ');
    for (char &byte : bytes)
      byte = static_cast<char>(1 + random.number() % 255);
    return bytes;
  }
  std::string text = random.any_of(kFourccs);
  if (!random.one_in(8))
    text += ":" + take(g_strdup_printf(random.one_in(2) ? "0x%016" G_GINT64_MODIFIER "x" : "0x%" G_GINT64_MODIFIER "x", random.modifier()));
  for (guint64 changes = random.number() % 3; changes > 0 && !text.empty(); changes--) {
    const std::size_t at = random.number() % text.size();
    if (random.one_in(2))
      text[at] = random.one_of({' ', ':', '0', 'x', 'X', 'g', 'F', '_', 'B'});
    else
      text.erase(at, 1);
  }
  return text;
}

// GStreamer reads as far as it can, and takes the linear modifier written out (docs/caps.md says what is refused, and why).
bool is_well_formed(const std::string &text)
{
  static const std::regex form("[ -9;-~]{4}(_BE)?(:0x[0-9a-fA-F]{1,16})?");
  if (!std::regex_match(text, form))
    return false;
  const std::size_t colon = text.find(":0x", 4);
  if (colon == std::string::npos)
    return true;
  const guint64 modifier = g_ascii_strtoull(text.c_str() + colon + 1, nullptr, 16);
  return modifier != 0 && modifier != GST_DRM_MODIFIER_IMPLICIT;
}

GST_START_TEST(test_strings)
{
  Random random;
  int refused = 0;
  for (int i = 0; i < kStrings; i++) {
    const std::string text = random_string(random);
    guint64 their_modifier = 0;
    guint64 modifier = 0;
    guint32 fourcc = 0;
    const guint32 their_fourcc = gst_video_dma_drm_fourcc_from_string(text.c_str(), &their_modifier);
    if (gst_drm_format_parse(text.c_str(), &fourcc, &modifier, nullptr)) {
      fail_unless(fourcc == their_fourcc && modifier == their_modifier, "'%s'", text.c_str());
    } else if (their_fourcc != 0) {
      fail_unless(!is_well_formed(text), "'%s' is refused", text.c_str());
      refused++;
    }
  }
  fail_unless(refused > 0);
}
GST_END_TEST

GST_START_TEST(test_text_of_a_pair)
{
  Random random;
  int unprintable = 0;
  for (int i = 0; i < kPairs; i++) {
    const gchar *name = random.any_of(kFourccs);
    guint32 fourcc = random.one_in(3) ? static_cast<guint32>(random.number()) : GST_MAKE_FOURCC(name[0], name[1], name[2], name[3]);
    if (random.one_in(8))
      fourcc |= 1U << 31; // DRM_FORMAT_BIG_ENDIAN
    const guint64 modifier = random.modifier();
    if (fourcc << 1 == 0 || modifier == GST_DRM_MODIFIER_IMPLICIT)
      continue; // GStreamer takes these for a mistake of the caller, and warns
    const std::string theirs = take(gst_video_dma_drm_fourcc_to_string(fourcc, modifier));
    const std::string ours = take(gst_drm_format_to_string(fourcc, modifier));
    if (ours.empty()) { // GStreamer writes a dot for each byte that cannot be printed, and a colon that cannot be read again
      fail_unless(theirs.find_first_of(".:") < 4, "%s", theirs.c_str());
      unprintable++;
    } else {
      fail_unless_equals_string(ours.c_str(), theirs.c_str());
    }
  }
  fail_unless(unprintable > 0);
}
GST_END_TEST

// GStreamer 1.26 knows no fourcc of some 20 formats that DRM has fourccs for, such as BGR15 and P030.
GST_START_TEST(test_formats)
{
  guint n_formats = 0;
  const GstVideoFormat *formats = gst_video_formats_raw(&n_formats);
  for (const GstVideoFormat format : std::span(formats, n_formats)) {
    guint64 modifier = 0;
    guint64 their_modifier = 0;
    const guint32 fourcc = gst_drm_format_from_video_format(format, &modifier);
    const guint32 theirs = gst_video_dma_drm_format_from_gst_format(format, &their_modifier);
    if (theirs != 0)
      fail_unless(fourcc == theirs && modifier == their_modifier, "%s", gst_video_format_to_string(format));
    const guint32 linear = gst_video_dma_drm_fourcc_from_format(format);
    if (linear != 0)
      fail_unless(fourcc == linear && modifier == 0, "%s", gst_video_format_to_string(format));
  }
}
GST_END_TEST

GST_START_TEST(test_format_of_a_pair)
{
  Random random;
  guint n_formats = 0;
  const GstVideoFormat *formats = gst_video_formats_raw(&n_formats);
  for (int i = 0; i < kPairs; i++) {
    guint64 modifier = 0;
    guint32 fourcc = static_cast<guint32>(random.number());
    if (!random.one_in(4))
      fourcc = gst_drm_format_from_video_format(formats[random.number() % n_formats], &modifier);
    if (random.one_in(2))
      modifier = random.any_of(kModifiers);
    if (fourcc == 0 || modifier == GST_DRM_MODIFIER_IMPLICIT)
      continue;
    const GstVideoFormat theirs = gst_video_dma_drm_format_to_gst_format(fourcc, modifier);
    const GstVideoFormat ours = gst_drm_format_to_video_format(fourcc, modifier);
    if (theirs != GST_VIDEO_FORMAT_UNKNOWN)
      fail_unless(ours == theirs, "%s: %s and %s", take(gst_drm_format_to_string(fourcc, modifier)).c_str(),
                  gst_video_format_to_string(ours), gst_video_format_to_string(theirs));
  }
}
GST_END_TEST

std::string random_caps(Random &random)
{
  const auto size = [&](const char *field) {
    return random.one_in(20) ? "" : std::string(", ") + field + "=" + std::to_string(1 + random.number() % (random.one_in(3) ? 20 : 4096));
  };
  std::string text = "video/x-raw";
  text += random.one_of({"(memory:DMABuf)", "(memory:DMABuf)", "(memory:DMABuf)", "", "(ANY)", "(memory:DMABuf, meta:GstVideoOverlayComposition)"});
  text += random.one_of({", format=DMA_DRM", ", format=DMA_DRM", ", format=DMA_DRM", ", format=NV12", ", format={NV12, DMA_DRM}", ""});
  if (!random.one_in(12))
    text += ", drm-format=(string)\"" + random_string(random) + "\"";
  text += size("width") + size("height");
  text += random.one_of({"", "", ", interlace-mode=interleaved", ", interlace-mode=alternate", ", interlace-mode=mixed",
                         ", interlace-mode=interleaved, field-order=top-field-first"});
  text += random.one_of({"", "", ", colorimetry=bt601", ", colorimetry=bt709", ", colorimetry=bt2020-10", ", colorimetry=sRGB",
                         ", colorimetry=1:3:5:1", ", colorimetry=none-such"});
  text += random.one_of({"", "", ", chroma-site=mpeg2", ", chroma-site=jpeg", ", chroma-site=dv"});
  text += random.one_of({"", "", ", multiview-mode=mono", ", multiview-mode=side-by-side", ", views=2"});
  text += random.one_of({"", ", framerate=30/1", ", framerate=0/1", ", framerate=30000/1001", ", framerate=[1/1, 30/1]"});
  text += random.one_of({"", "", ", pixel-aspect-ratio=4/3"});
  return text;
}

// GStreamer drops chroma-site, and knows no default colorimetry of frames that have no GstVideoFormat: ours are the caps' own
// and the fourcc's.
void equal_colours(GstVideoInfo &ours, const GstVideoInfo &theirs)
{
  ours.chroma_site = theirs.chroma_site;
  ours.colorimetry = theirs.colorimetry;
}

GstCaps *without_colours(GstCaps *caps)
{
  gst_structure_remove_fields(gst_caps_get_structure(caps, 0), "chroma-site", "colorimetry", nullptr);
  return caps;
}

GST_START_TEST(test_caps)
{
  Random random;
  int read = 0;
  int named = 0;
  for (int i = 0; i < kCaps; i++) {
    const std::string text = random_caps(random);
    g_autoptr(GstCaps) caps = gst_caps_from_string(text.c_str());
    if (!caps)
      continue; // the string has a quote
    const gboolean is_dma_drm = gst_video_is_dma_drm_caps(caps);
    fail_unless_equals_int(gst_drm_is_dma_drm_caps(caps), is_dma_drm);
    if (!is_dma_drm || !gst_caps_is_fixed(caps))
      continue;
    GstVideoInfoDmaDrm theirs;
    GstDrmVideoInfo ours;
    g_autoptr(GError) error = nullptr;
    const gboolean taken = gst_video_info_dma_drm_from_caps(&theirs, caps);
    if (!gst_drm_video_info_from_caps_full(&ours, caps, &error)) {
      const gchar *format = gst_structure_get_string(gst_caps_get_structure(caps, 0), "drm-format");
      fail_unless(!taken || (format && !is_well_formed(format)), "%s: %s", text.c_str(), error->message);
      continue;
    }
    fail_unless(taken, "GStreamer refuses %s", text.c_str());
    read++;
    fail_unless(ours.drm_fourcc == theirs.drm_fourcc && ours.drm_modifier == theirs.drm_modifier, "the pair of %s", text.c_str());
    GstVideoInfo our_video;
    GstVideoInfo their_video;
    const gboolean has_video = gst_drm_video_info_to_video_info(&ours, &our_video);
    g_autoptr(GstCaps) our_caps = without_colours(gst_drm_video_info_to_caps(&ours));
    g_autoptr(GstCaps) their_caps = without_colours(gst_video_info_dma_drm_to_caps(&theirs));
    fail_unless(gst_caps_is_strictly_equal(our_caps, their_caps), "%s:\n%s\n%s", text.c_str(), text_of(our_caps).c_str(),
                text_of(their_caps).c_str());
    if (GST_VIDEO_INFO_FORMAT(&ours.vinfo) != GST_VIDEO_INFO_FORMAT(&theirs.vinfo)) { // of which GStreamer has no name in this place
      fail_unless_equals_int(GST_VIDEO_INFO_FORMAT(&theirs.vinfo), GST_VIDEO_FORMAT_DMA_DRM);
      named++;
      continue;
    }
    equal_colours(ours.vinfo, theirs.vinfo);
    fail_unless(gst_video_info_is_equal(&ours.vinfo, &theirs.vinfo), "vinfo of %s", text.c_str());
    if (!gst_video_info_dma_drm_to_video_info(&theirs, &their_video))
      continue; // of a fourcc that GStreamer does not know
    fail_unless(has_video, "no GstVideoInfo of %s", text.c_str());
    if (GST_VIDEO_INFO_FORMAT(&theirs.vinfo) == GST_VIDEO_FORMAT_DMA_DRM) {
      // The planes say nothing of such a frame. Those of NV15 are tiled there, and of interlaced frames laid out as progressive.
      fail_unless_equals_int(gst_drm_format_from_video_format(GST_VIDEO_INFO_FORMAT(&their_video), nullptr), ours.drm_fourcc);
      continue;
    }
    equal_colours(our_video, their_video);
    fail_unless(gst_video_info_is_equal(&our_video, &their_video), "the GstVideoInfo of %s", text.c_str());
  }
  fail_unless(read > kCaps / 20, "%d", read);
  fail_unless(named > 0);
}
GST_END_TEST

// The way back: an info of DMA buffers for the video that a program has.
GST_START_TEST(test_video_infos)
{
  Random random;
  guint n_formats = 0;
  const GstVideoFormat *formats = gst_video_formats_raw(&n_formats);
  int same = 0;
  for (int i = 0; i < kPairs; i++) {
    GstVideoInfo video;
    if (!gst_video_info_set_interlaced_format(&video, formats[random.number() % n_formats],
                                              random.one_of({GST_VIDEO_INTERLACE_MODE_PROGRESSIVE, GST_VIDEO_INTERLACE_MODE_INTERLEAVED}),
                                              static_cast<guint>(1 + random.number() % 4096), static_cast<guint>(1 + random.number() % 4096)))
      continue;
    video.fps_n = 30;
    const guint64 modifier = random.one_in(2) ? 0 : random.any_of(kModifiers);
    GstVideoInfoDmaDrm theirs;
    GstDrmVideoInfo ours;
    if (modifier == GST_DRM_MODIFIER_IMPLICIT || !gst_video_info_dma_drm_from_video_info(&theirs, &video, modifier))
      continue;
    const gchar *name = gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(&video));
    fail_unless(gst_drm_video_info_from_video_info(&ours, &video, modifier), "%s with 0x%" G_GINT64_MODIFIER "x", name, modifier);
    fail_unless(ours.drm_fourcc == theirs.drm_fourcc && ours.drm_modifier == theirs.drm_modifier,
                "%s with 0x%" G_GINT64_MODIFIER "x: %x 0x%" G_GINT64_MODIFIER "x and %x 0x%" G_GINT64_MODIFIER "x", name, modifier,
                ours.drm_fourcc, ours.drm_modifier, theirs.drm_fourcc, theirs.drm_modifier);
    if (GST_VIDEO_INFO_FORMAT(&theirs.vinfo) == GST_VIDEO_FORMAT_DMA_DRM)
      continue; // the planes say nothing of such a frame
    fail_unless(gst_video_info_is_equal(&ours.vinfo, &theirs.vinfo), "%s with 0x%" G_GINT64_MODIFIER "x", name, modifier);
    same++;
  }
  fail_unless(same > kPairs / 10, "%d", same);
}
GST_END_TEST

Suite *dma_drm_info_suite()
{
  Suite *suite = suite_create("dma_drm_info");
  TCase *tcase = tcase_create("dma_drm_info");
  suite_add_tcase(suite, tcase);
  tcase_add_test(tcase, test_strings);
  tcase_add_test(tcase, test_text_of_a_pair);
  tcase_add_test(tcase, test_formats);
  tcase_add_test(tcase, test_format_of_a_pair);
  tcase_add_test(tcase, test_caps);
  tcase_add_test(tcase, test_video_infos);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(dma_drm_info)
