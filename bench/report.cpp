#include "report.h"

#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <map>

#include "device_memory.h"
#include "hosts.h"

namespace bench {
namespace {

int usable_cores() {
  cpu_set_t cores;
  return sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
}

std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  text[std::strcspn(text, ",\n")] = '\0';
  std::string version;
  for (const char* at = text; *at != '\0'; ++at) version += *at == '\t' || *at == '"' ? ' ' : *at;
  return version;
}

constexpr const char* kPartNames[kParts] = {"pure", "start", "wait", "compute", "total", "exposed", "blocking"};

std::string json_of(const char* name, const Spread& spread, const char* unit) {
  char text[200];
  std::snprintf(text, sizeof text, ",\"%s\":{\"p25_%s\":%.3f,\"p50_%s\":%.3f,\"p75_%s\":%.3f}", name, unit, spread.p25, unit, spread.p50, unit,
                spread.p75);
  return text;
}

// Returns the additional results of a call that has parts.
std::string json_of(const Overlap& overlap, Form form) {
  std::string text;
  for (int part = 0; part < kParts; ++part) text += json_of(kPartNames[part], overlap.us[part], "us");
  text += json_of("overlap", overlap.percent, "percent");
  char numbers[100];
  std::snprintf(numbers, sizeof numbers, ",\"work_us\":%.3f", overlap.work_us);
  text += numbers;
  std::snprintf(numbers, sizeof numbers, ",\"init_us\":%.3f", overlap.init_us);
  return form == Form::persistent ? text + numbers : text;
}

std::string json_of(const Row& row, Form form) {
  char text[700], interval[100] = "";
  if (row.times.high_us > 0) std::snprintf(interval, sizeof interval, "\"p50_low_us\":%.3f,\"p50_high_us\":%.3f,", row.times.low_us, row.times.high_us);
  std::snprintf(text, sizeof text,
                ",\"repetitions\":%d,\"min_us\":%.3f,\"mean_us\":%.3f,\"p50_us\":%.3f,%s\"p99_us\":%.3f,\"max_us\":%.3f,\"gb_s\":%.4f,\"wrong\":%llu%s%s",
                row.repetitions, row.times.min_us, row.times.mean_us, row.times.p50_us, interval, row.times.p99_us, row.times.max_us,
                row.bandwidth * 1e-9, static_cast<unsigned long long>(row.wrong), row.checked ? "" : ",\"checked\":false",
                row.wanted ? "" : ",\"not_run\":true");
  return "{\"bytes\":" + std::to_string(row.bytes) + ",\"contender\":\"" + row.contender + "\",\"algorithm\":\"" + row.algorithm + "\"" + text +
         (row.processes > 0 ? ",\"processes\":" + std::to_string(row.processes) : "") + (row.overlap ? json_of(*row.overlap, form) : "") + "}";
}

}  // namespace

Report::Report(const std::string& name, const Options& options, int rank)
    : name_(name), options_(options), rank_(rank) {
  MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  std::map<int, int> ranks_on;
  for (const int first : first_on_host()) ++ranks_on[first];
  nodes_ = static_cast<int>(ranks_on.size());
  for (const auto& [node, count] : ranks_on) largest_node_ = std::max(largest_node_, count);
  if (rank_ == 0) {
    const std::string device = device::facts().model;
    const std::string datatype = options_.datatype == kContiguous ? "" : ", datatype " + options_.datatype;
    const std::string more = std::string(options_.slices ? ", slices of one allocation" : "") + (options_.beside ? ", beside a kernel" : "");
    std::printf("# %s, %d ranks on %d hosts, %s%s%s%s%s\n", name_.c_str(), ranks_, nodes_, mpi_version().c_str(), datatype.c_str(),
                device.empty() ? "" : ", memory of ", device.c_str(), more.c_str());
    std::printf("%10s %-17s %-17s %11s %10s %10s %10s %10s %9s %s\n", "bytes", "contender", "algorithm", "repetitions", "min us", "p50 us", "p99 us", "max us", "GB/s", "checked");
    if (options_.form != Form::blocking) std::printf("# microseconds are medians: of start directly followed by wait, and below them of the parts\n");
  }
}

void Report::add(const Row& row) {
  rows_.push_back(row);
  if (rank_ != 0) return;
  std::printf("%10zu %-17s %-17s %11d %10.2f %10.2f %10.2f %10.2f %9.3f %s\n", row.bytes, row.contender.c_str(), row.algorithm.c_str(),
              row.repetitions, row.times.min_us, row.times.p50_us, row.times.p99_us, row.times.max_us, row.bandwidth * 1e-9,
              row.wrong != 0 ? "WRONG" : !row.wanted ? "NOT RUN" : row.checked ? "ok" : "unchecked");
  if (row.overlap) {
    const Overlap& one = *row.overlap;
    std::printf("%28s start %.2f  wait %.2f  compute %.2f  total %.2f  overlap %.0f %%  blocking %.2f\n", "", one.us[kStart].p50, one.us[kWait].p50,
                one.us[kCompute].p50, one.us[kTotal].p50, one.percent.p50, one.us[kBlocking].p50);
  }
  std::fflush(stdout);
}

void Report::cut_short(std::size_t bytes) {
  cut_short_at_ = bytes;
  if (rank_ == 0) std::printf("# the time is over: blocks of %zu bytes and more were not measured\n", bytes);
}

// Returns what is added if the buffers are on a device.
std::string Report::memory() const {
  if (options_.memory == Memory::host) return "\"memory\":\"host\",";
  const device::Facts facts = device::facts();
  return "\"memory\":\"cuda\",\"device\":\"" + facts.model + "\",\"driver\":\"" + facts.driver + "\",\"cuda\":\"" + facts.cuda + "\",";
}

std::string Report::header() const {
  const int cores = usable_cores();
  const std::string tests = options_.form == Form::blocking ? "" : "\"tests\":" + std::to_string(options_.tests) + ",";
  const std::string buffers = std::string(options_.in_place ? "\"in_place\":true," : "") + (options_.off_cache ? "\"off_cache\":true," : "") +
                              (options_.fresh ? "\"fresh\":true," : "") + (options_.slices ? "\"slices\":true," : "") +
                              (options_.beside ? "\"beside\":true," : "") + (options_.counts == Counts::zipf ? "\"counts\":\"zipf\"," : "");
  char text[2048];
  std::snprintf(text, sizeof text,
                "{\"collective\":\"%s\",\"mpi\":\"%s\",\"flavour\":\"%s\",\"ranks\":%d,\"nodes\":%d,\"ranks_per_node\":%d,"
                "%s\"cores\":%ld,\"oversubscribed\":%s,\"checked\":true,\"rotating_buffers\":%d,\"empty_percent\":%d,\"datatype\":\"%s\","
                "\"cut_short_at_bytes\":%zu,%s\"results\":[",
                name_.c_str(), mpi_version().c_str(), BENCH_FLAVOUR, ranks_, nodes_, largest_node_, memory().c_str(),
                sysconf(_SC_NPROCESSORS_ONLN), largest_node_ > sysconf(_SC_NPROCESSORS_ONLN) || cores < 1 ? "true" : "false",
                options_.buffers, options_.empty_percent, options_.datatype.c_str(), cut_short_at_, (tests + buffers).c_str());
  return text;
}

bool Report::write(bool finished) const {
  // It is renamed when it is complete, so a bench that is stopped leaves the earlier sizes.
  const std::string part = options_.output + ".part";
  std::FILE* file = std::fopen(part.c_str(), "w");
  if (file == nullptr) {
    std::fprintf(stderr, "bench: cannot write %s\n", part.c_str());
    return false;
  }
  std::fputs(header().c_str(), file);
  const char* comma = "\n";
  for (const Row& row : rows_) {
    std::fprintf(file, "%s%s", comma, json_of(row, options_.form).c_str());
    comma = ",\n";
  }
  std::fputs(finished ? "]}\n" : "],\"unfinished\":true}\n", file);
  const bool closed = std::fclose(file) == 0;
  return closed && std::rename(part.c_str(), options_.output.c_str()) == 0;
}

void Report::keep() const {
  if (rank_ == 0 && !options_.output.empty()) write(false);
}

bool Report::finish() {
  bool right = true;
  for (const Row& row : rows_) right = right && row.wrong == 0;
  if (rank_ != 0 || options_.output.empty()) return right;
  return write(true) && right;
}

}  // namespace bench
