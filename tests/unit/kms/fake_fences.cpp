// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fake_fences.hpp"

#include <utility>

namespace gstdrm {

namespace {

test::FakeFences::Answer &answer_of_test()
{
  static test::FakeFences::Answer answer;
  return answer;
}

} // namespace

test::FakeFences::FakeFences(Answer answer)
{
  answer_of_test() = std::move(answer);
}

test::FakeFences::~FakeFences()
{
  answer_of_test() = nullptr;
}

FenceState kms::ask_fence(int fence_fd)
{
  return answer_of_test() ? answer_of_test()(fence_fd) : FenceState::Failed;
}

std::optional<std::int64_t> kms::fence_signalled_at(int fence_fd)
{
  return ask_fence(fence_fd) == FenceState::Pending ? std::nullopt
                                                    : std::optional(test::FakeFences::kTime_ns);
}

} // namespace gstdrm
