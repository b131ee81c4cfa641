import {z} from 'zod'
import {Answer, ByName, Count, Id, JobAnswer, Moment, NextCursor, Version} from './common.ts'
import {NoticeRule} from './notices.ts'
import {Drift} from './templates.ts'

const kept = z.array(z.string()).describe('Which credentials are kept; their values are never told')

const ScheduleSource = z
  .discriminatedUnion('kind', [
    Answer({
      kind: z.literal('https').describe('From a web server'),
      url: z.string().describe('The address, without its query'),
      credentials: kept,
    }),
    Answer({
      kind: z.literal('s3').describe('From a bucket'),
      endpoint: z.string().optional().describe("The origin of a store other than Amazon's"),
      region: z.string().describe('The region it is in'),
      bucket: z.string().describe('The bucket'),
      key: z.string().describe("The object's key, as it was given: with its dates unfilled"),
      accessKeyId: z.string().describe('Who asks'),
      pathStyle: z.boolean().optional().describe('Whether the bucket stands in the path'),
      credentials: kept,
    }),
    Answer({
      kind: z.literal('sftp').describe('Over SSH'),
      host: z.string().describe('The host'),
      port: z.int().describe('The port'),
      user: z.string().describe('The user'),
      path: z.string().describe("The file's path, as it was given: with its dates unfilled"),
      hostKey: z.string().describe("The host's own key, by its digest"),
      credentials: kept,
    }),
  ])
  .meta({id: 'ScheduleSource', description: 'Where a schedule fetches its file from, without what lets one in'})

/** The extras of the refusal it was are beside its code. */
const Reason = z
  .looseObject({
    code: z.string().meta({description: 'What it was, for programs', examples: ['ALREADY_RUNNING']}),
    message: z.string().describe('What it was and what to do, for a person'),
  })
  .meta({id: 'Reason', description: 'Why something came to nothing; of a refusal with what stands beside its code'})

export const Firing = Answer({
  id: Id('fir', 'The firing'),
  scheduleId: Id('sch', 'The schedule'),
  dueAt: Moment('When it was due'),
  by: z.enum(['clock', 'person']).describe('Whether the clock fired it, or somebody out of turn'),
  person: Id('per', 'Who fired it').nullable().describe('Who fired it; null: the clock, or they were deleted'),
  missed: Count('Due times before it that an outage swallowed; 1,000 stands for more'),
  state: z.enum(['due', 'working', 'running', 'ended']).describe('Waiting, fetching and reading its file, its run under way, over'),
  outcome: z
    .enum(['done', 'stopped', 'unchanged', 'drifted', 'failed', 'skipped'])
    .nullable()
    .describe('What came of it; null: it is not over'),
  reason: Reason.nullable().describe('Why it came to no run, or its run was stopped, or its last try failed; null: there is none'),
  drift: z.array(Drift).nullable().describe('What was otherwise than in the template; null: nobody looked yet'),
  importId: Id('imp', 'Its import').nullable().describe('Its import; null: there is none, or it is gone'),
  runId: Id('run', 'Its run').nullable().describe('Its run; null: there is none, or it is gone'),
  counts: Answer({
    rowsWritten: Count('Rows written, in all modules'),
    modules: ByName(ByName(Count('Rows'), 'By what became of them'), 'By API name of the module: rows by what became of them'),
  })
    .nullable()
    .describe('What its run did, once that has ended; null before, and without one'),
  sha256: z.string().nullable().describe('SHA-256 of its file, in hex; null: none was fetched'),
  tries: Count('Tries to get its file that failed'),
  tryAgainAt: Moment('When it tries again').nullable().describe('When one that could not get its file tries again; null: it does not'),
  createdAt: Moment('When it was made'),
  startedAt: Moment('When it was begun').nullable().describe('When it was begun; null: not yet'),
  endedAt: Moment('When it was over').nullable().describe('When it was over; null: it is not'),
}).meta({id: 'Firing', description: 'One time a schedule fired'})

export const Schedule = Answer({
  id: Id('sch', 'The schedule'),
  templateId: Id('tpl', 'The template it runs'),
  connectorId: Id('con', 'The connection').nullable().describe('The connection it runs on; null: that of the template'),
  name: z.string().describe('What people call it'),
  cron: z.string().meta({description: 'When it fires: minute, hour, day of the month, month, day of the week', examples: ['30 2 * * *']}),
  timezone: z.string().meta({description: 'The time zone `cron` is read in', examples: ['Europe/Berlin']}),
  source: ScheduleSource,
  declaredRows: z.int().positive().nullable().describe('How many rows each run may write at most; null: as many as the file has'),
  onDrift: z
    .enum(['stop', 'warn'])
    .describe('What is done with a file or a CRM that is no longer as the template has it: nothing, or what still fits'),
  enabled: z.boolean().describe('Whether it fires by itself'),
  stopped: Reason.nullable().describe('Why the service turned it off; null: it did not'),
  next: z
    .array(
      Answer({
        at: Moment('When'),
        local: z
          .string()
          .meta({description: 'The same by the clocks of its zone, with their offset', examples: ['2026-03-02T02:30+01:00']}),
      }),
    )
    .describe('The next five moments; empty while it is off'),
  failures: Count('Firings in a row that failed or drifted. Five turn it off'),
  version: Version('Which version this is, counted from 1'),
  createdBy: Id('per', 'Whoever it acts as').nullable().describe('Who made it, as whom it acts; null: they were deleted'),
  createdAt: Moment('When it was made'),
  notify: NoticeRule.nullable().describe('Who is told of it; null: nobody but those who are told of everything'),
  lastFiring: Firing.nullable().describe('The last time it fired; null: it never did'),
}).meta({id: 'Schedule', description: 'Runs a template by itself'})

export const SchedulePage = Answer({schedules: z.array(Schedule).describe('The oldest first'), nextCursor: NextCursor})
export const ScheduleRead = Answer({schedule: Schedule})
export const ScheduleRemoved = Answer({removed: Id('sch', 'The schedule that was deleted')})
export const FiringPage = Answer({firings: z.array(Firing).describe('The newest first'), nextCursor: NextCursor})
export const Fired = Answer({firing: Firing, job: JobAnswer.describe('The work on it')})

const told = {
  ...{name: 'Leads, every night', cron: '30 2 * * *', timezone: 'Europe/Berlin', declaredRows: null, onDrift: 'stop' as const},
}

export const newScheduleExample = {
  ...told,
  source: {kind: 'https' as const, url: 'https://files.example.org/leads.csv', bearer: 'a-token-of-yours'},
  notify: {emails: ['ana@example.org'], on: ['schedule.failed' as const, 'schedule.stopped' as const]},
}

export const firingExample = {
  ...{id: 'fir_01k9m0v6f8e2r4t7w3y5z1a2b3', scheduleId: 'sch_01k9m0v6f8e2r4t7w3y5z1a2b3', dueAt: '2026-03-01T01:30:00.000Z', by: 'clock'},
  ...{person: null, missed: 0, state: 'ended', outcome: 'done', reason: null, drift: [], importId: 'imp_01k9m0v6f8e2r4t7w3y5z1a2b3'},
  runId: 'run_01k9m0v6f8e2r4t7w3y5z1a2b3',
  counts: {rowsWritten: 120, modules: {Leads: {created: 100, updated: 20, refused: 0}}},
  ...{sha256: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', tries: 0, tryAgainAt: null},
  ...{createdAt: '2026-03-01T01:30:00.100Z', startedAt: '2026-03-01T01:30:00.200Z', endedAt: '2026-03-01T01:31:10.000Z'},
}

export const scheduleExample = {
  ...{id: 'sch_01k9m0v6f8e2r4t7w3y5z1a2b3', templateId: 'tpl_01k9m0v6f8e2r4t7w3y5z1a2b3', connectorId: null, ...told},
  source: {kind: 'https', url: 'https://files.example.org/leads.csv', credentials: ['bearer']},
  ...{enabled: true, stopped: null, next: [{at: '2026-03-02T01:30:00.000Z', local: '2026-03-02T02:30+01:00'}], failures: 0, version: 2},
  ...{createdBy: 'per_01k9m0v6f8e2r4t7w3y5z1a2b3', createdAt: '2026-02-20T09:00:00.000Z', lastFiring: firingExample},
  notify: {emails: ['ana@example.org'], endpoints: [], on: ['schedule.failed', 'schedule.stopped']},
}
