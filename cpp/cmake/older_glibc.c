// What objects compiled against a newer glibc want and glibc 2.28 lacks, written with what it has. Linked into the module
// alone (SPIROGRAD_GLIBC), where nobody else sees it.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// 2.32: whether the process has one thread only. "No" is always right.
char __libc_single_threaded = 0;

// 2.33: stat was an inline function before; 1 and 0 are the layouts of struct stat.
#if defined(__x86_64__)
#define LAYOUT 1
#else
#define LAYOUT 0
#endif
int __xstat(int layout, const char* path, struct stat* facts);
int __lxstat(int layout, const char* path, struct stat* facts);
int __fxstat(int layout, int fd, struct stat* facts);
int __fxstatat(int layout, int fd, const char* path, struct stat* facts, int flags);
int stat(const char* path, struct stat* facts) { return __xstat(LAYOUT, path, facts); }
int lstat(const char* path, struct stat* facts) { return __lxstat(LAYOUT, path, facts); }
int fstat(int fd, struct stat* facts) { return __fxstat(LAYOUT, fd, facts); }
int fstatat(int fd, const char* path, struct stat* facts, int flags) {
  return __fxstatat(LAYOUT, fd, path, facts, flags);
}
int fstat64(int fd, struct stat64* facts) { return __fxstat(LAYOUT, fd, (struct stat*)facts); }  // the same layout

// 2.36: a random number.
uint32_t arc4random(void) {
  uint32_t number;
  while (getentropy(&number, sizeof number) != 0 && errno == EINTR) continue;
  return number;
}

// 2.30: waits until a time of another clock than the calendar's. The old functions know only that one, so the time that
// is left is added to it; a clock that is set meanwhile makes the wait longer or shorter.
static struct timespec on_calendar(clockid_t clock, const struct timespec* until) {
  struct timespec now, calendar;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &calendar);
  calendar.tv_sec += until->tv_sec - now.tv_sec;
  calendar.tv_nsec += until->tv_nsec - now.tv_nsec;
  if (calendar.tv_nsec < 0) calendar.tv_nsec += 1000000000, --calendar.tv_sec;
  if (calendar.tv_nsec >= 1000000000) calendar.tv_nsec -= 1000000000, ++calendar.tv_sec;
  return calendar;
}
int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock, const struct timespec* until) {
  const struct timespec calendar = on_calendar(clock, until);
  return pthread_mutex_timedlock(mutex, &calendar);
}
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until) {
  const struct timespec calendar = on_calendar(clock, until);
  return pthread_cond_timedwait(condition, mutex, &calendar);
}
