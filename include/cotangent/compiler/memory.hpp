#pragma once
/// The memory plan: which intermediate values share bytes of one arena, and which donated inputs become outputs.

#include <array>

#include <cotangent/compiler/estimate.hpp>
#include <cotangent/core/storage.hpp>
#include <cotangent/graph/freeze.hpp>

namespace cotangent {

inline constexpr extent arena_alignment = 64;

/// Bytes of a value, rounded up to the arena's alignment; every extent must be a number.
constexpr extent buffer_bytes(const buffer& b) {
  return (b.dims.size() * size_of(b.type) + arena_alignment - 1) / arena_alignment * arena_alignment;
}

/// Where values of the arena begin in the room that each takes: those of many pages at places in a page that differ.
class arena_room {
 public:
  static constexpr extent least = 4 * extent(page);  // of values that begin at such places
  static constexpr extent bytes(extent of_value) { return of_value < least ? of_value : of_value + extent(page); }
  constexpr extent begin(extent room, extent of_value) {
    if (of_value < least) return room;
    const extent place = extent(place_in_page(turn_++)), first = room % extent(page);
    return room - first + place + (place < first ? extent(page) : 0);
  }

 private:
  std::size_t turn_ = 0;
};

/// Whether step `at` reads buffer `b` only at the very elements that it writes to `to`, point by point, and before it
/// writes them.
constexpr bool reads_in_place(const schedule& s, int at, int b, int to) {
  const step& x = s.steps[std::size_t(at)];
  if (x.node >= 0) return false;
  const statement* stored = nullptr;
  int stored_at = 0;
  for (int i = 0; i < x.statement_count; ++i) {
    const statement& t = s.statements[std::size_t(x.statements + i)];
    if (t.what == statement::store && s.step_buffers[std::size_t(x.buffers + t.buffer)] == to) stored = &t, stored_at = i;
    if (t.what == statement::reduce && s.step_buffers[std::size_t(x.buffers + t.buffer)] == to) return false;
  }
  if (!stored) return false;
  for (int i = 0; i < x.statement_count; ++i) {
    const statement& t = s.statements[std::size_t(x.statements + i)];
    if (t.what != statement::load || s.step_buffers[std::size_t(x.buffers + t.buffer)] != b) continue;
    if (i > stored_at || t.indexed_strides.rank > 0 || t.windowed != 0 || t.where.offset != stored->where.offset || !(t.where.strides == stored->where.strides)) return false;
  }
  return true;
}

/// The first step that touches a buffer.
constexpr int first_step_with(const schedule& s, int b) {
  int at = s.buffers[std::size_t(b)].first;
  while (!touches(s, at, b)) ++at;
  return at;
}
/// The steps that run together with step `at`, as a group that may be it alone.
constexpr row_blocks steps_beside(const schedule& s, int at) {
  for (const row_blocks& r : s.blocks)
    if (at >= r.first && at < r.first + r.count) return r;
  return {.first = at, .count = 1};
}

/// The operand of opaque step or call `at` over which it can write its result in buffer `b`, and which ends there; or -1.
constexpr int overwritten_operand(const schedule& s, int at, int b) {
  const step& x = s.steps[std::size_t(at)];
  if (x.node < 0 || x.in_place == 0) return -1;
  const auto buffer_at = [&](int k) { return s.step_buffers[std::size_t(x.buffers + k)]; };
  for (int r = 0; x.operands + r < x.buffer_count && r < x.operands && r < 64; ++r) {
    if (buffer_at(x.operands + r) != b || !(x.in_place >> r & 1)) continue;
    const int operand = buffer_at(r);
    for (int k = 0; k < x.buffer_count; ++k)
      if (k != r && buffer_at(k) == operand) return -1;
    const row_blocks group = steps_beside(s, at);
    for (int other = group.first; other < group.first + group.count; ++other)
      if (other != at && touches(s, other, operand)) return -1;
    const buffer &from = s.buffers[std::size_t(operand)], &to = s.buffers[std::size_t(b)];
    return from.last == group.first + group.count - 1 && from.dims == to.dims && from.type == to.type ? operand : -1;
  }
  return -1;
}

/// Whether something else reads buffer `b` while step `at` runs: the gemm on whose rows that kernel runs.
constexpr bool is_read_beside(const schedule& s, int at, int b) { return s.steps[std::size_t(at)].after_rows && touches(s, at - 1, b); }

/// What the flag of a donated input says: any output may take its memory, or only output `o`.
inline constexpr char donated_to_any = 1;
constexpr char donated_to(std::size_t o) { return o < 100 ? char(2 + o) : 0; }

/// Lets outputs take the memory of donated inputs (flags per input) where no later step reads the input.
constexpr void donate(schedule& s, const flag_list& donated) {
  sequence<int> given;  // the buffers of such inputs that no output has taken
  for (std::size_t i = 0; i < s.buffers.size(); ++i)
    if (s.buffers.items[i].where == buffer::input && donated[std::size_t(s.buffers.items[i].number)] != 0) given.push_back(int(i));
  for (std::size_t o = 0; o < s.buffers.size() && !given.empty(); ++o) {
    buffer& out = s.buffers.items[o];
    if (out.where != buffer::output || out.first < 0) continue;
    const int written = first_step_with(s, int(o));
    const row_blocks group = steps_beside(s, written);  // all of them still read
    for (std::size_t k = 0; k < given.size() && out.reuses < 0; ++k) {
      const int i = given[k];
      const buffer& in = s.buffers[std::size_t(i)];
      const char to = donated[std::size_t(in.number)];
      if ((to != donated_to_any && to != donated_to(std::size_t(out.number))) || in.type != out.type || !(in.dims == out.dims) || is_read_beside(s, written, i)) continue;
      if (!(in.last < group.first || (group.count == 1 && in.last == written && reads_in_place(s, written, i, int(o))) || overwritten_operand(s, written, int(o)) == i)) continue;
      out.reuses = in.number;
      for (; k + 1 < given.size(); ++k) given[k] = given[k + 1];
      given.pop_back();
    }
  }
}

/// Lets the intermediate value in buffer i lie where output o will.
constexpr void lend(schedule& s, int i, int o) {
  for (int& b : s.step_buffers)
    if (b == i) b = o;
  buffer& value = s.buffers[std::size_t(i)];
  s.buffers[std::size_t(o)].first = value.first;
  value = {.type = value.type, .dims = {0}};
}
/// Lets intermediate values over which outputs are written lie there.
constexpr void lend_overwritten(schedule& s) {
  for (int o = 0; o < int(s.buffers.size()); ++o) {
    const buffer& out = s.buffers[std::size_t(o)];
    if (out.where != buffer::output || out.first < 0) continue;
    const auto overwritten = [&] { return overwritten_operand(s, first_step_with(s, o), o); };
    for (int i = overwritten(); i >= 0 && s.buffers[std::size_t(i)].where == buffer::arena; i = overwritten()) lend(s, i, o);
  }
}
/// Per step, the buffers for which `step_of` names it, in order: the first one, and behind each the next one; or -1.
struct buffers_of_steps {
  sequence<int> first, next;
  template <class StepOf> constexpr buffers_of_steps(const schedule& s, const StepOf& step_of) {
    first.assign(s.steps.size(), -1), next.assign(s.buffers.size(), -1);
    for (std::size_t b = s.buffers.size(); b-- > 0;)
      if (const int at = step_of(s.buffers.items[b]); at >= 0) next[b] = first[std::size_t(at)], first[std::size_t(at)] = int(b);
  }
};

/// The same for those of an output's shape that the step which writes it reads last, point by point.
constexpr void lend_outputs(schedule& s) {
  const buffers_of_steps ending(s, [](const buffer& b) { return b.where == buffer::arena && b.first >= 0 ? b.last : -1; });
  for (int o = 0; o < int(s.buffers.size()); ++o) {
    const buffer& out = s.buffers[std::size_t(o)];
    if (out.where != buffer::output || out.first < 0 || out.reuses >= 0) continue;
    const int written = first_step_with(s, o);
    if (steps_beside(s, written).count > 1) continue;
    for (int i = ending.first[std::size_t(written)]; i >= 0; i = ending.next[std::size_t(i)]) {
      const buffer& value = s.buffers[std::size_t(i)];
      if (value.where != buffer::arena || value.first < 0 || value.last != written || value.type != out.type || !(value.dims == out.dims)) continue;
      if (is_read_beside(s, written, i) || !reads_in_place(s, written, i, o) || overwritten_operand(s, first_step_with(s, i), i) >= 0) continue;
      lend(s, i, o);
      break;
    }
  }
}

/// Gives every intermediate value an offset in the arena; values whose lifetimes overlap do not overlap. First fit,
/// in the order in which the values are made. With run-time extents every value gets its own place, per call.
constexpr void plan_memory(schedule& s, const flag_list& donated) {
  lend_overwritten(s);
  donate(s, donated);
  lend_outputs(s);
  for (const buffer& b : s.buffers)
    if (b.where == buffer::arena && has_symbol(b.dims)) s.dynamic_arena = true;
  if (s.dynamic_arena) return;
  struct interval {
    extent offset, end;
    int last;
  };
  sequence<interval> placed;  // by offset
  arena_room room;
  const buffers_of_steps made(s, [](const buffer& b) { return b.where == buffer::arena ? b.first : -1; });
  for (std::size_t at = 0; at < s.steps.size(); ++at) {
    // Only what is still alive matters: steps are visited in order.
    std::size_t kept = 0;
    for (std::size_t i = 0; i < placed.size(); ++i)
      if (placed[i].last >= int(at)) placed[kept++] = placed[i];
    while (placed.size() > kept) placed.pop_back();
    for (int number = made.first[at]; number >= 0; number = made.next[std::size_t(number)]) {
      buffer& b = s.buffers[std::size_t(number)];
      const extent bytes = arena_room::bytes(buffer_bytes(b));
      const int operand = overwritten_operand(s, first_step_with(s, number), number);
      if (operand >= 0 && s.buffers[std::size_t(operand)].where == buffer::arena) {
        b.offset = s.buffers[std::size_t(operand)].offset;
        for (interval& x : placed)
          if (x.offset <= b.offset && b.offset < x.end && x.last < b.last) x.last = b.last;
        continue;
      }
      extent offset = 0;
      std::size_t i = 0;
      for (; i < placed.size() && placed[i].offset < offset + bytes; ++i)
        if (placed[i].end > offset) offset = placed[i].end;
      b.offset = room.begin(offset, buffer_bytes(b));
      placed.push_back({offset, offset + bytes, b.last});
      for (std::size_t k = placed.size() - 1; k > i; --k) {
        const interval t = placed[k];
        placed[k] = placed[k - 1], placed[k - 1] = t;
      }
      if (offset + bytes > s.arena_bytes) s.arena_bytes = offset + bytes;
    }
  }
}

/// The schedule of `g` with its memory plan.
constexpr schedule make_schedule(const graph& g, const flag_list& donated, const sequence<call_memory>& calls, sequence<symbol>* symbols, schedule_choices choices = {}) {
  sequence<symbol> found;
  schedule r = chosen_schedule(g, calls, found, choices);
  if (symbols) *symbols = found;
  plan_memory(r, donated);
  return r;
}

/// The sizes of a plan's lists.
struct plan_sizes {
  std::size_t steps = 0, statements = 0, step_buffers = 0, slots = 0, windows = 0, buffers = 0, symbols = 0, equalities = 0, outputs = 0, blocks = 0;
};

/// A schedule as a list of numbers, in which each object is followed by its lists.
template <std::size_t Capacity> struct packed_plan {
  packed_words<Capacity> data;
  plan_sizes sizes;

  constexpr packed_plan(const graph& g, const flag_list& donated, const sequence<call_memory>& calls, schedule_choices choices) {
    sequence<symbol> symbols;
    const schedule s = make_schedule(g, donated, calls, &symbols, choices);
    sizes = {s.steps.count, s.statements.count, s.step_buffers.count, s.slots.count, s.windows.count,
             s.buffers.count, symbols.count, g.equalities.count, s.output_buffers.count, s.blocks.count};
    put(s.arena_bytes), put(s.dynamic_arena);
    for (const step& x : s.steps) {
      for (extent e : {x.node, x.statements, x.statement_count, x.buffers, x.buffer_count, x.slots, x.slot_count, x.operands}) put(e);
      put(extent(x.in_place)), put(x.after_rows), put(x.turns), put(extent(x.moving)), put(x.space);
    }
    for (std::size_t i = 0; i < s.statements.count; ++i) put(s.statements.items[i]);
    for (int b : s.step_buffers) put(b);
    for (extent e : s.slots) put(e);
    for (const window& w : s.windows) put(w.dimension), put(w.offset), put(w.extent_inside), put(w.wraps);
    for (const buffer& b : s.buffers) {
      for (extent e : {extent(b.where), extent(b.number), extent(b.type), extent(b.first), extent(b.last), b.offset, extent(b.reuses)}) put(e);
      put(b.dims);
    }
    for (const symbol& x : symbols) put(x.what), put(x.a), put(x.b);
    for (const equality& e : g.equalities) {
      put(e.a), put(e.b);
      for (extent word : e.of.words) put(word);
    }
    for (int o : s.output_buffers) put(o);
    for (const row_blocks& x : s.blocks)
      for (extent e : {extent(x.first), extent(x.count), x.rows, x.block, x.row_bytes, x.memory}) put(e);
  }

 private:
  constexpr void put(extent e) {
    if (extent* to = data.extend(1)) *to = e;
  }
  constexpr void put(const shape& s) {
    if (extent* to = data.extend(1 + std::size_t(s.rank))) {
      to[0] = s.rank;
      for (int i = 0; i < s.rank; ++i) to[i + 1] = s.dims[i];
    }
  }
  constexpr void put(const statement& s) {
    extent* to = data.extend(8 + std::size_t(s.register_count));
    if (!to) return;
    to[0] = s.what + 16 * s.finds_place + 32 * s.ahead, to[1] = extent(s.type), to[2] = s.node, to[3] = extent(s.op_id), to[4] = extent(s.bits);
    to[5] = s.buffer, to[6] = s.indexed_strides.rank, to[7] = s.register_count;
    for (int i = 0; i < s.register_count; ++i) to[8 + i] = s.registers[i];
    if (!s.has_access()) return;
    put(s.where.offset), put(s.where.strides);
    for (int i = 0; i < s.indexed_strides.rank; ++i) put(s.indexed[i]), put(s.indexed_strides[i]);
    put(s.windows), put(s.windowed);
  }
};

/// A schedule as a value that a constexpr variable can hold.
template <plan_sizes S> struct plan {
  std::array<step, S.steps> steps{};
  std::array<statement, S.statements> statements{};
  std::array<int, S.step_buffers> step_buffers{};
  std::array<extent, S.slots> slots{};
  std::array<window, S.windows> windows{};
  std::array<buffer, S.buffers> buffers{};
  std::array<symbol, S.symbols> symbols{};
  std::array<equality, S.equalities> equalities{};
  std::array<int, S.outputs> output_buffers{};
  std::array<row_blocks, S.blocks> blocks{};
  extent arena_bytes = 0;
  bool dynamic_arena = false;

  template <std::size_t Capacity> constexpr explicit plan(const packed_plan<Capacity>& packed) {
    const extent* from = packed.data.words;
    const auto take = [&]<class T>(T& to) { to = T(*from++); };
    const auto take_shape = [&](shape& to) {
      to.rank = int(*from++);
      for (int i = 0; i < to.rank; ++i) to.dims[i] = *from++;
    };
    take(arena_bytes), take(dynamic_arena);
    for (step& x : steps) {
      for (int* to : {&x.node, &x.statements, &x.statement_count, &x.buffers, &x.buffer_count, &x.slots, &x.slot_count, &x.operands}) take(*to);
      take(x.in_place), take(x.after_rows), take(x.turns), take(x.moving), take_shape(x.space);
    }
    statement* const made = statements.data();
    for (statement* at = made; at != made + S.statements; ++at) {
      statement& s = *at;
      s.what = statement::kind(from[0] % 16), s.finds_place = (from[0] & 16) != 0, s.ahead = (from[0] & 32) != 0, s.type = dtype(from[1]), s.node = int(from[2]), s.op_id = std::uint64_t(from[3]);
      s.bits = std::uint64_t(from[4]), s.buffer = int(from[5]);
      s.indexed_strides.rank = int(from[6]), s.register_count = int(from[7]);
      from += 8;
      for (int i = 0; i < s.register_count; ++i) s.registers[i] = int(from[i]);
      from += s.register_count;
      if (!s.has_access()) continue;
      take(s.where.offset), take_shape(s.where.strides);
      for (int i = 0; i < s.indexed_strides.rank; ++i) take(s.indexed[i]), take(s.indexed_strides[i]);
      take(s.windows), take(s.windowed);
    }
    for (int& b : step_buffers) take(b);
    for (extent& e : slots) take(e);
    for (window& w : windows) take(w.dimension), take(w.offset), take(w.extent_inside), take(w.wraps);
    for (buffer& b : buffers) {
      take(b.where), take(b.number), take(b.type), take(b.first), take(b.last), take(b.offset), take(b.reuses);
      take_shape(b.dims);
    }
    for (symbol& x : symbols) take(x.what), take(x.a), take(x.b);
    for (equality& e : equalities) {
      take(e.a), take(e.b);
      for (extent& word : e.of.words) take(word);
    }
    for (int& o : output_buffers) take(o);
    for (row_blocks& x : blocks) take(x.first), take(x.count), take(x.rows), take(x.block), take(x.row_bytes), take(x.memory);
  }
};

struct no_calls {
  constexpr sequence<call_memory> operator()() const { return {}; }
};

#ifdef __clang__
template <auto Make, auto Donated, std::size_t Capacity, auto Calls, schedule_choices Choices>
inline constexpr packed_plan<Capacity> packed_plan_of(Make(), Donated(), Calls(), Choices);
#endif

/// The plan of the graph that `Make` returns; `Donated` returns a flag per input, `Calls` what each call's bodies
/// need. They are evaluated once, or twice if the plan is very large.
template <auto Make, auto Donated, std::size_t Capacity = 1 << 16, auto Calls = no_calls{}, schedule_choices Choices = schedule_choices{}> consteval auto make_plan() {
#ifdef __clang__  // as in `freeze`
  constexpr const auto& packed = packed_plan_of<Make, Donated, Capacity, Calls, Choices>;
#else
  constexpr packed_plan<Capacity> packed(Make(), Donated(), Calls(), Choices);
#endif
  if constexpr (packed.data.count > Capacity) return make_plan<Make, Donated, packed.data.count, Calls, Choices>();
  else return plan<packed.sizes>(packed);
}

}  // namespace cotangent
