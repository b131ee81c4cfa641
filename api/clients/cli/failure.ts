import {ApiError, Unreachable} from '../http.ts'
import {EXIT} from './exit-codes.ts'

type Told = {exit: number; code: string; next?: string | null | undefined; detail?: object | undefined}

/** A command that ends without success: what happened, what to do next, and what the process exits with. */
export class Failure extends Error {
  override name = 'Failure'
  readonly exit: number
  readonly code: string
  readonly next: string | null
  readonly detail: object

  constructor(message: string, {exit, code, next = null, detail = {}}: Told) {
    super(message)
    this.exit = exit
    this.code = code
    this.next = next
    this.detail = detail
  }
}

export const usage = (message: string, next = 'See: lading help') => new Failure(message, {exit: EXIT.usage, code: 'USAGE', next})

/** A file on this machine that a command cannot do without. */
export const badFile = (message: string, next = 'Check its path, and that this user may read it') =>
  new Failure(message, {exit: EXIT.usage, code: 'FILE', next})

/** What is named and is not there, as the API refuses it where it is asked by its id. */
export const notThere = (message: string, next: string, code = 'NOT_FOUND') => new Failure(message, {exit: EXIT.refused, code, next})

export const signedOut = (message = 'Nobody is signed in', server?: string) =>
  new Failure(message, {
    exit: EXIT.signedOut,
    code: 'NOT_SIGNED_IN',
    next: `Sign in with: lading login${server ? ` --server ${server}` : ''}   (or set LADING_TOKEN, in CI)`,
  })

/** Whatever was thrown, as a person and a script are told of it. */
export const failureOf = (error: unknown): Failure => {
  if (error instanceof Failure) return error
  if (error instanceof ApiError) return refusalOf(error)
  if (error instanceof Unreachable)
    return new Failure(error.message, {exit: EXIT.unreachable, code: 'UNREACHABLE', next: wayTo(error.message)})
  const {message = String(error), code} = (error ?? {}) as {message?: string; code?: unknown}
  if (code === 'ENOSPC') return new Failure(message, {exit: EXIT.failed, code: 'FAILED', next: 'Make room on the disk, and run it again'})
  if (['ENOENT', 'ENOTDIR', 'EISDIR', 'EROFS'].includes(String(code))) return badFile(message, 'Check the path')
  if (code === 'EACCES' || code === 'EPERM')
    return new Failure(message, {
      exit: EXIT.failed,
      code: 'FAILED',
      next: 'This user may not touch that file: change its rights or its owner',
    })
  return new Failure(message, {exit: EXIT.failed, code: 'FAILED', next: 'Run it again; if it stays so, report it with this message'})
}

const wayTo = (message: string): string => {
  if (/\(\w*CERT\w*\)$/.test(message))
    return 'Its certificate is not one this machine trusts: name the authority that signed it in NODE_EXTRA_CA_CERTS, or have the server renew it'
  if (/\(\w*SSL\w*\)$/.test(message)) return 'It does not speak https there: write the address with http://'
  return 'Check the address (--server, LADING_URL or `lading login --server URL`), that the server runs and that this machine reaches it'
}

/** Said for now and not for good: the same command may go well in a minute. */
const UNAVAILABLE = ['MAINTENANCE', 'BUSY', 'UNAVAILABLE', 'RECORDS_MOVING', 'SANDBOX_UNAVAILABLE', 'HTTP_502', 'HTTP_503', 'HTTP_504']

const refusalOf = (error: ApiError): Failure => {
  const {status, code, message, body, request, retryAfterMs} = error
  const isElsewhere = status >= 300 && status < 400
  const exit = status === 401 ? EXIT.signedOut : isElsewhere || UNAVAILABLE.includes(code) ? EXIT.unreachable : EXIT.refused
  const {error: _, code: __, ...more} = typeof body === 'object' && body !== null ? body : {}
  const wait = retryAfterMs === null ? null : `Try again in ${Math.max(1, Math.ceil(retryAfterMs / 1000))} s`
  const later = code === 'RUN_RETRIED' && typeof more.run === 'string' ? `Carry on the later one: lading retry ${more.run}` : null
  const next = later ?? NEXT[code] ?? wait ?? liftOf(more.lift) ?? usualNext(status, request)
  return new Failure(message, {exit, code, next, detail: {status, request, ...more}})
}

/** Where neither the code nor the server says more. */
const usualNext = (status: number, request: string | null): string => {
  if (status < 400) return 'Use the address it sends to, with --server, LADING_URL or `lading login --server URL`'
  if (status === 404)
    return 'Check the id: `lading runs`, `lading templates`, `lading libraries` and `lading connections` list what there is'
  if (status === 403) return 'Ask an administrator of the org: lading whoami shows who you are there'
  if (status === 409) return 'Look at how it stands now, and do it again'
  if (status === 429) return 'Try again in a minute'
  if (status >= 500) return `Try again; if it stays so, tell the operator${request ? ` the request's id: ${request}` : ''}`
  return 'Put right what is named, and run it again'
}

const LOGIN = 'Sign in again with: lading login   (in CI: set LADING_TOKEN to a token that is good)'

/** Where the server's own sentence cannot know that a command line asked. */
const NEXT: Record<string, string> = {
  AUTH_REQUIRED: LOGIN,
  TOKEN_REVOKED: LOGIN,
  TOKEN_EXPIRED: LOGIN,
  ORG_NOT_FOUND: LOGIN,
  MEMBERSHIP_GONE: LOGIN,
  NO_ORG: 'Accept an invitation in the browser first, or sign in with another account',
  SESSION_REQUIRED: 'Tokens cannot do this: sign in as a person with `lading login`, with LADING_TOKEN unset',
  ROLE_REQUIRED: 'Ask an administrator of the org to do it, or to raise your role: lading whoami shows the one you have',
  CONNECTION_REQUIRED: 'Say which with --connection: lading connections lists them',
  CONNECTION_NOT_FOUND: 'List the connections there are: lading connections',
  NO_DISCOVERY: 'Have the CRM read first: lading discover',
  IMPORT_NOT_FOUND: 'List the imports there are: lading runs',
  RUN_NOT_FOUND: 'List the runs there are: lading runs',
  IMPORT_RUNNING: 'Wait for the run under way with `lading watch RUN`, or stop it with `lading cancel RUN`',
  DRY_RUN: 'Of a dry run there is a plan instead: lading results RUN --plan',
  NOT_A_DRY_RUN: 'Of a run that writes there are results instead: lading results RUN',
  SOURCE_REQUIRED: 'Say which file with --source; the issues name them',
  WRITES_PAUSED: 'An administrator lifts the pause in the settings; a dry run is possible meanwhile: --dry-run',
  REGISTRY_CONFLICT:
    'Somebody changed it after you pulled. Take what is there with `lading config pull` (your changes stay, conflicts are named), look with `lading config diff`, push again',
  TEMPLATE_CONFLICT: 'Somebody changed it meanwhile: look with `lading templates show`, and do it again',
  SCHEDULE_CONFLICT: 'Somebody changed it meanwhile: look with `lading schedules show`, and do it again',
  UNKNOWN_FIELDS: 'Correct the names, or have the CRM read again if they are new: lading discover',
  LIBRARY_MANAGED: 'A session publishes what people own, an API token what the repository owns: use the other one',
}

/** The nearest way out of a plan's limit. */
const liftOf = (lift: unknown): string | null => {
  const [way] = Array.isArray(lift) ? lift : []
  if (!way) return null
  if (way.by === 'fewer') return `There is room for ${way.rows} rows: send fewer`
  if (way.by === 'plan') return `The plan ${way.name} has room`
  if (way.by === 'trial') return 'An owner of the org may start the trial'
  if (way.by === 'pack') return `The pack ${way.name} can be bought`
  if (way.by === 'period') return `The next period begins at ${way.at}`
  if (way.by === 'payment') return 'A payment is late: an administrator puts that right under Plan & usage'
  return 'Ask the operator of the service'
}
