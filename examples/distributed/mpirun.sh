#!/bin/bash
# RANKS=4 HOSTS=node1:2,node2:2 examples/distributed/mpirun.sh train.js: ranks over MPI, on this machine or on others. Both mpirun of Open MPI and mpiexec of
# MPICH do: the library that belongs to the launcher is found by its variables.
set -euo pipefail

mpirun -n "${RANKS:-2}" ${HOSTS:+--host "$HOSTS"} node "$@"
