import {z} from 'zod'

/** A range that contains the actual number. `min` equals `max` if the number depends on the file alone and not on CRM data. */
export const CountSpan = z.strictObject({
  min: z.int().nonnegative().describe('The lowest number'),
  max: z.int().nonnegative().describe('The highest number'),
})
export type CountSpan = z.infer<typeof CountSpan>

const CallSeconds = z.strictObject({
  p50: z.number().nonnegative().describe('Seconds if calls take their median time and cost the middle of the range'),
  p95: z.number().nonnegative().describe('Seconds if calls are slow and cost the most'),
})

const RouteForecast = z.strictObject({
  match: z.enum(['query', 'snapshot']).describe('How rows find their records'),
  write: z.enum(['records', 'bulk']).describe('How records are written'),
  credits: CountSpan.describe('CRM credits of a run on this route'),
  seconds: CallSeconds.describe('Time of a run on this route'),
  blockedBy: z.string().nullable().describe('Why a run cannot take this route. Null: it can'),
})
export type RouteForecast = z.infer<typeof RouteForecast>

export const Forecast = z.strictObject({
  credits: CountSpan.extend({
    byKind: z
      .record(z.string(), CountSpan)
      .describe('By kind of call. A record is either created or updated, so the sum of the highest numbers can exceed `max`'),
  }).describe('API credits of the CRM. 0: the destination counts none'),
  verifyAll: CountSpan.optional().describe('Additional API credits of a run with `verify: all`. Absent: unknown'),
  seconds: CallSeconds.describe('Time, without waiting for the quota'),
  finishesAt: z.iso
    .datetime({precision: 3})
    .nullable()
    .describe('When a run that starts now ends, with waits for the quota. ISO 8601 in UTC. Null: the quota is not known'),
  pausesAtRow: z
    .int()
    .positive()
    .nullable()
    .describe(
      'The row at which the run may pause because the quota of the day is exhausted. Null: the known quota is enough, or there are no rows to write',
    ),
  quota: z
    .strictObject({
      remaining: z.int().nonnegative().nullable().describe('Credits that are left. Null: not known'),
      allowance: z.int().nonnegative().nullable().describe('Credits of a day. Null: not known'),
      isEnough: z
        .boolean()
        .nullable()
        .describe(
          'Whether the highest cost fits into what is left. Without `remaining`: false if it exceeds an `allowance` that bought credits cannot raise, else null',
        ),
    })
    .nullable()
    .describe("The CRM's API quota of the day. Null: the destination counts no credits"),
  basis: z
    .enum(['file', 'last_run', 'dry_run'])
    .describe(
      'Where the number of rows to write comes from. `file`: any number up to every row. `last_run`: the shares of the last run of the template. `dry_run`: the counts of a dry run of this import',
    ),
  routes: z.array(RouteForecast).describe('The ways in which a run can match and write'),
})
export type Forecast = z.infer<typeof Forecast>
