// Memory of one type given out again: making a node costs no call of malloc. One list a thread, freed with the thread;
// objects that die later go straight back to the system.
#pragma once
#include <new>
#include <vector>

namespace sg {

template <class T, size_t kMost>
class FreeList {
 public:
  static void* take(size_t size) {
    if (blocks_ && !blocks_->empty()) {
      void* p = blocks_->back();
      blocks_->pop_back();
      return p;
    }
    return ::operator new(size);
  }

  static void give(void* p) {
    if (!blocks_ && !ended_) open();
    if (blocks_ && blocks_->size() < kMost)
      blocks_->push_back(p);
    else
      ::operator delete(p);
  }

 private:
  struct Ending {
    ~Ending() {
      for (void* p : *blocks_) ::operator delete(p);
      delete blocks_;
      blocks_ = nullptr;
      ended_ = true;
    }
  };
  static void open() {
    blocks_ = new std::vector<void*>;
    thread_local Ending ending;
    static_cast<void>(ending);
  }
  // Plain values, so that they can still be looked at while a thread or the process ends.
  static inline thread_local std::vector<void*>* blocks_ = nullptr;
  static inline thread_local bool ended_ = false;
};

}  // namespace sg
