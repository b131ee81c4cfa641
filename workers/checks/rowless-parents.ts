import type {FileRow} from '../../shared/files/row.ts'
import {openRowSort} from '../../shared/runs/results/row-sort.ts'
import {parentKeyOf} from '../engine/compose/parents.ts'
import type {CompiledFlow} from '../engine/model.ts'

import type {CompiledSubformFlow} from '../engine/subform/record-order.ts'
import type {CheckFindings} from './findings.ts'
import {usesExistingRecords} from './flow-keys.ts'

type Pair = {parents: CompiledFlow; nest: CompiledSubformFlow}
type ParentMark = {pair: number; key: string; isParent: boolean; row: number}

/**
 * Finds parent rows that have no subform rows in the file although a new record needs them. Keys are sorted on disk. If several parent rows
 * share a key, only the first owns the subform rows. The others are reported unless they can match the first row's record.
 */
export const openRowlessParents = (flows: CompiledFlow[]) => {
  const pairs: Pair[] = flows.flatMap(parents =>
    (parents.nestedFlows ?? []).flatMap(nest => (nest.subform.nested === 'required' ? [{parents, nest}] : [])),
  )
  const sorting = openRowSort<ParentMark>({compare, sizeOf: ({key}) => key.length + 100})
  let waiting: ParentMark[] = []
  return {
    /**
     * Adds a row of a parent flow or of a subform flow. Call it for parent rows without a problem, and for every subform row that can be
     * composed.
     */
    add: (flow: CompiledFlow, {rowNumber: row, cells}: FileRow) => {
      for (const [pair, {parents, nest}] of pairs.entries()) {
        if (flow !== parents && flow !== nest) continue
        const {key} = nest.subform.link
        const isParent = flow === parents
        const own = key ? parentKeyOf(cells[isParent ? key.parent : key.child])?.toString('hex') : String(row)
        if (own !== undefined || isParent) waiting.push({pair, key: own ?? ` ${row}`, isParent, row})
      }
    },
    /** Writes the added rows to disk. Call it between chunks of rows. */
    spill: async () => {
      await sorting.add(waiting)
      waiting = []
    },
    note: async (findings: CheckFindings) => {
      let last: ParentMark | null = null
      let hasRows = false
      for await (const marks of sorting.sorted())
        for (const mark of marks) {
          const isFirst = last?.pair !== mark.pair || last.key !== mark.key
          if (isFirst) hasRows = !mark.isParent
          const pair = pairs[mark.pair]!
          if (mark.isParent && (!hasRows || (!isFirst && last!.isParent && !usesExistingRecords(pair.parents))))
            noteOne(findings, pair, mark.row)
          last = mark
        }
    },
    close: () => sorting.close(),
  }
}
export type RowlessParents = ReturnType<typeof openRowlessParents>

const noteOne = (findings: CheckFindings, {parents, nest}: Pair, row: number) => {
  const {id, module, source} = parents
  const mayMeet = usesExistingRecords(parents)
  const spot = {kind: 'rows_missing', source, flow: id, module: module.apiName, field: nest.subform.field}
  const message = mayMeet
    ? `Flow ${nest.id} has no row for this row, so it can only update a record that exists. Add a row if the record is new`
    : `Flow ${nest.id} has no row for this row, and a new record needs one. Add a row`
  findings.note({severity: mayMeet ? 'warning' : 'error', ...spot}, {row, message})
}

const compare = (a: ParentMark, b: ParentMark) =>
  a.pair - b.pair || (a.key < b.key ? -1 : a.key > b.key ? 1 : Number(a.isParent) - Number(b.isParent) || a.row - b.row)
