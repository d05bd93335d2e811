// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs a surface on inputs of a folder, on new ones and on changed ones, in a plain loop.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/tallies.h"
#include "tests/fuzz/watch.h"

namespace keepbox::fuzz {
namespace {

constexpr const char* kUsage =
    "usage: fuzz-%s [--seconds=N] [--seed=N] [--runs=N] [--corpus=DIR] [--keep=DIR] [--json=FILE]\n"
    "                [--want=NAME,...]\n"
    "       fuzz-%s INPUT...\n"
    "\n"
    "  --seconds=N   CPU time to run for (10)\n"
    "  --seed=N      seed of the inputs; the same seed makes the same inputs (1)\n"
    "  --runs=N      maximum number of runs, including the corpus\n"
    "  --corpus=DIR  inputs to run first and to change\n"
    "  --keep=DIR    write inputs there that count something for the first time, shortened\n"
    "  --want=NAMES  fail if one of these was never counted\n"
    "  --json=FILE   write the summary and all counts there\n"
    "  INPUT...      run only these files\n";

struct Options {
  uint64_t seconds = 10, seed = 1, runs = std::numeric_limits<uint64_t>::max();
  std::string corpus, keep, json, want;
  std::vector<std::string> inputs;
};

bool read_number(std::string_view text, uint64_t& out) {
  const auto [end, error] = std::from_chars(text.begin(), text.end(), out);
  return error == std::errc() && end == text.end();
}

/// @return true if it was a valid option.
bool read_option(std::string_view word, Options& out) {
  const size_t equals = word.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view name = word.substr(0, equals), value = word.substr(equals + 1);
  for (const auto& [key, number] :
       {std::pair("--seconds", &out.seconds), {"--seed", &out.seed}, {"--runs", &out.runs}})
    if (name == key) return read_number(value, *number);
  for (const auto& [key, text] : {std::pair("--corpus", &out.corpus),
                                  {"--keep", &out.keep},
                                  {"--json", &out.json},
                                  {"--want", &out.want}})
    if (name == key) return text->assign(value), true;
  return false;
}

bool read_options(std::span<char*> words, Options& out) {
  for (const std::string_view word : words)
    if (!word.starts_with("--")) out.inputs.emplace_back(word);
    else if (!read_option(word, out)) return false;
  return true;
}

bool read_file(const std::string& path, Bytes& out) {
  std::ifstream file(path, std::ios::binary);
  out.assign(std::istreambuf_iterator(file), {});
  return file.good() || file.eof();
}

class Loop {
 public:
  explicit Loop(const Options& options) : options_(options), random_(options.seed) {}

  /// @return true if all files were readable.
  bool run_files() {
    for (const std::string& path : options_.inputs) {
      Bytes bytes;
      if (!read_file(path, bytes))
        return std::fprintf(stderr, "fuzz-%s: cannot read %s\n", kSurface, path.c_str()), false;
      run(bytes, path);
    }
    return true;
  }

  /// Runs the whole corpus, whatever the limits are. @return true if it was readable, or unset.
  bool run_corpus() {
    if (!std::filesystem::exists(options_.corpus)) return true;
    std::error_code error;
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(options_.corpus, error))
      paths.push_back(entry.path());
    if (error)
      return std::fprintf(stderr, "fuzz-%s: cannot read %s\n", kSurface, options_.corpus.c_str()),
             false;
    std::ranges::sort(paths);  // directory order is undefined
    for (const std::string& path : paths) {
      Bytes bytes;
      if (!read_file(path, bytes))
        return std::fprintf(stderr, "fuzz-%s: cannot read %s\n", kSurface, path.c_str()), false;
      try_input(bytes);
      pool_.push_back(std::move(bytes));
    }
    return true;
  }

  void run_new() {
    while (!is_over()) {
      Bytes bytes = pool_.empty() || random_() % 4 == 0 ? fresh_input(random_)
                                                        : changed_input(random_, pool_);
      if (try_input(bytes)) pool_.push_back(std::move(bytes));
    }
  }

  /// @return true if everything wanted was counted.
  bool has_counted_enough() const {
    bool enough = true;
    for (const auto part : std::views::split(options_.want, ',')) {
      const std::string_view name(part.begin(), part.end());
      const auto is_name = [&](const auto& each) {
        return each.first == name || each.first.starts_with(std::string(name) + ':');
      };
      if (std::ranges::any_of(tallies().all, is_name)) continue;
      std::fprintf(stderr, "fuzz-%s: expected some %.*s, found none\n", kSurface,
                   static_cast<int>(name.size()), name.data());
      enough = false;
    }
    return enough;
  }

  void report() const {
    const double seconds = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
    const double speed = static_cast<double>(runs_) / std::max(seconds, 0.001);
    std::printf("fuzz-%s: %llu runs in %.1f s of CPU time, %.0f a second; %s\n", kSurface,
                static_cast<unsigned long long>(runs_), seconds, speed,
                tallies_text(tallies()).c_str());
    if (options_.json.empty()) return;
    std::ofstream(options_.json) << "{\"surface\": \"" << kSurface << "\", \"runs\": " << runs_
                                 << ", \"seconds\": " << seconds
                                 << ", \"tallies\": " << tallies_json(tallies()) << "}\n";
  }

 private:
  bool is_over() const {
    return runs_ >= options_.runs || std::chrono::steady_clock::now() >= end_;
  }

  void run(const Bytes& bytes, const std::string& path = {}) {
    tallies().latest.clear();
    // of exactly that length, so that AddressSanitizer detects reads beyond the end
    const auto copy = std::make_unique<uint8_t[]>(bytes.size());
    std::ranges::copy(bytes, copy.get());
    Input input({copy.get(), bytes.size()});
    begin_run(bytes, path);
    run_one(input);
    end_run();
    ++runs_;
  }

  /// @return true if it counted something for the first time.
  bool try_input(Bytes& bytes) {
    run(bytes);
    std::set<std::string, std::less<>> news;
    for (const std::string& name : tallies().latest)
      if (known_.insert(name).second) news.insert(name);
    if (news.empty()) return false;
    if (!options_.keep.empty()) keep(bytes, news);
    return true;
  }

  /// Writes the shortest prefix that still counts the same.
  void keep(Bytes& bytes, const std::set<std::string, std::less<>>& news) {
    for (size_t cut = bytes.size(); cut > 0; cut /= 2) {
      if (cut > bytes.size()) continue;
      const Bytes shorter(bytes.begin(), bytes.end() - static_cast<ptrdiff_t>(cut));
      run(shorter);
      if (std::ranges::includes(tallies().latest, news)) bytes = shorter;
    }
    std::filesystem::create_directories(options_.keep);
    std::ofstream(options_.keep + "/" + name_of(bytes), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }

  const Options& options_;
  Random random_;
  std::chrono::steady_clock::time_point end_ =
      std::chrono::steady_clock::now() + std::chrono::seconds(options_.seconds);
  uint64_t runs_ = 0;
  std::vector<Bytes> pool_;
  std::set<std::string, std::less<>> known_;  // names that were counted
};

}  // namespace
}  // namespace keepbox::fuzz

int main(int count, char** words) {
  using namespace keepbox::fuzz;
  Options options;
  if (!read_options({words + 1, static_cast<size_t>(count - 1)}, options)) {
    std::fprintf(stderr, kUsage, kSurface, kSurface);
    return 2;
  }
  watch(words[0], !options.inputs.empty());
  set_up();
  Loop loop(options);
  if (!options.inputs.empty()) {
    if (!loop.run_files()) return 1;
  } else {
    if (!loop.run_corpus()) return 2;
    loop.run_new();
  }
  loop.report();
  return loop.has_counted_enough() ? 0 : 1;
}
