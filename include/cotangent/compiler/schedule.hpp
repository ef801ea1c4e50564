#pragma once
/// What a program runs: steps in order, the statements of kernels, and the memory that they touch.

#include <bit>

#include <cotangent/core/dtype.hpp>
#include <cotangent/core/sequence.hpp>
#include <cotangent/graph/builder.hpp>

namespace cotangent {

/// That a load reads at another index along a dimension: index + offset, wrapped around in [0, extent), or zero outside.
struct window {
  int dimension = 0;
  extent offset = 0, extent_inside = 0;  // the latter may be a slot of the step
  bool wraps = false;
};

/// One statement of a kernel to be; see compiler/kernel.hpp for what each does.
struct statement {
  enum kind : unsigned char { load, constant, index, apply, store, reduce };
  kind what = load;
  dtype type = dtype::float32;
  int node = -1;             // apply, reduce: the node whose primitive this is
  std::uint64_t op_id = 0;
  bool finds_place = false;  // reduce: the index along the last dimension is stored, of the operation's extremum, and not the extremum
  std::uint64_t bits = 0;    // constant
  bool ahead = false;        // load: what a later row block, or the next vector, reads is asked for
  int buffer = -1;           // load, store, reduce: number within the step
  int registers[4] = {};     // operands; store, reduce: the value
  int register_count = 0;
  buffer_access where;       // load, store, reduce; index: the value is its offset. Extents of it may be slots of the step
  int indexed[max_rank] = {};  // registers of run-time indices, with their strides
  shape indexed_strides;
  int windows = 0;             // load: the first of its windows
  std::uint32_t windowed = 0;  // bit d is set if it has one along dimension d, in this order

  constexpr bool has_access() const { return buffer >= 0 || what == index; }
};

/// One thing to run: a kernel, an opaque primitive, or a call (a loop, a branch).
struct step {
  int node = -1;  // the opaque node or call, or -1 for a kernel
  shape space;    // of a kernel
  int statements = 0, statement_count = 0;
  int buffers = 0, buffer_count = 0;  // the buffers it touches (opaque: operands, then the results; call: then its scratch)
  int slots = 0, slot_count = 0;      // the extents that its slots name
  int operands = 0;                   // how many of the buffers are operands (opaque, call)
  unsigned long in_place = 0;         // bit r: result r can be written over operand r (opaque, call)
  bool after_rows = false;            // a kernel that runs on the finished rows of the gemm before it
  extent turns = 1;                   // of the loop over rows around a packet's kernel (rows_of_packets.hpp)
  unsigned long moving = 0;           // bit k: in it buffer k moves on by a row
};

/// Memory for one value.
struct buffer {
  enum kind : unsigned char { input, output, arena, data, block };  // block: only the rows that a thread works on exist
  kind where = arena;
  int number = 0;  // of the input or output; of the dense node
  dtype type = dtype::float32;
  shape dims;
  int first = -1, last = -1;  // steps that write it first and use it last
  extent offset = 0;          // in the arena or in the block's memory, in bytes
  int reuses = -1;            // output: the donated input whose memory it takes
};

/// What a call needs for its bodies: bytes, and which results can be written over the operand of the same number.
struct call_memory {
  extent bytes = 0;
  unsigned long in_place = 0;
};

/// Consecutive steps that run together, some rows at a time; see compiler/blocks.hpp.
struct row_blocks {
  int first = 0, count = 0;  // steps
  extent rows = 0;           // in all
  extent block = 0;          // rows at a time; 0: as many as the length of rows allows, which is known at run time only
  extent row_bytes = 0;      // what the steps touch of a row
  extent memory = 0;         // bytes for the buffers of which only a block exists
};

/// What a schedule may do.
struct schedule_choices {
  bool computes_again = true;  // cheap values, where they are needed, instead of reading them from memory
  bool row_blocks = true;      // several steps over some rows at a time
  bool rows_of_many_axes = false;  // whose indices are those of several outer axes
  bool computes_large_again = true;  // large arrays that are made of smaller ones as well
  bool products_by_rows = true;      // products of matrices join row blocks, and kernels run on their finished rows
  bool sums_over_rows = true;        // kernels that sum over rows join row blocks
  bool lines_by_rows = true;         // steps that work line by line join row blocks
  bool scatters_by_rows = true;      // scatters of updates that a row block makes join it
  bool packets = true;               // parts that work instance by instance are done packet by packet
  bool finds_places = true;          // of extrema along rows, in the pass that finds the extremum
  bool copies_turned = true;         // arrays whose rows lie in another direction than those of the kernels that read them
  extent lanes = 0;                  // of a packet: an axis of this extent comes last in memory and in kernels; 0: there is none
};

/// Those of the body of packets: kernels in one thread.
constexpr schedule_choices choices_of_packets(extent lanes) { return {.products_by_rows = false, .sums_over_rows = false, .lines_by_rows = false, .scatters_by_rows = false, .packets = false, .finds_places = false, .copies_turned = false, .lanes = lanes}; }

/// The schedule of a graph.
struct schedule {
  sequence<step> steps;
  sequence<statement> statements;
  sequence<int> step_buffers;
  sequence<extent> slots;
  sequence<window> windows;
  sequence<buffer> buffers;
  sequence<int> output_buffers;  // per output of the graph
  sequence<row_blocks> blocks;
  extent arena_bytes = 0;
  bool dynamic_arena = false;       // sizes are known only at run time: offsets are then computed per call
};

/// The extent that a step's kernel names by a slot; of a schedule or a plan.
template <class Schedule> constexpr extent extent_named(const Schedule& s, const step& x, extent e) {
  return is_symbol(e) ? s.slots[std::size_t(x.slots + e - symbol_base)] : e;
}

/// Renumbers the dimensions of a statement's windows when one leaves its place, along which it has none.
constexpr void leave_dimension(sequence<window>& windows, statement& s, int dimension) {
  for (int w = s.windows; w < s.windows + std::popcount(s.windowed); ++w) {
    int& along = windows[std::size_t(w)].dimension;
    along -= along > dimension;
  }
  const std::uint32_t before = (1u << dimension) - 1;
  s.windowed = (s.windowed & before) | (s.windowed >> 1 & ~before);
}

/// Whether step `at` names buffer `b`.
constexpr bool touches(const schedule& s, int at, int b) {
  const step& x = s.steps[std::size_t(at)];
  for (int k = 0; k < x.buffer_count; ++k)
    if (s.step_buffers[std::size_t(x.buffers + k)] == b) return true;
  return false;
}

}  // namespace cotangent
