import {atPoint} from '../../shared/fault-point.ts'
import {keepParentKeys} from '../../sql/parent-keys.ts'
import {finishPass, isPassDone, PASS} from '../../sql/run-cursors.ts'
import type {Context} from './context.ts'
import {parentKeyOf} from './parents.ts'
import {readChunks} from './reading.ts'
import type {Track} from './track.ts'

/**
 * Before the first flow: by which keys the rows of parents are known. It is read off the file, so a run taken over in the middle of it reads
 * again, and nothing of it is in memory.
 */
export const indexParents = async (ctx: Context, tracks: Track[]): Promise<void> => {
  const {db, hot, run} = ctx
  for (const {no, parent: own, subform} of tracks) {
    const parent = own ?? subform?.link
    if (!parent?.key || (await isPassDone(db, {run: run.no, flow: no, pass: PASS.index}))) continue
    const {source, parent: column} = parent.key
    for await (const rows of readChunks(ctx, {source})) {
      ctx.signal.throwIfAborted()
      const keyed = rows
        .filter(({struck, ragged}) => struck === undefined && !ragged)
        .flatMap(({rowNumber, cells}) => {
          const hash = parentKeyOf(cells[column])
          return hash ? [{hash, number: rowNumber}] : []
        })
      const [hashes, numbers] = [keyed.map(({hash}) => hash), keyed.map(({number}) => number)]
      if (keyed.length) await keepParentKeys(hot, {run: run.no, flow: no, hashes, numbers})
      atPoint('in_index')
    }
    await finishPass(db, {run: run.no, flow: no, pass: PASS.index})
  }
}
