import {z} from 'zod'
import {checkCredits} from '../../shared/jobs.ts'
import {job} from '../../shared/queue.ts'

/** What the bench tells its worker process: to say when so many of these have begun. */
export type Asked = {of: 'ours' | 'bare' | 'listener'; count: number}
export type Begun = {first: number; last: number}

/** With the policy of a job of ours that somebody waits for. */
const declared = {payload: z.object({org: z.string(), connector: z.string()}), answer: z.object({}), policy: checkCredits.policy}
export const ourJob = job({name: 'bench.ours', ...declared})
export const bareJob = job({name: 'bench.bare', ...declared})

export const channel = 'bench_bare'
export const slots = 4

/** The machine's own clock, the same in every process. */
export const nowMs = () => Number(process.hrtime.bigint()) / 1e6
