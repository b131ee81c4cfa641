import {listWriters} from '../../../sql/chain-rows.ts'
import type {Context} from '../context.ts'
import type {CompiledFlow} from '../model.ts'
import type {Op} from '../settle/verdict.ts'

/** Adds a remark to updates that may overwrite what a later row of the file wrote in an earlier run. The remark names the later row. */
export const remarkOlderValues = async ({db, retried, run}: Context, {id, module}: CompiledFlow, updates: Op[]): Promise<void> => {
  if (retried === null || run.dryRun || updates.length === 0) return
  const records = [...new Set(updates.map(({target}) => target!))]
  const writers = Map.groupBy(await listWriters(db, {chain: retried, run: run.no, module: module.no, records}), ({recordId}) => recordId)
  for (const {row, target} of updates) {
    const later = (writers.get(target!) ?? []).map(({key}) => numberIn(key, id)).filter(number => number > row.number)
    if (later.length)
      (row.remarks ??= []).push(
        `Row ${Math.max(...later)}, later in the file, wrote this record in an earlier run. Its newer values may be overwritten`,
      )
  }
}

/** Returns 0 for keys of other flows. */
const numberIn = (key: string, flow: string) => (key.startsWith(`${flow}.`) ? Number.parseInt(key.slice(flow.length + 1), 10) || 0 : 0)
