// SPDX-License-Identifier: LGPL-2.1-or-later
#include "display_server.hpp"

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <vector>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <glib.h>

#include "gst/drm/core/unique_fd.hpp"

namespace gstdrm::test {

namespace {

constexpr const char *kSocket = "wayland-gst-drm";

// Runs a program that writes to `log`, inherits `fd` where there is one, and ends with this thread.
pid_t start(std::vector<const char *> arguments, const std::string &log, int fd)
{
  arguments.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child != 0)
    return child;
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent)
    ::_exit(1);
  const int output = ::open(log.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  if (fd >= 0)
    ::fcntl(fd, F_SETFD, 0);
  ::execvp(arguments[0], const_cast<char **>(arguments.data()));
  ::_exit(127);
}

bool takes_clients(const std::string &socket)
{
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket.copy(address.sun_path, sizeof address.sun_path - 1);
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return fd && ::connect(fd.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0;
}

std::string text_of_file(const std::string &path)
{
  g_autofree gchar *text = nullptr;
  return g_file_get_contents(path.c_str(), &text, nullptr, nullptr) ? text : "";
}

// 10 for "weston 10.0.1"; 0 where it does not say.
int weston_version()
{
  g_autofree gchar *text = nullptr;
  int version = 0;
  if (g_spawn_command_line_sync("weston --version", &text, nullptr, nullptr, nullptr))
    (void)std::sscanf(text, "weston %d", &version);
  return version;
}

} // namespace

bool DisplayServer::is_installed(Kind kind)
{
  g_autofree gchar *path = g_find_program_in_path(program(kind));
  return path != nullptr;
}

DisplayServer::DisplayServer(Kind kind, const Options &options)
{
  g_autofree gchar *directory = g_dir_make_tmp("gst-drm-XXXXXX", nullptr);
  directory_ = directory ? directory : "";
  if (kind == Kind::X11)
    start_xvfb();
  else
    start_weston(options);
  if (!failure_.empty())
    failure_ = std::string(program(kind)) + ": " + failure_ + ": " + text_of_file(directory_ + "/log");
}

DisplayServer::~DisplayServer()
{
  if (pid_ > 0) {
    ::kill(pid_, SIGTERM);
    ::kill(pid_, SIGCONT); // one that is stopped ends when it goes on
    ::waitpid(pid_, nullptr, 0);
  }
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

void DisplayServer::send(int signal) const
{
  if (pid_ > 0)
    ::kill(pid_, signal);
}

void DisplayServer::kill()
{
  if (pid_ <= 0)
    return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

bool DisplayServer::has_ended()
{
  if (pid_ < 0 || ::waitpid(pid_, nullptr, WNOHANG) == 0)
    return pid_ < 0;
  pid_ = -1;
  return true;
}

// It chooses a number that is free, and writes it when clients may come.
void DisplayServer::start_xvfb()
{
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    failure_ = "there is no pipe";
    return;
  }
  const UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  const std::string number = std::to_string(writing.get());
  pid_ = start({"Xvfb", "-displayfd", number.c_str(), "-screen", "0", "320x240x24", "-nolisten", "tcp", "-noreset"}, directory_ + "/log", writing.get());
  writing.reset();
  std::string display = ":";
  for (char digit = 0; ::read(reading.get(), &digit, 1) == 1 && digit != '\n';)
    display += digit;
  if (display == ":")
    failure_ = "it ended";
  g_setenv("DISPLAY", display.c_str(), TRUE);
}

void DisplayServer::start_weston(const Options &options)
{
  g_setenv("XDG_RUNTIME_DIR", directory_.c_str(), TRUE);
  g_unsetenv("DISPLAY");
  const std::string socket = std::string("--socket=") + kSocket;
  std::vector<std::string> variables;
  for (const auto &[name, value] : options.variables)
    variables.push_back(name + "=" + value);
  std::vector<const char *> arguments{"env"};
  for (const std::string &variable : variables)
    arguments.push_back(variable.c_str());
  arguments.insert(arguments.end(), {"weston", "--no-config", "--backend=headless-backend.so", "--idle-time=0", socket.c_str()});
  if (options.gl)
    arguments.push_back(weston_version() < 12 ? "--use-gl" : "--renderer=gl");
  pid_ = start(arguments, directory_ + "/log", -1);
  while (!takes_clients(directory_ + "/" + kSocket)) {
    if (has_ended()) {
      failure_ = "it ended";
      return;
    }
    g_usleep(10000);
  }
  g_setenv("WAYLAND_DISPLAY", kSocket, TRUE);
}

} // namespace gstdrm::test
