import {z} from 'zod'
import type {RunHold} from '../../../sql/run-heads.ts'

const share = z.number().min(0).max(1)

/** A run that exceeds one of these shares is held until a person resumes it. An outcome that is left out has no limit. */
export const RunGuard = z
  .strictObject({
    refused: share.optional().describe('The share of rows that the CRM may refuse, from 0 to 1'),
    unanswered: share
      .optional()
      .describe('The share of rows that may be without an answer from the CRM. A row that will be sent again counts too'),
    failed: share.optional().describe('The share of rows that may fail before they are sent'),
    coerced: share
      .optional()
      .describe(
        'The share of rows that were read back whose values the CRM may have cut or stored in another form. It needs `verify` or `canary`',
      ),
    canary: z
      .int()
      .min(1)
      .max(2_000)
      .optional()
      .describe(
        'The first rows of each kind (created, updated) in each module. They are written and read back before others of the kind are sent',
      ),
  })
  .describe(
    'Holds the run if more rows than this end badly. It takes effect after 50 rows, or after the canary if it is smaller. `{}`: no limit',
  )
export type RunGuard = z.output<typeof RunGuard>

/** The default guard for requests that state `usual`. A guard of the org takes precedence. */
export const usualGuard: RunGuard = {refused: 0.05, unanswered: 0.01}

/** The default guard of scheduled runs. A guard of the org takes precedence. */
export const scheduledGuard: RunGuard = {...usualGuard, canary: 200}

const ends: Record<RunHold['outcome'], string> = {
  refused: 'were refused by the CRM',
  unanswered: 'got no answer from the CRM',
  failed: 'failed before they were sent',
  coerced: 'hold values that the CRM cut or stored in another form, as reading them back showed',
}

export const explainHeld = ({outcome, rows, settled, limit}: RunHold): string =>
  `${rows} of ${settled} rows ${ends[outcome]}. The guard of this run allows ${percentOf(limit)}. Look at these rows, then resume or cancel the run`

const percentOf = (limit: number) => `${Math.round(limit * 1000) / 10} %`
