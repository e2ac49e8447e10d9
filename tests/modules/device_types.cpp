// The program tests datatypes of many forms on device memory, on either side and in place. Results are compared with the definition: one send and one
// receive of host memory between every two ranks. Gaps must stay untouched.

#include "device_exchange.h"

namespace {

using namespace device_test;

constexpr int kTwelve = 12;  // An element of most forms has so many units.

struct Unit {
  const char* name;
  MPI_Datatype type;
};

enum class Form { plain, contiguous, vector, subarray, indexed, backwards, structure, resized };
constexpr Form kForms[] = {Form::plain,   Form::contiguous, Form::vector,    Form::subarray,
                           Form::indexed, Form::backwards,  Form::structure, Form::resized};
constexpr const char* kFormNames[] = {"plain",   "contiguous", "vector", "subarray",
                                      "indexed", "backwards",  "struct", "resized"};
constexpr int kFormCount = static_cast<int>(std::size(kForms));

const char* name_of_form(Form form) { return kFormNames[static_cast<int>(form)]; }

// This is of mixed basic types with a gap inside and a gap behind.
MPI_Datatype make_mixed() {
  int lengths[] = {1, 3, 5};
  MPI_Aint places[] = {0, 8, 24};
  MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT, MPI_CHAR};
  MPI_Datatype packed, made;
  MPI_Type_create_struct(3, lengths, places, types, &packed);
  MPI_Type_create_resized(packed, 0, 32, &made);
  MPI_Type_free(&packed);
  MPI_Type_commit(&made);
  return made;
}

MPI_Aint extent_of(MPI_Datatype type) {
  MPI_Aint lower = 0, extent = 0;
  MPI_Type_get_extent(type, &lower, &extent);
  return extent;
}

MPI_Datatype make_struct(MPI_Datatype unit, const MPI_Aint (&in_units)[3], const int (&lengths)[3]) {
  const MPI_Datatype types[] = {unit, unit, unit};
  MPI_Aint places[3];
  for (int i = 0; i < 3; ++i) places[i] = in_units[i] * extent_of(unit);
  MPI_Datatype made;
  MPI_Type_create_struct(3, lengths, places, types, &made);
  return made;
}

// Makes a type that holds twelve units, or one unit where it is plain or resized.
MPI_Datatype make_type(Form form, MPI_Datatype unit) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  const int whole[] = {4, 5, 6}, part[] = {3, 2, 2}, begin[] = {1, 2, 3};
  const int lengths[] = {5, 1, 6}, places[] = {0, 7, 11}, falling[] = {12, 8, 1};
  switch (form) {
    case Form::plain:
      MPI_Type_dup(unit, &made);
      break;
    case Form::contiguous:
      MPI_Type_contiguous(kTwelve, unit, &made);
      break;
    case Form::vector:
      MPI_Type_vector(6, 2, 3, unit, &made);
      break;
    case Form::subarray:
      MPI_Type_create_subarray(3, whole, part, begin, MPI_ORDER_C, unit, &made);
      break;
    case Form::indexed:
      MPI_Type_indexed(3, lengths, places, unit, &made);
      break;
    case Form::backwards:
      MPI_Type_indexed(3, lengths, falling, unit, &made);
      break;
    case Form::structure:
      made = make_struct(unit, {0, 3, 9}, {2, 4, 6});
      break;
    case Form::resized:
      MPI_Type_create_resized(unit, 0, 2 * extent_of(unit), &made);
      break;
  }
  MPI_Type_commit(&made);
  return made;
}

// A side has `elements` of twelve units for every rank, in device memory.
struct Side {
  Side(Form form_wanted, MPI_Datatype unit, int elements, Kind kind)
      : form(form_wanted),
        type(make_type(form, unit)),
        count(form == Form::plain || form == Form::resized ? elements * kTwelve : elements),
        extent(extent_of(type)),
        area(reach(), kind, 0) {}
  ~Side() { MPI_Type_free(&type); }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;
  // The last element may end behind the sum of the extents.
  std::size_t reach() const {
    MPI_Aint lower = 0, true_extent = 0;
    MPI_Type_get_true_extent(type, &lower, &true_extent);
    const MPI_Aint blocks = static_cast<MPI_Aint>(count) * size * extent;
    return static_cast<std::size_t>(count == 0 ? 0 : std::max(blocks, blocks - extent + lower + true_extent));
  }
  MPI_Aint block_at(int peer) const { return static_cast<MPI_Aint>(peer) * count * extent; }
  Form form;
  MPI_Datatype type;
  int count;
  MPI_Aint extent;
  Area area;
};

// Computes by messages what the receive buffer must hold.
void define(const unsigned char* from, const Side& send, unsigned char* to, const Side& recv) {
  std::vector<MPI_Request> requests(2 * static_cast<std::size_t>(size));
  for (int peer = 0; peer < size; ++peer) {
    MPI_Irecv(to + recv.block_at(peer), recv.count, recv.type, peer, 5, MPI_COMM_WORLD, &requests[2 * peer]);
    MPI_Isend(from + send.block_at(peer), send.count, send.type, peer, 5, MPI_COMM_WORLD, &requests[2 * peer + 1]);
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

std::uint64_t rounds;

void check(const Area& area, const char* which, const std::string& what) {
  std::size_t first = 0;
  if (const std::size_t bytes = area.wrong_bytes(first); bytes > 0) {
    complain("%s: %zu bytes wrong in the %s buffer, from %ld, by %s", what.c_str(), bytes, which,
             static_cast<long>(first) - static_cast<long>(area.before), last_algorithm());
  }
}

void exchange(Side& send, Side& recv, const Unit& unit) {
  send.area.poison(mix(++rounds) + static_cast<unsigned>(rank));
  recv.area.poison(mix(++rounds) + static_cast<unsigned>(rank));
  send.area.write();
  recv.area.write();
  define(send.area.block(0), send, recv.area.block(0), recv);
  const int code = MPI_Alltoall(send.area.buffer(), send.count, send.type, recv.area.buffer(), recv.count, recv.type,
                                MPI_COMM_WORLD);
  const std::string what = std::string(unit.name) + ": " + std::to_string(send.count) + " " + name_of_form(send.form) +
                           " to " + std::to_string(recv.count) + " " + name_of_form(recv.form);
  if (code != MPI_SUCCESS) complain("%s: error %d", what.c_str(), code);
  check(send.area, "send", what);
  check(recv.area, "receive", what);
}

void exchange_in_place(Side& recv, const Unit& unit) {
  recv.area.poison(mix(++rounds) + static_cast<unsigned>(rank));
  recv.area.write();
  const std::vector<unsigned char> from(recv.area.image);
  define(from.data() + recv.area.before, recv, recv.area.block(0), recv);
  const int code =
      MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, recv.area.buffer(), recv.count, recv.type, MPI_COMM_WORLD);
  const std::string what =
      std::string(unit.name) + ": in place, " + std::to_string(recv.count) + " " + name_of_form(recv.form);
  if (code != MPI_SUCCESS) complain("%s: error %d", what.c_str(), code);
  check(recv.area, "receive", what);
}

// The form may differ between ranks, too, as long as the units are the same.
Form form_at(int index) { return kForms[index % kFormCount]; }

void run_unit(const Unit& unit, int elements, int stride) {
  constexpr Kind kUsed[] = {Kind::device, Kind::device, Kind::pool_default, Kind::chunks, Kind::managed, Kind::host};
  const auto used = [&](int index) { return kUsed[static_cast<std::size_t>(index) % std::size(kUsed)]; };
  for (int i = 0; i < kFormCount; ++i) {
    for (int j = i % stride; j < kFormCount; j += stride) {
      Side send(form_at(i), unit.type, elements, used(i + j)), recv(form_at(j), unit.type, elements, Kind::device);
      exchange(send, recv, unit);
      exchange(send, recv, unit);
      Side own(form_at(i + rank), unit.type, elements, Kind::device),
          other(form_at(j + 3 * rank), unit.type, elements, used(j));
      exchange(own, other, unit);
    }
    Side alone(form_at(i), unit.type, elements, Kind::device);
    exchange_in_place(alone, unit);
    Side own(form_at(i + rank), unit.type, elements, used(i));
    exchange_in_place(own, unit);
  }
  if (rank == 0) std::printf("%s, %d units a block: last by %s\n", unit.name, elements * kTwelve, last_algorithm());
}

}  // namespace

int main(int argc, char** argv) {
  if (!start(&argc, &argv)) return kSkip;
  MPI_Datatype mixed = make_mixed();
  const Unit units[] = {{"MPI_DOUBLE_COMPLEX", MPI_DOUBLE_COMPLEX},
                        {"MPI_C_DOUBLE_COMPLEX", MPI_C_DOUBLE_COMPLEX},
                        {"MPI_INT", MPI_INT},
                        {"MPI_CHAR", MPI_CHAR},
                        {"mixed", mixed}};
  for (const Unit& unit : units) {
    int bytes = 0;
    if (MPI_Type_size(unit.type, &bytes) != MPI_SUCCESS || bytes == 0) continue;  // This is an MPI without Fortran.
    run_unit(unit, 1, 1);
    run_unit(unit, 37, 1);
    run_unit(unit, 1000, 3);
    if (bytes == 16) run_unit(unit, 3000, 7);
  }
  run_unit(units[2], 0, 4);
  MPI_Type_free(&mixed);
  return finish("device_types");
}
