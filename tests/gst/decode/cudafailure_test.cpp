// SPDX-License-Identifier: LGPL-2.1-or-later
// Devices that are missing, full or lost.

#include "tests/gst/decode/cuda.h"
#include "tests/gst/device.h"

namespace keepbox {
namespace {

using test::bits;
using test::crowd;
using test::expected;
using test::frame_on;
using test::Harness;
using test::kSmall;
using test::Routes;
using test::routes;

using Cuda = test::Gpu;

TEST_F(Cuda, RejectsAMissingDevice) {
  const std::string error =
      test::play("videotestsrc num-buffers=1 ! boxdecode backend=cuda device-id=99 ! fakesink");
  for (const char* word : {"CUDA device 99", "device-id=", "backend=auto"})
    EXPECT_NE(error.find(word), std::string::npos) << error;
}

/// Allocates the rest of the device, to the last few kilobytes.
std::vector<CUdeviceptr> fill_device(const CudaContext& context) {
  const CudaScope scope(context);
  std::vector<CUdeviceptr> taken;
  CUdeviceptr one = 0;
  for (unsigned bytes = 1u << 31; bytes >= 4096; bytes /= 2)
    while (CuMemAlloc(&one, bytes) == CUDA_SUCCESS) taken.push_back(one);
  return taken;
}

TEST_F(Cuda, DecodesOnTheCpuWhenTheDeviceIsFull) {
  const auto want = expected(crowd(10));
  Harness automatic("boxdecode", kSmall), forced("boxdecode backend=cuda", kSmall);
  GstBuffer* frames[] = {frame_on(context, crowd(10)), frame_on(context, crowd(10)),
                         frame_on(context, crowd(10))};
  const std::vector<CUdeviceptr> taken = fill_device(context);
  EXPECT_FALSE(forced.run(frames[0]));
  EXPECT_EQ(forced.flow, GST_FLOW_ERROR);
  EXPECT_NE(forced.error().find("CUDA"), std::string::npos);
  EXPECT_EQ(bits(automatic.run(frames[1])), want) << automatic.error();
  EXPECT_NE(automatic.warning().find("on the CPU"), std::string::npos);
  {
    const CudaScope scope(context);
    for (const CUdeviceptr one : taken) CuMemFree(one);
  }
  EXPECT_EQ(bits(automatic.run(frames[2])), want) << "and stays there";
  EXPECT_EQ(automatic.warning(), "") << "once";
  EXPECT_EQ(routes(automatic.element()), (Routes{0, 0, 2}));
}

/// Launches a kernel that traps: from then on every call in the context fails.
void lose_device(const CudaContext& context) {
  const CudaScope scope(context);
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CuModuleLoadData(&module,
                   ".version 7.0\n.target sm_75\n.address_size 64\n"
                   ".visible .entry boom()\n{\n trap;\n ret;\n}\n");
  CuModuleGetFunction(&function, module, "boom");
  CuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
  CuCtxSynchronize();
}

/// Runs in a separate process, in which CUDA is unusable afterwards. @return its exit status.
int run_beyond_the_device(const CudaContext& context, const char* line) {
  std::string error;
  {
    Harness h(line, kSmall);
    if (!h.run(frame_on(context, crowd(11)))) return 2;
    GstBuffer* frame = frame_on(context, crowd(11));
    lose_device(context);
    if (h.run(frame) || h.flow != GST_FLOW_ERROR) return 3;
    error = h.error();
  }
  g_printerr("%s\n", error.c_str());
  return error.empty() ? 4 : 0;
}

TEST_F(Cuda, ReportsALostDevice) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const char* line : {"boxdecode", "boxdecode on-mismatch=pass", "boxdecode backend=cuda"})
    EXPECT_EXIT(_exit(run_beyond_the_device(context, line)), ::testing::ExitedWithCode(0), "CUDA");
}

}  // namespace
}  // namespace keepbox
