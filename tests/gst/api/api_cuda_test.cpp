// SPDX-License-Identifier: LGPL-2.1-or-later
// keepbox.h with CUDA memory: no copies, no early reads, and the application's context.
#include <cuda_runtime_api.h>

#include <thread>

#include "tests/gst/api/api.h"
#include "tests/gst/device.h"

namespace keepbox {
namespace {

using test::api_boxes;
using test::Buffer;
using test::count_call;
using test::counted;
using test::crowd;
using test::describe;
using test::expect_same;
using test::Harness;
using test::kSmall;
using test::lend;
using test::Lent;
using test::refusal;
using test::Tensor;
using CudaApi = test::Gpu;

/// Returns the boxes of the reference backend.
std::vector<FrameBox> expected(const Tensor& tensor) {
  Harness h("boxdecode backend=reference", kSmall);
  const Buffer out = h.run(test::frame_on_host(tensor));
  EXPECT_TRUE(out) << h.error();
  return test::boxes(out);
}

Lent describe_cuda(const Tensor& tensor, const void* data, KeepboxReady ready, void* ready_on) {
  Lent out = describe(tensor, data);
  keepbox_tensor_info_set_memory(out.info.get(), KEEPBOX_MEMORY_CUDA);
  keepbox_tensor_info_set_ready(out.info.get(), ready, ready_on);
  return out;
}

const void* pointer(CUdeviceptr data) { return reinterpret_cast<const void*>(data); }

/// Frees memory of the driver; the context is current.
void free_driver(gpointer data) {
  EXPECT_EQ(CuMemFree(reinterpret_cast<CUdeviceptr>(data)), CUDA_SUCCESS);
}

TEST_F(CudaApi, OrdersAfterPendingWork) {
  const Tensor tensor = crowd(1);
  const auto want = expected(tensor);
  for (const KeepboxReady ready : {KEEPBOX_READY_STREAM, KEEPBOX_READY_EVENT}) {
    for (const char* line : {"boxdecode", "boxdecode backend=reference"}) {
      SCOPED_TRACE(std::string(line) + (ready == KEEPBOX_READY_EVENT ? ", event" : ", stream"));
      Harness h(line, kSmall);
      test::LateProducer producer(context, tensor, true);
      for (int i = 0; i < 50; ++i) {
        const auto work = producer.begin();
        void* on = ready == KEEPBOX_READY_EVENT ? static_cast<void*>(work.event) : work.stream;
        Buffer frame = lend(describe_cuda(tensor, pointer(work.data), ready, on), free_driver,
                            reinterpret_cast<gpointer>(work.data));
        ASSERT_TRUE(frame);
        EXPECT_TRUE(producer.is_late()) << "adding a tensor does not wait";
        expect_same(api_boxes(h.run(frame.release())), want);
        if (HasFailure()) return;
      }
      EXPECT_EQ(test::stat_text(h.element(), "backend") == "cuda",
                std::string(line) == "boxdecode");
    }
  }
}

TEST_F(CudaApi, SharesOneContextAmongTensors) {
  const Tensor tensor = crowd(2);
  test::LateProducer producer(context, tensor, true);
  std::vector<Buffer> frames;
  std::vector<CudaContext> contexts;
  for (int i = 0; i < 2; ++i) {
    const auto work = producer.begin();
    frames.push_back(
        lend(describe_cuda(tensor, pointer(work.data), KEEPBOX_READY_STREAM, work.stream),
             free_driver, reinterpret_cast<gpointer>(work.data)));
    FrameTensors mapped;
    ASSERT_TRUE(mapped.list_tensors(frames.back().get()));
    ASSERT_TRUE(mapped.map_all(MemorySpace::kCuda));
    EXPECT_EQ(mapped.space(), MemorySpace::kCuda);
    EXPECT_EQ(mapped.views()[0].data, pointer(work.data)) << "not a copy";
    EXPECT_NE(mapped.views()[0].ready_event, nullptr);
    contexts.push_back(mapped.context());
    const CudaScope scope(context);
    EXPECT_EQ(CuStreamSynchronize(work.stream), CUDA_SUCCESS);
  }
  EXPECT_EQ(contexts[0], contexts[1]);
  EXPECT_EQ(gst_cuda_context_get_handle(test::cast(contexts[0])),
            gst_cuda_context_get_handle(test::cast(context)));
  frames.clear();
  GWeakRef held;
  g_weak_ref_init(&held, contexts[0].get());
  contexts.clear();
  EXPECT_EQ(g_weak_ref_get(&held), nullptr) << "nothing keeps the application's context";
  g_weak_ref_clear(&held);
}

TEST_F(CudaApi, ReleasesDataOnce) {
  const CudaScope scope(context);
  const Tensor tensor = crowd(3);
  const size_t bytes = test::bytes_of(tensor);
  CUdeviceptr data = 0;
  ASSERT_EQ(CuMemAlloc(&data, static_cast<unsigned>(bytes)), CUDA_SUCCESS);
  ASSERT_EQ(CuMemcpyHtoD(data, tensor.values.data(), bytes), CUDA_SUCCESS);
  const auto want = expected(tensor);
  int given_back = 0;
  {
    Harness h("boxdecode", kSmall);
    for (int i = 1; i <= 3; ++i) {
      const Lent now = describe_cuda(tensor, pointer(data), KEEPBOX_READY_NOW, nullptr);
      const Buffer out = h.run(lend(now, count_call, &given_back).release());
      expect_same(api_boxes(out), want);
      EXPECT_EQ(given_back, i - 1);
    }
  }
  EXPECT_EQ(given_back, 3);
  CuMemFree(data);
}

TEST_F(CudaApi, SlicesOfABatchShareIt) {
  const Tensor tensor = crowd(6);
  const size_t bytes = test::bytes_of(tensor);
  const auto want = expected(tensor);
  CUdeviceptr data = 0;
  {
    const CudaScope scope(context);
    ASSERT_EQ(CuMemAlloc(&data, static_cast<unsigned>(2 * bytes)), CUDA_SUCCESS);
    ASSERT_EQ(CuMemcpyHtoD(data, tensor.values.data(), bytes), CUDA_SUCCESS);
    ASSERT_EQ(CuMemcpyHtoD(data + bytes, tensor.values.data(), bytes), CUDA_SUCCESS);
    CuStreamSynchronize(nullptr);
  }
  Tensor both = tensor;
  both.shape = {2, tensor.shape[1], tensor.shape[2]};
  both.values.resize(2 * both.values.size());
  for (const KeepboxReady ready : {KEEPBOX_READY_NOW, KEEPBOX_READY_STREAM}) {
    const Lent lent = describe_cuda(both, pointer(data), ready, nullptr);
    int given_back = 0;
    Harness h("boxdecode", kSmall);
    Buffer frames[] = {test::empty_frame(), test::empty_frame()};
    GstBuffer* buffers[] = {frames[0].get(), frames[1].get()};
    {
      const CudaScope scope(context);
      g_autoptr(GError) error = nullptr;
      ASSERT_TRUE(keepbox_buffers_add_tensor(buffers, 2, lent.info.get(), lent.data, lent.size,
                                             count_call, &given_back, &error))
          << error->message;
    }
    for (size_t i = 0; i < 2; ++i) {
      FrameTensors mapped;
      ASSERT_TRUE(mapped.list_tensors(buffers[i]));
      ASSERT_TRUE(mapped.map_all(MemorySpace::kCuda));
      EXPECT_EQ(mapped.views()[0].data, pointer(data + i * bytes)) << "not a copy";
    }
    for (Buffer& frame : frames) {
      EXPECT_EQ(given_back, 0);
      expect_same(api_boxes(h.run(frame.release())), want);
    }
    EXPECT_EQ(test::stat_text(h.element(), "backend"), "cuda");
    EXPECT_EQ(given_back, 1);
  }
  const CudaScope scope(context);
  CuMemFree(data);
}

TEST_F(CudaApi, RejectsHostMemory) {
  const CudaScope scope(context);
  const Tensor tensor = crowd(4);
  int given_back = 0;
  const Buffer frame = test::empty_frame();
  Lent host = describe_cuda(tensor, tensor.values.data(), KEEPBOX_READY_NOW, nullptr);
  EXPECT_NE(refusal(frame.get(), host, count_call, &given_back).find("KEEPBOX_MEMORY_SYSTEM"),
            std::string::npos);
  void* pinned = nullptr;
  ASSERT_EQ(CuMemAllocHost(&pinned, static_cast<unsigned>(test::bytes_of(tensor))), CUDA_SUCCESS);
  host.data = pinned;
  EXPECT_NE(refusal(frame.get(), host, count_call, &given_back).find("KEEPBOX_MEMORY_SYSTEM"),
            std::string::npos);
  CuMemFreeHost(pinned);
  const gsize much = gsize{1} << 40;
  host = describe("much", GST_TENSOR_DATA_TYPE_FLOAT32, {much / 4}, host.data, much);
  keepbox_tensor_info_set_memory(host.info.get(), KEEPBOX_MEMORY_CUDA);
  EXPECT_NE(refusal(frame.get(), host).find("2 GiB"), std::string::npos);
  EXPECT_EQ(given_back, 0);
  EXPECT_EQ(gst_buffer_get_meta(frame.get(), gst_tensor_meta_api_get_type()), nullptr);
}

/// An application of the CUDA runtime, like most: it does not use GstCudaContext.
class Runtime {
 public:
  Runtime(const Tensor& tensor, bool pool) : tensor_(tensor), pool_(pool) {
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    EXPECT_EQ(cudaMalloc(&source_, test::bytes_of(tensor)), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(source_, tensor.values.data(), test::bytes_of(tensor), cudaMemcpyDefault),
              cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);  // that may be on its way
  }
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  ~Runtime() {
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    EXPECT_EQ(cudaFree(source_), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
  }

  /// Makes a frame whose tensor is written 3 ms later, on a stream that is not synchronised
  /// implicitly.
  Buffer frame() const {
    const size_t bytes = test::bytes_of(tensor_);
    void* data = nullptr;
    EXPECT_EQ(pool_ ? cudaMallocAsync(&data, bytes, stream_) : cudaMalloc(&data, bytes),
              cudaSuccess);
    EXPECT_EQ(cudaMemsetAsync(data, 0, bytes, stream_), cudaSuccess);
    EXPECT_EQ(cudaLaunchHostFunc(stream_, [](void*) { usleep(3000); }, nullptr), cudaSuccess);
    EXPECT_EQ(cudaMemcpyAsync(data, source_, bytes, cudaMemcpyDeviceToDevice, stream_),
              cudaSuccess);
    return lend(
        describe_cuda(tensor_, data, KEEPBOX_READY_STREAM, stream_),
        [](gpointer memory) { EXPECT_EQ(cudaFree(memory), cudaSuccess); }, data);
  }

 private:
  const Tensor& tensor_;
  bool pool_;
  cudaStream_t stream_ = nullptr;
  void* source_ = nullptr;
};

TEST_F(CudaApi, AcceptsMemoryOfThePrimaryContext) {
  context = {};
  const Tensor tensor = crowd(5);
  const auto want = expected(tensor);
  for (const bool pool : {false, true}) {
    SCOPED_TRACE(pool ? "cudaMallocAsync" : "cudaMalloc");
    const Runtime runtime(tensor, pool);
    Harness h("boxdecode", kSmall);
    for (int i = 0; i < 50; ++i) {
      expect_same(api_boxes(h.run(runtime.frame().release())), want);
      if (HasFailure()) return;
    }
    EXPECT_EQ(counted(h.element(), "zero-copy-frames"), 49u) << "the first is read for the plan";
    EXPECT_EQ(test::stat_text(h.element(), "backend"), "cuda");
    EXPECT_EQ(h.warning(), "");
  }
}

TEST_F(CudaApi, MixesWithTheRuntimeOnManyThreads) {
  context = {};
  const Tensor tensor = crowd(6);
  const auto want = expected(tensor);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      const Runtime runtime(tensor, false);
      Harness h("boxdecode", kSmall);
      for (int j = 0; j < 20; ++j) expect_same(api_boxes(h.run(runtime.frame().release())), want);
    });
}

}  // namespace
}  // namespace keepbox
