#!/bin/bash
# Agents of a load test as a job array: PROOFLOAD_VIA=nats://… sbatch FILE, then
#   proofload run EXPERIMENT --agents {{agents}} --via nats://…
#SBATCH --job-name={{name}}
#SBATCH --array=1-{{agents}}
#SBATCH --cpus-per-task={{cores}}
#SBATCH --mem={{megabytes}}
# A lost agent is part of the result: another one in its place would send another load.
#SBATCH --no-requeue
: "${PROOFLOAD_VIA:?set it to the address of NATS before sbatch}"
exec proofload agent --name "$(hostname)/$SLURM_ARRAY_TASK_ID" --wait 1h
