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
    List& list = own();
    Block* block = list.first;
    if (!block) return ::operator new(size);
    list.first = block->next;
    --list.count;
    return block;
  }

  static void give(void* p) {
    List& list = own();
    if (list.ended || list.count == kMost) return ::operator delete(p);
    if (!list.open) open();
    list.first = new (p) Block{list.first};
    ++list.count;
  }

 private:
  struct Block {
    Block* next;
  };
  // Plain values, so that they can still be looked at while a thread or the process ends.
  struct List {
    Block* first;
    size_t count;
    bool open, ended;
  };
  struct Ending {
    ~Ending() {
      List& list = own();
      while (Block* block = list.first) {
        list.first = block->next;
        ::operator delete(block);
      }
      list.ended = true;
    }
  };
  static void open() {
    thread_local Ending ending;
    static_cast<void>(ending);
    own().open = true;
  }
  // A function of its own: compilers ask for the address of what a thread owns, by a call, at each use.
  [[gnu::noinline]] static List& own() {
    static constinit thread_local List list = {};
    return list;
  }
};

// Of each thread: objects that wait to be freed, linked through a field that is no longer read.
template <class T>
struct Waiting {
  T* first = nullptr;
  bool freeing = false;
  [[gnu::noinline]] static Waiting& own() {
    static constinit thread_local Waiting waiting;
    return waiting;
  }
};

}  // namespace sg
