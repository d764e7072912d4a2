// SPDX-License-Identifier: LGPL-2.1-or-later
// Whom a display tells of what happens, and how it calls that. Any thread.
#pragma once

#include <string>
#include <utility>

#include <gst/drm/core/result.hpp>

#include "engine/card/kms_own_thread.hpp"

namespace gstdrm::kms {

class DisplayListener {
public:
  virtual ~DisplayListener() = default;
  // Around the calls of one event, on the threads of the display: an application's bus handler may
  // let the last reference to the listener's owner go in the first of them. unref() may end the
  // listener.
  virtual void ref() noexcept {}
  virtual void unref() noexcept {}
  // A frame was refused or the device was lost, on any thread; once until the next start(), and
  // perhaps after show() has returned Failed on another thread.
  virtual void display_failed(const Error &error) noexcept = 0;
  // formats() has changed, so upstream may have to choose again. On any thread, without a lock of
  // the engine.
  virtual void formats_changed() noexcept = 0;
  // The display has not answered for seconds, and is set up anew with the next frame. On any
  // thread, without a lock of the engine's.
  virtual void display_stalled(const Error &error) noexcept { (void)error; }
  // A frame was left out since its acquire fence failed or did not signal, on any thread.
  virtual void frame_lost(const Error &error) noexcept { (void)error; }
  // The display's cable was pulled, or a display plugged in. On any thread, without a lock of the
  // engine's.
  virtual void connector_changed(const std::string &connector, bool connected) noexcept
  {
    (void)connector, (void)connected;
  }
  // The picture has to be shown once more, because no frame may come soon: the link of the display
  // was lost, or this program is master again. On any thread, without a lock of the engine's.
  virtual void repaint_wanted() noexcept {}
  // Another program is master, so that frames are dropped (`error` says which call told), or this
  // one is again. By the streaming thread.
  virtual void master_changed(const Error &error, bool master) noexcept
  {
    (void)error, (void)master;
  }
  // The program that sets the mode has turned the output off that the sink has joined, so that
  // frames are dropped (`error` says so), or on again. By the thread that calls show().
  virtual void joined_output_changed(const Error &error, bool lit) noexcept
  {
    (void)error, (void)lit;
  }
  // By the thread that calls show(): where the picture is now, and why it is not scaled.
  virtual void picture_placed(const std::string & /*where*/) noexcept {}
  // No plane takes the overlay of the frames, which can_overlay() tells from now on. By the thread
  // that calls show().
  virtual void overlay_refused(const Error & /*error*/) noexcept {}
  // A new view cannot be had; the old one stays. By the thread that calls show().
  virtual void view_refused(const Error & /*error*/) noexcept {}
  // The picture is shown without the turn that its view only wishes for. By the same thread.
  virtual void turn_left_out(const Error & /*error*/) noexcept {}
};

// Calls a listener. The display's own threads are outside of the engine meanwhile, so that nobody
// who ends them waits for what the application does there.
class ListenerCalls {
public:
  explicit ListenerCalls(DisplayListener &listener) noexcept : listener_(listener) {}

  template <typename... Parameters, typename... Arguments>
  void operator()(void (DisplayListener::*call)(Parameters...) noexcept,
                  Arguments &&...arguments) const noexcept
  {
    const InApplicationCallback outside;
    (listener_.*call)(std::forward<Arguments>(arguments)...);
  }
  [[nodiscard]] DisplayListener &listener() const noexcept { return listener_; }

private:
  DisplayListener &listener_;
};

} // namespace gstdrm::kms
