// SPDX-License-Identifier: LGPL-2.1-or-later
// The part of ONNX Runtime's C API that is used here, by index in the table that the library
// returns. Indices never change: the API only grows at its end. tests/unit/infer/onnxapi_test.cpp
// compares them with the runtime's own header if it is installed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gst/base/latelibrary.h"

namespace keepbox::ort {

// The runtime's objects.
struct Status;
struct Env;
struct Session;
struct SessionOptions;
struct RunOptions;
struct MemoryInfo;
struct Value;
struct TypeInfo;
struct TensorInfo;
struct Allocator;
struct ModelMetadata;
struct IoBinding;
struct CudaOptions;

enum class LogLevel : int { kVerbose, kInfo, kWarning, kError, kFatal };
enum class Code : int {
  kOk,
  kFail,
  kInvalidArgument,
  kNoSuchFile,
  kNoModel,
  kEngineError,
  kRuntimeException,
  kInvalidProtobuf,
  kModelLoaded,
  kNotImplemented,
  kInvalidGraph,
  kProviderFail,
};
/// Types of tensor elements.
enum class Type : int {
  kUndefined,
  kFloat,
  kUInt8,
  kInt8,
  kUInt16,
  kInt16,
  kInt32,
  kInt64,
  kString,
  kBool,
  kFloat16,
  kDouble,
  kUInt32,
  kUInt64,
  kComplex64,
  kComplex128,
  kBFloat16,
};
constexpr int kDeviceAllocator = 0;
constexpr int kDefaultMemory = 0;
constexpr int kAllOptimizations = 99;

using LogFunction = void (*)(void* param, LogLevel level, const char* category, const char* id,
                             const char* where, const char* message);

/// The API version that has all of these functions.
constexpr uint32_t kApiVersion = 16;

/// Returned by the library's only exported function.
struct ApiBase {
  void* const* (*GetApi)(uint32_t version);
  const char* (*GetVersionString)();
};

/// Functions return nullptr or a Status owned by the caller, except those that return void.
struct Api {
  void* const* table;

  Code (*GetErrorCode)(const Status*) = at(1);
  const char* (*GetErrorMessage)(const Status*) = at(2);
  Status* (*CreateEnvWithCustomLogger)(LogFunction, void* param, LogLevel, const char* id,
                                       Env**) = at(4);
  Status* (*CreateSession)(const Env*, const char* path, const SessionOptions*, Session**) = at(7);
  Status* (*Run)(Session*, const RunOptions*, const char* const* input_names,
                 const Value* const* inputs, size_t input_count, const char* const* output_names,
                 size_t output_count, Value** outputs) = at(9);
  Status* (*CreateSessionOptions)(SessionOptions**) = at(10);
  Status* (*SetSessionGraphOptimizationLevel)(SessionOptions*, int level) = at(23);
  Status* (*SetIntraOpNumThreads)(SessionOptions*, int threads) = at(24);
  Status* (*SessionGetInputCount)(const Session*, size_t*) = at(30);
  Status* (*SessionGetOutputCount)(const Session*, size_t*) = at(31);
  Status* (*SessionGetInputTypeInfo)(const Session*, size_t, TypeInfo**) = at(33);
  Status* (*SessionGetOutputTypeInfo)(const Session*, size_t, TypeInfo**) = at(34);
  Status* (*SessionGetInputName)(const Session*, size_t, Allocator*, char**) = at(36);
  Status* (*SessionGetOutputName)(const Session*, size_t, Allocator*, char**) = at(37);
  Status* (*CreateRunOptions)(RunOptions**) = at(39);
  Status* (*RunOptionsSetTerminate)(RunOptions*) = at(46);
  Status* (*RunOptionsUnsetTerminate)(RunOptions*) = at(47);
  Status* (*CreateTensorWithDataAsOrtValue)(const MemoryInfo*, void* data, size_t bytes,
                                            const int64_t* shape, size_t rank, Type,
                                            Value**) = at(49);
  Status* (*GetTensorMutableData)(Value*, void**) = at(51);
  Status* (*CastTypeInfoToTensorInfo)(const TypeInfo*, const TensorInfo**) = at(55);
  Status* (*GetTensorElementType)(const TensorInfo*, Type*) = at(60);
  Status* (*GetDimensionsCount)(const TensorInfo*, size_t*) = at(61);
  Status* (*GetDimensions)(const TensorInfo*, int64_t*, size_t) = at(62);
  Status* (*GetTensorTypeAndShape)(const Value*, TensorInfo**) = at(65);
  Status* (*CreateMemoryInfo)(const char* name, int allocator, int device, int memory,
                              MemoryInfo**) = at(68);
  Status* (*AllocatorFree)(Allocator*, void*) = at(76);
  Status* (*GetAllocatorWithDefaultOptions)(Allocator**) = at(78);
  void (*ReleaseMemoryInfo)(MemoryInfo*) = at(94);
  void (*ReleaseStatus)(Status*) = at(93);
  void (*ReleaseSession)(Session*) = at(95);
  void (*ReleaseValue)(Value*) = at(96);
  void (*ReleaseRunOptions)(RunOptions*) = at(97);
  void (*ReleaseTypeInfo)(TypeInfo*) = at(98);
  void (*ReleaseTensorTypeAndShapeInfo)(TensorInfo*) = at(99);
  void (*ReleaseSessionOptions)(SessionOptions*) = at(100);
  Status* (*SessionGetModelMetadata)(const Session*, ModelMetadata**) = at(111);
  Status* (*ModelMetadataLookupCustomMetadataMap)(const ModelMetadata*, Allocator*, const char* key,
                                                  char**) = at(116);
  void (*ReleaseModelMetadata)(ModelMetadata*) = at(118);
  Status* (*ModelMetadataGetCustomMetadataMapKeys)(const ModelMetadata*, Allocator*, char***,
                                                   int64_t*) = at(123);
  Status* (*GetAvailableProviders)(char***, int*) = at(125);
  Status* (*ReleaseAvailableProviders)(char**, int) = at(126);
  Status* (*RunWithBinding)(Session*, const RunOptions*, const IoBinding*) = at(133);
  Status* (*CreateIoBinding)(Session*, IoBinding**) = at(134);
  void (*ReleaseIoBinding)(IoBinding*) = at(135);
  Status* (*BindInput)(IoBinding*, const char*, const Value*) = at(136);
  Status* (*BindOutput)(IoBinding*, const char*, const Value*) = at(137);
  Status* (*BindOutputToDevice)(IoBinding*, const char*, const MemoryInfo*) = at(138);
  Status* (*GetBoundOutputValues)(const IoBinding*, Allocator*, Value***, size_t*) = at(140);
  Status* (*AddRunConfigEntry)(RunOptions*, const char* key, const char* value) = at(165);
  Status* (*SessionOptionsAppendExecutionProvider_CUDA_V2)(SessionOptions*,
                                                           const CudaOptions*) = at(204);
  Status* (*CreateCUDAProviderOptions)(CudaOptions**) = at(205);
  Status* (*UpdateCUDAProviderOptions)(CudaOptions*, const char* const* keys,
                                       const char* const* values, size_t) = at(206);
  void (*ReleaseCUDAProviderOptions)(CudaOptions*) = at(208);
  Status* (*SessionOptionsAppendExecutionProvider)(SessionOptions*, const char* name,
                                                   const char* const* keys,
                                                   const char* const* values, size_t) = at(216);
  Status* (*UpdateCUDAProviderOptionsWithValue)(CudaOptions*, const char* key,
                                                void* value) = at(263);

 private:
  LateFunction at(size_t place) const { return {table[place]}; }
};

}  // namespace keepbox::ort
