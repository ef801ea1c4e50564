#pragma once
/// `array<T, E...>`: an n-dimensional array with its element type and extents in its type.

#include <algorithm>
#include <initializer_list>

#include <cotangent/core/device.hpp>
#include <cotangent/core/view.hpp>

namespace cotangent {

/// Whether a value of U may become an element T without asking: any number, except a floating one as an integer.
template <class U, class T>
concept convertible_element = (std::is_arithmetic_v<U> || element<U>) && requires(U u) { static_cast<T>(u); } &&
                              !(std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_integral_v<U>);

/// One number of a nested list.
template <class T> struct list_entry {
  T value;
  template <convertible_element<T> U> constexpr list_entry(U x) : value(static_cast<T>(x)) {}
};
template <class T, int Rank> struct nested_list {
  using type = std::initializer_list<typename nested_list<T, Rank - 1>::type>;
};
template <class T> struct nested_list<T, 0> {
  using type = list_entry<T>;
};
template <class T, int Rank> using nested_list_t = typename nested_list<T, Rank>::type;

template <int Rank, class List> constexpr void append_list_shape(shape& s, const List& list) {
  if constexpr (Rank > 0) {
    s.push_back(std::ptrdiff_t(list.size()));
    if (list.size()) append_list_shape<Rank - 1>(s, *list.begin());
    else
      for (int k = 1; k < Rank; ++k) s.push_back(0);
  }
}

[[noreturn, gnu::cold]] inline void throw_ragged(dtype d, const shape& type, const shape& s, int axis, std::ptrdiff_t count) {
  throw shape_error(text_of("array", d, type) + ": a ragged list: the first list along axis " + std::to_string(axis) + " has " +
                    std::to_string(s[axis]) + " entries and another has " + std::to_string(count));
}

/// An n-dimensional array: row-major, 64-byte aligned, zero-initialized; a regular value.
///
/// Extents are numbers or `dyn`. With static extents and at most 1 KiB it lives inline, without heap, and is
/// trivially copyable and usable in constant expressions. Otherwise it owns a heap block; then a moved-from
/// array is empty: run-time extents are 0 and `data()` is null until it is assigned to.
template <class T, extent... Extents> class array : public storage_for<T, Extents...> {
  static_assert(element<T>, "array: T is not an element type (float, double, bool, std::int8..64_t, std::uint8..64_t, half, bfloat16, "
                            "std::complex<float or double>)");
  using base = storage_for<T, Extents...>;
  using extents_type = layout<Extents...>;
  static constexpr int the_rank = int(sizeof...(Extents));
  static constexpr dtype type = dtype_of<T>;

 public:
  using value_type = T;

  /// Zeros; run-time extents are 0.
  constexpr array() = default;

  /// Zeros of this shape, all extents given: `array<double, dyn, 3> p({n, 3})`.
  /// Throws shape_error if the shape does not fit the type.
  constexpr explicit array(const cotangent::shape& s) requires(the_rank > 0) : array(uninitialized, s) { fill(T()); }
  /// The same for a vector: `array<double, dyn> v({n})`. (An exact match, so that `{n}` is not read as a list.)
  template <std::integral I>
    requires(the_rank == 1)
  constexpr explicit array(const I (&s)[1]) : array(cotangent::shape{std::ptrdiff_t(s[0])}) {}
  /// Elements with any value, to be written before they are read.
  constexpr array(uninitialized_t, const cotangent::shape& s) : base(uninitialized, extents_type(s, "array", type)) {}
  constexpr explicit array(uninitialized_t) requires(extents_type::is_static()) : base(uninitialized, extents_type()) {}
  /// Elements that follow from their indices.
  constexpr explicit array(const element_rule<T>& r) requires(extents_type::is_static()) : array(uninitialized) { this->make(r); }

  /// `array<float, 2, 2> m{{1, 2}, {3, 4}}`. Throws shape_error if the list is ragged or does not fit the type.
  constexpr array(nested_list_t<T, the_rank> list) requires(the_rank > 1) : array(uninitialized, shape_of_list(list)) {
    T* to = this->data();
    copy_list<the_rank>(list, this->shape(), to);
  }

  /// `array<float, 3> v{1, 2, 3}`. Not an initializer_list, which would take `v({n})` for a list of one number.
  template <convertible_element<T> U, convertible_element<T>... Us>
    requires(the_rank == 1)
  constexpr explicit(sizeof...(Us) == 0) array(U x, Us... xs) : array(uninitialized, cotangent::shape{1 + std::ptrdiff_t(sizeof...(Us))}) {
    static_assert(sizeof...(Us) > 0 || !std::is_integral_v<U> || extents_type::is_static(),
                  "array: is one integer the length or the only element? For n zeros write ({n}); for one element full<T, dyn>({1}, x)");
    const T list[] = {static_cast<T>(x), static_cast<T>(xs)...};
    copy(list);
  }

  /// Rank 0 converts from numbers.
  template <convertible_element<T> U>
    requires(the_rank == 0)
  constexpr array(U x) : base(uninitialized, extents_type()) {
    *this->data() = static_cast<T>(x);
  }
  /// Rank 0 converts to its element.
  constexpr operator T() const requires(the_rank == 0) { return *this->data(); }

  /// A copy of an array whose type has other extents; implicit if it always fits, otherwise checked.
  template <cotangent::extent... F>
    requires(!std::is_same_v<array<T, F...>, array>) && (may_agree(typename extents_type::extents{}, typename layout<F...>::extents{}))
  constexpr explicit(!always_fits(typename extents_type::extents{}, typename layout<F...>::extents{})) array(const array<T, F...>& o)
      : array(uninitialized, o.shape()) {
    copy(o.data());
  }
  /// What an expression computes (trace/expression.hpp).
  template <class E>
    requires requires { typename E::result; } && std::is_same_v<typename E::value_type, T>
  array(const E& e) : array(e.evaluate()) {}
  /// A copy of what a view shows.
  template <class U, cotangent::extent... F>
    requires std::is_same_v<std::remove_const_t<U>, T> && (may_agree(typename extents_type::extents{}, typename layout<F...>::extents{}))
  constexpr explicit(!always_fits(typename extents_type::extents{}, typename layout<F...>::extents{})) array(const view<U, F...>& v)
      : array(uninitialized, v.shape()) {
    copy(v.data());
  }

  constexpr T* begin() { return this->data(); }
  constexpr const T* begin() const { return this->data(); }
  constexpr T* end() { return this->data() + (this->stored() ? this->size() : 0); }
  constexpr const T* end() const { return this->data() + (this->stored() ? this->size() : 0); }

  /// Element (i, j, ...), not checked.
  template <std::integral... I> constexpr T& operator()(I... i) { return this->data()[this->offset(i...)]; }
  template <std::integral... I> constexpr const T& operator()(I... i) const { return this->data()[this->offset(i...)]; }
  /// The elements at other indices, as of a var: an expression, or, at traced ones, in their trace, of which the array is a constant.
  template <class... I> requires (!std::integral<I> || ...) constexpr auto operator()(const I&... i) const { return elements_at(*this, i...); }
  /// Element (i, j, ...); throws shape_error if it is out of range.
  template <std::integral... I> constexpr T& at(I... i) { return this->data()[this->checked_offset(i...)]; }
  template <std::integral... I> constexpr const T& at(I... i) const { return this->data()[this->checked_offset(i...)]; }

  /// Where it lives: the CPU.
  cotangent::device device() const { return {}; }

  /// Sets every element.
  constexpr void fill(T x) {
    if (std::is_constant_evaluated()) return this->make(element_rule<T>{element_rule<T>::full, x, 0, 0});
    for (T& e : *this) e = x;
  }

  /// The same shape and equal elements (so an array with a NaN differs from itself).
  friend constexpr bool operator==(const array& a, const array& b) {
    if (!(a.shape() == b.shape()) || a.stored() != b.stored()) return false;
    const T* y = b.data();
    for (const T& x : a)
      if (!(x == *y++)) return false;
    return true;
  }
  template <convertible_element<T> U>
    requires(the_rank == 0)
  friend constexpr bool operator==(const array& a, const U& x) {
    return T(a) == x;
  }

 private:
  constexpr void copy(const T* from) {
    for (T& x : *this) x = *from++;
  }
  static constexpr cotangent::shape shape_of_list(const nested_list_t<T, the_rank>& list) {
    cotangent::shape s;
    append_list_shape<the_rank>(s, list);
    return s;
  }
  template <int Rank, class List> static constexpr void copy_list(const List& list, const cotangent::shape& s, T*& to) {
    if constexpr (Rank == 0) *to++ = list.value;
    else {
      if (std::ptrdiff_t(list.size()) != s[the_rank - Rank])
        throw_ragged(type, extents_type::type_shape(), s, the_rank - Rank, std::ptrdiff_t(list.size()));
      for (const auto& part : list) copy_list<Rank - 1>(part, s, to);
    }
  }
};

/// Part I along the first axis, which makes `auto [x, y, z] = array<float, 3>{1, 2, 3}` work.
template <std::size_t I, class T, extent N, extent... Rest> constexpr auto get(const array<T, N, Rest...>& a) {
  static_assert(extent(I) < N, "get: there are not so many elements");
  if constexpr (sizeof...(Rest) == 0) return a(I);
  else {
    array<T, Rest...> part(uninitialized);
    std::copy_n(a.data() + extent(I) * part.size(), part.size(), part.data());
    return part;
  }
}

/// All elements `value`.
template <class T, extent... E> constexpr array<T, E...> full(T value) {
  static_assert(layout<E...>::is_static(), "full: an extent is dyn; give the shape too: full<T, dyn>({n}, value)");
  array<T, E...> a(uninitialized);
  a.fill(value);
  return a;
}
/// The same with run-time extents: `full<float, dyn, 3>({n, 3}, value)`.
template <class T, extent... E> constexpr array<T, E...> full(const shape& s, T value) {
  array<T, E...> a(uninitialized, s);
  a.fill(value);
  return a;
}

/// All zeros.
template <class T, extent... E> constexpr array<T, E...> zeros() {
  static_assert(layout<E...>::is_static(), "zeros: an extent is dyn; give the shape: zeros<T, dyn>({n})");
  return {};
}
/// `zeros<float, dyn, 3>({n, 3})`.
template <class T, extent... E> constexpr array<T, E...> zeros(const shape& s) { return full<T, E...>(s, T()); }

/// All ones.
template <class T, extent... E> constexpr array<T, E...> ones() { return full<T, E...>(T(1)); }
/// `ones<float, dyn, 3>({n, 3})`.
template <class T, extent... E> constexpr array<T, E...> ones(const shape& s) { return full<T, E...>(s, T(1)); }

/// Ones on the diagonal of an N x M matrix, zeros elsewhere.
template <class T, extent N, extent M = N> constexpr array<T, N, M> eye() {
  return array<T, N, M>(element_rule<T>{element_rule<T>::identity, T(), 0, 0});
}

/// N numbers from `lo` to `hi`, both included, equally spaced; computed in double, as NumPy's.
template <class T, extent N> constexpr array<T, N> linspace(double lo, double hi) {
  static_assert(N >= 0 && !std::is_integral_v<T>, "linspace: give a floating element type and the number of points");
  return array<T, N>(element_rule<T>{element_rule<T>::spaced, T(), lo, hi});
}

/// 0, 1, ..., N - 1.
template <class T, extent N> constexpr array<T, N> arange() { return array<T, N>(element_rule<T>{element_rule<T>::spaced, T(), 0, double(N - 1)}); }

}  // namespace cotangent

template <class T, cotangent::extent N, cotangent::extent... Rest>
  requires(N >= 0)
struct std::tuple_size<cotangent::array<T, N, Rest...>> : std::integral_constant<std::size_t, std::size_t(N)> {};
template <std::size_t I, class T, cotangent::extent N, cotangent::extent... Rest>
struct std::tuple_element<I, cotangent::array<T, N, Rest...>> {
  using type = decltype(cotangent::get<I>(std::declval<const cotangent::array<T, N, Rest...>&>()));
};
