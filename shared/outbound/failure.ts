/**
 * `HOST_REFUSED`: the operator or the form of the address forbids it; `ADDRESS_REFUSED`: the name leads to an address that is not public;
 * `UNREACHABLE` and `TIMED_OUT` may pass; `BAD_ANSWER`: an answer came that cannot be used, and would come again.
 */
export type OutboundCode = 'HOST_REFUSED' | 'ADDRESS_REFUSED' | 'UNREACHABLE' | 'TIMED_OUT' | 'REDIRECTED' | 'TOO_LARGE' | 'BAD_ANSWER'

/** Why a call out did not come about, in words for whoever wrote the address. Never a path, a query, a credential or an address of ours. */
export class OutboundFailure extends Error {
  override name = 'OutboundFailure'
  readonly code: OutboundCode
  /** Of the answer, where one came. */
  readonly status: number | null

  constructor(code: OutboundCode, message: string, {status = null, ...options}: ErrorOptions & {status?: number | null} = {}) {
    super(message, options)
    this.code = code
    this.status = status
  }
}
