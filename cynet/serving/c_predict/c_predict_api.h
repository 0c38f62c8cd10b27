/* The predict API of MXNet 1.9.1 in C, by cynet: programs that include it compile unchanged.
 *
 * `python -m cynet.tools.c_predict FOLDER` makes libcynet_predict.so beside a copy of this file.
 * Each function returns 0, or -1 where MXGetLastError has a sentence. Numbers are float32. A handle
 * serves one thread at a time; several handles may compute at once.
 */
#ifndef CYNET_C_PREDICT_API_H_
#define CYNET_C_PREDICT_API_H_

#ifdef __cplusplus
extern "C" {
#endif

#define MXNET_DLL __attribute__((visibility("default")))

typedef unsigned int mx_uint;
typedef float mx_float;
typedef void* PredictorHandle;
typedef void* NDListHandle;

/* What the last call of this thread that failed was about. */
MXNET_DLL const char* MXGetLastError(void);

/* A network of its JSON and the bytes of a .params file, which may be freed behind the call.
 * dev_type is 1 for the CPU, 2 for GPUs. Input i is called input_keys[i], and its shape is
 * input_shape_data[input_shape_indptr[i]] up to, but without, input_shape_data[input_shape_indptr[i
 * + 1]]. Labels need none. */
MXNET_DLL int MXPredCreate(const char* symbol_json_str, const void* param_bytes, int param_size,
                           int dev_type, int dev_id, mx_uint num_input_nodes,
                           const char** input_keys, const mx_uint* input_shape_indptr,
                           const mx_uint* input_shape_data, PredictorHandle* out);

/* MXPredCreate whose outputs are inner layers, by the names in output_keys. */
MXNET_DLL int MXPredCreatePartialOut(const char* symbol_json_str, const void* param_bytes,
                                     int param_size, int dev_type, int dev_id,
                                     mx_uint num_input_nodes, const char** input_keys,
                                     const mx_uint* input_shape_indptr,
                                     const mx_uint* input_shape_data, mx_uint num_output_nodes,
                                     const char** output_keys, PredictorHandle* out);

/* Another handle for inputs of other shapes, which shares the parameters; both have to be freed. */
MXNET_DLL int MXPredReshape(mx_uint num_input_nodes, const char** input_keys,
                            const mx_uint* input_shape_indptr, const mx_uint* input_shape_data,
                            PredictorHandle handle, PredictorHandle* out);

/* The shape of an output; shape_data is the handle's, until its next such call. */
MXNET_DLL int MXPredGetOutputShape(PredictorHandle handle, mx_uint index, mx_uint** shape_data,
                                   mx_uint* shape_ndim);

/* Copy `size` numbers into an input. */
MXNET_DLL int MXPredSetInput(PredictorHandle handle, const char* key, const mx_float* data,
                             mx_uint size);

/* Compute. */
MXNET_DLL int MXPredForward(PredictorHandle handle);

/* Copy an output of `size` numbers to data. */
MXNET_DLL int MXPredGetOutput(PredictorHandle handle, mx_uint index, mx_float* data, mx_uint size);

MXNET_DLL int MXPredFree(PredictorHandle handle);

/* The arrays of a .params file, such as the mean of images. */
MXNET_DLL int MXNDListCreate(const char* nd_file_bytes, int nd_file_size, NDListHandle* out,
                             mx_uint* out_length);

/* Name, values and shape of one array; the handle owns them until it is freed. */
MXNET_DLL int MXNDListGet(NDListHandle handle, mx_uint index, const char** out_key,
                          const mx_float** out_data, const mx_uint** out_shape, mx_uint* out_ndim);

MXNET_DLL int MXNDListFree(NDListHandle handle);

#ifdef __cplusplus
}
#endif
#endif
