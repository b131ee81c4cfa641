import {atPoint} from '../../../shared/fault-point.ts'
import {keepParentKeys} from '../../../sql/parent-keys.ts'
import {finishPass, isPassDone, PASS} from '../../../sql/run-cursors.ts'
import type {Context} from '../context.ts'
import type {CompiledFlow} from '../model.ts'
import {readChunks} from '../read/read-rows.ts'

import {parentKeyOf} from './parents.ts'

/**
 * Indexes the keys of parent rows before the first flow, in the database and not in memory. The keys come from the file, so a new owner can
 * read them again.
 */
export const indexParents = async (ctx: Context, flows: CompiledFlow[]): Promise<void> => {
  const {db, hot, run} = ctx
  for (const {no, parent: own, subform} of flows) {
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
