// SPDX-License-Identifier: LGPL-2.1-or-later
// Whole pipelines with egldmabufupload, frame by frame: what the cases of egl_pipeline share.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <gst/drm/gstdrm-private.hpp>
#include <gst/gst.h>

#include "egl_frames.hpp"
#include "support/check_main.hpp"

namespace gstdrm::test {

// A pipeline in the words of gst-launch-1.0. "u" is the egldmabufupload; "in" an appsrc and "out"
// an appsink, where a case has them.
class EglPipeline {
public:
  explicit EglPipeline(const std::string &description);
  EglPipeline(const EglPipeline &) = delete;
  EglPipeline &operator=(const EglPipeline &) = delete;
  ~EglPipeline();
  // Ends the pipelines of a case that failed, out of which libcheck jumps without destructors.
  static void end_forgotten() noexcept;

  void play() { gst_element_set_state(pipeline_, GST_STATE_PLAYING); }
  void stop() { gst_element_set_state(pipeline_, GST_STATE_NULL); }
  [[nodiscard]] GstElement *bin() const { return pipeline_; }
  [[nodiscard]] GstPtr<GstElement> element(const char *name) const;
  // Sends the frame; does not wait.
  void push(const PatternFrame &frame, const std::string &caps) const;
  // Empty at the end of the stream and after an error.
  [[nodiscard]] GstPtr<GstSample> pull(const char *appsink = "out") const;
  // The one frame that comes out for this one; fails the test where none does.
  [[nodiscard]] GstPtr<GstSample> pass(const PatternFrame &frame, const std::string &caps) const;
  // The text of the first error; "end of stream" where there is none. Fails the test where neither
  // comes in that time.
  [[nodiscard]] std::string outcome(GstClockTime limit = 60 * GST_SECOND) const;
  // Fails the test unless the stream ends without an error.
  void play_to_end(GstClockTime limit = 60 * GST_SECOND) const;
  // After stop(): the error of the last run is not that of the next.
  void forget_failure() const { *failed_ = false; }
  // The texts of the info messages that are on the bus; takes them off.
  [[nodiscard]] std::string notices() const;
  [[nodiscard]] std::uint64_t stat(const char *name, const char *element = "u") const;
  [[nodiscard]] std::string copy_reason(const char *element = "u") const;

private:
  GstElement *pipeline_ = nullptr;
  std::shared_ptr<std::atomic<bool>> failed_; // an error is on the bus
};

// Whether the machine's driver imports. Where it does not, it is one that the element knows not to
// ask, which the first call makes sure of.
bool imports_here();

bool contains(const std::string &text, const std::string &part);
std::string dma_drm_caps(const char *drm_format, int width, int height,
                         const std::string &more = "");

// "appsrc ! egldmabufupload SETTINGS ! ... ! gldownload ! appsink": GL memory of `gl`, read back as
// `format` in system memory.
std::string through(const std::string &settings, const std::string &gl, const std::string &format);
// The same with RGBA of an import in whatever texture target, brought to 2D by GStreamer's shader.
std::string through_rgba(const std::string &settings);

// RGBA, of whatever else `caps` say, as the element draws it or the driver makes it; read back.
std::string drawn(const std::string &settings, const std::string &caps);

// The largest distance of RGBA in system memory from what the frame stands for, of 255; and whether
// it is all that way.
double rgba_distance(GstSample *sample, const PatternFrame &frame, const YuvMatrix &matrix);
// Fails the test unless the planes are those of the frame, sample by sample.
void check_planes(GstSample *sample, const PatternFrame &frame);

// A case in a group of its own, or more, which leaves no pipeline behind.
TCase *add_case(Suite *suite, const char *name);
// The cases of the other files of this program.
void add_cache(Suite *suite);
void add_chain(Suite *suite);
void add_copies(Suite *suite);
void add_device_queries(Suite *suite);
void add_bad_input(Suite *suite);
void add_downloads(Suite *suite);
void add_drawn(Suite *suite);
void add_losses(Suite *suite);
void add_refusals(Suite *suite);
void add_shaders(Suite *suite);
void add_soak(Suite *suite);

} // namespace gstdrm::test
