/// The CUDA devices' memory, streams and errors, over a stand-in for the CUDA runtime that works on the host's memory. (Kernels are
/// tested on Thrust's systems, and by tests/cuda/run on a GPU.)

#include <cotangent/backends/cuda/memory.hpp>

#include <cotangent/core/device_array.hpp>
#include <cotangent/core/print.hpp>

#include "catch.hpp"

namespace ct = cotangent;

namespace {

/// What the stand-in was asked for, and what it answers.
struct runtime {
  int devices = 2, current = 0;
  bool fails = false;
  std::string calls;
  void* next_stream = nullptr;

  void note(const std::string& what) { calls += what + "; "; }
  std::string take() { return std::exchange(calls, ""); }
};
runtime now;

std::string number_of(cudaStream_t s) { return std::to_string(reinterpret_cast<std::uintptr_t>(s)); }
cudaStream_t stream_number(std::uintptr_t n) { return reinterpret_cast<cudaStream_t>(n); }

}  // namespace

extern "C" {
cudaError_t cudaGetDeviceCount(int* n) {
  *n = now.devices;
  return now.devices > 0 ? cudaSuccess : cudaErrorNoDevice;
}
cudaError_t cudaGetDevice(int* d) { return *d = now.current, cudaSuccess; }
cudaError_t cudaSetDevice(int d) { return now.current = d, cudaSuccess; }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned) { return *s = stream_number(100 + std::uintptr_t(now.current)), cudaSuccess; }
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* p, int) { return *p = nullptr, cudaSuccess; }
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
cudaError_t cudaMallocAsync(void** p, std::size_t n, cudaStream_t s) {
  now.note("allocate on " + number_of(s) + " of device " + std::to_string(now.current));
  if (n > std::size_t(1) << 40) return cudaErrorMemoryAllocation;
  return *p = std::malloc(n), cudaSuccess;
}
cudaError_t cudaFreeAsync(void* p, cudaStream_t s) {
  now.note("free on " + number_of(s));
  return std::free(p), cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t n, cudaMemcpyKind, cudaStream_t) { return std::memcpy(to, from, n), cudaSuccess; }
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t n, cudaMemcpyKind) { return std::memcpy(to, from, n), cudaSuccess; }
cudaError_t cudaMalloc(void** p, std::size_t n) { return *p = std::malloc(n), cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return now.fails ? cudaErrorIllegalAddress : cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) { return *e = nullptr, cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t s) { return now.note("record on " + number_of(s)), cudaSuccess; }
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t, unsigned) { return now.note("wait on " + number_of(s)), cudaSuccess; }
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaHostRegister(void*, std::size_t n, unsigned) { return now.note("pin " + std::to_string(n)), cudaSuccess; }
cudaError_t cudaHostUnregister(void*) { return now.note("unpin"), cudaSuccess; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int) { return std::strcpy(p->name, "a stand-in"), cudaSuccess; }
const char* cudaGetErrorString(cudaError_t e) { return e == cudaErrorNoDevice ? "no CUDA-capable device is detected" : "the driver's words"; }
const char* cudaGetErrorName(cudaError_t) { return "cudaErrorName"; }
}

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
    CHECK(ct::device_put(z, ct::devices<ct::cuda>()[0]).device().index() == 0);
    CHECK(now.take() == "allocate on 101 of device 1; allocate on 100 of device 0; free on 100; ");
  }
  CHECK(now.take() == "free on 101; free on 101; ");
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
