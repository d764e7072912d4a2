// SPDX-License-Identifier: LGPL-2.1-or-later
#include "configfs_support.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <set>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xf86drm.h>
#include <xf86drmMode.h>

#include "kms_support.hpp"

namespace gstdrm::test {

namespace {

std::set<std::string> list_cards()
{
  std::set<std::string> cards;
  DIR *directory = opendir("/dev/dri");
  ck_assert(directory != nullptr);
  while (const dirent *entry = readdir(directory))
    if (strncmp(entry->d_name, "card", 4) == 0)
      cards.insert(std::string("/dev/dri/") + entry->d_name);
  closedir(directory);
  return cards;
}

void write_file(const std::string &path, const std::string &text)
{
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  ck_assert_msg(fd >= 0, "%s: %s", path.c_str(), strerror(errno));
  ck_assert_msg(write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()), "%s: %s",
                path.c_str(), strerror(errno));
  close(fd);
}

// Links first: a directory that one leads to stays.
void unlink_links(const std::string &path)
{
  DIR *directory = opendir(path.c_str());
  while (const dirent *entry = directory ? readdir(directory) : nullptr) {
    const std::string below = path + "/" + entry->d_name;
    if (entry->d_type == DT_LNK)
      unlink(below.c_str());
    else if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
      unlink_links(below);
  }
  if (directory)
    closedir(directory);
}

// Without those that the kernel made, which go with the one above them.
void remove_directories(const std::string &path)
{
  DIR *directory = opendir(path.c_str());
  while (const dirent *entry = directory ? readdir(directory) : nullptr)
    if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
      remove_directories(path + "/" + entry->d_name);
  if (directory)
    closedir(directory);
  rmdir(path.c_str());
}

// A device that a case has left that failed, out of which libcheck jumps without destructors.
void remove_forgotten(const std::string &root)
{
  if (access(root.c_str(), F_OK) != 0)
    return;
  write_file(root + "/enabled", "0");
  unlink_links(root);
  remove_directories(root);
}

// A detailed timing descriptor (VESA E-EDID 1.4, section 3.10.2), 18 bytes.
void put_timing(std::uint8_t *bytes, const Timing &t)
{
  const unsigned hblank = t.htotal - t.width, vblank = t.vtotal - t.height;
  const auto low = [](unsigned value) { return static_cast<std::uint8_t>(value & 0xff); };
  const auto high = [](unsigned value) { return (value >> 8) & 0xf; };
  bytes[0] = low(t.clock_khz / 10);
  bytes[1] = static_cast<std::uint8_t>(t.clock_khz / 10 >> 8);
  bytes[2] = low(t.width);
  bytes[3] = low(hblank);
  bytes[4] = low(high(t.width) << 4 | high(hblank));
  bytes[5] = low(t.height);
  bytes[6] = low(vblank);
  bytes[7] = low(high(t.height) << 4 | high(vblank));
  bytes[8] = low(t.hfront);
  bytes[9] = low(t.hsync);
  bytes[10] = low((t.vfront & 0xf) << 4 | (t.vsync & 0xf));
  bytes[11] = low((t.hfront >> 8) << 6 | (t.hsync >> 8) << 4); // vfront and vsync are below 16
  bytes[17] = 0x1e; // not interlaced, separate syncs, both positive
}

// The bytes of a block add up to 0.
template <typename Block> void add_up(Block &block)
{
  unsigned sum = 0;
  for (std::size_t i = 0; i < 127; i++)
    sum += block[i];
  block[127] = static_cast<std::uint8_t>(256 - sum % 256);
}

// A CTA-861 extension of a display that takes PQ, HLG and BT.2020.
std::string hdr_extension()
{
  std::array<std::uint8_t, 128> block{0x02, 3,    4 + 8, 0,     // data blocks up to byte 12
                                      0xe3, 0x05, 0x80,  0,     // colorimetry
                                      0xe3, 0x06, 0x0d,  0x01}; // HDR static metadata
  add_up(block);
  return {block.begin(), block.end()};
}

// The base block of a digital display with up to four modes and no others, and its extension.
std::string make_edid(const std::vector<Timing> &timings, DisplayKind kind)
{
  ck_assert_uint_le(timings.size(), 4);
  std::array<std::uint8_t, 128> edid{0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0};
  edid[8] = 0x1e; // manufacturer "GST": 5 bits a letter
  edid[9] = 0x74;
  edid[16] = 1;  // week
  edid[17] = 36; // 2026
  edid[18] = 1;  // version 1.4
  edid[19] = 4;
  edid[20] = 0xa0;                                       // digital, 8 bits
  edid[24] = 0x02;                                       // the first timing is the native one
  std::fill(edid.begin() + 38, edid.begin() + 54, 0x01); // no standard timings
  for (std::size_t i = 0; i < 4; i++) {
    // Descriptors count in 10 kHz, and VGA's clock is 25175 kHz: an established timing, where it is
    // not the native mode, which has to be a descriptor.
    const bool is_vga = i > 0 && i < timings.size() && timings[i].clock_khz == k640x480.clock_khz;
    if (is_vga)
      edid[35] |= 0x20;
    if (i < timings.size() && !is_vga)
      put_timing(&edid[54 + 18 * i], timings[i]);
    else
      edid[54 + 18 * i + 3] = 0x10; // dummy descriptor
  }
  if (kind == DisplayKind::Headset) { // "VLV", product 0x91a8 (drm_edid.c, edid_quirk_list)
    edid[8] = 0x59;
    edid[9] = 0x96;
    edid[10] = 0xa8;
    edid[11] = 0x91;
  }
  edid[126] = kind == DisplayKind::Hdr ? 1 : 0;
  add_up(edid);
  return std::string(edid.begin(), edid.end()) + (kind == DisplayKind::Hdr ? hdr_extension() : "");
}

} // namespace

void ConfigfsDevice::make_directory(const std::string &path)
{
  ck_assert_msg(mkdir(path.c_str(), 0755) == 0, "%s: %s", path.c_str(), strerror(errno));
  made_.push_back(path);
}

void ConfigfsDevice::link(const std::string &from, const std::string &to)
{
  ck_assert_msg(symlink(to.c_str(), from.c_str()) == 0, "%s: %s", from.c_str(), strerror(errno));
  made_.push_back(from);
}

void ConfigfsDevice::make_plane(const std::string &name, int type, const std::string &crtc)
{
  const std::string plane = root_ + "/planes/" + name;
  make_directory(plane);
  write_file(plane + "/type", std::to_string(type));
  link(plane + "/possible_crtcs/" + crtc, root_ + "/crtcs/" + crtc);
}

void ConfigfsDevice::make_output(unsigned index, const OutputSpec &spec)
{
  const std::string n = std::to_string(index);
  const std::string crtc = "crtc" + n;
  make_directory(root_ + "/crtcs/" + crtc);
  make_connector(index, spec.connected);
  write_file(root_ + "/crtcs/" + crtc + "/writeback", "1");
  make_plane("primary" + n, DRM_PLANE_TYPE_PRIMARY, crtc);
  for (unsigned i = 0; i < spec.overlays; i++)
    make_plane("overlay" + n + "-" + std::to_string(i), DRM_PLANE_TYPE_OVERLAY, crtc);
  if (spec.cursor)
    make_plane("cursor" + n, DRM_PLANE_TYPE_CURSOR, crtc);
}

void ConfigfsDevice::make_connector(unsigned index, bool connected)
{
  const std::string n = std::to_string(index);
  const std::string crtc = "crtc" + n;
  const std::string encoder = root_ + "/encoders/encoder" + n;
  make_directory(encoder);
  link(encoder + "/possible_crtcs/" + crtc, root_ + "/crtcs/" + crtc);
  const std::string connector = root_ + "/connectors/connector" + n;
  make_directory(connector);
  write_file(connector + "/status", connected ? "1" : "2");
  link(connector + "/possible_encoders/encoder" + n, encoder);
}

// In the kernel's list they stand in the order in which they were made.
void ConfigfsDevice::find_connectors(std::size_t outputs)
{
  const int fd = open(path_.c_str(), O_RDWR | O_CLOEXEC);
  ck_assert_int_ge(fd, 0);
  drmModeRes *resources = drmModeGetResources(fd);
  ck_assert(resources != nullptr);
  for (int i = 0; i < resources->count_connectors; i++) {
    drmModeConnector *connector = drmModeGetConnector(fd, resources->connectors[i]);
    ck_assert(connector != nullptr);
    connectors_.push_back(std::string(drmModeGetConnectorTypeName(connector->connector_type)) +
                          "-" + std::to_string(connector->connector_type_id));
    drmModeFreeConnector(connector);
  }
  drmModeFreeResources(resources);
  close(fd);
  ck_assert_uint_eq(connectors_.size(), outputs);
}

ConfigfsDevice::ConfigfsDevice(const std::string &name, const std::vector<OutputSpec> &outputs)
    : root_("/sys/kernel/config/vkms/" + name)
{
  remove_forgotten(root_);
  make_directory(root_);
  for (unsigned i = 0; i < outputs.size(); i++)
    make_output(i, outputs[i]);
  for (unsigned i = 0; i < outputs.size(); i++)
    for (const unsigned other : outputs[i].other_crtcs) {
      const std::string crtc = "crtc" + std::to_string(other);
      link(root_ + "/encoders/encoder" + std::to_string(i) + "/possible_crtcs/" + crtc,
           root_ + "/crtcs/" + crtc);
    }
  enable(outputs.size());
}

void ConfigfsDevice::enable(std::size_t outputs)
{
  const std::set<std::string> before = list_cards();
  write_file(root_ + "/enabled", "1");
  for (const std::string &card : list_cards())
    if (!before.count(card))
      path_ = card;
  ck_assert_msg(!path_.empty(), "no card of %s", root_.c_str());
  find_connectors(outputs);
}

void ConfigfsDevice::set_unknown(unsigned output) const
{
  write_file(root_ + "/connectors/connector" + std::to_string(output) + "/status", "3");
}

void ConfigfsDevice::plug(unsigned output, bool connected)
{
  write_file(root_ + "/connectors/connector" + std::to_string(output) + "/status",
             connected ? "1" : "2");
}

void ConfigfsDevice::set_display(unsigned output, const std::vector<Timing> &timings,
                                 DisplayKind kind) const
{
  set_edid(output, timings.empty() ? "reset" : make_edid(timings, kind));
}

void ConfigfsDevice::set_edid(unsigned output, const std::string &edid) const
{
  const std::string card = path_.substr(path_.find_last_not_of("0123456789") + 1);
  write_file("/sys/kernel/debug/dri/" + card + "/" + connectors_[output] + "/edid_override", edid);
}

void ConfigfsDevice::remove()
{
  write_file(root_ + "/enabled", "0");
}

ConfigfsDevice::~ConfigfsDevice()
{
  const int fd = open((root_ + "/enabled").c_str(), O_WRONLY | O_CLOEXEC);
  if (fd >= 0) {
    (void)!write(fd, "0", 1);
    close(fd);
  }
  for (auto it = made_.rbegin(); it != made_.rend(); ++it)
    if (unlink(it->c_str()) != 0)
      rmdir(it->c_str());
}

} // namespace gstdrm::test
