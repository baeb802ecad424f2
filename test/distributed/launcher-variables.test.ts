import { expect, it } from "vitest";
import { defaultBackend, launchedRank } from "../../src/distributed/launcher-variables.ts";
import { mpiFiles, shortVersion } from "../../src/distributed/mpi.ts";

const openMpi = { OMPI_COMM_WORLD_RANK: "3", OMPI_COMM_WORLD_SIZE: "8", OMPI_COMM_WORLD_LOCAL_RANK: "1" };
const mpich = { PMI_RANK: "0", PMI_SIZE: "2", MPI_LOCALRANKID: "0" };
const slurm = { SLURM_PROCID: "5", SLURM_STEP_NUM_TASKS: "6", SLURM_LOCALID: "1", SLURM_NTASKS: "6" };

it("reads rank and size as mpirun, mpiexec and srun tell them", () => {
  expect(launchedRank(openMpi)).toEqual({ launcher: "mpirun of Open MPI", rank: 3, size: 8, localRank: 1, hasMpi: true });
  expect(launchedRank(mpich)).toMatchObject({ rank: 0, size: 2, localRank: 0, hasMpi: true });
  expect(launchedRank(slurm)).toEqual({ launcher: "srun", rank: 5, size: 6, localRank: 1, hasMpi: false });
  expect(launchedRank({ ...slurm, PMIX_RANK: "5" })).toMatchObject({ launcher: "srun", rank: 5, hasMpi: true });
  // The script of a batch job has SLURM_PROCID too, and is no task of a step.
  expect(launchedRank({ SLURM_PROCID: "0", SLURM_NTASKS: "6" })).toBeNull();
  expect(launchedRank({ OMPI_COMM_WORLD_RANK: "one", OMPI_COMM_WORLD_SIZE: "8" })).toBeNull();
  expect(launchedRank({})).toBeNull();
});

it("chooses MPI where its launcher started the process, unless RANK is set", () => {
  expect([openMpi, mpich, { ...slurm, PMI_RANK: "5" }].map((env) => defaultBackend(env))).toEqual(["mpi", "mpi", "mpi"]);
  expect([{}, slurm, { ...openMpi, RANK: "0" }].map((env) => defaultBackend(env))).toEqual(["gloo", "gloo", "gloo"]);
});

it("looks for the library of the launcher first, and for that of DXTENSOR_MPI alone", () => {
  expect(mpiFiles(openMpi)[0]).toBe("libmpi.so.40");
  expect(mpiFiles(mpich)[0]).toBe("libmpi.so.12");
  expect(mpiFiles({ ...slurm, PMIX_RANK: "0", PMI_RANK: "0" })[0]).toBe("libmpi.so.40");
  expect(mpiFiles({ ...mpich, DXTENSOR_MPI: "/opt/mpi/lib/libmpi.so" })).toEqual(["/opt/mpi/lib/libmpi.so"]);
  expect(shortVersion("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4")).toBe("Open MPI v4.1.4");
  expect(shortVersion("MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7")).toBe("MPICH 4.0.2");
  expect(shortVersion("Intel(R) MPI Library 2021.10 for Linux* OS\n")).toBe("Intel(R) MPI Library 2021.10 for Linux* OS");
});
