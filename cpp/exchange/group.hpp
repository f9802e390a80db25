// The processes of a group, as one of them sees them: who they are, whether they still live, and what was heard from
// them. Every wait for another process is here: it ends when that process dies, says that it leaves, or is later than
// the limit. Threads: under the engine lock.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "exchange/channel.hpp"

namespace sg {

struct Member {
  int32_t process = 0;  // its number in the world
  int64_t pid = 0;      // on this machine; 0: on another
};

// Messages under way to and from other members. Left before they are done, as after an error, their memory is kept for
// good: MPI may still write to it.
class Group;
class Transport;
class Messages {
 public:
  Messages(Group& group, std::string what) : group_(group), what_(std::move(what)) {}
  ~Messages();
  void send(int to, int tag, const void* from, size_t bytes);
  void receive(int from, int tag, void* to, size_t bytes);
  std::byte* room(size_t bytes);  // memory as long as the messages
  // DistributedError: a member is late, has died or has left. Afterwards the group is broken.
  void wait();

 private:
  struct Message {
    int member;
    uint64_t number;
  };
  bool progress();
  template <class F>
  auto with(int member, F call);
  Group& group_;
  std::string what_;
  std::vector<Message> open_;
  std::vector<std::unique_ptr<std::byte[]>> rooms_;
};

class Group {
 public:
  enum Tag { kMeet = 1, kData, kPair, kLeaving };

  Group(int32_t number, std::unique_ptr<Channel> channel, std::vector<Member> members,
        std::chrono::duration<double> limit);
  ~Group();
  int rank() const { return channel_->rank(); }
  int size() const { return channel_->size(); }
  std::string name(int member) const;  // "process 3"
  bool is_on_one_machine() const;

  // A way for the buffers of a GPU that does not lead through the host; nullptr: there is none.
  Transport* direct() const { return direct_.get(); }
  void use(std::unique_ptr<Transport> direct);

  // Returns when `done` is true, which is asked again and again. DistributedError, as Messages::wait(): one of those
  // that `missing` names is late or has died, or any has left that has failed or not done its part of this.
  void wait(const std::string& what, const std::function<bool()>& done,
            const std::function<std::vector<int>()>& missing);
  // All members tell each other what comes next and whether they are well. DistributedError on all if one has failed
  // (`failure` says why, "": it has not) or if they are about to do different things; the group can go on.
  void meet(uint64_t signature, const std::string& what, const std::string& failure);
  // The same between two members.
  void meet_one(int member, uint64_t signature, const std::string& what);
  // Tells all members that this one takes part no more, because of an error or, "", at its end. Does not wait.
  void leave(const std::string& why) noexcept;
  // Every later use raises this.
  void break_with(const std::string& why) { broken_ = why; }
  void raise_if_broken() const;
  void look();        // lets MPI take in what has come, while this thread waits for something else
  bool has_failed();  // it is broken, or a member has left after an error
  bool has_ended();   // all other members have left or are gone
  const std::string& broken() const { return broken_; }

 private:
  friend class Messages;
  struct Header;
  Header header(uint64_t signature, const std::string& what, const std::string& failure) const;
  void compare(const Header& mine, const std::vector<std::pair<int, const Header*>>& others) const;
  bool has_left(int member);
  bool may_be_gone(int member) const;   // its process has ended, or it is on another machine and some process has
  bool did_its_part(int member) const;  // before it left: what it sent may still be under way
  void look_after(const std::string& what, const std::vector<int>& missing,
                  std::chrono::steady_clock::time_point since);

  int32_t number_;
  std::unique_ptr<Channel> channel_;
  std::unique_ptr<Transport> direct_;
  std::vector<Member> members_;
  std::chrono::duration<double> limit_;
  std::string broken_;
  uint64_t meetings_ = 0;        // of all, begun so far: one before each collective
  std::vector<uint32_t> pairs_;  // and with each member alone
  int partner_ = -1;             // of the last meeting; -1: all
  // One message that may come from each member: that it leaves.
  struct Notice;
  std::vector<std::unique_ptr<Notice>> notices_;
};

// Groups by their numbers, which all processes give in the same order.
Group& group_of(int32_t number);  // DistributedError: there is none
int32_t add_group(std::unique_ptr<Channel> channel, std::vector<Member> members, std::chrono::duration<double> limit);
void close_groups();
bool any_broken();
void note_death() noexcept;  // MPI's launcher says that some process has died. Any thread
bool all_ended();
void leave_groups(const std::string& why) noexcept;

}  // namespace sg
