// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdmabufanswers.hpp"

#include <mutex>
#include <utility>

namespace gstdrm {

namespace {

// What the peer's answer allows on the pad that is asked. ANY allows all of the template.
CapsParts work_out(const CapsAnswers::Question &question)
{
  const GstPadDirection other = opposite(question.direction);
  const CapsParts allowed =
      gst_caps_is_any(question.peer)
          ? transform_parts(question.rules, other, question.other_limits)
          : transform_parts(question.rules, other,
                            intersect_parts(take_apart(question.peer), question.other_limits));
  return intersect_parts(allowed, question.own_limits);
}

// An ANY filter filters nothing.
GstCaps *real_filter(GstCaps *filter)
{
  return filter && !gst_caps_is_any(filter) ? filter : nullptr;
}

bool is_same_filter(const GstCaps *a, const GstCaps *b)
{
  return a == b || (a && b && caps_are_same(a, b));
}

} // namespace

GstPtr<GstCaps> CapsAnswers::answer(const Question &question)
{
  GstPtr<GstCaps> answer;
  std::shared_ptr<const CapsParts> allowed = recall(question, answer);
  if (answer)
    return answer;
  if (!allowed)
    allowed = std::make_shared<const CapsParts>(work_out(question));
  if (const GstCaps *filter = real_filter(question.filter))
    answer.reset(put_together(filter_parts(question.direction, *allowed, take_apart(filter))));
  else
    answer.reset(put_together(*allowed));
  remember(question, std::move(allowed), answer);
  return answer;
}

void CapsAnswers::forget()
{
  std::array<Known, 2> old;
  const std::lock_guard lock(lock_);
  std::swap(old, known_);
}

std::shared_ptr<const CapsParts> CapsAnswers::recall(const Question &question,
                                                     GstPtr<GstCaps> &answer)
{
  const std::lock_guard lock(lock_);
  Known &known = this->known(question.direction);
  if (!known.peer || known.rules != question.rules ||
      !caps_are_same(known.peer.get(), question.peer))
    return {};
  for (const Given &given : known.given)
    if (is_same_filter(given.filter.get(), real_filter(question.filter)))
      answer = given.answer;
  return known.allowed;
}

void CapsAnswers::remember(const Question &question, std::shared_ptr<const CapsParts> allowed,
                           const GstPtr<GstCaps> &answer)
{
  Given given{GstPtr<GstCaps>::share(real_filter(question.filter)), answer};
  Known old; // freed when the lock is not held
  const std::lock_guard lock(lock_);
  Known &known = this->known(question.direction);
  if (known.allowed != allowed) { // other rules, or another answer of the peer
    old = std::exchange(
        known,
        Known{question.rules, GstPtr<GstCaps>::share(question.peer), std::move(allowed), {}, 0});
    known.given.reserve(kMostFilters);
  }
  if (known.given.size() < kMostFilters) {
    known.given.push_back(std::move(given));
  } else {
    std::swap(known.given[known.next], given);
    known.next = (known.next + 1) % kMostFilters;
  }
}

} // namespace gstdrm
