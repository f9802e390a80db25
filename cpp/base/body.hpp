// A reference to a loop's body, body(begin, end): it allocates nothing, and is valid as long as the function it refers
// to.
#pragma once
#include <cstdint>
#include <memory>

namespace sg {

class Body {
 public:
  template <class F>
  Body(const F& f)
      : object_(std::addressof(f)),
        call_([](const void* o, int64_t b, int64_t e) { (*static_cast<const F*>(o))(b, e); }) {}
  void operator()(int64_t begin, int64_t end) const { call_(object_, begin, end); }

 private:
  const void* object_;
  void (*call_)(const void*, int64_t, int64_t);
};

}  // namespace sg
