#pragma once
/// `device_array<T, E...>`: an array in the memory of a device. What device_put makes, and what compiled functions return for
/// such arguments.

#include <cotangent/core/array.hpp>
#include <cotangent/core/device.hpp>
#include <cotangent/core/tree.hpp>

namespace cotangent {

/// An n-dimensional array on a device: row-major. It owns its memory; copies are made on its device. Elements are not
/// reached from the host: `device_get(x)`, or converting to an array, waits for the device and copies them. A default-made or
/// moved-from one has no elements.
template <class T, extent... Extents> class device_array : public layout<Extents...> {
  static_assert(element<T>, "device_array: T is not an element type");
  using extents_type = layout<Extents...>;

 public:
  using value_type = T;

  device_array() = default;
  /// Elements of any value.
  device_array(uninitialized_t, const cotangent::device& on, const cotangent::shape& s) : extents_type(s, "device_array", dtype_of<T>), device_(on) { allocate(); }
  /// A copy of the host's elements.
  device_array(const cotangent::device& on, const cotangent::shape& s, const T* elements) : device_array(uninitialized, on, s) {
    if (data_) device_.memory().copy_from_host(data_, elements, bytes());
  }

  /// What an expression of device_arrays computes (trace/expression.hpp).
  template <class E>
    requires requires { typename E::result; } && std::is_same_v<typename E::value_type, T>
  device_array(const E& e) : device_array(e.evaluate()) {}

  /// A copy on another device.
  device_array(const cotangent::device& on, const device_array& o) : extents_type(o), device_(on) {
    if (!o.data_) return;
    allocate();
    if (!device_.memory().copy_from_peer(o.device_.memory(), data_, o.data_, bytes())) device_.memory().copy_from_host(data_, o.get().data(), bytes());
  }
  device_array(const device_array& o) : extents_type(o), device_(o.device_) {
    if (!o.data_) return;
    allocate();
    device_.memory().copy(data_, o.data_, bytes());
  }
  device_array(device_array&& o) noexcept : extents_type(o), device_(o.device_), data_(o.data_) { o.forget(); }
  device_array& operator=(const device_array& o) {
    if (this != &o) *this = device_array(o);
    return *this;
  }
  device_array& operator=(device_array&& o) noexcept {
    if (this == &o) return *this;
    release();
    static_cast<extents_type&>(*this) = o;
    device_ = o.device_, data_ = o.data_;
    o.forget();
    return *this;
  }
  ~device_array() { release(); }

  const cotangent::device& device() const { return device_; }
  /// An address in the device's memory.
  T* data() { return data_; }
  const T* data() const { return data_; }

  /// The elements, copied to the host when the device has made them.
  array<T, Extents...> get() const {
    array<T, Extents...> r(uninitialized, this->shape());
    if (this->size() > 0 && !data_) throw shape_error("device_get: " + text_of("device_array", dtype_of<T>, this->type_shape()) + " has no elements: nothing was assigned to it, or it was moved from");
    if (data_) device_.memory().copy_to_host(r.data(), data_, bytes());
    return r;
  }
  operator array<T, Extents...>() const { return get(); }
  operator T() const requires(sizeof...(Extents) == 0) { return get(); }

 private:
  std::size_t bytes() const { return std::size_t(this->size()) * sizeof(T); }
  void allocate() {
    if (this->size() > 0) data_ = static_cast<T*>(device_.memory().allocate(bytes()));
  }
  void release() noexcept {
    if (data_) device_.memory().release(data_, bytes());
  }
  void forget() {
    data_ = nullptr;
    static_cast<extents_type&>(*this) = extents_type();
  }

  cotangent::device device_;
  T* data_ = nullptr;
};

/// A device_array that somebody else owns, to be read.
template <class T, extent... Extents> class device_view : public layout<Extents...> {
 public:
  using value_type = std::remove_const_t<T>;

  device_view(const device_array<value_type, Extents...>& x) : layout<Extents...>(x), device_(x.device()), data_(x.data()) {}
  const cotangent::device& device() const { return device_; }
  const value_type* data() const { return data_; }

 private:
  cotangent::device device_;
  const value_type* data_;
};

template <class T, extent... E> struct leaf_traits<device_array<T, E...>> : family_leaf_traits<device_array, T, E...> {};
template <class T, extent... E> struct leaf_traits<device_view<T, E...>> : family_leaf_traits<device_view, T, E...> {};

template <class T, extent... E> std::ostream& operator<<(std::ostream& out, const device_array<T, E...>& x) { return out << x.get(); }

/// A copy of a tree on a device: every leaf (array, view, number, device_array) becomes a device_array. Throws device_error if
/// the device has no room. JAX: jax.device_put.
template <tree X> auto device_put(const X& x, const device& to = devices().front()) {
  using result = rebind_tree<X, device_array>;
  return make_tree<result>([&]<class Leaf, int I>(std::type_identity<Leaf>, std::integral_constant<int, I>) {
    const auto& from = get_leaf<I>(x);
    using from_type = std::remove_cvref_t<decltype(from)>;
    if constexpr (leaf_traits<from_type>::is_scalar) return Leaf(to, {}, &from);
    else if constexpr (is_device_array_v<from_type>) {
      return from.device() == to ? from : Leaf(to, from);
    } else return Leaf(to, from.shape(), from.data());
  });
}

/// A copy of a tree on the host, when the devices have made it: every leaf becomes an array. JAX: jax.device_get.
template <tree X> auto device_get(const X& x) {
  using result = rebind_tree<X, array>;
  return make_tree<result>([&]<class Leaf, int I>(std::type_identity<Leaf>, std::integral_constant<int, I>) {
    const auto& from = get_leaf<I>(x);
    if constexpr (is_device_array_v<std::remove_cvref_t<decltype(from)>>) return from.get();
    else return Leaf(from);
  });
}

/// Returns the tree when the work that makes its leaves is done. Failures of that work are thrown here, as device_error.
/// JAX: jax.block_until_ready.
template <tree X> const X& block_until_ready(const X& x) {
  for_each_leaf(
      [](const auto& leaf) {
        if constexpr (is_device_array_v<std::remove_cvref_t<decltype(leaf)>>) leaf.device().memory().wait();
      },
      x);
  return x;
}

}  // namespace cotangent
