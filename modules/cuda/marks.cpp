// Marks are images that are loaded to be unloaded, which waits until the device is idle.
#include "gpu.h"

#include <vector>

namespace gpu {

namespace {

// Returns a kernel that does nothing, translated once for the current device, so that loading it is quick.
std::vector<char> make_nothing() {
  char text[] = ".version 6.0\n.target sm_70\n.address_size 64\n.visible .entry mark()\n{\n  ret;\n}\n";
  std::vector<char> image(text, text + sizeof text);
  CUlinkState link{};
  if (driver().begin_link(0, nullptr, nullptr, &link) != kSuccess) return image;
  void* made = nullptr;
  size_t bytes = 0;
  if (driver().add_to_link(link, CU_JIT_INPUT_PTX, text, sizeof text, "mark", 0, nullptr, nullptr) == kSuccess &&
      driver().complete_link(link, &made, &bytes) == kSuccess) {
    image.assign(static_cast<char*>(made), static_cast<char*>(made) + bytes);
  }
  (void)driver().end_link(link);
  return image;
}

}  // namespace

bool make_marks(Marks& marks) {
  constexpr size_t kMarks = 16;
  if (!driver().unload_image) return false;
  if (marks.image.empty()) marks.image = make_nothing();
  while (marks.loaded.size() < kMarks) {
    Image mark{};
    if (driver().load_image(&mark, marks.image.data()) != kSuccess) break;
    marks.loaded.push_back(mark);
  }
  return !marks.loaded.empty();
}

void await_idle(Marks& marks) {
  if (marks.loaded.empty()) return;
  (void)driver().unload_image(marks.loaded.back());
  marks.loaded.pop_back();
}

}  // namespace gpu
