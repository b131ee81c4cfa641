/**
 * The cause of a failed outbound call. `HOST_REFUSED`: the operator's list or the form of the URL forbids it. `ADDRESS_REFUSED`: the name
 * resolves to a non-public address. `UNREACHABLE`, `TIMED_OUT`: may be temporary. `BAD_ANSWER`: the answer is unusable, and a retry would not
 * help.
 */
export type OutboundCode = 'HOST_REFUSED' | 'ADDRESS_REFUSED' | 'UNREACHABLE' | 'TIMED_OUT' | 'REDIRECTED' | 'TOO_LARGE' | 'BAD_ANSWER'

type OutboundFailureOptions = ErrorOptions & {status?: number | null; location?: string | null}

/**
 * A failed outbound call, described for the user who entered the URL. The message never contains a path, a query, a credential or an internal
 * address.
 */
export class OutboundFailure extends Error {
  override name = 'OutboundFailure'
  readonly code: OutboundCode
  readonly status: number | null
  /** Where a redirect leads. It may contain a credential, so it is never shown. */
  readonly location: string | null

  constructor(code: OutboundCode, message: string, {status = null, location = null, ...options}: OutboundFailureOptions = {}) {
    super(message, options)
    this.code = code
    this.location = location
    this.status = status
  }
}
