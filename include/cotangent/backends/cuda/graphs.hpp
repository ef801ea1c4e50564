#pragma once
/// Programs as CUDA graphs: a program that is called again with the same arrays is one launch. Needs the CUDA runtime, but not
/// nvcc.
///
/// What a program gives to the device depends on its key alone: where its arguments and results lie, its run-time extents, and whether
/// it may use TF32. The first call of a key runs step by step, which loads modules, copies constants, and shows how much memory the
/// program takes meanwhile. The second call is captured, and the graph of a key that was not called for longest is updated to it where that
/// is possible; from then on the graph is launched. C++ numbers are no part of the key: the graph reads them where a kernel before it
/// has written them.
///
/// Programs are captured on a stream of their own, where nobody else's work can come between.

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include <cotangent/backends/cuda/memory.hpp>

namespace cotangent::gpu {

struct destroy_graph {
  void operator()(cudaGraph_t g) const { cudaGraphDestroy(g); }
  void operator()(cudaGraphExec_t g) const { cudaGraphExecDestroy(g); }  // if it runs, when it has (cuGraphExecDestroy's manual)
};
using captured_graph = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, destroy_graph>;
using executable_graph = std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, destroy_graph>;

/// What give(stream) gives to a stream, as a graph. If it throws, the stream is as it was before.
template <class Give> captured_graph capture(cudaStream_t stream, const Give& give) {
  check("cudaStreamBeginCapture", cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  cudaGraph_t graph = nullptr;
  try {
    give(stream);
  } catch (...) {
    cudaStreamEndCapture(stream, &graph);
    cudaGetLastError();
    captured_graph(graph).reset();
    throw;
  }
  check("cudaStreamEndCapture", cudaStreamEndCapture(stream, &graph));
  return captured_graph(graph);
}
/// Makes `to` run `graph`: by new parameters for its nodes if they are the same otherwise.
inline void update(executable_graph& to, cudaGraph_t graph) {
  cudaGraphExecUpdateResultInfo why_not;
  if (to && cudaGraphExecUpdate(to.get(), graph, &why_not) == cudaSuccess) return;
  cudaGetLastError();
  to.reset();
  cudaGraphExec_t made = nullptr;
  check("cudaGraphInstantiate", cudaGraphInstantiate(&made, graph, 0));
  to.reset(made);
}

/// Memory of a stream for what programs need while they run, one program after the other. What is taken last is given back first.
class room {
 public:
  /// Memory, or null if there is not enough; that is counted all the same.
  std::byte* take(std::size_t bytes) {
    const std::size_t at = used_;
    used_ += rounded(bytes);
    most_ = std::max(most_, used_);
    return used_ <= size_ ? begin_ + at : nullptr;
  }
  void give_back(std::size_t bytes) { used_ -= rounded(bytes); }
  /// How much was in use at once since start().
  std::size_t most() const { return most_; }
  void start() { most_ = used_; }

  const std::byte* begin() const { return begin_; }
  /// Makes room for so much, in the order of the stream, while nothing is in use.
  void grow(const cuda_memory& device, std::size_t bytes) {
    if (bytes <= size_) return;
    if (begin_) device.release(begin_, size_);
    begin_ = nullptr, size_ = 0;
    begin_ = static_cast<std::byte*>(device.allocate(bytes));
    size_ = bytes;
  }

  /// The kernels and copies that programs have given to the device.
  int given = 0;

 private:
  static constexpr std::size_t alignment = 256;
  static std::size_t rounded(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

  std::byte* begin_ = nullptr;
  std::size_t size_ = 0, used_ = 0, most_ = 0;
};

/// A key of a program that was met, and its graph.
struct replay {
  std::vector<std::uintptr_t> key;
  std::uint64_t last_call = 0;
  std::size_t bytes = 0;  // of room, once the key has run
  int given = 0;
  executable_graph graph;
  bool is_of_key = false;  // or of the key that was here before
  const std::byte* room_of_graph = nullptr;
};

/// The programs of a stream of a device. Hold `mutex` from find() to the end of run(): programs share the room.
class stream_graphs {
 public:
  /// Training loops meet few keys: their arrays go back and forth.
  static constexpr std::size_t keys_of_program = 8;
  /// A graph of one kernel saves nothing; a graph takes about a kilobyte for each.
  static constexpr int fewest = 2, most = 1 << 15;

  std::mutex mutex;
  room memory;

  stream_graphs(const cuda_memory& device, cudaStream_t stream) : device_(device), stream_(stream) {}

  /// The key of a program, which an address names; in place of the one that was not called for longest, if it is new.
  replay& find(const void* program, std::span<const std::uintptr_t> key) {
    auto& known = programs_[program];
    const auto earlier = [](const replay& a, const replay& b) { return a.last_call < b.last_call; };
    const auto met = std::find_if(known.begin(), known.end(), [&](const replay& r) { return r.last_call > 0 && std::equal(key.begin(), key.end(), r.key.begin(), r.key.end()); });
    replay& r = met != known.end() ? *met : *std::min_element(known.begin(), known.end(), earlier);
    if (met == known.end()) {
      r.key.assign(key.begin(), key.end());
      r.given = 0, r.is_of_key = false;
    }
    r.last_call = ++calls_;
    if (is_worth_it(r)) memory.grow(device_, r.bytes);
    memory.start();
    return r;
  }
  /// Runs a program: give(stream) gives its steps to a stream.
  template <class Give> void run(replay& r, const Give& give) {
    if (!is_worth_it(r)) {
      const int before = memory.given;
      give(stream_);
      r.bytes = memory.most(), r.given = memory.given - before;
      return;
    }
    if (!r.is_of_key || r.room_of_graph != memory.begin()) {
      r.is_of_key = false;
      update(r.graph, capture(for_capturing(), give).get());
      r.is_of_key = true, r.room_of_graph = memory.begin();
    }
    check("launching a graph", cudaGraphLaunch(r.graph.get(), stream_));
  }

 private:
  static bool is_worth_it(const replay& r) { return r.given >= fewest && r.given <= most; }
  cudaStream_t for_capturing() {
    if (!for_capturing_) check("cudaStreamCreate", cudaStreamCreateWithFlags(&for_capturing_, cudaStreamNonBlocking));
    return for_capturing_;
  }

  const cuda_memory& device_;
  cudaStream_t stream_, for_capturing_ = nullptr;
  std::map<const void*, std::array<replay, keys_of_program>> programs_;
  std::uint64_t calls_ = 0;
};

/// Those of a stream; they are never destroyed: the driver may go before them.
inline stream_graphs& graphs_of(const cuda_memory& device, cudaStream_t stream) {
  static std::mutex mutex;
  static auto& all = *new std::map<std::pair<int, cudaStream_t>, stream_graphs>;
  const std::lock_guard lock(mutex);
  const std::pair at(device.index, stream);
  return all.try_emplace(at, device, stream).first->second;
}
/// Whether programs may be graphs on a stream: not on one that the caller captures, which then captures them step by step, and not on
/// the default streams, which are several behind one name, or wait for others.
inline bool takes_graphs(cudaStream_t stream) {
  if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread) return false;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check("cudaStreamIsCapturing", cudaStreamIsCapturing(stream, &status));
  return status == cudaStreamCaptureStatusNone;
}

}  // namespace cotangent::gpu
