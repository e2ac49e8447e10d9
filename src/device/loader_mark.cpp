#include "device/loader_mark.h"

#include <dlfcn.h>

#include <thread>

namespace crossrail::device {
namespace {

// A part of every glibc, for programs of the last century. Where there is none there is no mark, and the loader is asked each time.
constexpr const char* kMark = "libBrokenLocale.so.1";

// A mark that somebody else has loaded, too, would stay where it is in the list.
bool others_have_it() {
  void* const theirs = dlopen(kMark, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
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
  drop();
  given_up_ = given_up_ || others_have_it();
  if (given_up_) return;
  library_ = dlopen(kMark, RTLD_NOW | RTLD_LOCAL);
  link_map* mark = nullptr;
  given_up_ = library_ == nullptr || dlinfo(library_, RTLD_DI_LINKMAP, &mark) != 0;
  mark_ = mark;
}

}  // namespace crossrail::device
