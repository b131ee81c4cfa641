import {z} from 'zod'

/** What somebody may ask to be told of. An endpoint's test (`webhook.test`) is told to that endpoint alone, and is none of them. */
export const KINDS = [
  'run.ended',
  'schedule.stopped',
  'schedule.skipped',
  'schedule.failed',
  'schedule.drifted',
  'webhook.disabled',
] as const

export const Kind = z.enum(KINDS)
export type Kind = z.output<typeof Kind>
