// SPDX-License-Identifier: LGPL-2.1-or-later
// A libdrm of the tests' own, put in at link time: one device with a connector, a writeback
// connector, a CRTC, a primary and an overlay plane, or with what a model of a real driver has.
// Counts what is alive, and fails the call it is told to.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace gstdrm::test::fakedrm {

inline constexpr std::uint32_t kCrtc = 10;
inline constexpr std::uint32_t kConnector = 20;
inline constexpr std::uint32_t kWriteback = 21;
// of Device::second_output
inline constexpr std::uint32_t kOtherCrtc = 11;
inline constexpr std::uint32_t kOtherConnector = 22; // which either CRTC can light
inline constexpr std::uint32_t kOtherEncoder = 26;
inline constexpr std::uint32_t kOtherPrimary = 32;
inline constexpr std::uint32_t kEncoder = 25;
inline constexpr std::uint32_t kPrimary = 30;
inline constexpr std::uint32_t kOverlay = 31;
inline constexpr std::uint64_t kBt2020Rgb = 9; // of the connector's Colorspace
// of the planes' COLOR_ENCODING and COLOR_RANGE
inline constexpr std::uint64_t kBt601 = 0, kBt709 = 1, kBt2020 = 2, kLimitedRange = 0,
                               kFullRange = 1;

struct Model;

struct Commit {
  std::uint32_t flags = 0;
  // object and property name to value
  std::map<std::pair<std::uint32_t, std::string>, std::uint64_t> values;
};

// A commit that the model of a driver does not take.
struct Refused {
  Commit commit;
  int error = 0; // errno
  std::string why;
};

struct Device {
  std::mutex lock;

  // what tests set
  std::shared_ptr<const Model>
      model;       // a driver that takes the place of most of the fields below; null: none
  int fail_at = 0; // 1: the first call from now on; 0: none
  int error = 12;  // ENOMEM
  bool master = true;
  bool opens_again = true;         // its node can be opened a second time
  bool lease_revoked = false;      // the descriptor is that of a lease, of which nothing is left
  int revoke_at = 0; // it is revoked when the kernel takes up this commit, tests too (1: the next); 0: at none
  bool closes_framebuffers = true; // its kernel has CLOSEFB
  bool connected = true;
  bool hub_is_new = false; // kOtherConnector has come in the place of kConnector, under its name
  std::uint32_t gone_connector = 0; // still in the list of the resources
  bool imports_need_magic = false; // as before Linux 5.3 for whoever is not root
  std::string path;                // of kConnector and kOtherConnector: "PATH"; empty: none
  bool second_output = false;      // an own CRTC and primary plane, and no writeback connector
  bool remembers = false;          // what commits set is read afterwards
  bool has_lessees = false;
  bool modifiers = true;
  bool primary_centres = true; // else the primary plane has to cover the CRTC
  bool takes_writeback = true;
  bool scales = false;
  bool asynchronous = true;     // its driver has asynchronous flips
  bool refuses_tearing = false; // but makes none
  bool hdr_needs_mode_set = false;
  std::uint32_t refused_fourcc = 0;      // commits do not take framebuffers of it
  std::uint32_t overlay_extra = 0;       // a fourcc that only the overlay plane lists
  int busy_commits = 0;                  // so many non-blocking commits fail with EBUSY
  bool send_events = true;               // else they wait for send_held_events()
  bool out_fences = false;               // CRTCs have OUT_FENCE_PTR
  bool refuses_without_mode_set = false; // each commit
  bool refuses_mode_sets = false;
  bool refuses_fences = false; // lists IN_FENCE_FD, and takes no commit with one
  std::uint16_t refused_mode_width = 0; // modes of it are refused
  int refused_mode_error = 22;          // with EINVAL; with EIO and ETIMEDOUT, real commits alone
  bool needs_primary = false;  // no CRTC is on without its primary plane
  bool has_zpos = false;       // of planes
  bool fixed_zpos = false;     // and nobody can set it
  bool plane_balance = false;  // planes have brightness and hue
  bool crtc_balance = false;   // the CRTC has brightness and contrast
  bool blends_straight = true; // planes have "Coverage"
  bool all_cover = false;      // every plane has to cover the CRTC
  std::vector<std::pair<const char *, std::uint64_t>> rotations; // names and bits; none: not told
  unsigned speed = 1;                                            // times 60 Hz
  bool slow_mode = false;      // 640x480 with 24 Hz, beside the one with 60 Hz
  int busy_error = 16;         // what busy_commits fail with: EBUSY
  std::string fail_call;       // every call of this name fails
  std::uint64_t vblank_ns = 0; // when the last was; 0: its driver has none
  std::map<std::uint32_t, std::uint64_t> plane_users; // CRTC_ID of planes as it is found
  // object and property name to the value that another program left there
  std::map<std::pair<std::uint32_t, std::string>, std::uint64_t> found;
  std::map<std::uint32_t, std::vector<std::uint8_t>> foreign_blobs;
  std::set<std::uint32_t> foreign_framebuffers;

  // what tests read
  int calls = 0;
  int refused_tearing = 0;
  int probes = 0;              // of connectors
  bool known_connected = true; // as the last probe found them
  unsigned known_speed = 1;
  std::set<int> authenticated;         // descriptors that a master has vouched for
  std::set<std::uint64_t> client_caps; // that were set
  int master_questions = 0;            // drmIsMaster()
  int vblank_questions = 0;            // drmCrtcGetSequence()
  std::set<int> memory_fds;            // where dma-bufs were imported
  std::vector<std::uint32_t> left;     // framebuffers that CLOSEFB let go of
  std::string failed_call;
  int versions = 0, resources = 0, requests = 0; // other things libdrm hands out
  std::map<std::uint32_t, int> handles;          // GEM handle to the times it was imported or made
  std::map<std::uint32_t, std::uint32_t> framebuffers; // to the first handle
  std::map<std::uint32_t, std::uint32_t> fourccs; // of framebuffers, also of those that are gone
  std::map<std::uint32_t, std::vector<std::uint8_t>> blobs;     // made by the client
  std::map<std::uint32_t, std::vector<std::uint8_t>> old_blobs; // also those that are gone
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> imported; // dma-buf to handle
  std::vector<std::uint64_t> plane_modifiers; // of the planes that the last AddFB2 named
  std::uint32_t framebuffer_flags = 0;        // of the last AddFB2
  std::uint32_t all_framebuffer_flags = 0;    // of every AddFB2
  std::map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>>
      sizes; // of framebuffers, also of old ones
  std::vector<std::pair<std::uint32_t, std::uint32_t>>
      plane_bytes;                                     // its planes' offsets and strides
  std::map<std::uint32_t, std::uint64_t> modifiers_of; // of framebuffers, also of old ones
  std::map<std::uint32_t, std::uint32_t> pitches;      // likewise, of the first plane
  std::vector<Commit> commits;                         // that were real
  unsigned tests = 0;                                  // commits that were not
  std::vector<Refused> refused;                        // by the model, tests among them
  bool in_flight = false;     // a commit whose event nobody has read; of a model
  unsigned double_closes = 0; // closed, removed or destroyed what was not there
};

Device &device();
// A new device, and a descriptor to open it with; the one before is gone, and has to be closed.
int plug();
// Waits until nobody has the device open, neither the test nor a display that another thread lets
// go of: nothing is asked of the device afterwards. false: somebody has it after 10 s.
bool await_closed();
// An event of another reader of the descriptor.
void send_foreign_event();
// The flips that commits have not told of complete now.
void send_held_events();
// What the hotplug thread does: an event has come, or it was woken (fake_hotplug.cpp).
void hotplug();
void tick();
// How often the hotplug thread was woken since the program began, which calls nobody by itself.
int wakes();
// Everything the client had to give back.
int alive();
// What is in the dumb buffer of a framebuffer.
std::vector<std::uint32_t> pixels_of(std::uint32_t framebuffer);

} // namespace gstdrm::test::fakedrm
