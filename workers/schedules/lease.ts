import {setTimeout as sleep} from 'node:timers/promises'
import {type Firing, renewFiring} from '../../sql/firings.ts'
import type {Work} from '../worker.ts'

/** Somebody else is at the firing by now, or it is gone: nothing more of it is ours. */
export class Superseded extends Error {
  override name = 'Superseded'
}

/** Keeps the firing ours while it is worked at. `signal` aborts with the work's own, and when the firing is no longer ours. */
export const holdLease = (work: Work, firing: Firing) => {
  const [lost, over] = [new AbortController(), new AbortController()]
  const signal = AbortSignal.any([work.signal, lost.signal])
  void renew(work, firing, {over: AbortSignal.any([over.signal, signal]), lost})
  return {signal, end: () => over.abort()}
}

const renew = async ({db, config, log}: Work, firing: Firing, {over, lost}: {over: AbortSignal; lost: AbortController}) => {
  const seconds = config.LEASE_SECONDS
  while (!over.aborted) {
    await sleep((seconds * 1000) / 3, undefined, {signal: over}).catch(() => {})
    if (over.aborted) return
    const isOurs = await renewFiring(db, firing, seconds).catch(err => {
      log.warn({err}, 'the lease of a firing could not be renewed')
      return true
    })
    if (!isOurs) lost.abort(new Superseded('Another worker is at this firing'))
  }
}
