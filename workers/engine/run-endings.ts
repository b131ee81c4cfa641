import {StorageFailed} from '../../shared/storage/failed.ts'
import type {RunStop} from '../../sql/run-heads.ts'

/** Another owner has the run, or may have it. This process sends and writes nothing more. */
export class LeaseLost extends Error {
  override name = 'LeaseLost'
}

export const assertOwner = (isOwner: boolean): void => {
  if (!isOwner) throw new LeaseLost('Another owner took the run')
}

/** The run stops before the end of its file. Only a retry continues it. */
export class RunStopped extends Error {
  override name = 'RunStopped'
  readonly stop: RunStop
  constructor(stop: RunStop) {
    super(stop.message)
    this.stop = stop
  }
}

/**
 * The run cannot write for now. It pauses for at least `seconds`. The sweep then resumes the run, unless a person must act first, for
 * example on a held run.
 */
export class RunPaused extends Error {
  override name = 'RunPaused'
  readonly code: string
  readonly seconds: number
  constructor(code: string, message: string, seconds: number) {
    super(message)
    this.code = code
    this.seconds = seconds
  }
}

/** Throws a pause if the file storage failed, so that an outage does not count as a crash of the run. Throws any other error unchanged. */
export const pauseIfStorageFailed = (error: unknown): never => {
  if (error instanceof StorageFailed)
    throw new RunPaused('UNAVAILABLE', 'The file storage is unavailable. The run resumes automatically', 30)
  throw error
}

/** The process was asked to stop. Another process continues the run at its cursor. */
export class Drained extends Error {
  override name = 'Drained'
}
