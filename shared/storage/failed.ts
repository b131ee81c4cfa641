const FULL = ['ENOSPC', 'EDQUOT']

export const isDiskFull = (error: unknown): boolean => error instanceof Error && 'code' in error && FULL.includes(String(error.code))

/** The storage itself failed: it is unreachable, busy, full, or refuses our access. The file is not at fault. */
export class StorageFailed extends Error {
  override name = 'StorageFailed'
  readonly isFull: boolean

  constructor(cause: unknown) {
    super(`The storage failed: ${cause instanceof Error ? cause.message || cause.name : String(cause)}`, {cause})
    this.isFull = isDiskFull(cause)
  }
}
