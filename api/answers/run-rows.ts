import {z} from 'zod'
import {PLAN_ACTIONS} from '../../shared/runs/results/plan-csv.ts'
import {OUTCOMES, PHASES} from '../../sql/run-log.ts'
import {Answer, Count, NextCursor} from './common.ts'
import {LogRecord, Run} from './runs.ts'

const ended = {
  module: z.string().describe('API name of the module'),
  moduleLabel: z.string().describe('Its label in the CRM'),
  phase: z
    .enum(PHASES)
    .describe('The phase: writing, patching, matching or tagging the record, looking up a link, or keeping an edited value'),
  outcome: z.enum(OUTCOMES).describe('The outcome'),
  action: z
    .enum(PLAN_ACTIONS)
    .nullable()
    .describe('For a dry run: the planned action. Null for a run that writes, for a lookup, and for an edited value that is kept'),
  code: z.string().nullable().describe('The code of the reason, from the CRM or this service. Null: none'),
  field: z.string().nullable().describe('API name of the field concerned. Null: none'),
  fieldLabel: z.string().nullable().describe('Label of the field. Null: none'),
}

const Change = Answer({
  field: z.string().describe('API name of the field'),
  label: z.string().describe('Its label in the CRM'),
  old: z.string().describe('The current value. Empty: no value, or no record yet'),
  new: z.string().describe('The new value'),
})

const linkEmpty = z.boolean().describe('True: the row was written without the link in this field')

const Entry = Answer({
  ...ended,
  flowId: z.string().nullable().describe('The flow. Null: no longer known'),
  recordId: z.string().nullable().describe("The CRM's id of the record. Null: not known"),
  recordUrl: z.string().nullable().describe("The record's page at the CRM. Null: no record, or its page is not known"),
  message: z.string().nullable().describe('The reason, in words. Null: none'),
  mayExistTwice: z.boolean().describe('True: a create of the row was unanswered, so its record may exist twice'),
  linkEmpty,
  changes: z
    .array(Change)
    .nullable()
    .describe('For a dry run: the fields that would change. Null: nothing would be written, or not stored yet'),
})

const RunRow = Answer({
  rowNumber: z.int().positive().describe('Number of the row in its file, from 1'),
  entries: z.array(Entry).describe('One entry per record and lookup of the row'),
}).meta({id: 'RunRow', description: 'The final outcome of a row, or its plan in a dry run'})

const sourceId = z.string().describe('The file')
const reached = Count('Number of the last row examined')

const sources = z
  .array(Answer({id: z.string().describe('The file'), label: z.string().describe('Name of the file'), rows: Count('Rows in the file')}))
  .describe('The files the run read')

export const RunRows = Answer({
  sources,
  source: sourceId,
  rows: z.array(RunRow).describe('Ordered by row number'),
  reached,
  nextCursor: NextCursor,
})

export const RunRowCells = Answer({
  source: sourceId,
  columns: z.array(z.string()).describe('The columns after cleaning'),
  rows: z
    .array(
      Answer({
        rowNumber: z.int().positive().describe('Number of the row in its file, from 1'),
        cells: z.array(z.string()).describe('Its cells, in the order of `columns`'),
      }),
    )
    .describe('The rows, in order'),
  keys: z.array(z.string()).describe('Columns by which a person knows a row: at most three'),
  fields: z
    .array(
      Answer({
        flowId: z.string().describe('The flow'),
        field: z.string().describe('API name of the field'),
        column: z.string().describe('The column that fills it'),
      }),
    )
    .describe('The columns that fill fields'),
})

export const RunTally = Answer({
  sources,
  source: sourceId,
  groups: z
    .array(
      Answer({
        ...ended,
        linkEmpty,
        rows: Count('Number of rows'),
        firstRow: z.int().positive().describe('The number of the first of them'),
        message: z.string().nullable().describe('The message of the first. Null: none'),
      }),
    )
    .describe('Rows grouped by outcome'),
  reached,
  nextCursor: NextCursor,
})

export const RunRowLog = Answer({
  row: RunRow,
  log: z.array(LogRecord).nullable().describe('All log entries of the row, in order. Null: the log is too long to search for one row'),
})

export const OrgRuns = Answer({
  runs: z
    .array(Run.extend({importName: z.string().nullable().describe('Name of the import. Null: a run without an import')}))
    .describe('Newest first'),
  nextCursor: NextCursor,
})
