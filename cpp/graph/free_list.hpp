// Memory for objects of one type, reused without calls of malloc. Each thread has a list, which is freed with the
// thread; objects that are destroyed later go straight back to the system. Free blocks are linked through their own
// bytes, so giving one back needs no memory.
#pragma once
#include <cstddef>
#include <new>

namespace sg {

template <class T, size_t kMost>
class FreeList {
 public:
  static void* take(size_t size) {
    Block* block = first_;
    if (!block) return ::operator new(size);
    first_ = block->next;
    --count_;
    return block;
  }

  static void give(void* p) {
    if (ended_ || count_ == kMost) return ::operator delete(p);
    if (!open_) open();
    first_ = new (p) Block{first_};
    ++count_;
  }

 private:
  struct Block {
    Block* next;
  };
  struct Ending {
    ~Ending() {
      while (Block* block = first_) {
        first_ = block->next;
        ::operator delete(block);
      }
      ended_ = true;
    }
  };
  static void open() {
    thread_local Ending ending;
    static_cast<void>(ending);
    open_ = true;
  }
  // Plain values, so that they can still be looked at while a thread or the process ends.
  static inline thread_local Block* first_ = nullptr;
  static inline thread_local size_t count_ = 0;
  static inline thread_local bool open_ = false, ended_ = false;
};

}  // namespace sg
