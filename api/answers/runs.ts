import {z} from 'zod'
import {RowRange} from '../../shared/flows/snapshot.ts'
import {OUTCOMES, PHASES} from '../../sql/run-log.ts'
import {Answer, ByName, Count, Id, JobWith, Moment, NextCursor, Seconds} from './common.ts'

const RunCounts = Answer({
  created: Count('Records were made'),
  updated: Count('Records were changed'),
  refused: Count('The CRM declined'),
  unanswered: Count('The CRM did not answer: they may or may not have been written'),
  inherited: Count('An earlier run of the chain had written them'),
  failed: Count('Nothing was sent: a value, a match or a link did not come out'),
  skipped: Count('They were left as they are, as a flow says'),
  planned: Count('Of a dry run: they would have been written'),
  filtered: Count('A filter kept them back; the log says nothing of them'),
}).meta({id: 'RunCounts', description: 'Rows of one module, by what has become of them so far'})

export const Stop = Answer({
  stopped: z.string().meta({
    description: 'Why, for programs',
    examples: [
      'CANCELLED',
      'LIMIT_ROWS_PER_RUN',
      'LAPSED',
      'CRM_REFUSED',
      'GRANT_ENDED',
      'FILE_GONE',
      'EXPRESSION_TIMEOUT',
      'ENGINE_FAILED',
    ],
  }),
  message: z.string().describe('Why, and how to carry on, for a person'),
  rowsPerRun: Count('Of a limit: the rows the run may write').optional(),
  stoppedBy: z.enum(['plan', 'declaration']).optional().describe("Of a limit: whether it is the plan's, or what was declared"),
  rowsWrittenTotal: Count('Of a limit: the rows it has written').optional(),
}).meta({id: 'RunStop', description: 'Why a run writes no more rows'})

const progress = Answer({
  done: Count('Rows of all flows that are done with'),
  total: Count('Rows of all flows'),
  unit: z.literal('rows').describe('What is counted'),
  rowsPerSecond: z.number().nonnegative().nullable().describe('On average since it began; null: nothing is done yet'),
  etaSeconds: z
    .number()
    .nonnegative()
    .nullable()
    .describe('Seconds left at that rate; null: nothing is done yet, or the run is not writing (paused, for example)'),
})

export const Run = Answer({
  id: Id('run', 'The run'),
  importId: Id('imp', 'The import it is of').nullable().describe('The import it is of; null: of none'),
  connectorId: Id('con', 'The connection it writes through')
    .nullable()
    .describe('The connection it writes through; null: none was named yet'),
  templateId: Id('tpl', 'The template it is of').nullable().describe('The template it is of; null: of none'),
  state: z
    .enum(['authorised', 'queued', 'writing', 'paused', 'closing', 'ended'])
    .describe(
      '`authorised`: nobody has begun it. `paused`: it goes on by itself. `closing`: what is in flight is waited for. `ended` is final',
    ),
  engine: z
    .enum(['worker', 'outside'])
    .nullable()
    .describe('Whether this service carries it, or an engine of your own; null: nobody has begun it'),
  dryRun: z.boolean().describe('Whether it writes nothing, and says what it would do'),
  retryOf: Id('run', 'The run it carries on').nullable().describe('The run it carries on; null: none'),
  rows: RowRange.nullable().describe('Of every file, only the rows with these numbers; null: all of them'),
  declaredRows: z.int().positive().describe('Rows it was declared to write at most'),
  rowsPerRun: Count('Rows it may write: those declared, or fewer by the plan'),
  rowsWritten: Count('Rows that count in the plan so far'),
  overageRows: Count('Of those, the ones the plan had no room for and that are billed one by one; known when it has ended'),
  counts: ByName(RunCounts, 'By API name of the module'),
  mayExistTwice: Count('Rows whose record may exist twice: a create of theirs was never answered, and another one was'),
  questions: Count('Things a person is to choose; rows wait for it'),
  progress: progress
    .nullable()
    .describe('How far it is; null: an engine of your own carries it, which alone knows how many rows there are'),
  stop: Stop.nullable().describe('Why it writes no more; null: nothing stopped it'),
  pause: Answer({code: z.string().describe('Why, for programs'), message: z.string().describe('Why, for a person')})
    .nullable()
    .describe('Why it pauses; null: it does not'),
  stoppedBy: z.enum(['allowance']).nullable().describe("`allowance`: the CRM's credits for the day are spent. Null: they are not"),
  outcome: z.string().nullable().describe('What an engine of your own said it came to; null: it said nothing'),
  authorisedAt: Moment('When it was let through'),
  startedAt: Moment('When it began').nullable().describe('When it began; null: it has not'),
  endedAt: Moment('When it ended').nullable().describe('When it ended; null: it has not'),
  expiredAt: Moment('When its records and files went').nullable().describe('When its records and files went; null: they are there'),
}).meta({id: 'Run', description: 'One run: what it may do, how far it is, and what came of its rows'})

export const RunAnswer = Answer({run: Run})
export const Runs = Answer({runs: z.array(Run).describe('The newest first')})

const RunEnd = Answer({
  state: z
    .enum(['ended', 'held', 'released'])
    .describe('`ended`: the run has. `held`: another worker carries it. `released`: this one laid it down for another'),
})

export const RunBegun = Answer({run: Run, job: JobWith(RunEnd).describe('The work on it, which is over with the run')})

export const LogRecord = Answer({
  seq: z.int().positive().describe("Where it stands in the run's log, from 1, without gaps"),
  rowKey: z.string().describe('The name of the row, the same in every run of a chain'),
  flowId: z.string().nullable().describe('The flow the row is of; null: none was named'),
  rowNumber: z.int().positive().nullable().describe('Where the row stands in its file, from 1; null: it was not named'),
  module: z.string().describe('API name of the module; empty where it is not known any more'),
  phase: z.enum(PHASES).describe('What was done: the record written or patched, met, or a link looked up'),
  target: z.string().describe('API name of the field that is meant; empty: none'),
  attempt: Count('The row was sent so many times; 0: it was settled without sending'),
  recordId: z.string().nullable().describe("The CRM's id of the record; null: none is known"),
  outcome: z
    .enum(OUTCOMES)
    .describe(
      'What came of it. The last word of the highest `attempt` holds; a real answer goes over `unanswered`. `made_after_no_answer`: the record may exist twice',
    ),
  code: z.string().nullable().describe("Why, for programs: the CRM's own code or ours; null: there is nothing to say"),
  message: z.string().nullable().describe('Why, for a person; null: there is nothing to say'),
  at: Moment('When it was written down'),
}).meta({id: 'LogRecord', description: "What became of a row at one attempt, as the run's log has it"})

export const LogPage = Answer({
  records: z.array(LogRecord).describe('In the order of `seq`'),
  nextCursor: NextCursor.describe(
    `Send it as \`cursor\` to read the next page. Null: the page reached the end of the log, also while the run is not ended. To follow such a
run, send the last cursor that was not null again (or none), and skip the entries up to the last \`seq\` you have`,
  ),
})

export const Authorised = Answer({
  runId: Id('run', 'The run that may be begun within 24 hours'),
  rowsPerRun: z.int().positive().describe('Rows it may write, which are reserved'),
  stoppedBy: z.enum(['plan', 'declaration']).describe("Which of the two it would stop at: the plan's rows per run, or what was declared"),
})

export const Lease = Answer({
  runId: Id('run', 'The run'),
  leaseUntil: Moment('Until then the import is held for this run, unless it is heard of again'),
  leaseSeconds: Seconds('How long every call renews it for'),
})
