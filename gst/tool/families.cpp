// SPDX-License-Identifier: LGPL-2.1-or-later
// keepbox-families: lists, prints and checks model families for the program keepbox, which calls it
// by the name keepbox.
#include <algorithm>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/infile.h"
#include "core/model/detector_text.h"

namespace keepbox {
namespace {

constexpr int kWrong = 1, kUsage = 2;
constexpr size_t kMaxFileBytes = size_t{1} << 24;

constexpr const char* kUsageText =
    "usage: keepbox detectors        list the families that boxdecode supports\n"
    "       keepbox detector NAME    print a family as a file for boxdecode detector=FILE\n"
    "       keepbox detector FILE    check such a file and report errors\n"
    "       keepbox keys             list the keys of such a file\n";

int usage() {
  std::fputs(kUsageText, stderr);
  return kUsage;
}

int put(const std::string& text) {
  const bool written = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  if (!written) std::perror("keepbox");
  return written ? 0 : kWrong;
}

int fail_with(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  return kWrong;
}

int list() {
  std::string out;
  for (const DetectorSpec& spec : detectors())
    out += std::string(spec.name) + ": " + std::string(spec.summary) + "\n";
  return put(out);
}

int print_or_check(const std::string& what) {
  if (const DetectorSpec* found = find_detector(what)) return put(print_detector(*found));
  if (!means_detector_file(what))
    return fail_with("keepbox: \"" + what +
                     "\" is neither a family listed by keepbox detectors nor a file");
  const auto file = load_detector(what);
  if (!file) return fail_with(file.error().message());
  for (const auto& [key, path] :
       {std::pair("label-file", file->label_file), {"priors-file", file->priors_file}})
    if (const auto text = path.empty() ? std::string() : read_text(path, kMaxFileBytes, ""); !text)
      return fail_with(what + ": " + key + ": " + text.error().message());
  return put(what + ": " + std::string(file->family->name) + " is a valid family\n");
}

int run(std::span<char* const> words) {
  const std::string command = words.empty() ? "" : words[0];
  if (command == "detectors" && words.size() == 1) return list();
  if (command == "keys" && words.size() == 1) return put(detector_keys_text());
  if (std::ranges::any_of(words,
                          [](std::string_view word) { return word == "--help" || word == "-h"; }))
    return put(kUsageText);
  if (command == "detector" && words.size() == 2) return print_or_check(words[1]);
  return usage();
}

}  // namespace
}  // namespace keepbox

int main(int argc, char** argv) {
  return keepbox::run(std::span(argv, static_cast<size_t>(argc)).subspan(argc > 0 ? 1 : 0));
}
