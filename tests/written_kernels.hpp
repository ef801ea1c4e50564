#pragma once
/// Kernel types written by hand: statements with their registers, which cotangent::kernel lists as forms and numbers.

#include <array>
#include <cstddef>
#include <tuple>
#include <utility>

#include <cotangent/compiler/kernel.hpp>

namespace written {

namespace ct = cotangent;

template <class T, int Buffer, class Access, class... Indexed> struct load {};
template <class T, unsigned long Bits> struct constant {};
template <class T, class Access> struct index {};
template <class Op, class T, int... Registers> struct apply {};
template <class T, int Buffer, int Register, class Access, class... Indexed> struct store {};
template <class Op, class T, int Buffer, int Register, class Access> struct reduce {};

/// The type of the register that a statement defines.
template <class S> struct result_of { using type = void; };
template <class T, int B, class A, class... X> struct result_of<load<T, B, A, X...>> { using type = T; };
template <class T, unsigned long V> struct result_of<constant<T, V>> { using type = T; };
template <class T, class A> struct result_of<index<T, A>> { using type = T; };
template <class Op, class T, int... R> struct result_of<apply<Op, T, R...>> { using type = T; };
template <class List, int R> using result_at = typename result_of<std::tuple_element_t<std::size_t(R), List>>::type;

/// A statement's form and its operands, among the statements of List.
template <class List, class S> struct form_of;
template <class List, class T, int B, class A, class... X> struct form_of<List, load<T, B, A, X...>> {
  using type = ct::kernels::load<T, B, A, X...>;
  static constexpr std::array<int, 0> operands{};
};
template <class List, class T, unsigned long V> struct form_of<List, constant<T, V>> {
  using type = ct::kernels::constant<T, V>;
  static constexpr std::array<int, 0> operands{};
};
template <class List, class T, class A> struct form_of<List, index<T, A>> {
  using type = ct::kernels::index<T, A>;
  static constexpr std::array<int, 0> operands{};
};
template <class List, class Op, class T, int... R> struct form_of<List, apply<Op, T, R...>> {
  using type = ct::kernels::apply<Op, T, result_at<List, R>...>;
  static constexpr std::array<int, sizeof...(R)> operands{R...};
};
template <class List, class T, int B, int R, class A, class... X> struct form_of<List, store<T, B, R, A, X...>> {
  using type = ct::kernels::store<T, B, A, X...>;
  static constexpr std::array<int, 1> operands{R};
};
template <class List, class Op, class T, int B, int R, class A> struct form_of<List, reduce<Op, T, B, R, A>> {
  using type = ct::kernels::reduce<Op, T, B, A>;
  static constexpr std::array<int, 1> operands{R};
};

template <class Space, class... S> struct kernel {
  using list = std::tuple<S...>;
  /// Every statement has a form of its own.
  static constexpr auto code = [] {
    std::array<int, (0 + ... + (1 + form_of<list, S>::operands.size()))> r{};
    std::size_t at = 0;
    int form = 0;
    const auto append = [&](const auto& operands) {
      r[at++] = form++;
      for (int o : operands) r[at++] = o;
    };
    (append(form_of<list, S>::operands), ...);
    return r;
  }();
  template <class Numbers> struct encoded;
  template <std::size_t... I> struct encoded<std::index_sequence<I...>> {
    using type = ct::kernel<Space, ct::forms<typename form_of<list, S>::type...>, code[I]...>;
  };
  using type = typename encoded<std::make_index_sequence<code.size()>>::type;
};

}  // namespace written
