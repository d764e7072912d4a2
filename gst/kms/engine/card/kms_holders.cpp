// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_holders.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace gstdrm::kms {

namespace {

namespace fs = std::filesystem;

// More than a person reads.
constexpr std::size_t kMostNames = 4;

std::string first_line(const fs::path &path)
{
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<pid_t> number_of(const std::string &text)
{
  pid_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number <= 0)
    return std::nullopt;
  return number;
}

// Entries of a folder; none where it cannot be read.
std::vector<fs::path> list(const fs::path &folder)
{
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    entries.push_back(it->path());
  std::sort(entries.begin(), entries.end());
  return entries;
}

Holder holder_of(pid_t process, const SystemPaths &paths)
{
  return {process, first_line(fs::path(paths.proc) / std::to_string(process) / "comm")};
}

// The row of the master in the kernel's table: command, process, minor, master (y or n), and more
// (drm_debugfs.c, drm_clients_info()). The command may contain spaces.
std::optional<Holder> find_master(dev_t node, const SystemPaths &paths)
{
  std::ifstream file(fs::path(paths.debug) / std::to_string(minor(node)) / "clients");
  std::string line;
  std::getline(file, line); // the heading
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::vector<std::string> row;
    for (std::string word; words >> word;)
      row.push_back(word);
    for (std::size_t i = 1; i + 2 < row.size(); i++) {
      const std::optional<pid_t> process = number_of(row[i]);
      if (!process || row[i + 2] != "y" || *process == getpid())
        continue;
      const Holder holder = holder_of(*process, paths);
      return holder.name.empty() ? Holder{*process, row[0]} : holder;
    }
  }
  return std::nullopt;
}

// A link tells its name without anybody's file system being asked: stat() of one that is open on a
// dead network server never returns.
bool is_device_node(const fs::path &descriptor)
{
  std::error_code error;
  return fs::read_symlink(descriptor, error).string().starts_with("/dev/");
}

bool has_open(const fs::path &descriptors, dev_t node)
{
  const std::vector<fs::path> entries = list(descriptors);
  return std::any_of(entries.begin(), entries.end(), [node](const fs::path &entry) {
    struct stat status {};
    return is_device_node(entry) && stat(entry.c_str(), &status) == 0 && S_ISCHR(status.st_mode) &&
           status.st_rdev == node;
  });
}

// The processes of this user, or of all where this is root's.
std::vector<Holder> find_open(dev_t node, const SystemPaths &paths)
{
  std::vector<Holder> holders;
  for (const fs::path &entry : list(paths.proc)) {
    const std::optional<pid_t> process = number_of(entry.filename().string());
    if (process && *process != getpid() && has_open(entry / "fd", node))
      holders.push_back(holder_of(*process, paths));
  }
  return holders;
}

// The type of the session that is active on a screen, of logind's files (sd-login, session files).
std::string find_session(const SystemPaths &paths)
{
  for (const fs::path &path : list(paths.sessions)) {
    std::ifstream file(path);
    std::map<std::string, std::string> values;
    for (std::string line; std::getline(file, line);)
      if (const std::size_t equals = line.find('='); equals != std::string::npos)
        values[line.substr(0, equals)] = line.substr(equals + 1);
    if (values["ACTIVE"] == "1" && !values["SEAT"].empty() &&
        (values["TYPE"] == "wayland" || values["TYPE"] == "x11"))
      return values["TYPE"];
  }
  return "";
}

std::string name_of(const Holder &holder)
{
  return (holder.name.empty() ? "a program" : holder.name) + " (process " +
         std::to_string(holder.process) + ")";
}

std::string who(const Holders &holders)
{
  const std::vector<Holder> &programs = holders.programs;
  if (programs.empty() && holders.all_seen)
    return "No other process has it open, so another part of this process is master.";
  if (programs.empty())
    return "Only root can see which program that is.";
  if (programs.size() == 1)
    return std::string(holders.is_master ? "It is " : "It is probably ") + name_of(programs[0]) +
           ".";
  std::string text = "It is one of these, which have it open: ";
  for (std::size_t i = 0; i < programs.size() && i < kMostNames; i++)
    text += (i ? ", " : "") + name_of(programs[i]);
  if (programs.size() > kMostNames)
    text += " and " + std::to_string(programs.size() - kMostNames) + " more";
  return text + ".";
}

} // namespace

Holders find_holders(dev_t node, const SystemPaths &paths)
{
  Holders holders;
  holders.all_seen = geteuid() == 0;
  holders.session = find_session(paths);
  if (std::optional<Holder> master = find_master(node, paths)) {
    holders.programs = {std::move(*master)};
    holders.is_master = true;
  } else {
    holders.programs = find_open(node, paths);
  }
  return holders;
}

std::string describe_holders(const Holders &holders)
{
  std::string text = who(holders);
  if (holders.session == "wayland")
    text += " A Wayland session is on the screen: waylandsink shows in a window of it.";
  else if (holders.session == "x11")
    text += " An X11 session is on the screen: glimagesink or xvimagesink shows in a window of it.";
  return text +
         " Stop the compositor or other sink that uses the display, switch to a free virtual "
         "terminal, or pass a descriptor that is master in fd, such as a DRM lease from that "
         "program.";
}

} // namespace gstdrm::kms
