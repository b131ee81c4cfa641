/**
 * The age of the data, in ms, from which `ensureFresh` waits for an update. From the age `refreshMs`, `ensureFresh` starts an update and does not
 * wait.
 */
export const freshMs = 30_000
const refreshMs = 20_000

/** Keeps data fresh. Runs at most one update at a time. */
export type RefreshAhead = {
  /**
   * Waits for an update if the data is at least `freshMs` old. Returns whether the data is fresh afterwards, because a slow update returns old
   * data. Throws if an update that the caller waits for fails.
   */
  ensureFresh(): Promise<boolean>
  /** Resolves when no update is in progress. */
  idle(): Promise<void>
}

export const openRefreshAhead = (update: () => Promise<void>, now = () => performance.now()): RefreshAhead => {
  let [refreshFrom, freshUntil] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  let updating: Promise<void> | null = null
  const run = async () => {
    const started = now()
    // If this update fails, the next one starts only when the data is no longer fresh.
    refreshFrom = Number.POSITIVE_INFINITY
    await update()
    refreshFrom = started + refreshMs
    freshUntil = started + freshMs
  }
  const refresh = () => (updating ??= run().finally(() => (updating = null)))
  return {
    async ensureFresh() {
      const at = now()
      if (at >= freshUntil) await refresh()
      else if (at >= refreshFrom) refresh().catch(() => {})
      return now() < freshUntil
    },
    async idle() {
      await updating?.catch(() => {})
    },
  }
}
