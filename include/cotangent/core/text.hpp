#pragma once
/// Messages built in constant evaluation, and the diagnostic that carries one to the user.

#include <string_view>

#include <cotangent/core/dtype.hpp>
#include <cotangent/core/extents.hpp>

namespace cotangent {

/// A short constexpr string. What does not fit is cut off.
struct message {
  static constexpr int capacity = 400;
  char characters[capacity + 1] = {};
  int length = 0;

  constexpr bool empty() const { return length == 0; }
  constexpr std::string_view view() const { return {characters, std::size_t(length)}; }

  constexpr message& operator<<(char c) {
    if (length < capacity) characters[length++] = c;
    return *this;
  }
  constexpr message& operator<<(std::string_view s) {
    for (char c : s) *this << c;
    return *this;
  }
  constexpr message& operator<<(const char* s) { return *this << std::string_view(s); }
  constexpr message& operator<<(extent n) {
    if (n < 0) return *this << '-' << -n;
    if (n >= 10) *this << n / 10;
    return *this << char('0' + n % 10);
  }
  constexpr message& operator<<(int n) { return *this << extent(n); }
  constexpr message& operator<<(dtype d) { return *this << name_of(d); }
  /// Shapes print as [32,784]; run-time extents as `?`.
  constexpr message& operator<<(const shape& s) {
    *this << '[';
    for (int i = 0; i < s.rank; ++i) {
      if (i > 0) *this << ',';
      if (s[i] < 0 || s[i] >= symbol_base) *this << '?';
      else *this << s[i];
    }
    return *this << ']';
  }
};

/// A message as a template argument.
template <std::size_t N> struct text {
  char characters[N + 1] = {};
  constexpr text() = default;
  constexpr text(const char (&s)[N + 1]) {
    for (std::size_t i = 0; i != N; ++i) characters[i] = s[i];
  }
  constexpr std::string_view view() const { return {characters, N}; }
};
template <std::size_t N> text(const char (&)[N]) -> text<N - 1>;

/// A type that is nowhere defined: a compiler's error that names it shows Message.
template <text Message> struct trace_error;

}  // namespace cotangent
