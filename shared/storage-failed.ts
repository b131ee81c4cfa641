const FULL = ['ENOSPC', 'EDQUOT']

/** Whether a disk has no room left, whoever wrote to it. */
export const isDiskFull = (error: unknown): boolean => error instanceof Error && 'code' in error && FULL.includes(String(error.code))

/** The storage itself failed, and nobody's file is to blame: it is away, busy, full, or takes nothing from us. */
export class StorageFailed extends Error {
  override name = 'StorageFailed'
  readonly isFull: boolean

  constructor(cause: unknown) {
    super(`The storage failed: ${cause instanceof Error ? cause.message || cause.name : String(cause)}`, {cause})
    this.isFull = isDiskFull(cause)
  }
}
