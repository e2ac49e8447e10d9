// This file reads which functions a shared library exports.

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "nccl/shim.h"

namespace crossrail::nccl {
namespace {

using Bytes = std::span<const char>;

// NCCL has hundreds of megabytes, of which few are read.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat facts {};
    if (descriptor < 0 || fstat(descriptor, &facts) != 0) return;
    bytes_ = static_cast<std::size_t>(facts.st_size);
    if (bytes_ > 0) memory_ = mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, descriptor, 0);
    ::close(descriptor);
  }
  ~MappedFile() {
    if (is_there()) (void)munmap(memory_, bytes_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  bool is_there() const { return memory_ != MAP_FAILED; }
  Bytes bytes() const { return {static_cast<const char*>(memory_), bytes_}; }

 private:
  void* memory_ = MAP_FAILED;
  std::size_t bytes_ = 0;
};

// Copies a record out of the file. Returns false if the file ends before it.
template <class Record>
bool read(Bytes file, std::uint64_t at, Record& record) {
  if (at > file.size() || file.size() - at < sizeof record) return false;
  std::memcpy(&record, file.data() + at, sizeof record);
  return true;
}

bool read_section(Bytes file, const Elf64_Ehdr& header, std::uint64_t number, Elf64_Shdr& section) {
  return number < header.e_shnum && read(file, header.e_shoff + number * sizeof section, section);
}

bool is_exported_function(const Elf64_Sym& symbol) {
  const auto binding = ELF64_ST_BIND(symbol.st_info), type = ELF64_ST_TYPE(symbol.st_info);
  return symbol.st_shndx != SHN_UNDEF && (binding == STB_GLOBAL || binding == STB_WEAK) && (type == STT_FUNC || type == STT_GNU_IFUNC) &&
         ELF64_ST_VISIBILITY(symbol.st_other) == STV_DEFAULT;
}

std::string text_at(Bytes file, std::uint64_t at) {
  if (at >= file.size()) return {};
  const char* const begin = file.data() + at;
  return {begin, strnlen(begin, file.size() - at)};
}

void add_names(Bytes file, const Elf64_Shdr& symbols, const Elf64_Shdr& texts, std::vector<std::string>& names) {
  Elf64_Sym symbol;
  for (std::uint64_t at = 0; at + sizeof symbol <= symbols.sh_size; at += sizeof symbol) {
    if (!read(file, symbols.sh_offset + at, symbol) || !is_exported_function(symbol)) continue;
    const std::string name = text_at(file, texts.sh_offset + symbol.st_name);
    if (!name.empty()) names.push_back(name);
  }
}

}  // namespace

Status read_names(const std::string& path, std::vector<std::string>& names) {
  const MappedFile mapped(path);
  if (!mapped.is_there()) return failure(Code::system, "cannot read %s", path.c_str());
  const Bytes file = mapped.bytes();
  Elf64_Ehdr header;
  if (!read(file, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) {
    return failure(Code::invalid, "%s is no shared library of 64 bits", path.c_str());
  }
  for (std::uint64_t number = 0; number < header.e_shnum; ++number) {
    Elf64_Shdr section, texts;
    if (!read_section(file, header, number, section) || section.sh_type != SHT_DYNSYM) continue;
    if (read_section(file, header, section.sh_link, texts)) add_names(file, section, texts, names);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names.empty() ? failure(Code::invalid, "%s exports no functions", path.c_str()) : Status{};
}

}  // namespace crossrail::nccl
