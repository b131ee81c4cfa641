import {storableText} from '../../schema/storable-text.ts'
import {type OutboundCode, OutboundFailure} from '../outbound/failure.ts'

export type SourceCode = OutboundCode | 'SIGN_IN_REFUSED' | 'NOT_FOUND' | 'HOST_KEY' | 'QUERY_FAILED' | 'TOO_MANY_ROWS'

/**
 * The reason why a fetch failed, in words for the person who configured the source. `UNREACHABLE`, `TIMED_OUT` and `NOT_FOUND` may be temporary,
 * so the worker fetches again, at most twice. The other causes are permanent.
 */
export class SourceFailure extends Error {
  override name = 'SourceFailure'
  readonly code: SourceCode

  constructor(code: SourceCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

export const asSourceFailure = (error: unknown): unknown =>
  error instanceof OutboundFailure ? new SourceFailure(error.code, error.message, {cause: error}) : error

export const tooLarge = (limitBytes: number, cause?: unknown) =>
  new SourceFailure(
    'TOO_LARGE',
    `The file exceeds the limit of ${limitBytes} bytes. Split the file, or choose a plan with a higher limit`,
    {cause},
  )

/** The code and message of an error of the database. Null: the error did not come from the database. */
export type QueryRefusal = [code: SourceCode, message: string] | null

const mostLetters = 300

export const oneLineOf = (message: string): string => storableText(message.replaceAll(/[\s\0]+/g, ' '), mostLetters)
