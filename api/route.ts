import type {IncomingHttpHeaders, IncomingMessage} from 'node:http'
import {z} from 'zod'
import type {Model} from '../shared/ai/model.ts'
import type {PaymentProvider} from '../shared/billing/payment-provider.ts'
import type {Config} from '../shared/config.ts'
import type {Crm} from '../shared/crm/crm.ts'
import type {Code} from '../shared/errors.ts'
import type {Log} from '../shared/log.ts'
import type {Metrics} from '../shared/metrics/scrape.ts'
import type {Outbound} from '../shared/outbound/outbound.ts'
import type {Parsing} from '../shared/parsing/pool.ts'
import type {Staff} from '../shared/people/staff-action.ts'
import type {Queue} from '../shared/queue.ts'
import type {Storage} from '../shared/storage.ts'
import type {Hot, Pool} from '../sql/database.ts'
import type {Access, Caller, Effect, Insider, Member} from './access.ts'
import type {Reply} from './reply.ts'

/** The outside world as a handler is handed it, built once per process. */
export type Tools = {
  config: Config
  db: Pool
  hot: Hot
  queue: Queue
  storage: Storage
  /** Reads tenants' files outside of the main thread. */
  parsing: Parsing
  crm: Crm
  payment: PaymentProvider
  outbound: Outbound
  model: Model
  metrics: Metrics
  log: Log
}

/** The request as far as a handler may care. */
export type Asked = {
  id: string
  method: string
  headers: IncomingHttpHeaders
  /** The client's IP address, behind as many proxies as TRUSTED_PROXIES says. */
  address: string
  /** Aborts when the client goes. */
  signal: AbortSignal
  /** Aborts when this process is asked to stop. */
  draining: AbortSignal
  /** Throws what the gates refuse by now: asked again and again by an answer that goes on for minutes. */
  assertAdmitted(): Promise<unknown>
}

/** What a status answers: a schema for JSON, or a media type and in words what it holds, such as a file's bytes. No type: no body. */
export type AnswerShape = z.ZodType | Told
export type Told = {type: string | null; what: string; schema?: z.ZodType}

export type Sent = {type: string; what: string; schema?: z.ZodType}

type Schema = z.ZodType | undefined
type Output<S> = S extends z.ZodType ? z.output<S> : undefined
type Body = z.ZodType | 'stream' | 'bytes' | undefined
type CallerOf<A> = A extends {public: true}
  ? null
  : A extends {operator: true}
    ? Insider<null>
    : A extends {backoffice: true}
      ? Insider<A extends {sessionOnly: true} ? NonNullable<Staff> : Staff>
      : A extends {noOrg: true}
        ? Caller
        : Member

export type Input<A = Access, P = undefined, Q = undefined, B = undefined> = Tools & {
  caller: CallerOf<A>
  params: Output<P>
  query: Output<Q>
  body: B extends 'stream' ? IncomingMessage : B extends 'bytes' ? Buffer : Output<B>
  request: Asked
}

type Declared<A extends Access, P extends Schema, Q extends Schema, B extends Body> = {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  path: `/${string}`
  access: A
  /** What the API reference says of it in one line: a verb first, no full stop. */
  summary: string
  /** What a caller has to know besides, in Markdown. */
  description?: string
  /**
   * By status, each answer it makes by itself, with one shape or one of several: successes, redirects, and what fails in another form
   * than the envelope. Every answer of the tests is held against it.
   */
  answers: Record<number, AnswerShape | readonly AnswerShape[]>
  /** What it refuses with of its own; what its gates, its body and its schemas refuse is known from them. A status is given where it is not the code's. */
  refusals: readonly (Code | {code: Code; status: number})[]
  /** What a body that no schema reads is to be: its media type, and what is in it; or one of several. */
  sends?: Sent | readonly Sent[]
  /** One good request and what it is answered; both are held against the schemas. */
  example?: {params?: object; query?: object; body?: unknown; answer?: unknown}
  /** What it may change: `read` by default for GET, else `write`. Staff views of an org are closed to `money`, `publisher` and `access`. */
  effect?: Effect
  params?: P
  query?: Q
  /**
   * A schema for JSON, `bytes` for the whole body as it was sent, or `stream` for the body as it comes. An object refuses unknown keys
   * unless it is declared with `z.looseObject`.
   */
  body?: B
  /** How large JSON or bytes may be, where a mebibyte is too little. */
  mostBytes?: number
  status?: number
  /** Looked at before the bearer is: throws a refusal. */
  guard?(config: Config, headers: IncomingHttpHeaders): void
  /** What a 401 asks for, where it is more than a bearer. */
  challenge?(config: Config): string
  handle(input: Input<A, P, Q, B>): Promise<object> | object
}

// biome-ignore lint/suspicious/noExplicitAny: a table holds routes of every shape
export type Route = Declared<Access, any, any, any>
export type Answer = object | Reply

/** Declares a route: the types of a handler's input come from the schemas beside it, and its body refuses unknown keys. */
export const route = <const A extends Access, P extends Schema = undefined, Q extends Schema = undefined, B extends Body = undefined>(
  declared: Declared<A, P, Q, B>,
): Route => ({...declared, body: refuseUnknownKeys(declared.body)}) as unknown as Route

/** Without a catch-all, zod removes unknown keys silently: a misspelled `expiresAt` would create a token that never expires. */
const refuseUnknownKeys = (body: Body): Body => (body instanceof z.ZodObject && body.def.catchall === undefined ? body.strict() : body)

export const effectOf = ({effect, method}: Pick<Route, 'effect' | 'method'>): Effect => effect ?? (method === 'get' ? 'read' : 'write')
