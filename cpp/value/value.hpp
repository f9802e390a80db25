// micrograd's Value for C++: a number that remembers how it was made. Copies are the same node.
//   sg::Value a(2.0), b(-3.0);
//   sg::Value c = (a * b + 10).relu();
//   c.backward();  // a.grad() == -3
// Threads: one at a time for all Values of a program.
#pragma once
#include <utility>

#include "base/device_id.hpp"
#include "value/graph.hpp"

namespace sg {

class Value {
 public:
  Value(double data, DeviceId device = {}) : node_(value::leaf(data, false, number(device))) {}
  Value(const Value& o) : node_(value::retain(o.node_)) {}
  Value(Value&& o) noexcept : node_(std::exchange(o.node_, nullptr)) {}
  Value& operator=(Value o) noexcept {
    std::swap(node_, o.node_);
    return *this;
  }
  ~Value() {
    if (node_) value::release(node_);
  }

  double data() const { return value::data_of(node_); }
  double grad() const { return value::grad_of(node_); }
  void set_data(double data) const { value::set_data(node_, data, false); }
  void set_grad(double grad) const { value::set_grad(node_, grad, false); }
  void backward() const { value::backward(node_); }

  friend Value operator+(const Value& a, const Value& b) {
    return Value(value::binary(value::Op::add, a.node_, b.node_));
  }
  friend Value operator*(const Value& a, const Value& b) {
    return Value(value::binary(value::Op::mul, a.node_, b.node_));
  }
  friend Value operator+(const Value& a, double k) {
    return Value(value::with_number(value::Op::add, a.node_, k, false));
  }
  friend Value operator*(const Value& a, double k) {
    return Value(value::with_number(value::Op::mul, a.node_, k, false));
  }
  friend Value operator+(double k, const Value& a) { return a + k; }
  friend Value operator*(double k, const Value& a) { return a * k; }
  friend Value operator-(const Value& a) { return a * -1; }
  friend Value operator-(const Value& a, const Value& b) { return a + -b; }
  friend Value operator-(const Value& a, double k) { return a + -k; }
  friend Value operator-(double k, const Value& a) { return -a + k; }
  friend Value operator/(const Value& a, const Value& b) { return a * b.pow(-1); }
  friend Value operator/(const Value& a, double k) { return a * (1 / k); }
  friend Value operator/(double k, const Value& a) { return a.pow(-1) * k; }
  Value pow(double k) const { return Value(value::with_number(value::Op::power, node_, k, false)); }
  Value pow(const Value& b) const { return Value(value::binary(value::Op::pow, node_, b.node_)); }
  Value relu() const { return unary(value::Op::relu); }
  Value exp() const { return unary(value::Op::exp); }
  Value log() const { return unary(value::Op::log); }
  Value tanh() const { return unary(value::Op::tanh); }
  Value sigmoid() const { return unary(value::Op::sigmoid); }
  Value sqrt() const { return unary(value::Op::sqrt); }
  Value abs() const { return unary(value::Op::abs); }
  Value sin() const { return unary(value::Op::sin); }
  Value cos() const { return unary(value::Op::cos); }
  Value to(DeviceId device) const { return Value(value::move(node_, number(device))); }
  value::Node* node() const { return node_; }

 private:
  static int number(DeviceId device) { return device.is_gpu() ? device.index : -1; }
  explicit Value(value::Node* node) : node_(node) {}
  Value unary(value::Op op) const { return Value(value::unary(op, node_)); }
  value::Node* node_;
};

}  // namespace sg
