// SPDX-License-Identifier: LGPL-2.1-or-later
// A user interface that owns a display: it sets the mode, and draws on the primary plane with dumb
// buffers of its own, in a thread of its own, at its own rate, with libdrm alone.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <xf86drm.h>
#include <xf86drmMode.h>

#include <gst/drm/core/unique_fd.hpp>

#include "kms_image.hpp"

namespace gstdrm::test {

class Ui {
public:
  // Where nothing is drawn, with an alpha of 0.
  struct Hole {
    int x, y, width, height;
  };
  // Lights the first connector of the device, and begins to draw.
  Ui(const std::string &path, int width, int height, const Hole &hole);
  Ui(const Ui &) = delete;
  Ui &operator=(const Ui &) = delete;
  ~Ui();

  // Its descriptor, which is master.
  [[nodiscard]] int fd() const { return fd_.get(); }
  // What the display shows with the UI's next frame, and what of it the UI has drawn.
  struct Screen {
    Image shown;
    Image drawn; // black in the hole
  };
  Screen screen();
  // Draws nothing until resume().
  void pause();
  void resume();
  // While it is paused.
  void turn_off();
  void set_mode(int width, int height);

  // From now on the UI draws at every `vblanks`-th vblank, for the next one; 0: by its own clock.
  void keep_time(unsigned vblanks);
  // Sleeps until the UI, which keeps time, has seen the vblank and begins to draw.
  void await_drawing();
  // How far the UI kept its time.
  struct Punctuality {
    unsigned frames = 0;
    unsigned busy = 0;   // commits that got EBUSY
    unsigned missed = 0; // vblanks that frames were too late for
  };
  [[nodiscard]] Punctuality punctuality();

  // Frames that were committed, and events that came for them, one each.
  [[nodiscard]] unsigned frames();
  [[nodiscard]] unsigned flips();

private:
  struct Buffer {
    std::uint32_t handle = 0, id = 0, pitch = 0;
    std::uint64_t size = 0;
    std::uint8_t *map = nullptr;
  };
  using Values = std::map<std::pair<std::uint32_t, std::string>, std::uint64_t>;
  Buffer make(std::uint32_t fourcc) const;
  void free(Buffer &buffer) const;
  void find_objects();
  void light();
  Image draw(const Buffer &buffer, unsigned frame) const;
  int commit(const Values &values, std::uint32_t flags, std::uint64_t serial = 0) const;
  std::uint32_t property(std::uint32_t object, const std::string &name) const;
  void run();
  void show_frame();
  void rest(std::chrono::milliseconds time);
  unsigned await_flip(std::uint64_t serial);
  void show_in_time(unsigned vblanks);
  [[nodiscard]] unsigned await_vblank(bool next, unsigned sequence) const;

  UniqueFd fd_;
  int width_, height_;
  const Hole hole_;
  std::uint32_t crtc_ = 0, connector_ = 0, writeback_ = 0, primary_ = 0;
  Buffer buffers_[2], target_;
  unsigned next_ = 0;   // frame
  unsigned vblank_ = 0; // at which that is drawn

  std::mutex lock_; // guards everything below
  std::condition_variable changed_;
  unsigned frames_ = 0, flips_ = 0;
  unsigned time_kept_ = 0; // vblanks
  unsigned drawings_ = 0;  // begun while it keeps time
  Punctuality punctuality_;
  bool quit_ = false, pause_ = false, paused_ = false, wanted_ = false;
  std::optional<Screen> screen_;
  std::thread thread_;
};

} // namespace gstdrm::test
