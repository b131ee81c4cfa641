import {z} from 'zod'
import {SEVERITIES} from '../../shared/checks/problem.ts'
import {Answer, Count, JOB_STATES, JobWith, Moment, NextCursor} from './common.ts'

const CheckResult = Answer({
  rows: Count('Rows that were read'),
  errors: Count('Problems for which rows fail or are refused'),
  warnings: Count('Problems for which rows may be'),
})

export const CheckBegun = Answer({job: JobWith(CheckResult).describe('The work on it')})

export const CheckProblem = Answer({
  severity: z
    .enum(SEVERITIES)
    .describe(
      '`error`: rows fail or are refused. `warning`: rows may be, or something else comes of them than is expected. `info`: good to know',
    ),
  kind: z.string().meta({description: "What it is: the run's own code where it has one, in small letters", examples: ['required_missing']}),
  source: z.string().nullable().describe('The file; null: none in particular'),
  flow: z.string().nullable().describe('The id of the flow; null: none in particular'),
  module: z.string().nullable().describe('API name of the module; null: none in particular'),
  field: z.string().nullable().describe('API name of the field; null: none in particular'),
  column: z.string().nullable().describe('The column of the file; null: none in particular'),
  place: Answer({line: z.int().positive().describe('The line, from 1'), column: z.int().positive().describe('The column, from 1')})
    .nullable()
    .describe('Where in an expression; null: it is none'),
  count: Count('In how many rows'),
  rows: z.array(z.int().positive()).describe('The numbers of the first of them; empty where no single row is to blame'),
  samples: z.array(z.string()).describe('Cells of those as the file has them'),
  message: z.string().describe('What is wrong, for a person'),
  fix: z.string().describe('What to do about it, for a person'),
}).meta({id: 'CheckProblem', description: 'What of an import would fail in a run, once for each place it was found in'})

export const Checks = Answer({
  checks: Answer({
    state: z
      .enum([...JOB_STATES, 'none'])
      .describe('Of the newest check, which may be another than the one listed. `none`: there was none yet'),
    startedAt: Moment('When the listed check began').nullable().describe('When the listed check began; null: none has ended'),
    endedAt: Moment('When the listed check ended').nullable().describe('When the listed check ended; null: none has'),
    rows: z.int().nonnegative().nullable().describe('Rows that were read; null: none has ended'),
    stale: z.boolean().describe('Whether files, flows, libraries, settings, the plan or the CRM changed since'),
  }).describe('The last check that ended'),
  problems: z.array(CheckProblem).describe('What it found, the worst first'),
  nextCursor: NextCursor,
})
