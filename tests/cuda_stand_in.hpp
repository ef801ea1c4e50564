#pragma once
/// A stand-in for the CUDA runtime that works on the host's memory: it notes what it is asked for.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

namespace stand_in {

/// Work that was given to a stream, captured.
struct captured {
  std::vector<std::function<void()>> work;
};
/// What the stand-in was asked for, and what it answers.
struct runtime {
  int devices = 2, current = 0, streams = 0;
  bool fails = false;
  std::string calls;
  cudaError_t last_error = cudaSuccess;

  /// Graphs: those that exist, how often which step was taken, and what is being captured where.
  int graphs = 0, executables = 0, captures = 0, instantiations = 0, updates = 0, launches = 0;
  bool refuses_updates = false, breaks_captures = false;
  std::map<cudaStream_t, captured> capturing;

  void note(const std::string& what) { calls += what + "; "; }
  std::string take() { return std::exchange(calls, ""); }
};
inline runtime now;

inline std::string number_of(cudaStream_t s) { return std::to_string(reinterpret_cast<std::uintptr_t>(s)); }
inline cudaStream_t stream_number(std::uintptr_t n) { return reinterpret_cast<cudaStream_t>(n); }

/// Does some work on a stream: now, or when the graph is launched that is being captured there.
inline void give(cudaStream_t s, const std::function<void()>& work) {
  const auto at = now.capturing.find(s);
  if (at == now.capturing.end()) work();
  else at->second.work.push_back(work);
}
inline cudaError_t failure(cudaError_t e) { return now.last_error = e; }

}  // namespace stand_in

extern "C" {
cudaError_t cudaGetDeviceCount(int* n) {
  *n = stand_in::now.devices;
  return stand_in::now.devices > 0 ? cudaSuccess : cudaErrorNoDevice;
}
cudaError_t cudaGetDevice(int* d) { return *d = stand_in::now.current, cudaSuccess; }
cudaError_t cudaSetDevice(int d) { return stand_in::now.current = d, cudaSuccess; }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned) {
  // The devices' own streams are 100 and 101.
  *s = stand_in::stream_number(stand_in::now.streams++ < stand_in::now.devices ? 100 + std::uintptr_t(stand_in::now.current) : 200 + std::uintptr_t(stand_in::now.streams));
  return cudaSuccess;
}
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* p, int) { return *p = nullptr, cudaSuccess; }
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
cudaError_t cudaMallocAsync(void** p, std::size_t n, cudaStream_t s) {
  stand_in::now.note("allocate on " + stand_in::number_of(s) + " of device " + std::to_string(stand_in::now.current));
  if (n > std::size_t(1) << 40) return cudaErrorMemoryAllocation;
  return *p = std::malloc(n), cudaSuccess;
}
cudaError_t cudaFreeAsync(void* p, cudaStream_t s) {
  stand_in::now.note("free on " + stand_in::number_of(s));
  return std::free(p), cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t n, cudaMemcpyKind, cudaStream_t) { return std::memcpy(to, from, n), cudaSuccess; }
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, std::size_t n, cudaStream_t s) {
  stand_in::now.note("copy from " + std::to_string(from_device) + " to " + std::to_string(to_device) + " on " + stand_in::number_of(s));
  return std::memcpy(to, from, n), cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t n, cudaMemcpyKind) { return std::memcpy(to, from, n), cudaSuccess; }
cudaError_t cudaMalloc(void** p, std::size_t n) { return *p = std::malloc(n), cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return stand_in::now.fails ? cudaErrorIllegalAddress : cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) { return *e = nullptr, cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t s) { return stand_in::now.note("record on " + stand_in::number_of(s)), cudaSuccess; }
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t, unsigned) { return stand_in::now.note("wait on " + stand_in::number_of(s)), cudaSuccess; }
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaHostRegister(void*, std::size_t n, unsigned) { return stand_in::now.note("pin " + std::to_string(n)), cudaSuccess; }
cudaError_t cudaHostUnregister(void*) { return stand_in::now.note("unpin"), cudaSuccess; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int) { return std::strcpy(p->name, "a stand-in"), cudaSuccess; }
const char* cudaGetErrorString(cudaError_t e) { return e == cudaErrorNoDevice ? "no CUDA-capable device is detected" : "the driver's words"; }
const char* cudaGetErrorName(cudaError_t) { return "cudaErrorName"; }
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* a, const void*) {
  a->numRegs = 40, a->localSizeBytes = 16, a->sharedSizeBytes = 2048;
  return stand_in::now.fails ? stand_in::failure(cudaErrorInvalidDeviceFunction) : cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr what, int) { return *value = what == cudaDevAttrMultiProcessorCount ? 3 : 2048, cudaSuccess; }
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int, std::size_t) {
  *blocks = 6;
  return stand_in::now.fails ? stand_in::failure(cudaErrorInvalidDeviceFunction) : cudaSuccess;
}
cudaError_t cudaGetLastError() { return std::exchange(stand_in::now.last_error, cudaSuccess); }

cudaError_t cudaStreamIsCapturing(cudaStream_t s, cudaStreamCaptureStatus* status) {
  *status = stand_in::now.capturing.count(s) ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode) {
  ++stand_in::now.captures;
  stand_in::now.capturing[s] = {};
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t* g) {
  auto* made = new stand_in::captured(stand_in::now.capturing.at(s));
  stand_in::now.capturing.erase(s);
  *g = nullptr;
  if (stand_in::now.breaks_captures) return delete made, stand_in::failure(cudaErrorStreamCaptureInvalidated);
  ++stand_in::now.graphs;
  *g = reinterpret_cast<cudaGraph_t>(made);
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t g) {
  --stand_in::now.graphs;
  delete reinterpret_cast<stand_in::captured*>(g);
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* e, cudaGraph_t g, unsigned long long) {
  ++stand_in::now.executables, ++stand_in::now.instantiations;
  *e = reinterpret_cast<cudaGraphExec_t>(new stand_in::captured(*reinterpret_cast<stand_in::captured*>(g)));
  return cudaSuccess;
}
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t e, cudaGraph_t g, cudaGraphExecUpdateResultInfo*) {
  auto& old = *reinterpret_cast<stand_in::captured*>(e);
  const auto& with = *reinterpret_cast<stand_in::captured*>(g);
  if (stand_in::now.refuses_updates || old.work.size() != with.work.size()) return stand_in::failure(cudaErrorGraphExecUpdateFailure);
  ++stand_in::now.updates;
  old = with;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t e) {
  --stand_in::now.executables;
  delete reinterpret_cast<stand_in::captured*>(e);
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t e, cudaStream_t s) {
  ++stand_in::now.launches;
  stand_in::now.note("graph on " + stand_in::number_of(s));
  for (const auto& work : reinterpret_cast<stand_in::captured*>(e)->work) work();
  return cudaSuccess;
}
}
