// SPDX-License-Identifier: LGPL-2.1-or-later
// Files that the plugin reads: valid, damaged and random ones are read or rejected, in time and
// memory proportional to their size, and errors name the file.
#include "tests/fuzz/files.h"

#include <gst/gst.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>

#include "gst/base/error.h"
#include "tests/fuzz/damage.h"

namespace keepbox::fuzz {
namespace {

constexpr long kMaxMemory = 3 << 20;  // KiB, including a sanitizer's overhead

std::optional<test::TempDir> files;

void check_memory() {
  rusage used;
  if (getrusage(RUSAGE_SELF, &used) == 0 && used.ru_maxrss > kMaxMemory)
    violated("files of a few KiB take GiB of memory");
}

}  // namespace

const char* const kSurface = "files";

const test::TempDir& folder() { return *files; }

void set_up() {
  gst_init(nullptr, nullptr);
  if (access("/dev/shm", W_OK | X_OK) == 0) setenv("TMPDIR", "/dev/shm", 1);
  files.emplace();
}

void check_error(const Error& error, const std::string& where) {
  g_autoptr(GError) shown = nullptr;
  set_error(&shown, error);
  if (!is_utf8(shown->message)) violated("an error that is not UTF-8");
  if (error.message().find(where) == std::string::npos)
    violated("an error without " + where + ": " + error.message());
}

void run_one(Input& input) {
  static constexpr void (*kKinds[])(Input&){headers,     raw_files, recordings,  recordings,
                                            round_trips, lists,     model_texts, patterns};
  input.pick(kKinds)(input);
  check_memory();
}

}  // namespace keepbox::fuzz
