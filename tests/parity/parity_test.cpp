// SPDX-License-Identifier: LGPL-2.1-or-later
// Every kernel of every backend on every family of inputs; with --bench, their times.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <format>

#ifdef KEEPBOX_SIMD
#include "kernels/simd/backend.h"
#endif
#include "tests/parity/candidates.h"
#include "tests/parity/cuda_subject.h"
#include "tests/parity/harness.h"
#include "tests/parity/second/second.h"

namespace keepbox::test {

unsigned seeds = kAllSeeds;

namespace {

std::string required;  // a backend that must be available

}  // namespace

Random random_for(const Family& family, unsigned seed) {
  std::seed_seq sequence{seed, static_cast<unsigned>(std::strlen(family.name)),
                         static_cast<unsigned>(family.name[0])};
  return Random(sequence);
}

std::optional<std::string> hunt(Kernel kernel, const Backend& backend, const Family& family) {
  for (unsigned seed = 0; seed < seeds; seed += family.share) {
    Random random = random_for(family, seed);
    const Input input = family.make(random);
    if (auto found = difference(kernel, backend, input))
      return std::format("family {} seed {}: {}", family.name, seed, *found);
  }
  return std::nullopt;
}

std::vector<std::string> candidates() {
  std::vector<std::string> names{"second"};
  for (const Backend& backend : backends())
    if (backend.name != "reference" && backend.name != "simd" &&
        backend.memory == MemorySpace::kSystem)
      names.emplace_back(backend.name);
#ifdef KEEPBOX_SIMD
  for (const std::string_view target : simd::targets())
    names.push_back("simd " + std::string(target));
#endif
  for (std::string& name : cuda_subjects()) names.push_back(std::move(name));
  return names;
}

Backend candidate(const std::string& name) {
  if (name == "second") return second_backend();
  if (name.starts_with("cuda")) return cuda_subject(name);
  const std::string backend = name.substr(0, name.find(' '));
#ifdef KEEPBOX_SIMD
  if (backend == "simd") {
    simd::force_target(name.substr(5));
    EXPECT_EQ(simd::target(), name.substr(5)) << "another instruction set ran";
  }
#endif
  return *find_backend(backend);
}

namespace {

class Parity : public testing::TestWithParam<std::tuple<std::string, Kernel, size_t>> {};

TEST_P(Parity, Holds) {
  const auto& [name, kernel, index] = GetParam();
  const Backend backend = candidate(name);
  if (kernel != Kernel::kFrame && backend.kernels == nullptr) GTEST_SKIP() << "frames only";
  const auto found = hunt(kernel, backend, families()[index]);
  EXPECT_FALSE(found) << *found << "\nhunts: " << families()[index].hunts;
}

std::string case_name(const testing::TestParamInfo<Parity::ParamType>& info) {
  const auto& [name, kernel, index] = info.param;
  std::string text = std::format("{}_{}_{}", name, name_of(kernel), families()[index].name);
  for (char& c : text)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return text;
}

INSTANTIATE_TEST_SUITE_P(All, Parity,
                         testing::Combine(testing::ValuesIn(candidates()),
                                          testing::ValuesIn(kKernels),
                                          testing::Range(size_t{0}, families().size())),
                         case_name);

class Methods : public testing::TestWithParam<size_t> {
 protected:
  /// Returns the boxes that a method keeps of each seed's input. @param limited by max-detections,
  /// or not.
  std::vector<Kept> kept(NmsMethod method, bool limited) const {
    std::vector<Kept> out;
    for (unsigned seed = 0; seed < seeds; seed += families()[GetParam()].share) {
      Random random = random_for(families()[GetParam()], seed);
      Input input = families()[GetParam()].make(random);
      input.settings.nms_method = method;
      if (!limited) input.settings.max_detections = kMaxAnchors;
      if (!limited) input.settings.class_top_k = 0;
      out.push_back(reference_nms(input));
    }
    return out;
  }
};

TEST_P(Methods, ExactOnesKeepTheSameBoxes) {
  const auto greedy = kept(NmsMethod::kGreedy, true);
  EXPECT_EQ(kept(NmsMethod::kBitmask, true), greedy);
  EXPECT_EQ(kept(NmsMethod::kSegmented, true), greedy);
}

TEST_P(Methods, FastKeepsNoneThatGreedyDrops) {
  const auto greedy = kept(NmsMethod::kGreedy, false), fast = kept(NmsMethod::kFast, false);
  size_t lost = 0;
  for (size_t seed = 0; seed < greedy.size(); ++seed) {
    EXPECT_TRUE(std::ranges::includes(greedy[seed], fast[seed])) << seed;
    lost += greedy[seed].size() - fast[seed].size();
  }
  const bool chains = std::string_view(families()[GetParam()].name).ends_with("chains");
  EXPECT_TRUE(!chains || lost > 10 * seeds) << lost;
}

INSTANTIATE_TEST_SUITE_P(Each, Methods, testing::Range(size_t{0}, families().size()),
                         [](const auto& each) {
                           std::string text = families()[each.param].name;
                           std::ranges::replace(text, '-', '_');
                           return text;
                         });

TEST(Backends, RequiredOneIsAvailable) {
  if (required.empty()) GTEST_SKIP() << "--require= is not set";
  const auto names = candidates();
  EXPECT_NE(std::ranges::find(names, required), names.end()) << required << " cannot run here";
}

TEST(Runners, OfDifferentModelsCoexist) {
  if (cuda_subjects().empty()) GTEST_SKIP() << "no CUDA device";
  struct Live {
    std::unique_ptr<OnDevice> tensors;
    Processor processor;
  };
  const Backend backend = cuda_subject("cuda");
  std::vector<Live> all;
  for (const char* name : {"scene", "planes", "large-class", "sizes"}) {  // 2,048 classes and few
    const auto family = std::ranges::find(families(), std::string_view(name), &Family::name);
    Random random(1);
    const Input input = family->make(random);
    const TensorView view = input.tensors[0].view();
    auto plan = make_plan(input.settings, {&view, 1});
    ASSERT_TRUE(plan) << name;
    auto processor = Processor::create(std::move(*plan), {&backend, ""}, MemorySpace::kCuda);
    ASSERT_TRUE(processor) << processor.error().message();
    all.push_back({std::make_unique<OnDevice>(std::span(&view, 1)), std::move(*processor)});
  }
  for (Live& each : all) {
    const Status status = each.processor.run(each.tensors->views());
    EXPECT_TRUE(status) << status.error().message();
  }
}

TEST(InvalidTensors, AreRejectedBeforeAnyRead) {
  for (const Family& family : families()) {
    Random random = random_for(family, 1);
    Input input = family.make(random);
    std::vector<TensorView> views;
    for (const Tensor& tensor : input.tensors) views.push_back(tensor.view());
    if (views[0].bytes == 0) continue;
    views[0].data = reinterpret_cast<const void*>(0x10);  // reading it is a fault
    views[0].bytes -= 4;
    const auto plan = make_plan(input.settings, views);
    ASSERT_FALSE(plan) << family.name;
    EXPECT_EQ(plan.error().kind, ErrorKind::kTruncated) << family.name;
  }
}

void bench() {
  std::printf("%-12s %-8s %14s %14s %8s\n", "input", "kernel", "reference us", "candidate us",
              "ratio");
  for (const std::string& name : candidates()) {
    for (const bool planes : {true, false}) {
      Random random(1);
      const Input input = crowd(random, planes, planes ? 8400 : 25200);
      for (const Kernel kernel : kKernels) {
        if (kernel != Kernel::kFrame && name.starts_with("cuda")) continue;
        const double ours = median_time(kernel, *find_backend("reference"), input, 21);
        const double theirs = median_time(kernel, candidate(name), input, 21);
        std::printf("%-12s %-8s %14.1f %14.1f %8.2f  (%s)\n", planes ? "84x8400" : "25200x85",
                    name_of(kernel), ours, theirs, ours / theirs, name.c_str());
      }
    }
  }
}

}  // namespace
}  // namespace keepbox::test

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    if (arg == "--bench") {
      keepbox::test::bench();
      return 0;
    }
    if (arg.starts_with("--seeds="))
      keepbox::test::seeds = static_cast<unsigned>(std::atoi(argv[i] + 8));
    if (arg.starts_with("--require=")) keepbox::test::required = arg.substr(10);
  }
  return RUN_ALL_TESTS();
}
