// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tracker.hpp"

#include <algorithm>

namespace gstdrm::metis {

namespace {

// Of the expected box and the found one, as intersection over union: that of SORT.
constexpr float kLeastOverlap = 0.3F;

// All in units of the box's side along the coordinate, so that the size of the frame does not
// matter. The first two are those of DeepSORT (Wojke et al., 2017).
constexpr double kMeasured = 1.0 / 20;     // standard deviation of a side or centre that was found
constexpr double kSpeedChange = 1.0 / 160; // of the speed, from one frame to the next
constexpr double kUnknownSpeed = 1.0 / 2;  // of a new object: a faster one overlaps too little

constexpr double square(double x) noexcept
{
  return x * x;
}

struct Coordinate {
  double value, unit;
};

std::array<Coordinate, 4> coordinates(const Detection &box) noexcept
{
  const double width = box.width, height = box.height;
  return {Coordinate{box.x + width / 2, width},
          {box.y + height / 2, height},
          {width, width},
          {height, height}};
}

} // namespace

void Tracker::Motion::start(double measured, double unit) noexcept
{
  *this = {measured, 0, square(kMeasured * unit), 0, square(kUnknownSpeed * unit)};
}

void Tracker::Motion::step(double unit) noexcept
{
  at += speed;
  at_variance += 2 * covariance + speed_variance;
  covariance += speed_variance;
  speed_variance += square(kSpeedChange * unit);
}

void Tracker::Motion::correct(double measured, double unit) noexcept
{
  const double error = measured - at;
  const double sum = at_variance + square(kMeasured * unit);
  const double gain = at_variance / sum, speed_gain = covariance / sum;
  at += gain * error;
  speed += speed_gain * error;
  speed_variance -= speed_gain * covariance;
  at_variance *= 1 - gain;
  covariance *= 1 - gain;
}

void Tracker::advance(unsigned hold)
{
  for (Track &track : tracks_) {
    track.frames++;
    const auto sides = coordinates(track.found);
    for (std::size_t i = 0; i < sides.size(); i++)
      track.motions[i].step(sides[i].unit);
  }
  std::erase_if(tracks_, [hold](const Track &track) { return track.frames > hold + 1; });
}

// The last box that was found, moved by the filter's speed: the filter's own box would jump away
// from the one that was shown. The sides are doubled or halved at most.
Detection Tracker::expected_box(const Track &track)
{
  const auto sides = coordinates(track.found);
  std::array<double, 4> moved{};
  for (std::size_t i = 0; i < sides.size(); i++)
    moved[i] = sides[i].value + track.frames * track.motions[i].speed;
  const double width = std::clamp(moved[2], sides[2].value / 2, sides[2].value * 2);
  const double height = std::clamp(moved[3], sides[3].value / 2, sides[3].value * 2);
  Detection box = track.found;
  box.x = static_cast<float>(moved[0] - width / 2);
  box.y = static_cast<float>(moved[1] - height / 2);
  box.width = static_cast<float>(width);
  box.height = static_cast<float>(height);
  return box;
}

void Tracker::correct(Track &track, const Detection &found)
{
  const auto sides = coordinates(found);
  for (std::size_t i = 0; i < sides.size(); i++)
    track.motions[i].correct(sides[i].value, sides[i].unit);
  track.found = found;
  track.frames = 0;
}

std::vector<Tracker::Identity> Tracker::match(const std::vector<Detection> &found,
                                              std::uint64_t now)
{
  struct Pair {
    float overlap;
    std::size_t track, box;
  };
  std::vector<Pair> pairs;
  std::vector<std::size_t> real;
  for (std::size_t i = 0; i < std::min(found.size(), kMostTracks); i++)
    if (is_real(found[i]))
      real.push_back(i);
  for (std::size_t t = 0; t < tracks_.size(); t++) {
    const Detection expected = expected_box(tracks_[t]);
    for (const std::size_t i : real)
      if (found[i].label == expected.label)
        if (const float common = overlap(expected, found[i]); common >= kLeastOverlap)
          pairs.push_back({common, t, i});
  }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const Pair &a, const Pair &b) { return a.overlap > b.overlap; });
  std::vector<Identity> identities(found.size());
  std::vector<bool> taken(tracks_.size());
  for (const Pair &pair : pairs) {
    if (taken[pair.track] || identities[pair.box].id != 0)
      continue;
    taken[pair.track] = true;
    correct(tracks_[pair.track], found[pair.box]);
    identities[pair.box] = tracks_[pair.track].identity;
  }
  for (const std::size_t i : real) {
    if (identities[i].id != 0)
      continue;
    last_id_ = last_id_ % std::numeric_limits<std::int32_t>::max() + 1;
    identities[i] = {last_id_, now};
    Track track{identities[i], found[i], {}};
    const auto sides = coordinates(found[i]);
    for (std::size_t side = 0; side < sides.size(); side++)
      track.motions[side].start(sides[side].value, sides[side].unit);
    tracks_.push_back(std::move(track));
  }
  std::stable_sort(tracks_.begin(), tracks_.end(),
                   [](const Track &a, const Track &b) { return a.frames < b.frames; });
  if (tracks_.size() > kMostTracks)
    tracks_.resize(kMostTracks);
  return identities;
}

std::optional<Detection> Tracker::expected(std::uint32_t id) const
{
  const auto track = std::find_if(tracks_.begin(), tracks_.end(),
                                  [id](const Track &one) { return one.identity.id == id; });
  return track == tracks_.end() ? std::nullopt : std::optional(expected_box(*track));
}

} // namespace gstdrm::metis
