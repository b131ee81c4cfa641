import type {Pool} from '../../sql/database.ts'
import type {Log} from '../telemetry/log.ts'
import {type KeyRing, sealedUnder} from './secrets.ts'

const perLook = 200

export type ResealDeps = {db: Pool; ring: KeyRing; log: Log}
type ResealResult = {resealed: number; remaining: number}

/** The sealed rows of one table. `list`: the rows with a sealed value that does not begin with `start`, in the order of their ids. */
type SealedRow<Row> = {
  what: string
  list(db: Pool, asked: {start: string; after: string; limit: number}): Promise<readonly Row[]>
  idOf(row: Row): string
  /** Reseals one row. Returns false if another process was faster. */
  reseal(deps: ResealDeps, row: Row): Promise<boolean>
}

/**
 * Reseals every row of a table with the first key of the ring, one at a time. A row that cannot be decrypted or locked stays unchanged and is
 * counted in `remaining`. Safe to run twice, and while the service runs.
 */
export const resealEach =
  <Row>({what, list, idOf, reseal}: SealedRow<Row>) =>
  async (deps: ResealDeps): Promise<ResealResult> => {
    const {db, ring, log} = deps
    const start = sealedUnder(ring)
    let resealed = 0
    for (let after = ''; ; ) {
      const found = await list(db, {start, after, limit: perLook})
      for (const row of found) {
        try {
          if (await reseal(deps, row)) resealed++
        } catch (err) {
          log.warn({err, [what]: idOf(row)}, 'could not reseal a row')
        }
      }
      if (found.length < perLook) break
      after = idOf(found.at(-1)!)
    }
    return {resealed, remaining: (await list(db, {start, after: '', limit: 1_000_000})).length}
  }
