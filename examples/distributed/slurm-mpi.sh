#!/bin/bash
# sbatch examples/distributed/slurm-mpi.sh train.js: eight ranks over the cluster's MPI. Slurm starts the ranks itself, and MPI's library joins them:
# dx.distributed.initProcessGroup() chooses it.
#SBATCH --job-name=train
#SBATCH --ntasks=8
#SBATCH --time=01:00:00
set -euo pipefail

# Of a cluster with modules: module load openmpi. DXTENSOR_MPI names a library that is in no usual folder.
srun --mpi="${MPI_TYPE:-pmix}" node "$@"
