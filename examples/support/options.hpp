#pragma once
/// Command lines of `--name value` pairs, and output files that are known to be writable before the work starts.

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include <cotangent/io/atomic_file.hpp>

namespace examples {

/// Options that set variables. What is wrong with a command line is one sentence, thrown as ct::error.
class option_parser {
 public:
  /// `name` takes a whole number from `low` to a million.
  template <class T> option_parser& number(const std::string& name, T& to, long low) {
    options_.push_back({name, name + " N", [name, &to, low](const std::string& text) {
                          char* end = nullptr;
                          const long n = std::strtol(text.c_str(), &end, 10);
                          if (text.empty() || *end || n < low || n > 1000000)
                            throw cotangent::error(name + " needs a whole number from " + std::to_string(low) + " to 1000000, not '" + text + "'");
                          to = T(n);
                        }});
    return *this;
  }
  option_parser& folder(const std::string& name, std::string& to) {
    options_.push_back({name, name + " DIR", [&to](const std::string& text) { to = text; }});
    return *this;
  }

  void parse(int argc, char** argv) const {
    for (int i = 1; i < argc; i += 2) {
      const option* found = nullptr;
      std::string all;
      for (const option& o : options_) {
        if (o.name == argv[i]) found = &o;
        all += (all.empty() ? "" : ", ") + o.usage;
      }
      if (!found) throw cotangent::error("unknown option '" + std::string(argv[i]) + "'; there are " + all);
      if (i + 1 == argc) throw cotangent::error(found->name + " needs a value");
      found->set(argv[i + 1]);
    }
  }

 private:
  struct option {
    std::string name, usage;
    std::function<void(const std::string&)> set;
  };
  std::vector<option> options_;
};

/// A missing or read-only folder is an error now, and not after the work. Nothing stays on the disk.
inline void check_writable(const std::string& path) { cotangent::io::atomic_file probe(path); }

/// `text` as the whole of the file `path`.
inline void write_file(const std::string& path, const std::string& text) {
  cotangent::io::atomic_file file(path);
  file.write(text);
  file.commit();
}

/// The exit status of run(); an exception becomes one line on stderr, and 1.
template <class Run> int guarded(const char* program, const Run& run) {
  try {
    return run();
  } catch (const std::exception& e) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s: %s\n", program, e.what());
    return 1;
  }
}

}  // namespace examples
