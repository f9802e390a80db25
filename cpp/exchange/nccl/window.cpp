// Owns the two views of one memory. Knows no communicator.
#include "exchange/nccl/window.hpp"

namespace sg {

CopyWindow::CopyWindow(Cuda& cuda, Device& device, size_t bytes) : cuda_(cuda) {
  int file = -1;
  memory_ = cuda.share(bytes, file);
  try {
    buffer_ = device.import_external(file, memory_.bytes);
  } catch (...) {
    cuda.release(memory_);
    throw;
  }
}

}  // namespace sg
