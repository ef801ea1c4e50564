#pragma once
/// CUDA devices and their memory. Needs the CUDA runtime, but not nvcc: a file that g++ compiles may include it and be linked with
/// -lcudart.
///
/// Every device has one stream of its own, on which programs run and memory is taken and given back in order; a
/// `cuda_stream_scope` puts another in its place for a while. The caller's current device is never changed for longer than a call.

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include <cuda_runtime_api.h>

#include <cotangent/core/device.hpp>

namespace cotangent::gpu {

[[noreturn, gnu::cold]] inline void throw_cuda(const char* what, cudaError_t e) {
  cudaGetLastError();  // it is told here, and not once more after the next launch
  throw device_error(std::string("CUDA: ") + what + ": " + cudaGetErrorString(e) + " (" + cudaGetErrorName(e) + ")");
}
inline void check(const char* what, cudaError_t e) {
  if (e != cudaSuccess) throw_cuda(what, e);
}

/// Makes a device the current one for a scope, and then the one that was.
class current_device {
 public:
  explicit current_device(int index) : wanted_(index) {
    check("cudaGetDevice", cudaGetDevice(&before_));
    if (before_ != wanted_) check("cudaSetDevice", cudaSetDevice(wanted_));
  }
  current_device(const current_device&) = delete;
  current_device& operator=(const current_device&) = delete;
  ~current_device() {
    if (before_ != wanted_) cudaSetDevice(before_);
  }

 private:
  int before_ = 0, wanted_;
};

/// What stream `then` of device `then_device` is given next waits for what `first` of device `first_device` was given before.
inline void order_streams(int first_device, cudaStream_t first, int then_device, cudaStream_t then) {
  cudaEvent_t done;
  const current_device recording(first_device);
  check("cudaEventCreate", cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  cudaError_t e = cudaEventRecord(done, first);
  if (e == cudaSuccess) {
    const current_device waiting(then_device);
    e = cudaStreamWaitEvent(then, done, 0);
  }
  cudaEventDestroy(done);
  check("ordering streams", e);
}

/// One CUDA device.
class cuda_memory final : public device_memory {
 public:
  explicit cuda_memory(int i) : device_memory(cuda::name, i) {
    const current_device here(i);
    check("cudaStreamCreate", cudaStreamCreateWithFlags(&own_, cudaStreamNonBlocking));
    // Freed memory is kept by the pool, for the next call.
    cudaMemPool_t pool;
    check("cudaDeviceGetDefaultMemPool", cudaDeviceGetDefaultMemPool(&pool, i));
    std::uint64_t keep = ~std::uint64_t(0);
    check("cudaMemPoolSetAttribute", cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
  }

  std::string description() const override {
    cudaDeviceProp properties;
    check("cudaGetDeviceProperties", cudaGetDeviceProperties(&properties, index));
    return properties.name;
  }
  /// The stream that this thread uses: the device's own, or that of a cuda_stream_scope.
  cudaStream_t stream() const {
    for (const chosen* c = chosen_here(); c; c = c->outer)
      if (c->index == index) return c->stream;
    return own_;
  }

  void* allocate(std::size_t bytes) const override {
    const current_device here(index);
    void* p = nullptr;
    const cudaError_t e = cudaMallocAsync(&p, bytes, stream());
    if (e != cudaSuccess) throw_cuda(("no room for " + std::to_string(bytes) + " bytes on cuda:" + std::to_string(index)).c_str(), e);
    return p;
  }
  void release(void* p, std::size_t) const noexcept override {
    int before = 0;
    if (cudaGetDevice(&before) != cudaSuccess) return;  // the driver has gone before the array
    cudaSetDevice(index);
    cudaFreeAsync(p, stream());
    cudaSetDevice(before);
  }
  void copy_from_host(void* to, const void* from, std::size_t bytes) const override { copy_and_wait("copying to the device", to, from, bytes, cudaMemcpyHostToDevice); }
  void copy_to_host(void* to, const void* from, std::size_t bytes) const override { copy_and_wait("copying to the host", to, from, bytes, cudaMemcpyDeviceToHost); }
  void copy(void* to, const void* from, std::size_t bytes) const override {
    const current_device here(index);
    check("copying on the device", cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream()));
  }
  /// In the order of both devices' work.
  bool copy_from_peer(const device_memory& peer, void* to, const void* from, std::size_t bytes) const override {
    if (peer.platform != std::string_view(cuda::name)) return false;
    const cudaStream_t there = static_cast<const cuda_memory&>(peer).stream();
    order_streams(peer.index, there, index, stream());
    const current_device here(index);
    check("copying between devices", cudaMemcpyPeerAsync(to, index, from, peer.index, bytes, stream()));
    order_streams(index, stream(), peer.index, there);
    return true;
  }
  void wait() const override {
    const current_device here(index);
    const cudaError_t e = cudaStreamSynchronize(stream());
    if (e != cudaSuccess) throw_cuda(("a failure in, or before, " + last_step()).c_str(), e);
  }

  /// Names the step that was given to the device last, for messages about failures, which arrive later.
  void remember(std::string (*describe)()) const { last_.store(describe, std::memory_order_relaxed); }

  /// Where the device keeps elements of the program that never change; they are copied at first use.
  const void* constant(const void* elements, std::size_t bytes) const {
    const std::lock_guard lock(constants_mutex_);
    const auto [at, is_new] = constants_.try_emplace(elements, nullptr);
    if (!is_new) return at->second;
    try {
      const current_device here(index);
      check("a constant array", cudaMalloc(&at->second, bytes));
      check("a constant array", cudaMemcpy(at->second, elements, bytes, cudaMemcpyHostToDevice));
    } catch (...) {
      constants_.erase(at);
      throw;
    }
    return at->second;
  }

  /// What a cuda_stream_scope has put in place.
  struct chosen {
    int index;
    cudaStream_t stream;
    const chosen* outer;
  };
  static const chosen*& chosen_here() {
    static thread_local const chosen* innermost = nullptr;
    return innermost;
  }

 private:
  std::string last_step() const {
    const auto describe = last_.load(std::memory_order_relaxed);
    return describe ? describe() : "the work of the device";
  }
  void copy_and_wait(const char* what, void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) const {
    const current_device here(index);
    cudaError_t e = cudaMemcpyAsync(to, from, bytes, kind, stream());
    if (e == cudaSuccess) e = cudaStreamSynchronize(stream());
    if (e != cudaSuccess) throw_cuda((std::string(what) + ", after " + last_step()).c_str(), e);
  }

  cudaStream_t own_ = nullptr;
  mutable std::atomic<std::string (*)()> last_{nullptr};
  mutable std::mutex constants_mutex_;
  mutable std::map<const void*, void*> constants_;
};

/// Every device of the machine. Looked for at first use; throws device_error with the driver's words if there is none.
inline std::vector<device> list() {
  static const std::vector<std::unique_ptr<const cuda_memory>> found = [] {
    int count = 0;
    const cudaError_t e = cudaGetDeviceCount(&count);
    if (e != cudaSuccess) throw_cuda("looking for devices", e);
    if (count == 0) throw_cuda("looking for devices", cudaErrorNoDevice);
    std::vector<std::unique_ptr<const cuda_memory>> all;
    for (int i = 0; i < count; ++i) all.push_back(std::make_unique<const cuda_memory>(i));
    all.shrink_to_fit();
    return all;
  }();
  std::vector<device> devices;
  for (const auto& m : found) devices.emplace_back(*m);
  return devices;
}
inline const register_platform registered(cuda::name, list);

}  // namespace cotangent::gpu

namespace cotangent {

/// Pins the elements of a host array while it lives: copies to and from devices need no staging then. The array must not move or
/// be resized meanwhile.
class pinned_scope {
 public:
  template <class Array> explicit pinned_scope(Array& x) : memory_(const_cast<void*>(static_cast<const void*>(x.data()))) {
    const std::size_t bytes = std::size_t(x.size()) * sizeof(*x.data());
    if (bytes > 0) gpu::check("pinning host memory", cudaHostRegister(memory_, bytes, cudaHostRegisterPortable));
    else memory_ = nullptr;
  }
  pinned_scope(const pinned_scope&) = delete;
  pinned_scope& operator=(const pinned_scope&) = delete;
  ~pinned_scope() {
    if (memory_) cudaHostUnregister(memory_);
  }

 private:
  void* memory_;
};

/// Within its scope, this thread gives its work for a CUDA device to `stream`. The stream's work comes after what the device was
/// given before the scope; what it is given afterwards comes after the stream's. Scopes nest.
class cuda_stream_scope {
 public:
  cuda_stream_scope(const device& d, cudaStream_t stream) : memory_(cuda_device(d)), mine_{memory_.index, stream, gpu::cuda_memory::chosen_here()} {
    order(memory_.stream(), stream);
    gpu::cuda_memory::chosen_here() = &mine_;
  }
  cuda_stream_scope(const cuda_stream_scope&) = delete;
  cuda_stream_scope& operator=(const cuda_stream_scope&) = delete;
  ~cuda_stream_scope() {
    gpu::cuda_memory::chosen_here() = mine_.outer;
    try {
      order(mine_.stream, memory_.stream());
    } catch (const device_error&) {
      // The stream has failed, which the next wait will tell.
    }
  }

 private:
  static const gpu::cuda_memory& cuda_device(const device& d) {
    if (d.platform() != std::string_view(cuda::name)) throw device_error("cuda_stream_scope: " + d.name() + " is not a CUDA device");
    return static_cast<const gpu::cuda_memory&>(d.memory());
  }
  void order(cudaStream_t first, cudaStream_t then) const { gpu::order_streams(memory_.index, first, memory_.index, then); }

  const gpu::cuda_memory& memory_;
  gpu::cuda_memory::chosen mine_;
};

}  // namespace cotangent
