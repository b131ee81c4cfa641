import {z} from 'zod'
import {SEVERITIES} from '../../shared/mapping/checks/problem.ts'
import {Answer, Count, JOB_STATES, JobWith, Moment, NextCursor} from './common.ts'

const CheckResult = Answer({
  rows: Count('Rows that were read'),
  errors: Count('Problems by which rows will fail or be refused'),
  warnings: Count('Problems by which rows may fail or be refused'),
})

export const QueuedCheck = Answer({job: JobWith(CheckResult).describe('The job of the check')})

const CheckProblem = Answer({
  severity: z
    .enum(SEVERITIES)
    .describe('`error`: rows will fail or be refused. `warning`: rows may fail or be written unexpectedly. `info`: for information'),
  kind: z.string().meta({description: 'The kind of problem: the code a run would use, in lower case', examples: ['required_missing']}),
  source: z.string().nullable().describe('The file. Null: no specific file'),
  flow: z.string().nullable().describe('The id of the flow. Null: no specific flow'),
  module: z.string().nullable().describe('API name of the module. Null: no specific module'),
  field: z.string().nullable().describe('API name of the field. Null: no specific field'),
  column: z.string().nullable().describe('The column of the file. Null: no specific column'),
  place: Answer({line: z.int().positive().describe('The line, from 1'), column: z.int().positive().describe('The column, from 1')})
    .nullable()
    .describe('Position in an expression. Null: not in an expression'),
  count: Count('Rows affected'),
  rows: z.array(z.int().positive()).describe('Row numbers of the first of them. Empty if no single row is the cause'),
  samples: z.array(z.string()).describe('Cells of those rows, as in the file'),
  message: z.string().describe('What is wrong, in words'),
  fix: z.string().describe('How to fix it, in words'),
}).meta({id: 'CheckProblem', description: 'A problem of an import, listed once per place'})

export const Checks = Answer({
  checks: Answer({
    state: z
      .enum([...JOB_STATES, 'none'])
      .describe('State of the newest check, which may be newer than the one listed. `none`: no check yet'),
    startedAt: Moment('When the listed check began').nullable().describe('When the listed check began. Null: none has ended'),
    endedAt: Moment('When the listed check ended').nullable().describe('When the listed check ended. Null: none has'),
    rows: z.int().nonnegative().nullable().describe('Rows that were read. Null: none has ended'),
    stale: z.boolean().describe('Whether files, flows, libraries, settings, the plan or the CRM changed since'),
  }).describe('The last check that ended'),
  problems: z.array(CheckProblem).describe('The problems found, worst first'),
  nextCursor: NextCursor,
})
