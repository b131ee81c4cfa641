import {z} from 'zod'
import {type Code, codes} from '../../shared/errors.ts'
import {ROLES} from '../../shared/people/roles.ts'

/** The words every answer is described with. An answer is strict: a key nobody declared is a mistake of the declaration. */
export const Answer = z.strictObject

/** A moment as every answer writes it: ISO 8601 in UTC with milliseconds. */
export const Moment = (what: string) =>
  z.iso.datetime({precision: 3}).meta({description: `${what}. ISO 8601 in UTC, to the millisecond`, examples: ['2026-03-01T08:30:00.000Z']})

/** An opaque id of ours, by its prefix: `Id('imp', 'The import')`. */
export const Id = (prefix: string, what: string) =>
  z.string().meta({description: `${what}. Opaque, begins with \`${prefix}_\``, examples: [`${prefix}_01k9m0v6f8e2r4t7w3y5z1a2b3`]})

/** A job's id is a UUID of the queue's. */
const JobId = (what = 'The job') => z.uuid().meta({description: what, examples: ['0f8fad5b-d9cb-469f-a165-70867728950e']})

/** How many of something: a whole number from 0. */
export const Count = (what: string) => z.int().nonnegative().describe(what)

/** Bytes, milliseconds, seconds: whole numbers from 0 whose unit stands in the description. */
export const Bytes = (what: string) => z.int().nonnegative().describe(`${what}, in bytes`)
export const Seconds = (what: string) => z.int().nonnegative().describe(`${what}, in seconds`)

/** Money: a whole number of the smallest unit of its currency, such as cents. May be below zero only where that is said. */
export const Amount = (what: string) => z.int().describe(`${what}, in the smallest unit of the currency (cents for EUR and USD)`)
export const Currency = z.string().meta({description: 'ISO 4217, lower case', examples: ['eur']})

export const RoleName = z.enum(ROLES).describe('A role in an org, from the least to the most: operator, builder, admin, owner')

/** The cursor of the next page, beside the items of this one. */
export const NextCursor = z
  .string()
  .nullable()
  .describe('Give it back as `cursor` for the next page. Null: this was the last. Opaque, and good for this very list alone')

/** What a person wrote or a module of the CRM holds: JSON of a shape that is not ours to say. */
export const Json = (what: string) => z.unknown().describe(what)

/** A value by its name, where names are the customer's own: columns, fields, records of the CRM. */
export const ByName = <V extends z.ZodType>(value: V, what: string) => z.record(z.string(), value).describe(what)

/** A file or a stream as the answer of a status: no JSON to hold against a schema. */
export const File = (type: string, what: string) => ({type, what})
/** A status without a body, such as a redirect or 304. */
export const Nothing = (what: string) => ({type: null, what})

/** What the CRM answered when it declined or failed, as far as it said. The only nested object whose inside is the CRM's own. */
export const CrmSaid = z
  .strictObject({
    code: z.string().nullable().describe("The CRM's own code; null: it sent none"),
    status: z.int().nullable().describe('The HTTP status it answered; null: it did not answer'),
    details: Json("The CRM's own details, untouched; null: it sent none"),
    retryable: z.boolean().describe('Whether the same request may succeed later'),
    response: Json('All the JSON it answered, untouched; null: it sent none'),
    unanswered: z.boolean().describe('True: nobody knows whether it was done. False: it declined, and nothing was'),
    rateLimited: z.boolean().optional().describe('Whether it asked to slow down'),
    retryAfterMs: z.int().nonnegative().nullable().describe('How long it asked to wait, in milliseconds; null: it did not say'),
    quotaSpent: z.boolean().describe('Whether its API credits for the last 24 hours are spent'),
  })
  .meta({id: 'CrmProblem', description: 'What the CRM declined with, or how it failed to answer'})

/** A refusal told inside an answer: of a job, of a row, of a connection in trouble. With further keys by code, as in a refusal of the API. */
export const RefusalSaid = z
  .looseObject({
    error: z.string().describe('One sentence for a person: what is wrong and what to do. Not for programs'),
    code: z.enum(codes).describe('What programs look at'),
  })
  .meta({id: 'RefusalSaid', description: 'A refusal, told inside an answer'})

export const JOB_STATES = ['queued', 'running', 'done', 'refused', 'failed', 'cancelled'] as const

const jobFields = <R extends z.ZodType>(result: R) => ({
  id: JobId('Of the job: `GET /orgs/{org}/jobs/{id}` reads it'),
  name: z.string().meta({description: 'What kind of work it is', examples: ['import.check']}),
  state: z.enum(JOB_STATES).describe('`done`, `refused`, `failed` and `cancelled` are final'),
  result: result.nullable().describe('What it answered, once `done`; null before, and where it did not end so'),
  error: RefusalSaid.nullable().describe('Why it was refused or failed; null else'),
  createdAt: Moment('When it was asked for'),
  startedAt: Moment('When a worker took it last').nullable().describe('When a worker took it last; null: none did yet'),
  endedAt: Moment('When it ended').nullable().describe('When it ended; null: it has not'),
})

/** A job of the queue, by what it answers when done: for jobs of no org, such as the erasure of one. */
export const JobOf = <R extends z.ZodType>(result: R) => z.strictObject(jobFields(result)).describe('The job')

/** A job as its org reads it; `JobWith` where what it answers is known. */
export const JobWith = <R extends z.ZodType>(result: R) =>
  JobOf(result)
    .extend({
      progress: z
        .strictObject({
          done: Count('So many are done'),
          total: z.int().nonnegative().nullable().describe('Of so many; null: not known yet'),
          unit: z
            .string()
            .nullable()
            .meta({description: 'What is counted', examples: ['rows']}),
        })
        .nullable()
        .describe('How far it is; null: it does not say'),
    })
    .describe('The job')

export const JobAnswer = JobWith(Json('By the kind of job; see what enqueues it')).meta({id: 'Job', description: 'Work given to a worker'})

/** Of every write of configuration: told only where the request carried `If-Match`. */
export const registryVersion = z
  .int()
  .nonnegative()
  .optional()
  .describe(
    "The version of the org's configuration after this write; absent where the request had no `If-Match`, or others wrote meanwhile",
  )

/** Of what has a version of its own: templates, schedules, imports. */
export const Version = (what: string) => z.int().nonnegative().describe(`${what}. Send it as \`If-Match\` with a change`)

/** What a route that asks the CRM while its caller waits may be refused: by the connection, by the calls there are, by the CRM. */
export const ofCrm = [
  'CONNECTION_UNAVAILABLE',
  'CONNECTION_THROTTLED',
  'DAILY_ALLOWANCE_SPENT',
  'CRM_REFUSED',
  'NOT_OFFERED',
] as const satisfies readonly Code[]
