#pragma once
/// einsum: sums of products of any number of operands by axis letters.

#include <cotangent/trace/functions.hpp>

namespace cotangent {

/// The letters of an operand's axes, or of the result's. What an ellipsis stands for has letters of its own, counted from the right.
struct einsum_term {
  char letters[max_rank] = {};
  int count = 0;
  int ellipsis = -1;  // before which letter it is; -1: there is none

  constexpr int find(char c) const {
    for (int i = 0; i < count; ++i)
      if (letters[i] == c) return i;
    return -1;
  }
  constexpr bool has(char c) const { return find(c) >= 0; }
  constexpr void push(char c) {
    if (count < max_rank) letters[count++] = c;
  }
  constexpr void erase(int at) {
    for (int i = at; i + 1 < count; ++i) letters[i] = letters[i + 1];
    --count;
  }
  static constexpr bool is_of_ellipsis(char c) { return c > 0 && c <= max_rank; }
  /// Puts the letters of `axes` axes in place of the ellipsis.
  constexpr void expand(int axes) {
    einsum_term r;
    for (int i = 0; i <= count; ++i) {
      for (int k = axes; i == ellipsis && k > 0; --k) r.push(char(k));
      if (i < count) r.push(letters[i]);
    }
    *this = r;
  }
};

/// Letters are axes, `->` gives the result (what an ellipsis stands for, then the letters that are there once, in alphabetical order, if absent).
template <text Subscripts> struct einsum_function {
  template <class... V> constexpr value operator()(value first, V... more) const {
    sequence<value> operands{first, more...};
    builder& b = *adopt_all(operands);
    sequence<einsum_term> terms;
    einsum_term result;
    if (!parse(b, operands, terms, result)) return first;
    dtype type = operands[0].type();
    for (value v : operands) type = promote(type, v.type());
    for (value& v : operands) v = convert(v, type);
    for (std::size_t k = 0; k < operands.size() && !b.failed(); ++k) operands[k] = without_repetitions(operands[k], terms[k]);
    if (!b.failed()) drop_repeated_ones(operands, terms);
    while (operands.size() > 1 && !b.failed()) contract_two(operands, terms, result);
    if (b.failed()) return first;
    const value r = summed(operands[0], terms[0], [&](char c) { return result.has(c); });
    return ordered(r, terms[0], result);
  }

 private:
  static constexpr message wrong() { return message{} << "einsum: " << Subscripts.view(); }

  static constexpr bool parse(builder& b, const sequence<value>& operands, sequence<einsum_term>& terms, einsum_term& result) {
    bool has_result = false;
    terms.push_back({});
    for (std::size_t i = 0; i < Subscripts.view().size(); ++i) {
      const char c = Subscripts.view()[i];
      einsum_term& t = has_result ? result : terms.back();
      if (c == '.') t.ellipsis = t.count, i += 2;
      else if (c == ',') terms.push_back({});
      else if (c == '>') has_result = true;
      else if (c != '-' && c != ' ') t.push(c);
    }
    if (terms.size() != operands.size()) {
      b.fail(wrong() << " names " << extent(terms.size()) << " operands where " << extent(operands.size()) << (operands.size() == 1 ? " is given" : " are given"));
      return false;
    }
    int most = 0;  // axes of an ellipsis
    for (std::size_t k = 0; k < terms.size(); ++k) {
      einsum_term& t = terms[k];
      const int axes = operands[k].rank() - t.count;
      if (t.ellipsis >= 0 ? axes < 0 : axes != 0) {
        b.fail(wrong() << " names " << (t.ellipsis >= 0 ? "at least " : "") << t.count << " axes for an operand of shape " << operands[k].dims());
        return false;
      }
      if (t.ellipsis < 0) continue;
      t.expand(axes);
      most = axes > most ? axes : most;
    }
    if (has_result && most > 0 && result.ellipsis < 0) b.fail(wrong() << ": the result needs the ellipsis too");
    if (has_result) result.expand(most);
    for (char c = char(most); !has_result && c > 0; --c) result.push(c);
    for (char c = 'A'; !has_result && c <= 'z'; ++c) {
      int uses = 0;
      for (const einsum_term& t : terms)
        for (int i = 0; i < t.count; ++i) uses += t.letters[i] == c;
      if (uses == 1) result.push(c);
    }
    for (int i = 0; i < result.count; ++i)
      if (result.find(result.letters[i]) != i) b.fail(wrong() << " repeats a letter in the result");
    for (int i = 0; i < result.count && !b.failed(); ++i) {
      bool there = false;
      for (const einsum_term& t : terms) there = there || t.has(result.letters[i]);
      if (!there) b.fail(wrong() << ": letter " << result.letters[i] << " of the result is in no operand");
    }
    return !b.failed();
  }

  /// The diagonal of axes of one letter.
  static constexpr value without_repetitions(value v, einsum_term& t) {
    for (int j = 1; j < t.count; ++j) {
      const int i = t.find(t.letters[j]);
      if (i == j) continue;
      if (!v.b->symbols.unify("einsum", v.dims()[i], v.dims()[j])) {
        v.b->fail(wrong() << ": axis " << t.letters[j] << " differs within " << v.dims());
        return v;
      }
      const char letter = t.letters[j];
      shape order;
      for (int k = 0; k < t.count; ++k)
        if (k != i && k != j) order.push_back(k);
      order.push_back(i), order.push_back(j);
      v = diagonal_function{0}(transpose(v, order));
      t.erase(j), t.erase(i), t.push(letter);
      j = 0;
    }
    return v;
  }
  /// Axes of an ellipsis that have one element, where another operand has more, go.
  static constexpr void drop_repeated_ones(sequence<value>& operands, sequence<einsum_term>& terms) {
    for (char c = 1; c <= max_rank; ++c) {
      bool any = false;
      for (std::size_t k = 0; k < terms.size(); ++k) any = any || (terms[k].has(c) && operands[k].dims()[terms[k].find(c)] != 1);
      for (std::size_t k = 0; any && k < terms.size(); ++k) {
        const int i = terms[k].find(c);
        if (i < 0 || operands[k].dims()[i] != 1) continue;
        operands[k] = reshape(operands[k], erase(operands[k].dims(), i));
        terms[k].erase(i);
      }
    }
  }

  /// v summed over the letters that keeps(letter) does not hold of.
  template <class Keeps> static constexpr value summed(value v, einsum_term& t, const Keeps& keeps) {
    shape axes;
    einsum_term left;
    for (int i = 0; i < t.count; ++i)
      if (keeps(t.letters[i])) left.push(t.letters[i]);
      else axes.push_back(i);
    t = left;
    return axes.rank > 0 ? reduce_sum(v, axes) : v;
  }
  /// Brings the axes named by `have` into the order of the result.
  static constexpr value ordered(value v, const einsum_term& have, const einsum_term& want) {
    shape p;
    for (int i = 0; i < want.count; ++i) p.push_back(have.find(want.letters[i]));
    return transpose(v, p);
  }

  /// Replaces the two operands whose product takes the fewest operations by it.
  static constexpr void contract_two(sequence<value>& operands, sequence<einsum_term>& terms, const einsum_term& result) {
    std::size_t p = 0, q = 1;
    double least = -1;
    for (std::size_t i = 0; i < operands.size() && operands.size() > 2; ++i)
      for (std::size_t j = i + 1; j < operands.size(); ++j) {
        const double cost = operations(operands[i], terms[i], operands[j], terms[j]);
        if (least < 0 || cost < least) least = cost, p = i, q = j;
      }
    const auto kept_by_others = [&](char c) {
      bool kept = result.has(c);
      for (std::size_t k = 0; k < terms.size(); ++k) kept = kept || (k != p && k != q && terms[k].has(c));
      return kept;
    };
    einsum_term left = terms[p], right = terms[q], made;
    value a = summed(operands[p], left, [&](char c) { return terms[q].has(c) || kept_by_others(c); });
    value b = summed(operands[q], right, [&](char c) { return terms[p].has(c) || kept_by_others(c); });
    dot_dimensions d;
    for (int i = 0; i < left.count; ++i) {
      const char letter = left.letters[i];
      const int j = right.find(letter);
      if (j < 0) continue;
      if (!a.b->symbols.unify("einsum", a.dims()[i], b.dims()[j])) {
        if (einsum_term::is_of_ellipsis(letter)) return a.b->fail(wrong() << ": axes of the ellipsis differ between " << a.dims() << " and " << b.dims());
        return a.b->fail(wrong() << ": axis " << letter << " differs between " << a.dims() << " and " << b.dims());
      }
      if (kept_by_others(letter)) d.lhs_batch.push_back(i), d.rhs_batch.push_back(j), made.push(letter);
      else d.lhs_contracted.push_back(i), d.rhs_contracted.push_back(j);
    }
    for (extent i : d.lhs_free(a.rank())) made.push(left.letters[i]);
    for (extent i : d.rhs_free(b.rank())) made.push(right.letters[i]);
    if (a.rank() + b.rank() - d.lhs_batch.rank - 2 * d.lhs_contracted.rank > max_rank)
      return a.b->fail(wrong() << ": a product has more than " << max_rank << " axes, of " << a.dims() << " and " << b.dims());
    operands[p] = dot_general(a, b, d), terms[p] = made;
    for (std::size_t k = q; k + 1 < operands.size(); ++k) operands[k] = operands[k + 1], terms[k] = terms[k + 1];
    operands.pop_back(), terms.pop_back();
  }
  static constexpr double operations(value a, const einsum_term& ta, value b, const einsum_term& tb) {
    constexpr double at_run_time = 1024;
    double n = 1;
    for (int i = 0; i < ta.count; ++i) n *= is_symbol(a.dims()[i]) ? at_run_time : double(a.dims()[i]);
    for (int i = 0; i < tb.count; ++i)
      if (!ta.has(tb.letters[i])) n *= is_symbol(b.dims()[i]) ? at_run_time : double(b.dims()[i]);
    return n;
  }
};

}  // namespace cotangent
