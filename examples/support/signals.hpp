#pragma once
/// Ctrl-C as a flag.

#include <csignal>

namespace examples {

inline volatile std::sig_atomic_t interrupt_signal = 0;

/// While it lives, the first SIGINT or SIGTERM only sets `requested()`; a second one ends the program as usual.
class interrupt_guard {
 public:
  interrupt_guard() {
    struct sigaction action {};
    action.sa_handler = [](int signal) { interrupt_signal = signal; };
    action.sa_flags = static_cast<int>(SA_RESETHAND | unsigned(SA_RESTART));
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, &old_int_);
    sigaction(SIGTERM, &action, &old_term_);
  }
  interrupt_guard(const interrupt_guard&) = delete;
  interrupt_guard& operator=(const interrupt_guard&) = delete;
  ~interrupt_guard() {
    sigaction(SIGINT, &old_int_, nullptr);
    sigaction(SIGTERM, &old_term_, nullptr);
  }

  static bool requested() { return interrupt_signal != 0; }
  /// What a shell expects of a program that a signal ended: 130 after Ctrl-C.
  static int exit_code() { return 128 + interrupt_signal; }

 private:
  struct sigaction old_int_ {}, old_term_ {};
};

}  // namespace examples
