// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace gstdrm {

// Same order and meaning as GstDrmError in the C API; a test keeps the two in step.
enum class ErrorCode {
  Format,
  Caps,
  Layout,
  Device,
  Allocation,
  Import,
  Sync,
  Conflict,
  Unsupported,
};

// What failed, why, and what to try, in words for a person; sys_errno is 0 where no system call was
// involved.
struct Error {
  ErrorCode code{};
  std::string message;
  int sys_errno = 0;
};

// Either a value or an Error. "Nothing in common" is a value (an empty set), never an Error.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {} // NOLINT(google-explicit-constructor)
  Result(Error error)
      : state_(std::in_place_index<1>, std::move(error)) {} // NOLINT(google-explicit-constructor)

  explicit operator bool() const noexcept { return state_.index() == 0; }
  T &value() & { return std::get<0>(state_); }
  const T &value() const & { return std::get<0>(state_); }
  T &&value() && { return std::get<0>(std::move(state_)); }
  T *operator->() { return &value(); }
  const T *operator->() const { return &value(); }
  T &operator*() & { return value(); }
  const T &operator*() const & { return value(); }
  T &&operator*() && { return std::get<0>(std::move(state_)); }
  const Error &error() const { return std::get<1>(state_); }

private:
  std::variant<T, Error> state_;
};

template <> class [[nodiscard]] Result<void> {
public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {} // NOLINT(google-explicit-constructor)

  explicit operator bool() const noexcept { return !error_.has_value(); }
  const Error &error() const { return *error_; }

private:
  std::optional<Error> error_;
};

} // namespace gstdrm
