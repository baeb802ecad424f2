#!/bin/bash
# sbatch examples/distributed/slurm.sh train.js: two machines with four ranks each, over Gloo. One launcher runs on each machine, and reads Slurm's
# variables: SLURM_STEP_NUM_NODES, SLURM_NODEID, SLURM_STEP_NODELIST.
#SBATCH --job-name=train
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --time=01:00:00
set -euo pipefail

# One port a job, so that two jobs can share a machine.
export MASTER_PORT=$((20000 + ${SLURM_JOB_ID:-0} % 10000))
srun npx dxtensor launch --nproc "${RANKS:-4}" --max-restarts 3 "$@"
