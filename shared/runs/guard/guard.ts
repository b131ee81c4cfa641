import {z} from 'zod'
import type {Held} from '../../../sql/run-heads.ts'

const share = z.number().min(0).max(1)

/** The shares of settled rows beyond which a run is held until a person resumes it. An outcome that is left out has no limit. */
export const Guard = z
  .strictObject({
    refused: share.optional().describe('The share of rows that the CRM may refuse, from 0 to 1'),
    unanswered: share.optional().describe('The share of rows that may stay without an answer from the CRM'),
    failed: share.optional().describe('The share of rows that may fail before they are sent'),
  })
  .describe('Holds the run if more rows than this end badly. It takes effect after 50 settled rows. `{}`: no limit')
export type Guard = z.output<typeof Guard>

/** The guard of scheduled runs, unless the org has its own. */
export const usualGuard: Guard = {refused: 0.05, unanswered: 0.01}

const ends: Record<Held['outcome'], string> = {
  refused: 'were refused by the CRM',
  unanswered: 'got no answer from the CRM',
  failed: 'failed before they were sent',
}

/** Explains to a person why the run is held, and what to do. */
export const explainHeld = ({outcome, rows, settled, limit}: Held): string =>
  `${rows} of ${settled} rows ${ends[outcome]}. The guard of this run allows ${percentOf(limit)}. Look at these rows, then resume or cancel the run`

const percentOf = (limit: number) => `${Math.round(limit * 1000) / 10} %`
