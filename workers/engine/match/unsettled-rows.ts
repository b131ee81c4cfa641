import {listUnsettled, type UnsettledRow} from '../../../sql/unsettled.ts'
import type {Context} from '../context.ts'
import {type CompiledFlow, STEP_CODES} from '../model.ts'

export type UnsettledRowReader = {
  /**
   * Returns the unsettled entries of rows up to `number`, by row number. Leaves out entries that it returned before, and entries of this run
   * that the run need not resolve. Call it with ascending numbers.
   */
  upTo(number: number): Promise<Map<number, UnsettledRow>>
}

/**
 * Reads the unsettled entries that an earlier owner or an earlier run of the chain left. Reads them page by page, because there may be as
 * many entries as rows. The entry of a row is read before this owner sends the row, so it never comes from this owner.
 */
export const openUnsettledRows = (
  {db, run, chain, retried}: Pick<Context, 'db' | 'run' | 'chain' | 'retried'>,
  flow: Pick<CompiledFlow, 'no'>,
  perPage = 1_000,
): UnsettledRowReader => {
  let page: readonly UnsettledRow[] = []
  let readTo = 0

  const turn = async () => {
    page = await listUnsettled(db, {chain: retried ?? chain, flow: flow.no, after: readTo, limit: perPage})
    readTo = page.length < perPage ? Number.POSITIVE_INFINITY : page.at(-1)!.number
  }
  return {
    async upTo(number) {
      const found = page.filter(one => one.number <= number)
      while (readTo < number) {
        await turn()
        found.push(...page.filter(one => one.number <= number))
      }
      page = page.filter(one => one.number > number)
      return new Map(found.filter(row => row.run !== run.no || isStillOpen(row)).map(one => [one.number, one]))
    },
  }
}

/**
 * Whether the run still has to resolve this unsettled entry that it made. False if the run makes no further attempt, and for a create that has
 * neither a unique key nor a known payload digest.
 */
const isStillOpen = ({kind, hasUniqueKey, digest, ended}: UnsettledRow) =>
  !ended && (kind !== STEP_CODES.create || hasUniqueKey || digest !== null)
