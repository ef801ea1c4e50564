#pragma once
/// Types bound to short keys: names of functions hold a key in place of a long type.

namespace cotangent {

/// A type as a value.
template <class T> struct type_is {
  using type = T;
};

#pragma GCC diagnostic push
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wnon-template-friend"
#endif
#ifdef __CUDACC__
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1301
#endif
/// Declares what `binding` defines.
template <class Key> struct bound {
  friend constexpr auto what_is(bound);
};
/// Binds T to Key, once instantiated. Two types for one key are a compile error.
template <class Key, class T> struct binding {
  using key = Key;
  friend constexpr auto what_is(bound<Key>) { return type_is<T>{}; }
};
#ifdef __CUDACC__
#pragma nv_diagnostic pop
#endif
#pragma GCC diagnostic pop

/// The type that is bound to Key.
template <class Key> using type_bound_to = typename decltype(what_is(bound<Key>{}))::type;

}  // namespace cotangent
