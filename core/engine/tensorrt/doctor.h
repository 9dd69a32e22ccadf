#ifndef TRTSCOPE_CORE_ENGINE_TENSORRT_DOCTOR_H_
#define TRTSCOPE_CORE_ENGINE_TENSORRT_DOCTOR_H_

/* What this machine can run: the data behind `trtscope doctor`. */

#ifdef __cplusplus
extern "C" {
#endif

/* JSON, to be freed with trtscope_free:
 *   cuda.driver    {path, version} of the driver's library, or {error}
 *   cuda.runtime   {path, version} of a CUDA runtime library, or {error}; trtscope needs none
 *   cuda.devices   [{index, name, sm, memory_octets}], or [{index, error}]
 *   tensorrt       [{path, origin, flavour, version, family, runs}], or [{path, ..., error}], in
 *                  the order in which they are asked
 *   searched       [folder]: where libraries were looked for
 *   error          only if a place that was named on purpose holds no library
 * Opens every library found, which may take seconds and stays open.  Never null.  Thread-safe. */
__attribute__((visibility("default"))) char* trtscope_doctor_json(void);

#ifdef __cplusplus
}
#endif

#endif /* TRTSCOPE_CORE_ENGINE_TENSORRT_DOCTOR_H_ */
