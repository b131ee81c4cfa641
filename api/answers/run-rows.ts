import {z} from 'zod'
import {PLAN_ACTIONS} from '../../shared/imports/plan-csv.ts'
import {OUTCOMES, PHASES} from '../../sql/run-log.ts'
import {Answer, Count, NextCursor} from './common.ts'
import {LogRecord, Run} from './runs.ts'

const ended = {
  module: z.string().describe('API name of the module'),
  moduleLabel: z.string().describe('What the CRM calls it'),
  phase: z.enum(PHASES).describe('What it is about: the record written or patched, met, or a link looked up'),
  outcome: z.enum(OUTCOMES).describe('What came of it'),
  action: z.enum(PLAN_ACTIONS).nullable().describe('Of a dry run: what would be done. Null: of a run that writes, and of a link'),
  code: z.string().nullable().describe("Why, for programs: the CRM's own code or ours; null: there is nothing to say"),
  field: z.string().nullable().describe('API name of the field that is meant; null: none'),
  fieldLabel: z.string().nullable().describe('What the CRM calls the field; null: none is meant'),
}

const Change = Answer({
  field: z.string().describe('API name of the field'),
  label: z.string().describe('What the CRM calls it'),
  old: z.string().describe('What the record has; empty: nothing, or there is no record yet'),
  new: z.string().describe('What it would get'),
})

const Entry = Answer({
  ...ended,
  flowId: z.string().nullable().describe('The flow it is of; null: it is not known any more'),
  recordId: z.string().nullable().describe("The CRM's id of the record; null: none is known"),
  message: z.string().nullable().describe('Why, for a person; null: there is nothing to say'),
  mayExistTwice: z.boolean().describe('A create of the row was never answered: its record may exist twice'),
  changes: z
    .array(Change)
    .nullable()
    .describe('Of a dry run: fields that would change, none where nothing does. Null: nothing is to be written, or it is not kept yet'),
})

const RunRow = Answer({
  rowNumber: z.int().positive().describe('Where the row stands in its file, from 1'),
  entries: z.array(Entry).describe('One for each record and link of the row'),
}).meta({id: 'RunRow', description: 'What finally became of a row of a file, or what a dry run would make of it'})

const sourceId = z.string().describe('The file it is of')
const reached = Count('Up to the row of this number the file was looked at')

const sources = z
  .array(Answer({id: z.string().describe('The file'), label: z.string().describe('Its name'), rows: Count('Rows it has')}))
  .describe('The files the run read')

export const RunRows = Answer({
  sources,
  source: sourceId,
  rows: z.array(RunRow).describe('By their numbers'),
  reached,
  nextCursor: NextCursor,
})

export const RunTally = Answer({
  sources,
  source: sourceId,
  groups: z
    .array(
      Answer({
        ...ended,
        rows: Count('So many rows'),
        firstRow: z.int().positive().describe('The number of the first of them'),
        message: z.string().nullable().describe('The words of the first, for a person; null: there is nothing to say'),
      }),
    )
    .describe('Rows that ended alike'),
  reached,
  nextCursor: NextCursor,
})

export const RunRowLog = Answer({
  row: RunRow,
  log: z
    .array(LogRecord)
    .nullable()
    .describe('All that was written down of it, in that order. Null: the log is too long to be looked through for one row'),
})

export const OrgRuns = Answer({
  runs: z
    .array(Run.extend({importName: z.string().nullable().describe('What the import is called; null: it is of none')}))
    .describe('The newest first'),
  nextCursor: NextCursor,
})
