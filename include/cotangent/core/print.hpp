#pragma once
/// Printing arrays as NumPy prints them: 8 digits at most, aligned columns, summarized above 1000 elements.

#include <charconv>
#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include <cotangent/core/array.hpp>

namespace cotangent {

/// NumPy's defaults: set_printoptions(precision, threshold, edgeitems, linewidth).
struct print_style {
  int precision = 8;
  std::ptrdiff_t threshold = 1000;
  std::ptrdiff_t edge_items = 3;
  int line_width = 75;
};

/// The decimal digits d.ddd... x 10^exponent of a finite number, without its sign.
struct decimal_digits {
  std::string digits;
  int exponent;
};

inline decimal_digits parse_scientific(const char* first, const char* last) {
  decimal_digits d{{}, 0};
  for (; first != last && *first != 'e'; ++first)
    if (*first != '.') d.digits += *first;
  if (first != last) std::from_chars(first + (first[1] == '+' ? 2 : 1), last, d.exponent);
  while (d.digits.size() > 1 && d.digits.back() == '0') d.digits.pop_back();
  return d;
}

/// The fewest digits that read back as x.
template <class T> decimal_digits shortest_digits(T x) {
  char text[64];
  if constexpr (std::is_floating_point_v<T>) {
    const auto end = std::to_chars(text, text + 64, std::fabs(x), std::chars_format::scientific).ptr;
    return parse_scientific(text, end);
  } else {
    const float magnitude = std::fabs(float(x));
    for (int precision = 0;; ++precision) {
      const auto end = std::to_chars(text, text + 64, magnitude, std::chars_format::scientific, precision).ptr;
      float back = 0;
      std::from_chars(text, end, back);
      if (T(back).bits == T(magnitude).bits || precision == 8) return parse_scientific(text, end);
    }
  }
}

/// `12.5`, at most `precision` digits after the point; the point is always there.
template <class T> std::string positional_text(T x, int precision) {
  decimal_digits d = shortest_digits(x);
  if (int(d.digits.size()) - 1 - d.exponent > precision) {
    char text[512];
    std::string s(text, std::to_chars(text, text + 512, std::fabs(double(x)), std::chars_format::fixed, precision).ptr);
    while (s.back() == '0') s.pop_back();
    return s;
  }
  const int whole = d.exponent + 1;
  if (whole <= 0) return "0." + (d.digits == "0" ? std::string() : std::string(std::size_t(-whole), '0') + d.digits);
  if (int(d.digits.size()) < whole) d.digits.append(std::size_t(whole) - d.digits.size(), '0');
  return d.digits.insert(std::size_t(whole), 1, '.');
}

/// The mantissa `1.25` (the point is always there) and the exponent, with at most `precision` digits after the point.
template <class T> std::pair<std::string, int> scientific_parts(T x, int precision) {
  char text[512];
  decimal_digits d = shortest_digits(x);
  if (int(d.digits.size()) - 1 > precision)
    d = parse_scientific(text, std::to_chars(text, text + 512, std::fabs(double(x)), std::chars_format::scientific, precision).ptr);
  return {d.digits.insert(1, 1, '.'), d.exponent};
}

/// The same with exactly `precision` digits after the point; the value is rounded, not its shortest digits padded.
template <class T> std::pair<std::string, int> exact_scientific_parts(T x, int precision) {
  char text[64];
  decimal_digits d = parse_scientific(text, std::to_chars(text, text + 64, std::fabs(double(x)), std::chars_format::scientific, precision).ptr);
  d.digits.resize(std::size_t(precision) + 1, '0');
  return {d.digits.insert(1, 1, '.'), d.exponent};
}

/// `+05`: at least two digits.
inline std::string exponent_text(int e, std::size_t digits) {
  std::string s = std::to_string(e < 0 ? -e : e);
  if (s.size() < digits) s.insert(0, digits - s.size(), '0');
  return (e < 0 ? '-' : '+') + s;
}

inline std::string pad_left(std::string s, std::size_t width) {
  if (s.size() < width) s.insert(0, width - s.size(), ' ');
  return s;
}

template <class T> std::string sign_text(T x, bool plus) { return std::signbit(double(x)) ? "-" : plus ? "+" : ""; }

template <class T> std::string not_finite_text(T x, bool plus) {
  if (std::isnan(double(x))) return plus ? "+nan" : "nan";
  return sign_text(x, plus) + "inf";
}

/// From here on numbers are written with an exponent: 10 to the power of T's decimal digits, at most 1e8.
template <class T> inline constexpr double positional_limit =
    std::is_same_v<T, double> ? 1e8 : std::is_same_v<T, float> ? 1e6 : std::is_same_v<T, half> ? 1e3 : 1e2;

/// Each number as text of one width. NumPy: FloatingFormat.
template <class T> std::vector<std::string> float_words(const std::vector<T>& xs, bool plus, const print_style& style) {
  double largest = 0, smallest = 0;
  bool all_finite = true, negative_infinity = plus, any_finite = false;
  for (T element : xs) {
    const double x = std::fabs(double(element));
    if (std::isfinite(x)) {
      any_finite = true;
      if (x > largest) largest = x;
      if (x != 0 && (smallest == 0 || x < smallest)) smallest = x;
    } else {
      all_finite = false;
      if (std::isinf(x) && double(element) < 0) negative_infinity = true;
    }
  }
  using real = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const bool scientific =
      largest > 0 && (largest >= positional_limit<T> || real(smallest) < real(0.0001) || T(real(largest) / real(smallest)) > real(1000));

  std::size_t left = 0, right = 0, exponent_digits = 0, fraction = 0;
  const auto longer = [](std::size_t& a, std::size_t b) { a = a < b ? b : a; };
  for (T x : xs)
    if (std::isfinite(double(x))) {
      const std::size_t sign = sign_text(x, plus).size();
      if (scientific) {
        const auto [mantissa, e] = scientific_parts(x, style.precision);
        longer(left, sign + 1);
        longer(fraction, mantissa.size() - 2);
        longer(exponent_digits, exponent_text(e, 2).size() - 1);
      } else {
        const std::string s = positional_text(x, style.precision);
        longer(left, sign + s.find('.'));
        longer(right, s.size() - s.find('.') - 1);
      }
    }
  if (scientific && any_finite) right = exponent_digits + 2 + fraction;
  if (!all_finite) {
    const std::size_t offset = right + 1;
    if (3 > offset) longer(left, 3 - offset);
    if (3u + negative_infinity > offset) longer(left, 3u + negative_infinity - offset);
  }

  std::vector<std::string> words;
  for (T x : xs) {
    if (!std::isfinite(double(x))) words.push_back(pad_left(not_finite_text(x, plus), left + right + 1));
    else if (scientific) {
      const auto [mantissa, e] = exact_scientific_parts(x, int(fraction));
      words.push_back(pad_left(sign_text(x, plus) + mantissa[0], left) + mantissa.substr(1) + 'e' + exponent_text(e, exponent_digits));
    } else {
      const std::string s = positional_text(x, style.precision);
      const std::size_t point = s.find('.');
      words.push_back(pad_left(sign_text(x, plus) + s.substr(0, point), left) + s.substr(point) + std::string(right - (s.size() - point - 1), ' '));
    }
  }
  return words;
}

/// Each element as text. NumPy: BoolFormat, IntegerFormat, FloatingFormat, ComplexFloatingFormat.
template <class T> std::vector<std::string> element_words(const std::vector<T>& xs, const print_style& style) {
  std::vector<std::string> words;
  if constexpr (dtype_of<T> == dtype::boolean) {
    for (bool x : xs) words.push_back(x ? " True" : "False");
  } else if constexpr (is_integer(dtype_of<T>)) {
    std::size_t width = 0;
    for (T x : xs) {
      words.push_back(std::to_string(x));
      if (words.back().size() > width) width = words.back().size();
    }
    for (std::string& w : words) w = pad_left(w, width);
  } else if constexpr (is_complex(dtype_of<T>)) {
    std::vector<typename T::value_type> re, im;
    for (const T& x : xs) re.push_back(x.real()), im.push_back(x.imag());
    words = float_words(re, false, style);
    const std::vector<std::string> imaginary = float_words(im, true, style);
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::size_t end = imaginary[i].find_last_not_of(' ') + 1;
      words[i] += imaginary[i].substr(0, end) + 'j' + imaginary[i].substr(end);
    }
  } else words = float_words(xs, false, style);
  return words;
}

/// One number alone: the fewest digits that read back as it, as Python writes it.
template <class T> std::string scalar_text(const T& x, bool in_complex = false) {
  if constexpr (dtype_of<T> == dtype::boolean) return x ? "True" : "False";
  else if constexpr (is_integer(dtype_of<T>)) return std::to_string(x);
  else if constexpr (is_complex(dtype_of<T>)) {
    std::string im = scalar_text(x.imag(), true);
    if (x.real() == 0 && !std::signbit(x.real())) return im + 'j';
    if (im[0] != '-') im.insert(0, 1, '+');
    return '(' + scalar_text(x.real(), true) + im + "j)";
  } else {
    if (!std::isfinite(double(x))) return not_finite_text(x, false);
    const double magnitude = std::fabs(double(x));
    std::string s;
    if (magnitude != 0 && (magnitude < 1e-4 || magnitude >= (std::is_same_v<T, double> ? 1e16 : positional_limit<T>))) {
      const auto parts = scientific_parts(x, 99);
      s = parts.first;
      if (s.back() == '.') s.pop_back();
      return sign_text(x, false) + s + 'e' + exponent_text(parts.second, 2);
    }
    s = positional_text(x, 400);
    if (s.back() == '.') in_complex ? s.pop_back() : s.push_back('0');
    return sign_text(x, false) + s;
  }
}

/// Writes brackets and line breaks around words. NumPy: _formatArray.
struct array_printer {
  const shape& extents;
  const print_style& style;
  bool summarize;
  const std::string* next_word;

  std::ptrdiff_t edge(int axis) const { return summarize && 2 * style.edge_items < extents[axis] ? style.edge_items : 0; }

  std::string print(int axis, const std::string& indent, int width) {
    const std::ptrdiff_t n = extents[axis], leading = edge(axis), trailing = leading ? leading : n;
    std::string text, line = indent;
    const bool innermost = axis == extents.rank - 1;
    const std::string separator(std::size_t(extents.rank - axis - 1), '\n');
    const auto add = [&](const std::string& word, bool last) {
      if (!innermost) {
        text += indent + word + (last ? "" : separator);
        return;
      }
      if (int(line.size() + word.size()) > width - 1 && line.size() > indent.size()) {
        while (line.back() == ' ') line.pop_back();
        text += line + '\n';
        line = indent;
      }
      line += word;
      if (!last) line += ' ';
    };
    const auto item = [&] { return innermost ? *next_word++ : print(axis + 1, indent + ' ', width - 1); };
    for (std::ptrdiff_t i = 0; i < leading; ++i) add(item(), false);
    if (leading) add("...", false);
    for (std::ptrdiff_t i = 0; i < trailing; ++i) add(item(), i == trailing - 1);
    if (innermost) text += line;
    return '[' + text.substr(indent.size()) + ']';
  }

  /// Appends the elements that are shown, in order.
  template <class T> void collect(std::vector<T>& shown, const T* from, int axis) const {
    if (axis == extents.rank) return shown.push_back(*from);
    std::ptrdiff_t stride = 1;
    for (int k = axis + 1; k < extents.rank; ++k) stride *= extents[k];
    for (std::ptrdiff_t i = 0; i < extents[axis]; ++i) {
      if (edge(axis) && i == edge(axis)) i = extents[axis] - edge(axis);
      collect(shown, from + i * stride, axis + 1);
    }
  }
};

/// The text of row-major elements, as NumPy's str().
template <class T> std::string text_of_elements(const T* data, const shape& s, const print_style& style = {}) {
  if (!data || s.size() == 0) return "[]";
  if (s.rank == 0) return scalar_text(*data);
  array_printer printer{s, style, s.size() > style.threshold, nullptr};
  std::vector<T> shown;
  printer.collect(shown, data, 0);
  const std::vector<std::string> words = element_words(shown, style);
  printer.next_word = words.data();
  return printer.print(0, " ", style.line_width);
}

/// NumPy-like: `[[1. 2.]\n [3. 4.]]`.
template <class T, extent... E> std::ostream& operator<<(std::ostream& out, const array<T, E...>& a) {
  return out << text_of_elements(a.data(), a.shape());
}
template <class T, extent... E> std::ostream& operator<<(std::ostream& out, const view<T, E...>& v) {
  return out << text_of_elements(static_cast<const std::remove_const_t<T>*>(v.data()), v.shape());
}

}  // namespace cotangent
