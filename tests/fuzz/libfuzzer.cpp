// SPDX-License-Identifier: LGPL-2.1-or-later
// Adapts a surface to libFuzzer, which has its own loop.
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerInitialize(int* count, char*** words);
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count);

int LLVMFuzzerInitialize(int*, char***) {
  keepbox::fuzz::set_up();
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  keepbox::fuzz::Input input({bytes, count});
  keepbox::fuzz::run_one(input);
  return 0;
}
