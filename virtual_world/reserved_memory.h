// ReservedMemory is a mapping of zeros, of which only what is touched becomes memory.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <utility>

namespace crossrail::virtual_world {

class ReservedMemory {
 public:
  ReservedMemory() = default;
  // `data()` is null if the address space is spent.
  explicit ReservedMemory(std::size_t bytes) : bytes_(bytes > 0 ? bytes : 1) {
    void* const mapped = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    data_ = mapped == MAP_FAILED ? nullptr : static_cast<std::byte*>(mapped);
  }
  ReservedMemory(ReservedMemory&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  ReservedMemory& operator=(ReservedMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~ReservedMemory() {
    if (data_ != nullptr) (void)munmap(data_, bytes_);
  }
  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  bool has(const void* address) const {
    const auto* const at = static_cast<const std::byte*>(address);
    return at >= data_ && at < data_ + bytes_;
  }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace crossrail::virtual_world
