#include "device/loader_mark.h"

#include <dlfcn.h>

#include <string>
#include <thread>

namespace crossrail::device {
namespace {

// The mark is a library that is part of every glibc, for programs of the last century. It lies beside the library that has dlinfo, so that no
// folders are searched. If it does not exist there is no mark, and the loader is asked each time.
std::string path_of_mark() {
  constexpr const char* kMark = "libBrokenLocale.so.1";
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&dlinfo), &info) == 0 || info.dli_fname == nullptr) return kMark;
  const std::string path = info.dli_fname;
  return path.substr(0, path.rfind('/') + 1) + kMark;
}

// A mark that somebody else has loaded, too, would stay where it is in the list.
bool others_have(const char* library) {
  void* const theirs = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (theirs != nullptr) dlclose(theirs);
  return theirs != nullptr;
}

}  // namespace

void LoaderMark::drop() {
  mark_ = nullptr;
  while (readers_.load() != 0) std::this_thread::yield();
  if (library_ != nullptr) dlclose(library_);
  library_ = nullptr;
}

void LoaderMark::renew() {
  if (given_up_) return;
  drop();
  const std::string path = path_of_mark();
  link_map* mark = nullptr;
  if (!others_have(path.c_str())) library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  given_up_ = library_ == nullptr || dlinfo(library_, RTLD_DI_LINKMAP, &mark) != 0;
  mark_ = mark;
  (void)dlerror();  // The program must not find an error of ours.
}

}  // namespace crossrail::device
