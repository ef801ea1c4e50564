#ifndef COTANGENT_PRIMITIVES_IN_ORDER
#include <cotangent/primitives/primitives.hpp>
#elif !defined(COTANGENT_PRIMITIVES_BITS)
#define COTANGENT_PRIMITIVES_BITS
/// Numbers as bits: bit_cast, and threefry, of which random numbers are made.

namespace cotangent {

/// The same bits as elements of another dtype as wide.
struct bit_cast_p : pointwise_constant {
  static constexpr std::string_view name = "bit_cast";
  static constexpr void infer(call& c) {
    c.dims = c[0].dims();
    const dtype from = c[0].type();
    if (size_of(from) != size_of(c.type) || from == dtype::boolean || c.type == dtype::boolean)
      c.b->fail(message{} << "bit_cast: " << from << c.dims << " has elements of " << size_of(from) << " bytes, and " << c.type << " of " << size_of(c.type)
                          << (size_of(from) == size_of(c.type) ? "; bool has no bits: ct::astype converts" : ""));
  }
  static constexpr value simplify(const call& c) { return c[0].type() == c.type ? c[0] : value{}; }
  /// The lane program for the result's element type.
  template <class T> struct to {
    COTANGENT_LANES template <class V> static COTANGENT_INLINE auto lane(V x) { return bit_cast<T>(x); }
  };
  template <class T, extent...> using lane_for = to<T>;
};
constexpr value bit_cast(value x, dtype to) { return emit<bit_cast_p>({x}, nullptr, 0, to); }

/// Threefry-2x32 with 20 rounds: two words that a key of two words makes of a counter of two words. J. K. Salmon, M. A. Moraes,
/// R. O. Dror and D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. V: 32-bit unsigned numbers.
template <class V> struct threefry_words {
  V first, second;

  COTANGENT_LANES constexpr COTANGENT_INLINE threefry_words(V key0, V key1, V count0, V count1) : first(count0 + key0), second(count1 + key1) {
    const V keys[] = {key0, key1, key0 ^ key1 ^ V(0x1BD11BDAu)};
    rounds<13, 15, 26, 6>(keys[1], keys[2] + V(1u));
    rounds<17, 29, 16, 24>(keys[2], keys[0] + V(2u));
    rounds<13, 15, 26, 6>(keys[0], keys[1] + V(3u));
    rounds<17, 29, 16, 24>(keys[1], keys[2] + V(4u));
    rounds<13, 15, 26, 6>(keys[2], keys[0] + V(5u));
  }

 private:
  COTANGENT_LANES template <int... Rotations> constexpr COTANGENT_INLINE void rounds(V key0, V key1) {
    (mix<Rotations>(), ...);
    first = first + key0, second = second + key1;
  }
  COTANGENT_LANES template <int Rotation> constexpr COTANGENT_INLINE void mix() {
    first = first + second;
    second = ((second << Rotation) | (second >> (32 - Rotation))) ^ first;
  }
};

/// Random bits: what threefry makes of a key (operands 0 and 1) and a counter whose first word is 0 (operand 2: the second). As uint64
/// both words, the first one in the upper half; as uint32 their exclusive or. JAX: jax.random.bits with jax_threefry_partitionable, its
/// default.
struct random_bits_p : pointwise_constant {
  static constexpr std::string_view name = "random_bits";
  static constexpr double flops = 110;
  static constexpr void infer(call& c) {
    infer_same_shape(c);
    for (int k = 0; k < c.count; ++k)
      if (c[k].type() != dtype::uint32) c.b->fail(message{} << "random_bits: keys and counters are uint32, got " << c[k].type() << c[k].dims());
  }
  template <class T> struct as {
    COTANGENT_LANES template <class V> static COTANGENT_INLINE auto lane(V key0, V key1, V count) {
      const threefry_words<V> words(key0, key1, V(0u), count);
      if constexpr (sizeof(T) == 4) return words.first ^ words.second;
      else return convert<T>(words.first) << 32 | convert<T>(words.second);
    }
  };
  template <class T, extent...> using lane_for = as<T>;
};
constexpr value random_bits(value key0, value key1, value count, dtype type) {
  return emit<random_bits_p>({key0, key1, count}, nullptr, 0, type);
}

}  // namespace cotangent

#endif
