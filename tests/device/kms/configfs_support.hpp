// SPDX-License-Identifier: LGPL-2.1-or-later
// vkms devices made and changed through configfs (Documentation/gpu/vkms.rst): as many connectors
// as a test wants, each with a CRTC, a writeback connector and planes of its own; cables are pulled
// and put back.
#pragma once

#include <string>
#include <vector>

namespace gstdrm::test {

// What one output of a device has beside its primary plane.
struct OutputSpec {
  unsigned overlays = 0;
  bool cursor = false;
  bool connected = true;
  std::vector<unsigned> other_crtcs = {}; // of other outputs, which can light this one as well
};

// One mode of a display: active pixels, front porch, sync and the whole of a line and of a picture.
struct Timing {
  unsigned clock_khz = 0;
  unsigned width = 0, hfront = 0, hsync = 0, htotal = 0;
  unsigned height = 0, vfront = 0, vsync = 0, vtotal = 0;
};

// VESA DMT, and CTA-861 for 720p and 1080p
inline constexpr Timing k640x480{25175, 640, 16, 96, 800, 480, 10, 2, 525};
inline constexpr Timing k1024x768{65000, 1024, 24, 136, 1344, 768, 3, 6, 806};
inline constexpr Timing k800x600{40000, 800, 40, 128, 1056, 600, 1, 4, 628};
inline constexpr Timing k1280x720{74250, 1280, 110, 40, 1650, 720, 5, 5, 750};
inline constexpr Timing k1920x1080{148500, 1920, 88, 44, 2200, 1080, 4, 5, 1125};

// What the display says of itself beside its modes.
enum class DisplayKind {
  Plain,
  Hdr,     // PQ, HLG and BT.2020
  Headset, // of a maker that drm_edid.c takes for a maker of those ("non-desktop")
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
  // As of a VGA connector: the driver cannot tell whether a display is there.
  void set_unknown(unsigned output) const;
  // From now on the connector answers this display's modes, as drm_edid.c reads them (an EDID in
  // debugfs); nobody is told before plug(). No timings: what it answered at first.
  void set_display(unsigned output, const std::vector<Timing> &timings,
                   DisplayKind kind = DisplayKind::Plain) const;
  // The same with the bytes of an EDID.
  void set_edid(unsigned output, const std::string &edid) const;
  // The device is taken away from under its users.
  void remove();

private:
  void make_directory(const std::string &path);
  void link(const std::string &from, const std::string &to);
  void make_output(unsigned index, const OutputSpec &spec);
  void make_connector(unsigned index, bool connected);
  void enable(std::size_t outputs);
  void make_plane(const std::string &name, int type, const std::string &crtc);
  void find_connectors(std::size_t outputs);

  std::string root_;
  std::string path_;
  std::vector<std::string> connectors_;
  std::vector<std::string> made_; // links and directories, in order
};

} // namespace gstdrm::test
