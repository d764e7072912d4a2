// SPDX-License-Identifier: LGPL-2.1-or-later
// The machine's own driver, which refuses images of dma-bufs by a rule of the test's: the program's
// eglGetProcAddress() and eglGetError() stand before the library's. A refused request goes to the
// driver with a fourcc that no driver has, so that the error is the driver's own, unless the test
// names another. The driver also lists modifiers that the test adds, and none of those does it
// import; or none.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

namespace gstdrm::test {

struct ImageRequest {
  std::uint32_t fourcc = 0;
  int width = 0, height = 0;
  std::array<int, 3> pitches{}; // bytes; 0: there is no such plane
  std::uint64_t modifier = 0;   // of the first plane
  std::array<int, 2> siting{};  // of chroma, across and down: EGL_YUV_CHROMA_SITING_…; 0: no hint
  unsigned number = 0;          // of the requests since refuse_images(), from 1
};

// From now on; an empty rule refuses nothing. `error`: what eglGetError() says of it, in place of
// the driver's own where it is not 0. Any thread.
void refuse_images(std::function<bool(const ImageRequest &)> rule, int error = 0);
// The driver's lists have these modifiers of each format that has any, from now on.
void list_modifiers(std::vector<std::uint64_t> more);
// They have no modifier at all, or all that they have again, from now on: an old driver's lists,
// which leave the modifier implicit.
void list_no_modifiers(bool none);
// They have no format at all, or all again, from now on: of a driver that imports nothing.
void list_no_formats(bool none);
// They have this format as a 2D texture, too, from now on; 0: no other than the driver's. Such a
// texture of an image is made without an error and shows nothing.
void list_in_2d(std::uint32_t fourcc);
// A texture of an image is a copy of the pixels that the image has when it is bound to the texture,
// or is the image's own again, from now on: as drivers do whose GPU cannot sample linear memory.
void sample_copies(bool copies);
// Requests since refuse_images().
unsigned image_requests();
// Images of whatever kind that were made and not ended yet, since the program began.
int live_images();

// For as long as this lives.
class Refusing {
public:
  explicit Refusing(std::function<bool(const ImageRequest &)> rule, int error = 0)
  {
    refuse_images(std::move(rule), error);
  }
  Refusing(const Refusing &) = delete;
  Refusing &operator=(const Refusing &) = delete;
  ~Refusing() { refuse_images({}); }
};

} // namespace gstdrm::test
