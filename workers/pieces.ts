/** Until a piece was not full; answers how many went. Between two of them the process may be asked to stop: another one goes on. */
export const inPieces = async (
  signal: AbortSignal,
  limit: number,
  take: (limit: number) => Promise<number>,
  told: (count: number) => Promise<unknown> = async () => {},
): Promise<number> => {
  for (let rows = 0; ; ) {
    signal.throwIfAborted()
    const gone = await take(limit)
    if (gone > 0) await told(gone)
    rows += gone
    if (gone < limit) return rows
  }
}
