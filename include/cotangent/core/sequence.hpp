#pragma once
/// A growing array for constant evaluation. Compilers count the steps of an evaluation, and std::vector takes several
/// times as many per element.

#include <cstddef>
#include <initializer_list>
#include <utility>

namespace cotangent {

/// The part of std::vector's interface that passes over graphs need. Elements are default-constructible.
template <class T> struct sequence {
  T* items = nullptr;  // hot loops of passes read it: each call of operator[] costs several times as much
  std::size_t count = 0, capacity = 0;

  constexpr sequence() = default;
  constexpr sequence(std::initializer_list<T> list) {
    if (list.size()) grow(list.size());
    for (const T& x : list) items[count++] = x;
  }
  constexpr sequence(std::size_t n, const T& x) { assign(n, x); }
  constexpr sequence(const sequence& o) { *this = o; }
  constexpr sequence(sequence&& o) noexcept : items(o.items), count(o.count), capacity(o.capacity) {
    o.items = nullptr, o.count = o.capacity = 0;
  }
  constexpr sequence& operator=(const sequence& o) {
    if (this == &o) return *this;
    count = 0;
    if (o.count > capacity) grow(o.count);
    for (std::size_t i = 0; i < o.count; ++i) items[i] = o.items[i];
    count = o.count;
    return *this;
  }
  constexpr sequence& operator=(sequence&& o) noexcept {
    if (this == &o) return *this;
    release();
    items = o.items, count = o.count, capacity = o.capacity;
    o.items = nullptr, o.count = o.capacity = 0;
    return *this;
  }
  constexpr ~sequence() { release(); }

  /// The n elements at `from`, which must outlive the sequence and are not copied; nothing may be written to them.
  static constexpr sequence borrow(const T* from, std::size_t n) {
    sequence s;
    s.items = const_cast<T*>(from), s.count = n;
    return s;
  }

  /// Copies the elements if they are borrowed.
  constexpr void own() {
    if (capacity == 0 && count > 0) grow(count);
  }

  constexpr void grow(std::size_t n) {
    T* bigger = new T[n];
    if (capacity > 0)
      for (std::size_t i = 0; i < count; ++i) bigger[i] = std::move(items[i]);
    else  // borrowed elements stay
      for (std::size_t i = 0; i < count; ++i) bigger[i] = items[i];
    release();
    items = bigger, capacity = n;
  }
  /// Appends n elements and returns the first, to be written.
  constexpr T* extend(std::size_t n) {
    if (count + n > capacity) grow(count + n < 8 ? 16 : 3 * (count + n));
    return items + ((count += n) - n);
  }

  constexpr void push_back(const T& x) {
    if (count < capacity) {
      items[count++] = x;
    } else {
      T kept = x;  // x may be an element
      *extend(1) = std::move(kept);
    }
  }
  constexpr void push_back(T&& x) {
    if (count < capacity) {
      items[count++] = std::move(x);
    } else {
      T kept = std::move(x);
      *extend(1) = std::move(kept);
    }
  }
  constexpr void pop_back() { --count; }
  constexpr void clear() { count = 0; }
  constexpr void reserve(std::size_t n) {
    if (n > capacity) grow(n);
  }
  constexpr void assign(std::size_t n, const T& x) {
    count = 0;
    reserve(n);
    for (; count < n; ++count) items[count] = x;
  }
  /// Removes the first n elements.
  constexpr void drop_front(std::size_t n) {
    for (std::size_t i = n; i < count; ++i) items[i - n] = std::move(items[i]);
    count -= n;
  }

  constexpr std::size_t size() const { return count; }
  constexpr bool empty() const { return count == 0; }
  constexpr T& operator[](std::size_t i) { return items[i]; }
  constexpr const T& operator[](std::size_t i) const { return items[i]; }
  constexpr T& back() { return items[count - 1]; }
  constexpr T* data() { return items; }
  constexpr const T* data() const { return items; }
  constexpr T* begin() { return items; }
  constexpr T* end() { return items + count; }
  constexpr const T* begin() const { return items; }
  constexpr const T* end() const { return items + count; }

 private:
  constexpr void release() {
    if (capacity > 0) delete[] items;  // without capacity the items are borrowed
  }
};

}  // namespace cotangent
