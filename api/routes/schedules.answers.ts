import {z} from 'zod'
import {Firing as FiringRow} from '../../sql/firings.ts'
import {VerifyMode} from '../../sql/runs.ts'
import {Schedule as ScheduleRow} from '../../sql/schedules.ts'
import {Breach} from '../answers/breach.ts'
import {Answer, ByName, Count, Id, JobAnswer, Moment, NextCursor, Version} from '../answers/common.ts'
import {Drift} from '../answers/drift.ts'
import {firingExample} from '../answers/examples.ts'
import {NoticeRule} from '../answers/notices.ts'

const HeldFile = Answer({
  version: Count('The version of the contract that the file did not meet'),
  breaches: z.array(Breach).describe('The first 100 expectations that the file does not meet'),
  total: Count('The expectations that the file does not meet'),
  decision: FiringRow.shape.decision.describe(
    'What a person decided. Null: the file waits, unless `importId` is null, because its import was deleted',
  ),
  decidedAt: Moment('When a person decided').nullable().describe('When a person decided. Null: see `decision`'),
}).meta({id: 'HeldFile', description: 'A file that a data contract held before its first row'})

const kept = z.array(z.string()).describe('Names of the stored credentials. Their values are never returned')

const database = {
  host: z.string().describe('The host'),
  port: z.int().describe('The port'),
  database: z.string().describe('The database'),
  user: z.string().describe('The user'),
  query: z.string().describe('The query, with date placeholders'),
  tls: z.boolean().describe('Whether the connection is encrypted'),
  ca: z.string().optional().describe('The certificate authority (PEM)'),
  credentials: kept,
}

const ScheduleSource = z
  .discriminatedUnion('kind', [
    Answer({
      kind: z.literal('https').describe('From a web server'),
      url: z.string().describe('The address, without its query'),
      credentials: kept,
    }),
    Answer({
      kind: z.literal('s3').describe('From a bucket'),
      endpoint: z.string().optional().describe('Endpoint of an S3-compatible store other than Amazon S3'),
      region: z.string().describe('The region'),
      bucket: z.string().describe('The bucket'),
      key: z.string().describe('Key of the object, with date placeholders'),
      accessKeyId: z.string().describe('The access key id'),
      pathStyle: z.boolean().optional().describe('Whether to use path-style addresses'),
      credentials: kept,
    }),
    Answer({
      kind: z.literal('sftp').describe('Over SSH'),
      host: z.string().describe('The host'),
      port: z.int().describe('The port'),
      user: z.string().describe('The user'),
      path: z.string().describe('Path of the file, with date placeholders'),
      hostKey: z.string().describe('Fingerprint of the host key'),
      credentials: kept,
    }),
    Answer({kind: z.literal('postgres').describe('From a query of a PostgreSQL database'), ...database}),
    Answer({kind: z.literal('mysql').describe('From a query of a MySQL or MariaDB database'), ...database}),
  ])
  .meta({id: 'ScheduleSource', description: 'Where a schedule fetches its file, without credentials'})

const Reason = z
  .looseObject({
    code: z.string().meta({description: 'The code, for programs', examples: ['ALREADY_RUNNING']}),
    message: z.string().describe('What happened and what to do, in words'),
  })
  .meta({id: 'Reason', description: 'Why a firing failed or a schedule was stopped. A refusal has further keys'})

const Firing = Answer({
  id: Id('fir', 'The firing'),
  scheduleId: Id('sch', 'The schedule'),
  dueAt: Moment('When it was due'),
  by: FiringRow.shape.by.describe('`clock`: fired on schedule. `person`: fired by a person'),
  person: Id('per', 'The person').nullable().describe('The person who fired it. Null: the clock, or deleted'),
  missed: Count('Earlier due times missed in an outage, at most 1,000'),
  state: FiringRow.shape.state.describe(
    '`due`: waiting. `working`: fetching and reading the file. `running`: its run is active. `ended` is final',
  ),
  outcome: FiringRow.shape.outcome.describe('The outcome. Null: not ended'),
  reason: Reason.nullable().describe('Why there was no run, the run stopped, or the last try failed. Null: none'),
  drift: z.array(Drift).nullable().describe('Differences from the template. Null: not checked yet'),
  contract: HeldFile.nullable().describe('The file that a data contract held. Null: none'),
  importId: Id('imp', 'The import').nullable().describe('The import. Null: none, or deleted'),
  runId: Id('run', 'The run').nullable().describe('The run. Null: none, or deleted'),
  counts: Answer({
    rowsWritten: Count('Rows written, in all modules'),
    unchanged: Count('Skipped rows whose record already had every value').optional(),
    keptRows: Count('Skipped rows whose values people changed in the CRM').optional(),
    modules: ByName(ByName(Count('Rows'), 'By outcome'), 'By API name of the module: rows by outcome'),
  })
    .nullable()
    .describe('Results of its run, once ended. Null before, and without a run'),
  openQuestions: Count('Questions of its run that wait for an answer'),
  sha256: z.string().nullable().describe('SHA-256 of its file, in hex. Null: no file was fetched'),
  tries: Count('Failed tries to fetch the file'),
  tryAgainAt: Moment('When it tries again').nullable().describe('When it tries again to fetch the file. Null: it does not'),
  createdAt: Moment('When it was created'),
  startedAt: Moment('When it started').nullable().describe('When it started. Null: not yet'),
  endedAt: Moment('When it ended').nullable().describe('When it ended. Null: not yet'),
}).meta({id: 'Firing', description: 'One time a schedule fired'})

const Schedule = Answer({
  id: Id('sch', 'The schedule'),
  templateId: Id('tpl', 'The template it runs'),
  connectorId: Id('con', 'The connection').nullable().describe('The connection. Null: the connection of the template'),
  name: z.string().describe('The name shown to users'),
  cron: z.string().meta({description: 'When it fires: minute, hour, day of the month, month, day of the week', examples: ['30 2 * * *']}),
  timezone: z.string().meta({description: 'The time zone `cron` is read in', examples: ['Europe/Berlin']}),
  source: ScheduleSource,
  declaredRows: z.int().positive().nullable().describe('The most rows each run may write. Null: all rows of the file'),
  onDrift: ScheduleRow.shape.onDrift.describe(
    'What happens if the file or the CRM no longer matches the template. `stop`: nothing is imported. `warn`: the file is imported and a notice is sent, unless its flows or cleaning steps no longer work',
  ),
  verify: VerifyMode.nullable().describe('Which written rows its runs read back. Null: as the template says'),
  enabled: z.boolean().describe('Whether the schedule is on'),
  stopped: Reason.nullable().describe('Why the service turned it off. Null: it did not'),
  next: z
    .array(
      Answer({
        at: Moment('When it fires'),
        local: z.string().meta({description: 'The same in its time zone, with the offset', examples: ['2026-03-02T02:30+01:00']}),
      }),
    )
    .describe('The next five firings. Empty while it is off'),
  failures: Count('Consecutive firings that failed or drifted. After five, the schedule is turned off'),
  version: Version('The version, from 1'),
  createdBy: Id('per', 'The creator').nullable().describe('The creator. The schedule acts with their permissions. Null: deleted'),
  createdAt: Moment('When it was created'),
  notify: NoticeRule.nullable().describe('Recipients of its notices, beside the recipients of the org. Null: none'),
  lastFiring: Firing.nullable().describe('The last firing. Null: none'),
}).meta({id: 'Schedule', description: 'Runs a template at set times'})

export const SchedulePage = Answer({schedules: z.array(Schedule).describe('Oldest first'), nextCursor: NextCursor})
export const ScheduleRead = Answer({schedule: Schedule})
export const FiringPage = Answer({firings: z.array(Firing).describe('Newest first'), nextCursor: NextCursor})
export const Fired = Answer({firing: Firing, job: JobAnswer.describe('The job of the firing')})

const commonExample = {
  name: 'Leads, every night',
  cron: '30 2 * * *',
  timezone: 'Europe/Berlin',
  declaredRows: null,
  onDrift: 'stop' as const,
  verify: null,
}

export const newScheduleExample = {
  ...commonExample,
  source: {kind: 'https' as const, url: 'https://files.example.org/leads.csv', bearer: 'a-token-of-yours'},
  notify: {emails: ['ana@example.org'], on: ['schedule.failed' as const, 'schedule.stopped' as const]},
}

export const scheduleExample = {
  id: 'sch_01k9m0v6f8e2r4t7w3y5z1a2b3',
  templateId: 'tpl_01k9m0v6f8e2r4t7w3y5z1a2b3',
  connectorId: null,
  ...commonExample,
  source: {kind: 'https', url: 'https://files.example.org/leads.csv', credentials: ['bearer']},
  enabled: true,
  stopped: null,
  next: [{at: '2026-03-02T01:30:00.000Z', local: '2026-03-02T02:30+01:00'}],
  failures: 0,
  version: 2,
  createdBy: 'per_01k9m0v6f8e2r4t7w3y5z1a2b3',
  createdAt: '2026-02-20T09:00:00.000Z',
  lastFiring: firingExample,
  notify: {emails: ['ana@example.org'], endpoints: [], on: ['schedule.failed', 'schedule.stopped']},
}
