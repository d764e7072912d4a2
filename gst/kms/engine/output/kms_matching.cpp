// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_matching.hpp"

#include <algorithm>

namespace gstdrm::kms {

namespace {

using Crtcs = std::vector<const Crtc *>;
using Users = std::vector<const Connector *>; // of each CRTC; null: nobody

std::uint64_t crtc_of(const Connector &connector)
{
  return property_value(connector.properties, "CRTC_ID");
}

bool can_drive(const Crtc &crtc, const Connector &connector)
{
  return (connector.possible_crtcs >> crtc.index & 1) != 0;
}

// Those that the CRTC lights. More than one show the same picture.
Users users_of(const Resources &resources, const Crtc &crtc)
{
  Users users;
  for (const Connector &connector : resources.connectors)
    if (!connector.writeback && crtc_of(connector) == crtc.id)
      users.push_back(&connector);
  return users;
}

// Connected displays that are dark, without the one that is looked at.
Users waiting_displays(const Resources &resources, const Connector &looked_at)
{
  Users waiting;
  for (const Connector &other : resources.connectors)
    if (other.id != looked_at.id && !other.writeback && !other.modes.empty() &&
        other.connection == DRM_MODE_CONNECTED && crtc_of(other) == 0)
      waiting.push_back(&other);
  return waiting;
}

// Finds a CRTC for `connector`, moving connectors that have one already to others of theirs (Kuhn's
// algorithm).
bool assign(const Connector &connector, const Crtcs &crtcs, Users &user, std::vector<bool> &tried)
{
  for (std::size_t i = 0; i < crtcs.size(); i++) {
    if (tried[i] || !can_drive(*crtcs[i], connector))
      continue;
    tried[i] = true;
    if (!user[i] || assign(*user[i], crtcs, user, tried)) {
      user[i] = &connector;
      return true;
    }
  }
  return false;
}

// How many of the connectors can be lit at once with these CRTCs, whose users stay lit.
std::size_t count_lit(const Users &connectors, const Crtcs &crtcs, Users &user)
{
  std::size_t lit = 0;
  for (const Connector *connector : connectors) {
    std::vector<bool> tried(crtcs.size());
    lit += assign(*connector, crtcs, user, tried);
  }
  return lit;
}

std::size_t count_lit(const Users &connectors, const Crtcs &crtcs)
{
  Users nobody(crtcs.size());
  return count_lit(connectors, crtcs, nobody);
}

// From one assignment to another, each move to a CRTC that is free by then.
std::vector<CrtcMove> order_moves(const Crtcs &crtcs, Users before, const Users &after)
{
  std::vector<CrtcMove> moves;
  for (bool found = true; found;) {
    found = false;
    for (std::size_t to = 0; to < crtcs.size() && !found; to++) {
      const auto from = std::find(before.begin(), before.end(), after[to]);
      if (!after[to] || before[to] || from == before.end())
        continue;
      const auto index = static_cast<std::size_t>(from - before.begin());
      moves.push_back({after[to]->id, crtcs[index]->id, crtcs[to]->id});
      std::swap(before[index], before[to]);
      found = true;
    }
  }
  return moves;
}

// A lit display may leave its CRTC to one that waits and has no other.
std::vector<CrtcMove> make_room_for_others(const Resources &resources, const Connector &connector)
{
  Crtcs unlit, crtcs;
  Users before;
  for (const Crtc &crtc : resources.crtcs) {
    const Users users = users_of(resources, crtc);
    if (users.empty())
      unlit.push_back(&crtc);
    if (users.empty() || users == Users{&connector}) {
      crtcs.push_back(&crtc);
      before.push_back(users.empty() ? nullptr : &connector);
    }
  }
  const Users waiting = waiting_displays(resources, connector);
  Users after = before;
  if (count_lit(waiting, crtcs, after) <= count_lit(waiting, unlit))
    return {};
  return order_moves(crtcs, before, after);
}

} // namespace

const Crtc *find_crtc(const Resources &resources, const Connector &connector)
{
  const std::uint64_t current = crtc_of(connector);
  Crtcs free;
  for (const Crtc &crtc : resources.crtcs) {
    if (current != 0 && crtc.id == current)
      return &crtc;
    const Users users = users_of(resources, crtc);
    if (users.empty() || users == Users{&connector})
      free.push_back(&crtc);
  }
  const Users waiting = waiting_displays(resources, connector);
  const Crtc *best = nullptr;
  std::size_t best_lit = 0;
  for (const Crtc *crtc : free) {
    if (!can_drive(*crtc, connector))
      continue;
    Crtcs rest = free;
    std::erase(rest, crtc);
    const std::size_t lit = count_lit(waiting, rest);
    if (!best || lit > best_lit) {
      best = crtc;
      best_lit = lit;
    }
  }
  return best;
}

std::vector<CrtcMove> find_moves(const Resources &resources, const Connector &connector)
{
  if (crtc_of(connector) != 0)
    return make_room_for_others(resources, connector);
  if (find_crtc(resources, connector))
    return {};
  Crtcs crtcs;
  Users before;
  for (const Crtc &crtc : resources.crtcs)
    if (const Users users = users_of(resources, crtc); users.size() <= 1) {
      crtcs.push_back(&crtc);
      before.push_back(users.empty() ? nullptr : users.front());
    }
  Users after = before;
  std::vector<bool> tried(crtcs.size());
  if (!assign(connector, crtcs, after, tried))
    return {};
  return order_moves(crtcs, before, after);
}

} // namespace gstdrm::kms
