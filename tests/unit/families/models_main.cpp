// SPDX-License-Identifier: LGPL-2.1-or-later
// Prints docs/models.md; needs the recorded photos, see KEEPBOX_TEST_DATA.
#include <cstdio>

#include "tests/recorded.h"
#include "tests/unit/families/proofs.h"

int main() {
  if (!keepbox::test::have_data()) {
    std::fputs("models-page: KEEPBOX_TEST_DATA names no recorded photos\n", stderr);
    return 1;
  }
  std::fputs(keepbox::test::models_page(true).c_str(), stdout);
  return 0;
}
