#include "mpi/tool_variables/indices.h"

#include <algorithm>

namespace crossrail::mpi {

int Indices::ask(int& code) {
  int native = 0, unknown = -1;
  const InNextCall inside;
  code = static_cast<int>(next_(reinterpret_cast<Word64>(&native)));
  if (code == 0) first_own_.compare_exchange_strong(unknown, native);
  return native;
}

int Indices::number(int& code) {
  const int native = ask(code);
  return code == 0 ? std::max(native, first_own_.load()) + tool_variable_count(kind_) : 0;
}

Indices::Place Indices::find(int index) {
  Place place;
  const int all = number(place.code);
  if (place.code != 0) return place;
  const int own = first_own_.load(), count = tool_variable_count(kind_);
  if (index < 0 || index >= all) place.code = no_such_index();
  place.ours = index >= own && index < own + count;
  place.index = index < own ? index : place.ours ? index - own : index - count;
  return place;
}

int Indices::of_native(int index) const { return index < first_own_.load() ? index : index + tool_variable_count(kind_); }

Indices& indices(ToolKind kind) {
  static Indices control(ToolKind::control, "MPI_T_cvar_get_num");
  static Indices performance(ToolKind::performance, "MPI_T_pvar_get_num");
  static Indices category(ToolKind::category, "MPI_T_category_get_num");
  return kind == ToolKind::control ? control : kind == ToolKind::performance ? performance : category;
}

}  // namespace crossrail::mpi
