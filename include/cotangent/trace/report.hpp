#pragma once
/// A message as a compile error.

#include <utility>

#include <cotangent/core/text.hpp>

namespace cotangent {

#ifdef __clang__
/// The longest string in a template argument that Clang shows whole.
inline constexpr int shown_characters = 34;

/// Where line `k` of a message begins, if lines break at spaces.
constexpr int line_start(const message& m, int k) {
  int start = 0;
  for (; k > 0 && start < m.length; --k) {
    int end = start + shown_characters < m.length ? start + shown_characters : m.length;
    for (int i = end; i > start && end < m.length; --i)
      if (m.characters[i] == ' ') {
        end = i;
        break;
      }
    start = m.characters[end] == ' ' ? end + 1 : end;
  }
  return start;
}
constexpr int line_count(const message& m) {
  int n = 0;
  while (line_start(m, n) < m.length) ++n;
  return n;
}
template <auto Produce, int K> constexpr auto line_of() {
  constexpr message m = Produce();
  constexpr int start = line_start(m, K), end = line_start(m, K + 1);
  constexpr int length = end - start - (end < m.length && m.characters[end - 1] == ' ');
  text<std::size_t(length)> line;
  for (int i = 0; i < length; ++i) line.characters[i] = m.characters[start + i];
  line.characters[length] = '\0';  // without this write Clang shows numbers
  return line;
}

template <text... Lines> inline constexpr bool words = sizeof...(Lines) == 0;
/// Shows the lines. A static_assert in a function, unlike one in a class, leaves its callers constant, so that one
/// mistake gives one error.
template <text... Lines> constexpr void report_lines() {
  static_assert(words<Lines...>, "cotangent: the function cannot be compiled; words<...> says why");
}
template <auto Produce> using lines_of = std::make_integer_sequence<int, line_count(Produce())>;

/// Makes the message that `Produce` returns the compile error, if there is one. Always true: in a static_assert it is
/// instantiated at once. Clang names five places between an error and the user's line: no call may be added here.
template <auto Produce, int... K> constexpr bool report(std::integer_sequence<int, K...>) {
  report_lines<line_of<Produce, K>()...>();
  return true;
}
#else
/// The error stands in a class, which leaves the functions that name it constant, so that one mistake gives one error.
template <text Message> struct shown_error : trace_error<Message> {};

template <auto Produce> using lines_of = std::integral_constant<int, Produce().length>;

template <auto Produce, int Length> constexpr bool report(std::integral_constant<int, Length>) {
  if constexpr (Length > 0) {
    constexpr auto words = [] {
      constexpr message from = Produce();
      text<std::size_t(Length)> to;
      for (int i = 0; i < Length; ++i) to.characters[i] = from.characters[i];
      return to;
    }();
    static_cast<void>(sizeof(shown_error<words>));
  }
  return true;
}
#endif

}  // namespace cotangent
