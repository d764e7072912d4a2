// SPDX-License-Identifier: LGPL-2.1-or-later
// What the tests of vadmabufsrc share: a pipeline with the test driver told how to behave, and frames read through the
// driver's own tiler.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gst/drm/drm.h>
#include <gst/gst.h>

#include "support/check_main.hpp"
#include "support/open_fds.hpp"
#include "va-driver/counters.hpp"
#include "va-driver/tiling.hpp"

namespace gstdrm::test {

// Sets GST_DRM_VA_TEST: for displays opened from now on.
void set_driver(const std::string &settings);

// The elements' templates are those of the driver that is there when a process loads the plugin: of one that tries whatever
// downstream lists, where a case says nothing else.
inline constexpr char kRichestDriver[] = "modifiers=linear:x-tiled:vivante:samsung";

// Before gst_init(): a registry of the program's own, /tmp/NAME, that begins as the boxes' and is brought up to date.
void own_registry(const std::string &name);
// Once, where this process has loaded the plugin already: a sanitized one does so as it brings a registry up to date.
void start_again_if_loaded(char **argv);

// The driver's counters, shared through a file.
class Counters {
public:
  Counters();
  Counters(const Counters &) = delete;
  Counters &operator=(const Counters &) = delete;
  ~Counters();
  [[nodiscard]] std::string setting() const { return "counters=" + path_; }
  std::uint64_t operator[](vadriver::Counter counter) const;

private:
  std::string path_;
  vadriver::CounterPage *page_ = nullptr;
};

// gst_parse_launch() of "vadmabufsrc name=src PROPERTIES ! CAPS ! appsink name=sink sync=false".
class Pipeline {
public:
  explicit Pipeline(const std::string &launch);
  Pipeline(const Pipeline &) = delete;
  Pipeline &operator=(const Pipeline &) = delete;
  ~Pipeline();

  bool play();
  void stop();
  // nullptr at the end of the stream, and after an error.
  GstSample *pull();
  [[nodiscard]] GstElement *get(const char *name) const; // borrowed
  // The next message of that type within 60 s; empty: none.
  std::string message(GstMessageType type);
  // "eos", or the error; empty: neither within 200 s.
  std::string wait_for_end();
  // All that were posted until now, however the bus was read.
  std::vector<std::string> warnings();
  // Those of one element since play() was called last; also behind stop(), which empties the bus. A source upstream of an
  // element that failed adds one of its own, that its stream has stopped.
  std::vector<std::string> errors_of(const std::string &element);
  [[nodiscard]] std::uint64_t stat(const char *field) const;

private:
  static GstBusSyncReply see_message(GstBus *bus, GstMessage *message, gpointer self);
  GstMessage *pop(GstClockTime timeout, GstMessageType types); // (transfer full)

  GstElement *pipeline_ = nullptr;
  const std::shared_ptr<std::atomic<unsigned>> alive_ = std::make_shared<std::atomic<unsigned>>(0); // its elements, and itself
  std::atomic<bool> failed_{false}; // an error was posted
  std::mutex texts_lock_; // guards warnings_ and errors_, which streaming threads post
  std::vector<std::string> warnings_;
  std::vector<std::pair<std::string, std::string>> errors_; // the element, the text
};
std::string source(const std::string &properties, const std::string &caps, const std::string &sink = "appsink name=sink sync=false");
std::string dma_caps(const std::string &drm_format, int width, int height);

// A frame's planes as bytes in picture order, detiled; waits for its acquire fence.
struct Frame {
  GstDrmVideoInfo info;
  GstDrmFrame layout;
  std::vector<std::vector<std::uint8_t>> planes; // rows without padding
  std::vector<std::uint32_t> row_bytes;
};
Frame read_frame(GstSample *sample);
// 8 bits of luma, or of green.
std::uint8_t brightness(const Frame &frame, std::uint32_t x, std::uint32_t y);
struct Counter {
  std::uint64_t frame;
  std::uint64_t timestamp_ns;
  bool valid;
};
Counter read_counter(const Frame &frame);

// Descriptors that are open when the elements of all Pipelines that have ended are gone: the last reference to one may be
// let go by one of GStreamer's own threads, a moment after ours.
unsigned settled_fds();
// Whether no more than these are open, at some moment within a minute.
bool settles_at(unsigned fds);

} // namespace gstdrm::test

#define GST_DRM_VA_CHECK_MAIN(name)                                                                                    \
  int main(int argc, char **argv)                                                                                      \
  {                                                                                                                    \
    gstdrm::test::set_driver(gstdrm::test::kRichestDriver);                                                                      \
    gst_check_init(&argc, &argv);                                                                                      \
    return gstdrm::test::run_suite(name##_suite());                                                                    \
  }
