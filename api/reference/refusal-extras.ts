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
  name: z.string().describe('The name'),
  limit: z.int().nullable().describe('The limit that the plan would set in this period. Null: not a number'),
}

const Lift = z
  .discriminatedUnion('by', [
    Answer({by: by('fewer', 'Declare fewer rows'), rows: z.int().describe('Rows left')}),
    Answer({by: by('trial', 'Have an owner start the trial'), limit: plan.limit}),
    Answer({by: by('plan', 'Change to this plan'), ...plan}),
    Answer({
      by: by('pack', 'Buy a pack of AI credits'),
      packKey: z.string().describe('The pack'),
      name: z.string().describe('The name'),
      credits: z.int().describe('AI credits in the pack'),
    }),
    Answer({by: by('overage', 'Enable overage: rows beyond the plan are billed')}),
    Answer({by: by('period', 'Wait for the next period'), at: Moment('When the next period begins')}),
    Answer({by: by('payment', 'Pay open invoices')}),
    Answer({by: by('support', 'Contact support')}),
  ])
  .meta({id: 'Lift', description: 'A way to get the same request accepted'})

const LIMITS = ['LIMIT_ROWS', 'LIMIT_MODULES', 'LIMIT_SCHEDULES'] as const
const METERED = [...LIMITS, 'CREDITS_EXHAUSTED', 'STATUS_SUSPENDED', 'STATUS_PAST_DUE'] as const
const LOADING = ['NAMESPACE_MISMATCH', 'NAMESPACE_RESERVED', 'LIBRARY_SCOPE', 'LIBRARY_LOAD', 'LIBRARY_EXPORTS', 'LIBRARY_EXAMPLE'] as const
const READING = ['UNREADABLE', 'FILE_QUOTE', 'FILE_NUL', 'FILE_ENCODING', 'CORRECTION_UNFIT'] as const
const TOO_LARGE = ['FILE_TOO_LARGE', 'WORKBOOK_TOO_LARGE', 'RESULTS_TOO_LARGE', 'UNREADABLE', 'UPLOAD_LIMIT'] as const

/** Errors of a record write that apply to all of its items. */
const OF_ALL = [
  ...([
    'CRM_REFUSED',
    'SCOPE_MISSING',
    'RUN_STOPPED',
    'RUN_ENDED',
    'RUN_USED',
    'LEASE_LOST',
    'WRITES_PAUSED',
    'BUSY',
    'UNAVAILABLE',
  ] as const),
  ...(['CONNECTION_NOT_FOUND', 'CONNECTION_THROTTLED', 'CONNECTION_UNAVAILABLE', 'DAILY_ALLOWANCE_SPENT'] as const),
] as const

const Stands = Answer({
  planKey: z.string().nullable().describe('The plan. Null: not a plan of this deployment'),
  interval: z.enum(['month', 'year']).nullable().describe('The billing period. Null: not known'),
  pending: PendingChange.nullable().describe('The pending change. Null: none'),
  periodEndsAt: Moment('When the paid period ends').nullable().describe('When the paid period ends. Null: none has begun'),
  scheduled: z.boolean().describe('Whether the subscription follows a schedule at the payment provider'),
})

const int = z.int()
const named = (what: string) => ({id: z.string().describe(`The ${what}`), name: z.string().describe('The name')})
const Unknown = z.looseObject({
  path: z.array(z.union([z.string(), z.int()])).describe('Position in the body'),
  apiName: z.string().describe('The name sent'),
})
const Sheet = Answer({name: z.string().describe('The sheet'), state: z.string().describe('Whether it is `visible`')})

/** Further keys of refusals, each with the codes that have it. */
export const extras = {
  registryVersion: of(['REGISTRY_CONFLICT'], int, 'the current version of the configuration'),
  version: of(['TEMPLATE_CONFLICT', 'CONTRACT_CONFLICT', 'SCHEDULE_CONFLICT', 'IMPORT_CONFLICT'], int, 'the current version'),
  lift: of(
    [...METERED, 'FEATURE_HELPER_LIBRARIES', 'FEATURE_FREQUENT_SCHEDULES', 'FILE_TOO_LARGE'],
    z.array(Lift),
    'ways to get the same request accepted, easiest first. Empty: none',
  ),
  balance: of(METERED, Balance, 'the AI credits of the org'),
  limit: of([...LIMITS, ...TOO_LARGE], int, 'the limit, in the unit that the message names'),
  used: of(LIMITS, int, 'the number in use'),
  reserved: of(['LIMIT_ROWS'], int, 'rows reserved for active runs'),
  remaining: of(['LIMIT_ROWS'], int, 'rows left'),
  periodEnd: of(['LIMIT_ROWS'], Moment('When the period ends'), 'when the period ends'),
  needed: of(['CREDITS_EXHAUSTED'], int, 'the most AI credits that the request may cost'),
  connections: of(
    ['CONNECTION_REQUIRED'],
    z.array(Answer({...named('connection'), state: z.string().describe('Whether it is `connected`')})),
    'the connections to choose from',
  ),
  connection: of(['CONNECTION_UNAVAILABLE'], z.string(), 'the state of the connection, such as `ended`'),
  modules: of(['UNKNOWN_FIELDS'], z.array(Unknown), 'modules the CRM does not have'),
  fields: of(['UNKNOWN_FIELDS'], z.array(Unknown), 'fields the CRM does not have'),
  managedBy: of(['LIBRARY_MANAGED'], z.literal('sdk').nullable(), 'who manages it: `sdk`, the configuration repository. Null: people'),
  line: of([...LOADING, ...READING], int.nullable(), 'the line, from 1. Null: unknown'),
  column: of(LOADING, int.nullable(), 'the column in the line, from 1. Null: unknown'),
  row: of(READING, int, 'the row, from 1. 0 is the header'),
  sheetRow: of(['UNREADABLE'], int, 'the row number of the sheet'),
  byte: of(['FILE_NUL', 'FILE_ENCODING'], int, 'the position of the byte, from 0'),
  reason: of(['UNREADABLE'], z.string(), 'how the expression failed'),
  sheets: of(['SHEET_NOT_FOUND', 'FILE_EMPTY', 'FILE_NO_ROWS'], z.array(Sheet), 'the sheets of the workbook'),
  unpacked: of(['WORKBOOK_TOO_LARGE'], int, 'its size unpacked, in bytes'),
  source: of(['ENCODING_REQUIRED', 'BAD_BYTES'], Id('src', 'The file'), 'the file'),
  encodings: of(['ENCODING_REQUIRED'], z.array(z.string()), 'possible encodings, likeliest first'),
  places: of(['BAD_BYTES'], int, 'the number of places with bytes that are not valid in its encoding'),
  firstRows: of(['BAD_BYTES'], z.array(int), 'the first rows with such a place'),
  rows: of(['RESULTS_TOO_LARGE'], int, 'the number of rows it would have'),
  bytes: of(['RESULTS_TOO_LARGE', 'UPLOAD_BROKEN'], int, 'the size it would have in bytes. For an upload, the bytes received'),
  limitBytes: of(['UPLOAD_LIMIT'], int, 'the limit for unfinished uploads, in bytes'),
  offset: of(['UPLOAD_OFFSET', 'UPLOAD_INCOMPLETE'], int, 'bytes stored. Continue there'),
  size: of(['UPLOAD_OFFSET', 'UPLOAD_INCOMPLETE'], int, 'size of the whole file in bytes'),
  sources: of(
    ['SOURCE_REQUIRED'],
    z.array(Answer({id: Id('src', 'The file'), label: z.string().describe('The name shown to users')})),
    'the files that the run read',
  ),
  people: of(['PERSON_AMBIGUOUS'], z.array(Answer(named('person'))), 'the people with this address'),
  orgs: of(['LAST_OWNER'], z.array(Answer(named('org'))), 'the orgs they are the only owner of'),
  firing: of(['IMPORT_RUNNING'], Id('fir', 'The firing'), 'the active firing'),
  runId: of(['IMPORT_RUNNING'], Id('run', 'The run').nullable(), 'its run. Null: none yet'),
  run: of(['RUN_RETRIED', 'RUN_UNDONE', 'UNDO_DONE'], Id('run', 'The run'), 'the run that retried or undid it'),
  correctedImport: of(['FAILED_FILE'], Id('imp', 'The import'), 'the import of that run'),
  correctedRun: of(['FAILED_FILE'], Id('run', 'The run'), 'the run whose failed rows the file has'),
  correctedSource: of(['FAILED_FILE'], Id('src', 'The file'), 'the file of that run'),
  deletes: of(
    ['DELETES_UNCONFIRMED'],
    int.nullable(),
    'the records that the newest dry run would delete. Null: there is no such dry run of these rows',
  ),
  approvalAbove: of(['APPROVAL_REQUIRED'], int, 'the rows above which a run of the org needs an approved plan'),
  flow: of(['SNAPSHOT_CHANGED'], z.string(), 'the flow that differs'),
  stop: of(['RUN_STOPPED'], Stop, 'why it was stopped'),
  stands: of(['NO_CHANGE', 'CHANGE_INCOMPLETE'], Stands.nullable(), 'the current subscription. Null: not known'),
  writeId: of(['WRITE_ID_REUSED', 'WRITE_UNDER_WAY'], z.string(), 'the idempotency key of the write'),
  results: of(OF_ALL, z.array(RecordResult), 'for record writes: the same error for each item, in the order sent'),
  oauth: of(['INVALID'], z.string(), 'the OAuth error code'),
}
