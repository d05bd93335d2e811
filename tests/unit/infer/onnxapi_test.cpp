// SPDX-License-Identifier: LGPL-2.1-or-later
// Compares indices of ONNX Runtime's function table and its enumerations with its own header, if
// that is installed.
#include <gtest/gtest.h>
#include <onnxruntime_c_api.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "gst/infer/onnx/onnxapi.h"

namespace keepbox {
namespace {

constexpr size_t kPlaces = sizeof(OrtApi) / sizeof(void*);

/// A table whose functions are their own indices, from 1.
const ort::Api& numbered() {
  static std::array<void*, kPlaces> table;
  for (size_t i = 0; i < kPlaces; ++i) table[i] = reinterpret_cast<void*>(i + 1);
  static const ort::Api api{table.data()};
  return api;
}

#define EXPECT_PLACE(name)                                \
  EXPECT_EQ(reinterpret_cast<uintptr_t>(numbered().name), \
            offsetof(OrtApi, name) / sizeof(void*) + 1)   \
      << #name

TEST(OnnxApi, HasTheFunctionIndicesOfTheHeader) {
  EXPECT_PLACE(GetErrorCode);
  EXPECT_PLACE(GetErrorMessage);
  EXPECT_PLACE(CreateEnvWithCustomLogger);
  EXPECT_PLACE(CreateSession);
  EXPECT_PLACE(Run);
  EXPECT_PLACE(CreateSessionOptions);
  EXPECT_PLACE(SetSessionGraphOptimizationLevel);
  EXPECT_PLACE(SetIntraOpNumThreads);
  EXPECT_PLACE(SessionGetInputCount);
  EXPECT_PLACE(SessionGetOutputCount);
  EXPECT_PLACE(SessionGetInputTypeInfo);
  EXPECT_PLACE(SessionGetOutputTypeInfo);
  EXPECT_PLACE(SessionGetInputName);
  EXPECT_PLACE(SessionGetOutputName);
  EXPECT_PLACE(CreateRunOptions);
  EXPECT_PLACE(RunOptionsSetTerminate);
  EXPECT_PLACE(RunOptionsUnsetTerminate);
  EXPECT_PLACE(CreateTensorWithDataAsOrtValue);
  EXPECT_PLACE(GetTensorMutableData);
  EXPECT_PLACE(CastTypeInfoToTensorInfo);
  EXPECT_PLACE(GetTensorElementType);
  EXPECT_PLACE(GetDimensionsCount);
  EXPECT_PLACE(GetDimensions);
  EXPECT_PLACE(GetTensorTypeAndShape);
  EXPECT_PLACE(CreateMemoryInfo);
  EXPECT_PLACE(AllocatorFree);
  EXPECT_PLACE(GetAllocatorWithDefaultOptions);
  EXPECT_PLACE(ReleaseMemoryInfo);
  EXPECT_PLACE(ReleaseStatus);
  EXPECT_PLACE(ReleaseSession);
  EXPECT_PLACE(ReleaseValue);
  EXPECT_PLACE(ReleaseRunOptions);
  EXPECT_PLACE(ReleaseTypeInfo);
  EXPECT_PLACE(ReleaseTensorTypeAndShapeInfo);
  EXPECT_PLACE(ReleaseSessionOptions);
  EXPECT_PLACE(SessionGetModelMetadata);
  EXPECT_PLACE(ModelMetadataLookupCustomMetadataMap);
  EXPECT_PLACE(ReleaseModelMetadata);
  EXPECT_PLACE(ModelMetadataGetCustomMetadataMapKeys);
  EXPECT_PLACE(GetAvailableProviders);
  EXPECT_PLACE(ReleaseAvailableProviders);
  EXPECT_PLACE(RunWithBinding);
  EXPECT_PLACE(CreateIoBinding);
  EXPECT_PLACE(ReleaseIoBinding);
  EXPECT_PLACE(BindInput);
  EXPECT_PLACE(BindOutput);
  EXPECT_PLACE(BindOutputToDevice);
  EXPECT_PLACE(GetBoundOutputValues);
  EXPECT_PLACE(AddRunConfigEntry);
  EXPECT_PLACE(SessionOptionsAppendExecutionProvider_CUDA_V2);
  EXPECT_PLACE(CreateCUDAProviderOptions);
  EXPECT_PLACE(UpdateCUDAProviderOptions);
  EXPECT_PLACE(ReleaseCUDAProviderOptions);
  EXPECT_PLACE(SessionOptionsAppendExecutionProvider);
  EXPECT_PLACE(UpdateCUDAProviderOptionsWithValue);
}

TEST(OnnxApi, HasTheEnumerationsOfTheHeader) {
  EXPECT_EQ(static_cast<int>(ort::LogLevel::kFatal), ORT_LOGGING_LEVEL_FATAL);
  EXPECT_EQ(static_cast<int>(ort::Code::kProviderFail), ORT_EP_FAIL);
  EXPECT_EQ(static_cast<int>(ort::Type::kBFloat16), ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16);
  EXPECT_EQ(static_cast<int>(ort::Type::kBool), ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL);
  EXPECT_EQ(ort::kDeviceAllocator, OrtDeviceAllocator);
  EXPECT_EQ(ort::kDefaultMemory, OrtMemTypeDefault);
  EXPECT_EQ(ort::kAllOptimizations, ORT_ENABLE_ALL);
  EXPECT_LE(ort::kApiVersion, static_cast<uint32_t>(ORT_API_VERSION));
}

}  // namespace
}  // namespace keepbox
