#pragma once
/// NumPy's functions over untyped values: promotion, broadcasting, reductions, shapes, products, indexing.
/// Each is written once here; trace/operations.hpp gives it types.

#include <algorithm>

#include <cotangent/primitives/dense.hpp>
#include <cotangent/primitives/indexing.hpp>

namespace cotangent {

/// x as floating point: integers and bool become float32 (int64: float64, so that no digit is lost needlessly).
constexpr value inexact(value x) {
  if (is_floating(x.type()) || is_complex(x.type())) return x;
  return convert(x, x.type() == dtype::int64 || x.type() == dtype::uint64 ? dtype::float64 : dtype::float32);
}

/// x with the extents of `dims`, which may have more axes on the left or larger ones where x has extent 1.
constexpr value broadcast_to(value x, const shape& dims) {
  if (x.dims() == dims) return x;
  if (is_constant(x)) return constant_from_bits(*x.b, x.type(), dims, x.get().bits);
  if (x.rank() > dims.rank) {
    x.b->fail(message{} << "broadcast_to: shape " << x.dims() << " has more axes than " << dims);
    return x;
  }
  return broadcast_in_dim(x, dims, axes_from(dims.rank - x.rank(), x.rank()));
}

/// The shape both broadcast to (NumPy's rule).
constexpr shape broadcast_shape(std::string_view who, value x, value y) {
  const shape a = x.dims(), b = y.dims();
  symbol_table& s = (x.b->level >= y.b->level ? x.b : y.b)->symbols;
  shape r;
  const int rank = a.rank > b.rank ? a.rank : b.rank;
  for (int i = 0; i < rank; ++i) {
    const int ia = i - (rank - a.rank), ib = i - (rank - b.rank);
    if (ia < 0) r.push_back(b[ib]);
    else if (ib < 0 || b[ib] == 1) r.push_back(a[ia]);
    else if (a[ia] == 1) r.push_back(b[ib]);
    else if (s.unify(who, a[ia], b[ib])) r.push_back(s.resolve(a[ia]));
    else {
      x.b->fail(message{} << who << ": shapes " << a << " and " << b << " do not broadcast");
      y.b->fail(x.b->g.error);
      return a;
    }
  }
  return r;
}

/// Brings operands to the innermost trace among them.
constexpr void adopt_pair(value& a, value& b) {
  builder* inner = a.b->level >= b.b->level ? a.b : b.b;
  a = inner->adopt(a), b = inner->adopt(b);
}

/// Whether the shapes are equal, or may be when the program runs.
constexpr bool same_shape(std::string_view who, value a, value b) {
  symbol_table& s = (a.b->level >= b.b->level ? a.b : b.b)->symbols;
  bool same = a.rank() == b.rank();
  for (int i = 0; same && i < a.rank(); ++i) same = s.unify(who, a.dims()[i], b.dims()[i]);
  return same;
}

/// Promotes dtypes and broadcasts shapes of both.
constexpr void match(std::string_view who, value& a, value& b) {
  adopt_pair(a, b);
  const node &x = a.get(), &y = b.get();
  if (x.type == y.type && x.dims == y.dims && a.b->symbols.symbols.empty()) return;
  const dtype t = promote(a.type(), b.type());
  if (a.type() != t) a = convert(a, t);
  if (b.type() != t) b = convert(b, t);
  const shape dims = broadcast_shape(who, a, b);
  if (a.b->failed()) return;
  a = broadcast_to(a, dims), b = broadcast_to(b, dims);
}

/// The same for several values.
constexpr void match_all(std::string_view who, sequence<value>& all) {
  for (int pass = 0; pass < 2; ++pass)  // after the first one the first value has the shape of all
    for (std::size_t k = 1; k < all.size() && !all[0].b->failed(); ++k) match(who, all[0], all[k]);
}

/// A primitive of two operands with promotion and broadcasting.
template <value (*Op)(value, value), class P> struct binary_function {
  constexpr value operator()(value a, value b) const {
    match(P::name, a, b);
    if (a.type() == dtype::boolean && !a.b->failed()) {  // as NumPy: + and the maximum are or, * and the minimum are and; others count
      if (primitive_of<P>.id == primitive_of<add_p>.id || primitive_of<P>.id == primitive_of<max_p>.id) return logical_or(a, b);
      if (primitive_of<P>.id == primitive_of<mul_p>.id || primitive_of<P>.id == primitive_of<min_p>.id) return logical_and(a, b);
      if (primitive_of<P>.id == primitive_of<sub_p>.id || primitive_of<P>.id == primitive_of<rem_p>.id || primitive_of<P>.id == primitive_of<div_p>.id)
        a = convert(a, dtype::int32), b = convert(b, dtype::int32);
    }
    return Op(a, b);
  }
};
/// The same, in floating point.
template <value (*Op)(value, value), class P> struct inexact_binary_function {
  constexpr value operator()(value a, value b) const {
    match(P::name, a, b);
    return Op(inexact(a), inexact(b));
  }
};
template <value (*Op)(value)> struct unary_function {
  constexpr value operator()(value a) const { return Op(a); }
};
template <value (*Op)(value)> struct inexact_unary_function {
  constexpr value operator()(value a) const { return Op(inexact(a)); }
};

template <value (*Op)(value, value)> struct pair_function {
  constexpr value operator()(value a, value b) const { return Op(a, b); }
};
/// A logical operation on the truth of its operands (not zero).
template <value (*Op)(value, value)> struct truth_function {
  constexpr value operator()(value a, value b) const {
    if (a.type() != dtype::boolean) a = ne(a, zeros_like(a));
    if (b.type() != dtype::boolean) b = ne(b, zeros_like(b));
    match("logic", a, b);
    return Op(a, b);
  }
};

/// a % b with the sign of b, as NumPy's remainder.
constexpr value floor_mod(value a, value b) {
  const value r = rem(a, b), zero = zeros_like(r);
  const value differs = logical_and(ne(lt(r, zero), lt(b, zero)), ne(r, zero));
  return select(differs, r + b, r);
}
/// The exact quotient rounded down: of floating numbers by way of the remainder, as a rounded quotient may be a whole number too large,
/// or too small.
constexpr value floor_divide(value a, value b) {
  if (is_floating(a.type())) {
    const value r = rem(a, b), zero = zeros_like(r);
    const value whole = div(select(eq(b, zero), a, a - r), b);
    const value down = logical_and(ne(r, zero), ne(lt(r, zero), lt(b, zero)));
    return round(select(down, whole - full_like(whole, 1), whole));
  }
  const value q = div(a, b), zero = zeros_like(q);
  const value inexact_negative = logical_and(ne(mul(q, b), a), ne(lt(a, zero), lt(b, zero)));
  return select(inexact_negative, q - full_like(q, 1), q);
}
constexpr value logaddexp(value a, value b) {
  if (!is_complex(a.type())) return emit<logaddexp_p>({a, b});
  const value top = max(a, b), delta = select(eq(a, b), zeros_like(a), a - b);
  return select(eq(a, b), top + full_like(top, 0.693147180559945309417), top + log1p(exp(-abs(delta))));
}
constexpr value is_nan(value x) { return ne(x, x); }
constexpr value are_finite(value x) { return is_complex(x.type()) ? logical_and(is_finite(real(x)), is_finite(imag(x))) : is_finite(x); }
constexpr value square(value x) { return integer_pow(x, 2); }
constexpr value angle(value z) { return atan2(imag(z), real(z)); }
constexpr value sign_of(value x) { return is_complex(x.type()) ? direction(x, abs(x)) : sign(x); }
constexpr value reciprocal(value x) { return 1.0 / x; }
constexpr value signbit(value x) { return lt(copysign(full_like(x, 1), x), zeros_like(x)); }
constexpr value relu(value x) { return max(x, zeros_like(x)); }

/// Axes of a reduction: a list of axes, negative from the end; the empty list means all.
struct reduction_axes {
  shape axes;
  bool all = true;
  bool keepdims = false;

  constexpr shape of(value x, std::string_view who) const {
    if (all) return axes_from(0, x.rank());
    shape r;
    for (int i = 0; i < x.rank(); ++i)
      if (axes.contains(i) || axes.contains(i - x.rank())) r.push_back(i);
    for (extent a : axes)
      if (a >= x.rank() || a < -x.rank())
        x.b->fail(message{} << who << ": axis " << a << " is out of range for rank " << x.rank() << " (" << x.dims() << ")");
    for (int i = 0; i < axes.rank; ++i)
      for (int j = 0; j < i && !x.b->failed(); ++j)
        if (axes[i] == axes[j] || axes[i] == axes[j] + x.rank() || axes[i] == axes[j] - x.rank())
          x.b->fail(message{} << who << ": axes " << axes[j] << " and " << axes[i] << " of " << x.dims() << " are the same");
    return r;
  }
  constexpr value kept(value r, value x, const shape& reduced) const {
    return keepdims ? spread(r, x, reduced, true) : r;
  }
  /// r with its reduced axes back, as extent 1 or as x's extents.
  static constexpr value spread(value r, value x, const shape& reduced, bool ones) {
    shape dims = x.dims();
    if (ones)
      for (extent i : reduced) dims[int(i)] = 1;
    return broadcast_in_dim(r, dims, complement(reduced, x.rank()));
  }
};

/// The number of elements that are reduced, less some, as a scalar of x's dtype.
constexpr value reduced_count(value x, const shape& axes, extent less = 0) {
  extent n = 1;
  for (extent i : axes) n = x.b->symbols.combine(symbol::product, n, x.dims()[int(i)]);
  if (!is_symbol(n)) return constant(*x.b, x.type(), {}, double(n - less));
  const value all = reduce_sum(broadcast_in_dim(constant(*x.b, x.type(), {}, 1), {n}, {}), {0});
  return less == 0 ? all : all - full_like(all, double(less));
}

template <value (*Op)(value, const shape&), class P> struct reduction_function {
  reduction_axes axes;
  constexpr value operator()(value x) const {
    constexpr bool has_form_of_bool = requires { P::of_bool; };
    if (P::kind == role::reduction && !is_boolean_reduction && !has_form_of_bool && size_of(x.type()) < 4 && !is_floating(x.type()))
      x = convert(x, is_unsigned_integer(x.type()) ? dtype::uint32 : dtype::int32);
    if (is_boolean_reduction && x.type() != dtype::boolean) x = ne(x, zeros_like(x));
    const shape a = axes.of(x, P::name);
    if (x.b->failed()) return x;
    if (P::id_needs_elements)
      for (extent i : a)
        if (x.dims()[int(i)] == 0) x.b->fail(message{} << P::name << ": no element to choose from along axis " << i << " of " << x.dims());
    if constexpr (has_form_of_bool)
      if (x.type() == dtype::boolean) return axes.kept(P::of_bool(x, a), x, a);
    return axes.kept(Op(x, a), x, a);
  }
  static constexpr bool is_boolean_reduction = P::boolean;
};
/// How reductions are called by users, and what they need.
struct sum_name { static constexpr std::string_view name = "sum"; static constexpr role kind = role::reduction; static constexpr bool boolean = false, id_needs_elements = false; };
struct prod_name : sum_name { static constexpr std::string_view name = "prod"; };
struct max_name : sum_name { static constexpr std::string_view name = "max"; static constexpr bool id_needs_elements = true; static constexpr auto of_bool = &reduce_or; };
struct min_name : max_name { static constexpr std::string_view name = "min"; static constexpr auto of_bool = &reduce_and; };
struct any_name : sum_name { static constexpr std::string_view name = "any"; static constexpr bool boolean = true; };
struct all_name : any_name { static constexpr std::string_view name = "all"; };

struct mean_function {
  reduction_axes axes;
  constexpr value operator()(value x) const {
    x = inexact(x);
    const shape a = axes.of(x, "mean");
    if (x.b->failed()) return x;
    const value s = reduce_sum(x, a);
    return axes.kept(s / broadcast_to(reduced_count(x, a), s.dims()), x, a);
  }
};
struct variance_function {
  reduction_axes axes;
  bool root = false;
  extent ddof = 0;
  constexpr value operator()(value x) const {
    x = inexact(x);
    const shape a = axes.of(x, "variance");
    if (x.b->failed()) return x;
    const value n = reduced_count(x, a), s = reduce_sum(x, a);
    const value centered = x - reduction_axes::spread(s / broadcast_to(n, s.dims()), x, a, false);
    const value squares = reduce_sum(squared_modulus(centered), a), v = squares / broadcast_to(real(reduced_count(x, a, ddof)), s.dims());
    return axes.kept(root ? sqrt(v) : v, x, a);
  }
};
/// log of the sum of exponentials, shifted by the maximum, which is a constant for the derivative.
struct logsumexp_function {
  reduction_axes axes;
  constexpr value operator()(value x) const {
    x = inexact(x);
    const shape a = axes.of(x, "logsumexp");
    if (x.b->failed()) return x;
    value top = reduce_max(x, a);
    top = stop_gradient(select(is_finite(top), top, zeros_like(top)));
    const value s = reduce_sum(exp(x - reduction_axes::spread(top, x, a, false)), a);
    return axes.kept(log(s) + top, x, a);
  }
};
struct arg_function {
  bool largest = true, all = true, keepdims = false;
  int axis = 0;
  constexpr value operator()(value x) const {
    value v = x;
    int k = axis;
    if (all) {
      extent n = 1;
      for (extent e : x.dims()) n = x.b->symbols.combine(symbol::product, n, e);
      v = reshape(x, {n}), k = 0;
    }
    if (k < -v.rank() || k >= v.rank()) {
      x.b->fail(message{} << (largest ? "argmax" : "argmin") << ": axis " << axis << " is out of range for rank " << x.rank() << " (" << x.dims() << ")");
      return x;
    }
    if (k < 0) k += v.rank();
    const value r = largest ? argmax(v, k) : argmin(v, k);
    return keepdims ? reduction_axes::spread(r, v, {k}, true) : r;
  }
};
/// `axis`, counted from the start; fails if there is no such axis among `rank`.
constexpr int checked_axis(value x, std::string_view who, extent axis, int rank) {
  if (axis < -rank || axis >= rank) {
    x.b->fail(message{} << who << ": axis " << axis << " is out of range for rank " << rank << " (" << x.dims() << ")");
    return 0;
  }
  return int(axis < 0 ? axis + rank : axis);
}

template <value (*Op)(value, int, bool), class P> struct cumulative_function {
  int axis = 0;
  bool reverse = false;
  constexpr value operator()(value x) const {
    const int k = checked_axis(x, P::name, axis, x.rank());
    return x.b->failed() ? x : Op(x.type() == dtype::boolean ? convert(x, dtype::int32) : x, k, reverse);
  }
};

struct bit_cast_function {
  dtype type;
  constexpr value operator()(value x) const { return bit_cast(x, type); }
};
struct astype_function {
  dtype to;
  constexpr value operator()(value x) const {
    if (to == dtype::boolean && x.type() != dtype::boolean) return ne(x, zeros_like(x));
    return convert(x, to);
  }
};
struct reshape_function {
  shape dims;
  constexpr value operator()(value x) const {
    shape to = dims;
    extent all = 1, rest = 1;
    int unknown = -1, unknowns = 0;
    for (extent e : x.dims()) all = x.b->symbols.combine(symbol::product, all, e);
    for (int i = 0; i < to.rank; ++i)
      if (to[i] == dyn) unknown = i, ++unknowns;
      else rest *= to[i];
    if (unknowns > 1) x.b->fail(message{} << "reshape: " << dims << " leaves more than one extent to be computed");
    else if (unknown >= 0) {
      if (rest == 0 || (!is_symbol(all) && all % rest != 0))
        x.b->fail(message{} << "reshape: " << x.dims() << " has " << all << " elements, which do not fill " << dims);
      else to[unknown] = x.b->symbols.combine(symbol::quotient, all, rest);
    }
    return x.b->failed() ? x : reshape(x, to);
  }
};
struct ravel_function {
  constexpr value operator()(value x) const { return reshape_function{{dyn}}(x); }
};
struct transpose_function {
  shape permutation;
  bool reversed = false;
  constexpr value operator()(value x) const {
    shape p;
    if (reversed)
      for (int i = x.rank(); i-- > 0;) p.push_back(i);
    else
      for (extent a : permutation) p.push_back(checked_axis(x, "transpose", a, x.rank()));
    for (int i = 0; i < x.rank(); ++i)
      if (p.rank != x.rank() || !p.contains(i)) {
        x.b->fail(message{} << "transpose: " << p << " is not a permutation of the axes of " << x.dims());
        return x;
      }
    return transpose(x, p);
  }
};
struct expand_dims_function {
  int axis;
  constexpr value operator()(value x) const {
    const int k = checked_axis(x, "expand_dims", axis, x.rank() + 1);
    if (x.rank() == max_rank) x.b->fail(message{} << "expand_dims: " << x.dims() << " has the largest rank already");
    if (x.b->failed()) return x;
    return broadcast_in_dim(x, insert(x.dims(), k, 1), erase(axes_from(0, x.rank() + 1), k));
  }
};
struct triangle_function {
  bool lower;
  int diagonal;
  constexpr value operator()(value x) const {
    const int n = x.rank();
    if (n < 2) x.b->fail(message{} << (lower ? "tril" : "triu") << ": matrices [..., m, n] are needed, got " << x.dims());
    if (x.b->failed()) return x;
    value row = iota(*x.b, dtype::int32, x.dims(), n - 2);
    const value column = iota(*x.b, dtype::int32, x.dims(), n - 1);
    if (diagonal != 0) row = row + constant(*x.b, dtype::int32, x.dims(), diagonal);
    return select(lower ? le(column, row) : ge(column, row), x, zeros_like(x));
  }
};
struct squeeze_function {
  shape axes;
  constexpr value operator()(value x) const {
    shape drop, dims;
    for (extent a : axes) drop.push_back(checked_axis(x, "squeeze", a, x.rank()));
    for (int i = 0; i < x.rank(); ++i) {
      if (drop.contains(i) && x.dims()[i] != 1)
        x.b->fail(message{} << "squeeze: axis " << i << " of " << x.dims() << " has not extent 1");
      if (!drop.contains(i) && !(axes.rank == 0 && x.dims()[i] == 1)) dims.push_back(x.dims()[i]);
    }
    return x.b->failed() ? x : reshape(x, dims);
  }
};
struct broadcast_to_function {
  shape dims;
  constexpr value operator()(value x) const { return broadcast_to(x, dims); }
};
struct flip_function {
  shape axes;
  bool all = false;
  constexpr value operator()(value x) const {
    if (all) return reverse_axes(x, axes_from(0, x.rank()));
    shape a;
    for (extent k : axes) a.push_back(checked_axis(x, "flip", k, x.rank()));
    return reverse_axes(x, a);
  }
};
struct concatenate_function {
  int axis;
  bool stacked = false;
  template <class... V> constexpr value operator()(V... v) const {
    sequence<value> parts{v...};
    dtype t = parts[0].type();
    for (value p : parts) t = promote(t, p.type());
    const value first = parts[0];
    const int k = checked_axis(first, stacked ? "stack" : "concatenate", axis, first.rank() + (stacked ? 1 : 0));
    for (value& p : parts) {
      if (stacked && !same_shape("stack", p, first)) first.b->fail(message{} << "stack: shapes " << first.dims() << " and " << p.dims() << " differ");
      if (first.b->failed()) return first;
      p = convert(p, t);
      if (stacked) p = expand_dims_function{k}(p);
    }
    return parts[0].b->failed() ? parts[0] : concatenate(parts, k);
  }
};
/// The end of a range that goes as far as its axis.
inline constexpr extent open_end = extent(1) << 40;
struct slice_bounds {
  extent first = 0, last = 0, step = 1;
  bool full = true, index = false;
};
/// What bounds of the leading axes name of x, with NumPy's rules for negative numbers.
struct slice_window {
  shape starts, sizes, strides;  // per axis of x
  shape flipped;                 // axes that are read from the end
  shape dropped;                 // the extents without those of axes at an index

  /// The trace fails, in the name of `who`, if the bounds do not fit x.
  static constexpr slice_window of(std::string_view who, value x, const slice_bounds* bounds, int count) {
    slice_window w;
    if (count > x.rank()) {
      x.b->fail(message{} << who << ": " << count << " ranges for rank " << x.rank() << " (" << x.dims() << ")");
      return w;
    }
    for (int i = 0; i < x.rank() && !x.b->failed(); ++i) w.add_axis(who, x, i, i < count ? bounds[i] : slice_bounds{});
    return w;
  }

 private:
  constexpr void add_axis(std::string_view who, value x, int i, const slice_bounds& r) {
    const extent n = x.dims()[i];
    if (r.full) {
      starts.push_back(0), sizes.push_back(n), strides.push_back(1), dropped.push_back(n);
      return;
    }
    if (r.step == 0) return x.b->fail(message{} << who << ": the step of axis " << i << " of " << x.dims() << " is 0");
    if (is_symbol(n) && r.step == 1 && r.first >= 0 && (r.last < 0 || r.last == open_end)) {
      const extent left_out = r.first - (r.last < 0 ? r.last : 0);
      x.b->symbols.require_at_least(who, n, left_out);
      starts.push_back(r.first), sizes.push_back(x.b->symbols.combine(symbol::difference, n, left_out)), strides.push_back(1), dropped.push_back(sizes[i]);
      return;
    }
    if (is_symbol(n) && (r.first < 0 || r.last < 0 || r.last == open_end || r.step < 0))
      return x.b->fail(message{} << who << ": a range counted from the end of axis " << i << " of " << x.dims() << ", whose extent is known at run time only");
    if (r.index && (r.first < -n || r.first >= n)) return x.b->fail(message{} << "index: " << r.first << " is out of range for axis " << i << " of " << x.dims());
    const auto wrapped = [&](extent e, extent low, extent high) {
      if (e < 0) e += n;
      return e < low ? low : e > high && !is_symbol(n) ? high : e;
    };
    if (r.step > 0) {
      const extent a = wrapped(r.first, 0, n), b = wrapped(r.last, 0, n);
      const extent size = b > a ? (b - a + r.step - 1) / r.step : 0;
      starts.push_back(a), sizes.push_back(size), strides.push_back(r.step);
    } else {
      const extent a = wrapped(r.first, -1, n - 1), b = r.last < -n || r.last == open_end ? -1 : wrapped(r.last, -1, n - 1);
      const extent size = a > b ? (a - b - r.step - 1) / -r.step : 0;
      starts.push_back(size > 0 ? a + (size - 1) * r.step : 0), sizes.push_back(size), strides.push_back(-r.step);
      flipped.push_back(i);
    }
    if (!r.index) dropped.push_back(sizes[i]);
  }
};
/// x[first:last:step] per axis.
struct slice_function {
  slice_bounds bounds[max_rank] = {};
  int count = 0;
  constexpr value operator()(value x) const {
    const slice_window w = slice_window::of("slice", x, bounds, count);
    if (x.b->failed()) return x;
    value r = slice(x, w.starts, w.sizes, w.strides);
    if (w.flipped.rank) r = reverse_axes(r, w.flipped);
    return w.dropped.rank == x.rank() ? r : reshape(r, w.dropped);
  }
};
struct pad_function {
  shape low, high;
  constexpr value operator()(value x, value padding) const {
    if (low.rank != x.rank() || high.rank != x.rank()) {
      x.b->fail(message{} << "pad: low " << low << " and high " << high << " must have one entry per axis of " << x.dims());
      return x;
    }
    return pad(x, convert(padding, x.type()), low, high, filled(x.rank(), 0));
  }
};
struct tile_function {
  shape times;
  constexpr value operator()(value x) const {
    shape own = x.dims(), reps = times, wide, axes, dims;
    while (own.rank < reps.rank) own = insert(own, 0, 1);
    while (reps.rank < own.rank) reps = insert(reps, 0, 1);
    for (int i = 0; i < own.rank; ++i) {
      wide.push_back(reps[i]), axes.push_back(wide.rank), wide.push_back(own[i]);
      dims.push_back(x.b->symbols.combine(symbol::product, reps[i], own[i]));
    }
    return reshape(broadcast_in_dim(reshape(x, own), wide, axes), dims);
  }
};
struct repeat_function {
  extent times;
  int axis;
  constexpr value operator()(value x) const {
    const int k = checked_axis(x, "repeat", axis, x.rank());
    shape wide = insert(x.dims(), k + 1, times), dims = x.dims();
    dims[k] = x.b->symbols.combine(symbol::product, dims[k], times);
    return reshape(broadcast_in_dim(x, wide, erase(axes_from(0, wide.rank), k + 1)), dims);
  }
};

/// Broadcasts all but the last two axes of both to `n` batch axes. False, and an error, if they do not broadcast.
constexpr bool broadcast_batch(std::string_view who, value& a, value& b, int n) {
  const auto extent_at = [n](value v, int i) {
    const int at = i - (n - (v.rank() - 2));
    return at < 0 ? 1 : v.dims()[at];
  };
  shape batch;
  for (int i = 0; i < n; ++i) {
    const extent ea = extent_at(a, i), eb = extent_at(b, i);
    if (ea != 1 && eb != 1 && !a.b->symbols.unify(who, ea, eb)) {
      a.b->fail(message{} << who << ": batch axes of " << a.dims() << " and " << b.dims() << " do not broadcast");
      return false;
    }
    batch.push_back(ea == 1 ? eb : ea);
  }
  const auto widen = [&](value v) {
    shape dims = batch;
    for (int i = v.rank() - 2; i < v.rank(); ++i) dims.push_back(v.dims()[i]);
    return broadcast_to(v, dims);
  };
  a = widen(a), b = widen(b);
  return true;
}
/// NumPy's matmul: 1-D operands are vectors, leading axes broadcast as batch axes.
constexpr value matmul(value a, value b) {
  adopt_pair(a, b);
  const dtype t = promote(a.type(), b.type());
  a = convert(a, t), b = convert(b, t);
  const int ra = a.rank(), rb = b.rank();
  if (ra == 0 || rb == 0) {
    a.b->fail(message{} << "matmul: operands must have at least one axis, got " << a.dims() << " x " << b.dims());
    return a;
  }
  const int ka = ra - 1, kb = rb == 1 ? 0 : rb - 2;
  if (!a.b->symbols.unify("matmul", a.dims()[ka], b.dims()[kb])) {
    a.b->fail(message{} << "matmul: inner dimensions differ: " << a.dims() << " x " << b.dims());
    return a;
  }
  const int batch_a = ra > 2 ? ra - 2 : 0, batch_b = rb > 2 ? rb - 2 : 0;
  if (batch_b == 0) return dot_general(a, b, {{}, {}, {ka}, {kb}});
  if (ra == 1) return dot_general(b, a, {{}, {}, {kb}, {0}});
  const int n = batch_a > batch_b ? batch_a : batch_b;
  if (!broadcast_batch("matmul", a, b, n)) return a;
  return dot_general(a, b, {axes_from(0, n), axes_from(0, n), {a.rank() - 1}, {n}});
}
/// NumPy's dot: contracts the last axis of a with the last but one of b (its only one if b is a vector).
constexpr value dot(value a, value b) {
  adopt_pair(a, b);
  const dtype t = promote(a.type(), b.type());
  a = convert(a, t), b = convert(b, t);
  if (a.rank() == 0 || b.rank() == 0) {
    match("dot", a, b);
    return a.b->failed() ? a : mul(a, b);
  }
  const int kb = b.rank() == 1 ? 0 : b.rank() - 2;
  if (!a.b->symbols.unify("dot", a.dims()[a.rank() - 1], b.dims()[kb])) {
    a.b->fail(message{} << "dot: inner dimensions differ: " << a.dims() << " x " << b.dims());
    return a;
  }
  return dot_general(a, b, {{}, {}, {a.rank() - 1}, {kb}});
}
struct tensordot_function {
  int axes;
  constexpr value operator()(value a, value b) const {
    adopt_pair(a, b);
    const dtype t = promote(a.type(), b.type());
    a = convert(a, t), b = convert(b, t);
    bool fits = a.rank() >= axes && b.rank() >= axes;
    for (int i = 0; fits && i < axes; ++i) fits = a.b->symbols.unify("tensordot", a.dims()[a.rank() - axes + i], b.dims()[i]);
    if (!fits) {
      a.b->fail(message{} << "tensordot: the last " << axes << " axes of " << a.dims() << " are not the first of " << b.dims());
      return a;
    }
    return dot_general(a, b, {{}, {}, axes_from(a.rank() - axes, axes), axes_from(0, axes)});
  }
};
constexpr value outer(value a, value b) {
  a = ravel_function{}(a), b = ravel_function{}(b);
  adopt_pair(a, b);
  const dtype t = promote(a.type(), b.type());
  const shape dims{a.dims()[0], b.dims()[0]};
  return broadcast_in_dim(convert(a, t), dims, {0}) * broadcast_in_dim(convert(b, t), dims, {1});
}

constexpr value inner(value a, value b) {
  adopt_pair(a, b);
  const dtype t = promote(a.type(), b.type());
  a = convert(a, t), b = convert(b, t);
  if (a.rank() == 0 || b.rank() == 0 || !a.b->symbols.unify("inner", a.dims()[a.rank() - 1], b.dims()[b.rank() - 1])) {
    a.b->fail(message{} << "inner: the last axes of " << a.dims() << " and " << b.dims() << " differ");
    return a;
  }
  return dot_general(a, b, {{}, {}, {a.rank() - 1}, {b.rank() - 1}});
}
constexpr value vdot(value a, value b) { return inner(ravel_function{}(conj(a)), ravel_function{}(b)); }

/// Vector products of the last axes; the others broadcast.
constexpr value cross(value a, value b) {
  adopt_pair(a, b);
  for (value v : {a, b})
    if (v.rank() == 0 || !v.b->symbols.unify("cross", v.dims()[v.rank() - 1], 3))
      v.b->fail(message{} << "cross: the last axes of " << a.dims() << " and " << b.dims() << " must have extent 3");
  if (a.type() == dtype::boolean) a = convert(a, dtype::int32);
  if (!a.b->failed()) match("cross", a, b);
  if (a.b->failed()) return a;
  const int last = a.rank() - 1;
  const auto part = [last](value v, extent i) {
    shape start = filled(last + 1, 0), size = v.dims();
    start[last] = i, size[last] = 1;
    return slice(v, start, size, filled(last + 1, 1));
  };
  const auto component = [&](extent i, extent j) { return part(a, i) * part(b, j) - part(a, j) * part(b, i); };
  return concatenate({component(1, 2), component(2, 0), component(0, 1)}, last);
}
/// Every element of a times b, as blocks; the operand of lower rank gets axes of extent 1 in front.
constexpr value kron(value a, value b) {
  adopt_pair(a, b);
  const int rank = a.rank() > b.rank() ? a.rank() : b.rank();
  if (2 * rank > max_rank) {
    a.b->fail(message{} << "kron: at most rank " << max_rank / 2 << ", got shapes " << a.dims() << " and " << b.dims());
    return a;
  }
  const dtype t = promote(a.type(), b.type());
  const shape own_a = join(filled(rank - a.rank(), 1), a.dims()), own_b = join(filled(rank - b.rank(), 1), b.dims());
  shape wide, dims, of_a, of_b;
  for (int i = 0; i < rank; ++i) {
    of_a.push_back(2 * i), of_b.push_back(2 * i + 1);
    wide.push_back(own_a[i]), wide.push_back(own_b[i]);
    dims.push_back(a.b->symbols.combine(symbol::product, own_a[i], own_b[i]));
  }
  const value left = broadcast_in_dim(reshape(convert(a, t), own_a), wide, of_a), right = broadcast_in_dim(reshape(convert(b, t), own_b), wide, of_b);
  return reshape(t == dtype::boolean ? logical_and(left, right) : left * right, dims);
}

/// The elements (i, i + K) of matrices [..., m, n] along a last axis.
struct diagonal_function {
  extent k;
  constexpr value operator()(value x) const {
    const int rank = x.rank();
    if (rank < 2) x.b->fail(message{} << "diagonal: matrices [..., m, n] are needed, got " << x.dims());
    if (x.b->failed()) return x;
    const extent m = x.dims()[rank - 2], n = x.dims()[rank - 1];
    if (is_symbol(m) || is_symbol(n)) {
      if (k != 0 || !x.b->symbols.unify("diagonal", m, n)) x.b->fail(message{} << "diagonal: of run-time extents only square matrices, and the main one, got " << x.dims());
      if (x.b->failed()) return x;
      const value eye = eq(iota(*x.b, dtype::int32, x.dims(), rank - 2), iota(*x.b, dtype::int32, x.dims(), rank - 1));
      return reduce_sum(select(eye, x, zeros_like(x)), {rank - 1});
    }
    const extent top = k < 0 ? -k : 0, left = k > 0 ? k : 0, count = std::max(extent(0), std::min(m - top, n - left));
    shape starts = filled(rank, 0), sizes = x.dims(), merged, cut = filled(rank - 1, 0), ends, steps = filled(rank - 1, 1);
    starts[rank - 2] = top, starts[rank - 1] = 0, sizes[rank - 2] = count;
    const value rows = slice(x, starts, sizes, filled(rank, 1));  // [..., count, n], whose elements n + 1 apart are those
    for (int i = 0; i < rank - 2; ++i) merged.push_back(x.dims()[i]);
    ends = merged, merged.push_back(count * n), ends.push_back(count);
    if (count == 0) return reshape(rows, ends);
    cut[rank - 2] = left, steps[rank - 2] = n + 1;
    return slice(reshape(rows, merged), cut, ends, steps);
  }
};

/// The greatest number that an index may be which was a narrower unsigned one; -1 for others.
constexpr extent greatest_index(value i) {
  if (i.get().op_id != primitive_of<convert_p>.id) return -1;
  const dtype from = i.b->g[i.b->g.operand(i.id, 0)].type;
  return is_unsigned_integer(from) && size_of(from) < size_of(i.type()) ? (extent(1) << (8 * size_of(from))) - 1 : -1;
}
/// Indices into n places; negative ones count from the end.
constexpr value from_start(value i, extent n) { return greatest_index(i) >= 0 ? i : select(lt(i, zeros_like(i)), i + extent_like(i, n), i); }
/// The start of `size` elements along axis `axis` of x, clamped so that they lie inside; negative ones count from the end.
/// That there are so many is checked when the program runs, where only that can tell.
constexpr value clamped_start(std::string_view who, value i, value x, int axis, extent size) {
  const extent n = x.dims()[axis];
  symbol_table& s = i.b->symbols;
  if (is_symbol(n) ? n != size : is_symbol(size)) s.require_at_least(who, n, size);
  const extent greatest = greatest_index(i);
  if (greatest >= 0 && !is_symbol(n) && greatest <= n - size) return i;
  const value last = is_symbol(n) || is_symbol(size) ? extent_like(i, n) - extent_like(i, size) : full_like(i, double(n - size));
  return clamp(zeros_like(i), from_start(i, n), last);
}
constexpr value index_dtype(value i) {
  if (!is_integer(i.type()) && i.type() != dtype::boolean) i.b->fail(message{} << "index: an index must be an integer or an array of integers, got " << i.type() << i.dims());
  return convert(i, size_of(i.type()) == 8 || i.type() == dtype::uint32 ? dtype::int64 : dtype::int32);
}

struct roll_function {
  int axis;
  constexpr value operator()(value x, value shift) const {
    const int k = checked_axis(x, "roll", axis, x.rank());
    adopt_pair(x, shift);
    if (!is_integer(shift.type()) || shift.rank() != 0)
      x.b->fail(message{} << "roll: the shift must be an integer scalar, got " << shift.type() << shift.dims());
    if (x.b->failed()) return x;
    const extent n = x.dims()[k];
    if (n == 0) return x;
    if (!is_constant(shift) || is_symbol(n)) return roll(x, index_dtype(shift), k, false);
    const extent by = wrapped_index(extent(shift.get().bits), n);
    return by == 0 ? x : roll(x, constant_from_bits(*x.b, dtype::int64, {}, std::uint64_t(by)), k, false);
  }
};

/// Where a window of extents `dims` lies in x, which begins at run-time starts, clamped so that it lies inside.
struct clamped_window {
  addressing a;
  sequence<value> indices;

  constexpr clamped_window(std::string_view who, value x, const shape& dims, const value* starts) {
    for (int i = 0; i < x.rank(); ++i) {
      const value start = index_dtype(starts[i]);
      if (x.dims()[i] == dims[i]) {
        a.push({i, -1});
        continue;
      }
      a.push({i, int(indices.size())});
      indices.push_back(broadcast_to(clamped_start(who, start, x, i, dims[i]), dims));
    }
  }
};
/// sizes[k] elements along each axis from a run-time start, clamped so that the slice lies inside.
struct dynamic_slice_function {
  shape sizes;
  template <class... V> constexpr value operator()(value x, V... start) const {
    const value starts[] = {start...};
    if (sizes.rank != x.rank() || int(sizeof...(V)) != x.rank()) {
      x.b->fail(message{} << "dynamic_slice: " << int(sizeof...(V)) << " starts and sizes " << sizes << " for shape " << x.dims());
      return x;
    }
    for (int i = 0; i < x.rank(); ++i)
      if (!is_symbol(x.dims()[i]) && sizes[i] > x.dims()[i]) {
        x.b->fail(message{} << "dynamic_slice: size " << sizes[i] << " is larger than axis " << i << " of " << x.dims());
        return x;
      }
    const clamped_window w("dynamic_slice", x, sizes, starts);
    return x.b->failed() || w.indices.empty() ? x : gather(x, w.indices, sizes, w.a);
  }
};
struct dynamic_update_slice_function {
  template <class... V> constexpr value operator()(value x, value update, V... start) const {
    const value starts[] = {start...};
    update = convert(update, x.type());
    if (update.rank() != x.rank() || int(sizeof...(V)) != x.rank()) {
      x.b->fail(message{} << "dynamic_update_slice: " << int(sizeof...(V)) << " starts and an update of shape " << update.dims() << " for shape " << x.dims());
      return x;
    }
    for (int i = 0; i < x.rank(); ++i)
      if (!is_symbol(x.dims()[i]) && !is_symbol(update.dims()[i]) && update.dims()[i] > x.dims()[i]) {
        x.b->fail(message{} << "dynamic_update_slice: the update " << update.dims() << " is larger than " << x.dims());
        return x;
      }
    const clamped_window w("dynamic_update_slice", x, update.dims(), starts);
    if (x.b->failed()) return x;
    return w.indices.empty() ? update : scatter_with<scatter_p>(x, update, w.indices, w.a, true);
  }
};

/// Elements of x at run-time indices of neighbouring axes, clamped into them; negative indices count from the end. The indices
/// broadcast together, and their axes take the place of x's.
struct element_function {
  int axis;
  template <class... V> constexpr value operator()(value x, V... index) const {
    sequence<value> indices{index...};
    const int n = int(sizeof...(V));
    for (value& i : indices) {
      adopt_pair(x, i);
      if (!is_integer(i.type())) x.b->fail(message{} << "index: must be an integer, got " << i.type() << i.dims());
    }
    if (axis + n > x.rank()) x.b->fail(message{} << "index: axis " << axis + n - 1 << " is out of range for rank " << x.rank() << " (" << x.dims() << ")");
    for (int k = 0; k < n && !x.b->failed(); ++k)
      if (x.dims()[axis + k] == 0) x.b->fail(message{} << "index: axis " << axis + k << " of " << x.dims() << " is empty");
    for (int k = 0; k < n && !x.b->failed(); ++k) indices[std::size_t(k)] = clamped_start("index", index_dtype(indices[std::size_t(k)]), x, axis + k, 1);
    if (!x.b->failed()) match_all("index", indices);
    if (x.b->failed()) return x;
    shape dims, where;
    addressing a;
    for (int j = 0; j < axis; ++j) a.push({dims.rank, -1}), dims.push_back(x.dims()[j]);
    for (int k = 0; k < n; ++k) a.push({-1, k});
    for (extent e : indices[0].dims()) where.push_back(dims.rank), dims.push_back(e);
    for (int j = axis + n; j < x.rank(); ++j) a.push({dims.rank, -1}), dims.push_back(x.dims()[j]);
    for (value& i : indices) i = broadcast_in_dim(i, dims, where);
    return gather(x, indices, dims, a);
  }
};

/// NumPy's take along one axis: result axes are x's before `axis`, the indices', x's after. Out of range gives NaN
/// (integers: the smallest, bool: true), negative indices count from the end.
struct take_function {
  int axis;
  constexpr value operator()(value x, value i) const {
    const int k = checked_axis(x, "take", axis, x.rank());
    adopt_pair(x, i);
    if (!is_integer(i.type())) x.b->fail(message{} << "take: indices must be integers, got " << i.type() << i.dims());
    if (x.b->failed()) return x;
    i = index_dtype(i);
    shape dims, where;
    addressing a;
    for (int j = 0; j < k; ++j) a.push({dims.rank, -1}), dims.push_back(x.dims()[j]);
    a.push({-1, 0});
    for (extent e : i.dims()) where.push_back(dims.rank), dims.push_back(e);
    for (int j = k + 1; j < x.rank(); ++j) a.push({dims.rank, -1}), dims.push_back(x.dims()[j]);
    return gather_or_fill(x, i, k, dims, where, a);
  }
  static constexpr value gather_or_fill(value x, value i, int k, const shape& dims, const shape& where, const addressing& a) {
    const extent n = x.dims()[k];
    if (n == 0) {
      x.b->fail(message{} << "take: axis " << k << " of " << x.dims() << " is empty");
      return x;
    }
    const value inside = clamped_start("take", i, x, k, 1), from = from_start(i, n), ok = inside == from ? value() : eq(inside, from);
    if (x.b->failed()) return x;
    const value r = gather(x, {broadcast_in_dim(inside, dims, where)}, dims, a);
    if (!ok) return r;  // all indices are inside
    value fill;
    if (is_floating(r.type())) fill = full_like(r, __builtin_nan(""));
    else fill = constant_from_bits(*r.b, r.type(), r.dims(), is_signed_integer(r.type()) ? std::uint64_t(1) << (8 * size_of(r.type()) - 1) : r.type() == dtype::boolean ? 1 : ~std::uint64_t(0));
    return select(broadcast_in_dim(ok, dims, where), r, fill);
  }
};
struct take_along_axis_function {
  int axis;
  constexpr value operator()(value x, value i) const {
    const int k = checked_axis(x, "take_along_axis", axis, x.rank());
    adopt_pair(x, i);
    if (!is_integer(i.type())) x.b->fail(message{} << "take_along_axis: indices must be integers, got " << i.type() << i.dims());
    if (!x.b->failed() && i.rank() != x.rank())
      x.b->fail(message{} << "take_along_axis: indices " << i.dims() << " and " << x.dims() << " must have the same rank");
    if (x.b->failed()) return x;
    i = index_dtype(i);
    addressing a;
    shape dims = i.dims();
    for (int j = 0; j < x.rank(); ++j) {
      if (j == k) a.push({-1, 0});
      else if (x.dims()[j] == 1) a.push({-1, -1});
      else {
        if (dims[j] == 1) dims[j] = x.dims()[j];
        else if (!x.b->symbols.unify("take_along_axis", dims[j], x.dims()[j])) {
          x.b->fail(message{} << "take_along_axis: shapes " << x.dims() << " and " << i.dims() << " do not broadcast");
          return x;
        }
        a.push({j, -1});
      }
    }
    i = broadcast_to(i, dims);
    return take_function::gather_or_fill(x, i, k, dims, axes_from(0, dims.rank), a);
  }
};

/// The first `count` elements along an axis (-1: all) in ascending or descending order, or their indices.
struct sorted_function {
  extent axis = -1, count = -1;
  bool descending = false, indices = false;
  constexpr value operator()(value x) const {
    const std::string_view who = count >= 0 ? "top_k" : indices ? "argsort" : "sort";
    const int k = checked_axis(x, who, axis, x.rank());
    if (x.b->failed()) return x;
    const extent all = x.b->symbols.resolve(x.dims()[k]), n = count < 0 ? all : count;
    if (count >= 0 && is_symbol(all)) x.b->symbols.require_at_least(who, all, count);
    if (!is_symbol(all) && n > all) {
      x.b->fail(message{} << who << ": " << n << " elements of " << all << ", which axis " << k << " of " << x.dims() << " has");
      return x;
    }
    const value order = argsort(x, k, n, descending);
    if (indices) return order;
    addressing a;
    for (int i = 0; i < x.rank(); ++i) a.push(i == k ? axis_address{-1, 0} : axis_address{i, -1});
    return gather(x, {order}, order.dims(), a);
  }
};

/// A scatter; the sum of booleans is or.
template <class P> constexpr value scatter_updates(value x, value updates, const sequence<value>& indices, const addressing& a, bool unique) {
  if constexpr (std::is_same_v<P, scatter_add_p>)
    if (x.type() == dtype::boolean) return scatter_with<scatter_max_p>(x, updates, indices, a, unique);
  return scatter_with<P>(x, updates, indices, a, unique);
}

/// x with updates at indices of its leading axes: `at(x, i, j).set(v)`. The indices broadcast together; negative ones
/// count from the end; updates outside are dropped.
template <class P> struct at_function {
  bool unique = false;
  template <class... V> constexpr value operator()(value x, value update, V... index) const {
    sequence<value> indices{index_dtype(index)...};
    const int n = int(sizeof...(V));
    if (n > x.rank()) {
      x.b->fail(message{} << "at: " << n << " indices for rank " << x.rank() << " (" << x.dims() << ")");
      return x;
    }
    match_all("at", indices);
    if (x.b->failed()) return x;
    shape dims = indices[0].dims();
    const int index_rank = dims.rank;
    bool once = true;  // a single place of the leading axes
    for (extent e : dims) once = once && e == 1;
    addressing a;
    for (int i = 0; i < n; ++i) a.push({-1, i});
    for (int i = n; i < x.rank(); ++i) a.push({dims.rank, -1}), dims.push_back(x.dims()[i]);
    for (int i = 0; i < n; ++i) {
      value& v = indices[std::size_t(i)];
      const extent e = x.dims()[i];
      v = from_start(v, e);
      v = broadcast_in_dim(v, dims, axes_from(0, index_rank));
    }
    return scatter_updates<P>(x, broadcast_to(convert(update, x.type()), dims), indices, a, once || unique);
  }
};

/// The same where some axes have bounds, and others, `at_run_time`, an index: `at(x, range<1, 9>, i).set(v)`. The update broadcasts to what x has
/// there. Arrays of indices are of neighbouring axes; their axes take the place of those.
template <class P> struct at_places_function {
  slice_bounds bounds[max_rank] = {};
  bool at_run_time[max_rank] = {};
  int count = 0;
  bool unique = false;

  template <class... V> constexpr value operator()(value x, value update, V... index) const {
    const slice_window w = slice_window::of("at", x, bounds, count);
    const value all[] = {index...};  // 0 for what is known
    sequence<value> indices;
    for (int i = 0; i < count; ++i)
      if (at_run_time[i]) indices.push_back(index_dtype(all[i]));
    match_all("at", indices);
    if (x.b->failed()) return x;
    return indices.empty() && is_large(x, w) ? in_window(x, update, w) : at_places(x, update, w, indices);
  }

 private:
  /// Whether a window is no small part of x: then all is computed anew, by what fuses with what is beside it.
  static constexpr bool is_large(value x, const slice_window& w) {
    constexpr extent few = 16;
    extent windows = 1;
    for (int i = 0; i < x.rank(); ++i) windows *= is_symbol(x.dims()[i]) || is_symbol(w.sizes[i]) ? 1 : x.dims()[i] / (w.sizes[i] > 0 ? w.sizes[i] : 1);
    return windows <= few;
  }
  /// The update in the extents of its places, along the axes of x that it is in.
  static constexpr value laid(value x, value update, const slice_window& w, const shape& dims, const shape& axes) {
    value u = broadcast_to(convert(update, x.type()), dims);
    shape flipped;
    for (int i = 0; i < axes.rank; ++i)
      if (axes[i] >= 0 && w.flipped.contains(axes[i])) flipped.push_back(i);
    return flipped.rank > 0 && !u.b->failed() ? reverse_axes(u, flipped) : u;
  }
  constexpr value in_window(value x, value update, const slice_window& w) const {
    symbol_table& s = x.b->symbols;
    shape axes, high, interior;
    for (int i = 0; i < x.rank(); ++i) {
      if (i >= count || !bounds[i].index) axes.push_back(i);
      const extent size = w.sizes[i], span = w.strides[i] == 1 || is_symbol(size) || size == 0 ? size : (size - 1) * w.strides[i] + 1;
      high.push_back(s.combine(symbol::difference, s.combine(symbol::difference, x.dims()[i], w.starts[i]), span)), interior.push_back(w.strides[i] - 1);
    }
    const value u = laid(x, update, w, w.dropped, axes);
    if (x.b->failed()) return x;
    const auto around = [&](value v, double padding) { return pad(reshape(v, w.sizes), constant(*x.b, v.type(), {}, padding), w.starts, high, interior); };
    const bool is_boolean = x.type() == dtype::boolean;  // of which the sum is or, the product and
    if constexpr (std::is_same_v<P, scatter_add_p>) return is_boolean ? logical_or(x, around(u, 0)) : x + around(u, 0);
    else if constexpr (std::is_same_v<P, scatter_mul_p>) return is_boolean ? logical_and(x, around(u, 1)) : x * around(u, 1);
    else {
      value there = around(u, 0);
      if constexpr (std::is_same_v<P, scatter_min_p>) there = is_boolean ? logical_and(x, there) : min(x, there);
      if constexpr (std::is_same_v<P, scatter_max_p>) there = is_boolean ? logical_or(x, there) : max(x, there);
      return select(around(constant(*x.b, dtype::boolean, w.dropped, 1), 0), there, x);
    }
  }
  constexpr value at_places(value x, value update, const slice_window& w, sequence<value>& indices) const {
    shape dims, axes, where;  // of the update: its extents, the axes of x that it goes along, and which of its own are the indices'
    addressing a;
    int next = 0, last = -1;
    bool apart = false;
    const shape of_indices = indices.empty() ? shape() : indices[0].dims();
    for (int i = 0; i < x.rank(); ++i) {
      if (i < count && at_run_time[i]) {
        apart = apart || (last >= 0 && last + 1 != i), last = i;
        for (int k = 0; next == 0 && k < of_indices.rank; ++k) where.push_back(dims.rank), dims.push_back(of_indices[k]), axes.push_back(-1);
        a.push({-1, next++});
      } else if (i < count && bounds[i].index) a.push({-1, -1});
      else a.push({dims.rank, -1}), axes.push_back(i), dims.push_back(w.sizes[i]);
    }
    if (apart && of_indices.rank > 0) x.b->fail(message{} << "at: arrays of indices with another axis between them (" << x.dims() << ")");
    if (x.b->failed()) return x;
    bool once = true;  // a single place of these axes
    for (extent e : of_indices) once = once && e == 1;
    for (int k = 0, i = 0; k < next; ++k, ++i) {
      while (!at_run_time[i]) ++i;
      value& v = indices[std::size_t(k)];
      v = broadcast_in_dim(from_start(v, x.dims()[i]), dims, where);
    }
    for (int i = 0; i < x.rank(); ++i) {  // where ranges begin
      axis_address& axis = a.axes[i];
      if (axis.index >= 0 || (w.starts[i] == 0 && w.strides[i] == 1 && (axis.dimension >= 0 || is_index(i)) && w.sizes[i] == x.dims()[i])) continue;
      value at = constant(*x.b, dtype::int32, dims, double(w.starts[i]));
      if (w.strides[i] != 1 && axis.dimension >= 0) at = at + iota(*x.b, dtype::int32, dims, axis.dimension) * full_like(at, double(w.strides[i] - 1));
      axis.index = int(indices.size());
      indices.push_back(at);
    }
    return scatter_updates<P>(x, laid(x, update, w, dims, axes), indices, a, once || unique);
  }
  constexpr bool is_index(int i) const { return i < count && bounds[i].index; }
};

}  // namespace cotangent
