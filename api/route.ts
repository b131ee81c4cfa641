import type {IncomingHttpHeaders, IncomingMessage} from 'node:http'
import {z} from 'zod'
import type {Staff} from '../shared/accounts/staff-action.ts'
import type {Model} from '../shared/assistant/model.ts'
import type {PaymentProvider} from '../shared/billing/payment-provider.ts'
import type {Config} from '../shared/config.ts'
import type {Crm} from '../shared/crm/crm.ts'
import type {Code} from '../shared/errors.ts'
import type {Parsing} from '../shared/files/parser/pool.ts'
import type {Queue} from '../shared/queue.ts'
import type {Outbound} from '../shared/schedules/outbound/outbound.ts'
import type {Storage} from '../shared/storage/storage.ts'
import type {Log} from '../shared/telemetry/log.ts'
import type {Metrics} from '../shared/telemetry/metrics/scrape.ts'
import type {Hot, Pool} from '../sql/database.ts'
import type {Caller, Effect, MemberCaller, RouteAccess, StaffCaller} from './access.ts'
import type {Tag} from './reference/tags.ts'

/** The services that handlers use, created once per process. */
export type ApiDeps = {
  config: Config
  db: Pool
  hot: Hot
  queue: Queue
  storage: Storage
  /** Parses uploaded files outside the main thread. */
  parsing: Parsing
  crm: Crm
  payment: PaymentProvider
  outbound: Outbound
  model: Model
  metrics: Metrics
  log: Log
}

export type ApiRequest = {
  id: string
  method: string
  headers: IncomingHttpHeaders
  /** The client's IP address, taken from behind TRUSTED_PROXIES proxies. */
  address: string
  /** Aborts when the client disconnects. */
  signal: AbortSignal
  /** Aborts when this process starts to drain. */
  draining: AbortSignal
  /** Repeats the access check and throws its refusal. Long-lived streams call this function regularly. */
  assertAdmitted(): Promise<unknown>
}

/** The shape of a response: a schema for JSON, or a media type with a description, such as for a file. A null type means no body. */
export type AnswerShape = z.ZodType | StreamAnswer
type StreamAnswer = {type: string | null; what: string; schema?: z.ZodType}

export type StreamShape = {type: string; what: string; schema?: z.ZodType}

type Schema = z.ZodType | undefined
type Output<S> = S extends z.ZodType ? z.output<S> : undefined
type Body = z.ZodType | 'stream' | 'bytes' | undefined
type CallerOf<A> = A extends {public: true}
  ? null
  : A extends {operator: true}
    ? StaffCaller<null>
    : A extends {backoffice: true}
      ? StaffCaller<A extends {sessionOnly: true} ? NonNullable<Staff> : Staff>
      : A extends {noOrg: true}
        ? Caller
        : MemberCaller

export type Input<A = RouteAccess, P = undefined, Q = undefined, B = undefined> = ApiDeps & {
  caller: CallerOf<A>
  params: Output<P>
  query: Output<Q>
  body: B extends 'stream' ? IncomingMessage : B extends 'bytes' ? Buffer : Output<B>
  request: ApiRequest
}

type RouteInput<A extends RouteAccess, P extends Schema, Q extends Schema, B extends Body> = {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  path: `/${string}`
  /** The name in generated clients, a verb first. It never changes. */
  operationId: string
  tag: Tag
  access: A
  /** One line of the API reference: a verb first, no full stop. */
  summary: string
  /** Further details for callers, in Markdown. */
  description?: string
  /**
   * Responses by status, with one shape or several: successes, redirects, and errors that do not use the envelope. Tests check every response
   * against these shapes.
   */
  answers: Record<number, AnswerShape | readonly AnswerShape[]>
  /**
   * Refusals specific to this route. Refusals of its access checks, body and schemas are derived. `status` is set only where it differs from the
   * code's default.
   */
  refusals: readonly (Code | {code: Code; status: number})[]
  /** Media types and contents of a body without a schema. */
  sends?: StreamShape | readonly StreamShape[]
  /** A valid request and its response. Tests check both against the schemas. */
  example?: {params?: object; query?: object; body?: unknown; answer?: unknown}
  /**
   * What the route may change; by default `read` for GET, else `write`. Staff views of an org cannot use `money`, `publisher` or `access`.
   */
  effect?: Effect
  /** Whether a refusal can follow a change that stays. A refused write of a staff view then stays recorded. */
  mayRefuseAfterChange?: true
  params?: P
  query?: Q
  /**
   * A schema for JSON, `bytes` for the whole raw body, or `stream`. Object schemas refuse unknown keys unless declared with
   * `z.looseObject`.
   */
  body?: B
  /** Maximum size of JSON or bytes, if not 1 MiB. */
  mostBytes?: number
  status?: number
  /** Checks the request before authentication. Throws a refusal. */
  guard?(config: Config, headers: IncomingHttpHeaders): void
  /** Returns the `WWW-Authenticate` value of a 401. Default: `Bearer`. */
  challenge?(config: Config): string
  handle(input: Input<A, P, Q, B>): Promise<object> | object
}

// biome-ignore lint/suspicious/noExplicitAny: a table holds routes of every shape
export type Route = RouteInput<RouteAccess, any, any, any>

/** Declares a route. Input types are derived from its schemas. */
export const route = <const A extends RouteAccess, P extends Schema = undefined, Q extends Schema = undefined, B extends Body = undefined>(
  declared: RouteInput<A, P, Q, B>,
): Route => ({...declared, body: refuseUnknownKeys(declared.body)}) as unknown as Route

/** Makes the body schema refuse unknown keys. Zod would remove them silently: a misspelled `expiresAt` would create a token that never expires. */
const refuseUnknownKeys = (body: Body): Body => (body instanceof z.ZodObject && body.def.catchall === undefined ? body.strict() : body)

export const effectOf = ({effect, method}: Pick<Route, 'effect' | 'method'>): Effect => effect ?? (method === 'get' ? 'read' : 'write')
