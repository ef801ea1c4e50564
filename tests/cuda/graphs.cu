/// Programs as CUDA graphs on a CUDA device, where tests/devices.cpp does not go: on several streams, in several threads, and in a
/// graph that the caller captures. Calls are repeated: the first runs step by step, the second is captured, the third is launched.

#include <cmath>
#include <cstdio>
#include <thread>
#include <vector>

#include <cotangent/cotangent.hpp>

namespace graphs {

namespace ct = cotangent;
constexpr ct::extent rows = 300, columns = 200;
using matrix = ct::array<double, rows, columns>;

/// Several kernels, a product of matrices, a sort, and a number.
struct several_steps {
  template <class X, class S> constexpr auto operator()(const X& x, const S& s) const {
    const auto y = ct::sort<1>(x * s);
    return std::tuple(ct::matmul(y, ct::transpose(x)), ct::sum(y, ct::axis<0>), ct::sum(ct::square(x)) * s);
  }
};
constexpr auto f = ct::jit(several_steps{});

matrix numbers(int seed) {
  matrix x;
  for (ct::extent i = 0; i < x.size(); ++i) x.data()[i] = std::sin(double(i * (seed + 3) % 1009));
  return x;
}
template <class Have, class Want> bool agrees(const Have& have, const Want& want) {
  bool same = true;
  const auto got = ct::device_get(have);
  ct::for_each_leaf(
      [&](const auto& a, const auto& b) {
        for (ct::extent i = 0; i < a.size(); ++i) same = same && std::abs(a.data()[i] - b.data()[i]) <= 1e-9 * (1 + std::abs(b.data()[i]));
      },
      got, want);
  return same;
}

/// Calls with their own arrays, on `stream` or on the device's.
bool calls_agree(const ct::device& d, int seed, cudaStream_t stream) {
  const matrix x = numbers(seed);
  const auto want = std::tuple(f(x, 0.5), f(x, -2.0));
  const auto repeated = [&] {
    const auto on = ct::device_put(x, d);
    bool same = true;
    for (int i = 0; i < 20; ++i) same = same && agrees(f(on, 0.5), std::get<0>(want)) && agrees(f(on, -2.0), std::get<1>(want));
    return same;
  };
  if (!stream) return repeated();
  const ct::cuda_stream_scope scope(d, stream);
  return repeated();
}
bool two_streams(const ct::device& d) {
  cudaStream_t streams[2];
  for (cudaStream_t& s : streams) cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  const bool same = calls_agree(d, 1, streams[0]) && calls_agree(d, 2, streams[1]) && calls_agree(d, 3, nullptr);
  bool both[2] = {false, false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) threads.emplace_back([&, t] { both[t] = calls_agree(d, 4 + t, streams[t]); });
  for (std::thread& t : threads) t.join();
  for (cudaStream_t s : streams) cudaStreamDestroy(s);
  return same && both[0] && both[1];
}
bool threads_on_one_stream(const ct::device& d) {
  bool same[4] = {};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back([&, t] { same[t] = calls_agree(d, t, nullptr); });
  for (std::thread& t : threads) t.join();
  return same[0] && same[1] && same[2] && same[3];
}
/// The caller captures calls into arrays that exist, and launches them when the arguments are others.
bool in_a_graph_of_the_caller(const ct::device& d) {
  const matrix first = numbers(7), second = numbers(8);
  const auto on = ct::device_put(first, d), other = ct::device_put(second, d);
  auto out = f(on, 0.5);
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  {
    const ct::cuda_stream_scope scope(d, stream);
    ct::block_until_ready(on);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    f.into(out)(on, 0.5);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&executable, graph, 0);
    cudaMemcpyAsync(const_cast<double*>(on.data()), other.data(), sizeof(double) * std::size_t(rows * columns), cudaMemcpyDeviceToDevice, stream);
    cudaGraphLaunch(executable, stream);
  }
  const bool same = agrees(out, f(second, 0.5));
  cudaGraphExecDestroy(executable), cudaGraphDestroy(graph), cudaStreamDestroy(stream);
  return same;
}

int run() {
  const ct::device d = ct::devices<ct::cuda>()[0];
  int failures = 0;
  const auto tell = [&](const char* what, bool passed) {
    failures += !passed;
    std::printf("%s %s\n", passed ? "ok    " : "FAILED", what);
  };
  tell("calls again and again", calls_agree(d, 0, nullptr));
  tell("two streams, one after the other and at once", two_streams(d));
  tell("threads on one stream", threads_on_one_stream(d));
  tell("in a graph that the caller captures", in_a_graph_of_the_caller(d));
  std::printf("%d passed, %d failed\n", 4 - failures, failures);
  return failures;
}

}  // namespace graphs

int main() {
  try {
    cotangent::devices<cotangent::cuda>();
  } catch (const cotangent::device_error& e) {
    std::printf("%s: compiled only\n", e.what());
    return 77;
  }
  return graphs::run();
}
