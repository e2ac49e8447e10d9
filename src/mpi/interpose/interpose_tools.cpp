// This file defines MPI_T's functions in C: our variables stand beside those of the MPI library, which go on as they are except that their
// indices come after ours. Like interpose_c.cpp, it does not include mpi.h. Other parts of MPI_T (enumerations, events, sessions) are not
// touched.

#include <algorithm>
#include <vector>

#include "mpi/library/next_call.h"
#include "mpi/words/parameter_lists.h"
#include "mpi/tool_variables/indices.h"
#include "mpi/tool_variables/tool_variables.h"

#define CROSSRAIL_EXPORT extern "C" __attribute__((visibility("default")))

namespace crossrail::mpi {
namespace {

bool is_passed_on(const NextCall& next) { return next.is_nested() || !tool_variables_shown(); }

template <class... Words>
Word64 pass(NextCall& next, Words... words) {
  const InNextCall inside;
  return next(words...);
}

const char* text_at(Word64 address) { return reinterpret_cast<const char*>(address); }

Word64 number(NextCall& next, ToolKind kind, Word64 number_address) {
  if (is_passed_on(next) || number_address == 0) return next(number_address);
  int code = 0;
  const int all = indices(kind).number(code);
  if (code == 0) *reinterpret_cast<int*>(number_address) = all;
  return code;
}

// Our variable number `which` has the name, or none of ours has.
template <class... Words>
Word64 index_of(NextCall& next, ToolKind kind, int which, int* index, Words... words) {
  int code = 0;
  (void)indices(kind).number(code);
  if (code != 0) return code;
  if (which >= 0) {
    *index = indices(kind).of_ours(which);
    return 0;
  }
  const Word64 its = pass(next, words...);
  if (static_cast<int>(its) == 0) *index = indices(kind).of_native(*index);
  return its;
}

// Word `at` is an index. `ours` answers for an index of ours, and gets the words that follow it.
template <std::size_t at, class Ours, class... Words>
Word64 by_index(NextCall& next, ToolKind kind, Ours ours, Words... given) {
  Word64 words[] = {given...};
  if (is_passed_on(next)) return next(given...);
  const Indices::Place place = indices(kind).find(static_cast<int>(words[at]));
  if (place.code != 0) return place.code;
  if (place.ours) return ours(place.index, words + at + 1);
  words[at] = place.index;
  const auto call = [&next](auto... changed) { return pass(next, changed...); };
  return [&]<std::size_t... one>(std::index_sequence<one...>) { return call(words[one]...); }(std::make_index_sequence<sizeof...(Words)>());
}

int describe_our_category(int, const Word64* words) { return describe_category(words); }

[[maybe_unused]] int no_events(int, const Word64* words) {
  if (words[0] != 0) *reinterpret_cast<int*>(words[0]) = 0;
  return 0;
}
int nothing_listed(int, const Word64*) { return 0; }

template <ToolKind kind>
int list_ours(int, const Word64* words) {
  int code = 0;
  (void)indices(kind).number(code);
  const int most = std::min(static_cast<int>(words[0]), tool_variable_count(kind));
  for (int which = 0; code == 0 && words[1] != 0 && which < most; ++which) reinterpret_cast<int*>(words[1])[which] = indices(kind).of_ours(which);
  return code;
}

// Lists the indices of this kind in a category.
template <ToolKind kind, class Ours>
Word64 list(NextCall& next, Ours ours, Word64 category, Word64 length_word, Word64 listed_at) {
  const int length = static_cast<int>(length_word);
  if (is_passed_on(next)) return next(category, length_word, listed_at);
  std::vector<int> native(static_cast<std::size_t>(std::max(length, 0)) + 1, -1);
  Word64 words[] = {category, length_word, listed_at == 0 ? 0 : reinterpret_cast<Word64>(native.data())};
  const Indices::Place place = indices(ToolKind::category).find(static_cast<int>(category));
  if (place.ours) return by_index<0>(next, ToolKind::category, ours, category, length_word, listed_at);
  const Word64 code = by_index<0>(next, ToolKind::category, ours, words[0], words[1], words[2]);
  int known = 0;
  (void)indices(kind).number(known);
  for (int one = 0; listed_at != 0 && static_cast<int>(code) == 0 && known == 0 && one < length; ++one) {
    const int index = native[static_cast<std::size_t>(one)];
    if (index >= 0) reinterpret_cast<int*>(listed_at)[one] = indices(kind).of_native(index);
  }
  return code;
}

// The handle belongs to our variable number `which`, or to the MPI library.
template <class Ours, class... Words>
Word64 by_handle(NextCall& next, int which, Ours ours, Words... words) {
  if (is_passed_on(next)) return next(words...);
  return which >= 0 ? Word64{ours(which)} : pass(next, words...);
}

Word64 handle_at(Word64 address) { return address == 0 ? 0 : *reinterpret_cast<const Word64*>(address); }

}  // namespace
}  // namespace crossrail::mpi

using crossrail::mpi::Word64;

#define TOOL_AS(symbol, words, ...)                        \
  CROSSRAIL_EXPORT Word64 symbol(WORDS_##words) {          \
    using namespace crossrail::mpi;                        \
    static NextCall next(#symbol);                         \
    return __VA_ARGS__;                                    \
  }
#define TOOL(name, words, ...)                \
  TOOL_AS(MPI_T_##name, words, __VA_ARGS__)   \
  TOOL_AS(PMPI_T_##name, words, __VA_ARGS__)
// A name is looked up only if the program gives one.
#define NAMED(name, words, kind, which, index)                                                                       \
  TOOL(name, words, is_passed_on(next) || a1 == 0 || index == 0                                                      \
                        ? next(NAMES_##words)                                                                        \
                        : index_of(next, ToolKind::kind, which, reinterpret_cast<int*>(index), NAMES_##words))

TOOL(cvar_get_num, 1, number(next, ToolKind::control, a1))
TOOL(cvar_get_info, 10, by_index<0>(next, ToolKind::control, describe_control, NAMES_10))
NAMED(cvar_get_index, TWO, control, find_control(text_at(a1)), a2)
// The object, the handle and the count follow an index of ours.
TOOL(cvar_handle_alloc, 4, by_index<0>(next, ToolKind::control, open_control, NAMES_4))
TOOL(cvar_handle_free, 1, by_handle(next, control_of(handle_at(a1)), [a1](int) { return close_control(a1); }, a1))
TOOL(cvar_read, TWO, by_handle(next, control_of(a1), [a2](int which) { return read_control(which, a2); }, NAMES_TWO))
TOOL(cvar_write, TWO, by_handle(next, control_of(a1), [a2](int which) { return write_control(which, a2); }, NAMES_TWO))

TOOL(pvar_get_num, 1, number(next, ToolKind::performance, a1))
TOOL(pvar_get_info, 13, by_index<0>(next, ToolKind::performance, describe_performance, NAMES_13))
NAMED(pvar_get_index, 3, performance, find_performance(text_at(a1), static_cast<int>(a2)), a3)
TOOL(pvar_handle_alloc, 5, by_index<1>(next, ToolKind::performance, open_performance, NAMES_5))
TOOL(pvar_handle_free, TWO, by_handle(next, performance_of(handle_at(a2)), [a2](int) { return close_performance(a2); }, NAMES_TWO))
TOOL(pvar_read, 3, by_handle(next, performance_of(a2), [a3](int which) { return read_performance(which, a3); }, NAMES_3))
TOOL(pvar_start, TWO, by_handle(next, performance_of(a2), [](int) { return not_started(); }, NAMES_TWO))
TOOL(pvar_stop, TWO, by_handle(next, performance_of(a2), [](int) { return not_started(); }, NAMES_TWO))
TOOL(pvar_write, 3, by_handle(next, performance_of(a2), [](int) { return not_written(); }, NAMES_3))
TOOL(pvar_reset, TWO, by_handle(next, performance_of(a2), [](int) { return not_written(); }, NAMES_TWO))
TOOL(pvar_readreset, 3, by_handle(next, performance_of(a2), [](int) { return not_at_once(); }, NAMES_3))

TOOL(category_get_num, 1, number(next, ToolKind::category, a1))
TOOL(category_get_info, 8, by_index<0>(next, ToolKind::category, describe_our_category, NAMES_8))
NAMED(category_get_index, TWO, category, find_category(text_at(a1)), a2)
TOOL(category_get_cvars, 3, list<ToolKind::control>(next, list_ours<ToolKind::control>, NAMES_3))
TOOL(category_get_pvars, 3, list<ToolKind::performance>(next, list_ours<ToolKind::performance>, NAMES_3))
TOOL(category_get_categories, 3, list<ToolKind::category>(next, nothing_listed, NAMES_3))
// These came with MPI-4. Open MPI 4 and 5 lack them, and a program that looks for them must not find ours there.
#if CROSSRAIL_LARGE_COUNTS
TOOL(category_get_num_events, TWO, by_index<0>(next, ToolKind::category, no_events, NAMES_TWO))
TOOL(category_get_events, 3, by_index<0>(next, ToolKind::category, nothing_listed, NAMES_3))
#endif
