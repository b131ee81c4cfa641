import type {Stop} from '../../sql/run-heads.ts'

/** Another owner has the run, or may have: nothing more is sent or written from here. */
export class LeaseLost extends Error {
  override name = 'LeaseLost'
}

/** The run is to write no more rows. Final. */
export class RunStopped extends Error {
  override name = 'RunStopped'
  readonly stop: Stop
  constructor(stop: Stop) {
    super(stop.message)
    this.stop = stop
  }
}

/** Nothing can be written for now: what is in flight settles, the run lies down for `seconds`, and the sweep wakes it. */
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

/** The process was asked to stop: another one carries on at the cursor. */
export class Drained extends Error {
  override name = 'Drained'
}
