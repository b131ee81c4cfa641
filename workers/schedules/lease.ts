import {setTimeout as sleep} from 'node:timers/promises'
import {type Firing, renewFiring} from '../../sql/firings.ts'
import type {Work} from '../worker.ts'

/** Another worker owns the firing now, or the firing was deleted. This worker stops. */
export class Superseded extends Error {
  override name = 'Superseded'
}

/** Renews the lease of a firing in progress. `signal` aborts with the work's own signal, and when the lease is lost. */
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
      log.warn({err}, 'could not renew the lease of a firing')
      return true
    })
    if (!isOurs) lost.abort(new Superseded('Another worker owns this firing'))
  }
}
