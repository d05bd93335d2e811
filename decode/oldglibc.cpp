// SPDX-License-Identifier: LGPL-2.1-or-later
// Functions of newer C libraries that the linked-in libstdc++ was compiled against, so that the
// library loads on systems with glibc 2.35. Hidden: only libstdc++'s part of this library calls
// them.

extern "C" {

// By another name, because <cstdlib> would declare it as the function below.
unsigned long old_strtoul(const char* text, char** end, int base) asm("strtoul");
unsigned long __isoc23_strtoul(const char* text, char** end, int base);

unsigned long __isoc23_strtoul(const char* text, char** end, int base) {
  return old_strtoul(text, end, base);
}
}
