import {z} from 'zod'
import type {Code} from '../../shared/errors.ts'
import {PendingChange} from '../answers/billing.ts'
import {Answer, Id, Moment} from '../answers/common.ts'
import {Balance} from '../answers/plans.ts'
import {Stop} from '../answers/runs.ts'
import {RecordResult} from '../answers/writes.ts'

const of = (codes: readonly Code[], value: z.ZodType, says: string) =>
  value.optional().describe(`With ${codes.map(code => `\`${code}\``).join(', ')}: ${says}`)

const by = (name: string, what: string) => z.literal(name).describe(what)
const plan = {
  planKey: z.string().describe('The plan'),
  name: z.string().describe('What it is called'),
  limit: z.int().nullable().describe('What it has room for; null: it is not a number'),
}

const Lift = z
  .discriminatedUnion('by', [
    Answer({by: by('fewer', 'Ask for fewer rows'), rows: z.int().describe('So many are left')}),
    Answer({by: by('trial', 'An owner may start the trial'), limit: plan.limit}),
    Answer({by: by('plan', 'Change to a plan that has it'), ...plan}),
    Answer({
      by: by('pack', 'Buy a pack of AI credits'),
      packKey: z.string().describe('The pack'),
      name: z.string().describe('What it is called'),
      credits: z.int().describe('AI credits in it'),
    }),
    Answer({by: by('overage', 'Let rows beyond the plan through, which are billed')}),
    Answer({by: by('period', 'Wait for the next period'), at: Moment('When it begins')}),
    Answer({by: by('payment', 'Pay what is open')}),
    Answer({by: by('support', 'Write to support')}),
  ])
  .meta({id: 'Lift', description: 'One thing that would let the same request through'})

const LIMITS = ['LIMIT_ROWS', 'LIMIT_MODULES', 'LIMIT_SCHEDULES'] as const
const METERED = [...LIMITS, 'CREDITS_EXHAUSTED', 'STATUS_SUSPENDED', 'STATUS_PAST_DUE'] as const
const LOADING = ['NAMESPACE_MISMATCH', 'NAMESPACE_RESERVED', 'LIBRARY_SCOPE', 'LIBRARY_LOAD', 'LIBRARY_EXPORTS', 'LIBRARY_EXAMPLE'] as const
const READING = ['UNREADABLE', 'FILE_QUOTE', 'FILE_NUL', 'FILE_ENCODING'] as const
const TOO_LARGE = ['FILE_TOO_LARGE', 'WORKBOOK_TOO_LARGE', 'RESULTS_TOO_LARGE', 'UNREADABLE', 'UPLOAD_LIMIT'] as const

/** What a request to write records is answered with where it was one and the same for all of them. */
const OF_ALL = [
  ...(['CRM_REFUSED', 'RUN_STOPPED', 'RUN_ENDED', 'RUN_USED', 'LEASE_LOST', 'WRITES_PAUSED', 'BUSY', 'UNAVAILABLE'] as const),
  ...(['CONNECTION_NOT_FOUND', 'CONNECTION_THROTTLED', 'CONNECTION_UNAVAILABLE', 'DAILY_ALLOWANCE_SPENT'] as const),
] as const

const Stands = Answer({
  planKey: z.string().nullable().describe('The plan; null: none of those here'),
  interval: z.enum(['month', 'year']).nullable().describe('How long its periods are; null: not known'),
  pending: PendingChange.nullable().describe('What waits; null: nothing'),
  periodEndsAt: Moment('When the period that is paid for ends')
    .nullable()
    .describe('When the period that is paid for ends; null: none has begun'),
  scheduled: z.boolean().describe("Whether a schedule of the payment provider's has the say"),
})

const int = z.int()
const named = (what: string) => ({id: z.string().describe(`The ${what}`), name: z.string().describe('What it is called')})
const Unknown = z.looseObject({
  path: z.array(z.union([z.string(), z.int()])).describe('Where in the body'),
  apiName: z.string().describe('Its name'),
})
const Sheet = Answer({name: z.string().describe('The sheet'), state: z.string().describe('Whether it is `visible`')})

/** The further keys of a refusal, by what each means. */
export const extras = {
  registryVersion: of(['REGISTRY_CONFLICT'], int, 'the version the configuration is at'),
  version: of(['TEMPLATE_CONFLICT', 'SCHEDULE_CONFLICT', 'IMPORT_CONFLICT'], int, 'the version it is at'),
  lift: of(
    [...METERED, 'FEATURE_HELPER_LIBRARIES', 'FEATURE_FREQUENT_SCHEDULES', 'FILE_TOO_LARGE'],
    z.array(Lift),
    'what would let the same request through, the nearest first; empty: nothing does',
  ),
  balance: of(METERED, Balance, 'what the org has of AI credits'),
  limit: of([...LIMITS, ...TOO_LARGE], int, 'what there is room for, in what the message names'),
  used: of(LIMITS, int, 'what is used of it'),
  reserved: of(['LIMIT_ROWS'], int, 'rows held for runs under way'),
  remaining: of(['LIMIT_ROWS'], int, 'rows that are left'),
  periodEnd: of(['LIMIT_ROWS'], Moment('When the period ends'), 'when the period ends'),
  needed: of(['CREDITS_EXHAUSTED'], int, 'AI credits the request takes at most'),
  connections: of(
    ['CONNECTION_REQUIRED'],
    z.array(Answer({...named('connection'), state: z.string().describe('Whether it is `connected`')})),
    'those that could be meant',
  ),
  connection: of(['CONNECTION_UNAVAILABLE'], z.string(), 'what state the connection is in, such as `ended`'),
  modules: of(['UNKNOWN_FIELDS'], z.array(Unknown), 'modules the CRM does not have'),
  fields: of(['UNKNOWN_FIELDS'], z.array(Unknown), 'fields the CRM does not have'),
  managedBy: of(['LIBRARY_MANAGED'], z.literal('sdk').nullable(), 'who publishes it: `sdk`, the configuration repository; null: people'),
  line: of([...LOADING, ...READING], int.nullable(), 'the line, counted from 1; null: none is to blame'),
  column: of(LOADING, int.nullable(), 'where in the line, counted from 1; null: nowhere in it'),
  row: of(READING, int, 'the row, counted from 1; 0 is the header'),
  sheetRow: of(['UNREADABLE'], int, 'the row as the sheet counts it'),
  byte: of(['FILE_NUL', 'FILE_ENCODING'], int, 'the byte, counted from 0'),
  reason: of(['UNREADABLE'], z.string(), 'how the expression failed'),
  sheets: of(['SHEET_NOT_FOUND', 'FILE_EMPTY', 'FILE_NO_ROWS'], z.array(Sheet), 'the sheets of the workbook'),
  unpacked: of(['WORKBOOK_TOO_LARGE'], int, 'its size unpacked, in bytes'),
  source: of(['ENCODING_REQUIRED', 'BAD_BYTES'], Id('src', 'The file'), 'the file'),
  encodings: of(['ENCODING_REQUIRED'], z.array(z.string()), 'the encodings it may be in, the likeliest first'),
  places: of(['BAD_BYTES'], int, 'the places whose bytes are not in its encoding'),
  firstRows: of(['BAD_BYTES'], z.array(int), 'the first rows with such a place'),
  rows: of(['RESULTS_TOO_LARGE'], int, 'the rows it would have'),
  bytes: of(['RESULTS_TOO_LARGE', 'UPLOAD_BROKEN'], int, 'the bytes it would have; of an upload, those that came'),
  limitBytes: of(['UPLOAD_LIMIT'], int, 'what may be under way, in bytes'),
  offset: of(['UPLOAD_OFFSET', 'UPLOAD_INCOMPLETE'], int, 'bytes that are kept: go on there'),
  size: of(['UPLOAD_OFFSET', 'UPLOAD_INCOMPLETE'], int, 'bytes of the whole file'),
  sources: of(
    ['SOURCE_REQUIRED'],
    z.array(Answer({id: Id('src', 'The file'), label: z.string().describe('What people call it')})),
    'the files it read',
  ),
  people: of(['PERSON_AMBIGUOUS'], z.array(Answer(named('person'))), 'who has the address'),
  orgs: of(['LAST_OWNER'], z.array(Answer(named('org'))), 'the orgs they are the only owner of'),
  firing: of(['IMPORT_RUNNING'], Id('fir', 'The firing'), 'the firing that is under way'),
  runId: of(['IMPORT_RUNNING'], Id('run', 'The run').nullable(), 'its run; null: it has none yet'),
  run: of(['RUN_RETRIED'], Id('run', 'The run'), 'the run that carried it on'),
  flow: of(['SNAPSHOT_CHANGED'], z.string(), 'the flow that differs'),
  stop: of(['RUN_STOPPED'], Stop, 'why it was stopped'),
  stands: of(['NO_CHANGE', 'CHANGE_INCOMPLETE'], Stands.nullable(), 'what the org pays for now; null: it is not known'),
  writeId: of(['WRITE_ID_REUSED', 'WRITE_UNDER_WAY'], z.string(), 'the name of the write'),
  results: of(OF_ALL, z.array(RecordResult), 'where records were to be written, the same of each of them, in the order sent'),
  oauth: of(['INVALID'], z.string(), 'the error as OAuth names it'),
}
