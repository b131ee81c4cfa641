import type {Pool} from '../../sql/database.ts'
import {findHead} from '../../sql/run-heads.ts'

/** Takeovers in a row without a settled row: so many may be the machine's doing, or that of a run beside it. */
const innocentTakeovers = 1

type Place = {db: Pool; run: number}

/** The one this process carries. */
let alone: Place | null = null

/**
 * A run that was lost with its worker twice may be what kills workers, or may have stood beside what does. A process carries one such run at a
 * time, until a row of it is settled: so what kills is left alone with itself, and no other run is stopped for it. Answers what `carry` came to,
 * and `held` where the run must wait.
 */
export const carrySuspect = async <T>({db, run}: Place, carry: () => Promise<T>): Promise<T | 'held'> => {
  if (!(await isSuspect({db, run}))) return carry()
  const other = alone
  if (other && (await isSuspect(other))) return 'held'
  if (alone !== other) return 'held'
  const own = {db, run}
  alone = own
  try {
    return await carry()
  } finally {
    if (alone === own) alone = null
  }
}

const isSuspect = async ({db, run}: Place) => ((await findHead(db, run))?.takeovers ?? 0) > innocentTakeovers
