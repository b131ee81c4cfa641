import {z} from 'zod'
import {checkCredits} from '../../shared/jobs.ts'
import {job} from '../../shared/queue.ts'

/** The message by which the bench asks its worker process to report when `count` jobs of this kind have begun. */
export type QueueJobsInput = {of: 'ours' | 'bare' | 'listener'; count: number}
export type QueueJobsOptions = {first: number; last: number}

/** Payload, answer and policy of both jobs. The policy is that of a job whose result a request waits for. */
const declared = {payload: z.object({org: z.string(), connector: z.string()}), answer: z.object({}), policy: checkCredits.policy}
export const ourJob = job({name: 'bench.ours', ...declared})
export const bareJob = job({name: 'bench.bare', ...declared})

export const channel = 'bench_bare'
export const slots = 4

/** Returns the time in ms of the machine's monotonic clock, which all processes share. */
export const nowMs = () => Number(process.hrtime.bigint()) / 1e6
