"""Every rule refuses a bad snippet and lets a good one pass."""

import unittest

import rules
from source import functions

HEADER = "// What   a\n//        b\n// When   c\n// Cost   d\n// Needs  e\n// From   f\n\n"
LONG = "int f() {\n" + "  g();\n" * 38 + "}\n"

# Each case has a rule, a path, a bad text and a good text.
CASES = (
    (rules.layering, "src/base/log.h", '#include "comm/plan.h"\n', '#include "base/status.h"\n'),
    (rules.layering, "src/transport/links.h", '#include "comm/plan.h"\n', '#include "topology/topology.h"\n'),
    (rules.layering, "src/topology/a.cpp", '#include "device/device.h"\n', '// #include "device/device.h"\n'),
    (rules.layering, "src/collectives/a.cpp", '  #  include "api/collectives.h"\n', "#include <vector>\n"),
    (rules.layering, "src/api/a.cpp", '#include "mpi/library/pmpi.h"\n', '#include "crossrail/crossrail.h"\n'),
    (rules.layering, "src/comm/a.cpp", '#include "crossrail/crossrail.h"\n', '#include "comm/plan.h"\n'),
    (rules.layering, "src/base/settings.def", '#include "collectives/algorithm.h"\n', '#include "collectives/collectives.def"\n'),
    (rules.floors_of_mpi, "src/mpi/buffers/a.cpp", '#include "mpi/calls/blocking.h"\n', '#include "mpi/library/pmpi.h"\n'),
    (rules.floors_of_mpi, "src/mpi/observe/a.h", '#include "mpi/requests/pending.h"\n', '#include "base/log.h"\n'),
    (rules.mpi_only_behind_its_door, "src/api/a.cpp", "#include <mpi.h>\n", "#include <map>\n"),
    (rules.mpi_only_behind_its_door, "virtual_world/a.cpp", "#include <mpi_abi.h>\n", '#include "mpi/x.h"\n'),
    (rules.mpi_only_behind_its_door, "src/api/a.h", "#include CROSSRAIL_MPI_HEADER\n", "/*\n#include <mpi.h>\n*/\n"),
    (rules.collectives_know_no_mpi_and_no_vendor, "src/collectives/a.cpp", "MPI_Comm c;\n", "// MPI_Comm\n"),
    (rules.collectives_know_no_mpi_and_no_vendor, "src/collectives/x/a.cpp", 'getenv("A");\n', 'f("getenv");\n'),
    (rules.collectives_know_no_mpi_and_no_vendor, "src/collectives/a.h", "cudaMemcpy(a);\n", "accumulate(a);\n"),
    (rules.algorithms_are_included, "src/base/a.cpp", "#include <vector>\nint a = std::min({1, 2, 3});\n",
     "#include <algorithm>\nint a = std::min({1, 2, 3});\n"),
    (rules.algorithms_are_included, "modules/cuda/a.h", "int a = std::max(b, c);\n", "// std::max(b, c)\nint a = fastest::max(b, c);\n"),
    (rules.no_condition_on_a_vendor, "src/device/a.cpp", "#ifdef __CUDACC__\n", "#ifdef __linux__\n"),
    (rules.no_condition_on_a_vendor, "src/device/a.cpp", "# if defined(USE_HIP)\n", "// #if HIP\n"),
    (rules.short_files, "python/a.py", "a = 1\n" * 301, "a = 1\n" * 300),
    (rules.short_functions, "src/a/b.cpp", LONG.replace("g", "h();\n  g", 1), LONG),
    (rules.short_functions, "src/a/b.cpp", "namespace {\nstruct A {\n" + LONG.replace("g", "h();\n  g", 1) + "};\n}\n",
     "namespace {\nstruct A {\n" + "int a;\n" * 60 + "};\n}\n"),
    (rules.short_functions, "tests/a.cpp", "TEST(A, b) {\n" + "  g();\n" * 40 + "}\n", "int a[] = {\n" + "1,\n" * 60 + "};\n"),
    (rules.short_functions, "python/a.py", "def f():\n" + "    g()\n" * 40, "def f():\n" + "    g()\n" * 39),
    (rules.few_parameters, "src/a/b.h", "int f(int a, int b, int c, int d, int e);\n", "int f(std::map<int, int> a, int b, int c, int d);\n"),
    (rules.few_parameters, "src/a/b.cpp", "void A::f(int a, int b, int c, int d,\n int e) const {\n}\n", "void f() { g(1, 2, 3, 4, 5); }\n"),
    (rules.few_parameters, "src/mpi/a.cpp", "int f(int a, int b, int c, int d, int e) {}\n", "int f(MPI_Comm, int, int, int, int) {}\n"),
    (rules.few_parameters, "src/a/b.h", "struct A {\n virtual int f(int, int, int, int, int) = 0;\n};\n", "void f(void);\n"),
    (rules.plain_names, "src/base/utils.h", "", ""),
    (rules.plain_names, "src/base/a.h", "int string_utils;\n", "int wutils; // utils\n"),
    (rules.plain_names, "src/base/a.h", "struct PlanImpl {};\n", "struct Simple {}; int cuCtxPushCurrent;\n"),
    (rules.plain_names, "src/base/a.h", "int new_size, size_2;\n", 'int renew_size; f("new_size");\n'),
    (rules.plain_names, "python/a.py", "def legacy_run():\n    pass\n", "def run():\n    'legacy'\n"),
    (rules.plain_names, "python/a.py", "ctx = 1\n", "text = 1\n"),
    (rules.algorithm_headers, "src/collectives/alltoall/a.cpp", HEADER.replace("// Cost   d\n", ""), HEADER),
    (rules.algorithm_headers, "src/collectives/alltoall/a.cpp", "\n" + HEADER, HEADER),
    (rules.run_allocates_nothing, "src/collectives/alltoall/a.cpp", "Status run(Plan& plan) {\n  v.push_back(1);\n}\n",
     "Status plan(Plan& plan) {\n  v.push_back(1);\n}\n"),
    (rules.run_allocates_nothing, "src/collectives/alltoall/a.cpp", "static void send_all() {\n  auto* a = new int[3];\n}\n",
     "void send_all() {\n  // a new one\n  renew(news);\n}\n"),
    (rules.run_allocates_nothing, "src/collectives/alltoall/a.h", "inline void f() {\n  std::vector<int> a;\n}\n",
     "Status reserve_send_copy() {\n  std::vector<int> a;\n}\n"),
    (rules.run_allocates_nothing, "src/collectives/alltoall/a.cpp", "Status plan_and_push(Plan& plan) {\n  blocks.push_back(1);\n}\n",
     "Status plan_mapped(Plan& plan) {\n  blocks.push_back(1);\n}\n"),
    (rules.run_allocates_nothing, "src/collectives/alltoall/a.cpp", "Status run(Plan& plan) {\n  return plan_mapped(plan);\n}\n",
     "Status plan(Plan& plan) {\n  return plan_mapped(plan);\n}\n"),
)


class Rules(unittest.TestCase):
    def test_refuse_bad_and_pass_good(self):
        for rule, path, bad, good in CASES:
            with self.subTest(rule=rule.__name__, path=path, bad=bad[:60]):
                self.assertTrue(rule(path, bad), "a bad snippet passes")
                good_path = path.replace("utils", "bytes")
                self.assertEqual(rule(good_path, good), [], "a good snippet is refused")

    def test_all_are_tried(self):
        self.assertEqual({case[0] for case in CASES}, set(rules.RULES))

    def test_catalogues(self):
        folder = "src/collectives/alltoall/"
        good = {folder + "catalog.def": 'ALGORITHM(a, "x")\n', folder + "a.cpp": "namespace crossrail::alltoall::a {\n"}
        self.assertEqual(rules.catalogues(good), [])
        for change in (
            {folder + "catalog.def": 'ALGORITHM(a, "x")\nALGORITHM(b, "y")\n'},
            {folder + "catalog.def": 'ALGORITHM(a, "x")\nALGORITHM(a, "y")\n'},
            {folder + "c.cpp": ""},
            {folder + "a.cpp": "namespace crossrail::alltoall::b {\n"},
        ):
            self.assertEqual(len(rules.catalogues({**good, **change})), 1, change)

    def test_declared_parameters(self):
        folder = "src/collectives/"
        good = {folder + "parameters.def": "// PARAMETER(name)\nPARAMETER(b, 1)\n", folder + "x.h": "f(parameters::b);\n",
                folder + "alltoall/catalog.def": 'PARAMETER(a, 1)\nALGORITHM(c, "(x), y",\n          a, b)\n',
                folder + "alltoall/c.cpp": "f(parameters::a);\n"}
        self.assertEqual(rules.declared_parameters(good), [])
        for change in ({folder + "x.h": ""}, {folder + "alltoall/catalog.def": 'PARAMETER(a, 1)\nALGORITHM(c, "b, x", a)\n'}):
            self.assertEqual(len(rules.declared_parameters({**good, **change})), 1, change)

    def test_functions_are_found_with_their_lines(self):
        text = "#define A(x) \\\n  int f(x) {}\nnamespace n {\n\ntemplate <class T>\nint f(T a, int b = g(1, 2)) {\n  if (a) {\n  }\n}\n" \
               "struct S {\n  S() : a_(1) {}\n  int g() const { return 1; }\n  int a_;\n};\nconst int kA[] = {1, 2};\n}\n"
        found = [(one.name, one.first_line, one.last_line, len(one.parameters)) for one in functions(text)]
        self.assertEqual(found, [("f", 5, 9, 2), ("S", 11, 11, 0), ("g", 12, 12, 0)])


if __name__ == "__main__":
    unittest.main()
