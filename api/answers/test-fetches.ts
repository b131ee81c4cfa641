import {z} from 'zod'
import {Answer, Count, JobWith, Moment} from './common.ts'

const Sample = Answer({
  name: z.string().describe('The name of the file'),
  bytes: Count('Its size in bytes'),
  rows: Count('Its rows'),
  columnCount: Count('Its columns'),
  columns: z.array(z.string()).describe('The names of the first 50 columns'),
  sample: z.array(z.array(z.string())).describe('The cells of the first five rows in these columns, each cut after 200 characters'),
  drift: z
    .array(
      Answer({
        stops: z.boolean().describe('Whether the schedule would not run this file, unless `onDrift` is `warn`'),
        message: z.string().describe('The difference, in words'),
      }),
    )
    .describe('How the file differs from the template, at most 20 differences'),
})

const TestFetch = Answer({
  fetchedAt: Moment('When it was fetched'),
  file: Sample.nullable().describe('The file. Null: there is none, see `problem`'),
  problem: Answer({
    code: z.string().meta({description: 'The code, for programs', examples: ['NOT_FOUND']}),
    message: z.string().describe('What happened, in words'),
  })
    .nullable()
    .describe('Why the file could not be fetched or read. Null: it could'),
}).meta({id: 'TestFetch', description: 'The result of a test fetch'})

export const TestFetchRead = Answer({test: TestFetch.nullable().describe('The newest test fetch of the last day. Null: none')})
export const TestFetchStarted = Answer({
  job: JobWith(Answer({fetched: z.boolean().describe('Whether the file could be fetched and read. `GET …/test` has the details')})),
})

export const testFetchExample = {
  fetchedAt: '2026-03-02T01:30:00.000Z',
  file: {
    name: 'leads.csv',
    bytes: 20_480,
    rows: 250,
    columnCount: 2,
    columns: ['Name', 'E-mail'],
    sample: [['Ada Example', 'ada@example.org']],
    drift: [],
  },
  problem: null,
}
