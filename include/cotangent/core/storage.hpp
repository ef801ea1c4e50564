#pragma once
/// Where an array's elements live: inline up to 1 KiB, otherwise in a heap block. Freed blocks stay in a
/// small cache per thread, so a loop that makes and drops arrays allocates nothing after its first turn.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#ifdef __linux__
#include <sys/mman.h>
#endif

#include <cotangent/core/element_rule.hpp>
#include <cotangent/core/layout.hpp>

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define COTANGENT_ASAN
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define COTANGENT_ASAN
#endif
#ifdef COTANGENT_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace cotangent {

/// Asks for storage that is not zeroed: `array<float, dyn>(uninitialized, shape)`.
struct uninitialized_t {};
inline constexpr uninitialized_t uninitialized{};

inline constexpr std::size_t storage_alignment = 64, huge_page = std::size_t(2) << 20, page = 4096, many_pages = 16 * page;

/// Where block number `turn` of many pages begins in its first: at one of 16 places. Arrays that all begin where a page does, and are read side by
/// side, compete for the same few lines of the caches.
constexpr std::size_t place_in_page(std::size_t turn) { return turn % 16 * 7 * (page / 16) % page; }

/// Freed blocks of one thread, oldest first. A block is reused only for the same (rounded) size.
/// Trivially destructible, so it can be used by arrays that outlive it; `block_cache_owner` empties it.
struct block_cache {
  static constexpr int max_blocks = 64;
  static constexpr std::size_t max_bytes = std::size_t(256) << 20;
  struct block {
    void* start;
    std::size_t bytes;
  };
  block blocks[max_blocks];
  int count;
  std::size_t bytes;
  bool closed;

  /// Of the memory in which a block of n bytes lies.
  static std::size_t alignment(std::size_t n) { return n >= huge_page ? huge_page : n >= many_pages ? page : storage_alignment; }

  static void* allocate(std::size_t n) {
    static thread_local std::size_t turn = 0;
    const std::size_t begin = n >= many_pages ? place_in_page(turn++) : 0;
    char* const p = static_cast<char*>(::operator new(begin + n, std::align_val_t(alignment(n))));
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (n >= huge_page) (void)::madvise(p, (begin + n) / huge_page * huge_page, MADV_HUGEPAGE);
#endif
    return p + begin;
  }
  static void free(block b) {
#ifdef COTANGENT_ASAN
    __asan_unpoison_memory_region(b.start, b.bytes);
#endif
    const std::size_t align = alignment(b.bytes);
    ::operator delete(static_cast<char*>(b.start) - reinterpret_cast<std::uintptr_t>(b.start) % align, std::align_val_t(align));
  }

  block remove(int i) {
    const block b = blocks[i];
    for (--count; i < count; ++i) blocks[i] = blocks[i + 1];
    bytes -= b.bytes;
    return b;
  }
  void clear() {
    while (count) free(remove(count - 1));
  }
};

inline constinit thread_local block_cache this_thread_blocks{};

struct block_cache_owner {
  ~block_cache_owner() {
    this_thread_blocks.clear();
    this_thread_blocks.closed = true;
  }
};

constexpr std::size_t rounded_block(std::size_t bytes) { return (bytes + storage_alignment - 1) / storage_alignment * storage_alignment; }

/// A block of at least `bytes` bytes, aligned to 64 bytes. Not zeroed.
inline void* acquire_block(std::size_t bytes) {
  bytes = rounded_block(bytes);
  block_cache& cache = this_thread_blocks;
  for (int i = cache.count; i-- > 0;)
    if (cache.blocks[i].bytes == bytes) {
      void* p = cache.remove(i).start;
#ifdef COTANGENT_ASAN
      __asan_unpoison_memory_region(p, bytes);
#endif
      return p;
    }
  return block_cache::allocate(bytes);
}

/// Gives back what `acquire_block(bytes)` returned, on any thread.
inline void release_block(void* p, std::size_t bytes) noexcept {
  static thread_local block_cache_owner owner;
  (void)owner;
  bytes = rounded_block(bytes);
  block_cache& cache = this_thread_blocks;
  if (cache.closed || bytes > block_cache::max_bytes) return block_cache::free({p, bytes});
  while (cache.count == block_cache::max_blocks || cache.bytes + bytes > block_cache::max_bytes) block_cache::free(cache.remove(0));
#ifdef COTANGENT_ASAN
  __asan_poison_memory_region(p, bytes);
#endif
  cache.blocks[cache.count++] = {p, bytes};
  cache.bytes += bytes;
}

/// Frees the blocks that this thread keeps for reuse.
inline void clear_block_cache() { this_thread_blocks.clear(); }

inline constexpr std::size_t max_inline_bytes = 1024;

/// Elements inside the object: trivially copyable, usable in constant expressions.
template <class T, extent... Extents> class inline_storage : public layout<Extents...> {
  static constexpr std::size_t capacity = (std::size_t(1) * ... * std::size_t(Extents)) + ((0 + ... + int(Extents == 0)) > 0);
  alignas(sizeof...(Extents) == 0 ? alignof(T) : storage_alignment) T values[capacity];

 public:
  constexpr inline_storage() : values{} {}
  constexpr inline_storage(uninitialized_t, const layout<Extents...>&) {
    if (std::is_constant_evaluated())
      for (T& x : values) x = T();
  }
  constexpr T* data() { return values; }
  constexpr const T* data() const { return values; }
  /// Whether there are elements to read: not in a moved-from or empty array on the heap.
  static constexpr bool stored() { return true; }
  /// Sets all elements.
  constexpr void make(const element_rule<T>& r) { r.write(values, this->shape()); }
};

/// The elements of an array while constants are evaluated: those that a rule says, written out when somebody asks for them.
template <class T> class constant_block {
  T* elements = nullptr;
  bool by_rule = true;  // nobody may have changed them
  element_rule<T> made_by;

 public:
  constexpr constant_block() = default;
  constexpr explicit constant_block(const element_rule<T>& r) : made_by(r) {}
  constexpr constant_block(const constant_block& o, extent size) : by_rule(o.by_rule), made_by(o.made_by) {
    if (by_rule) return;
    elements = new T[std::size_t(size)]();
    for (extent i = 0; i < size; ++i) elements[i] = o.elements[i];
  }
  constant_block& operator=(const constant_block&) = delete;
  constexpr ~constant_block() { delete[] elements; }

  template <class Layout> constexpr T* data(const Layout& l) {
    if (!elements) {
      elements = new T[std::size_t(l.size())]();
      made_by.write(elements, l.shape());
    }
    return elements;
  }
  /// To be changed.
  template <class Layout> constexpr T* changing(const Layout& l) {
    by_rule = false;
    return data(l);
  }
  constexpr const element_rule<T>* rule() const { return by_rule ? &made_by : nullptr; }
};

/// Elements in a block of their own. A moved-from object has no block and its run-time extents are 0.
template <class T, extent... Extents> class heap_storage : public layout<Extents...> {
  union {
    T* block;
    constant_block<T>* constants;  // while constants are evaluated
  };

  constexpr void set_none() {
    if (std::is_constant_evaluated()) constants = nullptr;
    else block = nullptr;
  }
  constexpr void take(heap_storage& o) {
    extents_part() = o.extents_part();
    if (std::is_constant_evaluated()) constants = o.constants;
    else block = o.block;
    o.set_none();
    o.extents_part() = layout<Extents...>();
  }
  constexpr void release() noexcept {
    if (std::is_constant_evaluated()) delete constants;
    else if (block) release_block(block, bytes());
  }
  constexpr std::size_t bytes() const { return std::size_t(this->size()) * sizeof(T); }
  constexpr layout<Extents...>& extents_part() { return *this; }
  constexpr const layout<Extents...>& extents_part() const { return *this; }

 public:
  constexpr heap_storage() : heap_storage(layout<Extents...>()) {}
  constexpr explicit heap_storage(const layout<Extents...>& l) : heap_storage(uninitialized, l) {
    if (!std::is_constant_evaluated() && block) std::memset(static_cast<void*>(block), 0, bytes());
  }
  constexpr heap_storage(uninitialized_t, const layout<Extents...>& l) : layout<Extents...>(l) {
    set_none();
    if (this->size() == 0) return;
    if (std::is_constant_evaluated()) constants = new constant_block<T>();
    else block = static_cast<T*>(acquire_block(bytes()));
  }

  constexpr heap_storage(const heap_storage& o) : layout<Extents...>(o.extents_part()) {
    set_none();
    if (!o.stored()) return;
    if (std::is_constant_evaluated()) constants = new constant_block<T>(*o.constants, this->size());
    else {
      block = static_cast<T*>(acquire_block(bytes()));
      std::memcpy(static_cast<void*>(block), o.block, bytes());
    }
  }
  constexpr heap_storage(heap_storage&& o) noexcept { take(o); }
  constexpr heap_storage& operator=(const heap_storage& o) {
    if (this == &o) return *this;
    if (std::is_constant_evaluated() || !block || !o.block || this->size() != o.size()) return *this = heap_storage(o);
    extents_part() = o.extents_part();
    std::memcpy(static_cast<void*>(block), o.block, bytes());
    return *this;
  }
  constexpr heap_storage& operator=(heap_storage&& o) noexcept {
    if (this == &o) return *this;
    release();
    take(o);
    return *this;
  }
  constexpr ~heap_storage() { release(); }

  constexpr T* data() {
    if (!std::is_constant_evaluated()) return block;
    return constants ? constants->changing(*this) : nullptr;
  }
  constexpr const T* data() const {
    if (!std::is_constant_evaluated()) return block;
    return constants ? constants->data(*this) : nullptr;
  }
  constexpr bool stored() const { return std::is_constant_evaluated() ? constants != nullptr : block != nullptr; }
  /// What says what the elements are, while constants are evaluated; else null.
  constexpr const element_rule<T>* rule() const { return std::is_constant_evaluated() && constants ? constants->rule() : nullptr; }
  /// Sets all elements.
  constexpr void make(const element_rule<T>& r) {
    if (!stored()) return;
    if (std::is_constant_evaluated()) {
      delete constants;
      constants = new constant_block<T>(r);
    } else r.write(block, this->shape());
  }
};

template <class T, extent... Extents> constexpr bool fits_inline() {
  if constexpr ((false || ... || (Extents == dyn))) return false;
  else {
    std::size_t n = sizeof(T);
    const bool none = (false || ... || (Extents == 0));
    const bool small = (true && ... && (n = n * std::size_t(Extents), n <= max_inline_bytes));
    return none || small;
  }
}

template <class T, extent... Extents>
using storage_for = std::conditional_t<fits_inline<T, Extents...>(), inline_storage<T, Extents...>, heap_storage<T, Extents...>>;

}  // namespace cotangent
