// The calls that Python makes: of functions, methods and operators. Between two of them, work that has gathered starts;
// under SPIROGRAD_SYNC=1 the outermost one runs what it recorded before it returns.
// Threads: the GIL is held.
#pragma once
#include "bind/errors.hpp"
#include "graph/log.hpp"

namespace sg::bind {

extern const bool at_once;  // SPIROGRAD_SYNC=1
// Of the calls of a thread; in one place, because each look at what a thread has costs a call.
struct Calls {
  bool made = false;         // whether there was one
  bool intercepted = false;  // whether interceptors are open (dispatch.hpp)
  bool classes_off = false;  // whether no class with __torch_function__ is asked (answers.hpp)
  int open = 0;              // under SPIROGRAD_SYNC=1
};
inline constinit thread_local Calls calls;

// False, of both: a Python error is set.
bool start_due() noexcept;     // starts work that is due
bool run_recorded() noexcept;  // runs what is pending, but for an optimiser's step that is not complete

// `body` gives an object, or an int; nullptr or -1 with a Python error.
template <class F>
auto public_call(F body) noexcept -> decltype(body()) {
  constexpr bool gives_object = std::is_pointer_v<decltype(body())>;
  calls.made = true;
  if (work_is_due && !start_due()) {
    if constexpr (gives_object)
      return nullptr;
    else
      return -1;
  }
  if (!at_once) return body();
  ++calls.open;
  auto result = body();
  if (--calls.open > 0) return result;
  if constexpr (gives_object) {
    if (!result || run_recorded()) return result;
    Py_DECREF(result);
    return nullptr;
  } else {
    return result < 0 || run_recorded() ? result : -1;
  }
}

}  // namespace sg::bind
