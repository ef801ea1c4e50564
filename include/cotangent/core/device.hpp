#pragma once
/// `device`: where arrays live and programs run. The CPU is always there. What else there is, the backends that a program
/// was built with say: each registers its platform when the program starts, and looks for devices at first use.

#include <cstddef>
#include <cstring>
#include <vector>

#include <cotangent/core/error.hpp>
#include <cotangent/core/storage.hpp>

namespace cotangent {

/// Kinds of devices, for `devices<ct::cuda>()`. thrust_host: Thrust's systems on the CPU, which run what CUDA devices run.
struct cpu {
  static constexpr const char* name = "cpu";
};
struct cuda {
  static constexpr const char* name = "cuda";
};
struct thrust_host {
  static constexpr const char* name = "thrust";
};

/// What a device does for arrays: its memory. Work that a device was given before is done before each of these. Implementations
/// live as long as the program; every function throws device_error with the words of the driver.
class device_memory {
 public:
  const char* const platform;  // a name of the structs above
  const int index;

  constexpr device_memory(const char* p, int i) : platform(p), index(i) {}
  virtual ~device_memory() = default;

  /// What the driver calls the device.
  virtual std::string description() const = 0;
  /// Memory aligned to 64 bytes at least.
  virtual void* allocate(std::size_t bytes) const = 0;
  virtual void release(void* p, std::size_t bytes) const noexcept = 0;
  /// The host's memory may be used again when these return.
  virtual void copy_from_host(void* to, const void* from, std::size_t bytes) const = 0;
  virtual void copy_to_host(void* to, const void* from, std::size_t bytes) const = 0;
  /// Between two places of this device.
  virtual void copy(void* to, const void* from, std::size_t bytes) const = 0;
  /// From another device to this one; false if they know no way but through the host.
  virtual bool copy_from_peer([[maybe_unused]] const device_memory& peer, [[maybe_unused]] void* to, [[maybe_unused]] const void* from, [[maybe_unused]] std::size_t bytes) const {
    return false;
  }
  /// Returns when all work of the device is done.
  virtual void wait() const = 0;
};

/// The host's memory, of the CPU or of what else runs on it.
class host_memory : public device_memory {
 public:
  using device_memory::device_memory;

  std::string description() const override { return "the host"; }
  void* allocate(std::size_t bytes) const override { return acquire_block(bytes); }
  void release(void* p, std::size_t bytes) const noexcept override { release_block(p, bytes); }
  void copy_from_host(void* to, const void* from, std::size_t bytes) const override { copy(to, from, bytes); }
  void copy_to_host(void* to, const void* from, std::size_t bytes) const override { copy(to, from, bytes); }
  void copy(void* to, const void* from, std::size_t bytes) const override {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
  void wait() const override {}

  static const device_memory& instance() {
    static const host_memory only(cpu::name, 0);
    return only;
  }
};

/// A device. A copy names the same one.
class device {
 public:
  /// The CPU.
  device() : memory_(&host_memory::instance()) {}
  explicit device(const device_memory& m) : memory_(&m) {}

  /// Of the same platform, from 0.
  int index() const { return memory_->index; }
  const char* platform() const { return memory_->platform; }
  /// What its driver calls it.
  std::string description() const { return memory_->description(); }
  /// `cuda:0`
  std::string name() const { return std::string(platform()) + ':' + std::to_string(index()); }
  const device_memory& memory() const { return *memory_; }

  friend bool operator==(const device& a, const device& b) { return a.memory_ == b.memory_; }

 private:
  const device_memory* memory_;
};

/// A platform that this program was built with. `list` throws device_error if it cannot be used.
struct platform_entry {
  const char* name;
  std::vector<device> (*list)();
};
inline std::vector<platform_entry>& platforms() {
  static std::vector<platform_entry> entries;
  return entries;
}
/// What a backend's header defines as an inline variable: it registers the platform before main.
struct register_platform {
  register_platform(const char* name, std::vector<device> (*list)()) { platforms().push_back({name, list}); }
};

/// The devices of one platform. Throws device_error, with the driver's words, if the platform cannot be used on this machine or
/// the program was built without it. JAX: jax.devices("gpu").
template <class Platform> std::vector<device> devices() {
  if constexpr (std::is_same_v<Platform, cpu>) return {device()};
  else {
    for (const platform_entry& p : platforms())
      if (std::string(p.name) == Platform::name) return p.list();
    throw device_error(std::string("devices: this program was built without ") + Platform::name +
                       (std::is_same_v<Platform, cuda> ? "; compile a part of it with nvcc" : ""));
  }
}

/// Every device that can be used: those of the platforms that this program was built with, and then the CPU. JAX: jax.devices().
inline std::vector<device> devices() {
  std::vector<device> all;
  for (const platform_entry& p : platforms()) {
    if (std::string(p.name) == thrust_host::name) continue;  // for tests; asked for by name
    try {
      const std::vector<device> some = p.list();
      all.insert(all.end(), some.begin(), some.end());
    } catch (const device_error&) {
      // Not on this machine; devices<Platform>() tells why.
    }
  }
  all.push_back(device());
  return all;
}

}  // namespace cotangent
