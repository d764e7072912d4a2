// SPDX-License-Identifier: LGPL-2.1-or-later
// What the tests of egldmabufdownload share: pipelines with appsinks, and a conversion of its own
// to compare pixels with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <gst/drm/drm.h>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/video/video.h>

#include "support/check_main.hpp"

namespace gstdrm::test {

// A picture as R'G'B'A, 8 bits each.
struct Rgba {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> pixels;
  [[nodiscard]] const std::uint8_t *at(int x, int y) const;
  [[nodiscard]] Rgba upside_down() const;
};

class Download {
public:
  // A pipeline in the words of gst-launch-1.0; "d" is the egldmabufdownload.
  explicit Download(const std::string &description);
  ~Download();
  Download(const Download &) = delete;
  Download &operator=(const Download &) = delete;

  // One display for all pipelines, as in an application: GStreamer ends EGL's display, of which a
  // device has one, with any of its own displays.
  static void open_display();
  static void close_display();
  // At the end of each case. libcheck leaves a case that failed by a jump, past the destructors,
  // and the end of the next case would wait for the streaming threads of those pipelines for ever
  // (gst_task_cleanup_all()).
  static void end_forgotten();

  [[nodiscard]] GstPtr<GstElement> element(const char *name) const;
  void play();
  void stop(); // to NULL
  // The next sample of an appsink; empty at the end of the stream and after an error.
  [[nodiscard]] GstPtr<GstSample> pull(const char *appsink);
  // The text of the first error; "end of stream" where there is none.
  [[nodiscard]] std::string outcome();
  void check_end(); // that it is the end of the stream
  [[nodiscard]] std::uint64_t stat(const char *name, const char *element = "d") const;

private:
  GstElement *pipeline_ = nullptr;
};

// Whether GL draws into dma-bufs here, as the element itself finds out; else it copies.
bool draws();
// The same, found out once. In a case, as libcheck's assertions work there alone.
bool gl_draws();

// Caps of DMA buffers.
std::string dma_drm(const char *drm_format);
// gltestsrc and a capsfilter behind it.
std::string source(int width, int height, int frames, const char *pattern = "snow");
bool contains(const std::string &text, const char *part);

// Waits for the acquire fence, and reads a linear frame of RGBA.
Rgba rgba_of(GstSample *sample);
// How far the samples are from what the picture should become, with chroma to the left and centred
// vertically; in steps of the format.
struct Difference {
  double most = 0;
  double mean = 0;
};
Difference difference(GstSample *sample, const Rgba &picture);

} // namespace gstdrm::test
