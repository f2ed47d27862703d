// What is around every snippet. A snippet is a function that runs on a stack of its own: its set-up runs once,
// then it waits to be told how many calls to time, as often as it is told, with its variables alive in between.
#ifndef OPBENCH_FRAME_HPP
#define OPBENCH_FRAME_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cxxabi.h>
#include <exception>
#include <new>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <typeinfo>
#include <ucontext.h>
#include <unistd.h>

#include <c10/util/Exception.h>

namespace opbench {

/// Makes a value count as used, so that the compiler cannot leave out what computes it.
template <class Value>
inline void keep(const Value& value) {
  asm volatile("" : : "m"(value) : "memory");
}

namespace frame {

/// A stack with a guard below it, as large as a thread's.
class Stack {
 public:
  Stack() : guard_bytes_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    constexpr std::size_t usual_bytes = std::size_t{8} << 20, most_bytes = std::size_t{256} << 20;
    rlimit limit{};
    const bool known = getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    const std::size_t wanted = known ? static_cast<std::size_t>(limit.rlim_cur) : usual_bytes;
    size_bytes_ = wanted < usual_bytes ? usual_bytes : wanted > most_bytes ? most_bytes : wanted;
    void* const memory = mmap(nullptr, guard_bytes_ + size_bytes_, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
      throw std::bad_alloc();
    }
    memory_ = static_cast<char*>(memory);
    mprotect(memory_, guard_bytes_, PROT_NONE);
  }
  ~Stack() { munmap(memory_, guard_bytes_ + size_bytes_); }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  stack_t described() const {
    stack_t stack{};
    stack.ss_sp = memory_ + guard_bytes_;
    stack.ss_size = size_bytes_;
    return stack;
  }

 private:
  std::size_t guard_bytes_, size_bytes_;
  char* memory_;
};

/// A snippet under way, between the caller, who resumes it, and the snippet, which asks what is next.
class Loop {
 public:
  using Snippet = void (*)(Loop&);

  explicit Loop(Snippet snippet) : snippet_(snippet) {
    getcontext(&inside_);
    inside_.uc_stack = stack_.described();
    inside_.uc_link = &outside_;
    const auto address = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&inside_, reinterpret_cast<void (*)()>(&Loop::enter), 2,
                static_cast<unsigned>(static_cast<std::uint64_t>(address) >> 32),
                static_cast<unsigned>(address));
    resume();
  }
  ~Loop() {
    if (!over_) {
      stopping_ = true;
      resume();
    }
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// The caller: time so many calls. Nanoseconds, or -1 where there is an error.
  std::int64_t run(std::int64_t calls) {
    if (over_) {
      return -1;
    }
    calls_ = calls;
    resume();
    return error_.empty() ? elapsed_ns_ : -1;
  }
  const char* error() const { return error_.empty() ? nullptr : error_.c_str(); }

  /// The snippet: wait for the next block; false when there is none.
  bool next() {
    part_ = "stmt";
    swapcontext(&inside_, &outside_);
    return !stopping_;
  }
  std::int64_t calls() const { return calls_; }
  void begin() { start_ = std::chrono::steady_clock::now(); }
  void end(std::int64_t calls_left) {
    const auto elapsed = std::chrono::steady_clock::now() - start_;
    elapsed_ns_ = std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count();
    if (calls_left != 0) {
      error_ = "stmt leaves the loop that times it: it must not `break` out of it";
    }
  }

 private:
  static void enter(unsigned high, unsigned low) {
    const auto address = (static_cast<std::uint64_t>(high) << 32) | low;
    reinterpret_cast<Loop*>(static_cast<std::uintptr_t>(address))->live();
  }

  void live() {
    try {
      snippet_(*this);
      if (!stopping_) {
        error_ = std::string(part_) + " returns: it must not leave the function around it";
      }
    } catch (const c10::Error& error) {
      threw(error.what_without_backtrace());
    } catch (const std::exception& error) {
      threw(error.what());
    } catch (...) {
      threw("");
    }
    over_ = true;
  }

  void threw(const char* what) {
    const std::type_info* const type = abi::__cxa_current_exception_type();
    int status = -1;
    char* const readable =
        type == nullptr ? nullptr : abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
    error_ = std::string(part_) + " threw " + (status == 0 ? readable : "an exception");
    std::free(readable);
    if (*what != '\0') {
      error_ += std::string(": ") + what;
    }
  }

  void resume() { swapcontext(&outside_, &inside_); }

  Snippet snippet_;
  Stack stack_;
  ucontext_t inside_{}, outside_{};
  bool stopping_ = false, over_ = false;
  const char* part_ = "setup";
  std::int64_t calls_ = 0, elapsed_ns_ = 0;
  std::chrono::steady_clock::time_point start_;
  std::string error_;
};

}  // namespace frame
}  // namespace opbench

// The loop that is timed. The barrier keeps it from being merged, reordered or left out.
#define OPBENCH_LOOP_BEGIN                                             \
  while (opbench_loop.next()) {                                        \
    ::std::int64_t opbench_left = opbench_loop.calls();                \
    opbench_loop.begin();                                              \
    for (; opbench_left > 0; --opbench_left) {                         \
      asm volatile("" : : : "memory");                                 \
      {
#define OPBENCH_LOOP_END              \
  }                                   \
  }                                   \
  opbench_loop.end(opbench_left);     \
  }

// The snippets of a library, in order, behind the empty one.
extern const ::opbench::frame::Loop::Snippet opbench_snippets[];

extern "C" {
__attribute__((visibility("default"))) void* opbench_start(std::int64_t place) {
  try {
    return new ::opbench::frame::Loop(opbench_snippets[place + 1]);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
__attribute__((visibility("default"))) std::int64_t opbench_run(void* loop, std::int64_t calls) {
  return static_cast<::opbench::frame::Loop*>(loop)->run(calls);
}
__attribute__((visibility("default"))) const char* opbench_error(void* loop) {
  return static_cast<::opbench::frame::Loop*>(loop)->error();
}
__attribute__((visibility("default"))) void opbench_end(void* loop) {
  delete static_cast<::opbench::frame::Loop*>(loop);
}
}

#endif
