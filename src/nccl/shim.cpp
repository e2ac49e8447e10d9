#include "nccl/shim.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>

#include "base/bytes.h"

namespace crossrail::nccl {
namespace {

// The file is mapped as two segments: first what is read and executed, then what is written.
//
//   headers | symbols | texts | hash | relocations | code || dynamic section | word of the resolver | a word for each name
constexpr std::uint64_t kSegmentBytes = 0x10000;  // Both begin at a multiple of it, which is one of every size of pages.
constexpr std::uint32_t kResolver = 1, kShim = 2, kFirstName = 3;  // They are numbers of symbols.
constexpr std::size_t kProgramHeaders = 4;
constexpr std::size_t kEntryBytes = 16, kCodeBytes = 48;  // What a name's code begins with, and all of it.

class Shim {
 public:
  Shim(const ShimLibraries& libraries, const std::vector<std::string>& names) : names_(names), nccl_bytes_(libraries.nccl.size() + 1) {
    needed_ = text(libraries.crossrail);
    nccl_ = text(libraries.nccl);
    soname_ = text("libnccl.so.2");
    for (const char* const name : {"", "crossrail_nccl_resolve", "crossrail_nccl_shim"}) symbol_names_.push_back(text(name));
    for (const std::string& name : names) symbol_names_.push_back(text(name));
    lay_out();
    add_symbols();
    add_hash();
    add_relocations();
    add_code();
    add_dynamic_section();
    add_headers();
  }
  const std::vector<unsigned char>& bytes() const { return file_; }

 private:
  std::uint64_t text(const std::string& one) {
    const std::uint64_t at = texts_.size();
    texts_ += one;
    texts_ += '\0';
    return at;
  }
  std::size_t symbol_count() const { return symbol_names_.size(); }
  std::size_t relocation_count() const { return names_.size() + 1; }
  static std::size_t hash_words(std::size_t symbols) { return 2 + 2 * symbols; }
  std::uint64_t code_of(std::size_t name) const { return code_ + kCodeBytes * name; }
  std::uint64_t word_of(std::size_t name) const { return words_ + sizeof(std::uint64_t) * name; }

  void lay_out() {
    std::uint64_t end = sizeof(Elf64_Ehdr) + kProgramHeaders * sizeof(Elf64_Phdr);
    const auto place = [&end](std::uint64_t& at, std::uint64_t bytes) {
      at = round_up(end, kEntryBytes);
      end = at + bytes;
    };
    place(symbols_, symbol_count() * sizeof(Elf64_Sym));
    place(texts_at_, texts_.size());
    place(hash_, hash_words(symbol_count()) * sizeof(std::uint32_t));
    place(relocations_, relocation_count() * sizeof(Elf64_Rela));
    place(code_, kCodeBytes * names_.size());
    read_only_end_ = end;
    end = round_up(end, kSegmentBytes);
    place(dynamic_, kDynamicEntries * sizeof(Elf64_Dyn));
    place(resolver_, sizeof(std::uint64_t));
    place(words_, sizeof(std::uint64_t) * names_.size());
    file_.resize(end);
    std::memcpy(file_.data() + texts_at_, texts_.data(), texts_.size());
  }
  template <class Record>
  void put(std::uint64_t at, const Record& record) {
    std::memcpy(file_.data() + at, &record, sizeof record);
  }

  void add_symbol(std::size_t number, unsigned char type, std::uint64_t value, std::uint64_t bytes) {
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<Elf64_Word>(symbol_names_[number]);
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, type);
    symbol.st_shndx = value == 0 ? SHN_UNDEF : static_cast<Elf64_Section>(1);
    symbol.st_value = value;
    symbol.st_size = bytes;
    put(symbols_ + number * sizeof symbol, symbol);
  }
  void add_symbols() {
    add_symbol(kResolver, STT_FUNC, 0, 0);
    add_symbol(kShim, STT_OBJECT, texts_at_ + nccl_, nccl_bytes_);
    for (std::size_t name = 0; name < names_.size(); ++name) add_symbol(kFirstName + name, STT_FUNC, code_of(name), kCodeBytes);
  }

  static std::uint32_t hash_of(const char* name) {
    std::uint32_t hash = 0;
    for (; *name != '\0'; ++name) {
      hash = (hash << 4) + static_cast<unsigned char>(*name);
      const std::uint32_t high = hash & 0xf0000000u;
      hash = (hash ^ high >> 24) & ~high;
    }
    return hash;
  }
  // There are as many chains as symbols.
  void add_hash() {
    const std::size_t count = symbol_count();
    std::vector<std::uint32_t> words(hash_words(count));
    words[0] = words[1] = static_cast<std::uint32_t>(count);
    for (std::size_t number = kShim; number < count; ++number) {
      std::uint32_t& first = words[2 + hash_of(texts_.data() + symbol_names_[number]) % count];
      words[2 + count + number] = first;
      first = static_cast<std::uint32_t>(number);
    }
    std::memcpy(file_.data() + hash_, words.data(), words.size() * sizeof(std::uint32_t));
  }

  // A name's word first points to the second half of its code.
  void add_relocations() {
    std::uint64_t at = relocations_;
    const auto add = [&](const Elf64_Rela& one) {
      put(at, one);
      at += sizeof one;
    };
    add({resolver_, ELF64_R_INFO(static_cast<std::uint64_t>(kResolver), R_X86_64_GLOB_DAT), 0});
    for (std::size_t name = 0; name < names_.size(); ++name) {
      add({word_of(name), ELF64_R_INFO(0, R_X86_64_RELATIVE), static_cast<Elf64_Sxword>(code_of(name) + kEntryBytes)});
    }
  }

  // Writes an instruction that ends with the distance from its own end to `target`.
  void add_instruction(std::uint64_t& at, const std::vector<unsigned char>& begins, std::uint64_t target) {
    for (const unsigned char byte : begins) file_[at++] = byte;
    at += sizeof(std::int32_t);
    put(at - sizeof(std::int32_t), static_cast<std::int32_t>(static_cast<std::int64_t>(target - at)));
  }
  // What the resolver needs is in registers that carry no arguments: r10 has the name, r11 the address of its word, rax the path of NCCL.
  void add_code() {
    for (std::size_t name = 0; name < names_.size(); ++name) {
      std::uint64_t at = code_of(name);
      for (const unsigned char byte : {0xf3, 0x0f, 0x1e, 0xfa}) file_[at++] = byte;  // endbr64
      add_instruction(at, {0xff, 0x25}, word_of(name));                                // jmp *word(%rip)
      at = code_of(name) + kEntryBytes;
      for (const unsigned char byte : {0xf3, 0x0f, 0x1e, 0xfa}) file_[at++] = byte;
      add_instruction(at, {0x4c, 0x8d, 0x15}, texts_at_ + symbol_names_[kFirstName + name]);  // lea name(%rip), %r10
      add_instruction(at, {0x4c, 0x8d, 0x1d}, word_of(name));                                   // lea word(%rip), %r11
      add_instruction(at, {0x48, 0x8d, 0x05}, texts_at_ + nccl_);                               // lea nccl(%rip), %rax
      add_instruction(at, {0xff, 0x25}, resolver_);                                             // jmp *resolver(%rip)
    }
  }

  void add_dynamic_section() {
    const Elf64_Dyn entries[kDynamicEntries] = {
        {DT_NEEDED, {needed_}},       {DT_SONAME, {soname_}},
        {DT_HASH, {hash_}},           {DT_STRTAB, {texts_at_}},
        {DT_SYMTAB, {symbols_}},      {DT_STRSZ, {texts_.size()}},
        {DT_SYMENT, {sizeof(Elf64_Sym)}}, {DT_RELA, {relocations_}},
        {DT_RELASZ, {relocation_count() * sizeof(Elf64_Rela)}}, {DT_RELAENT, {sizeof(Elf64_Rela)}},
        {DT_NULL, {0}},
    };
    std::memcpy(file_.data() + dynamic_, entries, sizeof entries);
  }

  void add_headers() {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_DYN;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_phoff = sizeof header;
    header.e_ehsize = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = kProgramHeaders;
    put(0, header);
    const std::uint64_t written = round_up(read_only_end_, kSegmentBytes), written_bytes = file_.size() - written;
    const std::uint64_t dynamic_bytes = kDynamicEntries * sizeof(Elf64_Dyn);
    const Elf64_Phdr segments[kProgramHeaders] = {
        {PT_LOAD, PF_R | PF_X, 0, 0, 0, read_only_end_, read_only_end_, kSegmentBytes},
        {PT_LOAD, PF_R | PF_W, written, written, written, written_bytes, written_bytes, kSegmentBytes},
        {PT_DYNAMIC, PF_R | PF_W, dynamic_, dynamic_, dynamic_, dynamic_bytes, dynamic_bytes, sizeof(std::uint64_t)},
        {PT_GNU_STACK, PF_R | PF_W, 0, 0, 0, 0, 0, 16},
    };
    std::memcpy(file_.data() + sizeof header, segments, sizeof segments);
  }

  static constexpr std::size_t kDynamicEntries = 11;
  const std::vector<std::string>& names_;
  const std::size_t nccl_bytes_;
  std::string texts_ = std::string(1, '\0');
  std::vector<std::uint64_t> symbol_names_;  // They are offsets in the texts.
  std::uint64_t needed_ = 0, soname_ = 0, nccl_ = 0;
  std::uint64_t symbols_ = 0, texts_at_ = 0, hash_ = 0, relocations_ = 0, code_ = 0, read_only_end_ = 0, dynamic_ = 0, resolver_ = 0, words_ = 0;
  std::vector<unsigned char> file_;
};

}  // namespace

// Another process may write the same shim, or use it, at the same time.
Status write_shim(const std::string& path, const ShimLibraries& libraries, const std::vector<std::string>& names) {
#ifdef __x86_64__
  const Shim shim(libraries, names);
  const std::string fresh = path + "." + std::to_string(getpid());
  std::ofstream stream(fresh, std::ios::binary | std::ios::trunc);
  stream.write(reinterpret_cast<const char*>(shim.bytes().data()), static_cast<std::streamsize>(shim.bytes().size()));
  stream.close();
  const bool written = stream && chmod(fresh.c_str(), 0755) == 0 && std::rename(fresh.c_str(), path.c_str()) == 0;
  if (!written) (void)std::remove(fresh.c_str());
  return written ? Status{} : failure(Code::system, "cannot write %s", path.c_str());
#else
  (void)path, (void)libraries, (void)names;
  return failed(Code::unsupported, "programs that call NCCL are handled on x86-64 only");
#endif
}

}  // namespace crossrail::nccl
