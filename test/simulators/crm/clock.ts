export type Instant = number | string | Date

/** The CRM's time in ms. It advances with real time unless frozen, and tests can set it. */
export type Clock = {
  now: () => number
  set: (at: Instant) => void
  advance: (ms: number) => void
  freeze: () => void
  unfreeze: () => void
  isFrozen: () => boolean
}

export const toMs = (at: Instant): number => {
  const ms = typeof at === 'number' ? at : new Date(at).getTime()
  if (!Number.isFinite(ms)) throw new TypeError(`Not an instant: ${String(at)}`)
  return ms
}

export const createClock = ({at, frozen = false}: {at?: Instant; frozen?: boolean} = {}): Clock => {
  let base = at === undefined ? Date.now() : toMs(at)
  let since = frozen ? null : Date.now()
  const now = () => (since === null ? base : base + Date.now() - since)
  const set = (to: Instant) => {
    base = toMs(to)
    if (since !== null) since = Date.now()
  }
  return {
    now,
    set,
    advance: ms => set(now() + ms),
    freeze: () => {
      base = now()
      since = null
    },
    unfreeze: () => {
      if (since === null) since = Date.now()
    },
    isFrozen: () => since === null,
  }
}
