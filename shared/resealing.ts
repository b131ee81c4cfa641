import type {Pool} from '../sql/database.ts'
import type {Log} from './log.ts'
import {type KeyRing, sealedUnder} from './secrets.ts'

const perLook = 200

export type ResealTools = {db: Pool; ring: KeyRing; log: Log}
type Resealed = {resealed: number; remaining: number}

/** `list`: the rows of one table that hold what is not sealed under `start`, in the order of their ids. */
type Sealed<Row> = {
  what: string
  list(db: Pool, asked: {start: string; after: string; limit: number}): Promise<readonly Row[]>
  idOf(row: Row): string
  /** False where somebody was faster. */
  reseal(tools: ResealTools, row: Row): Promise<boolean>
}

/**
 * Seals every row of a table again under the first key of the ring, one at a time. What cannot be opened, or is held by somebody else, remains
 * as it is and is counted. Safe to run twice, and beside the service.
 */
export const resealEach =
  <Row>({what, list, idOf, reseal}: Sealed<Row>) =>
  async (tools: ResealTools): Promise<Resealed> => {
    const {db, ring, log} = tools
    const start = sealedUnder(ring)
    let resealed = 0
    for (let after = ''; ; ) {
      const found = await list(db, {start, after, limit: perLook})
      for (const row of found) {
        try {
          if (await reseal(tools, row)) resealed++
        } catch (err) {
          log.warn({err, [what]: idOf(row)}, 'not sealed again')
        }
      }
      if (found.length < perLook) break
      after = idOf(found.at(-1)!)
    }
    return {resealed, remaining: (await list(db, {start, after: '', limit: 1_000_000})).length}
  }
