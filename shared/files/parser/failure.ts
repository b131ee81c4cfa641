import {type Code, Refusal} from '../../errors.ts'
import {StorageFailed} from '../../storage/failed.ts'
import {StorageMissing} from '../../storage/missing.ts'

/** An error as plain data for another thread. `kind` keeps the class, which decides how the API answers the error. */
export type ParserFailure =
  | {kind: 'refusal'; code: Code; message: string; extra: string; status: number}
  | {kind: 'storageMissing'; key: string}
  | {kind: 'storageFailed' | 'other'; message: string; stack: string | undefined; code: string | undefined}

export const packError = (error: unknown): ParserFailure => {
  if (error instanceof Refusal) {
    const {code, message, extra, status} = error
    return {kind: 'refusal', code, message, extra: JSON.stringify(extra), status}
  }
  if (error instanceof StorageMissing) return {kind: 'storageMissing', key: error.key}
  const isStorage = error instanceof StorageFailed
  const {message, stack, code} = (isStorage ? error.cause : error) as Error & {code?: unknown}
  return {kind: isStorage ? 'storageFailed' : 'other', message, stack, code: code === undefined ? undefined : String(code)}
}

export const unpackError = (failure: ParserFailure): Error => {
  if (failure.kind === 'refusal') return new Refusal(failure.code, failure.message, JSON.parse(failure.extra), failure.status)
  if (failure.kind === 'storageMissing') return new StorageMissing(failure.key)
  const {kind, message, stack, code} = failure
  const error = Object.assign(new Error(message), {...(stack !== undefined && {stack}), ...(code !== undefined && {code})})
  return kind === 'storageFailed' ? new StorageFailed(error) : error
}
