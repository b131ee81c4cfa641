import {ApiError, Unreachable} from '../http.ts'
import {EXIT} from './exit-codes.ts'

type ServerProblem = {exit: number; code: string; next?: string | null | undefined; detail?: object | undefined}

export class Failure extends Error {
  override name = 'Failure'
  readonly exit: number
  readonly code: string
  readonly next: string | null
  readonly detail: object

  constructor(message: string, {exit, code, next = null, detail = {}}: ServerProblem) {
    super(message)
    this.exit = exit
    this.code = code
    this.next = next
    this.detail = detail
  }
}

export const usage = (message: string, next = 'See: lading help') => new Failure(message, {exit: EXIT.usage, code: 'USAGE', next})

/** Throws if a request cannot contain the token. The message leaves the token out, because CI keeps it in a log. */
export const assertToken = (token: string) => {
  if (!/^[\x21-\x7e]+$/.test(token))
    throw usage(
      'The token contains a space, a line break or a special character',
      'Give the token alone, as lading tokens create printed it',
    )
}

/** Returns the failure for a local file that cannot be used: it is missing, unreadable, or has wrong contents. */
export const badFile = (message: string, next = 'Check the path and the read permission') =>
  new Failure(message, {exit: EXIT.usage, code: 'FILE', next})

export const notThere = (message: string, next: string, code = 'NOT_FOUND') => new Failure(message, {exit: EXIT.refused, code, next})

/** Returns the failure for a request that the API would refuse with this code. */
export const refused = (message: string, code: string) => new Failure(message, {exit: EXIT.refused, code, next: NEXT[code]})

export const signedOut = (message = 'You are not signed in', server?: string) =>
  new Failure(message, {
    exit: EXIT.signedOut,
    code: 'NOT_SIGNED_IN',
    next: `Sign in with: lading login${server ? ` --server ${server}` : ''}   (or set LADING_TOKEN, in CI)`,
  })

export const failureOf = (error: unknown): Failure => {
  if (error instanceof Failure) return error
  if (error instanceof ApiError) return refusalOf(error)
  if (error instanceof Unreachable)
    return new Failure(error.message, {exit: EXIT.unreachable, code: 'UNREACHABLE', next: wayTo(error.message)})
  const {message = String(error), code} = (error ?? {}) as {message?: string; code?: unknown}
  if (code === 'ENOSPC')
    return new Failure(message, {exit: EXIT.failed, code: 'FAILED', next: 'Free disk space, then run the command again'})
  if (['ENOENT', 'ENOTDIR', 'EISDIR', 'EROFS'].includes(String(code))) return badFile(message, 'Check the path')
  if (code === 'EACCES' || code === 'EPERM')
    return new Failure(message, {
      exit: EXIT.failed,
      code: 'FAILED',
      next: 'Change the permissions or the owner of the file',
    })
  return new Failure(message, {
    exit: EXIT.failed,
    code: 'FAILED',
    next: 'Run the command again. If it fails again, report it with this message',
  })
}

/** Returns a handler that throws an API error of this code as a failure with another exit code or advice. Other errors are thrown unchanged. */
export const restate =
  (code: string, change: (failure: Failure) => {exit?: number; next?: string}) =>
  (error: unknown): never => {
    if (!(error instanceof ApiError) || error.code !== code) throw error
    const failure = failureOf(error)
    throw new Failure(failure.message, {...failure, ...change(failure)})
  }

const wayTo = (message: string): string => {
  if (/\(\w*CERT\w*\)$/.test(message))
    return 'This machine does not trust the certificate of the server. Set NODE_EXTRA_CA_CERTS to its authority, or renew the certificate'
  if (/\(\w*SSL\w*\)$/.test(message)) return 'The server does not support HTTPS. Use http:// in the URL'
  return 'Check the URL (--server, LADING_URL or `lading login --server URL`), and that the server runs and is reachable from this machine'
}

/** Codes of temporary errors. The same command may succeed later. */
const UNAVAILABLE = ['MAINTENANCE', 'BUSY', 'UNAVAILABLE', 'RECORDS_MOVING', 'SANDBOX_UNAVAILABLE', 'HTTP_502', 'HTTP_503', 'HTTP_504']

const refusalOf = (error: ApiError): Failure => {
  const {status, code, message, body, request, retryAfterMs} = error
  const isElsewhere = status >= 300 && status < 400
  const exit = status === 401 ? EXIT.signedOut : isElsewhere || UNAVAILABLE.includes(code) ? EXIT.unreachable : EXIT.refused
  const {error: _, code: __, ...more} = typeof body === 'object' && body !== null ? body : {}
  const wait = retryAfterMs === null ? null : `Try again in ${Math.max(1, Math.ceil(retryAfterMs / 1000))} s`
  const later = code === 'RUN_RETRIED' && typeof more.run === 'string' ? `Retry the later run: lading retry ${more.run}` : null
  const next = later ?? NEXT[code] ?? wait ?? liftOf(more.lift) ?? usualNext(status, request)
  return new Failure(message, {exit, code, next, detail: {status, request, ...more}})
}

/** Returns the advice for an error if neither its code nor the server gives one. */
const usualNext = (status: number, request: string | null): string => {
  if (status < 400) return 'Use the URL of the redirect, with --server, LADING_URL or `lading login --server URL`'
  if (status === 404)
    return 'Check the id. List ids with `lading imports`, `lading runs`, `lading templates`, `lading libraries` or `lading connections`'
  if (status === 403) return 'Ask an admin of the org. lading whoami shows your role'
  if (status === 409) return 'Check the current state, then run the command again'
  if (status === 429) return 'Try again in a minute'
  if (status >= 500) return `Try again. If it fails again, contact the operator${request ? ` with the request id ${request}` : ''}`
  return 'Fix the listed fields, then run the command again'
}

const LOGIN = 'Sign in again with: lading login   (in CI: set LADING_TOKEN to a valid token)'

/** Advice by error code, for errors whose solution differs on the command line. */
const NEXT: Record<string, string> = {
  AUTH_REQUIRED: LOGIN,
  TOKEN_REVOKED: LOGIN,
  TOKEN_EXPIRED: LOGIN,
  ORG_NOT_FOUND: LOGIN,
  MEMBERSHIP_GONE: LOGIN,
  NO_ORG: 'Accept an invitation in the browser first, or sign in with another account',
  SESSION_REQUIRED: 'API tokens cannot do this. Unset LADING_TOKEN and sign in with `lading login`',
  ROLE_REQUIRED: 'Ask an admin of the org to do it, or to raise your role. lading whoami shows your role',
  CONNECTION_REQUIRED: 'Choose one with --connection. lading connections lists them',
  CONNECTION_NOT_FOUND: 'List connections with: lading connections',
  NO_DISCOVERY: 'Read the CRM first: lading discover',
  IMPORT_NOT_FOUND: 'List imports with: lading imports',
  RUN_NOT_FOUND: 'List runs with: lading runs',
  IMPORT_RUNNING: 'Wait for the active run with `lading watch RUN`, or cancel it with `lading cancel RUN`',
  DELETES_UNCONFIRMED: 'Run it with --dry-run --watch, check the plan, then repeat it with --confirm-deletes and the number of deletes',
  APPROVAL_REQUIRED:
    'Another admin must approve the plan in the browser. Make a plan with: lading plan FILE   Then apply it with: lading apply RUN',
  PLAN_CHANGED: 'Make a new plan with: lading plan FILE',
  PLAN_EXPIRED: 'Make a new plan with: lading plan FILE',
  SNAPSHOT_CHANGED:
    'Save the failed rows with `lading results RUN --failed -o failed.csv`, correct them, then upload that file on the results page of the run',
  FAILED_FILE: 'Upload the file on the results page of the run. The rows are then retried, and none is written twice',
  DRY_RUN: 'A dry run has a plan instead: lading results RUN --plan',
  NOT_A_DRY_RUN: 'This run has results instead: lading results RUN',
  SOURCE_REQUIRED: 'Choose a file with --source. The error lists them',
  WRITES_PAUSED: 'Ask an admin to resume writing in the settings. A dry run is possible: --dry-run',
  REGISTRY_CONFLICT:
    'The configuration changed after you pulled. Run `lading config pull` (it keeps your changes and reports conflicts), review with `lading config diff`, then push again',
  TEMPLATE_CONFLICT: 'The template has changed. Check it with `lading templates show`, then run the command again',
  CONNECTION_ENDED: 'Connect the CRM again in the browser. lading connections shows the state',
  CONTRACT_CONFLICT: 'The data contract has changed. Check it with `lading templates contract`, then run the command again',
  SCHEDULE_CONFLICT: 'The schedule has changed. Check it with `lading schedules show`, then run the command again',
  UNKNOWN_FIELDS: 'Correct the names. If they are new in the CRM, read it again: lading discover',
  FIELD_NOT_UNIQUE: 'Correct the field in the CRM and run `lading discover`, or set another `idempotencyField` in the module',
  FIELD_MAPPED: 'Remove the mapping of the field, or set another `idempotencyField` in the module',
  LIBRARY_MANAGED: 'Use a session for libraries managed by people, and an API token for those managed by the repository',
}

/** Describes the easiest way to lift a limit of the plan, or returns null if there is none. */
const liftOf = (lift: unknown): string | null => {
  const [way] = Array.isArray(lift) ? lift : []
  if (!way) return null
  if (way.by === 'fewer') return `${way.rows} rows are left in the plan. Send fewer rows`
  if (way.by === 'plan') return `Change to the plan ${way.name}`
  if (way.by === 'trial') return 'Ask an owner of the org to start the trial'
  if (way.by === 'pack') return `Buy the pack ${way.name}`
  if (way.by === 'period') return `Wait for the next period, which begins at ${way.at}`
  if (way.by === 'payment') return 'A payment is overdue. Ask an admin to pay it under Plan & usage'
  return 'Ask the operator of the service'
}
