import {z} from 'zod'
import {ROLES} from '../../shared/accounts/roles.ts'
import {codes} from '../../shared/errors.ts'

/** The schema is strict, so tests fail on keys that are not declared. */
export const Answer = z.strictObject

export const Moment = (what: string) =>
  z.iso.datetime({precision: 3}).meta({description: `${what}. ISO 8601 in UTC, to the millisecond`, examples: ['2026-03-01T08:30:00.000Z']})

export const Id = (prefix: string, what: string) =>
  z.string().meta({description: `${what}. Opaque, begins with \`${prefix}_\``, examples: [`${prefix}_01k9m0v6f8e2r4t7w3y5z1a2b3`]})

const JobId = (what = 'The job') => z.uuid().meta({description: what, examples: ['0f8fad5b-d9cb-469f-a165-70867728950e']})

export const Count = (what: string) => z.int().nonnegative().describe(what)

export const Bytes = (what: string) => z.int().nonnegative().describe(`${what}, in bytes`)

/** The amount may be negative only where the description says so. */
export const Amount = (what: string) => z.int().describe(`${what}, in the smallest unit of the currency (cents for EUR and USD)`)

export const Currency = z.string().meta({description: 'ISO 4217, lower case', examples: ['eur']})

export const RoleName = z.enum(ROLES).describe('A role in an org, from the least to the most: operator, builder, admin, owner')

export const NextCursor = z
  .string()
  .nullable()
  .describe('Send it as `cursor` to get the next page. Null: this is the last page. Opaque, and valid only for the same list and filters')

export const Json = (what: string) => z.unknown().describe(what)

/** The schema of an object whose keys come from the customer, such as columns or fields. */
export const ByName = <V extends z.ZodType>(value: V, what: string) => z.record(z.string(), value).describe(what)

export const File = (type: string, what: string) => ({type, what})

/** Describes a response without a body, such as a redirect or 304. */
export const Nothing = (what: string) => ({type: null, what})

export const CrmSaid = z
  .strictObject({
    code: z.string().nullable().describe("The CRM's error code. Null: none"),
    status: z.int().nullable().describe('The HTTP status. Null: the CRM did not answer'),
    details: Json("The CRM's error details, unchanged. Null: none"),
    retryable: z.boolean().describe('Whether the same request may succeed later'),
    response: Json('The whole JSON response, unchanged. Null: none'),
    unanswered: z.boolean().describe('True: the request may or may not have been carried out. False: the CRM refused it'),
    rateLimited: z.boolean().optional().describe("Whether the CRM's rate limit was reached"),
    retryAfterMs: z.int().nonnegative().nullable().describe('The wait that the CRM asked for, in milliseconds. Null: none'),
    quotaSpent: z.boolean().describe("Whether the CRM's daily API quota is exhausted"),
  })
  .meta({id: 'CrmProblem', description: 'A refusal or failure of the CRM'})

/** A refusal inside a successful response. Its further keys depend on the code. */
export const RefusalSaid = z
  .looseObject({
    error: z.string().describe('What happened and what to do, for people'),
    code: z.enum(codes).describe('The error code, for programs'),
  })
  .meta({id: 'RefusalSaid', description: 'A refusal inside a response'})

export const JOB_STATES = ['queued', 'running', 'done', 'refused', 'failed', 'cancelled'] as const

const jobFields = <R extends z.ZodType>(result: R) => ({
  id: JobId('The job. `GET /orgs/{org}/jobs/{id}` reads it'),
  name: z.string().meta({description: 'The kind of job', examples: ['import.check']}),
  state: z.enum(JOB_STATES).describe('`done`, `refused`, `failed` and `cancelled` are final'),
  result: result.nullable().describe('The result. Null unless `done`'),
  error: RefusalSaid.nullable().describe('Why it was refused or failed. Null otherwise'),
  createdAt: Moment('When it was created'),
  startedAt: Moment('When a worker last started it').nullable().describe('When a worker last started it. Null: not yet'),
  endedAt: Moment('When it ended').nullable().describe('When it ended. Null: not yet'),
})

/** The schema of a job that no longer belongs to an org, such as the erasure of an org. */
export const JobOf = <R extends z.ZodType>(result: R) => z.strictObject(jobFields(result)).describe('The job')

export const JobWith = <R extends z.ZodType>(result: R) =>
  JobOf(result)
    .extend({
      progress: z
        .strictObject({
          done: Count('Units done'),
          total: z.int().nonnegative().nullable().describe('Units in total. Null: not known yet'),
          unit: z
            .string()
            .nullable()
            .meta({description: 'The unit', examples: ['rows']}),
        })
        .nullable()
        .describe('Progress. Null: not reported'),
    })
    .describe('The job')

export const JobAnswer = JobWith(Json('Depends on the kind of job. See the route that creates it')).meta({
  id: 'Job',
  description: 'A job for a worker',
})

export const registryVersion = z
  .int()
  .nonnegative()
  .optional()
  .describe("The version of the org's configuration after this edit. Absent without `If-Match`, or if others edited at the same time")

export const Version = (what: string) => z.int().nonnegative().describe(`${what}. Send it as \`If-Match\` with a change`)

export const Removed = (prefix: string, what: string) => Answer({removed: Id(prefix, what)})
