#pragma once
/// Runs a kernel on a device: the grids that it takes.

#include <cotangent/backends/simt/records.hpp>

namespace cotangent::simt {

/// One pass over a kernel's points.
template <class Kernel, std::uint32_t Kept, bool Stores, class Queue> void run_pass(const Queue& queue, void* const* buffers, const extent* extents) {
  reduction_grid<Kernel, Kept, Stores> grid(buffers, extents);
  if (grid.cut.results == 0) return;
  if (grid.cut.chunks == 1) return queue.run(grid);
  const typename Queue::memory partials(queue, extent(grid.place_partials(nullptr)));
  grid.place_partials(reinterpret_cast<char*>(partials.data()));
  queue.run(grid);
  queue.run(combining_grid<decltype(grid)>(grid));
}

/// Runs a kernel. A kernel whose reductions keep different dimensions goes through its points once for each; stores are made
/// by the last pass, because they may write over what the kernel reads.
template <class Kernel, class Queue> void run_kernel(const Queue& queue, void* const* buffers, const extent* extents) {
  constexpr kept_sets sets = find_kept_sets(reductions_of<Kernel>{});
  if constexpr (sets.count == 0) {
    using grid_type = std::conditional_t<record_grid<Kernel>::is_possible, record_grid<Kernel>, point_grid<Kernel>>;
    const grid_type grid(buffers, extents);
    if (grid.points > 0) queue.run(grid);
  } else
    [&]<std::size_t... P>(std::index_sequence<P...>) {
      const int done[] = {0, (run_pass<Kernel, sets.sets[P], int(P) + 1 == sets.count>(queue, buffers, extents), 0)...};
      (void)done;
    }(std::make_index_sequence<std::size_t(sets.count)>{});
}

}  // namespace cotangent::simt
