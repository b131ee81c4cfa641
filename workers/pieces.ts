/**
 * Calls `take` with `limit` until the returned count is below `limit`. Returns the total. Throws before a piece if the signal has aborted.
 * `onPiece` gets each count above 0.
 */
export const inPieces = async (
  signal: AbortSignal,
  limit: number,
  take: (limit: number) => Promise<number>,
  onPiece: (count: number) => Promise<unknown> = async () => {},
): Promise<number> => {
  for (let rows = 0; ; ) {
    signal.throwIfAborted()
    const gone = await take(limit)
    if (gone > 0) await onPiece(gone)
    rows += gone
    if (gone < limit) return rows
  }
}
