// The host of a program that installs none: nothing to pause, no lines, warnings go to stderr. Knows no Python.
#include "base/host.hpp"

#include <atomic>
#include <cstdio>

namespace sg {
namespace {

class NoHost final : public Host {};
constinit NoHost no_host;
constinit std::atomic<Host*> installed{&no_host};

}  // namespace

void Host::warn_of_cache(const std::string& message) { std::fprintf(stderr, "[spirograd] %s\n", message.c_str()); }

Host& host() { return *installed.load(std::memory_order_relaxed); }
Host& install(Host& host) { return *installed.exchange(&host); }

}  // namespace sg
