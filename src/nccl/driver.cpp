#include "nccl/driver.h"

#include <dlfcn.h>

namespace crossrail::nccl {
namespace {

class Names {
 public:
  explicit Names(void* library) : library_(library) {}
  template <class Function>
  void find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library_, name));
    all_ = all_ && function != nullptr;
  }
  bool all_found() const { return all_; }

 private:
  void* library_;
  bool all_ = true;
};

// These versions of the functions have been there since CUDA 11.3, and drivers keep what they once had.
Driver find_driver() {
  Driver found;
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return found;
  Names names(library);
  names.find("cuEventCreate", found.create_event);
  names.find("cuEventDestroy_v2", found.destroy_event);
  names.find("cuEventRecord", found.record);
  names.find("cuStreamWaitEvent", found.wait);
  names.find("cuEventQuery", found.query);
  names.find("cuStreamIsCapturing", found.capturing);
  found.orders_streams = names.all_found();
  names.find("cuThreadExchangeStreamCaptureMode", found.capture_mode);
  names.find("cuStreamGetCaptureInfo_v2", found.capture_info);
  names.find("cuStreamUpdateCaptureDependencies", found.add_to_stream);
  names.find("cuGraphAddEventRecordNode", found.add_record_node);
  names.find("cuGraphAddDependencies", found.add_edges);
  names.find("cuGraphRemoveDependencies", found.remove_edges);
  names.find("cuGraphNodeGetDependencies", found.before);
  names.find("cuUserObjectCreate", found.create_object);
  names.find("cuUserObjectRelease", found.release_object);
  names.find("cuGraphRetainUserObject", found.retain_object);
  found.orders_captures = names.all_found();
  return found;
}

}  // namespace

const Driver& driver() {
  static const Driver known = find_driver();
  return known;
}

}  // namespace crossrail::nccl
