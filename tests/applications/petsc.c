// This program of PETSc knows nothing of crossrail. It has a Laplacian in two dimensions by DMDA and KSP, its solution through a PetscSF of pattern
// all-to-all (MPI_Ialltoall; PETSc's own -sf_type alltoall), and a parallel sort (MPI_Alltoall, MPI_Alltoallv). Results are printed in hexadecimal,
// to the last bit.
#include <petscksp.h>
#include <petscdmda.h>
#include <petscsf.h>

static PetscErrorCode matrix(DM grid, Mat a) {
  DMDALocalInfo info;
  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(grid, &info));
  for (PetscInt j = info.ys; j < info.ys + info.ym; j++)
    for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
      MatStencil row = {.i = i, .j = j}, columns[5];
      PetscScalar values[5];
      PetscInt count = 0;
      const int di[] = {0, -1, 1, 0, 0}, dj[] = {0, 0, 0, -1, 1};
      for (int k = 0; k < 5; k++) {
        MatStencil at = {.i = i + di[k], .j = j + dj[k]};
        if (at.i < 0 || at.j < 0 || at.i >= info.mx || at.j >= info.my) continue;
        columns[count] = at;
        values[count++] = k == 0 ? 4.0 : -1.0;
      }
      PetscCall(MatSetValuesStencil(a, 1, &row, count, columns, values, INSERT_VALUES));
    }
  PetscCall(MatAssemblyBegin(a, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(a, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static PetscErrorCode solve(Mat a, Vec b, Vec x, PetscInt rounds) {
  KSP solver;
  PetscInt iterations;
  PetscScalar square;
  PetscFunctionBeginUser;
  PetscCall(VecSet(b, 1.0));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &solver));
  PetscCall(KSPSetOperators(solver, a, a));
  PetscCall(KSPSetFromOptions(solver));
  for (PetscInt round = 0; round < rounds; round++) {
    PetscCall(KSPSolve(solver, b, x));
    PetscCall(KSPGetIterationNumber(solver, &iterations));
    PetscCall(VecDot(x, x, &square));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "result rank 0 solve %d: %d iterations, square of the norm %a\n", (int)round, (int)iterations, square));
    PetscCall(VecCopy(x, b));
  }
  PetscCall(KSPDestroy(&solver));
  PetscFunctionReturn(0);
}

// Root j of rank i is leaf i of rank j.
static PetscErrorCode exchange(Vec x, PetscMPIInt rank, PetscMPIInt size) {
  PetscSF sf;
  PetscInt own;
  const PetscScalar *values;
  PetscScalar *roots, *leaves, *sums;
  PetscFunctionBeginUser;
  PetscCall(PetscSFCreate(PETSC_COMM_WORLD, &sf));
  PetscCall(PetscSFSetFromOptions(sf));
  PetscCall(PetscSFSetGraphWithPattern(sf, NULL, PETSCSF_PATTERN_ALLTOALL));
  PetscCall(PetscSFSetUp(sf));
  PetscCall(PetscMalloc3(size, &roots, size, &leaves, size, &sums));
  PetscCall(VecGetLocalSize(x, &own));
  PetscCall(VecGetArrayRead(x, &values));
  for (PetscInt round = 0; round < 200; round++) {
    for (int peer = 0; peer < size; peer++) {
      roots[peer] = values[(round * size + peer) % own] * (round + 1);
      leaves[peer] = sums[peer] = -1;
    }
    PetscCall(PetscSFBcastBegin(sf, MPIU_SCALAR, roots, leaves, MPI_REPLACE));
    PetscCall(PetscSFBcastEnd(sf, MPIU_SCALAR, roots, leaves, MPI_REPLACE));
    PetscCall(PetscSFReduceBegin(sf, MPIU_SCALAR, leaves, sums, MPIU_SUM));
    PetscCall(PetscSFReduceEnd(sf, MPIU_SCALAR, leaves, sums, MPIU_SUM));
    for (int peer = 0; peer < size; peer++) PetscCheck(sums[peer] == roots[peer] - 1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "wrong sum in round %d", (int)round);
    if (round % 50 == 0) PetscCall(PetscSynchronizedPrintf(PETSC_COMM_WORLD, "result rank %d leaves round %d: %a %a\n", rank, (int)round, leaves[0], leaves[size - 1]));
  }
  PetscCall(PetscSynchronizedFlush(PETSC_COMM_WORLD, PETSC_STDOUT));
  PetscCall(VecRestoreArrayRead(x, &values));
  PetscCall(PetscFree3(roots, leaves, sums));
  PetscCall(PetscSFDestroy(&sf));
  PetscFunctionReturn(0);
}

static PetscErrorCode sort(MPI_Comm comm, PetscMPIInt rank) {
  enum { kKeys = 500 };
  PetscLayout layout;
  PetscInt keys[kKeys], total = 0;
  PetscFunctionBeginUser;
  PetscCall(PetscLayoutCreateFromSizes(comm, kKeys, PETSC_DECIDE, 1, &layout));
  for (int k = 0; k < kKeys; k++) keys[k] = (PetscInt)((k * 7919L + rank * 104729L) % 100003);
  PetscCall(PetscParallelSortInt(layout, layout, keys, keys));
  for (int k = 0; k < kKeys; k++) total += (k + 1) * (keys[k] % 1000);
  PetscCall(PetscSynchronizedPrintf(PETSC_COMM_WORLD, "result rank %d sort: %d %d %d\n", rank, (int)keys[0], (int)keys[kKeys - 1], (int)total));
  PetscCall(PetscSynchronizedFlush(PETSC_COMM_WORLD, PETSC_STDOUT));
  PetscCall(PetscLayoutDestroy(&layout));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv) {
  DM grid;
  Mat a;
  Vec x, b;
  PetscMPIInt rank, size;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 60, 60, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, &grid));
  PetscCall(DMSetUp(grid));
  PetscCall(DMCreateMatrix(grid, &a));
  PetscCall(matrix(grid, a));
  PetscCall(MatCreateVecs(a, &x, &b));
  PetscCall(solve(a, b, x, 3));
  PetscCall(exchange(x, rank, size));
  PetscCall(sort(PetscObjectComm((PetscObject)x), rank));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&a));
  PetscCall(DMDestroy(&grid));
  PetscCall(PetscSynchronizedPrintf(PETSC_COMM_WORLD, "PASS\n"));
  PetscCall(PetscSynchronizedFlush(PETSC_COMM_WORLD, PETSC_STDOUT));
  PetscCall(PetscFinalize());
  return 0;
}
