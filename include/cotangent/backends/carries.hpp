#pragma once
/// Loops inside a kernel: a lane takes a row through all turns, with the row's carries in registers.

#include <cotangent/backends/cpu/statements.hpp>
#include <cotangent/compiler/control.hpp>
#include <cotangent/core/tree.hpp>

namespace cotangent::kernels {
inline namespace COTANGENT_ISA {

/// The elements of one carry that belong to N rows: before a turn, and what the turn makes of them.
template <class T, int Elements, int N, int Bytes> struct carry_of_rows {
  using reg = register_type<T, N, Bytes>;
  reg now[Elements > 0 ? Elements : 1], next[Elements > 0 ? Elements : 1];

  /// Of rows `row` to row + count - 1 of an array.
  COTANGENT_LANES COTANGENT_INLINE int load(const void* from, extent row, [[maybe_unused]] int count) {
    const T* p = static_cast<const T*>(from) + row * Elements;
    COTANGENT_UNROLL
    for (int i = 0; i < Elements; ++i)
      if constexpr (N == 1) now[i] = reg(p[i]);
      else now[i] = Elements == 1 ? reg::load(p, count) : reg::load_strided(p + i, Elements, count);
    return 0;
  }
  COTANGENT_LANES COTANGENT_INLINE int store(void* to, extent row, [[maybe_unused]] int count) const {
    T* p = static_cast<T*>(to) + row * Elements;
    COTANGENT_UNROLL
    for (int i = 0; i < Elements; ++i)
      if constexpr (N == 1) p[i] = now[i][0];
      else if constexpr (Elements == 1) now[i].store(p, count);
      else now[i].store_strided(p + i, Elements, count);
    return 0;
  }
  COTANGENT_LANES COTANGENT_INLINE int turn() {
    COTANGENT_UNROLL
    for (int i = 0; i < Elements; ++i) {
      now[i] = next[i];
      if constexpr (N == 1) keep_apart(now[i]);
    }
    return 0;
  }

 private:
  /// Keeps g++ from making one vector of neighbouring numbers, which it puts together in memory, at every turn.
  static COTANGENT_INLINE void keep_apart([[maybe_unused]] reg& x) {
#if defined(__x86_64__) && !defined(__CUDA_ARCH__)
    if constexpr (std::is_floating_point_v<T>) {
      T number = x[0];
      asm("" : "+x"(number));
      x = reg(number);
    }
#endif
  }
};
template <class T, int Elements> struct carry_type {};

/// What the buffers of a loop's kernel are, as numbers: a kernel's name may not hold the user's function.
template <int... Role> struct loop_roles {
  static constexpr int count = int(sizeof...(Role));
  COTANGENT_HD static constexpr loop_buffer of(int b) {
    const int all[] = {Role..., 0};
    return {loop_buffer::kind(all[b] % 8), all[b] / 8};
  }
  /// Points the buffers of xs and ys at where the turns start (see loop_turns), and says how far they move in each.
  template <class Turns> static void start(const Turns& turns, void** buffers, extent* steps) {
    for (int b = 0; b < count; ++b) {
      const loop_buffer x = of(b);
      steps[b] = x.what == loop_buffer::x ? turns.x_step[x.number] : x.what == loop_buffer::y ? turns.y_step[x.number] : 0;
      if (x.what == loop_buffer::x) buffers[b] = const_cast<std::byte*>(turns.x_at[x.number]);
      if (x.what == loop_buffer::y) buffers[b] = turns.y_at[x.number];
    }
  }
  /// To the next elements of xs and ys; `steps` are in bytes.
  static COTANGENT_INLINE void advance([[maybe_unused]] void** buffers, [[maybe_unused]] const extent* steps) {
    [[maybe_unused]] int b = 0;
    const int done[] = {0, (moves<Role> ? void(buffers[b] = static_cast<std::byte*>(buffers[b]) + steps[b]) : void(), ++b)...};
    (void)done;
  }

 private:
  template <int R> static constexpr bool moves = R % 8 == loop_buffer::x || R % 8 == loop_buffer::y;
};
constexpr int role_number(loop_buffer b) { return int(b.what) + 8 * b.number; }

/// Where the carries of all rows are before the loop and go after it.
template <int Carries> struct carry_places {
  const void* from[Carries + 1];
  void* to[Carries + 1];

  /// See carried.
  template <class Carried> explicit carry_places(const Carried& carry) {
    for (int k = 0; k < Carries; ++k) from[k] = carry.now[k], to[k] = carry.last[k];
  }
};

/// One of the carries, by number.
template <int K, class Carry> struct numbered_carry : Carry {};
template <int K, class Carry> COTANGENT_INLINE Carry& carry_numbered(numbered_carry<K, Carry>& c) { return c; }
template <int K, class Carry> COTANGENT_INLINE const Carry& carry_numbered(const numbered_carry<K, Carry>& c) { return c; }

/// The carries of N rows. They stand for the reductions of the body's kernel, which reads and writes them in place of memory.
template <class Roles, int N, int Bytes, class Numbers, class... Carry> struct loop_registers;
template <class Roles, int N, int Bytes, int... K, class... T, int... Elements>
struct loop_registers<Roles, N, Bytes, std::integer_sequence<int, K...>, carry_type<T, Elements>...> : numbered_carry<K, carry_of_rows<T, Elements, N, Bytes>>... {
  template <int B> static constexpr bool keeps = Roles::of(B).what == loop_buffer::index || Roles::of(B).what == loop_buffer::carry || Roles::of(B).what == loop_buffer::next_carry;
  std::int32_t index;

  COTANGENT_LANES template <class V, int B, extent Offset, extent... Strides> COTANGENT_INLINE auto kept(access<Offset, Strides...>) const {
    constexpr loop_buffer b = Roles::of(B);
    if constexpr (b.what == loop_buffer::index) return register_type<V, N, Bytes>(V(index));
    else return carry_numbered<b.number>(*this).now[Offset];
  }
  COTANGENT_LANES template <class V, int B, extent Offset, extent... Strides, class R> COTANGENT_INLINE void keep(access<Offset, Strides...>, const R& value) {
    carry_numbered<Roles::of(B).number>(*this).next[Offset] = value;
  }

  COTANGENT_LANES COTANGENT_INLINE void load(const void* const* from, extent row, int count) {
    const int done[] = {0, carry_numbered<K>(*this).load(from[K], row, count)...};
    (void)done;
  }
  COTANGENT_LANES COTANGENT_INLINE void store(void* const* to, extent row, int count) const {
    const int done[] = {0, carry_numbered<K>(*this).store(to[K], row, count)...};
    (void)done;
  }
  COTANGENT_LANES COTANGENT_INLINE void turn() {
    const int done[] = {0, carry_numbered<K>(*this).turn()...};
    (void)done;
  }
};

/// What stands for the reductions of a while loop's condition: it reads the carries of the body, and says for which of the N rows it
/// holds.
template <class Roles, int N, int Bytes, class Registers> struct test_registers {
  template <int B> static constexpr bool keeps = Roles::of(B).what == loop_buffer::carry || Roles::of(B).what == loop_buffer::test;
  const Registers& carries;
  register_type<bool, N, Bytes> holds = false;

  COTANGENT_LANES template <class V, int B, extent Offset, extent... Strides> COTANGENT_INLINE auto kept(access<Offset, Strides...>) const {
    const auto value = carry_numbered<Roles::of(B).number>(carries).now[Offset];
    if constexpr (std::is_same_v<V, bool>) return mask_cast<Bytes>(value);
    else return value;
  }
  COTANGENT_LANES template <class V, int B, class Access, class R> COTANGENT_INLINE void keep(Access, const R& value) { holds = value; }
  COTANGENT_LANES template <class Reduce, class R, class E> COTANGENT_INLINE void add(Reduce, const R& value, const E&) { holds = value; }
};

/// run(type_is<the body's kernel>, its roles, types<its carries>) for a loop whose carries stay in registers. (As arguments: nvcc names
/// a type by how it was found, and that way may lead through the user's function.)
template <class Facts, class Run> void with_loop_types(const Run& run) {
  using body = typename Facts::body;
  [&]<int... B, int... K>(std::integer_sequence<int, B...>, std::integer_sequence<int, K...>) {
    run(type_is<typename body::lowered::template kernel_of<0>>{}, loop_roles<role_number(loop_buffer_of<Facts>(B))...>{},
        types<carry_type<type_of<Facts::operand(K).type>, int(carry_row<Facts>(K))>...>{});
  }(std::make_integer_sequence<int, body::plan.steps[0].buffer_count>{}, std::make_integer_sequence<int, Facts::carries>{});
}
/// The same of the kernel of a while loop's condition: run(type_is<kernel>, roles).
template <class Facts, class Run> void with_test_types(const Run& run) {
  using condition = typename Facts::condition;
  [&]<int... B>(std::integer_sequence<int, B...>) {
    run(type_is<typename condition::lowered::template kernel_of<0>>{}, loop_roles<role_number(test_buffer_of<Facts>(B))...>{});
  }(std::make_integer_sequence<int, condition::plan.steps[0].buffer_count>{});
}
/// The body's kernel's arguments, without those that move or are in registers.
template <class Facts> COTANGENT_HOST_INLINE auto loop_arguments(typename Facts::body::state b) {
  using body = typename Facts::body;
  for (int i = 0; i < int(Facts::indexed) + Facts::carries + Facts::xs; ++i) body::input(b, i) = nullptr;
  for (int o = 0; o < body::output_count; ++o) body::output(b, o) = nullptr;
  return typename body::template step_arguments<0>(b);
}
template <class Facts> COTANGENT_HOST_INLINE auto test_arguments(typename Facts::condition::state c) {
  using condition = typename Facts::condition;
  for (int i = 0; i < Facts::tested; ++i) condition::input(c, i) = nullptr;
  condition::output(c, 0) = nullptr;
  return typename condition::template step_arguments<0>(c);
}

}  // namespace COTANGENT_ISA
}  // namespace cotangent::kernels
