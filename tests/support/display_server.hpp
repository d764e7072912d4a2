// SPDX-License-Identifier: LGPL-2.1-or-later
// A display server for one test program: Xvfb, or weston without a screen. It ends with the program, however that ends.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace gstdrm::test {

// Of weston alone.
struct DisplayServerOptions {
  bool gl = false;                                           // draws with OpenGL
  std::vector<std::pair<std::string, std::string>> variables; // of its environment
};

class DisplayServer {
public:
  enum class Kind { X11, Wayland };
  using Options = DisplayServerOptions;

  // Waits until the server takes clients, which find it by the environment from then on (DISPLAY; XDG_RUNTIME_DIR and WAYLAND_DISPLAY).
  explicit DisplayServer(Kind kind, const Options &options = {});
  DisplayServer(const DisplayServer &) = delete;
  DisplayServer &operator=(const DisplayServer &) = delete;
  ~DisplayServer();

  // Whether its program is on this machine.
  [[nodiscard]] static bool is_installed(Kind kind);
  [[nodiscard]] static const char *program(Kind kind) { return kind == Kind::X11 ? "Xvfb" : "weston"; }
  // Why it takes no clients; empty: it does.
  [[nodiscard]] const std::string &failure() const { return failure_; }
  // Sends a signal to its process, such as SIGSTOP.
  void send(int signal) const;
  // Kills it; it is gone when this returns.
  void kill();

private:
  void start_xvfb();
  void start_weston(const Options &options);
  [[nodiscard]] bool has_ended();

  std::string directory_; // of its sockets and its log
  std::string failure_;
  pid_t pid_ = -1;
};

} // namespace gstdrm::test
