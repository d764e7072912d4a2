// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstglsearches.hpp"

#include <mutex>

namespace gstdrm {

thread_local GlSearches::Search *GlSearches::Search::innermost = nullptr;

GlSearches::Search::Search(GlSearches &searches) : searches_(searches), outer_(innermost)
{
  const std::lock_guard guard(searches_.lock_);
  goes_on_ = searches_.changing_ == 0;
  if (!goes_on_)
    return;
  searches_.searching_++;
  innermost = this;
}

GlSearches::Search::~Search()
{
  if (!goes_on_)
    return;
  innermost = outer_;
  const std::lock_guard guard(searches_.lock_);
  searches_.searching_--;
  searches_.idle_.notify_all();
}

unsigned GlSearches::own_searches() const noexcept
{
  unsigned own = 0;
  for (const Search *search = Search::innermost; search; search = search->outer_)
    own += &search->searches_ == this ? 1U : 0U;
  return own;
}

GlSearches::Change::Change(GlSearches &searches) : searches_(searches)
{
  const unsigned own = searches_.own_searches();
  std::unique_lock guard(searches_.lock_);
  searches_.changing_++;
  is_alone_ =
      searches_.idle_.wait_for(guard, kLongest, [&] { return searches_.searching_ <= own; });
}

GlSearches::Change::~Change()
{
  const std::lock_guard guard(searches_.lock_);
  searches_.changing_--;
}

} // namespace gstdrm
