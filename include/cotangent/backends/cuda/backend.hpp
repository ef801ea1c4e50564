#pragma once
/// CUDA as a backend. Files that nvcc compiles include it with the library; link with -lcusolver -lcublas, and with -lcufft if there are
/// Fourier transforms.

#include <cub/device/device_radix_sort.cuh>
#include <nvtx3/nvToolsExt.h>

#include <cotangent/backends/cuda/fourier.hpp>
#include <cotangent/backends/cuda/graphs.hpp>
#include <cotangent/backends/cuda/occupancy.hpp>
#include <cotangent/backends/cuda/solvers.hpp>
#include <cotangent/backends/simt/backend.hpp>

namespace cotangent::gpu {

/// The value of the thread `by` further on in the warp.
template <class T> __device__ T shuffled_down(const T& x, int by) {
  constexpr int count = (sizeof(T) + 3) / 4;
  unsigned words[count] = {};
  memcpy(words, &x, sizeof(T));
  COTANGENT_UNROLL
  for (unsigned& w : words) w = __shfl_down_sync(~0u, w, unsigned(by));
  T y;
  memcpy(&y, words, sizeof(T));
  return y;
}
/// Merges the sums of each group of threads into those of its first. Every thread of the block calls it; `sums`: whether this one
/// has any.
template <class Merger, class Sums> __device__ void merge_groups(Sums* shared, int thread, int group, bool sums = true) {
  constexpr int warp = 32;
  __syncthreads();
  const int place = thread & (group - 1);
  if (!sums || place >= warp) return;
  for (int half = group / 2; half >= warp; half /= 2)
    for (int k = 0; k < half; k += warp) Merger::merge(shared[thread + k], shared[thread + k + half]);
  const int in_warp = group / 2 < warp ? group / 2 : warp / 2;
  if constexpr (sizeof(Sums) <= 32) {
    Sums own = shared[thread];
    for (int half = in_warp; half > 0; half /= 2) {
      Sums other = shuffled_down(own, half);
      if (place < half) Merger::merge(own, other);
    }
    if (place == 0) shared[thread] = own;
  } else
    for (int half = in_warp; half > 0; half /= 2) {
      if (place < half) Merger::merge(shared[thread], shared[thread + half]);
      __syncwarp();
    }
}

/// How many blocks of a grid ptxas is to leave room for on a multiprocessor.
template <class Grid> constexpr int room_for_blocks() {
  if constexpr (requires { Grid::registers; }) return simt::blocks_with_room(Grid::registers, Grid::threads);
  else return 1;
}

/// A grid (backends/simt/kernel.hpp) as a kernel: blocks take the grid's blocks in turn.
template <class Grid> __global__ void __launch_bounds__(Grid::threads, room_for_blocks<Grid>()) run_grid(const __grid_constant__ Grid grid, extent blocks) {
  for (extent block = blockIdx.x; block < blocks; block += gridDim.x) grid(block, int(threadIdx.x));
}
/// The same for threads that write by way of the block's memory.
template <class Grid> __global__ void __launch_bounds__(Grid::threads, room_for_blocks<Grid>()) run_staging_grid(const __grid_constant__ Grid grid, extent blocks) {
  __shared__ alignas(16) std::byte stage[Grid::staged_bytes];
  for (extent block = blockIdx.x; block < blocks; block += gridDim.x) {
    grid(block, int(threadIdx.x), stage);
    __syncthreads();
    grid.write(block, int(threadIdx.x), stage);
    __syncthreads();
  }
}
/// The same for threads that add up what they found.
template <class Grid> __global__ void __launch_bounds__(Grid::threads, room_for_blocks<Grid>()) run_summing_grid(const __grid_constant__ Grid grid, extent blocks) {
  using sums = typename Grid::sums;
  __shared__ alignas(16) unsigned char memory[sizeof(sums) * Grid::threads];
  sums* const shared = reinterpret_cast<sums*>(memory);
  const int thread = int(threadIdx.x), place = grid.place(thread);
  for (extent block = blockIdx.x; block < blocks; block += gridDim.x) {
    shared[place] = grid.collect(block, place);
    merge_groups<Grid>(shared, thread, grid.group);
    if (thread % grid.group == 0) grid.finish(block, thread, shared[thread]);
    __syncthreads();
  }
}

/// A grid of rows (backends/simt/rows.hpp).
template <class Grid> __global__ void __launch_bounds__(Grid::threads, room_for_blocks<Grid>()) run_rows_grid(const __grid_constant__ Grid grid, extent blocks) {
  __shared__ alignas(16) unsigned char memory[Grid::shared_bytes > 0 ? Grid::shared_bytes : 16];
  extern __shared__ __align__(16) std::byte slot_of_block[];
  std::byte* const slot = grid.memory ? grid.slot(blockIdx.x) : slot_of_block;
  const int thread = int(threadIdx.x);
  typename Grid::registers_type registers;
  for (extent block = blockIdx.x; block < blocks; block += gridDim.x) {
    const simt::rows_of_block rows = grid.block(block, slot);
    grid.phases.each([&](const auto& phase) {
      using phase_type = std::remove_cvref_t<decltype(phase)>;
      if constexpr (requires { typename phase_type::sums; }) {
        typename phase_type::sums* const shared = reinterpret_cast<typename phase_type::sums*>(memory);
        const extent rounds = phase.rounds(rows);
        for (extent round = 0; round < rounds; ++round) {
          const bool sums = thread < phase_type::threads;
          __syncthreads();
          if (sums) shared[thread] = phase.collect(rows, round, thread, registers);
          merge_groups<phase_type>(shared, thread, phase.group, sums);
          if (sums && thread % phase.group == 0) phase.finish(rows, round, thread, shared[thread]);
        }
      } else {
        if (phase_type::reads_of_others) __syncthreads();
        phase(rows, thread, Grid::threads, registers);
      }
    });
    __syncthreads();
  }
}

/// The kernel that runs a grid.
template <class Grid> auto kernel_of_grid() {
  if constexpr (requires { typename Grid::sums; }) return &run_summing_grid<Grid>;
  else if constexpr (requires { Grid::staged_bytes; }) return &run_staging_grid<Grid>;
  else return &run_grid<Grid>;
}

class queue {
 public:
  queue() = default;
  explicit queue(const device& d) : device_(&static_cast<const cuda_memory&>(d.memory())), stream_(device_->stream()) {}
  /// A queue whose programs take their memory from a room.
  queue(const queue& q, room& r) : device_(q.device_), stream_(q.stream_), room_(&r) {}
  /// The same on another stream.
  queue on(cudaStream_t stream) const {
    queue q = *this;
    q.stream_ = stream;
    return q;
  }
  const cuda_memory& device_memory() const { return *device_; }
  cudaStream_t stream() const { return stream_; }

  template <class Grid> void run(const Grid& grid) const {
    count();
    const extent blocks = grid.blocks();
    if (blocks == 0) return;
    const unsigned launched = unsigned(simt::smaller(blocks, most_blocks<Grid>()));
    kernel_of_grid<Grid>()<<<launched, Grid::threads, 0, stream_>>>(grid, blocks);
    check("launching a kernel", cudaGetLastError());
  }
  template <class Grid> void run_rows(const Grid& grid) const {
    count();
    const extent blocks = grid.blocks(), launched = grid.memory ? slots(blocks) : simt::smaller(blocks, extent(1) << 30);
    run_rows_grid<<<unsigned(launched), Grid::threads, grid.memory ? 0 : std::size_t(grid.bytes_of_slot), stream_>>>(grid, blocks);
    check("launching a kernel", cudaGetLastError());
  }
  static extent slots(extent blocks) { return simt::smaller(blocks, 2048); }
  static constexpr extent shared_bytes = 48 << 10;
  void copy(void* to, const void* from, extent bytes) const {
    count();
    check("copying on the device", cudaMemcpyAsync(to, from, std::size_t(bytes), cudaMemcpyDeviceToDevice, stream_));
  }
  void copy_to_host(void* to, const void* from, extent bytes) const { device_->copy_to_host(to, from, std::size_t(bytes)); }
  const void* constant(const void* elements, std::size_t bytes) const { return device_->constant(elements, bytes); }
  void remember(std::string (*describe)()) const { device_->remember(describe); }

  template <class I> void sort(I* keys, I* values, extent count) const {
    const memory other(*this, 2 * count * extent(sizeof(I)));
    I* const spare = reinterpret_cast<I*>(other.data());
    cub::DoubleBuffer<I> k(keys, spare), v(values, spare + count);
    std::size_t bytes = 0;
    check("sorting", cub::DeviceRadixSort::SortPairs(nullptr, bytes, k, v, count, 0, int(sizeof(I)) * 8, stream_));
    const memory room(*this, extent(bytes));
    check("sorting", cub::DeviceRadixSort::SortPairs(room.data(), bytes, k, v, count, 0, int(sizeof(I)) * 8, stream_));
    if (k.Current() != keys) copy(keys, k.Current(), count * extent(sizeof(I)));
    if (v.Current() != values) copy(values, v.Current(), count * extent(sizeof(I)));
  }

  /// cuBLAS is column-major: it computes the transpose, c' = b' a'. Float32 is computed in float32, but in a cuda_tf32_scope.
  template <class T> void product(const matrix_product& p, const T* a, const T* b, T* c) const {
    if constexpr (!std::is_floating_point_v<T>) run(simt::product_grid<T>{p, a, b, c});
    else if (p.contracted == 0) check("an empty product", cudaMemsetAsync(c, 0, std::size_t(p.batch * p.rows * p.columns) * sizeof(T), stream_));
    else {
      constexpr bool single = std::is_same_v<T, float>;
      const auto compute = !single ? CUBLAS_COMPUTE_64F : uses_tf32() ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
      const T one = 1, zero = 0;
      const operand x = operand::of(p.right[1], p.right[2], p.contracted, p.columns), y = operand::of(p.left[1], p.left[2], p.rows, p.contracted);
      const cublasHandle_t handle = cublas();
      const memory workspace(*this, cublas_workspace_bytes());
      give_workspace(handle, workspace);
      check("a product of matrices",
            cublasGemmStridedBatchedEx_64(handle, x.operation, y.operation, p.columns, p.rows, p.contracted, &one, b, single ? CUDA_R_32F : CUDA_R_64F, x.leading, p.right[0],
                                          a, single ? CUDA_R_32F : CUDA_R_64F, y.leading, p.left[0], &zero, c, single ? CUDA_R_32F : CUDA_R_64F, p.columns,
                                          p.rows * p.columns, p.batch, compute, CUBLAS_GEMM_DEFAULT));
    }
  }

  /// The libraries' handles, which give their work to this queue until another queue of this thread asks for them.
  cublasHandle_t cublas() const {
    count();
    const cublasHandle_t handle = cublas_handle(device_->index);
    check("cublasSetStream", cublasSetStream(handle, stream_));
    return handle;
  }
  cusolverDnHandle_t cusolver() const {
    const cusolverDnHandle_t handle = cusolver_handle(device_->index);
    check("cusolverDnSetStream", cusolverDnSetStream(handle, stream_));
    return handle;
  }
  /// A graph may run beside what else this thread gives to cuBLAS, so its calls have a workspace of their own.
  extent cublas_workspace_bytes() const { return room_ ? extent(cublas_workspace) : 0; }
  template <class Memory> void give_workspace(cublasHandle_t handle, const Memory& workspace) const {
    if (room_) check("cublasSetWorkspace", cublasSetWorkspace(handle, workspace.data(), cublas_workspace));
  }

  template <class T> void cholesky(const T* a, T* l, extent n, extent matrices) const { gpu::cholesky(*this, a, l, n, matrices); }
  template <class T> void triangular_solve(const T* a, const T* b, T* x, extent n, extent m, extent matrices, bool lower, bool transposed, bool unit_diagonal) const {
    gpu::triangular_solve(*this, a, b, x, n, m, matrices, lower, transposed, unit_diagonal);
  }
  template <class T> void lu(const T* a, T* factors, extent n, extent matrices) const { gpu::lu(*this, a, factors, n, matrices); }
  template <class T> void lu_solve(const T* factors, const T* b, T* x, extent n, extent m, extent matrices, bool transposed) const {
    gpu::lu_solve(*this, factors, b, x, n, m, matrices, transposed);
  }
  template <class T> void qr(const T* a, T* parts, extent m, extent n, extent matrices) const { gpu::qr(*this, a, parts, m, n, matrices); }
  template <class T> void eigh(const T* a, T* parts, extent n, extent matrices) const { gpu::eigh(*this, a, parts, n, matrices); }
  template <class T> void svd(const T* a, T* parts, extent m, extent n, extent matrices) const { gpu::svd(*this, a, parts, m, n, matrices); }
  template <class T> void transform(fourier what, const axis_lines& lines, const T* x, T* y) const {
    count();
    gpu::transform(*this, device_->index, stream_, what, lines, x, y);
  }

  class memory {
   public:
    memory(const queue& q, extent bytes) : stream_(q.stream_), room_(q.room_), bytes_(std::size_t(bytes)) {
      if (room_) data_ = room_->take(bytes_), is_in_room_ = data_ != nullptr;
      if (!data_ && bytes_ > 0) data_ = q.device_->allocate(bytes_);
    }
    memory(const memory&) = delete;
    memory& operator=(const memory&) = delete;
    ~memory() {
      if (room_) room_->give_back(bytes_);
      if (data_ && !is_in_room_) cudaFreeAsync(data_, stream_);
    }
    std::byte* data() const { return static_cast<std::byte*>(data_); }

   private:
    cudaStream_t stream_;
    room* room_;
    std::size_t bytes_;
    void* data_ = nullptr;
    bool is_in_room_ = false;
  };

 private:
  /// The blocks of a launch, which take those of a large grid in turn: as many as the GPU that was asked first runs at once, some times over,
  /// for multiprocessors are not all equally fast.
  template <class Grid> static extent most_blocks() {
    constexpr extent rounds = 8, most = extent(1) << 30;
    static const extent at_once = blocks_at_once(reinterpret_cast<const void*>(kernel_of_grid<Grid>()), Grid::threads);
    return at_once > 0 ? rounds * at_once : most;
  }

  /// A row-major matrix of rows x columns whose rows or columns are contiguous, as cuBLAS takes its transpose.
  struct operand {
    cublasOperation_t operation;
    extent leading;
    static operand of(extent row_stride, extent column_stride, extent rows, extent columns) {
      if (column_stride == 1 || columns == 1) return {CUBLAS_OP_N, row_stride > columns ? row_stride : columns};
      return {CUBLAS_OP_T, column_stride > rows ? column_stride : rows};
    }
  };

  void count() const {
    if (room_) ++room_->given;
  }

  const cuda_memory* device_ = nullptr;
  cudaStream_t stream_ = nullptr;
  room* room_ = nullptr;
};

/// Whether a program or a body of it factors matrices by cuSOLVER, which does not say that its functions can be captured, or has Fourier
/// transforms, whose plans cannot be made then.
template <class Program> constexpr bool needs_libraries_at_once() {
  constexpr std::uint64_t by_library[] = {primitive_of<cholesky_p>.id, primitive_of<lu_p>.id, primitive_of<qr_p>.id, primitive_of<eigh_p>.id, primitive_of<svd_p>.id};
  for (const bare_node& x : Program::graph.nodes) {
    if (x.op_id == primitive_of<fft_lines_p>.id) return true;
    for (std::uint64_t id : by_library)
      if (x.op_id == id && simt::is_large(x.dims[x.dims.rank - 1])) return true;
  }
  return false;
}
/// Whether calls of a program may be launches of a graph: it has several kernels, and the host reads nothing between them.
template <class Program> constexpr bool can_be_captured() {
  return Program::steps > 0 && !is_one_kernel(Program::plan) && !reads_on_host<Program>() && !needs_libraries_at_once<Program>();
}
/// Names what is launched, for messages.
template <class Program> std::string describe_graph() {
  return "the graph of " + std::to_string(Program::steps) + " steps, the last of which is " + simt::describe_step<Program, Program::steps - 1>();
}

/// In place of a queue: writes about the kernels that it is to run, but for those of libraries. Nothing runs.
class describing_queue {
 public:
  describing_queue() = default;
  explicit describing_queue(std::string& lines) : lines_(&lines) {}

  template <class Grid> void run(const Grid&) const { write(reinterpret_cast<const void*>(kernel_of_grid<Grid>()), Grid::threads); }
  template <class Grid> void run_rows(const Grid&) const { write(reinterpret_cast<const void*>(&run_rows_grid<Grid>), Grid::threads); }
  static extent slots(extent blocks) { return queue::slots(blocks); }
  static constexpr extent shared_bytes = queue::shared_bytes;
  void copy(void*, const void*, extent) const {}
  void copy_to_host(void*, const void*, extent) const {}
  const void* constant(const void* elements, std::size_t) const { return elements; }
  void remember(std::string (*)()) const {}
  template <class I> void sort(I*, I*, extent) const {}
  template <class T> void product(const matrix_product&, const T*, const T*, T*) const {}
  template <class T> void cholesky(const T*, T*, extent, extent) const {}
  template <class T> void triangular_solve(const T*, const T*, T*, extent, extent, extent, bool, bool, bool) const {}
  template <class T> void lu(const T*, T*, extent, extent) const {}
  template <class T> void lu_solve(const T*, const T*, T*, extent, extent, extent, bool) const {}
  template <class T> void qr(const T*, T*, extent, extent, extent) const {}
  template <class T> void eigh(const T*, T*, extent, extent) const {}
  template <class T> void svd(const T*, T*, extent, extent, extent) const {}
  template <class T> void transform(fourier, const axis_lines&, const T*, T*) const {}
  struct memory {
    memory(const describing_queue&, extent) {}
    std::byte* data() const { return nullptr; }
  };

 private:
  void write(const void* kernel, int threads) const {
    if (const std::string text = occupancy_text(kernel, threads); !text.empty()) *lines_ += text + '\n';
  }
  std::string* lines_ = nullptr;
};
using describing_backend = simt::backend<describing_queue>;

struct backend : simt::backend<queue> {
  using platform = cotangent::cuda;
  /// A call's device is the current one until the call returns. Profilers see the call as a range with the function's name.
  struct scope {
    current_device here;
    scope(const device& d, const char* function) : here(d.index()) { nvtxRangePushA(function); }
    ~scope() { nvtxRangePop(); }
  };

  template <class Program, int Numbers, class Size>
  static void run_program(typename Program::state& s, const void** inputs, void* const* outputs, const Size& size_of_number) {
    if constexpr (can_be_captured<Program>()) {
      if (takes_graphs(s.queue.stream())) return run_graph<Program, Numbers>(s, inputs, outputs, size_of_number);
    }
    simt::backend<queue>::run_program<Program, Numbers>(s, inputs, outputs, size_of_number);
  }

  /// For reports: a line for each kernel that a step runs, but not those of bodies that are steps of their own. Run-time extents count as
  /// 1024.
  template <class Program, int Step> static std::string kernels_of_step() {
    using described = executable<typename Program::make, typename Program::donated, describing_backend>;
    std::string lines;
    typename described::state s{};
    s.queue = describing_queue(lines);
    for (extent& e : s.symbols) e = 1024;
    described::template run_step<Step>(s);
    return lines;
  }

 private:
  template <class Program, int Numbers, class Size>
  static void run_graph(typename Program::state& s, const void** inputs, void* const* outputs, const Size& size_of_number) {
    static char program;  // its address stands for it
    std::vector<std::uintptr_t> key{uses_tf32() + 2u * simt::uses_atomics()};
    for (int i = 0; i < Program::input_count; ++i) key.push_back(size_of_number(i) > 0 ? 0 : reinterpret_cast<std::uintptr_t>(inputs[i]));
    for (int o = 0; o < Program::output_count; ++o) key.push_back(reinterpret_cast<std::uintptr_t>(outputs[o]));
    if constexpr (Program::has_symbols) key.insert(key.end(), std::begin(s.symbols), std::end(s.symbols));
    stream_graphs& graphs = graphs_of(s.queue.device_memory(), s.queue.stream());
    const std::lock_guard lock(graphs.mutex);
    replay& r = graphs.find(&program, key);
    const queue own(s.queue, graphs.memory);
    const simt::numbers_on_device<queue, Numbers> moved(own, inputs, Program::input_count, size_of_number);
    graphs.run(r, [&](cudaStream_t stream) {
      s.queue = own.on(stream);
      Program::execute(s, inputs, outputs);
    });
    own.remember(describe_graph<Program>);
  }
};

}  // namespace cotangent::gpu
