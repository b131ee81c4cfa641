import {filteredAt} from '../../sql/run-log.ts'
import type {Track} from './row.ts'
import type {Window} from './window.ts'

type Mark = {flow: number; lowWater: number}

/**
 * Rows that the flow's filter keeps back. Nothing is written down of one but that it was there, so each is counted with the mark that
 * passes it: whoever takes the run over finds those below the mark counted, and meets the others again.
 */
export type Filtered = {
  keepBack(number: number): void
  /** They hold nobody up. */
  leave(window: Window): void
  /** The mark, with the count of those it passes, told once. */
  under(mark: Mark): Mark & {counts?: Map<number, number>}
  /** Whether some are not counted yet. */
  isOpen(): boolean
}

export const openFiltered = ({module}: Pick<Track, 'module'>): Filtered => {
  let entered: number[] = []
  let open: number[] = []
  return {
    keepBack: number => entered.push(number),
    leave(window) {
      for (const number of entered) window.leave(number)
      open = open.concat(entered)
      entered = []
    },
    under(mark) {
      const above = open.filter(number => number > mark.lowWater)
      const passed = open.length - above.length
      open = above
      return passed ? {...mark, counts: new Map([[filteredAt(module.no), passed]])} : mark
    },
    isOpen: () => open.length > 0,
  }
}
