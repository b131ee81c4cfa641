import {z} from 'zod'
import {VerifyMode} from '../../sql/runs.ts'
import {RowRange} from '../mapping/flows/snapshot.ts'
import {RunGuard} from './guard/guard.ts'

export const StartBody = z
  .strictObject({
    runId: z
      .string()
      .optional()
      .describe('A run that `POST /entitlements/runs/authorise` authorised. Without it, this request authorises one. Not with `dryRun`'),
    declaredRows: z
      .int()
      .min(1)
      .max(1_000_000_000)
      .optional()
      .describe('The most rows the run may write, if this request authorises it. Default: every row of every flow'),
    retryOf: z
      .string()
      .optional()
      .describe(
        'An ended run of this import to retry. Rows it has written are not written again. If a retry of the run ended before it began, the new run continues that retry; `retryOf` of the answer names it',
      ),
    dryRun: z.boolean().default(false).describe('Write and meter nothing, and report what the run would do'),
    confirmDeletes: z
      .int()
      .min(1)
      .max(1_000_000_000)
      .optional()
      .describe(
        'The number of records that the newest dry run would delete. Required if a flow has `action: delete`. The run deletes at most this many records',
      ),
    match: z
      .enum(['query', 'snapshot', 'auto'])
      .optional()
      .describe(
        'How rows find their records. Default: as each flow says in `matchBy`. `query`: by queries. `snapshot`: in an export of the module, which is cheaper for large files; flows that cannot use one take queries. `auto`: the cheaper way',
      ),
    write: z
      .enum(['records', 'bulk', 'auto'])
      .optional()
      .describe(
        'How records are written. Default: as each flow says in `writeBy`. `records`: by record calls. `bulk`: by jobs of the CRM that read a file, which cost less for many rows and take minutes; only flows with `automations: true`, because a job may or may not run automations. `auto`: the cheaper way. Flows and rows that cannot use a job take record calls',
      ),
    guard: z
      .union([RunGuard, z.literal('usual')])
      .optional()
      .describe(
        'Holds the run if more rows than these shares end badly. `usual`: 5 % refused, 1 % unanswered. Default: the guard of the org',
      ),
    planOf: z
      .string()
      .optional()
      .describe(
        'A dry run with a sealed plan, which the run applies as it is. A row that differs from the plan, or whose record was changed since, is skipped as `PLAN_STALE`. A retry keeps to the plan of the run that it retries',
      ),
    verify: VerifyMode.optional().describe(
      'Reads written records back and compares them with what was sent. `sample`: the first 100 rows of each flow and one in 20 of the others, the same in each run; a retry reads back at least 100 rows of each flow, or all that it writes. `all`: every written row. Default: as the template of the import says, `off` without one',
    ),
    rows: RowRange.optional().describe(
      'Read only the rows with these numbers, in every file. Not with `planOf`, and not in a retry of a run that applied a plan',
    ),
  })
  .refine(({dryRun, runId}) => !dryRun || runId === undefined, 'A dry run is not metered and needs no authorised run. Leave runId out')
  .refine(({dryRun, planOf}) => !dryRun || planOf === undefined, 'A dry run makes a plan and applies none. Leave planOf out')
  .refine(({rows, planOf}) => rows === undefined || planOf === undefined, 'A plan has its own rows. Leave rows out')
