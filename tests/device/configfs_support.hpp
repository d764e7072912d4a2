// SPDX-License-Identifier: LGPL-2.1-or-later
// vkms devices made and changed through configfs (Documentation/gpu/vkms.rst): as many connectors
// as a test wants, each with a CRTC, a writeback connector and planes of its own; cables are pulled
// and put back.
#pragma once

#include <string>
#include <vector>

namespace kmstest {

// What one output of a device has beside its primary plane.
struct OutputSpec {
  unsigned overlays = 0;
  bool cursor = false;
  bool connected = true;
};

class ConfigfsDevice {
public:
  // Enabled at once. `name` is the directory's.
  ConfigfsDevice(const std::string &name, const std::vector<OutputSpec> &outputs);
  ConfigfsDevice(const ConfigfsDevice &) = delete;
  ConfigfsDevice &operator=(const ConfigfsDevice &) = delete;
  ~ConfigfsDevice(); // removes the device and its directories

  [[nodiscard]] const std::string &path() const { return path_; } // "/dev/dri/card2"
  // Names of the connectors in the order of the outputs: "Virtual-2". vkms counts them over all
  // devices.
  [[nodiscard]] const std::vector<std::string> &connectors() const { return connectors_; }
  // Pulls or puts back the cable: the kernel sends a hotplug event.
  void plug(unsigned output, bool connected);
  // The device is taken away from under its users.
  void remove();

private:
  void make_directory(const std::string &path);
  void link(const std::string &from, const std::string &to);
  void make_output(unsigned index, const OutputSpec &spec);
  void make_plane(const std::string &name, int type, const std::string &crtc);
  void find_connectors(const std::vector<OutputSpec> &outputs);

  std::string root_;
  std::string path_;
  std::vector<std::string> connectors_;
  std::vector<std::string> made_; // links and directories, in order
};

} // namespace kmstest
