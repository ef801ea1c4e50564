#pragma once
/// What a backend needs to know of a kernel type before it runs it, as constexpr tables: the dimensions left
/// after neighbours are merged, which statements depend on the lane dimension, and where each register lives.
/// One constant evaluation per kernel, linear in its statements.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <utility>

#include <cotangent/compiler/kernel.hpp>
#include <cotangent/core/dtype.hpp>
#include <cotangent/core/macros.hpp>
#include <cotangent/core/sequence.hpp>

namespace cotangent::kernels {

COTANGENT_HD constexpr extent smaller(extent a, extent b) { return a < b ? a : b; }
COTANGENT_HD constexpr extent divide_up(extent a, extent b) { return (a + b - 1) / b; }

/// is_slot, as a constant that device code may ask for.
template <extent E> inline constexpr bool names_slot = is_slot(E);

/// The value of an extent, stride or offset: the number itself, or the run-time extent that a slot names.
template <extent E> COTANGENT_INLINE constexpr extent value_of([[maybe_unused]] const extent* slots) {
  if constexpr (names_slot<E>) return slots[E - slot_base];
  else return E;
}

/// A kernel's dimensions after merging: dimension d stands for the kernel's own dimensions first[d]..last[d].
/// Dimensions of extent 1 are dropped; neighbours that every access walks as one are merged; the last is the lane.
struct merged_dims {
  int rank = 0;
  int first[max_rank] = {};
  int last[max_rank] = {};
  int merged_from[max_rank] = {};  // kernel dimension -> merged dimension; -1 if dropped

  constexpr int outer() const { return rank > 0 ? rank - 1 : 0; }
};

enum class action : std::uint8_t { load, constant, index, apply, store, reduce };

/// What a register depends on.
enum class source : std::uint8_t {
  constant,  // nothing: set before every vector, for the compiler to see
  fixed,     // the row: one value for all lanes
  varying    // the lane
};

/// How a reduce statement's result relates to the lane dimension and to the outer ones.
enum class reduction : std::uint8_t {
  keeps_lane,   // one result per lane: a row of results is updated in memory
  row,          // one result per outer index: lanes are summed in registers, row by row
  whole,        // one result: lanes are summed in registers over all rows
  place         // one result per outer index, of a whole row: where its extremum lies, or the extremum of such a place
};
struct reduce_facts {
  reduction scope = reduction::row;
  int place = 0;                // among the kernel's reductions
  int sum = 0;                  // its register, among those of its type
  int index = 0;                // of a place: the register of indices, among those of int32
  bool is_found = false;        // the extremum of a place, whose register it is
  std::uint32_t kept_dims = 0;  // bit d is set if merged dimension d is not reduced
};

/// Source k of table::sources.
constexpr source source_of(unsigned sources, int k) { return source(sources >> (2 * k) & 3u); }

/// The types that kernels compute in, in the order of count_by_type: the rare ones last, whose zeros are not part of a kernel's name.
inline constexpr dtype computed_types[] = {dtype::float32, dtype::float64, dtype::int32, dtype::int64, dtype::boolean, dtype::uint32,
                                           dtype::uint64,  dtype::uint8,   dtype::int8,  dtype::int16, dtype::uint16};
constexpr int type_place(dtype d) {
  int place = 0;
  while (computed_types[place] != d) ++place;
  return place;
}

/// A number per type. Not an array: g++ 12 takes two class template arguments for one if their arrays differ only in
/// where the nonzero elements are.
struct count_by_type {
  static constexpr int types = int(std::size(computed_types));
  int floats = 0, doubles = 0, ints = 0, longs = 0, masks = 0, unsigned_ints = 0, unsigned_longs = 0, bytes = 0, signed_bytes = 0, shorts = 0, unsigned_shorts = 0;

  constexpr int& operator[](int place) {
    int* const counts[] = {&floats, &doubles, &ints, &longs, &masks, &unsigned_ints, &unsigned_longs, &bytes, &signed_bytes, &shorts, &unsigned_shorts};
    return *counts[place];
  }
  constexpr int total() const { return floats + doubles + ints + longs + masks + unsigned_ints + unsigned_longs + bytes + signed_bytes + shorts + unsigned_shorts; }
};

/// All that a kernel's loops need to know of it besides its statements. A small value, because it is part of the
/// name of every function that runs a statement: a whole kernel in those names costs the compiler quadratic time.
struct kernel_shape {
  std::uint32_t merges = 0;                 // bit d is set if kernel dimension d is merged with the one before it
  count_by_type constants, fixed, varying;  // registers
  count_by_type sums;                       // reductions
  int reductions = 0;
  int buffers = 0;
  int slots = 0;
  int work = 0;            // statements evaluated per point, for deciding about tasks
  int widest = 1;          // bytes of the widest type
  bool finds_places = false;  // rows are walked whole
  bool shares_columns = false;  // finds extrema of rows, and neighbouring rows share loads
  bool only_reduces = false;  // nothing is stored, and no window looked through
  bool shares_rows = false;  // reads rows that its neighbours read as well
  bool scatters = false;   // has a store whose address is computed: order matters
  bool stores_once = false;
  int choice = 0;          // one more than the place of the condition, one for a row, without which points add nothing; 0: there is none
  std::uint32_t choice_dims = 0;  // bit d is set if it depends on merged dimension d
  int lane_choice = 0;     // with such a choice: the same of the condition, one for each lane, without which points that it leaves add nothing
  bool ascends = false;    // two dimensions, and points whose second index is less than the first add nothing; greater: inside
  // The lanes [inner_first, inner_extent - inner_reach), if inner_extent is not 0, see all windows along the lanes inside of their
  // rows. inner_extent may be a slot.
  extent inner_first = 0, inner_extent = 0, inner_reach = 0;
};

template <extent... Extents> constexpr merged_dims dims_of(space<Extents...>, std::uint32_t merges) {
  const extent extents[] = {Extents..., 1};
  merged_dims m;
  for (int d = 0; d < int(sizeof...(Extents)); ++d) {
    m.merged_from[d] = -1;
    if (extents[d] == 1) continue;
    if (m.rank > 0 && (merges >> d & 1u)) {
      m.last[m.rank - 1] = d;
    } else {
      m.first[m.rank] = m.last[m.rank] = d;
      ++m.rank;
    }
    m.merged_from[d] = m.rank - 1;
  }
  return m;
}

/// A kernel's shape and extents.
template <kernel_shape Shape, class Space> struct layout;
template <kernel_shape Shape, extent... Extents> struct layout<Shape, space<Extents...>> {
  static constexpr kernel_shape shape = Shape;
  static constexpr merged_dims dims = dims_of(space<Extents...>{}, Shape.merges);
  static constexpr extent own_extents[max_rank + 1] = {Extents...};

  /// The extent of merged dimension d.
  static COTANGENT_INLINE constexpr extent extent_of(int d, [[maybe_unused]] const extent* slots) {
    constexpr merged_dims merged = dims;
    const extent all[] = {value_of<Extents>(slots)..., 1};
    extent n = 1;
    for (int i = merged.first[d]; i <= merged.last[d]; ++i) n *= all[i];
    return n;
  }

  /// Whether every extent is a number, and how many points there are then.
  static constexpr bool is_static = !(false || ... || is_slot(Extents));
  static constexpr extent points = is_static ? (extent(1) * ... * Extents) : -1;
  static COTANGENT_INLINE constexpr extent points_of([[maybe_unused]] const extent* slots) { return (extent(1) * ... * value_of<Extents>(slots)); }
};

namespace facts {

/// Dimensions d such that the access walks d and d + 1 as one dimension, as bits.
template <extent Offset, extent... Strides>
constexpr std::uint32_t mergeable(access<Offset, Strides...>, const extent* extents) {
  constexpr int rank = sizeof...(Strides);
  const extent strides[] = {Strides..., 0};
  std::uint32_t bits = ~std::uint32_t(0);
  for (int d = 0, e = 1; e < rank; ++e) {  // d: the last dimension before e that is not dropped
    if (extents[e] == 1) continue;
    if (extents[d] != 1) {
      const bool both_zero = strides[d] == 0 && strides[e] == 0;
      const bool numbers = !is_slot(strides[d]) && !is_slot(strides[e]) && !is_slot(extents[e]);
      const bool follows = numbers ? strides[d] == strides[e] * extents[e] : strides[e] == 1 && strides[d] == extents[e];
      if (!both_zero && !follows) bits &= ~(std::uint32_t(1) << e);
    }
    d = e;
  }
  return bits;
}

/// The stride of an access along kernel dimension d; 0 for d == -1.
template <extent Offset, extent... Strides> constexpr extent stride_along(access<Offset, Strides...>, int d) {
  const extent strides[] = {Strides..., 0};
  return d < 0 ? 0 : strides[d];
}

/// A form in numbers.
struct form_facts {
  action kind = action::constant;
  dtype type = dtype::float32;
  int type_place = 0;
  int operands = 0;
  int buffer = -1;
  std::uint32_t mergeable = ~0u;
  extent strides[max_rank + 1] = {};  // of its access
  extent offset = 0;
  int slots = 0;                      // one more than the greatest slot that it names
  int index_registers[max_rank] = {};  // the registers of its run-time indices
  extent index_strides[max_rank] = {};
  int index_count = 0;
  bool once = false;                   // store_once
  bool chooses = false, ascends = false;  // apply: a select; false where its first operand is greater than the second
  bool differs = false;                // apply: and false where it is less
  int inside = -1;                     // apply: the operand that the result is where that, an index, is in its range
  bool multiplies = false;             // apply: a product of floating-point numbers
  bool is_zero = false;                // a constant
  bool adds = false;                   // reduce: zeros change nothing
  bool adds_products = false;          // reduce: takes products that are not rounded
  int extremum = 0;                    // reduce: -1 for a least element, 1 for a greatest one
  bool finds_place = false;
  std::uint32_t windowed = 0;          // bit d is set if it is read at another index along kernel dimension d
  extent window_offsets[max_rank] = {}, window_extents[max_rank] = {};  // along such dimensions

  constexpr void names(extent e) {
    if (is_slot(e) && int(e - slot_base) >= slots) slots = int(e - slot_base) + 1;
  }
  template <extent Offset, extent... Strides> constexpr void accesses(access<Offset, Strides...> where, const extent* extents) {
    const extent all[] = {Strides..., 0};
    for (int d = 0; d < int(sizeof...(Strides)); ++d) names(strides[d] = all[d]);
    names(offset = Offset);
    mergeable = facts::mergeable(where, extents);
  }
  template <int R, extent Stride> constexpr int indexes(indexed<R, Stride>) {
    names(Stride);
    index_strides[index_count] = Stride;
    index_registers[index_count++] = R;
    return 0;
  }
};

template <class T> constexpr form_facts form_of_type(action kind, int operands, int buffer = -1) {
  form_facts f;
  f.kind = kind, f.type = dtype_of<T>, f.type_place = kernels::type_place(f.type), f.operands = operands, f.buffer = buffer;
  return f;
}
template <class T, int B, class A, class... X> constexpr form_facts describe(load<T, B, A, X...>, const extent* extents) {
  form_facts f = form_of_type<T>(action::load, 0, B);
  f.accesses(A{}, extents);
  const int done[] = {0, f.indexes(X{})...};
  (void)done;
  return f;
}
template <class T, int B, class A, class... X> constexpr form_facts describe(load_ahead<T, B, A, X...>, const extent* extents) { return describe(load<T, B, A, X...>{}, extents); }
/// The offset of a window that wraps around n elements, as the one nearest to 0 that reads the same.
constexpr extent nearest_offset(extent offset, extent n, bool wraps) {
  if (!wraps || is_slot(n) || n < 1) return offset;
  offset = (offset % n + n) % n;
  return 2 * offset > n ? offset - n : offset;
}
/// The bits of dimension d and of the next one that is not dropped: those that must not be merged if d's index matters.
constexpr std::uint32_t kept_apart(int d, const extent* extents) {
  int next = d + 1;
  while (next < max_rank && extents[next] == 1) ++next;
  return 1u << d | 1u << next;
}
template <class T, int B, class A, int... Dim, extent... Offset, extent... Extent, bool... Wraps>
constexpr form_facts describe(load_window<T, B, A, window_along<Dim, Offset, Extent, Wraps>...>, const extent* extents) {
  form_facts f = describe(load<T, B, A>{}, extents);
  const int done[] = {0, (f.names(Extent), f.windowed |= 1u << Dim, f.mergeable &= ~kept_apart(Dim, extents),
                          f.window_offsets[Dim] = nearest_offset(Offset, Extent, Wraps), f.window_extents[Dim] = Extent, 0)...};
  (void)done;
  return f;
}
template <class T, unsigned long Bits> constexpr form_facts describe(constant<T, Bits>, const extent*) {
  form_facts f = form_of_type<T>(action::constant, 0);
  f.is_zero = Bits == 0;
  return f;
}
template <class T, class A> constexpr form_facts describe(index<T, A>, const extent* extents) {
  form_facts f = form_of_type<T>(action::index, 0);
  f.accesses(A{}, extents);
  return f;
}
template <class Op, class T, class... A> constexpr form_facts describe(apply<Op, T, A...>, const extent*) {
  static_assert(sizeof...(A) <= max_operands);
  form_facts f = form_of_type<T>(action::apply, int(sizeof...(A)));
  f.chooses = requires { Op::chooses; }, f.ascends = requires { Op::ascends; }, f.differs = requires { Op::differs; };
  f.inside = requires { Op::clamps; } ? 1 : f.chooses ? 2 : -1;
  f.multiplies = std::is_floating_point_v<T> && requires { Op::multiplies; };
  return f;
}
template <class T, int B, class A, class... X> constexpr form_facts describe(store<T, B, A, X...>, const extent* extents) {
  form_facts f = form_of_type<T>(action::store, 1, B);
  f.accesses(A{}, extents);
  const int done[] = {0, f.indexes(X{})...};
  (void)done;
  return f;
}
template <class T, int B, class A> constexpr form_facts describe(store_once<T, B, A>, const extent* extents) {
  form_facts f = describe(store<T, B, A>{}, extents);
  f.once = true;
  return f;
}
template <class Op, class T, int B, class A> constexpr form_facts describe(reduce<Op, T, B, A>, const extent* extents) {
  form_facts f = form_of_type<T>(action::reduce, 1, B);
  f.accesses(A{}, extents);
  f.finds_place = finds_place<Op>;
  f.adds = Op::template identity<T>() == T(0);
  f.adds_products = std::is_floating_point_v<T> && requires(T x) { Op::add_product(x, x, x); };
  if constexpr (requires(T x) { Op::reaches(x, x); }) f.extremum = Op::template identity<T>() > T(0) ? -1 : 1;
  return f;
}

/// The bit of table::sources that says that a statement runs the tile that it is a member of.
inline constexpr unsigned runs_tile = 1u << 31;
/// The bit that says that a condition holds in all lanes inside (kernel_shape::ascends).
inline constexpr unsigned holds_inside = 1u << 30;
/// The bit that says that a reduction adds nothing inside.
inline constexpr unsigned idles_inside = 1u << 29;
/// The bits that say that a reduction adds a product, of the registers in the third and fourth place, and that it does so where the one in the
/// first place holds.
inline constexpr unsigned adds_product = 1u << 28, adds_chosen = 1u << 27;

/// A kernel's statements and reductions. (Lists of integers: a list of structs costs constant evaluation several times as much.)
template <int Statements, int Forms> struct table {
  static_assert(Statements < 1 << 16, "a kernel of more than 65,535 statements");
  static constexpr int count = Statements;
  // Of statement k: its register's place, among those of its type and source, and that source.
  int place[Statements + 1] = {};
  source from[Statements + 1] = {};
  // In the order of running: constants, what runs once per row, and the others.
  int constants = 0, per_row = 0;  // how many there are
  int before_choice = 0;           // and of those per vector, how many a choice by lanes needs
  int form[Statements + 1] = {};
  unsigned sources[Statements + 1] = {};         // two bits each: of the register, the first operand, ...
  unsigned long registers[Statements + 1] = {};  // 16 bits each: the place of the register, of the first operand, ...
  reduce_facts reductions[Forms + 1] = {};       // by form
  int reduce_forms[Forms + 1] = {};              // the forms of the reductions, in order
  // Tiles: loads or stores of elements of a row per lane. Their members (tile_member) stand here in the order of columns;
  // `registers` has of each where its tile begins, in the third 16 bits, and how many members it has, in the fourth, and
  // `sources` of the one that runs the tile the bit runs_tile. (Each list that is looked at for every statement costs
  // compile time.)
  int tile_members[Statements + 1] = {};
  kernel_shape shape;
};

/// Leaves those lanes for which a window along the lanes lies inside of its row, as far as that is known now: for rows of one
/// run-time extent, or of numbers.
constexpr void keep_inside(kernel_shape& shape, bool is_first, extent offset, extent n) {
  if (offset < 0 && -offset > shape.inner_first) shape.inner_first = -offset;
  const extent reach = offset > 0 ? offset : 0;
  if (is_first) shape.inner_extent = is_slot(n) ? n : n - offset, shape.inner_reach = is_slot(n) ? reach : 0;
  else if (is_slot(n) && n == shape.inner_extent) shape.inner_reach = std::max(shape.inner_reach, reach);
  else if (!is_slot(n) && !is_slot(shape.inner_extent)) shape.inner_extent = std::min(shape.inner_extent, n - offset);
  else shape.inner_extent = 0;
}

/// The number of statements in a kernel's code.
template <int Forms> constexpr int count_statements(const form_facts (&forms)[Forms], const int* code, int length) {
  int operands[Forms] = {};
  for (int f = 0; f < Forms; ++f) operands[f] = forms[f].operands;
  int n = 0;
  for (int i = 0; i < length; i += 1 + operands[code[i]]) ++n;
  return n;
}

/// Rows of so many elements or fewer are taken apart and put together side by side.
inline constexpr int short_row = 4;
/// Where a condition chooses rows that add something, one of so many does.
inline constexpr int rows_left_out = 16;
/// The bytes of a row that are loaded as one tile.
inline constexpr int tile_bytes = 64;

/// A member of a tile: its statement, and its column from the first member's.
constexpr int tile_member(int statement, int column) { return statement | column << 16; }
constexpr int member_statement(int member) { return member & 0xffff; }
constexpr int member_column(int member) { return member >> 16; }

/// Lists the tiles of a table.
template <int Statements, int Forms> struct tile_finder {
  table<Statements, Forms>& t;
  const form_facts* forms;
  const action* kinds;
  int lane;
  int listed = 0;

  /// The members listed from `begin` are a tile, which runs with statement `runs`.
  constexpr void finish(int begin, int runs) {
    const unsigned long where = static_cast<unsigned long>(begin) << 32 | static_cast<unsigned long>(listed - begin) << 48;
    for (int i = begin; i < listed; ++i) t.registers[member_statement(t.tile_members[i])] |= where;
    t.sources[runs] |= runs_tile;
  }
  constexpr bool has_numbers(const form_facts& f) const {
    return f.windowed == 0 && f.type != dtype::boolean && !is_slot(f.offset) && !is_slot(f.strides[lane]);
  }

  /// Stores of neighbouring elements that follow each other, run by the last.
  constexpr void stores() {
    const auto fits = [&](const form_facts& f) { return has_numbers(f) && f.index_count == 0 && f.strides[lane] > 1; };
    int last = -1;  // the form of the store before, if it fits
    int begin = listed;
    const auto end = [&] {
      if (listed - begin > 1) finish(begin, member_statement(t.tile_members[listed - 1]));
    };
    for (int k = t.constants + t.per_row; k < Statements; ++k) {
      if (kinds[t.form[k]] != action::store) continue;
      const form_facts& f = forms[t.form[k]];
      const bool follows = fits(f) && last >= 0 && same_row(forms[last], f) && forms[last].offset + 1 == f.offset;
      if (!follows) end(), begin = listed;
      last = fits(f) ? t.form[k] : -1;
      if (fits(f)) t.tile_members[listed] = tile_member(k, listed - begin), ++listed;
    }
    end();
  }

  /// Loads of elements of one row, run by the first. A row lies at a stride of the lane or where a varying index says.
  constexpr void loads() {
    struct row_load {
      int row, statement;
      extent offset;
    };
    sequence<row_load> all;
    sequence<int> rows;  // the form of the first load of each
    for (int k = t.constants + t.per_row; k < Statements; ++k) {
      const form_facts& f = forms[t.form[k]];
      if (kinds[t.form[k]] != action::load || !has_numbers(f) || !(f.strides[lane] > 1 || is_indexed(f))) continue;
      int row = 0;
      while (row < int(rows.size()) && !same_row(forms[rows.items[row]], f)) ++row;
      if (row == int(rows.size())) rows.push_back(t.form[k]);
      all.push_back({row, k, f.offset});
    }
    std::sort(all.begin(), all.end(), [](const row_load& a, const row_load& b) {
      return a.row != b.row ? a.row < b.row : a.offset != b.offset ? a.offset < b.offset : a.statement < b.statement;
    });
    for (std::size_t first = 0, end = 0; first < all.size(); first = end) {
      const form_facts& f = forms[t.form[all[first].statement]];
      const extent fitting = tile_bytes / extent(size_of(f.type));
      const extent width = is_indexed(f) || f.strides[lane] > fitting ? fitting : f.strides[lane];
      const int begin = listed;
      int runs = Statements;
      for (end = first; end < all.size() && all[end].row == all[first].row && all[end].offset < all[first].offset + width; ++end) {
        t.tile_members[listed++] = tile_member(all[end].statement, int(all[end].offset - all[first].offset));
        if (all[end].statement < runs) runs = all[end].statement;
      }
      if (listed - begin > 1) finish(begin, runs);
      else listed = begin;
    }
  }

 private:
  /// Whether a run-time index of the form varies with the lane.
  constexpr bool is_indexed(const form_facts& f) const {
    for (int i = 0; i < f.index_count; ++i)
      if (t.from[f.index_registers[i]] == source::varying) return true;
    return false;
  }
  /// Whether two accesses differ at most by their offset.
  static constexpr bool same_row(const form_facts& a, const form_facts& b) {
    if (a.buffer != b.buffer || a.type != b.type || a.index_count != b.index_count) return false;
    for (int i = 0; i < a.index_count; ++i)
      if (a.index_registers[i] != b.index_registers[i] || a.index_strides[i] != b.index_strides[i]) return false;
    for (int d = 0; d < max_rank; ++d)
      if (a.strides[d] != b.strides[d]) return false;
    return true;
  }
};

/// Fills a table statement by statement.
template <int Statements, int Forms, extent... Extents>
constexpr table<Statements, Forms> tabulate(const form_facts* forms, const int* code, space<Extents...> over) {
  table<Statements, Forms> t;
  kernel_shape& shape = t.shape;
  form_facts extents;
  const int done[] = {0, (extents.names(Extents), 0)...};
  (void)done;
  shape.slots = extents.slots;
  shape.merges = (1u << sizeof...(Extents)) - 1;
  for (int f = 0; f < Forms; ++f) {
    shape.merges &= forms[f].mergeable;
    if (forms[f].slots > shape.slots) shape.slots = forms[f].slots;
    if (forms[f].buffer >= shape.buffers) shape.buffers = forms[f].buffer + 1;
    if (size_of(forms[f].type) > shape.widest) shape.widest = size_of(forms[f].type);
    shape.stores_once = shape.stores_once || forms[f].once;
  }
  const merged_dims dims = dims_of(over, shape.merges);
  const int lane = dims.rank > 0 ? dims.last[dims.rank - 1] : -1;
  // What every statement asks of its form, as lists: each look at a constant list of structs costs the whole list.
  action kind_of[Forms + 1] = {};
  source own_source[Forms + 1] = {};
  int operands_of[Forms + 1] = {}, type_of[Forms + 1] = {}, indices_of[Forms + 1] = {};
  bool has_rows = false, has_window = false, has_stores = false;
  for (int f = 0; f < Forms; ++f) {
    const form_facts x = forms[f];
    if (lane >= 0 && (x.windowed >> lane & 1u) != 0) {
      if (!has_window || shape.inner_extent != 0) keep_inside(shape, !has_window, x.window_offsets[lane], x.window_extents[lane]);
      has_window = true;
    }
    if (lane >= 0 && (x.windowed & ~(1u << lane)) != 0) shape.shares_rows = true;
    kind_of[f] = x.kind, operands_of[f] = x.operands, type_of[f] = x.type_place, indices_of[f] = x.index_count;
    const bool along_lane = (x.kind == action::load || x.kind == action::index) && lane >= 0 && (x.strides[lane] != 0 || (x.windowed >> lane & 1u) != 0);
    own_source[f] = along_lane ? source::varying : x.kind == action::constant ? source::constant : source::fixed;
    if (x.kind == action::store && x.index_count > 0) shape.scatters = true;
    has_stores = has_stores || x.kind == action::store;
    if ((x.kind == action::store || x.kind == action::load) && lane >= 0 && (x.strides[lane] > 1 || x.index_count > 0)) has_rows = true;
  }
  int form_of[Statements + 1] = {};
  unsigned sources_of[Statements + 1] = {};
  unsigned long registers_of[Statements + 1] = {};
  int reduced[Forms + 1] = {}, reduces_at[Forms + 1] = {};  // of a reduction: the statement that it reduces, and its own
  const int* operands_at[Statements + 1] = {};
  int counts[3][count_by_type::types] = {};  // of registers, by source and type
  for (int k = 0; k < Statements; ++k) {
    const int form = *code++;
    const action kind = kind_of[form];
    source from = own_source[form];
    unsigned sources = 0;
    unsigned long registers = 0;
    operands_at[k] = code;
    for (int i = 0; i < operands_of[form]; ++i) {
      const int operand = *code++;
      const source its = t.from[operand];
      registers |= static_cast<unsigned long>(t.place[operand]) << (16 * i + 16);
      sources |= unsigned(its) << (2 * i + 2);
      if (its > from) from = its;
    }
    for (int i = 0; i < indices_of[form]; ++i) {
      const source its = t.from[forms[form].index_registers[i]];
      if (its > from) from = its;
    }
    const bool defines = kind != action::store && kind != action::reduce;
    if (!defines) from = source::varying;
    const int place = defines ? counts[int(from)][type_of[form]]++ : 0;
    t.place[k] = place, t.from[k] = from;
    form_of[k] = form;
    sources_of[k] = sources | unsigned(from);
    registers_of[k] = registers | static_cast<unsigned long>(place);
    t.constants += from == source::constant;
    t.per_row += from == source::fixed;
    shape.work += kind != action::constant;
    if (kind != action::reduce) continue;
    const form_facts& f = forms[form];
    reduce_facts& r = t.reductions[form];
    t.reduce_forms[shape.reductions] = form;
    r.place = shape.reductions++;
    r.sum = shape.sums[f.type_place]++;
    for (int d = 0; d < dims.rank; ++d)
      if (f.strides[dims.last[d]] != 0) r.kept_dims |= std::uint32_t(1) << d;
    const bool keeps_lane = dims.rank > 0 && (r.kept_dims >> (dims.rank - 1) & 1u);
    r.scope = f.finds_place ? reduction::place : keeps_lane ? reduction::keeps_lane : r.kept_dims == 0 ? reduction::whole : reduction::row;
    reduced[form] = code[-1], reduces_at[form] = k;
    if (f.finds_place) r.index = shape.sums[type_place(dtype::int32)]++, shape.finds_places = true;
  }
  // Extrema of rows, which may be found in any order, of what is loaded alike for neighbouring rows.
  bool only_extrema = dims.rank > 1 && !shape.scatters, of_rows = false, shared = false;
  for (int i = 0; i < shape.reductions; ++i) {
    const int f = t.reduce_forms[i];
    const bool of_row = t.reductions[f].scope == reduction::row || t.reductions[f].scope == reduction::place;
    of_rows = of_rows || of_row;
    only_extrema = only_extrema && (of_row ? forms[f].extremum != 0 : t.reductions[f].scope == reduction::keeps_lane);
  }
  for (int f = 0; f < Forms && only_extrema && of_rows; ++f)
    shared = shared || (kind_of[f] == action::load && own_source[f] == source::varying && forms[f].windowed == 0 && forms[f].strides[dims.last[dims.rank - 2]] == 0);
  shape.shares_columns = shared;
  shape.only_reduces = !has_stores && !has_window && shape.reductions > 0;
  // Sums of what a choice leaves: by a condition that is one for a row, or by the two indices.
  const auto chosen_by = [&](int choice) {  // -1, or the condition
    const int* of = operands_at[choice];
    return forms[form_of[choice]].chooses && forms[form_of[of[2]]].is_zero ? of[0] : -1;
  };
  const auto condition_of = [&](int f) { return forms[f].adds ? chosen_by(reduced[f]) : -1; };
  for (int i = 0; i < shape.reductions && !has_stores; ++i) {
    const int condition = condition_of(t.reduce_forms[i]);
    if (condition < 0 || t.from[condition] != source::fixed || (i > 0 && shape.choice != t.place[condition] + 1)) {
      shape.choice = 0;
      break;
    }
    shape.choice = t.place[condition] + 1;
  }
  // Of these, sums of what a choice by lanes leaves.
  int lane_condition = -1;
  for (int i = 0; i < shape.reductions && shape.choice > 0; ++i) {
    const int condition = chosen_by(operands_at[reduced[t.reduce_forms[i]]][1]);
    const bool same = condition >= 0 && t.from[condition] == source::varying && (i == 0 || condition == lane_condition);
    lane_condition = same ? condition : -1;
    if (!same) break;
  }
  bool needed[Statements + 1] = {};  // by such a choice
  if (lane_condition >= 0) shape.lane_choice = t.place[lane_condition] + 1, needed[lane_condition] = true;
  for (int k = lane_condition; k >= 0; --k) {
    if (!needed[k]) continue;
    const form_facts& f = forms[form_of[k]];
    for (int i = 0; i < f.operands; ++i) needed[operands_at[k][i]] = true;
    for (int i = 0; i < f.index_count; ++i) needed[f.index_registers[i]] = true;
    t.before_choice += t.from[k] == source::varying;
  }
  const auto dims_of_statement = [&](int k, int depth, const auto& self) -> std::uint32_t {
    const form_facts& f = forms[form_of[k]];
    if (depth == 0 || f.index_count > 0) return ~0u;
    std::uint32_t bits = 0;
    for (int d = 0; d < dims.rank; ++d)
      if (f.strides[dims.last[d]] != 0 || f.windowed != 0) bits |= std::uint32_t(1) << d;
    for (int i = 0; i < f.operands; ++i) bits |= self(operands_at[k][i], depth - 1, self);
    return bits;
  };
  if (shape.choice > 0) shape.choice_dims = dims_of_statement(condition_of(t.reduce_forms[0]), 6, dims_of_statement);
  const auto ascending_choice = [&](int f) {  // -1, or its condition
    const int choice = reduced[f], *of = operands_at[choice];
    if (condition_of(f) < 0 || !forms[form_of[of[0]]].ascends) return -1;
    const int* indices = operands_at[of[0]];
    const auto is_index = [&](int k, int of_dimension) {
      const form_facts& f = forms[form_of[indices[k]]];
      return f.kind == action::index && f.offset == 0 && f.strides[dims.last[of_dimension]] == 1 && f.strides[dims.last[1 - of_dimension]] == 0;
    };
    return dims.rank == 2 && is_index(0, 0) && is_index(1, 1) ? of[0] : -1;
  };
  shape.ascends = dims.rank == 2 && shape.only_reduces;
  for (int i = 0; i < shape.reductions && shape.ascends; ++i) shape.ascends = ascending_choice(t.reduce_forms[i]) >= 0;
  for (int i = 0; i < shape.reductions && shape.ascends; ++i) {
    const int form = t.reduce_forms[i], condition = ascending_choice(form);
    if (!forms[form_of[condition]].differs) sources_of[condition] |= holds_inside;
    else sources_of[reduces_at[form]] |= idles_inside;
  }
  // Sums of products take their factors.
  for (int i = 0; i < shape.reductions; ++i) {
    const int form = t.reduce_forms[i], condition = condition_of(form), product = condition < 0 ? reduced[form] : operands_at[reduced[form]][1];
    if (!forms[form].adds_products || !forms[form_of[product]].multiplies) continue;
    const int k = reduces_at[form];
    const auto name = [&](int place, int register_of) {
      sources_of[k] = (sources_of[k] & ~(3u << (2 * place))) | unsigned(t.from[register_of]) << (2 * place);
      registers_of[k] |= static_cast<unsigned long>(t.place[register_of]) << (16 * place);
    };
    sources_of[k] |= adds_product;
    name(2, operands_at[product][0]), name(3, operands_at[product][1]);
    if (condition >= 0) sources_of[k] |= adds_chosen, name(0, condition);
  }
  // An extremum whose place is found as well shares its register.
  for (int i = 0; i < shape.reductions && shape.finds_places; ++i)
    for (int j = 0; j < shape.reductions; ++j) {
      const int a = t.reduce_forms[i], b = t.reduce_forms[j];
      reduce_facts& r = t.reductions[a];
      if (r.scope != reduction::row || !forms[b].finds_place || reduced[a] != reduced[b] || forms[a].extremum != forms[b].extremum) continue;
      r.scope = reduction::place, r.is_found = true, r.sum = t.reductions[b].sum;
    }
  for (int type = 0; type < count_by_type::types; ++type)
    shape.constants[type] = counts[0][type], shape.fixed[type] = counts[1][type], shape.varying[type] = counts[2][type];
  int at = 0;
  const auto list = [&](source from, bool before) {
    for (int k = 0; k < Statements; ++k)
      if (t.from[k] == from && (lane_condition < 0 || from != source::varying || needed[k] == before)) {
        t.form[at] = form_of[k];
        t.sources[at] = sources_of[k];
        t.registers[at++] = registers_of[k];
      }
  };
  list(source::constant, true), list(source::fixed, true), list(source::varying, true);
  if (lane_condition >= 0) list(source::varying, false);
  if (has_rows) {
    tile_finder<Statements, Forms> tiles{t, forms, kind_of, lane};
    tiles.stores();
    tiles.loads();
  }
  return t;
}

template <int Number, class F> struct numbered { using type = F; };
template <class Numbers, class... F> struct numbered_list;
template <std::size_t... K, class... F> struct numbered_list<std::index_sequence<K...>, F...> : numbered<int(K), F>... {};
template <int Number, class F> numbered<Number, F> find_numbered(const numbered<Number, F>*);

}  // namespace facts

/// A run-time index whose register has been found. List is the form of the load of what most indices are, or void.
template <class T, source From, int Place, extent Stride, class List = void> struct index_register {};
/// A reduce form with what is known of it.
template <class Reduce, reduce_facts Facts> struct resolved_reduce {};
template <class... Reduces> struct reduce_list {};
/// f(a reduction) for each of a list.
template <class... R, class F> COTANGENT_HOST_INLINE void each_reduction(reduce_list<R...>, [[maybe_unused]] const F& f) {
  const int done[] = {0, (f(R{}), 0)...};
  (void)done;
}

/// A reduction taken apart.
template <class Reduce> struct reduce_parts;
template <class Op, class T, int B, extent Offset, extent... Strides, reduce_facts Facts>
struct reduce_parts<resolved_reduce<reduce<Op, T, B, access<Offset, Strides...>>, Facts>> {
  using operation = Op;
  using type = T;
  using where = access<Offset, Strides...>;
  static constexpr reduce_facts facts = Facts;
  static constexpr int buffer = B;
  static constexpr extent offset = Offset;
  static constexpr bool finds_place = kernels::finds_place<Op>;
  using result = std::conditional_t<finds_place, std::int32_t, T>;

  static constexpr void strides([[maybe_unused]] const extent* slots, [[maybe_unused]] extent* to) {
    [[maybe_unused]] int d = 0;
    const int done[] = {0, (to[d++] = value_of<Strides>(slots), 0)...};
    (void)done;
  }
};

/// What is known of the reductions of a list, and an entry of nothing.
template <class... R> struct facts_of_list {
  reduce_facts items[sizeof...(R) + 1] = {reduce_parts<R>::facts..., reduce_facts{}};
  constexpr explicit facts_of_list(reduce_list<R...>) {}
};
template <class Reductions> inline constexpr facts_of_list facts_of{Reductions{}};

/// Element Number of a numbered_list, found once.
template <class List, int Number> struct numbered_at : decltype(facts::find_numbered<Number>(static_cast<List*>(nullptr))) {};

namespace facts {

/// Form number Number of a kernel with its registers found.
template <class Analysis, int Number, class Form> struct resolve { using type = Form; };
template <class Analysis, int Form> struct list_form { using type = typename Analysis::parts::template form<Form>; };
template <class Analysis> struct list_form<Analysis, -1> { using type = void; };
template <class Analysis, int R, extent Stride>
using found_index = index_register<type_of<Analysis::register_type(R)>, Analysis::table.from[R], Analysis::table.place[R], Stride,
                                   typename list_form<Analysis, Analysis::list_of_indices(R)>::type>;
template <class Analysis, int Number, class T, int B, class A, int... R, extent... Stride>
struct resolve<Analysis, Number, load<T, B, A, indexed<R, Stride>...>> {
  using type = load<T, B, A, found_index<Analysis, R, Stride>...>;
};
template <class Analysis, int Number, class T, int B, class A, int... R, extent... Stride>
struct resolve<Analysis, Number, load_ahead<T, B, A, indexed<R, Stride>...>> {
  using type = load_ahead<T, B, A, found_index<Analysis, R, Stride>...>;
};
template <class Analysis, int Number, class T, int B, class A, int... R, extent... Stride>
struct resolve<Analysis, Number, store<T, B, A, indexed<R, Stride>...>> {
  using type = store<T, B, A, found_index<Analysis, R, Stride>...>;
};
template <class Analysis, int Number, class Op, class T, int B, class A> struct resolve<Analysis, Number, reduce<Op, T, B, A>> {
  using type = resolved_reduce<reduce<Op, T, B, A>, Analysis::table.reductions[Number]>;
};
template <class Analysis, class Numbers, class... F> struct resolved_forms;
template <class Analysis, std::size_t... N, class... F> struct resolved_forms<Analysis, std::index_sequence<N...>, F...> {
  using type = numbered_list<std::index_sequence<N...>, typename resolve<Analysis, int(N), F>::type...>;
};

template <class Forms, class Numbers> struct reductions_among;
template <class Forms, int... R> struct reductions_among<Forms, std::integer_sequence<int, R...>> {
  using type = reduce_list<typename numbered_at<Forms, R>::type...>;
};

template <const int* Numbers, class Sequence> struct listed;
template <const int* Numbers, std::size_t... I> struct listed<Numbers, std::index_sequence<I...>> {
  using type = std::integer_sequence<int, Numbers[I]...>;
};
template <const int* Numbers, int Count> using listed_t = typename listed<Numbers, std::make_index_sequence<std::size_t(Count)>>::type;

}  // namespace facts

/// Not a member of the analysis: g++ takes quadratic time for a class with packs whose member is named within a pack.
template <extent... Extents> inline constexpr extent extents_of[max_rank + 1] = {Extents...};

/// A kernel type taken apart.
template <class Kernel> struct kernel_parts;
template <extent... Extents, class... F, int... Code> struct kernel_parts<kernel<space<Extents...>, forms<F...>, Code...>> {
  using iterates = space<Extents...>;
  static constexpr int forms = int(sizeof...(F)), code_length = int(sizeof...(Code));
  static constexpr facts::form_facts form_table[] = {facts::describe(F{}, extents_of<Extents...>)..., {}};
  static constexpr int code[] = {Code..., 0};
  template <class Analysis> using resolved_forms = typename facts::resolved_forms<Analysis, std::index_sequence_for<F...>, F...>::type;
  template <int Form> using form = typename numbered_at<facts::numbered_list<std::index_sequence_for<F...>, F...>, Form>::type;
};

/// A kernel's tables, and its forms by number.
template <class Kernel> struct analysis {
  using parts = kernel_parts<typename definition_of<Kernel>::type>;
  static constexpr auto table = facts::tabulate<facts::count_statements(parts::form_table, parts::code, parts::code_length), parts::forms>(
      parts::form_table, parts::code, typename parts::iterates{});

  static constexpr const int* code_of(int statement) {
    const int* at = parts::code;
    for (; statement > 0; --statement) at += 1 + parts::form_table[*at].operands;
    return at;
  }
  static constexpr dtype register_type(int statement) { return parts::form_table[*code_of(statement)].type; }
  /// The load of what indices are where they are in their range, and neither wrapped nor clamped: its form, or -1.
  static constexpr int list_of_indices(int statement) {
    for (;;) {
      const int* at = code_of(statement);
      const facts::form_facts& f = parts::form_table[*at];
      if (f.kind == action::load) return f.index_count == 0 && f.windowed == 0 ? *at : -1;
      if (f.inside < 0) return -1;
      statement = at[1 + f.inside];
    }
  }

  using layout_type = layout<table.shape, typename parts::iterates>;
  using form_list = typename parts::template resolved_forms<analysis>;
  using reductions = typename facts::reductions_among<form_list, facts::listed_t<table.reduce_forms, table.shape.reductions>>::type;
};
/// The list of a kernel's reductions under the kernel's key, and those of one scope.
template <class Kernel> struct reductions_in : analysis<Kernel>::reductions {
 private:
  static constexpr const auto& table = analysis<Kernel>::table;
  struct form_numbers {
    int items[table.shape.reductions + 1] = {};
    int count = 0;
  };
  template <reduction Scope> static constexpr form_numbers scoped = [] {
    form_numbers r;
    for (int k = 0; k < table.shape.reductions; ++k)
      if (table.reductions[table.reduce_forms[k]].scope == Scope) r.items[r.count++] = table.reduce_forms[k];
    return r;
  }();

 public:
  template <reduction Scope>
  using of_scope = typename facts::reductions_among<typename analysis<Kernel>::form_list, facts::listed_t<scoped<Scope>.items, scoped<Scope>.count>>::type;
};

/// A kernel made ready to run: its layout, its reductions, and its analysis. Functions that run one statement know the
/// layout only, so that kernels share them.
template <class Layout, class Reductions, class Analysis> struct program {};

template <class Reductions, reduction Scope> struct scoped_reductions { using type = typename Reductions::template of_scope<Scope>; };
template <reduction Scope> struct scoped_reductions<reduce_list<>, Scope> { using type = reduce_list<>; };
template <class Reductions, reduction Scope> using reductions_of_scope = typename scoped_reductions<Reductions, Scope>::type;

/// The program, layout and reductions of a kernel.
template <class Kernel> using layout_of = typename analysis<Kernel>::layout_type;
template <class Kernel>
using reductions_of = std::conditional_t<layout_of<Kernel>::shape.reductions == 0, reduce_list<>, reductions_in<Kernel>>;
template <class Kernel> using program_of = program<layout_of<Kernel>, reductions_of<Kernel>, analysis<Kernel>>;

}  // namespace cotangent::kernels
