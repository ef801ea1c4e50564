#pragma once
/// How loops and branches run: their bodies are executables of their own, which run on the caller's memory.

#include <cstring>

#include <cotangent/compiler/executable.hpp>
#include <cotangent/control/scan_primitive.hpp>

namespace cotangent {

/// The form of node N of a graph, as far as running needs it.
template <class Executable, int N> struct call_facts {
  static constexpr const auto& graph = Executable::graph;
  static constexpr node at = graph.nodes[N];
  static constexpr extent attribute(int k) { return graph.attributes[std::size_t(at.attributes + k)]; }
  static constexpr int bodies = int(attribute(0));
  template <int K> using body_maker = make_body<typename Executable::make, int(attribute(1 + K))>;
  static constexpr int results = int(attribute(1 + bodies));
  /// Where the primitive's own attributes begin.
  static constexpr int own = [] {
    int k = 2 + bodies;
    for (int r = 0; r < results; ++r) k += 2 + int(attribute(k + 1));
    return k;
  }();
  static constexpr int operands = at.operand_count;
  static constexpr const node& operand(int k) { return graph.nodes[std::size_t(graph.operands[std::size_t(at.operands + k)])]; }
  static constexpr call_form::result result(int r) {
    int k = 2 + bodies;
    for (; r > 0; --r) k += 2 + int(attribute(k + 1));
    call_form::result x;
    x.type = dtype(attribute(k));
    for (int i = 0; i < int(attribute(k + 1)); ++i) x.dims.push_back(attribute(k + 2 + i));
    return x;
  }
};

/// The bytes of the arena of a body, if they are known, and memory for one that is not.
template <class Body> constexpr extent static_arena() { return Body::plan.dynamic_arena ? 0 : Body::plan.arena_bytes; }
/// Sets the pointers of a body's intermediate values: in `scratch`, or if only the run knows their size, in memory of the
/// thread that is kept between calls.
template <class Body> COTANGENT_INLINE void place_body(typename Body::state& s, std::byte* scratch_memory) {
  if constexpr (Body::plan.dynamic_arena) {
    static thread_local scratch memory;
    Body::place(s, memory.get(Body::arena_bytes(s)));
  } else {
    Body::place(s, scratch_memory);
  }
}

/// Carries between two places of memory: the result's and, unless the body can write in place, another one.
template <class Body, int Carries, int FirstInput> struct carry_facts {
  static constexpr bool in_place(int k) {
    return Body::plan.buffers[std::size_t(Body::plan.output_buffers[std::size_t(k)])].reuses == FirstInput + k;
  }
};
template <int Carries, int FirstInput> struct donated_carries {
  constexpr flag_list operator()() const {
    flag_list flags;
    for (int i = 0; i < FirstInput; ++i) flags.push_back(0);
    for (int k = 0; k < Carries; ++k) flags.push_back(donated_to(std::size_t(k)));
    for (int i = 0; i < 512; ++i) flags.push_back(0);
    return flags;
  }
};

constexpr extent aligned_bytes(extent bytes) { return (bytes + arena_alignment - 1) / arena_alignment * arena_alignment; }

template <> struct control<scan_p> {
  template <class Executable, int N> struct facts : call_facts<Executable, N> {
    using base = call_facts<Executable, N>;
    static constexpr int carries = int(base::attribute(base::own + 1)), xs = int(base::attribute(base::own + 2));
    static constexpr int constants = base::operands - carries - xs, ys = base::results - carries;
    static constexpr bool reverse = base::attribute(base::own + 3) != 0, indexed = base::attribute(base::own + 4) != 0;
    using body = executable<typename base::template body_maker<0>, donated_carries<carries, int(indexed)>>;
    static constexpr bool in_place(int k) { return carry_facts<body, carries, int(indexed)>::in_place(k); }
    /// The bytes of the second places of carries that need one; with run-time extents they are the thread's.
    static constexpr bool static_carries = [] {
      for (int k = 0; k < carries; ++k)
        if (has_symbol(base::operand(k).dims)) return false;
      return true;
    }();
    static constexpr extent carry_bytes = [] {
      extent bytes = 0;
      for (int k = 0; k < carries && static_carries; ++k)
        if (!in_place(k)) bytes += aligned_bytes(base::operand(k).dims.size() * size_of(base::operand(k).type));
      return bytes;
    }();
  };

  template <class Executable, int N> static constexpr extent scratch() {
    using f = facts<Executable, N>;
    return f::carry_bytes + static_arena<typename f::body>();
  }

  template <class Executable, int Step> static void run(const typename Executable::state& s) {
    constexpr step x = Executable::plan.steps[Step];
    using f = facts<Executable, x.node>;
    using body = typename f::body;
    void* const* const where = s.buffers;
    const auto buffer_of = [&](int k) { return static_cast<std::byte*>(where[Executable::plan.step_buffers[std::size_t(x.buffers + k)]]); };
    const auto bytes_of = [&](dtype type, const shape& dims) { return s.value(dims).size() * size_of(type); };
    const extent length = s.value(f::attribute(f::own));
    std::byte* memory = buffer_of(f::operands + f::results);

    // Where carries are before a step and after it, and their bytes.
    std::byte *from[f::carries + 1], *last[f::carries + 1], *other[f::carries + 1];
    extent bytes[f::carries + 1];
    for (int k = 0; k < f::carries; ++k) {
      bytes[k] = bytes_of(f::operand(k).type, f::operand(k).dims);
      from[k] = buffer_of(k), last[k] = other[k] = buffer_of(f::operands + k);
    }
    if (length == 0) {
      for (int k = 0; k < f::carries; ++k)
        if (bytes[k] > 0) std::memcpy(last[k], from[k], std::size_t(bytes[k]));
      return;
    }
    if constexpr (!f::static_carries) {
      static thread_local cotangent::scratch carries;
      extent total = 0;
      for (int k = 0; k < f::carries; ++k)
        if (!f::in_place(k)) total += aligned_bytes(bytes[k]);
      std::byte* at = carries.get(total);
      for (int k = 0; k < f::carries; ++k)
        if (!f::in_place(k)) other[k] = at, at += aligned_bytes(bytes[k]);
    } else {
      for (int k = 0; k < f::carries; ++k)
        if (!f::in_place(k)) other[k] = memory, memory += aligned_bytes(bytes[k]);
    }

    typename body::state b;
    constexpr int first_carry = int(f::indexed), first_x = first_carry + f::carries, first_constant = first_x + f::xs;
    if constexpr (body::has_symbols) {
      shape shapes[body::input_count > 0 ? body::input_count : 1];
      for (int k = 0; k < f::operands; ++k) {
        const shape dims = s.value(f::operand(k).dims);
        shapes[first_carry + k] = k >= f::carries && k < f::carries + f::xs ? erase(dims, 0) : dims;
      }
      body::evaluate_symbols(b, shapes);
    }
    place_body<body>(b, memory);
    for (int k = 0; k < f::constants; ++k) body::input(b, first_constant + k) = buffer_of(f::carries + f::xs + k);

    std::byte *x_at[f::xs + 1], *y_at[f::ys + 1];
    extent x_step[f::xs + 1], y_step[f::ys + 1];
    const extent start = f::reverse ? length - 1 : 0;
    for (int k = 0; k < f::xs; ++k) {
      const node& o = f::operand(f::carries + k);
      x_step[k] = bytes_of(o.type, erase(o.dims, 0));
      x_at[k] = buffer_of(f::carries + k) + start * x_step[k];
      if (f::reverse) x_step[k] = -x_step[k];
    }
    for (int k = 0; k < f::ys; ++k) {
      const call_form::result r = f::result(f::carries + k);
      y_step[k] = bytes_of(r.type, erase(r.dims, 0));
      y_at[k] = buffer_of(f::operands + f::carries + k) + start * y_step[k];
      if (f::reverse) y_step[k] = -y_step[k];
    }
    std::int32_t index = std::int32_t(start);
    if constexpr (f::indexed) body::input(b, 0) = &index;
    for (extent i = 0; i < length; ++i) {
      const bool is_last_place = ((length - 1 - i) & 1) == 0;
      for (int k = 0; k < f::carries; ++k) {
        std::byte* const to = is_last_place ? last[k] : other[k];
        body::input(b, first_carry + k) = from[k];
        body::output(b, k) = to;
        from[k] = to;
      }
      for (int k = 0; k < f::xs; ++k) body::input(b, first_x + k) = x_at[k], x_at[k] += x_step[k];
      for (int k = 0; k < f::ys; ++k) body::output(b, f::carries + k) = y_at[k], y_at[k] += y_step[k];
      body::run(b);
      index += f::reverse ? -1 : 1;
    }
  }
};

template <> struct control<barrier_p> {
  template <class Executable, int N> static constexpr extent scratch() { return 0; }
  template <class Executable, int Step> static void run(const typename Executable::state&) {}
};

}  // namespace cotangent
