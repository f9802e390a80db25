// Trains XOR on the best device: a GPU if there is one, else the CPU. `example_xor cpu` or `example_xor gpu` chooses.
#include <cstdio>
#include <spirograd.hpp>
#include <string>

int main(int count, char** words) {
  const std::string wanted = count > 1 ? words[1] : "best";
  const sg::DeviceId device = wanted == "cpu" ? sg::cpu() : wanted == "gpu" ? sg::gpu() : sg::best_device();
  sg::manual_seed(1);
  const sg::Tensor x = sg::tensor({0, 0, 0, 1, 1, 0, 1, 1}, {4, 2}, device);
  const sg::Tensor y = sg::tensor({0, 1, 1, 0}, {4, 1}, device);
  std::vector<sg::Tensor> p = {sg::randn({2, 8}, device), sg::randn({8}, device), sg::randn({8, 1}, device),
                               sg::randn({1}, device)};
  for (sg::Tensor& parameter : p) parameter.requires_grad_();

  auto model = [&] { return sg::sigmoid(sg::matmul(sg::tanh(sg::matmul(x, p[0]) + p[1]), p[2]) + p[3]); };
  sg::States states;
  for (int step = 1; step <= 300; ++step) {
    for (sg::Tensor& parameter : p) parameter->grad = {};
    const sg::Tensor loss = sg::mean(sg::square(model() - y));
    sg::backward(loss);
    sg::adam_step(p, states, step, {.lr = 0.05});
    sg::flush(device);  // one submission a step
    if (step % 100 == 0) std::printf("step %d, loss %.5f\n", step, sg::item(loss));
  }
  const std::vector<float> out = sg::values(model());
  std::printf("on %s: 0^0 %.2f, 0^1 %.2f, 1^0 %.2f, 1^1 %.2f\n", device.str().c_str(), out[0], out[1], out[2], out[3]);
  return out[0] < 0.1f && out[1] > 0.9f && out[2] > 0.9f && out[3] < 0.1f ? 0 : 1;
}
