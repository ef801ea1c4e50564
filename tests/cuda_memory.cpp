/// The CUDA devices' memory, streams and errors, over a stand-in for the CUDA runtime. (Kernels are tested on Thrust's systems, and by
/// tests/cuda/run on a GPU.)

#include <cotangent/backends/cuda/memory.hpp>
#include <cotangent/backends/cuda/occupancy.hpp>

#include <cotangent/core/device_array.hpp>
#include <cotangent/core/print.hpp>

#include "catch.hpp"
#include "cuda_stand_in.hpp"

namespace ct = cotangent;
using namespace stand_in;

TEST_CASE("a machine without a GPU says so at first use, and may have one later") {
  now.devices = 0;
  CHECK_THROWS_WITH(ct::devices<ct::cuda>(), "CUDA: looking for devices: no CUDA-capable device is detected (cudaErrorName)");
  CHECK(ct::devices() == std::vector{ct::device()});
  now.devices = 2;
  REQUIRE(ct::devices<ct::cuda>().size() == 2);
  CHECK(ct::devices().size() == 3);
  CHECK(ct::devices()[1].name() == "cuda:1");
  CHECK(ct::devices()[1].description() == "a stand-in");
}

TEST_CASE("arrays are allocated, copied and freed on their device, and the caller's current device stays") {
  const ct::device d = ct::devices<ct::cuda>()[1];
  const ct::array<float, 300> x = ct::full<float, 300>(2.5f);
  now.take();
  {
    const auto y = ct::device_put(x, d);
    CHECK(now.take() == "allocate on 101 of device 1; ");
    const auto z = y;
    CHECK(ct::device_get(z) == x);
    CHECK(now.take() == "allocate on 101 of device 1; ");
  }
  CHECK(now.take() == "free on 101; free on 101; ");
  CHECK(now.current == 0);
}

TEST_CASE("copies to another device do not pass through the host, and are in order with the work of both") {
  const ct::device first = ct::devices<ct::cuda>()[0], second = ct::devices<ct::cuda>()[1];
  ct::array<float, ct::dyn> host({1000});
  for (ct::extent i = 0; i < 1000; ++i) host(i) = float(i);
  const auto x = ct::device_put(host, first);
  now.take();
  {
    const ct::cuda_stream_scope scope(second, stream_number(7));
    now.take();
    const auto y = ct::device_put(x, second);
    CHECK(now.take() == "allocate on 7 of device 1; record on 100; wait on 7; copy from 0 to 1 on 7; record on 7; wait on 100; ");
    CHECK(y.device() == second);
    CHECK(y.get() == host);
    CHECK(ct::device_put(y, ct::device()).get() == host);
    CHECK(ct::device_put(ct::device_array<float, ct::dyn>(), second).size() == 0);
  }
  CHECK(now.current == 0);
}

TEST_CASE("a stream's work comes after what was given before, and before what is given afterwards; scopes nest") {
  const ct::device d = ct::devices<ct::cuda>()[1];
  const auto x = ct::device_put(ct::array<float, 300>(), d);
  now.take();
  {
    const ct::cuda_stream_scope scope(d, stream_number(7));
    CHECK(now.take() == "record on 101; wait on 7; ");
    {
      const ct::cuda_stream_scope inner(d, stream_number(8));
      CHECK(now.take() == "record on 7; wait on 8; ");
      const auto y = x;
    }
    CHECK(now.take() == "allocate on 8 of device 1; free on 8; record on 8; wait on 7; ");
    const auto other = ct::device_put(ct::array<float, 300>(), ct::devices<ct::cuda>()[0]);
    CHECK(now.take() == "allocate on 100 of device 0; ");
  }
  CHECK(now.take() == "free on 100; record on 7; wait on 101; ");
  CHECK_THROWS_WITH(ct::cuda_stream_scope(ct::device(), nullptr), "cuda_stream_scope: cpu:0 is not a CUDA device");
}

TEST_CASE("failures are thrown with what failed, and nothing is lost") {
  const ct::device d = ct::devices<ct::cuda>()[0];
  const auto x = ct::device_put(ct::full<float, 300>(1.5f), d);
  now.fails = true;
  CHECK_THROWS_WITH(ct::block_until_ready(x), "CUDA: a failure in, or before, the work of the device: the driver's words (cudaErrorName)");
  static_cast<const ct::gpu::cuda_memory&>(d.memory()).remember([] { return std::string("step 3: the kernel of add mul"); });
  CHECK_THROWS_WITH(ct::device_get(x), "CUDA: copying to the host, after step 3: the kernel of add mul: the driver's words (cudaErrorName)");
  now.fails = false;
  CHECK(x.get() == ct::full<float, 300>(1.5f));
  CHECK_THROWS_WITH((ct::device_array<float, ct::dyn>(ct::uninitialized, d, {ct::extent(1) << 42})),
                    "CUDA: no room for 17592186044416 bytes on cuda:0: the driver's words (cudaErrorName)");
  CHECK(now.current == 0);
}

TEST_CASE("constants are copied to each device once; host memory is pinned for a scope") {
  static const float elements[] = {1, 2, 3};
  const auto& memory = static_cast<const ct::gpu::cuda_memory&>(ct::devices<ct::cuda>()[0].memory());
  const auto* there = static_cast<const float*>(memory.constant(elements, sizeof elements));
  CHECK(there != elements);
  CHECK(there[2] == 3);
  CHECK(memory.constant(elements, sizeof elements) == there);
  ct::array<float, 300> x;
  now.take();
  {
    const ct::pinned_scope pinned(x);
    CHECK(now.take() == "pin 1200; ");
  }
  CHECK(now.take() == "unpin; ");
}

TEST_CASE("what a kernel needs of a GPU is told in a line, or not at all") {
  CHECK(ct::gpu::occupancy_text(nullptr, 256) ==
        "256 threads in a block, 40 registers and 16 local bytes in a thread, 2048 shared bytes; 6 blocks at once, 75 % of a multiprocessor");
  CHECK(ct::gpu::blocks_at_once(nullptr, 256) == 18);
  now.fails = true;
  CHECK(ct::gpu::occupancy_text(nullptr, 256) == "");
  CHECK(ct::gpu::blocks_at_once(nullptr, 256) == 0);
  now.fails = false;
  CHECK(cudaGetLastError() == cudaSuccess);
}
