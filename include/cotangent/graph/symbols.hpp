#pragma once
/// Run-time extents inside a graph: symbols, their arithmetic, and the equalities a program relies on.

#include <string>
#include <string_view>

#include <cotangent/core/extents.hpp>
#include <cotangent/core/sequence.hpp>

namespace cotangent {

/// Whether an extent is known only when the program runs.
constexpr bool has_symbol(const shape& s) {
  for (extent e : s)
    if (is_symbol(e)) return true;
  return false;
}

/// A run-time extent: an extent of an input, or arithmetic on other extents.
struct symbol {
  enum kind : unsigned char { input, sum, difference, product, quotient, greater };
  kind what = input;
  extent a = 0;  // input: the number of the input; otherwise the first operand
  extent b = 0;  // input: its axis; otherwise the second operand
  constexpr bool operator==(const symbol&) const = default;
};

/// The name of an operation, as far as it fits, in numbers.
struct short_name {
  extent words[3] = {};

  constexpr short_name() = default;
  constexpr short_name(std::string_view name) {
    for (std::size_t i = 0; i < name.size() && i < length; ++i) words[i / 8] |= extent(name[i]) << i % 8 * 8;
  }
  std::string str() const {
    std::string s;
    for (std::size_t i = 0; i < length; ++i)
      if (const char c = char(words[i / 8] >> i % 8 * 8); c != 0) s += c;
    return s;
  }
  constexpr bool operator==(const short_name&) const = default;

 private:
  static constexpr std::size_t length = 24;
};

/// Two extents that must be equal when the program runs, as an operation demands.
struct equality {
  extent a = 0, b = 0;
  short_name of;
  constexpr bool operator==(const equality&) const = default;
};

/// The value of `s`, given the values of its operands.
constexpr extent evaluate(symbol::kind k, extent a, extent b) {
  switch (k) {
    case symbol::sum: return a + b;
    case symbol::difference: return a - b;
    case symbol::product: return a * b;
    case symbol::quotient: return b == 0 ? 0 : a / b;
    case symbol::greater: return a > b ? a : b;
    default: return 0;
  }
}

/// The symbols of one graph. Equal expressions are one symbol; symbols found to be equal become one.
struct symbol_table {
  sequence<symbol> symbols;
  sequence<extent> merged_into;  // per symbol: the extent it was found equal to, or itself
  sequence<equality> equalities;

  constexpr extent add(symbol s) {
    for (std::size_t i = 0; i < symbols.size(); ++i)
      if (symbols[i] == s) return resolve(symbol_base + extent(i));
    symbols.push_back(s);
    merged_into.push_back(symbol_base + extent(symbols.size()) - 1);
    return merged_into.back();
  }

  /// The representative of an extent after all equalities found so far.
  constexpr extent resolve(extent e) const {
    while (is_symbol(e) && merged_into[std::size_t(e - symbol_base)] != e) e = merged_into[std::size_t(e - symbol_base)];
    return e;
  }

  constexpr extent combine(symbol::kind k, extent a, extent b) {
    a = resolve(a), b = resolve(b);
    if (!is_symbol(a) && !is_symbol(b)) return evaluate(k, a, b);
    if (k == symbol::product && (a == 0 || b == 0)) return 0;
    if (k == symbol::product && a == 1) return b;
    if ((k == symbol::product || k == symbol::quotient) && b == 1) return a;
    if ((k == symbol::sum || k == symbol::difference) && b == 0) return a;
    if (k == symbol::sum && a == 0) return b;
    if (k == symbol::difference && a == b) return 0;
    if (k == symbol::quotient && a == b) return 1;
    if (k == symbol::quotient && is_symbol(a)) {  // (p * b) / b
      const symbol s = symbols[std::size_t(a - symbol_base)];
      if (s.what == symbol::product && resolve(s.b) == b) return resolve(s.a);
      if (s.what == symbol::product && resolve(s.a) == b) return resolve(s.b);
    }
    if ((k == symbol::product || k == symbol::sum) && a < b) {  // commutative: one order
      const extent t = a;
      a = b, b = t;
    }
    return add({k, a, b});
  }

  /// Records that the operation `who` needs run-time extent a to be at least n: that the greater of both is a.
  constexpr void require_at_least(std::string_view who, extent a, extent n) {
    if (n > 0) equalities.push_back({add({symbol::greater, resolve(a), n}), resolve(a), who});
  }

  /// Whether a and b can be equal, as the operation `who` demands; if only the run can tell, the equality is recorded.
  template <class Name> constexpr bool unify(const Name& who, extent a, extent b) {
    a = resolve(a), b = resolve(b);
    if (a == b) return true;
    if (!is_symbol(a) && !is_symbol(b)) return false;
    equalities.push_back({a, b, short_name(who)});
    if (!is_symbol(a) || (is_symbol(b) && a < b)) {  // keep the number, or else the older symbol
      const extent t = a;
      a = b, b = t;
    }
    merged_into[std::size_t(a - symbol_base)] = b;
    return true;
  }
};

}  // namespace cotangent
