#pragma once
/// An estimate of the registers that a kernel needs on a device, by which grids choose how much a thread does at once.

#include <cotangent/compiler/kernel_facts.hpp>

namespace cotangent::simt {

/// The most registers of 32 bits that hold results of statements at the same time, if these run in their order for one point: a result
/// is held from its statement to the last one that uses it. Constants are parts of instructions. Linear in the statements.
template <class Kernel> constexpr int count_live_registers() {
  using namespace kernels;
  using parts = typename analysis<Kernel>::parts;
  constexpr const auto& table = analysis<Kernel>::table;
  constexpr int statements = table.count, forms = parts::forms;
  int operands_of[forms + 1] = {}, indices_of[forms + 1] = {}, registers_of[forms + 1] = {};
  for (int f = 0; f < forms; ++f) {
    const facts::form_facts& x = parts::form_table[f];
    operands_of[f] = x.operands, indices_of[f] = x.index_count;
    registers_of[f] = x.kind == action::store || x.kind == action::reduce ? 0 : size_of(x.type) == 8 ? 2 : 1;
  }
  // Statements in the order of running: those of a row, and the others. For each, the last that uses it.
  int running[statements + 1] = {}, code_at[statements + 1] = {}, last_use[statements + 1] = {}, count = 0;
  for (int k = 0, at = 0; k < statements; at += 1 + operands_of[parts::code[at]], ++k) code_at[k] = at;
  for (source from : {source::fixed, source::varying})
    for (int k = 0; k < statements; ++k)
      if (table.from[k] == from) running[count++] = k;
  const auto each_used = [&](int k, const auto& visit) {
    const int form = parts::code[code_at[k]];
    for (int i = 0; i < operands_of[form]; ++i) visit(parts::code[code_at[k] + 1 + i]);
    for (int i = 0; i < indices_of[form]; ++i) visit(parts::form_table[form].index_registers[i]);
  };
  for (int i = 0; i < count; ++i) each_used(running[i], [&](int used) { last_use[used] = i; });
  int live = 0, most = 0;
  for (int i = 0; i < count; ++i) {
    each_used(running[i], [&](int used) {
      if (last_use[used] != i || table.from[used] == source::constant) return;
      live -= registers_of[parts::code[code_at[used]]];
      last_use[used] = -1;
    });
    const int form = parts::code[code_at[running[i]]];
    if (last_use[running[i]] > i) live += registers_of[form];
    if (live > most) most = live;
  }
  return most;
}
template <class Kernel> inline constexpr int live_registers = count_live_registers<Kernel>();

/// The registers of a thread that has so many points of a kernel at once, in groups of neighbours: the results of each, the indices of each
/// group, and what addresses and the insides of functions need. (Kernels of bench/cuda over lines: no less than ptxas takes for sm_90, and at
/// most 16 more.)
template <class Kernel> constexpr int registers_of_points(int points, int groups) {
  constexpr int rank = kernels::layout_of<Kernel>::dims.rank;
  return 26 + points * live_registers<Kernel> + (rank > 1 ? groups * 4 * (rank - 1) : 0);
}

/// How many blocks of so many threads should have room on a multiprocessor at once, so that a thread gets the registers that it is thought
/// to need, and half as many again: what is spilled costs more than threads that wait for room.
constexpr int blocks_with_room(int registers, int threads) {
  constexpr int of_multiprocessor = 65536, threads_at_once = 2048;
  const int wanted = (registers + registers / 2 + 7) / 8 * 8, blocks = of_multiprocessor / (wanted * threads), most = threads_at_once / threads;
  return blocks < 1 ? 1 : blocks < most ? blocks : most;
}

}  // namespace cotangent::simt
