// SPDX-License-Identifier: LGPL-2.1-or-later
// Catches signals that end a run. Handlers call only async-signal-safe functions.
#include "tests/fuzz/watch.h"

#include <fcntl.h>
#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>

#include "tests/fuzz/fuzz.h"

/// From AddressSanitizer, if the program is built with it.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*call)());

/// Called by the sanitizers; the environment overrides it. A finding ends in SIGABRT.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options();
extern "C" __attribute__((visibility("default"))) const char* __ubsan_default_options();
const char* __asan_default_options() {
  return "detect_leaks=0:protect_shadow_gap=0:allocator_may_return_null=1";
}
const char* __ubsan_default_options() {
  return "print_stacktrace=1:halt_on_error=1:abort_on_error=1";
}

namespace keepbox::fuzz {
namespace {

struct {
  std::span<const uint8_t> bytes;
  char path[4096] = {};
  char words[512] = {};  // text before the path
  bool files = false;
  volatile std::sig_atomic_t running = 0;
} watched;

void say(const char* text) { (void)!write(STDERR_FILENO, text, std::strlen(text)); }

/// Writes the input and prints its path, once.
void keep_input() {
  if (watched.running == 0) return;
  watched.running = 0;
  if (!watched.files) {
    const int file = open(watched.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0 || write(file, watched.bytes.data(), watched.bytes.size()) < 0)
      say("the input could not be written\n");
    if (file >= 0) close(file);
  }
  say(watched.words);
  say(watched.path);
  say("\n");
}

/// Sets the timers; 0 stops one.
void set_clocks(unsigned seconds, unsigned wait) {
  const itimerval time{.it_interval = {}, .it_value = {.tv_sec = seconds, .tv_usec = 0}};
  setitimer(ITIMER_PROF, &time, nullptr);
  alarm(wait);
}

void on_signal(int number) {
  const bool late = number == SIGALRM || number == SIGPROF;
  if (late) say("the run took too long\n");
  keep_input();
  // ends with the same signal, for a core file if enabled
  std::signal(late ? SIGABRT : number, SIG_DFL);
  std::raise(late ? SIGABRT : number);
}

}  // namespace

std::string name_of(std::span<const uint8_t> bytes) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const uint8_t byte : bytes) hash = (hash ^ byte) * 1099511628211u;
  char out[128];
  std::snprintf(out, sizeof out, "%s-%016llx", kSurface, static_cast<unsigned long long>(hash));
  return out;
}

void watch(const char* program, bool files) {
  watched.files = files;
  std::snprintf(watched.words, sizeof watched.words, "fuzz-%s: to run it again: %s ", kSurface,
                program);
  std::signal(SIGABRT, on_signal);
  std::signal(SIGALRM, on_signal);
  std::signal(SIGPROF, on_signal);
  if (__sanitizer_set_death_callback != nullptr) return __sanitizer_set_death_callback(keep_input);
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(number, on_signal);
}

void begin_run(std::span<const uint8_t> bytes, const std::string& path) {
  const std::string name = watched.files ? path : "crash-" + name_of(bytes);
  std::snprintf(watched.path, sizeof watched.path, "%s", name.c_str());
  watched.bytes = bytes;
  watched.running = 1;
  set_clocks(kMaxSeconds, kMaxWait);
}

void end_run() {
  set_clocks(0, 0);
  watched.running = 0;
}

}  // namespace keepbox::fuzz
