// SPDX-License-Identifier: LGPL-2.1-or-later
// The pixels of egldmabufdownload's frames on a real GL.
#include "egl_download_pixels.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include <unistd.h>

#include "egl_download_support.hpp"

namespace gstdrm::test {

std::string noise_file()
{
  static const std::string path =
      std::string(g_get_tmp_dir()) + "/gst-drm-noise-" + std::to_string(::getpid()) + ".rgba";
  std::string bytes(321 * 241 * 4 * 2, '\0');
  std::uint32_t state = 1;
  for (char &byte : bytes) {
    state = state * 1664525U + 1013904223U; // Numerical Recipes, 7.1
    byte = static_cast<char>(state >> 24);
  }
  fail_unless(
      g_file_set_contents(path.c_str(), bytes.data(), static_cast<gssize>(bytes.size()), nullptr));
  return path;
}

GstPadProbeReturn add_flip(GstPad *, GstPadProbeInfo *info, gpointer)
{
  GstBuffer *buffer = gst_buffer_make_writable(GST_PAD_PROBE_INFO_BUFFER(info));
  auto *meta = gst_buffer_add_video_affine_transformation_meta(buffer);
  meta->matrix[5] = -1;
  meta->matrix[13] = 1;
  GST_PAD_PROBE_INFO_DATA(info) = buffer;
  return GST_PAD_PROBE_OK;
}

namespace {

struct PixelsRow {
  const char *caps; // drm-format, or caps where there is a comma
  int width, height;
  int steps; // that a sample may differ by
  bool too_small_to_draw =
      false; // the driver writes blocks of 4x4 pixels, and the frame ends with its first row
};

// P010 through the copy: GStreamer's converter works with 8 bits from RGBA, 4 steps of 10.
const PixelsRow kPixels[] = {
    {"XR24", 320, 240, 0},
    {"AR24", 320, 240, 0},
    {"XB24", 61, 33, 0},
    {"AB24", 1, 1, 0},
    {"XR24", 16384, 1, 0, true},
    {"XR24", 1, 16384, 0},
    {"NV12", 320, 240, 1},
    {"NV12", 321, 241, 1},
    {"NV12", 1, 241, 1},
    {"NV12", 1, 1, 1},
    {"NV12,colorimetry=(string)bt709", 64, 48, 1},
    {"NV12,colorimetry=(string)1:4:0:0", 64, 48, 1},
    {"NV12,colorimetry=(string)1:3:0:0", 64, 48, 1},
    {"NV21", 63, 47, 1},
    {"P010,colorimetry=(string)bt2020", 320, 240, 1},
    {"P010", 63, 47, 1},
    {"YU12", 320, 240, 1},
    {"YU12,colorimetry=(string)bt709", 63, 47, 1},
    {"YV12", 64, 48, 1},
    {"plain NV12", 321, 241, 1},
    {"plain RGBx", 64, 48, 0},
};

std::string caps_of(const PixelsRow &row)
{
  const std::string text = row.caps;
  return text.rfind("plain ", 0) == 0 ? "video/x-raw,format=" + text.substr(6) : dma_drm(row.caps);
}

} // namespace

// Against what upstream's own gldownload reads of the same textures.
GST_START_TEST(test_pixels)
{
  const PixelsRow &row = kPixels[__i__];
  const std::string noise = "filesrc location=" + noise_file() +
                            " ! rawvideoparse format=rgba width=" + std::to_string(row.width) +
                            " height=" + std::to_string(row.height) + " framerate=30/1 ! glupload";
  Download download(noise +
                    " ! tee name=t t. ! queue ! gldownload ! video/x-raw,format=RGBA ! appsink "
                    "name=rgba sync=false t. ! queue ! egldmabufdownload name=d ! " +
                    caps_of(row) + " ! appsink name=out sync=false");
  download.play();
  for (int frame = 0; frame < 2; frame++) {
    const auto reference = download.pull("rgba");
    const auto made = download.pull("out");
    fail_unless(reference && made, "%s: %s", row.caps, download.outcome().c_str());
    const Difference found = difference(made.get(), rgba_of(reference.get()));
    g_print("# %s %dx%d: at most %g steps, %g on average\n", row.caps, row.width, row.height,
            found.most, found.mean);
    // GStreamer's converter takes chroma at the edges from other pixels, and makes 10 bits of 8
    const bool exact = gl_draws() || row.steps == 0;
    const double mean = row.width == 1 ? 32 : contains(row.caps, "P0") ? 8 : 2;
    fail_unless(exact ? found.most <= row.steps : found.mean <= mean,
                "%s %dx%d: at most %g steps, %g on average", row.caps, row.width, row.height,
                found.most, found.mean);
  }
  fail_unless_equals_uint64(
      download.stat(gl_draws() && !row.too_small_to_draw ? "copies" : "draws"), 0);
  ::unlink(noise_file().c_str());
}
GST_END_TEST

// A picture whose halves differ, so that one that is mirrored or on its head is noticed.
GST_START_TEST(test_flip)
{
  if (!gl_draws()) // the copy reads the texture as it is, as gldownload does
    return;
  Download download(source(64, 48, 1, "smpte") +
                    " ! tee name=t t. ! queue ! gldownload ! video/x-raw,format=RGBA ! appsink "
                    "name=rgba sync=false t. ! queue ! egldmabufdownload name=d ! " +
                    dma_drm("XR24") + " ! appsink name=out sync=false");
  const auto element = download.element("d");
  GstPad *pad = gst_element_get_static_pad(element.get(), "sink");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, add_flip, nullptr, nullptr);
  gst_object_unref(pad);
  download.play();
  const auto reference = download.pull("rgba");
  const auto made = download.pull("out");
  fail_unless(reference && made);
  const Rgba picture = rgba_of(reference.get());
  fail_unless(difference(made.get(), picture.upside_down()).most == 0);
  fail_unless(difference(made.get(), picture).most > 0);
  fail_if(gst_buffer_get_video_affine_transformation_meta(gst_sample_get_buffer(made.get())),
          "a flip that was carried out is said again");
}
GST_END_TEST

void add_download_pixel_cases(TCase *tcase)
{
  tcase_add_loop_test(tcase, test_pixels, 0, G_N_ELEMENTS(kPixels));
  tcase_add_test(tcase, test_flip);
}

} // namespace gstdrm::test
