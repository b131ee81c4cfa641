import {type OutboundCode, OutboundFailure} from '../outbound/failure.ts'

/** Beside what keeps any call out from coming about: the credentials are not taken; the file is not there; another host answered. */
export type SourceCode = OutboundCode | 'SIGN_IN_REFUSED' | 'NOT_FOUND' | 'HOST_KEY'

/** Why a file could not be fetched, in words for whoever set the source up. `UNREACHABLE` and `TIMED_OUT` may pass; the others stay. */
export class SourceFailure extends Error {
  override name = 'SourceFailure'
  readonly code: SourceCode

  constructor(code: SourceCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** A call out that did not come about is a fetch that did not; anything else is passed on as it is. */
export const asSourceFailure = (error: unknown): unknown =>
  error instanceof OutboundFailure ? new SourceFailure(error.code, error.message, {cause: error}) : error

export const tooLarge = (limitBytes: number, cause?: unknown) =>
  new SourceFailure(
    'TOO_LARGE',
    `The file has more than the ${limitBytes} bytes a file may have here: split it, or choose a plan that takes more`,
    {cause},
  )
