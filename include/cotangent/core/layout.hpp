#pragma once
/// `layout<E...>`: row-major extents, of which only the run-time ones are stored; the base of `array` and `view`.

#include <concepts>
#include <utility>

#include <cotangent/core/dtype.hpp>
#include <cotangent/core/error.hpp>
#include <cotangent/core/extents.hpp>

namespace cotangent {

/// `[32,784]`; an extent that is not known is `?`.
inline std::string text_of(const shape& s) {
  std::string text = "[";
  for (int i = 0; i < s.rank; ++i) {
    if (i) text += ',';
    text += s[i] == dyn ? std::string("?") : std::to_string(s[i]);
  }
  return text + ']';
}

/// How messages name an array or view type: `array<float32,[?,3]>`.
inline std::string text_of(const char* kind, dtype d, const shape& type) {
  return std::string(kind) + '<' + std::string(name_of(d)) + ',' + text_of(type) + '>';
}

[[noreturn, gnu::cold]] inline void throw_misfit(const char* kind, dtype d, const shape& type, const shape& given) {
  const std::string who = text_of(kind, d, type) + ": ";
  if (given.rank != type.rank)
    throw shape_error(who + "the type has rank " + std::to_string(type.rank) + " but a shape of rank " +
                      std::to_string(given.rank) + " was given");
  for (int k = 0; k < type.rank; ++k) {
    const std::string extent_k = "extent " + std::to_string(k) + " is ";
    if (type[k] != dyn && type[k] != given[k])
      throw shape_error(who + extent_k + std::to_string(type[k]) + " in the type but " + std::to_string(given[k]) + " was given");
    if (given[k] < 0) throw shape_error(who + extent_k + std::to_string(given[k]) + " and an extent cannot be negative");
  }
  throw shape_error(who + text_of(given) + " has more elements than can be addressed");
}

[[noreturn, gnu::cold]] inline void throw_wrong_count(const char* kind, dtype d, const shape& needed, std::ptrdiff_t given) {
  throw shape_error(text_of(kind, d, needed) + ": " + std::to_string(needed.size()) + " elements are needed but " +
                    std::to_string(given) + " were given");
}

[[noreturn, gnu::cold]] inline void throw_bad_index(const shape& index, const shape& s) {
  std::string text;
  for (std::ptrdiff_t i : index) text += (text.empty() ? "" : ",") + std::to_string(i);
  throw shape_error("at: index [" + text + "] is out of range for " + text_of(s));
}

[[noreturn, gnu::cold]] inline void throw_bad_axis(int k, const shape& s) {
  throw shape_error("extent: axis " + std::to_string(k) + " is out of range for rank " + std::to_string(s.rank) + " (" + text_of(s) + ")");
}

/// Throws shape_error unless `given` can be the shape of an array whose type says `type`.
constexpr void check_fits(const char* kind, dtype d, const shape& type, const shape& given) {
  constexpr std::ptrdiff_t most = PTRDIFF_MAX / 32;
  bool fits = given.rank == type.rank;
  std::ptrdiff_t elements = 1;
  for (int k = 0; fits && k < type.rank; ++k) {
    fits = given[k] >= 0 && (type[k] == dyn || type[k] == given[k]) && (given[k] == 0 || elements <= most / given[k]);
    if (fits && given[k] > 0) elements *= given[k];
  }
  if (!fits) throw_misfit(kind, d, type, given);
}

/// Whether arrays of these extents can have the same shape.
template <extent... E, extent... F> constexpr bool may_agree(std::integer_sequence<extent, E...>, std::integer_sequence<extent, F...>) {
  if constexpr (sizeof...(E) != sizeof...(F)) return false;
  else return (true && ... && (E == F || E == dyn || F == dyn));
}

/// Whether extents F... always fit the type's extents E....
template <extent... E, extent... F> constexpr bool always_fits(std::integer_sequence<extent, E...>, std::integer_sequence<extent, F...>) {
  if constexpr (sizeof...(E) != sizeof...(F)) return false;
  else return (true && ... && (E == F || E == dyn));
}

template <int Count> struct run_time_extents {
  std::ptrdiff_t values[Count] = {};
};
template <> struct run_time_extents<0> {};

/// Row-major extents, numbers or `dyn`. `extent` and `shape` name members here, hence std::ptrdiff_t.
template <extent... Extents> class layout : private run_time_extents<(0 + ... + int(Extents == dyn))> {
  static_assert(sizeof...(Extents) <= max_rank, "array: the rank is larger than max_rank (8)");
  static_assert((true && ... && (Extents >= dyn)), "array: an extent is negative; extents are 0 or more, or cotangent::dyn");

  static constexpr cotangent::shape in_type{Extents...};

  template <int K> constexpr std::ptrdiff_t extent_along() const {
    if constexpr (in_type[K] != dyn) return in_type[K];
    else return this->values[slot(K)];
  }
  static constexpr int slot(int axis) {
    int n = 0;
    for (int k = 0; k < axis; ++k) n += in_type[k] == dyn;
    return n;
  }
  template <int... K, class... I>
  constexpr std::ptrdiff_t offset_of(std::integer_sequence<int, K...>, I... i) const {
    std::ptrdiff_t at = 0;
    ((at = at * extent_along<K>() + std::ptrdiff_t(i)), ...);
    return at;
  }
  template <int... K> constexpr cotangent::shape shape_of(std::integer_sequence<int, K...>) const { return {extent_along<K>()...}; }
  template <int... K> constexpr std::ptrdiff_t size_of(std::integer_sequence<int, K...>) const { return (std::ptrdiff_t(1) * ... * extent_along<K>()); }
  using axes = std::make_integer_sequence<int, int(sizeof...(Extents))>;

 public:
  using extents = std::integer_sequence<cotangent::extent, Extents...>;

  /// Run-time extents start at 0.
  constexpr layout() = default;
  /// Throws shape_error if `s` is not a shape of this type.
  constexpr layout(const cotangent::shape& s, const char* kind, dtype d) {
    check_fits(kind, d, in_type, s);
    if constexpr (!is_static())
      for (int k = 0; k < rank(); ++k)
        if (in_type[k] == dyn) this->values[slot(k)] = s[k];
  }

  static constexpr int rank() { return int(sizeof...(Extents)); }
  /// Whether every extent is in the type.
  static constexpr bool is_static() { return (true && ... && (Extents != dyn)); }
  /// The extents as the type has them, `dyn` where they are known only at run time.
  static constexpr cotangent::shape type_shape() { return in_type; }

  /// The actual extents.
  constexpr cotangent::shape shape() const { return shape_of(axes{}); }
  /// The actual extent of axis `k`; a negative `k` counts from the end. Throws shape_error if there is no such axis.
  constexpr std::ptrdiff_t extent(int k) const {
    if (k < -rank() || k >= rank()) throw_bad_axis(k, shape());
    return shape()[k < 0 ? k + rank() : k];
  }
  /// The number of elements.
  constexpr std::ptrdiff_t size() const { return size_of(axes{}); }
  constexpr bool empty() const { return size() == 0; }

  /// The position of element (i, j, ...) from the first; not checked.
  template <std::integral... I> constexpr std::ptrdiff_t offset(I... i) const {
    static_assert(sizeof...(I) == sizeof...(Extents), "array: the number of indices is not the rank");
    return offset_of(axes{}, i...);
  }
  /// The same; throws shape_error that names the index and the shape.
  template <std::integral... I> constexpr std::ptrdiff_t checked_offset(I... i) const {
    static_assert(sizeof...(I) == sizeof...(Extents), "array: the number of indices is not the rank");
    const cotangent::shape index{std::ptrdiff_t(i)...}, s = shape();
    for (int k = 0; k < rank(); ++k)
      if (index[k] < 0 || index[k] >= s[k]) throw_bad_index(index, s);
    return offset(i...);
  }
};

}  // namespace cotangent
