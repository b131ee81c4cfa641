import {z} from 'zod'
import {runImport} from '../../shared/jobs.ts'
import {RowRange} from '../../shared/mapping/flows/snapshot.ts'
import {CountSpan} from '../../shared/runs/forecast/forecast.ts'
import {RunHold, RunStop} from '../../sql/run-heads.ts'
import {OUTCOMES, PHASES} from '../../sql/run-log.ts'
import {Run as RunRow, VerifyMode} from '../../sql/runs.ts'
import {Answer, ByName, Count, Id, JobWith, Moment, NextCursor} from './common.ts'

const RunCounts = Answer({
  created: Count('The record was created'),
  updated: Count('The record was updated'),
  refused: Count('The CRM refused the row'),
  unanswered: Count('The CRM did not answer, so the row may or may not be written'),
  inherited: Count('An earlier run of the retry chain wrote the row'),
  failed: Count('Nothing was sent, because a value, match or lookup failed'),
  skipped: Count('Left unchanged, as the flow requires'),
  planned: Count('Dry run: the row would be written'),
  filtered: Count('Excluded by a filter. Not in the log'),
}).meta({id: 'RunCounts', description: 'Rows of one module by outcome so far'})

export const Stop = Answer({
  stopped: z.string().meta({
    description: 'The reason, for programs',
    examples: [
      'CANCELLED',
      'LIMIT_ROWS_PER_RUN',
      'LAPSED',
      'CRM_REFUSED',
      'GRANT_ENDED',
      'FIELD_NOT_WRITABLE',
      'FILE_GONE',
      'EXPRESSION_TIMEOUT',
      'ENGINE_FAILED',
      'PLAN_CHANGED',
    ],
  }),
  message: z.string().describe('The reason and how to continue, in words'),
  rowsPerRun: Count('For a limit: the rows the run may write').optional(),
  stoppedBy: RunStop.shape.stoppedBy.describe('For a limit: whether the plan or the declared rows set it'),
  rowsWrittenTotal: Count('For a limit: the rows written').optional(),
}).meta({id: 'RunStop', description: 'Why a run stopped writing rows'})

export const VerifyCounts = Answer({
  mode: VerifyMode.describe('Which written rows are read back, as the run was started'),
  rows: Count('Rows that were read back'),
  coerced: Count('Rows of these with values that the CRM cut or stored in another form'),
  changed: Count('Rows of these with values that a user or an automation of the CRM changed'),
  missing: Count('Rows of these whose record is gone'),
  unread: Count('Rows of these that the CRM refused to show'),
  waiting: Count('Written rows that are still to be read back'),
  unverified: Count('Rows that were never read back, because the run was stopped'),
  patchesCoerced: Count('Patches of rows that the run wrote before, with values that the CRM cut or stored in another form'),
  patchesChanged: Count('Such patches with values that a user or an automation of the CRM changed'),
}).meta({id: 'VerifyCounts', description: 'What was found when written rows were read back'})

const progress = Answer({
  done: Count('Rows done, in all flows'),
  total: Count('Rows of all flows'),
  unit: z.literal('rows').describe('The unit'),
  rowsPerSecond: z.number().nonnegative().nullable().describe('Average since the run began. Null: nothing is done yet'),
  etaSeconds: z
    .number()
    .nonnegative()
    .nullable()
    .describe('Seconds left at that rate. Null: nothing is done yet, or the run is not writing (paused, for example)'),
})

const {shape: route} = RunRow.shape.routes.element

export const Run = Answer({
  id: Id('run', 'The run'),
  importId: Id('imp', 'The import').nullable().describe('The import. Null: a run without an import'),
  connectorId: Id('con', 'The connection').nullable().describe('The connection it writes to. Null: not known yet'),
  templateId: Id('tpl', 'The template').nullable().describe('The template. Null: none'),
  state: RunRow.shape.state.describe(
    '`authorised`: not started. `paused`: resumes automatically, unless `held` is set. `closing`: waits for batches in flight. `ended` is final',
  ),
  engine: RunRow.shape.engine.describe('`worker`: executed by this service. `outside`: executed by an external engine. Null: not started'),
  dryRun: z.boolean().describe('Whether it is a dry run, which writes nothing'),
  retryOf: Id('run', 'The retried run').nullable().describe('The run that it retries. Null: none'),
  retriedBy: Id('run', 'The run that retries it')
    .nullable()
    .describe('The run that retries it, or that retries a retry that ended before it began. Null: none, or only a dry run'),
  begunUndo: Id('run', 'Its undo')
    .nullable()
    .describe(
      'The undo for which a retry is refused (`RUN_UNDONE`): queued, in progress or ended. Null: none. Dry runs, undos that never began and undone undos do not count',
    ),
  undoOf: Id('run', 'The undone run').nullable().describe('The run that it undoes. Null: none'),
  planOf: Id('run', 'The dry run').nullable().describe('The dry run whose sealed plan it applies. Null: none'),
  undo: Answer({
    restored: Count('Rows whose record got its earlier values back, or was taken out of the recycle bin'),
    deleted: Count('Rows whose record was deleted, because the undone run had created it'),
    changedSince: Count('Rows whose record was kept as it is, because it was changed since'),
    strict: z
      .boolean()
      .nullable()
      .describe(
        'Whether the CRM refuses to restore values of a record that changed after it was read. If false, an edit in the seconds between the read and the write is overwritten. Deletes are never checked. Null: not begun',
      ),
  })
    .nullable()
    .describe('What an undo did, or would do. `keptEdits` counts single values that were kept. Null: the run undoes nothing'),
  rows: RowRange.nullable().describe(
    'The row numbers to import, of every file. Null: all rows, or no longer known because the run expired',
  ),
  declaredRows: z.int().positive().describe('The declared maximum of rows'),
  rowsPerRun: Count("Rows it may write: the declared rows, or the plan's limit if lower"),
  rowsWritten: Count('Rows counted against the plan so far'),
  overageRows: Count('Rows of these beyond the plan, billed per row. Final when the run has ended'),
  counts: ByName(RunCounts, 'By API name of the module'),
  mayExistTwice: Count('Rows whose record may exist twice, because a create was unanswered and a later one succeeded'),
  linksEmpty: z
    .array(
      Answer({
        flowId: z.string().nullable().describe('The flow. Null: no longer known'),
        field: z.string().describe('API name of the link field'),
        rows: Count('Rows that were written without the link'),
      }),
    )
    .describe(
      'Rows that were written although their link could not be filled. A retry of the run fills the links whose records exist by then',
    ),
  deletes: z
    .boolean()
    .describe(
      'Whether it deletes the records that its rows match, and writes nothing else. Once it has expired: whether it deleted a record',
    ),
  deleted: Count('Rows whose record was deleted, or would be in a dry run. They also count as updated or planned'),
  unchanged: Count('Rows that were skipped because their record already held every value. They also count as skipped'),
  planStale: Count(
    'Rows that were skipped because they differ from the sealed plan, or their record was changed since. They also count as skipped',
  ),
  keptEdits: Count('Values that were not written, because a person had changed them in the CRM'),
  keptRows: Count('Rows that were skipped because every value that differs was changed in the CRM. They also count as skipped'),
  creditsSaved: z
    .int()
    .nonnegative()
    .nullable()
    .describe('CRM credits that the updates of unchanged rows would have cost. Null: the destination counts no credits'),
  unmapped: z
    .array(
      Answer({
        flowId: z.string().describe('The flow. Empty: no longer known'),
        field: z.string().describe('API name of the field'),
        cells: Count('Cells, each counted once'),
      }),
    )
    .describe(
      'Cells whose value has no entry in the value map of the field, up to the last row that is done. Inherited rows are not counted',
    ),
  verify: VerifyCounts.describe('What was found when written rows were read back. Values: `GET …/verify`'),
  routes: z
    .array(
      Answer({
        flowId: z.string().describe('The flow. Empty: no longer known'),
        match: route.match.describe('`query`: by queries. `snapshot`: in an export of the module'),
        why: z.string().describe('Why, in words'),
        write: route.write.describe('`records`: by record calls. `bulk`: by jobs of the CRM. Null: a dry run'),
        writeWhy: z.string().nullable().describe('Why the records are written so, in words'),
      }),
    )
    .describe('How each flow finds and writes records. A flow is listed once it has begun'),
  forecast: Answer({
    credits: CountSpan.describe('CRM credits'),
    seconds: Answer({p50: z.number().describe('Likely time'), p95: z.number().describe('Time if the CRM is slow')}).describe(
      'Time in seconds',
    ),
  })
    .nullable()
    .describe(
      'What the forecast of the import said when the run started, for the route that the run takes. Null: there was no current forecast, or the run is a retry or reads only some rows',
    ),
  cost: Answer({
    calls: Count('Calls to the CRM'),
    credits: z
      .int()
      .nonnegative()
      .nullable()
      .describe('Their CRM credits, by the price list of the CRM. Null: the destination counts none'),
    byKind: ByName(Count('Credits'), 'Credits by kind of call'),
  }).describe('What the run cost at the CRM so far. Counts are stored every 2 seconds'),
  questions: Count('Questions for people. Rows wait for the answers'),
  questionsAnswered: Count('Questions that were answered since. A retry applies the answers. 0 while the run is active'),
  stale: z
    .boolean()
    .nullable()
    .describe(
      'Whether the plan of an ended dry run is out of date: files, flows, libraries, settings, answers or the plan of the org changed, or the run expired. Null: not known',
    ),
  progress: progress.nullable().describe('Progress. Null if the total is not known: for an external run, and once the run has expired'),
  stop: Stop.nullable().describe('Why it stopped. Null: it was not stopped'),
  pause: Answer({code: z.string().describe('The reason, for programs'), message: z.string().describe('The reason, in words')})
    .nullable()
    .describe('Why it is paused. Null: it is not'),
  held: Answer({
    outcome: RunHold.shape.outcome.describe(
      'The outcome of which there are too many rows. `coerced`: the CRM cut values or stored them in another form',
    ),
    rows: Count('Rows with this outcome since the run began or was resumed'),
    settled: Count('Rows that were written or ended badly since then; for `coerced`, rows that were read back'),
    limit: z.number().describe('The share that the guard allows, from 0 to 1'),
  })
    .nullable()
    .describe('Why its guard holds the run until `POST …/resume`. Null: it is not held'),
  stoppedBy: RunRow.shape.stoppedBy.describe("`allowance`: the CRM's daily quota is exhausted. Null: it is not"),
  outcome: z.string().nullable().describe('The result reported by an external engine. Null: none'),
  authorisedAt: Moment('When it was authorised'),
  startedAt: Moment('When it began').nullable().describe('When it began. Null: not yet'),
  endedAt: Moment('When it ended').nullable().describe('When it ended. Null: not yet'),
  expiredAt: Moment('When it expired').nullable().describe('When its records and files were deleted. Null: not yet'),
}).meta({id: 'Run', description: 'A run: its limits, progress and results'})

export const RunAnswer = Answer({run: Run})

const RunEnd = Answer({
  state: runImport.answer.shape.state.describe(
    '`ended`: the run ended. `held`: another worker executes it. `released`: this worker released it',
  ),
})

export const QueuedRun = Answer({run: Run, job: JobWith(RunEnd).describe('The job, which ends with the run')})

export const LogRecord = Answer({
  seq: z.int().positive().describe("Position in the run's log, from 1, without gaps"),
  rowKey: z.string().describe('Key of the row, the same in every run of a retry chain'),
  flowId: z.string().nullable().describe('The flow. Null: none given'),
  rowNumber: z.int().positive().nullable().describe('Number of the row in its file, from 1. Null: not given'),
  module: z.string().describe('API name of the module. Empty: no longer known'),
  phase: z.enum(PHASES).describe('The phase: writing, patching, matching or tagging the record, or looking up a link'),
  target: z.string().describe('API name of the field concerned. Empty: none'),
  attempt: Count('How often the row was sent. 0: settled without sending'),
  recordId: z.string().nullable().describe("The CRM's id of the record. Null: not known"),
  outcome: z
    .enum(OUTCOMES)
    .describe(
      'The outcome. Of a row, the highest `attempt` is final. Within it, the last answer counts, even if `unanswered` follows. `made_after_no_answer`: the record may exist twice',
    ),
  code: z.string().nullable().describe('The code of the reason, from the CRM or this service. Null: none'),
  message: z.string().nullable().describe('The reason, in words. Null: none'),
  at: Moment('When it was logged'),
}).meta({id: 'LogRecord', description: "The outcome of one attempt of a row, in the run's log"})

export const LogPage = Answer({
  records: z.array(LogRecord).describe('In the order of `seq`'),
  nextCursor: NextCursor.describe(
    `Send it as \`cursor\` to read the next page. Null: the page reached the end of the log, even if the run has not ended. To follow an active
run, send the last non-null cursor again (or none), and skip the entries up to the last \`seq\` you have`,
  ),
})
