// SPDX-License-Identifier: LGPL-2.1-or-later
// Checks that docs/models.md is up to date.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "tests/recorded.h"
#include "tests/unit/families/proofs.h"

namespace keepbox {
namespace {

TEST(Models, PageIsUpToDate) {
  const char* source = std::getenv("KEEPBOX_SOURCE");
  if (source == nullptr) GTEST_SKIP() << "KEEPBOX_SOURCE names no checkout";
  const auto bytes = test::read_file(std::filesystem::path(source) / "docs/models.md");
  std::string page(bytes.begin(), bytes.end());
  const bool photos = test::have_data();
  const size_t end = page.find(test::kPhotosTitle);
  ASSERT_NE(end, page.npos);
  if (!photos) page.resize(end + test::kPhotosTitle.size());
  const std::string now = test::models_page(photos);
  size_t at = 0;
  while (at < page.size() && at < now.size() && page[at] == now[at]) ++at;
  EXPECT_TRUE(page == now) << "build/tests/unit/models-page > docs/models.md; it differs at: "
                           << now.substr(at, 80);
}

TEST(Models, ListedPeersAreCompared) {
  if (!test::have_data()) GTEST_SKIP() << "no recorded tensors on this machine";
  std::set<std::string_view> listed, seen;
  for (const test::Peer& each : test::kPeers) listed.insert(each.family);
  const auto all = test::recorded();
  for (const test::Recorded& entry : all) seen.insert(entry.detector);
  EXPECT_EQ(listed, seen);
}

}  // namespace
}  // namespace keepbox
