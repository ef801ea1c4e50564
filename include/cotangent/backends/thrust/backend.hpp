#pragma once
/// Thrust's systems on the host as devices: what a CUDA device does, on the CPU. Device 0 is the sequential system, device 1
/// oneTBB's. They are there to test, on any machine, what runs on devices; the CPU's own backend is many times as fast.
///
/// Define COTANGENT_THRUST before including the library.

// Thrust's own choice of a device is the GPU.
#if !defined(__CUDACC__) && !defined(THRUST_DEVICE_SYSTEM)
#define THRUST_DEVICE_SYSTEM THRUST_DEVICE_SYSTEM_CPP
#endif
#include <thrust/for_each.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/sort.h>
#include <thrust/system/cpp/execution_policy.h>
#include <thrust/system/tbb/execution_policy.h>

#include <cotangent/backends/simt/backend.hpp>
#include <cotangent/core/device.hpp>

namespace cotangent::thrust_systems {

class memory_of_system final : public host_memory {
 public:
  using host_memory::host_memory;
  std::string description() const override { return index == 0 ? "Thrust's sequential system on the host" : "Thrust's oneTBB system on the host"; }
};

inline std::vector<device> list() {
  static const memory_of_system sequential(thrust_host::name, 0), threads(thrust_host::name, 1);
  return {device(sequential), device(threads)};
}
inline const register_platform registered(thrust_host::name, list);

/// Merges the sums of each group of threads into those of its first, in the order of a device.
template <class Merger, class Sums, int Threads> void merge_groups(Sums (&sums)[Threads], int group) {
  for (int half = group / 2; half > 0; half /= 2)
    for (int t = 0; t < Threads; ++t)
      if (t % group < half) Merger::merge(sums[t], sums[t + half]);
}

/// One block of a grid: its threads one after the other.
template <class Grid> struct run_block {
  Grid grid;

  void operator()(extent block) const {
    for (int t = 0; t < Grid::threads; ++t) grid(block, t);
  }
};
template <class Grid>
  requires requires { typename Grid::sums; }
struct run_block<Grid> {
  Grid grid;

  void operator()(extent block) const {
    typename Grid::sums sums[Grid::threads];
    for (int t = 0; t < Grid::threads; ++t) sums[grid.place(t)] = grid.collect(block, grid.place(t));
    merge_groups<Grid>(sums, grid.group);
    for (int p = 0; p < Grid::threads; p += grid.group) grid.finish(block, p, sums[p]);
  }
};

template <class Grid>
  requires requires { Grid::staged_bytes; }
struct run_block<Grid> {
  Grid grid;

  void operator()(extent block) const {
    alignas(16) std::byte stage[Grid::staged_bytes];
    for (int t = 0; t < Grid::threads; ++t) grid(block, t, stage);
    for (int t = 0; t < Grid::threads; ++t) grid.write(block, t, stage);
  }
};

/// One block of a grid of rows, phase after phase.
template <class Grid> struct run_rows_block {
  Grid grid;

  void operator()(extent block) const {
    const simt::rows_of_block rows = grid.block(block, grid.slot(block));
    typename Grid::registers_type registers[Grid::threads];
    grid.phases.each([&]<class Phase>(const Phase& phase) {
      if constexpr (requires { typename Phase::sums; }) {
        constexpr int threads = Phase::threads;
        typename Phase::sums sums[threads];
        for (extent round = 0; round < phase.rounds(rows); ++round) {
          for (int t = 0; t < threads; ++t) sums[t] = phase.collect(rows, round, t, registers[t]);
          merge_groups<Phase>(sums, phase.group);
          for (int t = 0; t < threads; t += phase.group) phase.finish(rows, round, t, sums[t]);
        }
      } else
        for (int t = 0; t < Grid::threads; ++t) phase(rows, t, Grid::threads, registers[t]);
    });
  }
};

/// A function of a block's number, whatever its type: Thrust's and oneTBB's templates are instantiated once.
class any_block {
 public:
  template <class Block>
  explicit any_block(const Block& block) : run_([](const void* b, extent number) { (*static_cast<const Block*>(b))(number); }), block_(&block) {}
  void operator()(extent number) const { run_(block_, number); }

 private:
  void (*run_)(const void*, extent);
  const void* block_;
};

class queue {
 public:
  queue() = default;
  explicit queue(const device& d) : threads_(d.index() == 1) {}

  template <class Grid> void run(const Grid& grid) const {
    const run_block<Grid> block{grid};
    run_blocks(grid.blocks(), any_block(block));
  }
  template <class Grid> void run_rows(const Grid& grid) const {
    const run_rows_block<Grid> block{grid};
    run_blocks(grid.blocks(), any_block(block));
  }
  static extent slots(extent blocks) { return blocks; }
  static constexpr extent shared_bytes = 0;
  void copy(void* to, const void* from, extent bytes) const { std::memcpy(to, from, std::size_t(bytes)); }
  void copy_to_host(void* to, const void* from, extent bytes) const { copy(to, from, bytes); }
  template <class I> void sort(I* keys, I* values, extent count) const {
    with_system([&](const auto& system) { ::thrust::stable_sort_by_key(system, keys, keys + count, values); });
  }
  template <class T> void product(const matrix_product& p, const T* a, const T* b, T* c) const { run(simt::product_grid<T>{p, a, b, c}); }
  void remember(std::string (*)()) const {}
  const void* constant(const void* elements, std::size_t) const { return elements; }

  class memory {
   public:
    memory(const queue&, extent bytes) : bytes_(std::size_t(bytes)), data_(bytes > 0 ? static_cast<std::byte*>(acquire_block(bytes_)) : nullptr) {}
    memory(const memory&) = delete;
    memory& operator=(const memory&) = delete;
    ~memory() {
      if (data_) release_block(data_, bytes_);
    }
    std::byte* data() const { return data_; }

   private:
    std::size_t bytes_;
    std::byte* data_;
  };

 private:
  void run_blocks(extent count, any_block block) const {
    with_system([&](const auto& system) {
      ::thrust::for_each(system, ::thrust::counting_iterator<extent>(0), ::thrust::counting_iterator<extent>(count), block);
    });
  }
  template <class F> void with_system(const F& f) const {
    if (threads_) f(::thrust::tbb::par);
    else f(::thrust::cpp::par);
  }
  bool threads_ = false;
};

struct backend : simt::backend<queue> {
  using platform = thrust_host;
};

}  // namespace cotangent::thrust_systems
