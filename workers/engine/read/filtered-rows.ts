import {filteredAt} from '../../../sql/run-log.ts'
import type {CompiledFlow} from '../model.ts'

import type {RowWindow} from './window.ts'

type CursorPosition = {flow: number; lowWater: number}

/**
 * The rows that the flow's filter excludes. They get no log entry. The settlement that moves the low-water mark past a row counts it. After
 * a takeover, rows below the mark are already counted, and rows above it are filtered again.
 */
export type FilteredRows = {
  holdBack(number: number): void
  /** Removes the excluded rows from the window. */
  leave(window: RowWindow): void
  /** Returns the mark with the count of the excluded rows that it passes. Each row is counted once. */
  withFilteredCounts(mark: CursorPosition): CursorPosition & {counts?: Map<number, number>}
  /** Whether some excluded rows are not counted yet. */
  isOpen(): boolean
}

export const openFilteredRows = ({module}: Pick<CompiledFlow, 'module'>): FilteredRows => {
  let entered: number[] = []
  let open: number[] = []
  return {
    holdBack: number => entered.push(number),
    leave(window) {
      for (const number of entered) window.leave(number)
      open = open.concat(entered)
      entered = []
    },
    withFilteredCounts(mark) {
      const above = open.filter(number => number > mark.lowWater)
      const passed = open.length - above.length
      open = above
      return passed ? {...mark, counts: new Map([[filteredAt(module.no), passed]])} : mark
    },
    isOpen: () => open.length > 0,
  }
}
