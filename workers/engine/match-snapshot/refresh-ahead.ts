/** Ages of the data in ms. From `refreshMs` on, `ensureFresh` starts an update in the background. From `freshMs` on, it waits for an update. */
const [refreshMs, freshMs] = [20_000, 30_000] as const

/** Keeps data fresh by updates, one at a time. */
export type RefreshAhead = {
  /** Resolves when the data is younger than `freshMs`. Throws if an update that the caller waits for fails. */
  ensureFresh(): Promise<void>
  /** Resolves when no update is in progress. */
  idle(): Promise<void>
}

export const openRefreshAhead = (update: () => Promise<void>, now = () => performance.now()): RefreshAhead => {
  let [refreshFrom, freshUntil] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  let updating: Promise<void> | null = null
  const run = async () => {
    const started = now()
    // After a failure, the next update waits until the data is no longer fresh.
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
    },
    async idle() {
      await updating?.catch(() => {})
    },
  }
}
