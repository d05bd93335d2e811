// SPDX-License-Identifier: LGPL-2.1-or-later
// Many frames at once in instances that share a GPU.
#include <atomic>
#include <barrier>
#include <chrono>
#include <ctime>
#include <format>
#include <thread>
#include <vector>

#include "tests/bench/gpu/neighbour.h"
#include "tests/bench/gpu/scale.h"

namespace keepbox::test::gpu {
namespace {

/// Times of one instance, and whether its boxes were correct.
struct Instance {
  std::vector<double> times;
  std::string check = "exact";
};

void check_all(Processor& processor, const Input& input, Instance& instance) {
  for (size_t i = 0; i < input.size(); ++i) {
    run_or_exit(processor, input.view(i, MemorySpace::kCuda));
    const std::string check = compare(processor.detections(), input.expected[i]);
    if (check != "exact") instance.check = check;
  }
}

/// State shared by instances.
struct Together {
  const Input& input;
  Launch producer;      // runs before each frame; empty: the tensors are ready
  std::barrier<> gate;  // passed twice: before the first frame and after the last
  std::atomic<bool> stop = false;
};

/// Runs frames until stopped, and checks the number of boxes.
/// @param stream the producer's, or null
void run_frames(Together& together, Processor& processor, size_t first, cudaStream_t stream,
                Instance& instance) {
  using Clock = std::chrono::steady_clock;
  const Input& input = together.input;
  for (size_t i = first; !together.stop.load(std::memory_order_relaxed); ++i) {
    const size_t tensor = i % input.size();
    TensorView view = input.view(tensor, MemorySpace::kCuda);
    const auto started = Clock::now();
    if (together.producer) {
      together.producer(stream);
      view.ready_stream = stream;
    }
    run_or_exit(processor, view);
    const std::chrono::duration<double, std::micro> took = Clock::now() - started;
    instance.times.push_back(took.count());
    if (processor.detections().size() != input.expected[tensor].size())
      instance.check = "DIFFERS: a frame's number of boxes";
  }
}

/// Runs frames between the gates, and checks all boxes before and after.
void run_instance(Together& together, size_t first, Instance& instance) {
  auto processor = make_processor(together.input.plan, "cuda", MemorySpace::kCuda);
  if (processor) check_all(*processor, together.input, instance);
  const Stream stream;
  together.gate.arrive_and_wait();
  if (processor) run_frames(together, *processor, first, stream.get(), instance);
  together.gate.arrive_and_wait();
  if (processor) check_all(*processor, together.input, instance);
}

/// Returns the processor time of all threads.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Wall-clock and processor time of a run.
struct Spent {
  double seconds, cpu_seconds;
};

Spent run_together(Together& together, std::vector<Instance>& instances) {
  constexpr auto kSpan = std::chrono::milliseconds(500);
  using Clock = std::chrono::steady_clock;
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < instances.size(); ++i) {
    instances[i].times.reserve(size_t{1} << 17);
    threads.emplace_back([&, i] { run_instance(together, i, instances[i]); });
  }
  together.gate.arrive_and_wait();
  const auto started = Clock::now();
  const double cpu_before = cpu_seconds();
  std::this_thread::sleep_for(kSpan);
  together.stop = true;
  together.gate.arrive_and_wait();
  const std::chrono::duration<double> took = Clock::now() - started;
  return {took.count(), cpu_seconds() - cpu_before};
}

void measure_instances_of(Session& session, const Input& input, size_t count,
                          const Launch& producer = {}) {
  std::vector<Instance> instances(count);
  Together together{input, producer, std::barrier(static_cast<std::ptrdiff_t>(count) + 1)};
  const Spent spent = run_together(together, instances);
  Row row{.section = input.section,
          .input = input.name,
          .contender = std::format("keepbox cuda, {} instances", count),
          .state = "in turn",
          .check = "exact",
          .boxes = input.expected[0].size()};
  std::vector<double> times;
  for (const Instance& instance : instances) {
    times.insert(times.end(), instance.times.begin(), instance.times.end());
    if (instance.check != "exact") row.check = instance.check;
  }
  const auto frames = static_cast<double>(times.size());
  row.frames_per_s = frames / spent.seconds;
  row.cpu_us = 1e6 * spent.cpu_seconds / frames;
  const Times merged = times_of(std::move(times));
  row.p50 = merged.p50;
  row.p99 = merged.p99;
  row.calls = merged.calls;
  session.add(std::move(row));
}

}  // namespace

void measure_instances(Session& session) {
  const Input input = make_scenes(session, "instances");
  for (size_t count = 1; count <= 64; count *= 2) measure_instances_of(session, input, count);
}

void measure_waiting(Session& session) {
  const Input input = make_scenes(session, "waiting");
  const Launch producer = make_work(1, 1, 5000);
  for (const size_t count : {1, 16, 64}) measure_instances_of(session, input, count, producer);
}

}  // namespace keepbox::test::gpu
