// A value that most of its owners never need. It is allocated when it is first changed; before that it reads as empty.
#pragma once
#include <memory>
#include <utility>

namespace sg {

template <class T>
class Boxed {
 public:
  Boxed() = default;
  Boxed(T value) : at_(std::make_unique<T>(std::move(value))) {}
  Boxed(const Boxed& o) : at_(o.at_ ? std::make_unique<T>(*o.at_) : nullptr) {}
  Boxed(Boxed&&) noexcept = default;
  Boxed& operator=(Boxed o) noexcept {
    std::swap(at_, o.at_);
    return *this;
  }
  ~Boxed() = default;
  explicit operator bool() const { return at_ != nullptr; }
  const T& operator*() const {
    static const T empty{};
    return at_ ? *at_ : empty;
  }
  T& operator*() {
    if (!at_) at_ = std::make_unique<T>();
    return *at_;
  }
  const T* operator->() const { return &**this; }
  T* operator->() { return &**this; }

 private:
  std::unique_ptr<T> at_;
};

}  // namespace sg
