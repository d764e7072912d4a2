// SPDX-License-Identifier: LGPL-2.1-or-later
// What the tests of the box's own vkms share: a display through libdrm alone, mapped dma-bufs and
// noise, without any code of this project between.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <drm_fourcc.h>
#include <xf86drm.h>
#include <xf86drmMode.h>

namespace gstdrm::test {

constexpr uint64_t kLinear = DRM_FORMAT_MOD_LINEAR;
constexpr uint32_t kPage = 4096;

struct Size {
  uint32_t width, height;
};

struct Pair {
  uint32_t fourcc;
  uint64_t modifier;
  auto operator<=>(const Pair &) const = default;
};

// Empty where it cannot be read.
std::string read_file(const char *path);

uint32_t round_up(uint32_t value, uint32_t to);

// A picture as rows of bytes, one vector per plane, without padding.
struct RawPicture {
  uint32_t fourcc;
  Size size;
  std::vector<std::vector<uint8_t>> planes;

  uint32_t row_bytes() const { return fourcc == DRM_FORMAT_NV12 ? size.width : size.width * 4; }
  uint32_t rows(size_t plane) const { return plane ? size.height / 2 : size.height; }
};

// Noise: two bytes that change places are seen.
RawPicture noise(uint32_t fourcc, Size size);

void expect_same(const std::vector<uint8_t> &got, const std::vector<uint8_t> &wanted,
                 const char *what);

enum class Source { kUdmabuf, kHeap };

// A mapped dma-buf. Whole pages.
class RawBuffer {
public:
  explicit RawBuffer(uint32_t size, Source source = Source::kUdmabuf);
  RawBuffer(const RawBuffer &) = delete;
  RawBuffer &operator=(const RawBuffer &) = delete;
  ~RawBuffer();

  int fd() const { return fd_; }
  uint8_t *data() const { return data_; }
  void access(uint64_t flags) const;

private:
  uint32_t size_;
  int fd_ = -1;
  uint8_t *data_ = nullptr;
};

using Properties = std::map<std::string, uint32_t>;

// The box's vkms with its first CRTC. Whatever fails and is not asked for ends the test.
class RawDisplay {
public:
  RawDisplay();
  RawDisplay(const RawDisplay &) = delete;
  RawDisplay &operator=(const RawDisplay &) = delete;
  ~RawDisplay(); // frees framebuffers, handles and blobs, and turns the CRTC off

  std::set<Pair> in_formats(uint32_t plane);

  uint32_t import(const RawBuffer &buffer);

  // The framebuffer, or 0 with errno.
  uint32_t add(Pair format, Size size, const std::vector<uint32_t> &handles, uint32_t pitch,
               const std::array<uint32_t, 2> &offsets);
  void remove(uint32_t fb);

  // How `fb` is shown: by which plane, which part of it, turned how, and how often a second.
  struct Show {
    uint32_t plane;
    Size mode;
    Size part;
    uint32_t x = 0, y = 0;
    uint64_t rotation = DRM_MODE_ROTATE_0;
    uint32_t refresh = 60;
    int in_fence = -1;
  };

  int commit(uint32_t fb, const Show &show, uint32_t flags, uint32_t writeback_fb = 0,
             int *fence = nullptr);

  int test(uint32_t fb, const Show &show, uint32_t writeback_fb = 0)
  {
    return commit(fb, show, DRM_MODE_ATOMIC_TEST_ONLY, writeback_fb);
  }

  // Commits and waits for the writeback, 20 seconds at most.
  void write_back(uint32_t fb, const Show &show, uint32_t writeback_fb);

  // What the display shows, XRGB8888.
  std::vector<uint8_t> shown(uint32_t fb, const Show &show);

  // A file of the device's in debugfs.
  std::string debugfs(const char *name);

  uint32_t crtc = 0, connector = 0, writeback = 0, primary = 0, overlay = 0, cursor = 0;

private:
  const Properties &properties(uint32_t object);
  uint64_t property_value(uint32_t object, const std::string &name);

  int fd_;
  std::map<uint32_t, Properties> properties_;
};

} // namespace gstdrm::test
