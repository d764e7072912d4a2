// SPDX-License-Identifier: LGPL-2.1-or-later
// Follows objects from frame to frame by their boxes alone, as SORT does (Bewley et al., "Simple
// Online and Realtime Tracking", ICIP 2016).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "detection.hpp"

namespace gstdrm::metis {

// Gives objects ids that stay. Call advance() for each frame, then match() if the model has seen
// it. Time is counted in frames, so that timestamps may be missing or jump. One thread.
class Tracker {
public:
  // Objects of one frame, and objects that are remembered: bounds the time of match().
  static constexpr std::size_t kMostTracks = 500;

  struct Identity {
    std::uint32_t id = 0;         // 1 to 2^31 - 1; 0: the object is not followed
    std::uint64_t first_seen = 0; // what match() got as `now` when the object was new
  };

  // One frame further. Forgets objects that were not found in more than `hold` frames in a row.
  void advance(unsigned hold);
  // One identity for each box of this frame, best boxes first. A box is the remembered object of
  // the same label whose expected box it overlaps most; the best pairs are made first. All others
  // are new, except for those that are not real and those beyond kMostTracks.
  std::vector<Identity> match(const std::vector<Detection> &found, std::uint64_t now);
  // Where the object is in this frame, if it goes on moving as it did; its box, if it was found.
  // nullopt if there is no such object.
  [[nodiscard]] std::optional<Detection> expected(std::uint32_t id) const;
  // The objects that come now are others. Their ids go on.
  void forget() noexcept { tracks_.clear(); }

private:
  // One coordinate of a box, which moves at a constant speed: a Kalman filter. SORT has one filter
  // of seven numbers, whose matrices couple no coordinate with another one.
  struct Motion {
    double at, speed; // pixels, pixels a frame
    double at_variance, covariance, speed_variance;

    void start(double measured, double unit) noexcept;
    void step(double unit) noexcept;
    void correct(double measured, double unit) noexcept;
  };
  struct Track {
    Identity identity;
    Detection found;               // the last time
    std::array<Motion, 4> motions; // centre x and y, width, height
    unsigned frames = 0;           // since then
  };
  static Detection expected_box(const Track &track);
  static void correct(Track &track, const Detection &found);

  std::vector<Track> tracks_;
  std::uint32_t last_id_ = 0;
};

} // namespace gstdrm::metis
