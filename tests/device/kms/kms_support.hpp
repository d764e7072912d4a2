// SPDX-License-Identifier: LGPL-2.1-or-later
// What the tests of kmsdmabufsink share: a sink on vkms that buffers are pushed into one by one, DMA
// buffers of every shape, and a conversion of its own to compare the display's pixels with.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/check_main.hpp"
#include "support/open_fds.hpp"
#include "support/video_info.hpp"
#include <gst/drm/drm.h>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/gst.h>
#include <gst/video/video.h>

namespace gstdrm::test {

using gstdrm::GstPtr;

// kmsdmabufsink on the box's vkms with a pad that pushes into it, without a pipeline: sync=false, so every
// frame is shown, and what is pushed is the test's business alone.
class Sink {
public:
  // `properties` are set before the device is opened: "zero-copy=require plane-id=31"
  explicit Sink(const char *properties = "");
  ~Sink();
  Sink(const Sink &) = delete;
  Sink &operator=(const Sink &) = delete;

  [[nodiscard]] GstElement *element() const { return sink_; }
  bool set_state(GstState state);
  // Stream start, caps and segment events as needed. False: the caps were refused.
  bool set_caps(const std::string &caps);
  // Takes the buffer.
  GstFlowReturn push(GstBuffer *buffer);
  void eos();
  void flush();
  [[nodiscard]] GstPtr<GstSample> snapshot();
  [[nodiscard]] std::uint64_t stat(const char *name) const;
  // Text of the next error or warning on the bus; empty: none.
  [[nodiscard]] std::string next_message(GstMessageType types);
  // The same, of a thread that counts before it posts: waits for it.
  [[nodiscard]] std::string await_message(GstMessageType types);

private:
  GstElement *sink_ = nullptr;
  GstPad *src_ = nullptr;
  GstBus *bus_ = nullptr;
};

// Caps of a linear picture: DMA_DRM, or plain video/x-raw.
std::string dma_drm_caps(const char *drm_format, int width, int height, const char *more = "");
std::string plain_caps(const char *format, int width, int height, const char *more = "");

// One frame of a noise pattern that depends on `seed` alone, in system memory, tightly packed.
GstPtr<GstBuffer> make_noise(const GstVideoInfo &info, unsigned seed);

enum class Shape { Tight, PaddedStrides, TwoDescriptors };
// A dma-buf (udmabuf) with the same picture; TwoDescriptors: each plane in a dma-buf of its own.
GstPtr<GstBuffer> to_dmabuf(const GstVideoInfo &info, GstBuffer *system, Shape shape);
// A linear frame from the given kind of allocator, not filled.
GstPtr<GstBuffer> allocate(GstDrmAllocatorKind kind, std::uint32_t fourcc, int width, int height,
                          const GstVideoAlignment *align = nullptr);

// What a display of mode_width x mode_height shows of the picture, as BGRx, black around it. Conversion by the
// matrix of the info's colorimetry in double precision, chroma not interpolated.
std::vector<std::uint8_t> reference(const GstVideoInfo &info, GstBuffer *system, int mode_width,
                                    int mode_height);

// Largest difference of any colour sample. -1: the sizes differ.
int largest_difference(GstSample *sample, const std::vector<std::uint8_t> &expected, int *width = nullptr,
                       int *height = nullptr);

} // namespace gstdrm::test
