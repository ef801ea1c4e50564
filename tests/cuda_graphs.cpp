/// Programs as CUDA graphs: which calls are captured, updated and launched, over a stand-in for the CUDA runtime.

#include <cotangent/backends/cuda/graphs.hpp>

#include <thread>

#include "catch.hpp"
#include "cuda_stand_in.hpp"

namespace ct = cotangent;
using namespace stand_in;

namespace {

const ct::gpu::cuda_memory& device() { return static_cast<const ct::gpu::cuda_memory&>(ct::devices<ct::cuda>()[0].memory()); }

/// An int in a room, or elsewhere if there is no room.
class place {
 public:
  explicit place(ct::gpu::room& r) : room_(r), in_room_(reinterpret_cast<int*>(r.take(sizeof(int)))) {}
  place(const place&) = delete;
  place& operator=(const place&) = delete;
  ~place() { room_.give_back(sizeof(int)); }
  int* data() { return in_room_ ? in_room_ : &own_; }

 private:
  ct::gpu::room& room_;
  int* in_room_;
  int own_ = 0;
};

/// y = (x + number) * 2 in two steps, the number and the sum in the stream's room.
struct program {
  ct::gpu::stream_graphs graphs{device(), device().stream()};
  int steps = 2;
  bool throws = false;
  char name = 0;

  void operator()(const int* x, int* y, int number) {
    const std::uintptr_t key[] = {reinterpret_cast<std::uintptr_t>(x), reinterpret_cast<std::uintptr_t>(y)};
    const std::lock_guard lock(graphs.mutex);
    ct::gpu::replay& r = graphs.find(&name, key);
    place n(graphs.memory);
    give(device().stream(), [to = n.data(), number] { *to = number; });
    graphs.run(r, [&](cudaStream_t stream) {
      place sum(graphs.memory);
      give(stream, [=, n = n.data(), sum = sum.data()] { *sum = *x + *n; });
      if (throws) throw ct::device_error("a step fails");
      give(stream, [=, sum = sum.data()] { *y = *sum * 2; });
      graphs.memory.given += steps;
    });
  }
};

/// What was done since the last time.
struct counts {
  int captures, instantiations, updates, launches;
  bool operator==(const counts&) const = default;
};
counts taken() {
  const counts c{now.captures, now.instantiations, now.updates, now.launches};
  now.captures = now.instantiations = now.updates = now.launches = 0;
  return c;
}

}  // namespace

TEST_CASE("a key's first call runs step by step, the second is captured, and later ones are launches, whatever the numbers are") {
  program f;
  taken(), now.take();
  int x = 1, y = 0;
  f(&x, &y, 10);
  CHECK(y == 22);
  CHECK(taken() == counts{0, 0, 0, 0});
  CHECK(now.take() == "");
  f(&x, &y, 20);
  CHECK(y == 42);
  CHECK(taken() == counts{1, 1, 0, 1});
  CHECK(now.take() == "allocate on 100 of device 0; graph on 100; ");
  for (int n = 0; n < 5; ++n) {
    x = n;
    f(&x, &y, 3 * n);
    CHECK(y == 8 * n);
  }
  CHECK(taken() == counts{0, 0, 0, 5});
  CHECK(now.graphs == 0);
  CHECK(now.executables == 1);
}

TEST_CASE("loops that go back and forth between arrays have a graph for each; more keys than there are places take the oldest one's graph") {
  program f;
  int x[20] = {}, y[2] = {};
  for (int i = 0; i < 4; ++i) f(&x[0], &y[0], i), f(&x[0], &y[1], i);
  taken();
  for (int i = 0; i < 4; ++i) f(&x[0], &y[0], i), f(&x[0], &y[1], 2 * i);
  CHECK(taken() == counts{0, 0, 0, 8});
  CHECK(y[0] == 6);
  CHECK(y[1] == 12);

  for (int k = 1; k < 20; ++k) f(&x[k], &y[0], k);  // met once each: nothing is captured
  CHECK(taken() == counts{0, 0, 0, 0});
  for (int k = 0; k < 20; ++k) {
    x[k] = k;
    f(&x[k], &y[0], 0), f(&x[k], &y[0], k);
    CHECK(y[0] == 4 * k);
  }
  const counts c = taken();
  CHECK(c.launches >= 20);
  CHECK(c.captures == c.instantiations + c.updates);
  CHECK(c.instantiations == 6);  // the rest of the 8 places; two had a graph
  CHECK(now.graphs == 0);
}

TEST_CASE("a refused update makes a new graph, and its error is not the next launch's") {
  program f;
  int x = 1, y = 0;
  f(&x, &y, 1), f(&x, &y, 1);
  int others[8] = {};
  for (int& o : others) f(&o, &y, 1);  // every place has another key now, and one of them a graph
  const int before = now.executables;
  taken();
  now.refuses_updates = true;
  for (int& o : others) {
    o = 3;
    f(&o, &y, 4);
    CHECK(y == 14);
  }
  now.refuses_updates = false;
  CHECK(taken() == counts{8, 8, 0, 8});
  CHECK(now.executables == before + 7);
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("what fails while it is captured leaves nothing behind, and the next call is captured") {
  program f;
  int x = 1, y = 0;
  f(&x, &y, 1);
  const int graphs = now.graphs, executables = now.executables;
  f.throws = true;
  CHECK_THROWS_WITH(f(&x, &y, 1), "a step fails");
  f.throws = false;
  CHECK(now.capturing.empty());
  now.breaks_captures = true;
  CHECK_THROWS_WITH(f(&x, &y, 1), "CUDA: cudaStreamEndCapture: the driver's words (cudaErrorName)");
  now.breaks_captures = false;
  CHECK(now.graphs == graphs);
  CHECK(now.executables == executables);
  CHECK(cudaGetLastError() == cudaSuccess);
  f(&x, &y, 4);
  CHECK(y == 10);
  CHECK(now.executables == executables + 1);
}

TEST_CASE("programs of one kernel, and of very many, are not captured") {
  for (int steps : {1, 1 << 20}) {
    program f;
    f.steps = steps;
    taken();
    int x = 1, y = 0;
    for (int i = 0; i < 4; ++i) f(&x, &y, i);
    CHECK(y == 8);
    CHECK(taken() == counts{0, 0, 0, 0});
  }
}

TEST_CASE("programs of a stream share its room; when it grows, graphs are captured again") {
  ct::gpu::stream_graphs graphs(device(), device().stream());
  char names[2];
  int y = 0;
  const auto call = [&](int which, std::size_t bytes) {
    const std::uintptr_t key[] = {std::uintptr_t(which)};
    ct::gpu::replay& r = graphs.find(&names[which], key);
    graphs.run(r, [&](cudaStream_t stream) {
      int own = 0;
      std::byte* const p = graphs.memory.take(bytes);
      int* const place = p ? reinterpret_cast<int*>(p) : &own;
      give(stream, [=] { *place = which + 1; });
      give(stream, [=, &y] { y = *place; });
      graphs.memory.given += 2;
      graphs.memory.give_back(bytes);
    });
  };
  call(0, 1000), call(0, 1000), call(0, 1000);
  CHECK(y == 1);
  taken(), now.take();
  call(1, 5000), call(1, 5000);
  CHECK(y == 2);
  CHECK(now.take() == "free on 100; allocate on 100 of device 0; graph on 100; ");
  call(0, 1000);
  CHECK(y == 1);
  CHECK(taken() == counts{2, 1, 1, 2});
  call(0, 1000), call(1, 5000);
  CHECK(taken() == counts{0, 0, 0, 2});
}

TEST_CASE("a room gives back in reverse, and counts what does not fit") {
  ct::gpu::room r;
  r.start();
  CHECK(r.take(100) == nullptr);
  CHECK(r.take(1) == nullptr);
  CHECK(r.most() == 512);
  r.give_back(1), r.give_back(100);
  r.grow(device(), r.most());
  r.start();
  CHECK(r.most() == 0);
  CHECK(r.take(100) == r.begin());
  CHECK(r.take(256) == r.begin() + 256);
  CHECK(r.take(1) == nullptr);
  CHECK(r.most() == 768);
}

TEST_CASE("each stream has its own graphs, and default or captured streams have none") {
  ct::gpu::stream_graphs& a = ct::gpu::graphs_of(device(), stream_number(7));
  CHECK(&a == &ct::gpu::graphs_of(device(), stream_number(7)));
  CHECK(&a != &ct::gpu::graphs_of(device(), stream_number(8)));
  CHECK(ct::gpu::takes_graphs(stream_number(7)));
  CHECK(!ct::gpu::takes_graphs(nullptr));
  CHECK(!ct::gpu::takes_graphs(cudaStreamPerThread));
  now.capturing[stream_number(7)] = {};
  CHECK(!ct::gpu::takes_graphs(stream_number(7)));
  now.capturing.clear();
}

TEST_CASE("threads may call one program on one stream") {
  program f;
  int x[4] = {0, 1, 2, 3}, y[4] = {};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&f, &in = x[t], &out = y[t]] {
      for (int i = 0; i <= 100; ++i) f(&in, &out, i);
    });
  for (std::thread& t : threads) t.join();
  for (int t = 0; t < 4; ++t) CHECK(y[t] == 2 * (t + 100));
}
