// SPDX-License-Identifier: LGPL-2.1-or-later
// Functions of newer C libraries that the linked-in libstdc++ was compiled against, so that the
// library loads on systems with glibc 2.35. Hidden: only libstdc++'s part of this library calls
// them.
#include <stdlib.h>

unsigned long __isoc23_strtoul(const char* text, char** end, int base);

unsigned long __isoc23_strtoul(const char* text, char** end, int base) {
  return strtoul(text, end, base);
}
