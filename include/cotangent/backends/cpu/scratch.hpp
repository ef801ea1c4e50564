#pragma once
/// Memory for the duration of a scope, kept by the thread from call to call.

#include <cstddef>
#include <new>

namespace cotangent::host {

/// At least `bytes` bytes, aligned to 64. Scopes nest; each depth keeps its own memory, which only grows.
class scratch {
 public:
  explicit scratch(std::size_t bytes) : block_(kept().blocks[kept().depth % depths]), nested_(kept().depth >= depths) {
    (nested_ ? own_ : block_).reserve(bytes);  // may throw
    ++kept().depth;
  }
  ~scratch() { --kept().depth; }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;

  char* data() const { return static_cast<char*>(nested_ ? own_.memory : block_.memory); }

 private:
  static constexpr int depths = 8;  // deeper scopes allocate
  struct block {
    void* memory = nullptr;
    std::size_t size = 0;

    block() = default;
    block(const block&) = delete;
    block& operator=(const block&) = delete;
    ~block() { release(); }
    void release() { ::operator delete(memory, std::align_val_t(64)); }
    void reserve(std::size_t bytes) {
      if (size >= bytes) return;
      release();
      memory = nullptr, size = 0;
      memory = ::operator new(bytes, std::align_val_t(64));
      size = bytes;
    }
  };
  struct stack {
    block blocks[depths];
    int depth = 0;
  };
  static stack& kept() {
    static thread_local stack s;
    return s;
  }

  block& block_;
  block own_;
  bool nested_;
};

}  // namespace cotangent::host
