import type {EmptyLink} from '../../../sql/empty-links.ts'
import {filteredAt} from '../../../sql/run-log.ts'
import type {UnmappedCells} from '../../../sql/unmapped-cells.ts'
import type {CompiledFlow, ImportRow} from '../model.ts'
import type {RowWindow} from './window.ts'

type CursorPosition = {flow: number; lowWater: number}
type CountedPosition<M> = M & {counts?: Map<number, number>; unmapped?: UnmappedCells[]; emptyLinks?: EmptyLink[]}
type MappedRow = Pick<ImportRow, 'number' | 'unmapped'>
type LinkedRow = Pick<ImportRow, 'number' | 'emptyLinks' | 'isPatchOpen'>

/**
 * The counts of a pass besides outcomes: rows that the filter excludes, unmapped cells, and empty links of unanswered patches. A row is
 * counted in the settlement that moves the low-water mark past it. After a takeover, rows up to the mark are already counted, and rows above
 * it are composed again.
 */
export type PassCounts = {
  /** Notes a row that the filter excludes. */
  holdBack(number: number): void
  /** Notes the unmapped cells of a composed row. Ignores rows up to the low-water mark at which the pass began, which are already counted. */
  noteUnmapped(row: MappedRow): void
  /** Notes a row to be patched. Its empty links are counted here only if its patch ends unanswered. */
  noteLinks(row: LinkedRow): void
  /** Removes from the window the rows that `holdBack` noted since the last call. */
  leave(window: RowWindow): void
  /** Adds to `position` the counts of the rows up to its low-water mark. Later calls do not count these rows again. */
  withCounts<M extends CursorPosition>(position: M): CountedPosition<M>
  isOpen(): boolean
}

export const openPassCounts = (flow: Pick<CompiledFlow, 'no' | 'module'>, lowWater: number): PassCounts => {
  let entered: number[] = []
  let open: number[] = []
  let mapped: MappedRow[] = []
  let linked: LinkedRow[] = []
  return {
    holdBack: number => entered.push(number),
    noteUnmapped({number, unmapped}) {
      if (unmapped && number > lowWater) mapped.push({number, unmapped})
    },
    noteLinks(row) {
      if (row.emptyLinks?.length) linked.push(row)
    },
    leave(window) {
      for (const number of entered) window.leave(number)
      open = open.concat(entered)
      entered = []
    },
    withCounts(position) {
      if (open.length + mapped.length + linked.length === 0) return position
      const above = open.filter(number => number > position.lowWater)
      const passed = open.length - above.length
      open = above
      const counted = openUnmappedCount(flow)
      counted.add(mapped.filter(({number}) => number <= position.lowWater))
      const unmapped = counted.list()
      mapped = mapped.filter(({number}) => number > position.lowWater)
      const emptyLinks = linked
        .filter(({number, isPatchOpen}) => number <= position.lowWater && isPatchOpen)
        .flatMap(row => row.emptyLinks!.map(field => ({flow: flow.no, field})))
      linked = linked.filter(({number}) => number > position.lowWater)
      return {
        ...position,
        ...(passed > 0 && {counts: new Map([[filteredAt(flow.module.no), passed]])}),
        ...(unmapped.length > 0 && {unmapped}),
        ...(emptyLinks.length > 0 && {emptyLinks}),
      }
    },
    isOpen: () => open.length + mapped.length > 0 || linked.some(({isPatchOpen}) => isPatchOpen),
  }
}

export const openUnmappedCount = ({no}: Pick<CompiledFlow, 'no'>) => {
  const cells = new Map<string, number>()
  return {
    add(rows: readonly Pick<MappedRow, 'unmapped'>[]) {
      for (const {unmapped = []} of rows) for (const field of unmapped) cells.set(field, (cells.get(field) ?? 0) + 1)
    },
    list: (): UnmappedCells[] => [...cells].map(([field, count]) => ({flow: no, field, cells: count})),
  }
}
