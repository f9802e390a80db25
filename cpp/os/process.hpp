// This process: its environment, fork(), shared libraries.
// Threads: any.
#pragma once
#include <cstdint>
#include <string>

namespace sg::os {

// A variable of the environment as UTF-8; empty if it is not set. A process with more rights than its caller (setuid)
// sees none: variables name folders and libraries.
std::string variable(const char* name);

int64_t process_id() noexcept;

// Whether a process of this machine has ended, also if its parent has not asked for its status yet. false if unknown.
bool has_ended(int64_t id) noexcept;

// Called around fork(), for the rest of the process; nullptr: nothing. Without fork() they are never called.
void at_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) noexcept;

// Calls `leave` when the process ends. Where it answers false, the process ends at once, without what else was to be
// done (Linux, where the status is known by then). False if it cannot be arranged.
bool at_exit(bool (*leave)() noexcept) noexcept;

// Closes a file descriptor that a driver has opened.
void close_descriptor(int descriptor) noexcept;

// The folder of the shared library or program that contains this function; empty where it is not known.
std::string own_folder();

// A function of a shared library, which stays loaded; nullptr, and the reason in `why`.
void* function_of(const std::string& library, const char* function, std::string& why);

}  // namespace sg::os
